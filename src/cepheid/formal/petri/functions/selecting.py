"""The functions behind `select`: groups, aggregates, `having`, output rates, as values.

What a statement remembers of its rows is a value that is never changed: each step gives a new one.
The clauses mean what the reference semantics says, whose objects are copied for each step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant
from cepheid.formal.petri.functions.lists import NEVER, Binding
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.semantics.output import Rate, Silence
from cepheid.semantics.selection import Output, Outputs, Selection
from cepheid.semantics.statement import CompiledStatement
from cepheid.semantics.timers import Timer
from cepheid.semantics.windows import Delta, Row, Window

Rows: TypeAlias = tuple[Row, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """A row that goes out; its values may be lists, which cannot be compared by hash."""

    is_old: bool
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Remembered:
    """What a statement knows of its rows between two steps."""

    selection: Selection
    rate: Rate


# After a step: what is known then, the results that go out, and when the rate wants to be woken.
Step: TypeAlias = tuple[Remembered, tuple[Result, ...], Instant]


class _Contents:
    """The rows of a window, for snapshots."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = rows

    def contents(self) -> Iterable[Row]:
        return self.rows


class _Owner:
    """What a rate speaks to during one step."""

    def __init__(
        self,
        selection: Selection,
        now: Instant,
        contents: Iterable[Row],
        *,
        is_timer_firing: bool = False,
    ) -> None:
        self.selection = selection
        self.now = now
        self.is_timer_firing = is_timer_firing
        self.window: Window = _Contents(contents)  # type: ignore[assignment]
        self.delivered: list[Outputs] = []
        self.due = NEVER

    def arm(self, timer: Timer, due: Instant) -> None:
        self.due = due

    def deliver(self, outputs: Outputs) -> None:
        self.delivered.append(outputs)


class Selecting:
    """The clauses of one statement."""

    def __init__(self, program: ResolvedProgram, statement: ResolvedStatement) -> None:
        self.plan = CompiledStatement(statement, statement.rank, program.types)
        tree = statement.tree
        self.speaks = {  # of new rows, and of old ones
            stream: "irstream" in (tree.stream, tree.insert_stream)
            or stream in (tree.stream, tree.insert_stream)
            for stream in ("istream", "rstream")
        }

    def begin(self, now: Instant) -> Remembered:
        selection = Selection(self.plan.select, keep_groups=self.plan.output.keeps_groups)
        return Remembered(selection, self.plan.output.start(_Owner(selection, now, ())))

    def row(self, bound: Event | Binding, now: Instant) -> Row:
        """A row of the source, and what it is: whether it passes `where`, its group."""
        if isinstance(bound, Event):
            row = Row(event=bound)
        else:
            row = Row(tags={t: list(b) if isinstance(b, tuple) else b for t, b in bound})
        Selection(self.plan.select, keep_groups=False).examine(row, now)
        return row

    def rows(self, bound: Sequence[Event | Binding], now: Instant) -> Rows:
        return tuple(self.row(each, now) for each in bound)

    def take(
        self,
        before: Remembered,
        new: Rows,
        old: Rows,
        now: Instant,
        contents: Rows,
        taken: Instant,
    ) -> Step:
        """Rows enter and leave; by a timer, if the last event was taken before."""
        after, owner = self.fork(before, now, contents, is_timer_firing=taken != now)
        passed = after.selection.filter(Delta(new, old), now)
        if passed is not None:
            after.rate.take(passed)
        return after, self.results(owner), owner.due

    def let_out(self, before: Remembered, now: Instant, contents: Rows) -> Step:
        """The time of the output rate has come."""
        after, owner = self.fork(before, now, contents)
        after.rate.fire()  # type: ignore[attr-defined]
        return after, self.results(owner), owner.due

    def fork(
        self, before: Remembered, now: Instant, contents: Rows, *, is_timer_firing: bool = False
    ) -> tuple[Remembered, _Owner]:
        selection = copy(before.selection)
        selection.groups = {key: copy(group) for key, group in selection.groups.items()}
        selection.last_rows = dict(selection.last_rows)
        rate = _fork_rate(before.rate)
        owner = _Owner(selection, now, contents, is_timer_firing=is_timer_firing)
        rate.owner = owner
        return Remembered(selection, rate), owner

    def results(self, owner: _Owner) -> tuple[Result, ...]:
        return tuple(
            Result(is_old, output.values)
            for outputs in owner.delivered
            for is_old, output in self.arranged(outputs)
        )

    def arranged(self, outputs: Outputs) -> Iterable[tuple[bool, Output]]:
        for is_old, found in ((False, outputs.new), (True, outputs.old)):
            if self.speaks["rstream" if is_old else "istream"]:
                yield from ((is_old, output) for output in self.plan.arrange(found))


def _fork_rate(rate: Rate) -> Rate:
    """A rate of its own: whatever it changes is copied."""
    fork = copy(rate)
    for kind in type(rate).__mro__:
        for name in getattr(kind, "__slots__", ()):
            value = getattr(fork, name, None)
            if isinstance(value, list | dict):
                value = copy(value)
            if isinstance(value, dict):
                silent = {k: copy(v) for k, v in value.items() if isinstance(v, Silence)}
                value.update(silent)
            if name == "counters":
                value = copy(value)
            if value is not None:
                setattr(fork, name, value)
    return fork
