"""What happens while a model lives, as entries that know what led to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant
from cepheid.errors import Diagnostic
from cepheid.live.changes import Commit
from cepheid.live.matching.matcher import Match, Violation
from cepheid.live.model import Object
from cepheid.program.tree import MatchChange


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """Entries are numbered in the order in which they happen; each comes after its causes."""

    number: int
    instant: Instant
    causes: tuple[Entry, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Changed(Entry):
    """A transaction was committed: without causes by a user, else by a rule or a function."""

    commit: Commit


@dataclass(frozen=True, slots=True, eq=False)
class Matched(Entry):
    """A match of a query came, went, or stays while its objects changed."""

    change: MatchChange
    match: Match
    violation: Violation | None = None  # where the query says what must not be


@dataclass(frozen=True, slots=True, eq=False)
class Happened(Entry):
    """An event: of a match, told by a rule, sent by a user, or derived."""

    event: Event


class Outcome(Enum):
    DONE = "done"
    WITHDRAWN = "withdrawn"  # what it waits for is not so any more
    FAILED = "failed"  # its transaction was rolled back
    UNDONE = "undone"  # it was done, and undone since a function raised


@dataclass(frozen=True, slots=True, eq=False)
class Fired(Entry):
    """A rule was done, or was not."""

    rule: str
    event: Event
    outcome: Outcome
    problems: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Ran(Entry):
    """A function was called by a rule."""

    function: str
    arguments: tuple[Object | Value, ...]


def rules_behind(entry: Entry) -> Iterator[str]:
    """The rules of the chain of first causes that led to an entry, the last one first."""
    found: Entry | None = entry
    while found is not None:
        if isinstance(found, Fired):
            yield found.rule
        found = found.causes[0] if found.causes else None


def behind(entry: Entry) -> Iterator[tuple[int, Entry]]:
    """All that led to an entry, each entry once, with its distance along the way it is found."""
    seen = {entry}
    pending = [(1, cause) for cause in reversed(entry.causes)]
    while pending:
        depth, one = pending.pop()
        if one not in seen:
            seen.add(one)
            yield depth, one
            pending += [(depth + 1, cause) for cause in reversed(one.causes)]
