"""Programs: declarations of types, contexts and statements, and the graph they form."""
