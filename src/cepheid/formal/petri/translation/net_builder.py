"""A net that is being drawn, and what all parts of a translation need of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import chain, count

from cepheid.core.time import Instant, Period
from cepheid.formal.petri.nets.multiset import Colour
from cepheid.formal.petri.nets.net import Arc, ColourSet, Place, Priority, ProductOf, Transition
from cepheid.formal.petri.nets.terms import Apply, Const, Term
from cepheid.pattern.schedule import Schedule
from cepheid.pattern.tree import At, Interval, Pattern, Within, children, forbids, walk
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.tree import TimeBatch, TimeWindow

# The names that a net has for places of its own.
_OWN = {"Ev", "in_seqn", "queue", "queued", "taken", "time", "time_interval", "end"}


class Level(IntEnum):
    """The priorities of a translated program; those of timers and statements follow, by rank."""

    HIGH = Priority.P_HIGH  # what follows at once: rows enter and leave, matches go on, parts end
    ENDED = 2  # all parts of something have ended
    NEWS = 3  # what a part of a pattern tells another
    UNHEARD = 4  # nobody is left to hear it
    TIMERS = 5


@dataclass(frozen=True, slots=True)
class AtStart:
    """In a token at the start: what depends on when that is."""

    make: Callable[[Instant], Colour]


def since(microseconds: int) -> AtStart:
    """The start and so much time."""
    return AtStart(lambda start: start + microseconds)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a transition does besides; the first title is its name."""

    inputs: tuple[Arc, ...] = ()
    outputs: tuple[Arc, ...] = ()
    title: str | None = None

    def __add__(self, other: Effect) -> Effect:
        inputs, outputs = self.inputs + other.inputs, self.outputs + other.outputs
        return Effect(inputs, outputs, self.title or other.title)


NOTHING = Effect()


def reading(*arcs: Arc) -> Effect:
    """Tokens that are looked at and stay."""
    return Effect(arcs, arcs)


def succ(number: Term) -> Apply:
    return Apply("+", number, Const(1))


def periods_of(program: ResolvedProgram) -> list[Period]:
    """Everything that takes its time in a program."""
    periods = []
    for statement in program.statements:
        window, output = statement.tree.window, statement.tree.output
        if isinstance(window, TimeWindow | TimeBatch):
            periods.append(window.period)
        if output is not None:
            periods += [p for p in (output.every, output.after) if isinstance(p, Period)]
        parts = walk(statement.pattern) if statement.pattern is not None else ()
        periods += [part.period for part in parts if isinstance(part, Within | Interval)]
    return periods


def schedules_of(program: ResolvedProgram) -> list[Schedule]:
    patterns = (s.pattern for s in program.statements if s.pattern is not None)
    parts = (part for pattern in patterns for part in walk(pattern))
    return [part.schedule for part in parts if isinstance(part, At)]


def deepest_not(pattern: Pattern) -> int:
    """How many `not`s of an `and` are in each other."""
    return max(
        (deepest_not(part) + forbids(pattern, part) for part in children(pattern)), default=0
    )


@dataclass(slots=True)
class NetBuilder:
    """A net that is being drawn."""

    program: ResolvedProgram
    places: list[Place] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    tokens: dict[str, list[Colour]] = field(default_factory=dict)

    @property
    def ranks(self) -> int:
        return 1 + max((s.rank for s in self.statements), default=0)

    @property
    def levels(self) -> int:
        """The priority after those of all statements."""
        return Level.TIMERS + self.ranks + self.turns * self.ranks

    @property
    def statements(self) -> tuple[ResolvedStatement, ...]:
        return self.program.statements

    @property
    def has_time(self) -> bool:
        return bool(periods_of(self.program)) or bool(schedules_of(self.program))

    def place(self, name: str, *colours: ColourSet, start: Colour | None = None) -> str:
        """Draws a place, if it is not there yet; `start` is its token at the start."""
        if all(place.name != name for place in self.places):
            self.places.append(Place(name, colours[0] if len(colours) == 1 else ProductOf(colours)))
            if start is not None:
                self.tokens[name] = [start]
        return name

    def unused(self, name: str) -> str:
        """A name that no node has, nor the beginning of one: this one, or one that begins with it."""
        reserved = {*self.program.types, *(place.name for place in self.places), *_OWN}

        def is_taken(candidate: str) -> bool:
            taken = (t.name for t in self.transitions)
            return candidate in reserved or any(
                other == candidate or other.startswith(f"{candidate} ") for other in taken
            )

        names = (f"{name}_{number}" for number in count(2))
        return next(each for each in chain((name,), names) if not is_taken(each))

    def add(self, transition: Transition) -> None:
        self.transitions.append(transition)

    def is_consumed(self, event_type: str) -> bool:
        return event_type in self.program.consumed_types

    def counted_as(self, event_type: str) -> list[str]:
        """The types whose events count as of that type."""
        types = self.program.types.items()
        return [name for name, t in types if name == event_type or event_type in t.ancestors]

    def input_place(self, event_type: str) -> str:
        """Where the events of a type wait that come from outside."""
        is_derived = any(s.target == event_type for s in self.statements)
        name = self.result_place(event_type)
        return f"{name}_in" if is_derived else name

    def result_place(self, event_type: str) -> str:
        """Where the events of a type lie that statements derive: it has the name of the type."""
        return f"{event_type}_events" if event_type in _OWN else event_type

    @property
    def input_types(self) -> list[str]:
        """The types whose events statements take."""
        return [name for name in self.program.types if self.is_consumed(name)]

    def timer_level(self, statement: ResolvedStatement) -> int:
        """The priority of what a statement does because time has passed."""
        return Level.TIMERS + statement.rank

    def partition_level(self, statement: ResolvedStatement) -> int:
        """The priority of what starts a partition of a statement with the event at hand."""
        return Level.TIMERS + self.ranks + self.turns * statement.rank

    @property
    def turns(self) -> int:
        """How many priorities a statement has: new partitions, then two for each depth of `not`."""
        patterns = (s.pattern for s in self.statements if s.pattern is not None)
        return 3 + 2 * max(map(deepest_not, patterns), default=0)

    def level(
        self, statement: ResolvedStatement, *, starts_runs: bool = False, forbidden: int = 0
    ) -> int:
        """The priority of what a statement does with the event at hand."""
        turn = 2 * forbidden + starts_runs  # the greatest is the first
        return self.partition_level(statement) + self.turns - 1 - turn
