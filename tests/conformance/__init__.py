"""One suite for all engines: the same cases and generated programs must give the same rows."""
