"""The languages in which programs are written; each has a parser, a lowering and a printer."""
