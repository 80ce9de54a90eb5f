"""A run over bounded input: what every engine is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.engines.common.clock import ends_at, starts_at
from cepheid.engines.common.intake import Intake, OnProblem, take_in
from cepheid.engines.common.judging import STRICT, Rules, only_input, unfed_types
from cepheid.engines.common.progress import Progress, no_progress
from cepheid.errors import Diagnostic
from cepheid.io import Record, fail, records_of
from cepheid.io.source import NOWHERE, Placement
from cepheid.io.sources import provided_by
from cepheid.program.resolved import ResolvedProgram

# Per statement with a pattern, how often each of its events and timers was reached.
Reached: TypeAlias = Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A program over sources of events: paths, dictionaries, tables, frames."""

    program: ResolvedProgram
    sources: Sequence[object]
    placement: Placement = NOWHERE  # of sources that do not say it themselves
    rules: Rules = STRICT
    start: Instant | None = None  # else the smallest time of the input
    end: Instant | None = None  # else the largest
    timed_out: bool = False  # whether partial matches that end without a match are rows, too
    why: bool = False  # whether rows keep the events behind them
    on_problem: OnProblem = fail  # takes what cannot be read
    progress: Progress = no_progress

    def records(self) -> Iterator[Record]:
        """All records of all sources, counted on the way."""
        default = only_input(self.program)
        each = (
            records_of(
                source,
                on_problem=self.on_problem,
                placement=self.placement,
                default_type=default,
            )
            for source in self.sources
        )
        for count, record in enumerate(chain.from_iterable(each), start=1):
            self.progress(count, None)
            yield record

    @property
    def provided(self) -> Collection[str]:
        """The types that sources are said to hold."""
        return provided_by(self.sources, only_input(self.program))

    def take_in(self) -> Intake:
        """All events, decoded and in their order, and between which instants the clock runs."""
        intake = take_in(self.program, self.records(), self.on_problem, self.rules)
        intake.notes += unfed_types(intake.program, {*intake.provided, *self.provided})
        intake.first = starts_at(intake.first, self.start, intake.first_place)
        intake.last = ends_at(intake.last, self.end, intake.last_place)
        return intake


def nothing_reached() -> Reached:
    """For engines that do not count steps."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run found, and what it was given."""

    program: ResolvedProgram  # with the types that only the events know
    rows: Sequence[Event]
    taken: int  # input events
    moved: int = 0  # of them, those that were out of order
    notes: Sequence[Diagnostic] = ()  # what there is to say of the input as a whole
    # Called if someone asks: it may take another run to count.
    reached: Callable[[], Reached] = nothing_reached
