"""A net that is being drawn, and what all parts of a translation need of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.formal.petri.multiset import Colour
from cepheid.formal.petri.net import ColourSet, Place, Priority, ProductOf, Transition
from cepheid.formal.petri.terms import Apply, Const, Term
from cepheid.pattern.tree import Within, walk
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.tree import TimeWindow

# The names that a net has for places of its own.
_OWN = {"Ev", "in_seqn", "queue", "queued", "taken", "time", "time_interval", "end"}


def succ(number: Term) -> Apply:
    return Apply("+", number, Const(1))


def periods_of(program: ResolvedProgram) -> list[int]:
    """Everything that takes its time in a program, in microseconds."""
    windows = (statement.tree.window for statement in program.statements)
    patterns = (s.pattern for s in program.statements if s.pattern is not None)
    parts = (part for pattern in patterns for part in walk(pattern))
    timed = (item for item in (*windows, *parts) if isinstance(item, TimeWindow | Within))
    return [item.period.microseconds for item in timed]


@dataclass(slots=True)
class Sheet:
    """A net that is being drawn."""

    program: ResolvedProgram
    places: list[Place] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    tokens: dict[str, list[Colour]] = field(default_factory=dict)

    @property
    def levels(self) -> int:
        """The priority after those of all statements."""
        return Priority.P_HIGH + 1 + 2 * (1 + max((s.rank for s in self.statements), default=0))

    @property
    def statements(self) -> tuple[ResolvedStatement, ...]:
        return self.program.statements

    @property
    def has_time(self) -> bool:
        return bool(periods_of(self.program))

    def place(self, name: str, *colours: ColourSet, start: Colour | None = None) -> str:
        """Draws a place, if it is not there yet; `start` is its token at the start."""
        if all(place.name != name for place in self.places):
            self.places.append(Place(name, colours[0] if len(colours) == 1 else ProductOf(colours)))
            if start is not None:
                self.tokens[name] = [start]
        return name

    def unused(self, name: str) -> str:
        """A name that no transition has: this one, or one that begins with it."""
        count = sum(t.name.split(" ")[0] == name for t in self.transitions)
        return f"{name}_{count + 1}" if count else name

    def add(self, transition: Transition) -> None:
        self.transitions.append(transition)

    def is_consumed(self, event_type: str) -> bool:
        lineage = {event_type, *self.program.types[event_type].ancestors}
        return any(lineage & set(s.inputs) for s in self.statements)

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

    def level(self, statement: ResolvedStatement, *, starts_runs: bool = False) -> int:
        """The priority of what a statement does with the event at hand."""
        return Priority.P_HIGH + 1 + 2 * statement.rank + (not starts_runs)
