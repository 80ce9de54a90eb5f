"""Programs written in Python: the same trees as the parsers make, so equal to them and printable."""
