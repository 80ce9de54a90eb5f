"""What a program under way keeps, described as data: partial matches, windows, timers, the queue."""
