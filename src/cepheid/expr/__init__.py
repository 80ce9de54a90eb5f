"""Expressions as data: trees, their types, their values, and what functions exist."""
