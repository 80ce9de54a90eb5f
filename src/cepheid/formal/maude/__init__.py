"""Programs as specifications for Maude, run and searched by the real Maude in a process of its own."""
