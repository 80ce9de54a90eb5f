"""The compiled loops of lanes, each over a whole batch."""
