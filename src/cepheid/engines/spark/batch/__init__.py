"""Programs over bounded frames and files: shuffle by key, sort by time, an operator per task."""
