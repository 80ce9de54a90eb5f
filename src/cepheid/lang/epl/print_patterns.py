"""Writes patterns as EPL with as few parentheses as their meaning allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

from cepheid.errors import UsageError, error
from cepheid.expr.notation import find_excess
from cepheid.expr.printing import levels, print_expr, print_list, print_name
from cepheid.expr.tree import Column, Expr, Ref
from cepheid.pattern.algebra import Form
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
    children,
)

# Loosest first.
_FOLLOWED, _OR, _AND, _UNTIL, _QUALIFIED, _GUARDED, _ATOM = range(1, 8)
_CHAINS: dict[type[Pattern], str] = {FollowedBy: "->", AnyOf: "or", AllOf: "and"}
# What binds looser than the floor needs parentheses there.
_FLOORS: dict[type[Pattern], int] = {
    FollowedBy: _OR,
    AnyOf: _AND,
    AllOf: _UNTIL,
    Repeat: _QUALIFIED,
    Every: _GUARDED,
    EveryDistinct: _GUARDED,
    Absent: _GUARDED,
    Within: _ATOM,
    WithinOf: _ATOM,
    While: _ATOM,
}


def print_pattern(pattern: Pattern) -> str:
    if isinstance(pattern, Form):
        fact = "EPL has no words for occurrences of the event algebra"
        raise UsageError(error("unsupported", fact, pattern.span))
    write, _ = _WRITERS[type(pattern)]
    return write(pattern)


def excess(pattern: Pattern) -> str | None:
    """What of a pattern, with its conditions, goes beyond the limits, if anything does."""
    root: Pattern | Expr = pattern
    return find_excess(root, levels_in, "a pattern")


def levels_in(node: Pattern | Expr) -> Iterator[tuple[Pattern | Expr, int]]:
    """The direct parts, each with the levels that its text lies deeper."""
    if isinstance(node, Expr):
        yield from levels(node)
        return
    yield from ((child, _needs_parentheses(node, child)) for child in children(node))
    is_told = isinstance(node, IntervalOf | WithinOf)
    yield from ((e, int(is_told and not _is_name(e))) for e in _conditions(node))


def _conditions(pattern: Pattern) -> Iterator[Expr]:
    for value in (getattr(pattern, field.name) for field in fields(pattern)):
        items = value if isinstance(value, tuple) else (value,)
        yield from (item for item in items if isinstance(item, Expr))


def _part(whole: Pattern, child: Pattern) -> str:
    """The text of a direct sub-pattern, as it stands in the whole."""
    text = print_pattern(child)
    return f"({text})" if _needs_parentheses(whole, child) else text


def _needs_parentheses(whole: Pattern, child: Pattern) -> bool:
    if isinstance(whole, Every | EveryDistinct | Absent) and isinstance(child, Repeat):
        # It may follow a qualifier as it is if nothing more qualifies it.
        return child.until is not None or _precedence(child.child) < _GUARDED
    return _precedence(child) < _FLOORS[type(whole)]


def chain_parts(pattern: Pattern) -> tuple[tuple[Pattern, str], ...]:
    """The links of a chain, each but the first with its operator; a whole pattern is one link."""
    if not isinstance(pattern, FollowedBy | AnyOf | AllOf):
        return ((pattern, print_pattern(pattern)),)
    operator = _CHAINS[type(pattern)]
    texts = [_part(pattern, part) for part in pattern.parts]
    texts[1:] = [f"{operator} {text}" for text in texts[1:]]
    return tuple(zip(pattern.parts, texts, strict=True))


def _chain(pattern: FollowedBy | AnyOf | AllOf) -> str:
    return " ".join(text for _, text in chain_parts(pattern))


def _atom(atom: Atom) -> str:
    tag = "" if atom.tag is None else f"{print_name(atom.tag)}="
    condition = "" if atom.condition is None else f"({print_expr(atom.condition)})"
    return f"{tag}{print_name(atom.event_type)}{condition}"


def _every(pattern: Every) -> str:
    return f"every {_part(pattern, pattern.child)}"


def _absent(pattern: Absent) -> str:
    return f"not {_part(pattern, pattern.child)}"


def _every_distinct(pattern: EveryDistinct) -> str:
    expiry = "" if pattern.expiry is None else f", {pattern.expiry}"
    return f"every-distinct({print_list(pattern.keys)}{expiry}) {_part(pattern, pattern.child)}"


def _precedence(pattern: Pattern) -> int:
    return _WRITERS[type(pattern)][1]


def _repeat(pattern: Repeat) -> str:
    low, high = pattern.low, pattern.high
    bounds = ""
    if pattern.is_exact:
        bounds = f"[{low}] "
    elif low is not None or high is not None:
        bounds = f"[{'' if low is None else low}:{'' if high is None else high}] "
    until = "" if pattern.until is None else f" until {_part(pattern, pattern.until)}"
    return f"{bounds}{_part(pattern, pattern.child)}{until}"


def _within(pattern: Within | WithinOf) -> str:
    period = _told(pattern) if isinstance(pattern, WithinOf) else str(pattern.period)
    guard = f"within({period})"
    if pattern.most is not None:
        guard = f"withinmax({period}, {pattern.most})"
    return f"{_part(pattern, pattern.child)} where timer:{guard}"


def _while(pattern: While) -> str:
    return f"{_part(pattern, pattern.child)} while ({print_expr(pattern.condition)})"


def _interval(pattern: Interval) -> str:
    return f"timer:interval({pattern.period})"


def _interval_of(pattern: IntervalOf) -> str:
    return f"timer:interval({_told(pattern)})"


def _told(pattern: IntervalOf | WithinOf) -> str:
    """The period; what is more than a name is in parentheses, so that a unit can follow it."""
    pairs = zip(pattern.amounts, pattern.units, strict=True)
    return " ".join(f"{_amount(amount)} {unit}" for amount, unit in pairs)


def _amount(amount: Expr) -> str:
    text = print_expr(amount)
    return text if _is_name(amount) else f"({text})"


def _is_name(expr: Expr) -> bool:
    return isinstance(expr, Ref | Column)


def _at(pattern: At) -> str:
    return f"timer:at({print_schedule(pattern.schedule)})"


def print_schedule(schedule: Schedule) -> str:
    fields = [_field(getattr(schedule, name), _rules(schedule, name)) for name in RANGES]
    least = 5 if schedule.zone is None else 6  # a zone follows the seconds
    while len(fields) > least and fields[-1] == "0":
        fields.pop()  # on the full minute, as in a schedule that names no seconds
    if schedule.zone is not None:
        fields.append(f"'{schedule.zone}'")
    return ", ".join(fields)


def _rules(schedule: Schedule, name: str) -> list[str]:
    """What stands in a field beside numbers."""
    if name == "weekdays":
        return [f"{day} last" for day in sorted(schedule.last_weekdays)]
    if name != "days":
        return []
    near = [f"{day} weekday" for day in sorted(schedule.working_days)]
    last = ["last"] if schedule.last_day else []
    return near + last + (["lastweekday"] if schedule.last_working_day else [])


def _field(values: frozenset[int] | None, rules: list[str]) -> str:
    if values is None:
        return "*"
    runs = [f"{low}" if low == high else f"{low}:{high}" for low, high in _runs(values)] + rules
    return runs[0] if len(runs) == 1 else f"[{', '.join(runs)}]"


def _runs(values: frozenset[int]) -> Iterator[tuple[int, int]]:
    """The unbroken stretches of a set."""
    for low in sorted(v for v in values if v - 1 not in values):
        high = low
        while high + 1 in values:
            high += 1
        yield low, high


_WRITERS: dict[type[Pattern], tuple[Callable[[Any], str], int]] = {
    FollowedBy: (_chain, _FOLLOWED),
    AnyOf: (_chain, _OR),
    AllOf: (_chain, _AND),
    Repeat: (_repeat, _UNTIL),
    Every: (_every, _QUALIFIED),
    EveryDistinct: (_every_distinct, _QUALIFIED),
    Absent: (_absent, _QUALIFIED),
    Within: (_within, _GUARDED),
    WithinOf: (_within, _GUARDED),
    While: (_while, _GUARDED),
    Atom: (_atom, _ATOM),
    Interval: (_interval, _ATOM),
    IntervalOf: (_interval_of, _ATOM),
    At: (_at, _ATOM),
}
