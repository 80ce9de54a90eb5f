"""The process of which Spark forks its Python workers, on this machine: it has loaded what they need.

So the matcher and its libraries are loaded once, not in every worker, which takes longer than many a
small job. Spark itself loads nothing before it forks, as a process with threads cannot be forked safely.
What is loaded here starts none: numpy is told so by Spark, Arrow's allocator below. A test counts them.
"""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from importlib import import_module

from pyspark.daemon import manager

from cepheid.engines.spark.session.workers import LOADED_EARLY


def load() -> None:
    """Loads all that workers need; what cannot be loaded, the worker that needs it will tell."""
    os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
    for module in LOADED_EARLY:
        with suppress(Exception):
            import_module(module)
    gc.freeze()  # workers share these pages as long as none writes to them


if __name__ == "__main__":
    load()
    manager()
