"""Runs that a process keeps, so that a page can ask for parts of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

from cepheid.core.event import Event, SortKey, Value
from cepheid.core.time import Instant, format_instant
from cepheid.engines.common.intake import Intake
from cepheid.errors import UsageError, error
from cepheid.io.encode import encode_value, to_json
from cepheid.lang.language import Text
from cepheid.result import Result
from cepheid.studio.room import Given, Room
from cepheid.verbs.program import Program

_MOST = 2  # that are kept: the last one, and the one before for other pages
_LONGEST = 2_000  # characters of a value
_RUNS = "runs"
Item = TypeVar("Item")
Found: TypeAlias = Mapping[tuple[str, str], Sequence[int]]  # by kind and type of a lane


@dataclass
class Run:
    """A run with its events by type, in the order of their times."""

    number: int
    program: Program
    texts: Sequence[Text]
    events: Sequence[Event]
    first: Instant | None
    last: Instant | None
    result: Result
    left_out: Sequence[str] = ()  # statements of the texts that did not run
    _search: tuple[str, Found] | None = None  # the last one

    @cached_property
    def rows(self) -> Sequence[Event]:
        return list(self.result)

    @cached_property
    def taken(self) -> Mapping[str, Sequence[Event]]:
        return _by_type(self.events)

    @cached_property
    def found(self) -> Mapping[str, Sequence[Event]]:
        """Also types of which nothing was found: that is worth knowing."""
        return {**dict.fromkeys(self.result.derived, ()), **_by_type(self.rows)}

    def lane(self, kind: str, type: str) -> Sequence[Event]:
        lanes = {"in": self.taken, "out": self.found}.get(kind, {})
        if type not in lanes:
            raise UsageError(error("usage", f"this run has no events of '{type[:80]}'"))
        return lanes[type]

    def search(self, text: str) -> Found:
        """Of each lane, the places of the events in which a text stands, whatever the case."""
        if self._search is None or self._search[0] != text:
            wanted = text.casefold()
            lanes = (("in", self.taken), ("out", self.found))
            self._search = (
                text,
                {
                    (kind, type): [n for n, event in enumerate(events) if _has(event, wanted)]
                    for kind, lane in lanes
                    for type, events in lane.items()
                },
            )
        return self._search[1]

    def columns(self, type: str) -> list[str]:
        known = self.result.types.get(type)
        return [attribute.name for attribute in known.attributes] if known else []

    def place_of(self, event: Event) -> tuple[str, int | None]:
        """Whether it came in, and its place among those of its type; None where it was no row."""
        if event.statement is None:
            return "in", self._inputs.get(event.sequence)
        return "out", self._outputs.get(event.key)

    def place_like(self, event: Event) -> tuple[str, int | None]:
        """The same of an event of another run over the same input, of which some equal event is taken."""
        kind = "in" if event.statement is None else "out"
        lane = (self.taken if kind == "in" else self.found).get(event.type, ())
        start = bisect_left(lane, event.instant, key=lambda each: each.instant)
        for index in range(start, len(lane)):
            if lane[index].instant != event.instant:
                break
            if lane[index].values_ == event.values_:
                return kind, index
        return kind, None

    def number_of(self, type: str, index: int) -> int:
        """Which event of the input it is, counted from one."""
        wanted = the_one(self.lane("in", type), index)
        return 1 + next(n for n, event in enumerate(self.events) if event is wanted)

    @cached_property
    def _inputs(self) -> Mapping[int, int]:
        return {e.sequence: n for lane in self.taken.values() for n, e in enumerate(lane)}

    @cached_property
    def _outputs(self) -> Mapping[SortKey, int]:
        return {e.key: n for lane in self.found.values() for n, e in enumerate(lane)}


def keep_run(
    room: Room,
    program: Program,
    texts: Sequence[Text],
    taken: Intake,
    result: Result,
    left_out: Sequence[str],
) -> Run:
    runs = _runs(room)
    number = 1 + max(runs, default=0)
    runs[number] = Run(
        number, program, texts, taken.events, taken.first, taken.last, result, left_out
    )
    for old in sorted(runs)[:-_MOST]:
        del runs[old]
    return runs[number]


def run_of(room: Room, given: Given) -> Run:
    """The run that a question is about; UsageError where it is gone."""
    found = _runs(room).get(given.whole("run"))
    if found is None:
        fact = "the studio has let go of this run"
        raise UsageError(error("usage", fact, hint="run the program again"))
    return found


def the_one(items: Sequence[Item], index: int) -> Item:
    if index >= len(items):
        raise UsageError(error("usage", f"there is no number {index}"))
    return items[index]


def event_json(event: Event, place: tuple[str, int | None]) -> dict[str, object]:
    """An event as the page shows it, with its place on the timeline."""
    kind, index = place
    return {
        "type": event.type,
        "time": format_instant(event.instant),
        "kind": kind,
        "index": index,
        "values": [[name, cell(value)] for name, value in event.items() if value is not None],
    }


def cell(value: Value) -> str | None:
    """A value as a table shows it."""
    if value is None:
        return None
    encoded = encode_value(value)
    text = encoded if isinstance(encoded, str) else to_json(encoded)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _has(event: Event, wanted: str) -> bool:
    texts = (format_instant(event.instant), *map(cell, event.values_.values()))
    return any(text is not None and wanted in text.casefold() for text in texts)


def _runs(room: Room) -> dict[int, Run]:
    return room.kept.setdefault(_RUNS, {})  # type: ignore[return-value]


def _by_type(events: Sequence[Event]) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = {}
    for event in events:
        found.setdefault(event.type, []).append(event)
    return found
