"""Time, types and values: the vocabulary that everything else is written in."""
