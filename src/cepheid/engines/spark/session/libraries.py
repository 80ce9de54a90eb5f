"""What streams need beside PySpark, and how to get it."""

from __future__ import annotations

from importlib.util import find_spec

from cepheid.errors import UsageError, error

OLDEST = (4, 2)  # Python sources can limit a micro-batch since then


def require_stream_support() -> None:
    import pyspark

    version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if version < OLDEST:
        fact = f"sources and sinks of streams need PySpark 4.2, and this is {pyspark.__version__}"
        raise UsageError(error("no-spark", fact, hint="`pip install -U pyspark`"))


def require_library(module: str, extra: str) -> None:
    if find_spec(module) is None:
        hint = f"`pip install 'cepheid[{extra}]'`"
        raise UsageError(error("usage", f"the library for {extra} is not installed", hint=hint))
