"""How events are split among tasks, in batches and in streams: partitioner, labels, bytes."""
