"""Findings about a program, one file per analysis."""
