"""Events by chance: scenarios, many runs of a program over them, and what the runs say of it."""
