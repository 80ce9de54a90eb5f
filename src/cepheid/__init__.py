"""Cepheid: complex event processing for PySpark.

Write patterns, check them, run them:

    import cepheid as cep

    program = cep.load("examples/pregnancy/pregnancy.epl")
    findings = program.check()
    result = cep.run(program, "examples/pregnancy/events.jsonl")

Everything here is lazy: importing the package loads no engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from cepheid.errors import (
    CepheidError,
    Diagnostic,
    InputError,
    LateEvent,
    ProgramError,
    RunError,
    Severity,
    UsageError,
)

if TYPE_CHECKING:
    from cepheid.core.event import Event as Event
    from cepheid.engines.local.session import Session as Session
    from cepheid.result import Result as Result
    from cepheid.verbs import Program as Program
    from cepheid.verbs import load as load
    from cepheid.verbs import open as open
    from cepheid.verbs import parse as parse
    from cepheid.verbs import run as run

__version__ = "0.1.0"

_HOMES = {
    "Event": "cepheid.core.event",
    "Program": "cepheid.verbs",
    "Result": "cepheid.result",
    "Session": "cepheid.engines.local.session",
    "load": "cepheid.verbs",
    "open": "cepheid.verbs",
    "parse": "cepheid.verbs",
    "run": "cepheid.verbs",
}

__all__ = [
    "CepheidError",
    "Diagnostic",
    "InputError",
    "LateEvent",
    "ProgramError",
    "RunError",
    "Severity",
    "UsageError",
    *_HOMES,
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'cepheid' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
