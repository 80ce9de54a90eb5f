"""What is behind a row: its causes, their causes, and so on to the input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.core.event import Event
from cepheid.io.encode import encode

# Levels; a program that feeds itself can have a hundred thousand.
DEEPEST = 100


@dataclass(frozen=True, slots=True)
class Cause:
    """An event at its depth below the row that it explains.

    `is_cut` says that it has causes itself which do not follow: it is explained above, or too deep.
    """

    event: Event
    depth: int
    is_cut: bool


def causes_of(row: Event, deepest: int = DEEPEST) -> Iterator[Cause]:
    """The events behind a row, each before those behind it.

    Events have causes in common, so what is behind an event is told once.
    """
    known = {id(row)}
    waiting = [(cause, 1) for cause in reversed(row.causes)]
    while waiting:
        event, depth = waiting.pop()
        is_followed = id(event) not in known and depth < deepest
        yield Cause(event, depth, is_cut=bool(event.causes) and not is_followed)
        if is_followed:
            waiting.extend((cause, depth + 1) for cause in reversed(event.causes))
        known.add(id(event))


def encode_with_causes(row: Event) -> dict[str, object]:
    """The JSON form with '@why', the list of the events behind the row, nested likewise."""
    top = encode(row)
    path = [top]
    for cause in causes_of(row):
        encoded = encode(cause.event)
        del path[cause.depth :]
        behind = path[-1].setdefault("@why", [])
        assert isinstance(behind, list)
        behind.append(encoded)
        path.append(encoded)
    return top
