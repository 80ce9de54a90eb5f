"""Findings about classes. They read SQL, so that only programs that have classes load them."""
