"""Complex events as tokens on automata."""
