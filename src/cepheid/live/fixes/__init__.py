"""Quick fixes by exploring what a program's fixes can make of a model."""
