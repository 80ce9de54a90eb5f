"""Where streams come from and where their rows go: URIs, sources, sinks."""
