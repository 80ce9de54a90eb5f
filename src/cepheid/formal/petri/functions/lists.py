"""The functions that the inscriptions of a translated pattern call. Lists are tuples here.

A binding is a list of tags and what they are bound to, an event or several. An agenda is a list of
what wakes and when: (due, stage, origin, node, instance), the first to wake first.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import product, takewhile
from operator import itemgetter
from typing import TypeAlias

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant, Period
from cepheid.expr.values import group_key
from cepheid.formal.petri.nets.terms import Apply, Const, Function, Term, call, plus
from cepheid.pattern.schedule import Schedule
from cepheid.semantics.windows import next_boundary

Bound: TypeAlias = Event | tuple[Event, ...]
Binding: TypeAlias = tuple[tuple[str, Bound], ...]
Entry: TypeAlias = tuple[Instant, int, int, str, int]
Agenda: TypeAlias = tuple[Entry, ...]
Sides: TypeAlias = tuple[bool, ...]
Truths: TypeAlias = tuple[tuple[Binding, ...], ...]
Key: TypeAlias = tuple[Value, ...]
Seen: TypeAlias = tuple[tuple[Key, Instant], ...]
Timed: TypeAlias = tuple[tuple[Instant, object], ...]
NEVER = -1  # no instant: of a schedule that does not come again, of a key that does not expire


def _bind(binding: Binding, tag: str, event: Event) -> Binding:
    return _override(binding, ((tag, event),))


def _override(binding: Binding, other: Binding) -> Binding:
    """Both, and where they differ the second."""
    return tuple({**dict(binding), **dict(other)}.items())


def _collect(collected: Binding, binding: Binding, tags: tuple[str, ...]) -> Binding:
    """What a repeat has collected after one more truth of its body."""
    found = dict(collected)
    for tag, bound in binding:
        if tag in tags:
            before = found.get(tag, ())
            assert isinstance(before, tuple)
            found[tag] = (*before, *(bound if isinstance(bound, tuple) else (bound,)))
    return tuple(found.items())


BIND = Function("bind", _bind)
OVERRIDE = Function("override", _override)
COLLECT = Function("collect", _collect)


# What `and` keeps: which sides are open, and the truths of each.


def _close(sides: Sides, place: int, finished: bool) -> Sides:
    return tuple(is_open and not (finished and n == place) for n, is_open in enumerate(sides))


def _is_open(sides: Sides, others: tuple[int, ...]) -> bool:
    return any(sides[place] for place in others)


def _combine(truths: Truths, place: int, binding: Binding) -> tuple[Binding, ...]:
    """A new truth of one side with all those of the others."""
    choices = [(binding,) if n == place else side for n, side in enumerate(truths)]
    found = []
    for parts in product(*choices):
        merged: Binding = ()
        for part in parts:
            merged = _override(merged, part)
        found.append(merged)
    return tuple(found)


def _add_truth(truths: Truths, place: int, binding: Binding) -> Truths:
    return tuple((*side, binding) if n == place else side for n, side in enumerate(truths))


def _only_truth(truths: Truths, place: int, binding: Binding) -> Truths:
    return tuple((binding,) if n == place else side for n, side in enumerate(truths))


CLOSE = Function("close", _close)
IS_OPEN = Function("isOpen", _is_open)
COMBINE = Function("combine", _combine)
ADD_TRUTH = Function("addTruth", _add_truth)
ONLY_TRUTH = Function("onlyTruth", _only_truth)


# What `every-distinct` has seen: keys, and when they expire.


def _valid(seen: Seen, now: Instant) -> Seen:
    """Expired keys go, the oldest first."""
    passed = len(tuple(takewhile(lambda entry: _has_passed(entry[1], now), seen)))
    return seen[passed:]


def _is_new(seen: Seen, key: Key, now: Instant) -> bool:
    """Whether a key has not been seen, or is free again."""
    wanted = group_key(list(key))
    found = [due for other, due in _valid(seen, now) if group_key(list(other)) == wanted]
    return all(_has_passed(due, now) for due in found)


def _record(seen: Seen, key: Key, due: Instant, now: Instant) -> Seen:
    kept, wanted = _valid(seen, now), group_key(list(key))
    if not _is_new(seen, key, now):
        return kept
    return (*(entry for entry in kept if group_key(list(entry[0])) != wanted), (key, due))


def _has_passed(due: Instant, now: Instant) -> bool:
    return due != NEVER and due <= now


RECORD = Function("record", _record)
IS_NEW = Function("isNew", _is_new)


# Lists.


class Long(tuple[object, ...]):
    """A list that may grow long: tokens are found by hash at every firing, so that is kept."""

    def __hash__(self) -> int:
        found: int | None = self.__dict__.get("hash")
        if found is None:
            found = self.__dict__["hash"] = super().__hash__()
        return found


ITEM = Function("item", lambda items, place: items[place])
LENGTH = Function("len", len)
HEAD = Function("hd", lambda items: items[0])
TAIL = Function("tl", lambda items: Long(items[1:]))
MEMBER = Function("member", lambda item, items: item in items)
APPEND = Function("append", lambda items, item: Long((*items, item)))


# The states of aggregates, and values: unions where there are types.

OF_COUNT, OF_SUM, OF_VALUES, INTEGER = (
    Function(name, lambda each: each) for name in ("CountS", "SumS", "ValuesS", "I")
)
TO_COUNT, TO_SUM, TO_VALUES = (
    Function(name, lambda each: each) for name in ("toCount", "toSum", "toValues")
)


# Rows in a time window are held with the instants at which they leave.


def _insert(held: Timed, due: Instant, row: object) -> Timed:
    return Long((*held, (due, row)))  # type: ignore[return-value]


def _first_due(held: Timed) -> Instant:
    return min(due for due, _ in held)


def _leaving(held: Timed, now: Instant) -> tuple[object, ...]:
    """Rows of one instant leave together; months may turn the order of rows round."""
    return tuple(row for _, row in sorted((e for e in held if e[0] <= now), key=itemgetter(0)))


def _staying(held: Timed, now: Instant) -> Timed:
    return Long(entry for entry in held if entry[0] > now)  # type: ignore[return-value]


INSERT = Function("insert", _insert)
FIRST_DUE = Function("firstDue", _first_due)
LEAVING = Function("leaving", _leaving)
STAYING = Function("staying", _staying)


# Time.


def _arm(agenda: Agenda, entry: Entry) -> Agenda:
    """The agenda with one more entry, after those that wake at the same place."""
    place = bisect_right(agenda, entry[:3], key=lambda e: e[:3])
    return (*agenda[:place], entry, *agenda[place:])


def _disarm(agenda: Agenda, node: str, instance: int) -> Agenda:
    return tuple(entry for entry in agenda if entry[3:] != (node, instance))


def _is_due(agenda: Agenda, now: Instant) -> bool:
    return bool(agenda) and agenda[0][0] <= now


ARM = Function("arm", _arm)
DISARM = Function("disarm", _disarm)
IS_DUE = Function("isDue", _is_due)
ORIGIN = Function("origin", lambda agenda: agenda[0][2])
NODE = Function("node", lambda agenda: agenda[0][3])
INSTANCE = Function("instance", lambda agenda: agenda[0][4])


def after(period: Period, now: Term) -> Term:
    """The instant that lies a period after another."""
    if not period.months:
        return plus(now, period.microseconds)
    return call(Function("after", period.after), now)


def boundary(period: Period, anchor: Term, now: Term) -> Term:
    """The first end of a period after now, counting periods from the anchor."""
    if period.months:
        ends = Function("boundary", lambda since, t: next_boundary(since, period, t))
        return call(ends, anchor, now)
    length = Const(period.microseconds)
    passed = Apply("div", Apply("-", now, anchor), length)
    return Apply("+", anchor, Apply("*", plus(passed, 1), length))


def next_of(schedule: Schedule) -> Function:
    """The next instant of a schedule."""

    def following(now: Instant) -> Instant:
        found = schedule.after(now)
        return NEVER if found is None else found

    return Function("next", following)
