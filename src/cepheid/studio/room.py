"""What handlers of verbs are given, and what a verb is.

A handler is a function of a room and of what the page said. It does not know in which process it runs:
verbs without a lane run in that of the server, and others in the process of their lane, whose room keeps
what was made, such as a run, for later questions about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from threading import Lock
from typing import Literal, TypeAlias, get_args

from cepheid.engines.common.progress import Progress, no_progress
from cepheid.errors import Diagnostic, Span, UsageError, error
from cepheid.studio.folder import Folder

Lane: TypeAlias = Literal["quick", "check", "run", "debug", "evidence", "jobs", "state"]
LANES: tuple[Lane, ...] = get_args(Lane)
_LARGEST = 2**53  # beyond it, numbers of a page have gaps


@dataclass(slots=True)
class Room:
    folder: Folder
    is_trusted: bool = False  # whether Python of the folder may run
    kept: dict[str, object] = field(default_factory=dict)
    progress: Progress = no_progress
    # Verbs without a lane run side by side: those that look at a file and then write it take turns.
    writing: AbstractContextManager[object] = field(default_factory=Lock)


@dataclass(frozen=True, slots=True)
class Given:
    """What a page says to a verb; UsageError where it is not what the verb needs."""

    values: Mapping[str, object]

    def text(self, name: str) -> str:
        value = self.values.get(name)
        if not isinstance(value, str):
            raise _not(name, "a text")
        return value

    def text_if_any(self, name: str) -> str | None:
        return None if self.values.get(name) is None else self.text(name)

    def whole(self, name: str) -> int:
        value = self.values.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LARGEST:
            raise _not(name, "a whole number")
        return value

    def number(self, name: str) -> float:
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _not(name, "a number")
        if not -_LARGEST < value < _LARGEST:  # nor is NaN
            raise _not(name, "a number")
        return value

    def flag(self, name: str) -> bool:
        value = self.values.get(name, False)
        if not isinstance(value, bool):
            raise _not(name, "true or false")
        return value

    def texts(self, name: str) -> list[str]:
        value = self.values.get(name)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise _not(name, "a list of texts")
        return value

    def part(self, name: str) -> Given:
        """What has parts of its own."""
        value = self.values.get(name)
        if not isinstance(value, dict):
            raise _not(name, "an object")
        return Given(value)

    def each(self, name: str) -> list[Given]:
        """A list of what has parts of its own."""
        value = self.values.get(name)
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise _not(name, "a list of objects")
        return [Given(each) for each in value]


def _not(name: str, what: str) -> UsageError:
    return UsageError(error("usage", f"'{name}' must be {what}"))


Handler: TypeAlias = Callable[[Room, Given], object]


@dataclass(frozen=True, slots=True)
class Verb:
    """What a page can ask for; the answer is anything that JSON holds."""

    name: str
    handle: Handler
    lane: Lane | None = None  # whose process does it; None: the server, for what takes no time


def place_json(span: Span) -> dict[str, object]:
    return {each.name: getattr(span, each.name) for each in fields(span)}


def finding_json(finding: Diagnostic) -> dict[str, object]:
    """A finding with the end of its place."""
    span = finding.span
    end = {"end_line": span.end_line, "end_column": span.end_column} if span else {}
    return {**finding.to_json(), **end}
