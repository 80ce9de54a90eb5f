"""Rounds on Spark: whole histories as tables of versions with the rounds in which they are known."""
