"""The engine `petri`: a program's Petri net is fired."""
