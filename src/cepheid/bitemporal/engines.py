"""What runs rounds: the same outcome from each."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from cepheid.bitemporal.outcome import Outcome
from cepheid.bitemporal.request import RoundsRequest
from cepheid.engines.registry import either
from cepheid.errors import UsageError, error

# Names as in `engines.registry`, each with the module whose `run` it is.
_MODULES = {
    "local": "cepheid.bitemporal.local.bounded",
    "reference": "cepheid.bitemporal.reference",
    "spark": "cepheid.bitemporal.spark.batch",
}


def run(engine: str, request: RoundsRequest) -> Outcome:
    if engine not in _MODULES:
        fact = f"the engine {engine!r} does not run classes"
        raise UsageError(error("usage", fact, hint=f"choose {either(list(_MODULES))}"))
    chosen: Callable[[RoundsRequest], Outcome] = import_module(_MODULES[engine]).run
    return chosen(request)
