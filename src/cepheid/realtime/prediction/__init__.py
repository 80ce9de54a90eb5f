"""Whether a graph keeps its deadlines, said before it runs."""
