"""What a run found: a sequence of events that shows itself well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, overload

from cepheid.core.event import Event
from cepheid.core.html import Html, element, table, together
from cepheid.core.time import format_instant
from cepheid.core.types import EventType
from cepheid.core.values import shown
from cepheid.errors import Diagnostic, UsageError, error, suggest
from cepheid.io import to_arrow, to_pandas
from cepheid.io.encode import encode_value
from cepheid.io.rows import ColumnarRows

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_SHOWN = 50  # rows of the table that notebooks show


@dataclass(frozen=True, slots=True)
class Step:
    """How often a step of a statement's pattern was reached."""

    statement: str
    step: str
    count: int


class Result(Sequence[Event]):
    """The derived events of a run, in order, and what happened on the way."""

    def __init__(
        self,
        events: Sequence[Event],
        types: Mapping[str, EventType],
        *,
        derived: Sequence[str] = (),
        taken: int = 0,
        moved: int = 0,
        skipped: Sequence[Diagnostic] = (),
        notes: Sequence[Diagnostic] = (),
        steps: Callable[[], Sequence[Step]] = tuple,
    ) -> None:
        self.events = events
        self.types = types
        self.derived = derived  # the types that the program derives
        self.taken = taken  # input events
        self.moved = moved  # of them, those that were out of order
        self.skipped = skipped  # what could not be taken, where problems were to be skipped
        self.notes = tuple(notes)  # what there is to say of the input as a whole
        self._count_steps = steps

    @cached_property
    def steps(self) -> Sequence[Step]:
        """How often each step of each pattern was reached; it may take another run to count them."""
        return self._count_steps()

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | Sequence[Event]:
        return self.events[index]

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def of(self, type: str) -> list[Event]:
        """The events of one type."""
        if type not in self.types and type not in self.derived:
            hint = suggest(type, [*self.types, *self.derived], "types")
            raise UsageError(error("usage", f"no event type {shown(type)}", hint=hint))
        return [event for event in self.events if event.type == type]

    def to_arrow(self) -> pa.Table:
        return to_arrow(self.events, self.types, self.derived)

    def to_pandas(self, type: str | None = None) -> pd.DataFrame:
        """All events with the columns of all types, or those of one type with its own."""
        if type is None:
            return to_pandas(self.events, self.types, self.derived)
        return to_pandas(self.of(type), self.types, [type])

    def counts(self) -> dict[str, int]:
        """How many events of each type there are."""
        if isinstance(self.events, ColumnarRows):
            return self.events.counts()
        return dict(Counter(event.type for event in self.events))

    def __repr__(self) -> str:
        found = ", ".join(f"{count} {type}" for type, count in self.counts().items())
        return f"<Result: {found or 'nothing found'}>"

    def _repr_html_(self) -> str:
        """One table per type, for notebooks."""
        if not self.events:
            return element("p", "nothing found")
        return together(part for type in self.counts() for part in _tables(type, self.of(type)))


def _tables(type: str, events: Sequence[Event]) -> Iterator[Html]:
    names = list(events[0])
    rows = (
        (format_instant(event.instant), *(encode_value(event[name]) for name in names))
        for event in events[:_SHOWN]
    )
    yield table(f"{type} ({len(events)})", ["time", *names], rows)
    if len(events) > _SHOWN:
        yield element("p", f"{len(events) - _SHOWN} more rows")
