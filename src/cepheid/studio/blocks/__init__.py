"""Declarations as blocks and back, without a browser; the text of a program stays the only truth."""
