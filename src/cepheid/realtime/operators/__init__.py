"""What operators of graphs do: kinds, their parameters, and their work over NumPy arrays."""
