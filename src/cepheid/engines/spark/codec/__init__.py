"""Rows into events and back: columns of frames, layouts that travel between tasks, texts, sort keys."""
