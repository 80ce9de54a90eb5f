"""A program as data: an ordered tuple of declarations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cepheid.core.checks import need
from cepheid.core.located import Located
from cepheid.core.numbers import fits_long
from cepheid.core.time import FIRST_INSTANT, LAST_INSTANT, Period
from cepheid.core.types import Attribute
from cepheid.errors import Span
from cepheid.expr.python import PythonFunction
from cepheid.expr.tree import Expr
from cepheid.pattern.algebra import Occurrence
from cepheid.pattern.policy import EVERY, Policy
from cepheid.pattern.schedule import Schedule
from cepheid.pattern.tree import Pattern
from cepheid.program.actions import Action
from cepheid.program.classes import AnyClass, ComplexClass, SubscribedClass
from cepheid.query.tree import Query

Scalar: TypeAlias = str | bool | int | float | None
Stream: TypeAlias = Literal["istream", "rstream", "irstream"]
Representation: TypeAlias = Literal["map", "objectarray", "json"]


@dataclass(frozen=True, slots=True)
class Annotation(Located):
    """`@Name('x')` has the argument (None, 'x'); `@EventTime(unit='minutes')` a named one."""

    name: str
    arguments: tuple[tuple[str | None, Scalar | tuple[Scalar, ...]], ...] = ()

    def __post_init__(self) -> None:
        need(all(map(_is_writable, self._scalars())), "no text writes such a number")

    def _scalars(self) -> Iterator[Scalar]:
        for _, value in self.arguments:
            yield from value if isinstance(value, tuple) else (value,)

    def value(self, name: str | None = None) -> Scalar | tuple[Scalar, ...]:
        """The argument of that name, or the unnamed one; None where there is none."""
        return dict(self.arguments).get(name)


def _is_writable(value: Scalar) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or fits_long(value)


ANY_OBJECT = "Object"  # the class of all objects of a live model
# What happened to a match of a query in a transaction.
MatchChange: TypeAlias = Literal["found", "lost", "updated"]


@dataclass(frozen=True, slots=True)
class QueryChange(Located):
    """`as query(args) found`: what the events of a type tell of.

    The query may be a pattern, `Class` or `Class.feature`; its arguments are attributes of the event.
    """

    query: str
    arguments: tuple[str | None, ...]
    change: MatchChange = "found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema(Located):
    """`create schema Name (attribute type, ...) inherits Parent, ...`

    How EPL says that events are represented (`create map schema`) is kept, and means nothing here.
    """

    name: str
    attributes: tuple[Attribute, ...] = ()
    inherits: tuple[str, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    check: Expr | None = None  # what an event must satisfy to exist for the event algebra
    disturbs: bool = False  # its events are noise to occurrences that cannot use them
    query: QueryChange | None = None  # what makes its events, over a live model
    # Attributes that name objects of a live model, each with their class.
    objects: tuple[tuple[str, str], ...] = ()
    representation: Representation | None = None
    # Of the attributes, then of the parents; empty where the schema was not read from a text.
    places: tuple[Span, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ContextKey(Located):
    """`a and b from Type`: the attributes that make the key of that type's events."""

    event_type: str
    attributes: tuple[str, ...]

    def __post_init__(self) -> None:
        need(bool(self.attributes), "a key needs an attribute")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Located):
    """`create context Name partition by ...`: one instance of each statement per key."""

    name: str
    keys: tuple[ContextKey, ...]
    annotations: tuple[Annotation, ...] = ()

    def __post_init__(self) -> None:
        need(bool(self.keys), "a context needs a key")


@dataclass(frozen=True, slots=True)
class SelectExpr(Located):
    expr: Expr
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class SelectAll(Located):
    """`*`, or with a tag `a.*`."""

    tag: str | None = None


SelectItem: TypeAlias = SelectExpr | SelectAll


@dataclass(frozen=True, slots=True)
class PatternSource(Located):
    pattern: Pattern
    policy: Policy = EVERY


@dataclass(frozen=True, slots=True)
class StreamSource(Located):
    """`Type(condition) as alias`."""

    event_type: str
    condition: Expr | None = None
    alias: str | None = None


Source: TypeAlias = PatternSource | StreamSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(Located):
    """The root of the data windows: which rows of the source still count."""


@dataclass(frozen=True, slots=True)
class TimeWindow(Window):
    period: Period

    def __post_init__(self) -> None:
        need(not self.period.is_zero, "a time window needs a period")


@dataclass(frozen=True, slots=True)
class TimeBatch(Window):
    """Rows of one period are released together at its end.

    The first period starts at the first row, or at a reference instant (milliseconds since the
    epoch) and its multiples. `start_eager` starts with the statement instead of the first row;
    `force_update` releases empty periods too.
    """

    period: Period
    reference: int | None = None
    force_update: bool = False
    start_eager: bool = False

    def __post_init__(self) -> None:
        need(not self.period.is_zero, "a time batch needs a period")
        in_calendar = FIRST_INSTANT <= (self.reference or 0) * 1000 <= LAST_INSTANT
        need(in_calendar, "the reference of a time batch is outside the years 1 to 9999")


@dataclass(frozen=True, slots=True)
class LengthWindow(Window):
    size: int

    def __post_init__(self) -> None:
        need(self.size > 0, "a length window holds at least one row")


@dataclass(frozen=True, slots=True)
class LengthBatch(Window):
    size: int

    def __post_init__(self) -> None:
        need(self.size > 0, "a length batch holds at least one row")


@dataclass(frozen=True, slots=True)
class KeepAll(Window):
    """Rows never leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRate(Located):
    """`output [after x] [first|last|all|snapshot] every y`, or `at (schedule)`, or `when condition`.

    A whole number counts events, a period counts time; a schedule says when. `mode` None is plain
    `every`.
    """

    mode: Literal["first", "last", "all", "snapshot"] | None = None
    every: int | Period | Schedule | None = None
    after: int | Period | None = None
    when: Expr | None = None

    def __post_init__(self) -> None:
        every, after = self.every, self.after
        given = [part for part in (every, after, self.when) if part is not None]
        need(bool(given), "an output rate needs `every`, `after` or `when`")
        need(self.when is None or len(given) == 1, "`when` stands alone in an output rate")
        need(self.mode is None or every is not None, "a mode needs `every`")
        is_some = every > 0 if isinstance(every, int) else every != Period()
        need(is_some, "`every` needs an amount")
        need(not isinstance(after, int) or after >= 0, "`after` counts from zero")


@dataclass(frozen=True, slots=True)
class OrderItem(Located):
    expr: Expr
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Limit(Located):
    count: int
    offset: int = 0

    def __post_init__(self) -> None:
        need(self.count >= 0 and self.offset >= 0, "a limit is never negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Located):
    """Consumes event types and derives one.

    `stream` says which rows the statement reports (new ones, removed ones, both), `insert_stream`
    which of them go into the target type.
    """

    select: tuple[SelectItem, ...]
    source: Source
    insert_into: str | None = None
    insert_stream: Stream = "istream"
    stream: Stream = "istream"
    distinct: bool = False
    window: Window | None = None
    where: Expr | None = None
    group_by: tuple[Expr, ...] = ()
    having: Expr | None = None
    output: OutputRate | None = None
    order_by: tuple[OrderItem, ...] = ()
    limit: Limit | None = None
    context: str | None = None
    annotations: tuple[Annotation, ...] = ()

    def __post_init__(self) -> None:
        need(bool(self.select) or self.is_occurrence, "a select list needs an item")
        is_inserted = self.insert_into is not None or self.insert_stream == "istream"
        need(is_inserted, f"`insert {self.insert_stream}` needs a type to insert into")

    @property
    def is_occurrence(self) -> bool:
        """Whether its source is a form of the event algebra."""
        source = self.source
        return isinstance(source, PatternSource) and isinstance(source.pattern, Occurrence)

    def annotation(self, name: str) -> Annotation | None:
        """The annotation of that name, whatever its case."""
        for annotation in self.annotations:
            if annotation.name.lower() == name.lower():
                return annotation
        return None

    @property
    def priority(self) -> int:
        found = self.annotation("Priority")
        value = found.value() if found else 0
        return value if isinstance(value, int) else 0


@dataclass(frozen=True, slots=True)
class Trigger(Located):
    """An event, and what the rule calls its attributes: `tolerance(host, _)`."""

    event_type: str
    arguments: tuple[str | None, ...] | None = None  # None: as the event does


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactiveRule(Located):
    """`rule name on event(args), ... { ... }`: what is done whenever one of the events happens."""

    name: str
    triggers: tuple[Trigger, ...]
    body: tuple[Action, ...] = ()
    annotations: tuple[Annotation, ...] = ()

    def __post_init__(self) -> None:
        need(bool(self.triggers), "a rule needs an event")

    @property
    def priority(self) -> int:
        return int(_number_of("priority", self.annotations, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickFix(Located):
    """`fix name on query(args) { ... }`: what may be done to a match, one step of a solution."""

    name: str
    query: str
    arguments: tuple[str | None, ...] | None = None  # None: as the query does
    body: tuple[Action, ...] = ()
    annotations: tuple[Annotation, ...] = ()

    @property
    def cost(self) -> float:
        return _number_of("cost", self.annotations, 1)


def _number_of(name: str, annotations: tuple[Annotation, ...], default: float) -> float:
    for annotation in annotations:
        value = annotation.value()
        if annotation.name.lower() == name and isinstance(value, int | float):
            return value
    return default


Annotated: TypeAlias = Schema | Context | Statement | ReactiveRule | QuickFix
Declaration: TypeAlias = Annotated | Query | SubscribedClass | ComplexClass


@dataclass(frozen=True, slots=True)
class ProgramTree:
    """What the texts of a program say, in their order."""

    declarations: tuple[Declaration, ...] = ()
    functions: tuple[PythonFunction, ...] = ()  # that it may call by name, beside those that exist

    @property
    def schemas(self) -> tuple[Schema, ...]:
        return tuple(d for d in self.declarations if isinstance(d, Schema))

    @property
    def contexts(self) -> tuple[Context, ...]:
        return tuple(d for d in self.declarations if isinstance(d, Context))

    @property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(d for d in self.declarations if isinstance(d, Statement))

    @property
    def queries(self) -> tuple[Query, ...]:
        return tuple(d for d in self.declarations if isinstance(d, Query))

    @property
    def rules(self) -> tuple[ReactiveRule, ...]:
        return tuple(d for d in self.declarations if isinstance(d, ReactiveRule))

    @property
    def fixes(self) -> tuple[QuickFix, ...]:
        return tuple(d for d in self.declarations if isinstance(d, QuickFix))

    @property
    def classes(self) -> tuple[AnyClass, ...]:
        return tuple(d for d in self.declarations if isinstance(d, SubscribedClass | ComplexClass))

    def __add__(self, other: ProgramTree) -> ProgramTree:
        new = (f for f in other.functions if not any(f is known for known in self.functions))
        return ProgramTree(self.declarations + other.declarations, (*self.functions, *new))
