"""Nets that fire: enabled bindings, steps forward and back, by hand or to the end."""
