"""Parts of a statement as people know them: where they stand, and how they are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant
from cepheid.expr.printing import print_expr
from cepheid.pattern.tree import Atom, Pattern, walk
from cepheid.program.tree import Window
from cepheid.semantics.inspection.description import Awaited, Bound, Place
from cepheid.semantics.pattern import Binding


@dataclass(frozen=True, slots=True)
class Texts:
    """How a language writes patterns and windows; the semantics knows none."""

    pattern: Callable[[Pattern], str]
    window: Callable[[Window], str]


class Parts:
    """The parts of one pattern, each with its number among all of them, parents first."""

    def __init__(self, pattern: Pattern, texts: Texts) -> None:
        self._parts = tuple(walk(pattern))  # which keeps them, and so their ids, alive
        self._numbers = {id(part): number for number, part in enumerate(self._parts)}
        self._places: dict[int, Place] = {}
        self._texts = texts

    @property
    def whole(self) -> Place:
        return self.place(self._parts[0])

    def place(self, part: Pattern) -> Place:
        number = self._numbers[id(part)]
        if number not in self._places:
            self._places[number] = Place(number, self._texts.pattern(part), part.span)
        return self._places[number]

    def event(self, part: Pattern, atom: Atom) -> Awaited:
        """An event that a part waits for."""
        condition = None if atom.condition is None else print_expr(atom.condition)
        return Awaited(self.place(part), atom.event_type, condition)

    def time(self, part: Pattern, due: Instant | None) -> Awaited:
        """An instant that a part waits for."""
        return Awaited(self.place(part), due=due)


def bound_events(binding: Binding) -> Bound:
    """Tags and their events, each a tuple of its own: those that repeats collect grow."""
    return MappingProxyType(
        {t: (e,) if isinstance(e, Event) else tuple(e) for t, e in binding.items()}
    )


def frozen(values: dict[str, Value]) -> MappingProxyType[str, Value]:
    return MappingProxyType(dict(values))
