"""How long an instance of a pattern lives, how often it is true, and whether its state grows.

All spans are upper bounds in microseconds; None is "nobody knows": it may be without bound. A month
counts as 31 days. Of an operator that is not `KNOWN`, the worst is expected. What is not seen:
conditions that can never hold or always hold, events that are sure to come, and dates at which a
schedule with days, months or weekdays comes round.
"""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.core.time import MICROSECONDS, Period
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
    atoms,
    children,
    walk,
)

Bound = int | None

KNOWN = (
    Absent,
    AllOf,
    AnyOf,
    At,
    Atom,
    Every,
    EveryDistinct,
    FollowedBy,
    Interval,
    Repeat,
    While,
    Within,
)
_DAY = MICROSECONDS["days"]


def longest(period: Period) -> int:
    """The microseconds that a period has at most, wherever it begins."""
    return period.microseconds + period.months * 31 * _DAY


def add(spans: Iterable[Bound]) -> Bound:
    """One after the other; without bound if one of them is."""
    total = 0
    for span in spans:
        if span is None:
            return None
        total += span
    return total


def most(spans: Iterable[Bound]) -> Bound:
    """Side by side; without bound if one of them is."""
    longest_yet = 0
    for span in spans:
        if span is None:
            return None
        longest_yet = max(longest_yet, span)
    return longest_yet


def least(*spans: Bound) -> Bound:
    """Whichever ends first."""
    return min((span for span in spans if span is not None), default=None)


def lifetime(pattern: Pattern) -> Bound:
    """How long after its start an instance has finished or failed, whatever happens."""
    match pattern:
        case Within():
            return least(longest(pattern.period), lifetime(pattern.child))
        case While():
            return lifetime(pattern.child)
        case Interval() | At():
            return _time_to_finish(pattern)
        case FollowedBy():
            return add(map(lifetime, pattern.parts))
        case AllOf():
            # An absence ends with the other sides, at the latest.
            return most(lifetime(p) for p in pattern.parts if not isinstance(p, Absent))
        case AnyOf():
            return least(_time_to_finish(pattern), most(map(lifetime, pattern.parts)))
        case Repeat():
            return _lifetime_of_repeat(pattern)
    return None


def _lifetime_of_repeat(repeat: Repeat) -> Bound:
    until = None if repeat.until is None else lifetime(repeat.until)
    if not repeat.is_exact:
        return until
    assert repeat.high is not None
    once = lifetime(repeat.child)
    return least(until, None if once is None else once * repeat.high)


def _time_to_finish(pattern: Pattern) -> Bound:
    """How long after its start an instance has become true for the last time; it never fails."""
    match pattern:
        case Interval():
            return longest(pattern.period)
        case At():
            return None if pattern.schedule.has_date else _DAY
        case FollowedBy():
            return add(map(_time_to_finish, pattern.parts))
        case AllOf():
            return most(map(_time_to_finish, pattern.parts))
        case AnyOf():
            return least(*map(_time_to_finish, pattern.parts))
    return None


def is_memoryless(pattern: Pattern) -> bool:
    """`every P` for a P that one event makes true, or not: what came before leaves no trace.

    A `while` inside `or` would: the side that it ends stays away until the next match.
    """
    if not isinstance(pattern, Every):
        return False
    child = pattern.child
    while isinstance(child, While):
        child = child.child
    return _is_choice_of_events(child)


def _is_choice_of_events(pattern: Pattern) -> bool:
    if isinstance(pattern, AnyOf):
        return all(map(_is_choice_of_events, pattern.parts))
    return isinstance(pattern, Atom)


def starts_independent_runs(pattern: Pattern) -> bool:
    """`every a=A -> ...`: what follows each A knows nothing of what follows the others."""
    return isinstance(pattern, FollowedBy) and is_memoryless(pattern.parts[0])


def arms_at_start(pattern: Pattern) -> bool:
    """Whether time counts from the very start of an instance, before any event."""
    match pattern:
        case Within() | Interval() | At():
            return True
        case FollowedBy():
            first, *rest = pattern.parts
            # An absence is true at once, so that the next part starts with it.
            is_true_at_once = any(isinstance(p, Absent) for p in walk(first))
            return arms_at_start(first) or (is_true_at_once and any(map(arms_at_start, rest)))
    return not isinstance(pattern, KNOWN) or any(map(arms_at_start, children(pattern)))


def has_timer(pattern: Pattern) -> bool:
    """Whether it can become true by time alone."""
    return any(isinstance(p, Interval | At) or not isinstance(p, KNOWN) for p in walk(pattern))


def is_true_once(pattern: Pattern) -> bool:
    """Whether an instance is finished with its first truth."""
    match pattern:
        case Atom() | Interval() | At() | Repeat():
            return True
        case AllOf():
            return all(is_true_once(p) for p in pattern.parts if not isinstance(p, Absent))
        case FollowedBy() | AnyOf():
            return all(map(is_true_once, pattern.parts))
        case While() | Within():
            return is_true_once(pattern.child)
    return False


def _is_true_now_and_then(pattern: Pattern) -> bool:
    """Whether the number of an instance's truths has a bound."""
    if lifetime(pattern) is not None or is_true_once(pattern) or isinstance(pattern, Absent):
        return True
    if isinstance(pattern, Every | EveryDistinct) or not isinstance(pattern, KNOWN):
        return False
    return all(map(_is_true_now_and_then, children(pattern)))


def growth(pattern: Pattern) -> str | None:
    """What an instance keeps more and more of while it lives; None where nothing grows.

    The rate of events is taken to have a bound, so what lives for a bounded time does not grow.
    """
    if lifetime(pattern) is not None:
        return None
    return _own_growth(pattern) or next(filter(None, map(growth, children(pattern))), None)


def _own_growth(pattern: Pattern) -> str | None:
    if not isinstance(pattern, KNOWN):
        return f"nothing is known of what the operator {type(pattern).__name__} keeps"
    match pattern:
        case Every() | EveryDistinct() if not is_true_once(pattern.child):
            return "each match inside `every` starts one more beside those that go on"
        case EveryDistinct() if pattern.expiry is None:
            return "every-distinct without an expiry remembers all keys"
        case FollowedBy():
            return waiting_runs(pattern)
        case AllOf():
            sides = [p for p in pattern.parts if not isinstance(p, Absent)]
            if len(sides) > 1 and not all(map(_is_true_now_and_then, sides)):
                return "`and` keeps the matches of each side for those of the others"
        case Repeat():
            if pattern.high is None and any(a.tag for a in atoms(pattern.child)):
                return "`until` collects events without bound"
    return None


def waiting_runs(pattern: FollowedBy) -> str | None:
    """Runs that are started again and again must end by themselves."""
    are_started_again = False
    for part in pattern.parts:
        if are_started_again and lifetime(part) is None:
            awaited = next(iter(atoms(part)), None)
            what = f"for {awaited.event_type} " if awaited else ""
            return f"runs wait {what}without bound; `where timer:within(...)` would end them"
        are_started_again = are_started_again or not _is_true_now_and_then(part)
    return None
