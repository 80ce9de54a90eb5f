"""A run that stops anywhere: forward and back, by breakpoints, with other events."""
