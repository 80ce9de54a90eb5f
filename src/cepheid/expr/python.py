"""Functions that users write in Python, and what is said when one of them fails.

A call is as any other: arguments are converted to the declared types, a null among them gives null
without a call, and the result must be of the declared type. Engines may call a function as often as
they like, on any machine, also for events that no pattern waits for, and keep what it gave: equal
arguments must give equal results, and none may raise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cepheid.core.event import Value
from cepheid.core.time import Instant, format_instant
from cepheid.core.types import STRING, DataType
from cepheid.core.values import coerce, native, shown
from cepheid.errors import Diagnostic, RunError, Span, error

_LONGEST = 200  # characters of what an exception says


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function, its types, and a version that changes whenever what it gives does."""

    name: str
    arguments: tuple[DataType, ...]
    returns: DataType
    version: str = "1"
    apply: Callable[..., object] = field(compare=False, repr=False, kw_only=True)
    statement: str | None = field(default=None, kw_only=True)  # that calls it; resolving tells

    @property
    def usage(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})"

    def __str__(self) -> str:
        return f"{self.usage} -> {self.returns}, version {self.version}"

    def value(self, arguments: tuple[Value, ...], span: Span | None) -> Value:
        """What it gives for arguments of its types; FunctionFailed where that is nothing good."""
        try:
            found = self.apply(*arguments)
        except Exception as problem:
            said = " ".join(str(problem).split())[:_LONGEST]
            fact = f"{self._call(arguments)} raised {type(problem).__name__}{': ' if said else ''}{said}"
            raise FunctionFailed(error("function-failed", fact, span)) from problem
        try:
            return _typed(found, self.returns)
        except ValueError as problem:
            fact = f"{self._call(arguments)} must return {self.returns}, and {problem}"
            raise FunctionFailed(error("function-failed", fact, span)) from None

    def _call(self, arguments: tuple[Value, ...]) -> str:
        place = f" in '{self.statement}'" if self.statement else ""
        return f"{self.name}({', '.join(map(shown, arguments))}){place}"


def _typed(value: object, type: DataType) -> Value:
    """The value as one of the type; texts are no numbers, and nothing but texts are texts."""
    plain = native(value) if hasattr(value, "tolist") else value
    if plain is not None and isinstance(plain, str) is not (type == STRING):
        raise ValueError(f"{shown(plain)} is none")
    return coerce(plain, type, {})


class FunctionFailed(RunError):
    """A function that raises, or gives what it may not; whoever knows the event tells it."""

    def at(self, instant: Instant, event_type: str | None = None) -> Diagnostic:
        """What went wrong, and what happened when it did: an event, or that time passed."""
        [found] = self.diagnostics
        moment = format_instant(instant)
        place = f"at {event_type} of {moment}" if event_type else f"at {moment}"
        return error(found.code, f"{found.message}, {place}", found.span)
