"""Graph queries over models, as trees."""
