"""Drawings in levels, as SVG and DOT: what the graph of a program and the nets share."""
