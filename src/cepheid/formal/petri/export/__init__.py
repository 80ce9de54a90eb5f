"""Nets for people and other tools: pictures, PNML, and the files of CPN Tools."""
