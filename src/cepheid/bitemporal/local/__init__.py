"""Rounds in this process: SQLite holds what is known, and a round touches what a change can reach."""
