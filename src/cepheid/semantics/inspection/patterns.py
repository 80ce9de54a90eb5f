"""Live patterns of EPL as partial matches.

`every`, `->` and `or` have a partial match for each way on; `and`, `not` and repeats are one, with their
sides as its parts. A guard is where what it guards stands, and says when that ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.pattern import tree
from cepheid.semantics.inspection.description import PartialMatch
from cepheid.semantics.inspection.parts import Parts, bound_events
from cepheid.semantics.pattern import (
    Absent,
    AllOf,
    Binding,
    Live,
    Parent,
    Repeat,
    Root,
    Within,
)
from cepheid.semantics.timers import Timer

Standing: TypeAlias = tuple[Live, Binding]


def standing(live: Live) -> Iterator[Standing]:
    """Where partial matches stand, and how far they have come."""
    match live:
        case AllOf() | Repeat() | Absent():
            yield live, live.partial()[0]
        case Parent():
            for child in live.live_children():
                yield from standing(child)
        case _:
            yield live, live.begin


def begun(root: Root) -> Iterator[Instant]:
    """When the partial matches that have an event began."""
    for _, binding in standing(root):
        if binding:
            yield min(each.instant for bound in binding.values() for each in _events(bound))


def _events(bound: Event | list[Event]) -> list[Event]:
    return [bound] if isinstance(bound, Event) else bound


@dataclass(frozen=True, slots=True)
class LivePatterns:
    """The partial matches of one statement's pattern."""

    parts: Parts
    due: Callable[[Timer], Instant | None]  # of a timer that is armed

    def partial(self, live: Live) -> Iterator[PartialMatch]:
        for each, binding in standing(live):
            yield self._described(each, binding)

    def _described(self, live: Live, binding: Binding) -> PartialMatch:
        part = live.node.tree
        found = PartialMatch(self.parts.place(part), bound_events(binding), ends=self._ends(live))
        if not isinstance(live, Parent):
            awaited = (
                self.parts.event(part, part)
                if isinstance(part, tree.Atom)
                else self.parts.time(part, self.due(live))  # type: ignore[arg-type]
            )
            return replace(found, awaits=(awaited,))
        sides = tuple(side for child in live.live_children() for side in self.partial(child))
        awaits = tuple(awaited for side in sides for awaited in side.awaits)
        forbids = tuple(awaited for side in sides for awaited in side.forbids)
        if isinstance(live, Absent):
            awaits, forbids = (), awaits
        count = live.count if isinstance(live, Repeat) else None
        return replace(found, awaits=awaits, forbids=forbids, parts=sides, count=count)

    def _ends(self, live: Live) -> Instant | None:
        """When the first of the guards around it ends it."""
        ends: Instant | None = None
        while not isinstance(live, Root):
            due = self.due(live) if isinstance(live, Within) else None
            if due is not None and (ends is None or due < ends):
                ends = due
            live = live.parent
        return ends
