"""The bytecode of expressions, and what runs it."""
