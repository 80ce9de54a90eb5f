"""Drawings in levels, as SVG and DOT: the graph of a program, automata, and what nets share with them; what plots share."""
