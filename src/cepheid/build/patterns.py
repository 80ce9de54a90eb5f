"""Patterns in Python. Structure is explicit: a method applies to the whole pattern it is called on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeAlias, overload

from cepheid.build.checks import PeriodLike, name, period, refuse, refusing, whole
from cepheid.build.expressions import Expression, Operand, column, conjunction, lift
from cepheid.build.forms import Form, joined, never
from cepheid.core.time import PERIOD_UNITS, unit_name
from cepheid.core.values import shown
from cepheid.expr.tree import And, Expr, Or
from cepheid.lang import DEFAULT
from cepheid.pattern import algebra, tree
from cepheid.pattern.schedule import RANGES, Schedule

_Chain: TypeAlias = type[tree.FollowedBy | tree.AllOf | tree.AnyOf]


@dataclass(frozen=True, slots=True, repr=False)
class Pattern:
    """A pattern; its methods give larger ones.

    A guard holds for everything before it:

    >>> a, b = cep.event("a", "A"), cep.event("b", "B")
    >>> print(cep.every(a).then(b).within("3 seconds"))
    (every a=A -> b=B) where timer:within(3 seconds)

    In a text without parentheses it would hold for the last event only. In Python that is:

    >>> print(cep.every(a).then(b.within("3 seconds")))
    every a=A -> b=B where timer:within(3 seconds)
    """

    tree: tree.Pattern

    def then(self, following: Pattern) -> Pattern:
        """`->`: this, and then the other. A chain of them is one sequence.

        >>> a, b, c = (cep.event(None, name) for name in "ABC")
        >>> print(a.then(b).then(c), "|", a.then(b.then(c)))
        A -> B -> C | A -> (B -> C)
        """
        return _extend(tree.FollowedBy, self, following)

    def and_(self, other: Pattern) -> Pattern:
        """Both, in any order."""
        return _extend(tree.AllOf, self, other)

    def or_(self, other: Pattern) -> Pattern:
        """One of them."""
        return _extend(tree.AnyOf, self, other)

    def times(self, *counts: int | None, until: Pattern | None = None) -> Pattern:
        """The pattern again and again: exactly n times, or between two counts until an end.

        >>> a, b = cep.event("a", "A"), cep.event(None, "B")
        >>> print(a.times(3), "|", a.times(2, 4, until=b), "|", a.times(2, None, until=b))
        [3] a=A | [2:4] a=A until B | [2:] a=A until B
        """
        if len(counts) not in (1, 2):
            refuse("usage", "times takes a count, or a least and a most", "write a.times(3)")
        low, high = counts[0], counts[-1]
        end = None if until is None else node(until)
        with refusing("impossible-repeat", "write a.times(3), or a.times(2, 4, until=b)"):
            return Pattern(tree.Repeat(self.tree, _count(low), _count(high), end))

    def until(self, end: Pattern) -> Pattern:
        """The pattern any number of times, until the end comes."""
        return Pattern(tree.Repeat(self.tree, until=node(end)))

    def within(
        self, time: PeriodLike | None = None, *, most: int | None = None, **amounts: Operand
    ) -> Pattern:
        """Only matches within a time from when the pattern starts to wait; at most so many.

        Events before it may tell the time, by amounts of units.

        >>> print(cep.event("a", "A").within("1 min", most=2))
        a=A where timer:withinmax(1 minute, 2)
        >>> print(cep.event("b", "B").within(seconds=cep.col("a.n")))
        b=B where timer:within(a.n seconds)
        """
        limit = None if most is None else whole(most, "the most matches")
        if time is None:
            return Pattern(tree.WithinOf(self.tree, *_told(amounts), limit))
        _refuse_both(amounts)
        return Pattern(tree.Within(self.tree, period(time), limit))

    def while_(self, condition: Operand) -> Pattern:
        """Only as long as each match fulfils the condition.

        >>> print(cep.every(cep.event("a", "A")).while_(cep.col("a.x") < 3))
        (every a=A) while (a.x < 3)
        """
        found = conjunction([condition])
        assert found is not None
        return Pattern(tree.While(self.tree, found))

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a pattern is neither true nor false: write .and_(), .or_() and cep.not_()"
            " instead of and, or, not"
        )

    def __str__(self) -> str:
        """As a text says it."""
        return DEFAULT.print_pattern(self.tree)

    def __repr__(self) -> str:
        return f"<Pattern: {self}>"


# Events and timers.


def event(tag: str | None, type: str, *conditions: Operand) -> Pattern:
    """One event of a type that fulfils all conditions, under a tag or under none.

    >>> print(cep.event("a1", "Motorbike", cep.col("speed") >= 50))
    a1=Motorbike(speed >= 50)
    >>> print(cep.event(None, "Motorbike", cep.col("speed") > 0, cep.col("speed") < 50))
    Motorbike(speed > 0 and speed < 50)
    """
    known_as = None if tag is None else name(tag, "a tag")
    event_type = name(type, "an event type")
    return Pattern(tree.Atom(event_type, known_as, conjunction(conditions)))


def interval(time: PeriodLike | None = None, **amounts: Operand) -> Pattern:
    """`timer:interval`: true once the time has passed, which events before it may tell.

    >>> print(cep.interval("2 min"), "|", cep.interval(minutes=cep.col("a.n") + 1, seconds=30))
    timer:interval(2 minutes) | timer:interval((a.n + 1) minutes (30) seconds)
    """
    if time is None:
        return Pattern(tree.IntervalOf(*_told(amounts)))
    _refuse_both(amounts)
    return Pattern(tree.Interval(period(time)))


def _told(amounts: Mapping[str, Operand]) -> tuple[tuple[Expr, ...], tuple[str, ...]]:
    if not amounts or not PERIOD_UNITS.issuperset(amounts):
        hint = "write interval('3 seconds'), or interval(seconds=cep.col('a.n'))"
        refuse("bad-period", "a period has amounts of units of time", hint)
    return tuple(map(column, amounts.values())), tuple(map(unit_name, amounts))


def _refuse_both(amounts: Mapping[str, Operand]) -> None:
    if amounts:
        refuse("bad-period", "a period is written, or told by events, but not both")


def at(
    *,
    minutes: int | Iterable[int] | None = None,
    hours: int | Iterable[int] | None = None,
    days: int | Iterable[int] | None = None,
    months: int | Iterable[int] | None = None,
    weekdays: int | Iterable[int] | None = None,
    seconds: int | Iterable[int] | None = 0,
    milliseconds: int | Iterable[int] | None = 0,
    microseconds: int | Iterable[int] | None = 0,
    last_day: bool = False,
    last_working_day: bool = False,
    working_days: int | Iterable[int] = (),
    last_weekdays: int | Iterable[int] = (),
    zone: str | None = None,
) -> Pattern:
    """`timer:at`: true at the next instant that fits; None is any value, weekday 0 Sunday.

    Without a zone times are UTC. The last day and the last working day of the month, the working days
    nearest to some days, and the last weekdays of a month count beside `days` and `weekdays`.

    >>> print(cep.at(hours=8, minutes=[0, 30], weekdays=range(1, 6)))
    timer:at([0, 30], 8, *, *, 1:5)
    >>> print(cep.at(hours=8, minutes=0, last_day=True, zone="Europe/Zurich"))
    timer:at(0, 8, last, *, *, 0, 'Europe/Zurich')
    """
    near, last = (_values(f) or frozenset() for f in (working_days, last_weekdays))
    has_days = last_day or last_working_day or bool(near)
    days = () if days is None and has_days else days
    weekdays = () if weekdays is None and last else weekdays
    written = (minutes, hours, days, months, weekdays, seconds, milliseconds, microseconds)
    fields = [_values(f) for f in written]
    with refusing("bad-schedule"):
        schedule = Schedule(
            **dict(zip(RANGES, fields, strict=True)),
            last_day=last_day,
            last_working_day=last_working_day,
            working_days=near,
            last_weekdays=last,
            zone=zone,
        )
    return Pattern(tree.At(schedule))


def _values(field: object) -> frozenset[int] | None:
    if field is None:
        return None
    values = list(field) if isinstance(field, Iterable) else [field]
    return frozenset(whole(v, "a value of a schedule", "bad-schedule") for v in values)


# What patterns are made of.


def every(pattern: Pattern) -> Pattern:
    """Starts the pattern again each time it matches.

    >>> print(cep.every(cep.event("a", "A").then(cep.event("b", "B"))))
    every (a=A -> b=B)
    """
    return Pattern(tree.Every(node(pattern)))


def every_distinct(
    keys: Operand | Iterable[Operand], pattern: Pattern, *, expiry: PeriodLike | None = None
) -> Pattern:
    """Like `every`, but a key seen before gives no match, for good or until it expires.

    >>> print(cep.every_distinct(["a.x", "a.y"], cep.event("a", "A"), expiry="1 hour"))
    every-distinct(a.x, a.y, 1 hour) a=A
    """
    one = isinstance(keys, str) or not isinstance(keys, Iterable)
    found = tuple(column(key) for key in ([keys] if one else keys))  # type: ignore[union-attr]
    forgotten = None if expiry is None else period(expiry)
    with refusing("usage"):
        return Pattern(tree.EveryDistinct(found, node(pattern), forgotten))


@overload
def not_(pattern: Pattern) -> Pattern: ...
@overload
def not_(pattern: Form) -> Form: ...
def not_(pattern: Pattern | Form) -> Pattern | Form:
    """True until the pattern matches: `a.and_(cep.not_(b))` is a without a b before it.

    Of a form, that it does not complete between its neighbours: `a.then(cep.not_(b)).then(c)`.
    """
    return never(pattern) if isinstance(pattern, Form) else Pattern(tree.Absent(node(pattern)))


@overload
def sequence(*parts: Pattern) -> Pattern: ...
@overload
def sequence(*parts: Form) -> Form: ...
def sequence(*parts: Pattern | Form) -> Pattern | Form:
    """One after the other, as `then`; sequences among the parts stay whole."""
    if _is_any(Form, parts):
        return joined(algebra.Follows, parts)
    return _joined(tree.FollowedBy, parts)


@overload
def all_of(*parts: Pattern) -> Pattern: ...
@overload
def all_of(*parts: Form) -> Form: ...
@overload
def all_of(*parts: Expression) -> Expression: ...
def all_of(*parts: Pattern | Form | Expression) -> Pattern | Form | Expression:
    """`and` of patterns, of forms, or of conditions; those among the parts stay whole.

    >>> print(cep.all_of(*(cep.col(name) > 0 for name in "xyz")))
    x > 0 and y > 0 and z > 0
    """
    if _is_any(Form, parts):
        return joined(algebra.Both, parts)
    if _is_any(Pattern, parts):
        return _joined(tree.AllOf, parts)
    return _conditions(And, parts)


@overload
def any_of(*parts: Pattern) -> Pattern: ...
@overload
def any_of(*parts: Form) -> Form: ...
@overload
def any_of(*parts: Expression) -> Expression: ...
def any_of(*parts: Pattern | Form | Expression) -> Pattern | Form | Expression:
    """`or` of patterns, of forms, or of conditions; those among the parts stay whole."""
    if _is_any(Form, parts):
        return joined(algebra.Either, parts)
    if _is_any(Pattern, parts):
        return _joined(tree.AnyOf, parts)
    return _conditions(Or, parts)


def node(pattern: object) -> tree.Pattern:
    """The tree of a pattern."""
    if not isinstance(pattern, Pattern):
        hint = "write for example cep.event('a', 'A')"
        if isinstance(pattern, Form):
            hint = "forms make complex events: write cep.complex_event(...)"
        refuse("usage", f"{shown(pattern)} is not a pattern", hint)
    return pattern.tree


def _extend(chain: _Chain, left: Pattern, right: Pattern) -> Pattern:
    """`a.then(b).then(c)` is one node of three parts, as a text without parentheses gives it."""
    before = left.tree.parts if isinstance(left.tree, chain) else (left.tree,)
    return Pattern(chain((*before, node(right))))


def _joined(chain: _Chain, parts: Iterable[object]) -> Pattern:
    nodes = tuple(node(part) for part in parts)
    return Pattern(nodes[0] if _is_one(nodes) else chain(nodes))


def _conditions(chain: type[And | Or], parts: tuple[object, ...]) -> Expression:
    nodes = tuple(map(lift, parts))
    return Expression(nodes[0] if _is_one(nodes) else chain(nodes))


def _is_any(kind: type, parts: tuple[object, ...]) -> bool:
    return any(isinstance(part, kind) for part in parts)


def _is_one(parts: tuple[object, ...]) -> bool:
    if not parts:
        refuse("usage", "nothing to join", "give at least one part")
    return len(parts) == 1


def _count(value: int | None) -> int | None:
    return None if value is None else whole(value, "a count", "impossible-repeat")
