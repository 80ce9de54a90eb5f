"""Graph queries with all names looked up in a metamodel."""
