"""Writes patterns as EPL with as few parentheses as their meaning allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cepheid.expr.printing import print_expr, print_list, print_name
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
    Pattern,
    Repeat,
    While,
    Within,
)

# Loosest first.
_FOLLOWED, _OR, _AND, _UNTIL, _QUALIFIED, _GUARDED, _ATOM = range(1, 8)
_CHAINS: dict[type[Pattern], tuple[str, int]] = {
    FollowedBy: ("->", _OR),
    AnyOf: ("or", _AND),
    AllOf: ("and", _UNTIL),
}


def print_pattern(pattern: Pattern, floor: int = _FOLLOWED) -> str:
    """The text of a pattern, in parentheses where it binds looser than the floor."""
    write, precedence = _WRITERS[type(pattern)]
    text = write(pattern)
    return text if precedence >= floor else f"({text})"


def chain_parts(pattern: Pattern) -> tuple[tuple[Pattern, str], ...]:
    """The links of a chain, each but the first with its operator; a whole pattern is one link."""
    if not isinstance(pattern, FollowedBy | AnyOf | AllOf):
        return ((pattern, print_pattern(pattern)),)
    operator, floor = _CHAINS[type(pattern)]
    texts = [print_pattern(part, floor) for part in pattern.parts]
    texts[1:] = [f"{operator} {text}" for text in texts[1:]]
    return tuple(zip(pattern.parts, texts, strict=True))


def _chain(pattern: FollowedBy | AnyOf | AllOf) -> str:
    return " ".join(text for _, text in chain_parts(pattern))


def _atom(atom: Atom) -> str:
    tag = "" if atom.tag is None else f"{print_name(atom.tag)}="
    condition = "" if atom.condition is None else f"({print_expr(atom.condition)})"
    return f"{tag}{print_name(atom.event_type)}{condition}"


def _every(pattern: Every) -> str:
    return f"every {_under_qualifier(pattern.child)}"


def _absent(pattern: Absent) -> str:
    return f"not {_under_qualifier(pattern.child)}"


def _every_distinct(pattern: EveryDistinct) -> str:
    expiry = "" if pattern.expiry is None else f", {pattern.expiry}"
    return f"every-distinct({print_list(pattern.keys)}{expiry}) {_under_qualifier(pattern.child)}"


def _under_qualifier(child: Pattern) -> str:
    """A repeat may follow a qualifier without parentheses if nothing more qualifies it."""
    if isinstance(child, Repeat) and child.until is None and _precedence(child.child) >= _GUARDED:
        return print_pattern(child)
    return print_pattern(child, _GUARDED)


def _precedence(pattern: Pattern) -> int:
    return _WRITERS[type(pattern)][1]


def _repeat(pattern: Repeat) -> str:
    low, high = pattern.low, pattern.high
    bounds = ""
    if pattern.is_exact:
        bounds = f"[{low}] "
    elif low is not None or high is not None:
        bounds = f"[{'' if low is None else low}:{'' if high is None else high}] "
    until = "" if pattern.until is None else f" until {print_pattern(pattern.until, _QUALIFIED)}"
    return f"{bounds}{print_pattern(pattern.child, _QUALIFIED)}{until}"


def _within(pattern: Within) -> str:
    guard = f"within({pattern.period})"
    if pattern.most is not None:
        guard = f"withinmax({pattern.period}, {pattern.most})"
    return f"{print_pattern(pattern.child, _ATOM)} where timer:{guard}"


def _while(pattern: While) -> str:
    return f"{print_pattern(pattern.child, _ATOM)} while ({print_expr(pattern.condition)})"


def _interval(pattern: Interval) -> str:
    return f"timer:interval({pattern.period})"


def _at(pattern: At) -> str:
    return f"timer:at({print_schedule(pattern.schedule)})"


def print_schedule(schedule: Schedule) -> str:
    fields = [_field(getattr(schedule, name)) for name in RANGES]
    if fields[-1] == "0":
        fields.pop()  # on the full minute, as in a schedule that names no seconds
    return ", ".join(fields)


def _field(values: frozenset[int] | None) -> str:
    if values is None:
        return "*"
    runs = [f"{low}" if low == high else f"{low}:{high}" for low, high in _runs(values)]
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
    While: (_while, _GUARDED),
    Atom: (_atom, _ATOM),
    Interval: (_interval, _ATOM),
    At: (_at, _ATOM),
}
