"""The language of graph queries, files that end with `.vql`."""
