"""The event algebra as data."""
