"""Programs whose statements take whole batches, each in a lane of its own: chains of events, and windows."""
