"""What ended a stream, out of what Spark says of it."""

from __future__ import annotations

import re

from cepheid.errors import CATALOGUE, CepheidError, RunError, error

# An error of ours that a worker raised stands in the middle of Spark's text, with its traceback.
_OURS = re.compile(r"cepheid\.errors\.\w+: error\[([\w-]+)\]: (.*)")


def failure_of(problem: Exception) -> CepheidError:
    """Our own words where they are, else the first ones of Spark, on one line."""
    if isinstance(problem, CepheidError):
        return problem
    text = str(problem)
    ours = _OURS.search(text)
    if ours and ours[1] in CATALOGUE:
        return RunError(error(ours[1], ours[2]))
    first = next((line for line in text.splitlines() if line.strip()), type(problem).__name__)
    return RunError(error("bad-stream", f"the stream ended: {first.strip()}"))
