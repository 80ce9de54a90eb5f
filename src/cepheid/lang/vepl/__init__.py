"""VEPL: complex events over atomic ones, with parameters and contexts."""
