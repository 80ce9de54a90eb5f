"""What Spark will do for a program: passes, keys, layouts, clock, and what is worth a warning."""
