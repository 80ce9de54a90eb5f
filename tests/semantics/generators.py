"""Random programs that run, and random streams for them.

Four input types A to D and three derived types S to U share their attributes, so that any statement
can feed any other. Everything is small: few values, many equal instants, bounded numbers of rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal as OneOf
from typing import TypeAlias, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from cepheid.core.event import Event, Value
from cepheid.core.time import Period
from cepheid.core.types import DOUBLE, INT, LONG, STRING, Attribute, EventType
from cepheid.expr.tree import Aggregate, And, Binary, BinaryOperator, Call, Expr, Literal, Part, Ref
from cepheid.pattern import tree
from cepheid.pattern.schedule import Schedule
from cepheid.program.tree import (
    Annotation,
    Context,
    ContextKey,
    Declaration,
    KeepAll,
    LengthBatch,
    LengthWindow,
    Limit,
    OrderItem,
    OutputRate,
    PatternSource,
    ProgramTree,
    Schema,
    SelectAll,
    SelectExpr,
    SelectItem,
    Source,
    Statement,
    Stream,
    StreamSource,
    TimeBatch,
    TimeWindow,
    Window,
)

T = TypeVar("T")
Mode: TypeAlias = OneOf["first", "last", "all", "snapshot"] | None
INPUTS = ("A", "B", "C", "D")
DERIVED = ("S", "T", "U")
UNUSED = "Z"


def _attributes(number: str) -> tuple[Attribute, ...]:
    types = {"id": STRING, "k": STRING, "v": LONG if number == "long" else INT, "w": DOUBLE}
    return (*(Attribute(n, t) for n, t in types.items()), Attribute("ts", LONG))


# Derived values of v may be counts, so they are wider than those of the input.
SCHEMAS = tuple(
    Schema(name=name, attributes=_attributes("long" if name in DERIVED else "int"))
    for name in (*INPUTS, *DERIVED, UNUSED)
)
TYPES: Mapping[str, EventType] = {s.name: EventType(s.name, s.attributes) for s in SCHEMAS}
PER_KEY = Context(
    name="PerKey", keys=tuple(ContextKey(name, ("k",)) for name in (*INPUTS, *DERIVED))
)


@dataclass(frozen=True)
class Features:
    """What generated programs may contain."""

    calendar: bool = True  # what depends on the date: schedules, the clock, reference instants
    contexts: bool = True
    derives: bool = True  # statements that insert into types, and others that consume those


ALL = Features()


# Streams.

KEYS = ("x", "y", "x", None)
NUMBERS = (1, 2, 0, 3, None)
DOUBLES = (0.5, 0.1, 0.2, -2.5, 1e16, None, float("nan"), float("inf"))
VALUES = tuple(itertools.product(KEYS, NUMBERS, DOUBLES))
# Earlier types are likelier, and so are equal instants.
KINDS = tuple(itertools.product("AABBCD", (0, 0, 0, 1000, 1000, 2000, 3000, 500)))
SPREAD_KINDS = tuple(itertools.product("AABBCD", (500, 1000, 2000)))


def make_event(
    type: str, instant: int, number: int, k: Value = None, v: Value = None, w: Value = None
) -> Event:
    values = {"id": f"{type}{number}", "k": k, "v": v, "w": w, "ts": instant // 1000}
    return Event(type, instant, values, number)


@st.composite
def streams(
    draw: DrawFn,
    kinds: tuple[tuple[str, int], ...] = KINDS,
    values: tuple[tuple[Value, ...], ...] = VALUES,
    *,
    least: int = 5,
    most: int = 15,
) -> list[Event]:
    """Events in the order of their times; a kind is a type and the time that passes before."""
    one = st.tuples(st.sampled_from(kinds), st.sampled_from(values))
    events, clock = [], 0
    drawn = draw(st.lists(one, min_size=least, max_size=most))
    for number, ((type, gap), attributes) in enumerate(drawn):
        clock += gap * 1000
        events.append(make_event(type, clock, number, *attributes))
    return events


# Expressions.


def number(value: int) -> Literal:
    return Literal(value, type=INT)


def text(value: str) -> Literal:
    return Literal(value, type=STRING)


def attribute(name: str) -> Ref:
    return Ref((Part(name),))


@dataclass
class Scope:
    """The tags that a pattern has bound so far, and whether each holds several events."""

    fresh: Iterator[int] = field(default_factory=itertools.count)
    everies: int = 2  # how many more there may be
    tags: dict[str, bool] = field(default_factory=dict)

    def below(self) -> Scope:
        """The same place, where what is bound later is not seen."""
        return Scope(self.fresh, self.everies, dict(self.tags))

    def column(self, tag: str, name: str) -> Ref:
        return Ref((Part(tag, 0 if self.tags[tag] else None), Part(name)))


COMPARISONS: tuple[BinaryOperator, ...] = ("=", ">=", "<", "!=", "is", "is not")


def one_of(draw: DrawFn, *options: T) -> T:
    return draw(st.sampled_from(options))


def happens(draw: DrawFn, one_in: int) -> bool:
    return draw(st.sampled_from(range(one_in))) == one_in - 1


def comparison(draw: DrawFn, column: Ref, scope: Scope) -> Expr:
    """An attribute compared with a constant, or with the same one of a tag."""
    name = column.parts[-1].name
    constants: tuple[Expr, ...] = (number(1), number(2)) if name == "v" else (text("x"), text("y"))
    others = [scope.column(tag, name) for tag in scope.tags]
    return Binary(one_of(draw, *COMPARISONS), column, one_of(draw, *constants, *others, *others))


def condition(draw: DrawFn, scope: Scope) -> Expr | None:
    """Conditions on the event at hand and on tags bound before."""
    if one_of(draw, True, True, False):
        return None
    if happens(draw, 8):
        return Binary("<", attribute("w"), Literal(1.0, type=DOUBLE))
    found = comparison(draw, attribute(one_of(draw, "k", "v")), scope)
    if happens(draw, 5):
        return And((found, comparison(draw, attribute("v"), scope)))
    return found


def condition_on_tags(draw: DrawFn, scope: Scope) -> Expr:
    """Conditions where there is no event at hand."""
    if not scope.tags:
        return Binary("=", number(1), number(1))
    tag = one_of(draw, *scope.tags)
    return comparison(draw, scope.column(tag, "v"), Scope())


# Patterns. Each strategy adds what it binds to the scope that it is given.


PERIODS = tuple(Period(ms * 1000) for ms in (3000, 2000, 1000, 500, 5000))
SCHEDULES = tuple(Schedule(seconds=s) for s in (frozenset({3}), frozenset({0, 5, 7}), None))


@dataclass(frozen=True)
class PatternMaker:
    """Draws patterns over some types."""

    types: tuple[str, ...]
    features: Features

    def draw(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        if depth == 0 or happens(draw, 6):
            return self.leaf(draw, scope)
        makers = [self.chain, self.chain, self.chain, self.both, self.either, self.absent]
        makers += [self.exact, self.ended, self.within, self.within, self.guarded]
        makers += [self.every, self.every, self.distinct] if scope.everies else []
        return one_of(draw, *makers)(draw, scope, depth - 1)

    def leaf(self, draw: DrawFn, scope: Scope) -> tree.Pattern:
        kind = one_of(draw, *range(9))
        if kind == 7:
            return tree.Interval(one_of(draw, *PERIODS, Period()))
        if kind == 8 and self.features.calendar:
            return tree.At(one_of(draw, *SCHEDULES))
        return self.atom(draw, scope)

    def atom(self, draw: DrawFn, scope: Scope) -> tree.Pattern:
        type = one_of(draw, *self.types)
        found = condition(draw, scope)
        if happens(draw, 6):
            return tree.Atom(type, None, found)
        tag = f"t{next(scope.fresh)}"
        scope.tags[tag] = False
        return tree.Atom(type, tag, found)

    def chain(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        count = one_of(draw, 2, 2, 3)
        return tree.FollowedBy(tuple(self.draw(draw, scope, depth) for _ in range(count)))

    def sides(self, draw: DrawFn, scope: Scope, depth: int) -> tuple[tree.Pattern, ...]:
        """Two patterns that start together: neither sees what the other binds."""
        scopes = [scope.below(), scope.below()]
        parts = []
        for own in scopes:
            own.everies = min(scope.everies, 1)
            parts.append(self.draw(draw, own, depth))
        for own in scopes:
            scope.tags.update(own.tags)
        scope.everies = min(own.everies for own in scopes)
        return tuple(parts)

    def both(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        return tree.AllOf(self.sides(draw, scope, depth))

    def either(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        return tree.AnyOf(self.sides(draw, scope, depth))

    def absent(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        return tree.Absent(self.draw(draw, scope.below(), depth))

    def repeated(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        """A pattern whose tags are lists afterwards."""
        inside = scope.below()
        child = self.draw(draw, inside, depth)
        scope.tags.update({tag: True for tag in inside.tags if tag not in scope.tags})
        scope.everies = inside.everies
        return child

    def exact(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        count = one_of(draw, 2, 1, 3)
        return tree.Repeat(self.repeated(draw, scope, depth), count, count)

    def ended(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        low, high = one_of(draw, (None, None), (2, None), (None, 2), (1, 3), (2, 3), (2, 2))
        before = scope.below()
        child = self.repeated(draw, scope, depth)
        before.everies = scope.everies
        until = self.draw(draw, before, 0)
        scope.tags.update({tag: many for tag, many in before.tags.items() if tag not in scope.tags})
        return tree.Repeat(child, low, high, until)

    def within(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        most = one_of(draw, None, None, 1, 2)
        return tree.Within(self.draw(draw, scope, depth), one_of(draw, *PERIODS), most)

    def guarded(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        child = self.draw(draw, scope, depth)
        return tree.While(child, condition_on_tags(draw, scope))

    def every(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        """Every in every doubles with each match, so there is none inside."""
        rest, scope.everies = scope.everies - 1, 0
        child = self.draw(draw, scope, depth)
        scope.everies = rest
        return tree.Every(child)

    def distinct(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        child = self.every(draw, scope, depth)
        assert isinstance(child, tree.Every)
        keys: list[Expr] = [scope.column(tag, "k") for tag in scope.tags]
        key = one_of(draw, *keys) if keys else text("same")
        return tree.EveryDistinct((key,), child.child, one_of(draw, None, *PERIODS))


def draw_pattern(
    draw: DrawFn, types: tuple[str, ...], features: Features
) -> tuple[tree.Pattern, Scope]:
    maker = PatternMaker(types, features)
    scope = Scope()
    is_repeated = one_of(draw, True, True, False)
    make = maker.every if is_repeated else maker.draw
    return make(draw, scope, one_of(draw, 1, 2, 3)), scope


# Statements.


@dataclass
class Clauses:
    """Draws the clauses of a statement over a source; `column` names an attribute of its rows."""

    column: Callable[[str], Expr]
    features: Features

    def items(self, draw: DrawFn, *, aggregated: bool) -> tuple[SelectItem, ...]:
        exprs: dict[str, list[Expr]] = {
            name: [self.column(name)] for name in ("id", "k", "v", "w", "ts")
        }
        if self.features.calendar:
            exprs["ts"].append(Call("current_timestamp", ()))
        if aggregated:
            exprs |= self.aggregates()
        names = one_of(draw, ("id",), ("v", "w"), ("id", "k", "v"), ("v", "ts"), ("k", "w"), ("k",))
        return tuple(SelectExpr(one_of(draw, *exprs[name]), name) for name in names)

    def aggregates(self) -> dict[str, list[Expr]]:
        k, v, w = self.column("k"), self.column("v"), self.column("w")
        return {
            "id": [Aggregate(f, self.column("id")) for f in ("first", "last", "max")],
            "v": [
                Aggregate("count", None),
                Aggregate("count", k, distinct=True),
                *(Aggregate(f, v) for f in ("sum", "min", "max", "count")),
            ],
            "w": [
                Aggregate("sum", w),
                Aggregate("max", w),
                *(Aggregate(f, v) for f in ("avg", "stddev", "median")),
            ],
        }

    def having(self, draw: DrawFn) -> Expr:
        count = Binary(">", Aggregate("count", None), number(1))
        total = Binary("<", Aggregate("sum", self.column("v")), number(5))
        return one_of(draw, count, total)

    def added_to(self, draw: DrawFn, statement: Statement) -> Statement:
        """The statement with any clauses that there are."""
        kept = window(draw, self.features)
        streams: tuple[Stream, ...] = ("istream", "istream", "irstream", "rstream")
        v = self.column("v")
        where = Binary(one_of(draw, *COMPARISONS), v, Literal(1, type=INT))
        return replace(
            statement,
            select=self.items(draw, aggregated=one_of(draw, False, True)),
            stream=one_of(draw, *streams) if kept else "istream",
            distinct=happens(draw, 6),
            window=kept,
            where=where if happens(draw, 5) else None,
            group_by=one_of(draw, (), (), (self.column("k"),)),
            having=self.having(draw) if happens(draw, 6) else None,
            output=output_rate(draw) if happens(draw, 3) else None,
            order_by=(OrderItem(v, one_of(draw, True, False)),) if happens(draw, 4) else (),
            limit=one_of(draw, None, None, None, None, Limit(2), Limit(1, 1)),
        )


def output_rate(draw: DrawFn) -> OutputRate:
    amounts: tuple[int | Period, ...] = (2, 1, 3, *PERIODS)
    every, after = one_of(draw, *amounts), one_of(draw, None, None, *amounts)
    kind = one_of(draw, *range(6))
    if kind == 5:
        return OutputRate(when=Binary(">=", attribute("count_insert"), number(2)))
    if kind == 4:
        return OutputRate(after=after or 2)
    modes: tuple[Mode, ...] = (None, "first", "last", "all", "snapshot")
    return OutputRate(mode=one_of(draw, *modes), every=every, after=after)


def window(draw: DrawFn, features: Features) -> Window | None:
    period, size = one_of(draw, *PERIODS), one_of(draw, 2, 1, 3, 4)
    reference = one_of(draw, None, 0, 1500) if features.calendar else None
    flags = one_of(draw, (False, False), (True, False), (False, True), (True, True))
    batch = TimeBatch(period, reference, *flags)
    sized = LengthWindow(size), LengthBatch(size), KeepAll()
    return one_of(draw, None, None, TimeWindow(period), batch, *sized)


def tag_columns(draw: DrawFn, scope: Scope) -> Callable[[str], Expr]:
    """The attributes of one of the tags of a pattern; constants where it has none."""
    tag = one_of(draw, *scope.tags) if scope.tags else None
    constants: dict[str, Expr] = {
        "v": Literal(1, type=INT),
        "w": Literal(0.5, type=DOUBLE),
        "ts": Literal(7, type=LONG),
    }
    return lambda name: (
        scope.column(tag, name) if tag is not None else constants.get(name, text(name))
    )


@st.composite
def statements(
    draw: DrawFn,
    number: int = 1,
    types: tuple[str, ...] = INPUTS,
    features: Features = ALL,
) -> Statement:
    """One statement over some types; its columns fit every derived type."""
    source: Source
    if one_of(draw, True, False):
        pattern, scope = draw_pattern(draw, types, features)
        source, column = PatternSource(pattern), tag_columns(draw, scope)
    else:
        source, column = StreamSource(one_of(draw, *types), condition(draw, Scope())), attribute
    clauses = Clauses(column, features)
    context = "PerKey" if features.contexts and happens(draw, 5) else None
    annotations = [Annotation("Name", ((None, f"s{number}"),))]
    annotations += [Annotation("Priority", ((None, 1),))] if happens(draw, 6) else []
    statement = Statement(
        select=clauses.items(draw, aggregated=False),
        source=source,
        context=context,
        annotations=tuple(annotations),
    )
    return statement if happens(draw, 3) else clauses.added_to(draw, statement)


@st.composite
def inserting(
    draw: DrawFn, number: int, target: str, types: tuple[str, ...], features: Features
) -> Statement:
    """A statement that feeds a derived type."""
    statement = draw(statements(number, types, features))
    insert_stream = statement.stream
    if insert_stream == "irstream":
        choices: tuple[Stream, ...] = ("istream", "rstream", "irstream")
        insert_stream = one_of(draw, *choices)
    return replace(statement, insert_into=target, insert_stream=insert_stream)


def counting_up(number: int) -> Statement:
    """A cycle that ends: S feeds S until v is 4."""
    return Statement(
        select=(
            SelectExpr(attribute("k"), "k"),
            SelectExpr(Binary("+", attribute("v"), Literal(1, type=INT)), "v"),
        ),
        source=StreamSource("S", Binary("<", attribute("v"), Literal(4, type=INT))),
        insert_into="S",
        annotations=(Annotation("Name", ((None, f"s{number}"),)),),
    )


@st.composite
def programs(draw: DrawFn, features: Features = ALL) -> ProgramTree:
    """Up to four statements; later ones may consume what earlier ones derive."""
    found: list[Statement] = []
    targets: list[str] = []
    for place in range(one_of(draw, 1, 0, 2) if features.derives else 0):
        target = one_of(draw, *DERIVED)
        # Nothing consumes what it feeds, apart from the cycle that ends.
        upstream = () if target in targets else tuple(targets)
        found.append(draw(inserting(place + 1, target, (*INPUTS[:2], *upstream), features)))
        targets.append(target)
    if targets and happens(draw, 4):
        found.append(counting_up(len(found) + 1))
    types = (*INPUTS[:3], *targets, *targets)
    found += [
        draw(statements(len(found) + 1 + place, types, features))
        for place in range(one_of(draw, 1, 2))
    ]
    declarations: tuple[Declaration, ...] = (*SCHEMAS, PER_KEY, *found)
    return ProgramTree(declarations)


def select_everything(pattern: tree.Pattern) -> ProgramTree:
    """One statement that shows all that a pattern binds."""
    statement = Statement(select=(SelectAll(),), source=PatternSource(pattern))
    return ProgramTree((*SCHEMAS, statement))
