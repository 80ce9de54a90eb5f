"""Programs built in Python."""
