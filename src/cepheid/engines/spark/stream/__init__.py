"""Programs over streaming frames: queries, stateful processors, and the state that they save."""
