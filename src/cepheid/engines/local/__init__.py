"""Programs in this process: bounded input as a whole, or events pushed one at a time."""
