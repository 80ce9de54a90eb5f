"""Random trees as a parser could make them: flat chains, folded signs, tags used once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from cepheid.core.numbers import INT_RANGE, LONG_RANGE
from cepheid.core.time import FIRST_INSTANT, LAST_INSTANT, Period
from cepheid.core.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    Attribute,
    DataType,
    DecimalType,
    EventRef,
)
from cepheid.expr.functions import AGGREGATES
from cepheid.expr.tree import (
    ARITHMETIC,
    COMPARISON,
    Aggregate,
    And,
    Binary,
    Call,
    Case,
    Cast,
    Expr,
    InList,
    InRange,
    Like,
    Literal,
    Not,
    Or,
    Part,
    Ref,
    Regexp,
    negate,
)
from cepheid.pattern.schedule import RANGES, Schedule
from cepheid.pattern.tree import (
    Absent,
    AllOf,
    AnyOf,
    At,
    Atom,
    Every,
    EveryDistinct,
    FollowedBy,
    Interval,
    IntervalOf,
    Pattern,
    Repeat,
    While,
    Within,
    WithinOf,
)
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
    Source,
    Statement,
    StreamSource,
    TimeBatch,
    TimeWindow,
    Window,
)

T = TypeVar("T")

TYPES = st.sampled_from(["A", "B", "C", "Pattern", "Some type"])
# Keywords that are no reserved words, reserved words, words with a meaning, and no words at all.
NAMES = st.sampled_from(
    (
        *("a", "b", "speed", "count", "last", "min", "order", "by", "end", "select", "Every"),
        *("when", "current_timestamp", "istream", "timer", "pattern", "desc"),
        *("größe", "two words", "1st", "x$"),
    )
)
STREAMS = st.sampled_from(["istream", "rstream", "irstream"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def several(of: SearchStrategy[T], least: int = 1, most: int = 3) -> SearchStrategy[tuple[T, ...]]:
    return st.lists(of, min_size=least, max_size=most).map(tuple)


def optional(of: SearchStrategy[T]) -> SearchStrategy[T | None]:
    return st.none() | of


def periods(least: int = 0) -> SearchStrategy[Period]:
    micros = st.integers(least, 3) | st.integers(least, 10**12)
    return st.builds(Period, micros, st.integers(0, 30))


# Expressions.


@cache
def literals() -> SearchStrategy[Literal]:
    return st.one_of(
        st.integers(*INT_RANGE).map(lambda v: Literal(v, type=INT)),
        st.integers(*LONG_RANGE).map(lambda v: Literal(v, type=LONG)),
        st.floats(allow_nan=False, allow_infinity=False).map(lambda v: Literal(v, type=DOUBLE)),
        st.floats(allow_nan=False, allow_infinity=False, width=32).map(
            lambda v: Literal(v, type=FLOAT)
        ),
        TEXTS.map(lambda v: Literal(v, type=STRING)),
        st.booleans().map(lambda v: Literal(v, type=BOOLEAN)),
        st.just(Literal(None, type=NULL)),
    )


@cache
def references() -> SearchStrategy[Ref]:
    parts = st.builds(Part, NAMES, optional(st.integers(0, 3)))
    return several(parts).map(Ref)


@cache
def data_types() -> SearchStrategy[DataType]:
    plain = st.sampled_from(
        [STRING, BOOLEAN, INT, LONG, FLOAT, DOUBLE, TIMESTAMP, DATE, DecimalType(8, 2)]
    ) | st.builds(EventRef, st.sampled_from(["A", "int", "Bool", "select", "any", "A[]"]))
    return plain | plain.map(ArrayType) | plain.map(ArrayType).map(ArrayType)


@cache
def expressions() -> SearchStrategy[Expr]:
    nullary = st.sampled_from(["current_timestamp", "istream"]).map(lambda name: Call(name, ()))
    leaves = literals() | references() | nullary | st.just(Aggregate("count", None))
    return st.recursive(leaves, _compound_expressions, max_leaves=6)


def _compound_expressions(inner: SearchStrategy[Expr]) -> SearchStrategy[Expr]:
    operators = st.sampled_from(sorted(ARITHMETIC | COMPARISON | {"||"}))
    escapes = optional(st.characters(exclude_categories=["Cs"]))
    return st.one_of(
        st.builds(Binary, operators, inner, inner),
        several(inner, 2).map(And),
        several(inner, 2).map(Or),
        inner.map(Not),
        inner.map(_negated),
        st.builds(InList, inner, several(inner), st.booleans()),
        st.builds(InRange, inner, inner, inner, st.booleans(), st.booleans(), st.booleans()),
        st.builds(Like, inner, inner, escapes, st.booleans()),
        st.builds(Regexp, inner, inner, st.booleans()),
        st.builds(Case, optional(inner), several(st.tuples(inner, inner)), optional(inner)),
        st.builds(Cast, inner, data_types()),
        st.builds(Call, st.sampled_from(["abs", "coalesce", "last_day"]), several(inner, 0)),
        st.builds(Call, st.sampled_from(["min", "max"]), several(inner, 2)),
        st.builds(Aggregate, st.sampled_from(sorted(AGGREGATES)), inner, st.booleans()),
    )


def _negated(operand: Expr) -> Expr:
    """The least integers have no opposite."""
    least = isinstance(operand, Literal) and operand.value in (INT_RANGE[0], LONG_RANGE[0])
    return operand if least else negate(operand)


# Patterns.


@cache
def schedules() -> SearchStrategy[Schedule]:
    def values(name: str) -> SearchStrategy[frozenset[int] | None]:
        low, high = RANGES[name]
        return optional(st.frozensets(st.integers(low, high), min_size=1, max_size=5))

    def rule(name: str) -> SearchStrategy[frozenset[int]]:
        return values(name).map(lambda found: found or frozenset())

    return st.builds(
        Schedule,
        **{name: values(name) for name in RANGES},
        last_weekdays=rule("weekdays"),
        working_days=rule("days"),
        last_day=st.booleans(),
        last_working_day=st.booleans(),
        zone=optional(st.sampled_from(("Europe/Zurich", "America/New_York", "+05:30"))),
    ).map(_without_idle_rules)


def _without_idle_rules(schedule: Schedule) -> Schedule:
    """Where every day fits, rules about days say nothing, and no text has them."""
    if schedule.days is None:
        none = frozenset[int]()
        schedule = replace(schedule, last_day=False, last_working_day=False, working_days=none)
    return (
        schedule if schedule.weekdays is not None else replace(schedule, last_weekdays=frozenset())
    )


@cache
def told() -> SearchStrategy[tuple[tuple[Expr, ...], tuple[str, ...]]]:
    """Periods whose amounts are no constants."""
    units = st.sampled_from(("months", "minutes", "seconds"))
    amounts = expressions().filter(lambda e: not isinstance(e, Literal))
    pairs = st.lists(st.tuples(amounts, units), min_size=1, max_size=2, unique_by=lambda p: p[1])
    return pairs.map(lambda found: tuple(zip(*found, strict=True)))  # type: ignore[return-value,arg-type]


@cache
def patterns() -> SearchStrategy[Pattern]:
    conditions = optional(expressions())
    atoms = st.builds(Atom, TYPES, optional(st.just("tag")), conditions)
    timers = (
        periods().map(Interval) | schedules().map(At) | told().map(lambda t: IntervalOf(t[0], t[1]))
    )
    return st.recursive(atoms | timers, _compound_patterns, max_leaves=5).map(_with_own_tags)


def _compound_patterns(inner: SearchStrategy[Pattern]) -> SearchStrategy[Pattern]:
    return st.one_of(
        inner.map(Every),
        inner.map(Absent),
        several(inner, 2).map(FollowedBy),
        several(inner, 2).map(AllOf),
        several(inner, 2).map(AnyOf),
        st.builds(EveryDistinct, several(expressions()), inner, optional(periods())),
        st.builds(lambda child, n: Repeat(child, n, n), inner, st.integers(1, 3)),
        st.builds(_ended_repeat, inner, bounds(), inner),
        st.builds(Within, inner, periods(), optional(st.integers(0, 3))),
        st.builds(
            lambda child, t, most: WithinOf(child, t[0], t[1], most),
            inner,
            told(),
            optional(st.integers(0, 3)),
        ),
        st.builds(While, inner, expressions()),
    )


@cache
def bounds() -> SearchStrategy[tuple[int | None, int | None]]:
    pairs = st.tuples(optional(st.integers(0, 3)), optional(st.integers(1, 3)))
    return pairs.filter(lambda p: p[0] is None or p[1] is None or p[0] <= p[1])


def _ended_repeat(child: Pattern, ends: tuple[int | None, int | None], until: Pattern) -> Pattern:
    return Repeat(child, *ends, until)


def _with_own_tags(pattern: Pattern) -> Pattern:
    return _retagged(pattern, iter(f"t{n}" for n in itertools.count()))


def _retagged(pattern: Pattern, tags: Iterator[str]) -> Pattern:
    """The same pattern, every tag in it another one."""
    changes: dict[str, Any] = {}
    for field in fields(pattern):
        value = getattr(pattern, field.name)
        if isinstance(value, Pattern):
            changes[field.name] = _retagged(value, tags)
        elif field.name == "parts":
            changes["parts"] = tuple(_retagged(part, tags) for part in value)
        elif field.name == "tag" and value is not None:
            changes["tag"] = next(tags)
    return replace(pattern, **changes)


# Programs.


@cache
def windows() -> SearchStrategy[Window]:
    size = st.integers(1, 5)
    reference = optional(st.integers(FIRST_INSTANT // 1000 + 1, LAST_INSTANT // 1000))
    return st.one_of(
        periods(1).map(TimeWindow),
        st.builds(TimeBatch, periods(1), reference, st.booleans(), st.booleans()),
        size.map(LengthWindow),
        size.map(LengthBatch),
        st.just(KeepAll()),
    )


@cache
def annotation_nodes() -> SearchStrategy[Annotation]:
    number = st.integers(*LONG_RANGE) | st.floats(allow_nan=False, allow_infinity=False)
    scalar = TEXTS | st.booleans() | number | st.none()
    argument = st.tuples(optional(NAMES), scalar | several(scalar, 0))
    names = st.sampled_from(["Name", "Priority", "Audit", "org.acme.Tag", "select"])
    return st.builds(Annotation, names, several(argument, 0))


@cache
def schemas() -> SearchStrategy[Schema]:
    return st.builds(
        Schema,
        name=TYPES,
        attributes=several(st.builds(Attribute, NAMES, data_types()), 0, 4),
        inherits=several(TYPES, 0),
        annotations=several(annotation_nodes(), 0, 2),
    )


@cache
def contexts() -> SearchStrategy[Context]:
    return st.builds(
        Context,
        name=NAMES,
        keys=several(st.builds(ContextKey, TYPES, several(NAMES))),
        annotations=several(annotation_nodes(), 0, 2),
    )


@cache
def output_rates() -> SearchStrategy[OutputRate]:
    every = st.integers(1, 5) | periods(1) | schedules()
    after = st.integers(0, 5) | periods()
    modes = optional(st.sampled_from(["first", "last", "all", "snapshot"]))
    return st.one_of(
        st.builds(OutputRate, mode=modes, every=every, after=optional(after)),
        st.builds(OutputRate, after=after),
        st.builds(OutputRate, when=expressions()),
    )


@cache
def sources() -> SearchStrategy[Source]:
    streams = st.builds(StreamSource, TYPES, optional(expressions()), optional(NAMES))
    return streams | patterns().map(PatternSource)


@cache
def statements() -> SearchStrategy[Statement]:
    items = st.builds(SelectExpr, expressions(), optional(NAMES)) | st.builds(
        SelectAll, optional(NAMES)
    )
    return st.builds(
        _statement,
        # Which rows go into the target type is written only where there is one.
        st.just((None, "istream")) | st.tuples(TYPES, STREAMS),
        select=several(items),
        source=sources(),
        stream=STREAMS,
        distinct=st.booleans(),
        window=optional(windows()),
        where=optional(expressions()),
        group_by=several(expressions(), 0, 2),
        having=optional(expressions()),
        output=optional(output_rates()),
        order_by=several(st.builds(OrderItem, expressions(), st.booleans()), 0, 2),
        limit=optional(st.builds(Limit, st.integers(0, 9), st.integers(0, 9))),
        context=optional(NAMES),
        annotations=several(annotation_nodes(), 0, 2),
    )


def _statement(target: tuple[str | None, Any], **fields: Any) -> Statement:
    insert_into, insert_stream = target
    return Statement(insert_into=insert_into, insert_stream=insert_stream, **fields)


@cache
def declarations() -> SearchStrategy[Declaration]:
    return schemas() | contexts() | statements()


@cache
def program_trees() -> SearchStrategy[ProgramTree]:
    return several(declarations(), 0).map(ProgramTree)
