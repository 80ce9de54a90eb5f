"""What a pattern does, in few kinds of nodes.

A `Wait` waits for an event, for a period to pass, or for whichever comes first, and is over then:
it comes true or fails. Waits that follow each other are a `Line`, of which a run is in one place at
a time. Everything else means what the operator of the same name means in `pattern.tree`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from operator import is_
from typing import Any
from typing import Literal as OneOf

from cepheid.core.checks import need
from cepheid.core.time import Period
from cepheid.errors import Span
from cepheid.expr.tree import Expr
from cepheid.pattern.schedule import Schedule
from cepheid.pattern.tree import Pattern


@dataclass(frozen=True, slots=True)
class Equality:
    """`event` is about the event that is waited for, `bound` about those that came before it."""

    event: Expr
    bound: Expr
    written: Expr


@dataclass(frozen=True, slots=True)
class Awaited:
    """An event of a type for which all conditions are true.

    `own` looks at the event alone and `equal` at what it has in common with events before; `rest`
    looks at anything. `step` is its place among the events and timers of the written pattern.
    """

    event_type: str
    tag: str | None = None
    own: tuple[Expr, ...] = ()
    equal: tuple[Equality, ...] = ()
    rest: tuple[Expr, ...] = ()
    step: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def conditions(self) -> tuple[Expr, ...]:
        return (*self.own, *(equality.written for equality in self.equal), *self.rest)


@dataclass(frozen=True, slots=True)
class Passing:
    """A period that passes; it is a step of the written pattern unless it is a deadline."""

    period: Period
    step: int | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Wait(Node):
    """Comes true by the event or by the time; if it waits for both, the other one makes it fail."""

    event: Awaited | None = None
    time: Passing | None = None
    true_by: OneOf["event", "time"] = "event"

    def __post_init__(self) -> None:
        awaited = self.event if self.true_by == "event" else self.time
        need(awaited is not None, "a wait can come true")


@dataclass(frozen=True, slots=True)
class WaitForInstant(Node):
    """Comes true at the next instant of a schedule."""

    schedule: Schedule
    step: int = 0


@dataclass(frozen=True, slots=True)
class Line(Node):
    """Each wait that comes true begins the next one; it fails with the first that does."""

    waits: tuple[Wait, ...]

    def __post_init__(self) -> None:
        need(len(self.waits) > 1, "a line has two waits")


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    """Each truth of one part begins the next part beside those that go on: `->`."""

    parts: tuple[Node, ...]

    def __post_init__(self) -> None:
        need(len(self.parts) > 1, "a sequence has two parts")


@dataclass(frozen=True, slots=True)
class Every(Node):
    child: Node


@dataclass(frozen=True, slots=True)
class EveryDistinct(Node):
    keys: tuple[Expr, ...]
    child: Node
    expiry: Period | None = None


@dataclass(frozen=True, slots=True)
class AllOf(Node):
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(Node):
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Absent(Node):
    child: Node


@dataclass(frozen=True, slots=True)
class Repeat(Node):
    child: Node
    low: int | None = None
    high: int | None = None
    until: Node | None = None


@dataclass(frozen=True, slots=True)
class Within(Node):
    child: Node
    period: Period
    most: int | None = None


@dataclass(frozen=True, slots=True)
class While(Node):
    child: Node
    condition: Expr


@dataclass(frozen=True, slots=True)
class Unknown(Node):
    """An operator that the normal form has no node for: engines have a gap, analyses expect the worst."""

    written: Pattern
    parts: tuple[Node, ...]


KINDS: tuple[type[Node], ...] = (
    Wait,
    WaitForInstant,
    Line,
    Sequence,
    Every,
    EveryDistinct,
    AllOf,
    AnyOf,
    Absent,
    Repeat,
    Within,
    While,
    Unknown,
)
# The fields that hold nodes, from left to right.
_PARTS = {
    kind: tuple(f.name for f in fields(kind) if f.name in ("child", "parts", "waits", "until"))
    for kind in KINDS
}


def children(node: Node) -> Iterator[Node]:
    """The direct parts of a node, from left to right."""
    for name in _PARTS[type(node)]:
        value = getattr(node, name)
        if isinstance(value, tuple):
            yield from value
        elif value is not None:
            yield value


def with_children(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with each of its direct parts changed; itself, where that changes nothing."""
    found: dict[str, Any] = {}
    for name in _PARTS[type(node)]:
        old = getattr(node, name)
        if isinstance(old, tuple):
            new: Any = tuple(map(change, old))
            is_same = all(map(is_, old, new))
        else:
            new = None if old is None else change(old)
            is_same = old is new
        if not is_same:
            found[name] = new
    return replace(node, **found) if found else node


def walk(node: Node) -> Iterator[Node]:
    """The node and everything in it, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


def events(node: Node) -> Iterator[Awaited]:
    """The events that a node and everything in it wait for, from left to right."""
    for part in walk(node):
        if isinstance(part, Wait) and part.event is not None:
            yield part.event


def tags(node: Node) -> Iterator[str]:
    return (event.tag for event in events(node) if event.tag is not None)
