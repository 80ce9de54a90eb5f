"""The engine `reference`: the meaning of programs, run as it is written."""
