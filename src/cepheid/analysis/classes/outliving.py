"""Statements that may hold when a sliding window has forgotten the event.

A window keeps the events of a class for some time after their occurrence (`kept_after` in analysis/lifespans.py). What is
learnt of an event is learnt before that, or later than the program allows; only what holds because time passes can come
too late: LATE(min, max), and comparisons with NOW. Where such a statement holds of an event that was known a round before,
in which it was forgotten already, buffering and windows act differently.

A warning: also of events whose time never moved. A note: only of events that were moved as far as their freezing time
allows, or that lie as far apart as the observation span allows.

In a class that is not monotone an event may appear when a window forgets what held it back. What holds of it then, and
holds later than twice the freezing time after its time, is a note: nothing is learnt that late.

What is not seen: that nothing else holds the event back; conditions without NOW that hold in every round are found by
firing.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from cepheid.analysis.classes.constellations import ROUND, Constellations, Situation
from cepheid.analysis.classes.monotone import reasons_of
from cepheid.analysis.classes.written import short
from cepheid.analysis.lifespans import Kept, kept_after, spans_of
from cepheid.core.time import Period
from cepheid.errors import Diagnostic, Span, note, warning
from cepheid.program.graph import Graph
from cepheid.program.resolved import ResolvedClass, ResolvedReaction
from cepheid.sql.dialect import parse_condition
from cepheid.sql.nodes import Now, Primitive
from cepheid.sql.places import Places


def find(graph: Graph) -> Iterator[Diagnostic]:
    classes = graph.program.classes
    kept, spans, open_ones = kept_after(classes), spans_of(classes), reasons_of(classes)
    for resolved in classes:
        for place, reaction in enumerate(resolved.reactions):
            found = list(_outlives(resolved, place, kept[resolved.name]))
            if not found and open_ones[resolved.name]:
                found = list(_appears(resolved, place, 2 * spans[resolved.name].freezing))
            yield from found if _asks_the_time(reaction) else ()


def _asks_the_time(reaction: ResolvedReaction) -> bool:
    tree = reaction.condition.tree
    late = (atom for atom in tree.find_all(Primitive) if atom.name == "LATE")
    return tree.find(Now) is not None or any(True for _ in late)


def _outlives(resolved: ResolvedClass, place: int, kept: Kept) -> Iterator[Diagnostic]:
    reaction = resolved.reactions[place]
    fact = f"`{reaction.declared.condition.text}` may hold of events that sliding windows have forgotten"
    hint = "buffering acts on them, windows do not; a longer FREEZING TIME keeps events longer"
    if _holds_after(resolved, place, kept.unmoved):
        fact += (
            f": they keep events of '{resolved.name}' for {Period(kept.unmoved)} after their time"
        )
        yield warning("outlives-window", fact, _place(reaction), hint)
    elif _holds_after(resolved, place, kept.surely):
        fact += (
            f": they surely keep events of '{resolved.name}' for {Period(kept.surely)} after their"
            " time, if it moves as far as it may"
        )
        yield note("outlives-window", fact, _place(reaction), hint)


def _appears(resolved: ResolvedClass, place: int, known: int) -> Iterator[Diagnostic]:
    """In a class that is not monotone events may appear when all that is learnt of them was."""
    reaction = resolved.reactions[place]
    if _may_hold_after(resolved, place, known):
        fact = (
            f"`{reaction.declared.condition.text}` may hold of events that appear because a window forgot"
            f" what held them back, {Period(known)} and more after their time"
        )
        hint = f"sliding-actions acts on them, too; LATE(0s, {short(known)}) ends before that"
        yield note("late-appearance", fact, _place(reaction), hint)


def _may_hold_after(resolved: ResolvedClass, place: int, known: int) -> bool:
    conditions = [reaction.condition for reaction in resolved.reactions]
    found = Constellations(resolved.table, conditions, thresholds=[known])
    steady = found.situations([place], is_steady=True)
    return any(isinstance(s["new_occ"], int) and s["new_occ"] + known < ROUND for s in steady)


def _holds_after(resolved: ResolvedClass, place: int, kept: int) -> bool:
    """Whether it may hold in a round before which the event was forgotten."""
    conditions = [reaction.condition for reaction in resolved.reactions]
    found = Constellations(resolved.table, conditions, thresholds=[kept])
    for situation in found.situations([place], is_steady=True):
        occ = situation["new_occ"]
        assert isinstance(occ, int)
        if occ + kept < ROUND - 1 and _was_open(found, situation, occ + kept):
            return True
    return False


def _was_open(found: Constellations, situation: Situation, end: int) -> bool:
    """Whether the toggle can be as it is after a last round that lies behind the end."""
    if situation["fired"]:
        return True
    occ = situation["new_occ"]
    assert isinstance(occ, int)
    last = {ROUND - 1, *(ROUND + occ - other for other in found.instants())}
    return any(
        found.sets({**situation, "now": number}) is not True
        for number in last
        if end < number < ROUND
    )


def _place(reaction: ResolvedReaction) -> Span:
    """Of the part that asks the time, if it is one."""
    places = Places(reaction.declared.condition)
    tree = parse_condition(reaction.declared.condition)
    late = [n for n in tree.find_all(exp.Anonymous) if n.name.upper() == "LATE"]
    words = [n for n in tree.find_all(exp.Column) if n.name.upper() == "NOW" and not n.table]
    tests = [n.find_ancestor(exp.Predicate) for n in words]
    parts = [*late, *(test for test in tests if test is not None)]
    return places.of(parts[0]) if len(parts) == 1 else places.whole
