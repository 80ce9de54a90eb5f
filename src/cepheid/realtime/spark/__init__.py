"""Graphs over recorded events on Spark: in a batch, and in a stream."""
