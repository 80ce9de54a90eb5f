"""Prioritized coloured Petri nets: nets as data, an engine that fires them, programs as nets."""
