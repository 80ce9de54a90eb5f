"""Programs on Spark, in batch and in streams: the only folder that knows PySpark."""
