"""`cepheid graph`: operator graphs, checked, explained, run, simulated and measured."""
