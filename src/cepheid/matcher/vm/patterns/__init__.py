"""Pattern operators: their instances, what these wait for, and what they have bound."""
