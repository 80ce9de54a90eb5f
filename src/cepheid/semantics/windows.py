"""What each data window means: which rows enter and which leave, and when.

A window answers each row of its source, and each of its timers, with a delta: the rows that now
begin to count and those that cease to. Rows leave before events of the same instant arrive, because
timers come first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import ClassVar, Protocol

from cepheid.core.event import Event, SortKey, Value
from cepheid.core.time import MICROSECONDS, Instant, Period, add_months
from cepheid.program import tree
from cepheid.semantics.pattern import Binding
from cepheid.semantics.timers import Timer, TimerStage

_MONTH_LENGTHS = (28 * MICROSECONDS["days"], 31 * MICROSECONDS["days"])


@dataclass(slots=True, eq=False)
class Row:
    """One row of a source: an event of a stream, or what a match of a pattern has bound.

    What the select clause finds out about a row when it enters holds when it leaves, whatever the
    clock says by then: whether it passes `where`, its group, and what it adds to the aggregates.
    """

    event: Event | None = None
    tags: Binding = field(default_factory=dict)
    used: tuple[Event, ...] = ()  # by a match whose tags are values
    entered: SortKey = ()  # the key of what brought it
    is_leaving: bool = False
    passes: bool = True
    key: Hashable = ()
    arguments: tuple[Value, ...] = ()

    @property
    def place(self) -> SortKey:
        """Its place in a delta: rows that enter come first, each kind in the order it entered."""
        return (int(self.is_leaving), *self.entered)

    @property
    def causes(self) -> tuple[Event, ...]:
        if self.event is not None:
            return (self.event,)
        if self.used:
            return self.used
        bound = ([e] if isinstance(e, Event) else e for e in self.tags.values())
        # Two events may say the same and still be two.
        return tuple({id(event): event for events in bound for event in events}.values())


@dataclass(slots=True, frozen=True)
class Delta:
    new: tuple[Row, ...] = ()
    old: tuple[Row, ...] = ()


class Owner(Protocol):
    """What a window needs from its statement."""

    @property
    def now(self) -> Instant: ...
    def arm(self, timer: Timer, due: Instant) -> None: ...
    def disarm(self, timer: Timer) -> None: ...
    def changed(self, delta: Delta) -> None: ...


class Window(ABC):
    """The root of the windows."""

    __slots__ = ("order", "owner", "tree")
    stage: ClassVar[TimerStage] = TimerStage.WINDOW

    def __init__(self, window: tree.Window | None, owner: Owner) -> None:
        self.tree = window
        self.owner = owner
        self.order = 0

    @abstractmethod
    def start(self) -> None:
        """The statement starts now."""

    @abstractmethod
    def push(self, row: Row) -> None:
        """A row comes from the source."""

    def contents(self) -> Iterable[Row]:
        """The rows that count now, as far as they are kept."""
        return ()


class Unlimited(Window):
    """No window at all: rows enter and never leave, and nothing is kept."""

    __slots__ = ()

    def start(self) -> None:
        """There is nothing to begin with."""

    def push(self, row: Row) -> None:
        self.owner.changed(Delta(new=(row,)))


class KeepAll(Window):
    """`keepall`: rows never leave, and are kept for snapshots."""

    __slots__ = ("rows",)

    def start(self) -> None:
        self.rows: list[Row] = []

    def push(self, row: Row) -> None:
        self.rows.append(row)
        self.owner.changed(Delta(new=(row,)))

    def contents(self) -> Iterable[Row]:
        return self.rows


class Length(Window):
    """`length(n)`: the last n rows."""

    __slots__ = ("rows",)

    def start(self) -> None:
        self.rows: deque[Row] = deque()

    def push(self, row: Row) -> None:
        assert isinstance(self.tree, tree.LengthWindow)
        self.rows.append(row)
        leaving = (self.rows.popleft(),) if len(self.rows) > self.tree.size else ()
        self.owner.changed(Delta((row,), leaving))

    def contents(self) -> Iterable[Row]:
        return self.rows


class LengthBatch(Window):
    """`length_batch(n)`: n rows enter together, and the n before them leave."""

    __slots__ = ("gathered", "released")

    def start(self) -> None:
        self.gathered: list[Row] = []
        self.released: tuple[Row, ...] = ()

    def push(self, row: Row) -> None:
        assert isinstance(self.tree, tree.LengthBatch)
        self.gathered.append(row)
        if len(self.gathered) == self.tree.size:
            delta = Delta(tuple(self.gathered), self.released)
            self.released, self.gathered = delta.new, []
            self.owner.changed(delta)

    def contents(self) -> Iterable[Row]:
        return self.released


class Time(Window):
    """`time(p)`: a row that entered at t leaves at t + p; rows of one instant leave together.

    Months can turn the order of rows round: 31 January and the hours before it meet on 28 February.
    """

    __slots__ = ("armed_for", "entered", "rows")

    def start(self) -> None:
        self.rows: list[tuple[Instant, int, Row]] = []  # a heap of (due, number, row)
        self.entered = 0
        self.armed_for: Instant | None = None

    def push(self, row: Row) -> None:
        assert isinstance(self.tree, tree.TimeWindow)
        due = self.tree.period.after(self.owner.now)
        self.entered += 1
        heappush(self.rows, (due, self.entered, row))
        self.arm_first()
        self.owner.changed(Delta(new=(row,)))

    def arm_first(self) -> None:
        """Arms for the first row to leave."""
        due = self.rows[0][0] if self.rows else None
        if due == self.armed_for or due is None:
            return
        if self.armed_for is not None:
            self.owner.disarm(self)
        self.armed_for = due
        self.owner.arm(self, due)

    def fire(self) -> None:
        leaving = []
        while self.rows and self.rows[0][0] <= self.owner.now:
            leaving.append(heappop(self.rows)[2])
        self.armed_for = None
        self.arm_first()
        self.owner.changed(Delta(old=tuple(leaving)))

    def contents(self) -> Iterable[Row]:
        return [row for _, _, row in sorted(self.rows, key=lambda entry: entry[1])]


class TimeBatch(Window):
    """`time_batch(p)`: the rows of one period enter together at its end, the batch before leaves.

    Periods follow each other from an anchor: a reference instant, the start of the statement
    (`START_EAGER`), or the first row. After the last batch has left, nothing happens until the next
    row, unless `FORCE_UPDATE` asks for an (empty) delivery at every end.
    """

    __slots__ = ("anchor", "boundary", "gathered", "released")

    def start(self) -> None:
        batch = self.batch
        self.gathered: list[Row] = []
        self.released: tuple[Row, ...] = ()
        self.anchor = None if batch.reference is None else batch.reference * 1_000
        self.boundary: Instant | None = None  # the end of the running period, while one is armed
        if batch.start_eager:
            self.arm_next()

    @property
    def batch(self) -> tree.TimeBatch:
        assert isinstance(self.tree, tree.TimeBatch)
        return self.tree

    def push(self, row: Row) -> None:
        if self.boundary is None:
            self.arm_next()
        self.gathered.append(row)

    def arm_next(self) -> None:
        now = self.owner.now
        if self.anchor is None:
            self.anchor = now
        self.boundary = next_boundary(self.anchor, self.batch.period, now)
        self.owner.arm(self, self.boundary)

    def fire(self) -> None:
        delta = Delta(tuple(self.gathered), self.released)
        self.released, self.gathered = delta.new, []
        if delta.new or self.batch.force_update:
            self.arm_next()
        else:
            self.boundary = None
        self.owner.changed(delta)

    def contents(self) -> Iterable[Row]:
        return self.released


def next_boundary(anchor: Instant, period: Period, now: Instant) -> Instant:
    """The first end of a period after now, counting periods from the anchor in both directions."""
    passed = now - anchor
    if not period.months:
        return anchor + (passed // period.microseconds + 1) * period.microseconds

    def end(count: int) -> Instant:
        return add_months(anchor, count * period.months) + count * period.microseconds

    shortest, longest = (period.months * m + period.microseconds for m in _MONTH_LENGTHS)
    count = min(passed // shortest, passed // longest)  # never too late, in either direction
    while end(count) <= now:
        count += 1
    return end(count)


WINDOWS: dict[type[tree.Window], type[Window]] = {
    tree.KeepAll: KeepAll,
    tree.LengthWindow: Length,
    tree.LengthBatch: LengthBatch,
    tree.TimeWindow: Time,
    tree.TimeBatch: TimeBatch,
}


def make_window(window: tree.Window | None, owner: Owner) -> Window:
    return (WINDOWS[type(window)] if window else Unlimited)(window, owner)
