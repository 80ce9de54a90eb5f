"""Nets in CPN ML: inscriptions as text and back, and the files of CPN Tools."""
