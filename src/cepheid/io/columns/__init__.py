"""Files and tables as columns: the quick way of reading, where nothing has to be said about single events."""
