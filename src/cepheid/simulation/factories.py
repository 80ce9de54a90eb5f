"""The events of one run, made all at once from a scenario and the run's own seed.

Each attribute of each factory draws from a generator of its own, which depends on nothing but the
seed, the number of the run, the place of the factory and the attribute's name. So a run is the same
wherever it is made, and two scenarios that differ in one attribute agree in all others.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.core.event import Event, Value
from cepheid.core.time import LAST_INSTANT, MICROSECONDS, SECOND, Instant, TimeUnit, format_instant
from cepheid.core.types import DOUBLE, STRING, EventType, is_integral
from cepheid.errors import Diagnostic, InputError, RunError, error
from cepheid.io.arrow import arrow_type
from cepheid.matcher.operator import Column, columns_of
from cepheid.program.resolved import ResolvedProgram
from cepheid.simulation.distributions import Numbers
from cepheid.simulation.fit import fitting, problems_of
from cepheid.simulation.scenario import Factory, Scenario
from cepheid.simulation.sources import ByMode, Constant, Drawable, ValueSource

Words: TypeAlias = npt.NDArray[np.int64]
Array: TypeAlias = Any  # of Arrow, whose stubs know less than it does
MOST = 50_000_000  # events of a run
_FIRST_LOOK = 32  # gaps from which it is guessed how many a run has
_MANY = 1 << 16  # readings that are made at once where nothing says how many there will be
_GAPS, _MODES = range(2)  # which generators draw them; those of attributes have names


@dataclass(frozen=True, slots=True)
class TimeRange:
    """From when to when a run lasts, and how many events it has at most."""

    start: Instant
    end: Instant | None  # None: until its events are made
    most: int | None = None


@dataclass(frozen=True, slots=True)
class _Made:
    """The events of one factory, in no particular order, and what its attributes are."""

    maker: _Maker
    instants: Words
    values: dict[str, Numbers]

    def __len__(self) -> int:
        return len(self.instants)


@dataclass(frozen=True, slots=True)
class Run:
    """The events of a run, in their order; `end` is when its clock stops."""

    made: tuple[_Made, ...]
    order: Words
    instants: Words
    end: Instant

    def __len__(self) -> int:
        return len(self.instants)

    def counts(self, types: Sequence[str]) -> Words:
        """How many events there are of each type."""
        places = np.concatenate(
            [np.full(len(m), types.index(m.maker.type.name)) for m in self.made]
        )
        return np.bincount(places[self.order], minlength=len(types))

    def table(self, columns: Sequence[Column], program: ResolvedProgram) -> pa.Table:
        """The events as an operator takes them."""
        names = [made.maker.type.name for made in self.made]
        kinds = np.repeat(np.arange(len(names), dtype=np.int32), [len(m) for m in self.made])
        numbers: Array = pa.array(kinds[self.order])
        found: dict[str, Array] = {
            "@type": pa.DictionaryArray.from_arrays(numbers, pa.array(names)),
            "@time": pa.array(self.instants),
            "@sequence": pa.array(np.arange(len(self))),
        }
        for column in columns:
            found[column.name] = self._column(column, program)
        return pa.table(found)

    def _column(self, column: Column, program: ResolvedProgram) -> Array:
        type: Any = arrow_type(column.data_type, program.types)
        pieces = [
            made.maker.array(made, column.attribute, type)
            if made.maker.type.name in column.types
            else pa.nulls(len(made), type)
            for made in self.made
        ]
        joined: Array = pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)
        return joined.take(pa.array(self.order))

    def events(self) -> list[Event]:
        """The events one by one, with all their attributes."""
        rows = [row for made in self.made for row in made.maker.rows(made)]
        return [
            Event(name, instant, values, sequence)
            for sequence, (name, instant, values) in enumerate(rows[n] for n in self.order.tolist())
        ]


class Maker:
    """Makes runs of a scenario for a program; InputError where the two do not agree."""

    def __init__(
        self, scenario: Scenario, program: ResolvedProgram, *, all_attributes: bool = False
    ) -> None:
        problems = [p for f in scenario.factories for p in problems_of(f, program)]
        if problems:
            raise InputError(*dict.fromkeys(problems))
        self.columns = columns_of(program)
        self._program = program
        wanted = None if all_attributes else self.columns
        self._makers = tuple(
            _Maker(number, factory, program.types[factory.type], _wanted(factory, wanted))
            for number, factory in enumerate(scenario.factories)
        )

    def run(self, seed: int, number: int, span: TimeRange) -> Run:
        """The events of a run by its number."""
        made = tuple(maker.make(seed, number, span) for maker in self._makers)
        joined = np.concatenate([m.instants for m in made])
        order = np.argsort(joined, kind="stable")
        if span.most is not None:
            order = order[: span.most]
        instants = joined[order]
        last = int(instants[-1]) if len(instants) else span.start
        is_over = span.end is None or len(order) == span.most
        return Run(made, order, instants, last if is_over else cast("int", span.end))

    def table(self, run: Run) -> pa.Table:
        return run.table(self.columns, self._program)


def _wanted(factory: Factory, columns: Sequence[Column] | None) -> frozenset[str]:
    """The attributes that somebody looks at."""
    if columns is None:
        return frozenset(factory.attributes)
    return frozenset(c.attribute for c in columns if factory.type in c.types)


class _Maker:
    """One factory."""

    def __init__(
        self, number: int, factory: Factory, type: EventType, wanted: frozenset[str]
    ) -> None:
        self.type = type
        self._number = number
        self._factory = factory
        self._sources = {n: s for n, s in factory.attributes.items() if n in wanted}
        self._unit = 1
        if type.time is not None and is_integral(type.find(type.time.attribute) or DOUBLE):
            self._unit = MICROSECONDS[cast("TimeUnit", type.time.unit)]

    def make(self, seed: int, run: int, span: TimeRange) -> _Made:
        instants, happens, modes = self._readings(seed, run, span)
        values = {}
        for name, source in self._sources.items():
            if isinstance(source, Constant):
                values[name] = np.broadcast_to(np.array(source.value), int(happens.sum()))
            else:
                generator = self._generator(seed, run, zlib.crc32(name.encode()))
                values[name] = self._draw(source, generator, modes)[happens]
        return _Made(self, instants[happens], values)

    def _draw(self, source: ValueSource, generator: np.random.Generator, modes: Words) -> Numbers:
        if isinstance(source, Drawable):
            return source.draw(generator, modes.shape)
        assert isinstance(source, ByMode)
        assert self._factory.modes is not None
        return source.draw_in(generator, modes, self._factory.modes.states)

    def _generator(self, seed: int, run: int, stream: int) -> np.random.Generator:
        seeds = np.random.SeedSequence(seed, spawn_key=(run, self._number, stream))
        return np.random.Generator(np.random.PCG64(seeds))

    def _readings(self, seed: int, run: int, span: TimeRange) -> tuple[Words, Any, Words]:
        """When readings are due, which of them happen, and in which mode, a row for each factory."""
        elapsed, modes = self._elapsed(seed, run, span)
        left = (LAST_INSTANT - span.start) / SECOND
        if span.end is None and elapsed.max(initial=0) > left:
            raise InputError(_too_late(self._factory))
        elapsed = np.minimum(elapsed, left + 1)  # behind any end, and still a number of 64 bits
        first = span.start + -span.start % self._unit  # an attribute may count whole units only
        instants = first + np.rint(elapsed * SECOND).astype(np.int64) // self._unit * self._unit
        happens = np.ones(instants.shape, dtype=bool)
        if span.end is not None:
            happens = instants <= span.end
        width = int(happens.sum(axis=1).max())
        return instants[:, :width], happens[:, :width], modes[:, :width]

    def _elapsed(self, seed: int, run: int, span: TimeRange) -> tuple[Numbers, Words]:
        """Seconds from the start to each reading, beyond the end of the run, and their modes."""
        factory = self._factory
        gaps, turns = (self._generator(seed, run, stream) for stream in (_GAPS, _MODES))
        most = min((n for n in (factory.max_events, span.most) if n is not None), default=MOST)
        width = min(_FIRST_LOOK, most)
        if factory.count > MOST:
            raise RunError(_too_many(factory))
        elapsed = np.zeros((factory.count, 1))
        modes = np.full((factory.count, 1), factory.modes.start if factory.modes else 0)
        while width > 0:
            if elapsed.size + width * factory.count > MOST:
                raise RunError(_too_many(factory))
            turn = np.zeros((factory.count, width), dtype=np.int64)
            if factory.modes is not None:
                turn = factory.modes.path(turns, turn.shape, modes[:, -1])
            passing = np.fmax(self._draw(factory.every, gaps, turn), 0)
            elapsed = np.concatenate([elapsed, elapsed[:, -1:] + np.cumsum(passing, 1)], axis=1)
            modes = np.concatenate([modes, turn], axis=1)
            width = min(self._missing(elapsed, span), most - elapsed.shape[1] + 1)
        return elapsed[:, 1:], modes[:, 1:]

    def _missing(self, elapsed: Numbers, span: TimeRange) -> int:
        """About how many more readings the slowest of the factories needs to reach the end."""
        if span.end is None:
            return _MANY
        reached = float(elapsed[:, -1].min()) * SECOND
        left = span.end - span.start - reached
        if left < 0:
            return 0
        pace = max(reached / (elapsed.shape[1] - 1), 1.0)
        return int(1.1 * left / pace) + _FIRST_LOOK

    # What was made, in other forms.

    def array(self, made: _Made, attribute: str, type: Any) -> Array:
        if self.type.time is not None and self.type.time.attribute == attribute:
            return pa.array(self._times(made.instants), type)
        if attribute not in made.values:
            return pa.nulls(len(made), type)
        return pa.array(self._fitting(made, attribute), type)

    def _fitting(self, made: _Made, attribute: str) -> Numbers:
        return fitting(made.values[attribute], self.type.find(attribute))

    def rows(self, made: _Made) -> Iterator[tuple[str, Instant, dict[str, Value]]]:
        names = [a.name for a in self.type.attributes]
        columns: list[list[Value]] = []
        for name in names:
            if self.type.time is not None and self.type.time.attribute == name:
                columns.append(self._times(made.instants).tolist())
            elif name in made.values:
                columns.append(self._fitting(made, name).tolist())
            else:
                columns.append([None] * len(made))
        rows = zip(*columns, strict=True) if columns else iter([()] * len(made))
        for instant, row in zip(made.instants.tolist(), rows, strict=True):
            yield self.type.name, instant, dict(zip(names, row, strict=True))

    def _times(self, instants: Words) -> Numbers:
        """What the attribute that holds the time says."""
        assert self.type.time is not None
        type = self.type.find(self.type.time.attribute)
        unit = MICROSECONDS[cast("TimeUnit", self.type.time.unit)]
        if type == STRING:
            return np.array([format_instant(n) for n in instants.tolist()], dtype=object)
        found = instants // unit if is_integral(type or DOUBLE) else instants / unit
        return fitting(found, type)


def _too_many(factory: Factory) -> Diagnostic:
    fact = f"a run has more than {MOST:,} events of {factory.type}"
    return error("bad-scenario", fact, hint="let them come less often, or set max_events")


def _too_late(factory: Factory) -> Diagnostic:
    fact = f"events of {factory.type} come after the year 9999"
    return error("bad-scenario", fact, hint="let them come more often, or say how long a run lasts")
