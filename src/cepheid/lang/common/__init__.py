"""What languages share: tokens, a place among them, expressions, periods of time."""
