"""Programs on the virtual machine: Arrow batches or single events go into its memory, rows come out of it."""
