"""From a program to a net.

Every input type has a place of its name, with all its events: (number, time, event). One event at a
time is being taken, the token of `Ev`: `incr_seqn` takes the next one from the input, as soon as
nothing else is left to do, and `next_derived` those that statements derive, first in, first out.
Results lie in places with the names of their types, from where an `@Action` takes them on. Where time matters, it passes by `tick`, from
one multiple of `time_interval` to the next, after everything of an instant has happened.

What belongs to one statement has its name before a dot: see `translation/statements.py`. Priorities (`net_builder.Level`):

    P_HIGH                 what follows at once: rows enter and leave windows, parts of patterns end
    then                   what parts of a pattern tell each other
    one for each rank      timers of the statements, one statement after the other
    some for each rank     the statements: new partitions, what an `and` forbids, what starts a run, the rest
    then                   `next_derived`
    then                   `incr_seqn`
    last                   `tick`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from cepheid.core.event import Event
from cepheid.core.time import MICROSECONDS, Instant
from cepheid.errors import ProgramError, RunError, error
from cepheid.formal.petri.firing.simulation import Simulation, Stop
from cepheid.formal.petri.gaps import gaps
from cepheid.formal.petri.nets.multiset import Colour, Multiset
from cepheid.formal.petri.nets.net import (
    INT,
    STRING,
    Arc,
    Marking,
    Net,
    Priority,
    Transition,
)
from cepheid.formal.petri.nets.terms import Apply, Call, Const, Function, Var, call, product
from cepheid.formal.petri.translation.inscriptions import EVENT
from cepheid.formal.petri.translation.net_builder import (
    AtStart,
    NetBuilder,
    periods_of,
    schedules_of,
    succ,
)
from cepheid.formal.petri.translation.statements import translate_source
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.tree import Annotation, TimeBatch

MOST_TICKS = 10_000_000
RUNAWAY = 300_000  # firings for one event
_N, _T, _E, _I, _Q = map(Var, ("n", "t", "e", "i", "q"))
_OLD = product(_I, Var("old_type"), Var("old_t"), Var("old_e"))
_NOTHING = Event("", 0, {})  # what is being taken before the first event


@dataclass(frozen=True, slots=True)
class Translation:
    """A program as a net, and how its input is marked and its results are read."""

    program: ResolvedProgram
    net: Net
    tokens: tuple[tuple[str, Colour], ...]  # at the start, besides time and input
    inputs: tuple[tuple[str, str], ...]  # types and the places of their events
    results: tuple[str, ...]  # the places of what is derived
    has_time: bool

    def marking(self, events: Sequence[Event], start: Instant, end: Instant) -> Marking:
        """The marking before anything has happened; events in the order of their times."""
        tokens: dict[str, list[Colour]] = {}
        for place, token in self.tokens:
            tokens.setdefault(place, []).append(_begun(token, start))
        places = dict(self.inputs)
        taken = (event for event in events if event.type in places)
        for number, event in enumerate(taken, start=1):
            tokens.setdefault(places[event.type], []).append((number, event.instant, event))
        if self.has_time:
            tokens["time"] = [start]
            tokens["time_interval"] = [self.time_interval(events, start, end)]
            tokens["end"] = [end]
        return Marking({place: Multiset.of(colours) for place, colours in tokens.items()})

    def time_interval(self, events: Iterable[Event], start: Instant, end: Instant) -> int:
        """The longest tick that meets every instant at which something happens."""
        instants = (event.instant - start for event in events)
        interval = math.gcd(end - start, *instants, *_strides(self.program, start)) or 1
        if (end - start) // interval > MOST_TICKS:
            fact = f"from the start to the end there are more than {MOST_TICKS:,} ticks"
            hint = f"ticks are {interval} microseconds apart; round the times of the events"
            raise RunError(error("not-in-net", fact, hint=hint))
        return interval

    def rows(self, marking: Marking) -> list[Event]:
        """The results that lie in a marking, in the order in which they came."""
        tokens = [token for place in self.results for token in marking[place].elements()]
        return sorted((token[2] for token in tokens), key=lambda row: row.key)  # type: ignore[index]


def _strides(program: ResolvedProgram, start: Instant) -> Iterator[int]:
    """What divides the time from the start to every instant at which something may happen."""
    for period in periods_of(program):
        yield period.microseconds
        if period.months:
            yield MICROSECONDS["days"]
    for schedule in schedules_of(program):
        yield from (schedule.resolution, start % schedule.resolution)
    for statement in program.statements:
        window = statement.tree.window
        if isinstance(window, TimeBatch) and window.reference is not None:
            yield window.reference * 1000 - start


def _begun(token: Colour, start: Instant) -> Colour:
    """A token at the start, when that is known."""
    if not isinstance(token, tuple):
        return token
    return tuple(part.make(start) if isinstance(part, AtStart) else part for part in token)


def translate(program: ResolvedProgram) -> Translation:
    """The net of a program; ProgramError names everything in it that nets do not have yet."""
    problems = gaps(program)
    if problems:
        raise ProgramError(*problems)
    builder = NetBuilder(program)
    _draw_input(builder)
    for statement in sorted(program.statements, key=lambda s: s.rank):
        translate_source(builder, statement)
    _draw_time(builder)
    results = dict.fromkeys(builder.result_place(s.target) for s in program.statements)
    results |= dict.fromkeys(_draw_actions(builder))
    return Translation(
        program,
        Net(tuple(builder.places), tuple(builder.transitions)),
        tuple((place, token) for place, tokens in builder.tokens.items() for token in tokens),
        tuple((name, builder.input_place(name)) for name in builder.input_types),
        tuple(results),
        builder.has_time,
    )


def run(
    program: ResolvedProgram,
    events: Sequence[Event],
    start: Instant,
    end: Instant,
    progress: Callable[[int, int], None] | None = None,
) -> list[Event]:
    """The rows of a program over its input, from its net."""
    translation = translate(program)
    simulation = Simulation(translation.net, translation.marking(events, start, end))
    reached: tuple[Multiset, Multiset] | None = None
    while simulation.run(limit=RUNAWAY) is Stop.LIMIT:
        marking = simulation.marking
        before, reached = reached, (marking["in_seqn"], marking["time"])
        if reached == before:
            fact = f"more than {RUNAWAY:,} transitions fired for one event"
            raise RunError(error("runaway", fact, hint="do the statements feed each other?"))
        if progress is not None:
            (taken,) = marking["in_seqn"]
            progress(cast("int", taken), len(events))
    return translation.rows(simulation.marking)


def _draw_input(builder: NetBuilder) -> None:
    """The places of the input, the event that is being taken, and those that wait."""
    builder.place("Ev", INT, STRING, INT, EVENT, start=(0, "", 0, _NOTHING))
    builder.place("in_seqn", INT, start=0)
    if any(builder.is_consumed(statement.target) for statement in builder.statements):
        _draw_queue(builder)
    for name in builder.input_types:
        place = builder.place(builder.input_place(name), INT, INT, EVENT)
        event = Arc(place, product(succ(_N), _T, _E))
        now = (Arc("time", _T),) if builder.has_time else ()
        builder.add(
            Transition(
                f"incr_seqn_{name}",
                (Arc("in_seqn", _N), event, Arc("Ev", _OLD), *now),
                (
                    Arc("in_seqn", succ(_N)),
                    event,
                    Arc("Ev", product(succ(_I), Const(name), _T, _E)),
                    *now,
                ),
                priority=builder.levels + 1,
            )
        )


def _draw_queue(builder: NetBuilder) -> None:
    """Where derived events wait that statements take."""
    builder.place("queued", INT, start=0)
    builder.place("taken", INT, start=0)
    builder.place("queue", INT, STRING, INT, EVENT)
    kind, number = Var("type"), succ(_Q)
    builder.add(
        Transition(
            "next_derived",
            (Arc("taken", _Q), Arc("queue", product(number, kind, _T, _E)), Arc("Ev", _OLD)),
            (Arc("taken", number), Arc("Ev", product(succ(_I), kind, _T, _E))),
            priority=builder.levels,
        )
    )


def _draw_time(builder: NetBuilder) -> None:
    if not builder.has_time:
        return
    interval, end = Var("time_interval"), Var("end")
    constants = (
        Arc(builder.place("time_interval", INT), interval),
        Arc(builder.place("end", INT), end),
    )
    builder.place("time", INT)
    builder.add(
        Transition(
            "tick",
            (Arc("time", _T), *constants),
            (Arc("time", Apply("+", _T, interval)), *constants),
            Apply("<", _T, end),
            builder.levels + 2,
        )
    )


def _draw_actions(builder: NetBuilder) -> list[str]:
    """The places to which actions take events, one action of a statement after the other."""
    event = product(_N, _T, _E)
    found = []
    for statement in builder.statements:
        place, guard = builder.result_place(statement.target), _is_to_act_on(builder, statement)
        for action in statement.tree.annotations:
            if action.name.lower() == "action":
                name = builder.unused(f"{statement.name}.{_title(action)}")
                done = builder.place(builder.unused(f"{name}_done"), INT, INT, EVENT)
                arcs = (Arc(place, event),), (Arc(done, event),)
                builder.add(Transition(name, *arcs, guard, Priority.P_HIGH))
                found.append(done)
                place, guard = done, None
    return found


def _title(action: Annotation) -> str:
    """`@Action('mail', to='me')` and `@Action(kind='mail')` are both called `action_mail`."""
    said = action.value() or action.value("kind")
    return f"action_{said}" if isinstance(said, str) else "action"


def _is_to_act_on(builder: NetBuilder, statement: ResolvedStatement) -> Call | None:
    """Which events in the place of their type are new ones of this statement, if not all are."""
    name, makers = statement.name, [s for s in builder.statements if s.target == statement.target]
    if len(makers) == 1 and statement.tree.stream != "irstream":
        return None
    is_new = Function(f"isOf_{name}", lambda e: e.statement == name and not e.is_old)
    return call(is_new, _E)
