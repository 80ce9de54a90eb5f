"""What older versions of Spark leave out."""

from __future__ import annotations

import pyspark

# Python data sources took their present form in Spark 4.2.
if tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 2):
    collect_ignore = ["test_sinks.py", "test_sources.py"]
