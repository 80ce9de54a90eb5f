"""From the statements of a program to parts of a net."""
