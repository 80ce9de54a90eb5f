"""What languages share: tokens, a cursor over them, expressions."""
