"""Sessions of Spark: Java, settings, workers, libraries, and what their failures mean."""
