"""Conditions: their primitives as defined, times as numbers of chronons, NOW, the toggle, arguments."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.core.types import BOOLEAN, DOUBLE, LONG, STRING, TIMESTAMP, DataType
from cepheid.errors import Span
from cepheid.sql.conditions import (
    Crossing,
    ResolvedCondition,
    argument_tree,
    clears_toggle_tree,
    condition_tree,
    differs_tree,
    resolve_argument,
    resolve_condition,
    sets_toggle_tree,
)
from cepheid.sql.dialect import PRIMITIVES
from cepheid.sql.text import Sql
from tests.sql.relation import CLASS, Pair, Version, value_of

C = 60_000_000  # a chronon of a minute
HOUR = 60 * C


def condition(text: str) -> ResolvedCondition:
    found, problems = resolve_condition(Sql(text), CLASS)
    assert found is not None, "\n".join(map(str, problems))
    return found


def holds(text: str, pair: Pair) -> bool | None:
    found = value_of(condition_tree(condition(text), C), pair)
    return None if found is None else bool(found)


# Primitives, by their definitions over numbers of chronons.


def defined(primitive: str, p: Pair) -> bool:
    new = p.new.occ // C if p.new else None
    old = p.old.occ // C if p.old else None
    has_new, has_old, now = new is not None, old is not None, p.now
    future_new, future_old = (t is not None and t > now for t in (new, old))
    past_new, past_old = (t is not None and t < now for t in (new, old))
    change = has_new and has_old and p.differs
    return {
        "ANNOUNCEMENT": has_new and not has_old,
        "CANCELLATION": has_old and not has_new,
        "CHANGE": change,
        "ONTIME": has_new and new == now,
        "LATE": past_new and not p.fired,
        "FUTURE": future_new and (not has_old or (change and future_old)),
        "FUTURECANCEL": not has_new and future_old,
        "REVOCATION": not has_new and past_old,
        "RETROACTIVECHANGE": change and past_old and past_new and p.fired,
        "POSTPONE": past_old and future_new,
    }[primitive]


def pairs() -> Iterator[Pair]:
    """Old and new before, at the ends of and after a round, or missing; also before 1970."""
    for now in (100, -100, 0):
        begin = now * C
        times = (None, begin - HOUR, begin - 1, begin, begin + C - 1, begin + C, begin + HOUR)
        for old, new, fired, other in product(times, times, (False, True), (False, True)):
            yield Pair(
                Version(old) if old is not None else None,
                Version(new, g="other" if other else "same") if new is not None else None,
                now,
                fired,
            )


PAIRS = list(pairs())


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_a_primitive_holds_as_defined_and_is_never_null(primitive: str) -> None:
    tree = condition_tree(condition(primitive), C)
    opposite = condition_tree(condition(f"NOT {primitive}"), C)
    for pair in PAIRS:
        assert value_of(tree, pair) == defined(primitive, pair), pair
        assert value_of(opposite, pair) == (not defined(primitive, pair)), pair


def test_late_with_delays_holds_after_the_first_and_up_to_the_second() -> None:
    event = Version(30)  # thirty microseconds into round 0
    held = [now for now in range(-2, 70) if holds("LATE(0s, 1h)", Pair(None, event, now))]
    assert held == list(range(1, 61))
    held = [now for now in range(-2, 200) if holds("LATE(1h, 2h)", Pair(None, event, now))]
    assert held == list(range(61, 121))
    assert not holds("LATE(0s, 1h)", Pair(None, event, 5, fired=True))
    assert not holds("LATE(0s, 1h)", Pair(event, None, 5))


def test_versions_differ_in_attributes_and_chronons_but_not_in_detection() -> None:
    tree = differs_tree(CLASS, C)

    def differ(one: Version, other: Version) -> bool:
        return bool(value_of(tree, Pair(one, other, 0)))

    assert not differ(Version(5, det=1), Version(C - 1, det=2))
    assert differ(Version(5), Version(C))
    assert differ(Version(-1), Version(0))
    assert differ(Version(5, g=None), Version(5, g="x"))
    assert not differ(Version(5, g=None), Version(5, g=None))
    assert differ(Version(5, x=1.0), Version(5, x=None))


# Times and NOW

TIMES: dict[str, tuple[set[int], tuple[Crossing, ...]]] = {
    # Rounds 0 to 9 in which it holds for an event at the end of round 3, and what NOW crosses.
    "NEW < NOW": ({4, 5, 6, 7, 8, 9}, (Crossing("new", "occ", 0),)),
    "NEW.occ <= NOW": ({3, 4, 5, 6, 7, 8, 9}, (Crossing("new", "occ", 0),)),
    "NEW = NOW": ({3}, (Crossing("new", "occ", 0),)),
    "NEW <> NOW": ({0, 1, 2, 4, 5, 6, 7, 8, 9}, (Crossing("new", "occ", 0),)),
    "NOW > NEW + 2m": ({6, 7, 8, 9}, (Crossing("new", "occ", 2 * C),)),
    "NOW - NEW.occ > 2m": ({6, 7, 8, 9}, (Crossing("new", "occ", 2 * C),)),
    "NOW - NEW > 120": ({6, 7, 8, 9}, (Crossing("new", "occ", 2 * C),)),
    "2m < NOW - NEW": ({6, 7, 8, 9}, (Crossing("new", "occ", 2 * C),)),
    "NEW - NOW > 1m": ({0, 1}, (Crossing("new", "occ", -C),)),
    "(NEW - 1m) >= NOW": ({0, 1, 2}, (Crossing("new", "occ", -C),)),
    "NOW + 1m < NEW": ({0, 1}, (Crossing("new", "occ", -C),)),
    "NOW BETWEEN NEW AND NEW + 2m": (
        {3, 4, 5},
        (Crossing("new", "occ", 0), Crossing("new", "occ", 2 * C)),
    ),
    "NOW > NEW.t": ({6, 7, 8, 9}, (Crossing("new", "t", 0),)),
    "NOW = coalesce(OLD, NEW.t - 1m)": (
        {4},
        (Crossing("old", "occ", 0), Crossing("new", "t", -C)),
    ),
    "NOW >= CASE WHEN NEW.x > 1 THEN NEW + 1s ELSE NEW.t END": (
        {5, 6, 7, 8, 9},
        (Crossing("new", "occ", 1_000_000), Crossing("new", "t", 0)),
    ),
    "NOW > MAX(NEW, OLD) + 1m": (
        {5, 6, 7, 8, 9},
        (Crossing("new", "occ", C), Crossing("old", "occ", C)),
    ),
    "NOW > OLD": (set(), (Crossing("old", "occ", 0),)),
}


@pytest.mark.parametrize("text", TIMES)
def test_comparisons_with_now_compare_chronons(text: str) -> None:
    event = Version(4 * C - 1, x=0.5, t=5 * C)
    rounds, crossings = TIMES[text]
    assert {now for now in range(10) if holds(text, Pair(None, event, now))} == rounds
    assert condition(text).crossings == crossings


def test_two_times_of_versions_compare_as_chronons_but_their_difference_is_exact() -> None:
    pair = Pair(Version(C + 5), Version(C + 9_000_000), 0)
    assert holds("NEW = OLD", pair)
    assert not holds("NEW > OLD", pair)
    assert not holds("NEW IS DISTINCT FROM OLD", pair)
    assert holds("NEW - OLD > 8s", pair)
    assert holds("NEW IN (OLD, NEW.t)", pair)
    assert holds("NEW BETWEEN OLD AND OLD", pair)


def test_a_comparison_with_a_missing_side_is_null_and_so_is_its_opposite() -> None:
    pair = Pair(None, Version(5, g=None), 0)
    for text in ("OLD.g = NEW.g", "NEW.g <> 'x'", "NEW.g = NULL", "OLD < NOW", "NOT OLD = NOW"):
        assert holds(text, pair) is None, text
    assert holds("NEW.g IS NULL AND OLD.g IS NULL", pair)
    assert holds("NOT (CHANGE AND OLD.g = NEW.g)", pair)


CONDITIONS = (
    *PRIMITIVES, "LATE(1m, 3m)", "NOW > NEW + 2m", "NOW - OLD <= 90", "NEW.t < NOW OR OLD.t >= NOW",
    "CHANGE AND NOT (NOW = NEW.t - 61s)", "NOW <> MIN(NEW, OLD.t)",
)  # fmt: skip


@given(
    st.sampled_from(CONDITIONS),
    st.integers(-6 * C, 6 * C),
    st.integers(-6 * C, 6 * C),
    st.booleans(),
)
def test_between_its_crossings_a_condition_does_not_change(
    text: str, one: int, other: int, fired: bool
) -> None:
    """A value changes only in the round of a crossing and in the one after."""
    pair = Pair(Version(one, t=other), Version(other, t=one + 7), 0, fired)
    found = condition(text)
    tree = condition_tree(found, C)
    numbers = {pair.instant(c.side, c.attribute, c.offset) // C for c in found.crossings}
    changes = numbers | {n + 1 for n in numbers}
    values = {now: value_of(tree, pair.at(now)) for now in range(-12, 13)}
    for now in range(-11, 13):
        assert now in changes or values[now] == values[now - 1]


# The toggle


def test_atoms_set_and_clear_the_toggle_wherever_they_stand() -> None:
    conditions = [
        condition("NEW.x > 5 AND NOT LATE(0s, 1m)"),
        condition("ONTIME OR POSTPONE"),
        condition("CHANGE"),
    ]
    sets, clears = sets_toggle_tree(conditions, C), clears_toggle_tree(conditions, C)
    assert sets is not None
    assert clears is not None
    event = Version(0)
    for fired in (False, True):
        held = [n for n in range(-2, 5) if value_of(sets, Pair(None, event, n, fired))]
        assert held == [0, 1]
    assert value_of(clears, Pair(Version(0), Version(9 * C), 5))
    assert not value_of(clears, Pair(event, None, 5))  # no CANCELLATION stands anywhere
    assert sets_toggle_tree([condition("CHANGE")], C) is None
    assert clears_toggle_tree([condition("ONTIME AND NEW.x = 1")], C) is None


def test_the_atoms_of_a_condition_are_listed() -> None:
    assert condition("NOT LATE OR LATE(0s, 1h) AND NEW.x = 1").primitives == {"LATE", "LATE()"}
    assert condition("NEW.x = 1").primitives == frozenset()


# Arguments


def argument(text: str, pair: Pair) -> tuple[object, DataType]:
    found, problems = resolve_argument(Sql(text), CLASS)
    assert found is not None, "\n".join(map(str, problems))
    return value_of(argument_tree(found, C), pair), found.type


ARGUMENTS: dict[str, tuple[object, DataType]] = {
    "NEW": (C + 1, TIMESTAMP),
    "OLD": (None, TIMESTAMP),
    "NOW": (3 * C, TIMESTAMP),
    "NOW - NEW": (119.999999, DOUBLE),
    "NEW.g": ("it's", STRING),
    "NEW.x * 2": (7.0, DOUBLE),
    "NEW.k + 1": (8, LONG),
    "NEW.x > 3": (1, BOOLEAN),
    "30m": (1800.0, DOUBLE),
    "CASE WHEN NEW < NOW THEN 'past' ELSE 'to come' END": ("past", STRING),
    'format("Just arrived at %s!", NEW.g)': ("Just arrived at it's!", STRING),
    "format('%n%% of %n, %n, %n', NEW.x, NEW.k, 2.0, 1e16)": ("3.5% of 7, 2, 1e+16", STRING),
    "format('%t and %t', NEW.occ, NOW)": (
        "1970-01-01T00:01:00.000001Z and 1970-01-01T00:03:00Z",
        STRING,
    ),
    "format('%s %s %s %s', NEW.k, OLD.g, NEW.x > 3, NEW.t)": ("7 null true null", STRING),
    "format('')": ("", STRING),
}


@pytest.mark.parametrize("text", ARGUMENTS)
def test_arguments_are_values_of_the_versions(text: str) -> None:
    pair = Pair(None, Version(C + 1, k=7, g="it's", x=3.5), 3)
    assert argument(text, pair) == ARGUMENTS[text]


# What is wrong


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("", " BETWEEN FALSE AND TRUE"),
        ("CASE ", " WHEN TRUE THEN FALSE WHEN FALSE THEN TRUE END"),
        ("CASE WHEN ", " IN (NOW, NEW.t) THEN NEW.t ELSE NOW END"),
    ],
)
def test_values_that_are_repeated_in_one_another_do_not_grow_without_end(
    begin: str, end: str
) -> None:
    value = "NEW.t" if "IN (" in end else "TRUE"
    text = begin * 14 + value + end * 14
    problems = problems_of(text, is_argument=True)
    assert len(problems) == 1
    assert "too-deep" in problems[0]


def problems_of(text: str, *, is_argument: bool = False) -> list[str]:
    sql = Sql("", written=text, span=Span(7, 4, 7, 5))
    _, found = (resolve_argument if is_argument else resolve_condition)(sql, CLASS)
    return [str(d).removeprefix("<text>:").replace(" error", "", 1) for d in found]


_NOW = "NOW can stand only in a comparison of two times (compare it with a time of the event, as in NOW > NEW.occ + 1h)"
WRONG: dict[str, str] = {
    "NOW > 5": f"7:4:[misplaced-now]: {_NOW}",
    "NOW = NOW": f"7:4:[misplaced-now]: {_NOW}",
    "CHANGE AND NOW": f"7:15:[misplaced-now]: {_NOW}",
    "coalesce(NOW, NEW) = OLD": f"7:13:[misplaced-now]: {_NOW}",
    "NOW IS NULL": f"7:4:[misplaced-now]: {_NOW}",
    "NOW > NEW + 5": f"7:4:[misplaced-now]: {_NOW}",
    "NOW - NEW > OLD.x": f"7:4:[misplaced-now]: {_NOW}",
    "NOW - NEW - OLD > 1h": f"7:4:[misplaced-now]: {_NOW}",
    "NOW IS DISTINCT FROM NEW": f"7:4:[misplaced-now]: {_NOW}",
    "NOW > NEW.g": "7:10:[type-mismatch]: a time is expected here, not a text",
    "NOW > TIMESTAMP '2026-01-01T00:00:00Z'": "7:20:[unsupported-sql]: a comparison of NOW with a fixed time is not"
    " supported (compare NOW with a time of the event)",
    "g = 'x'": "7:4:[unknown-name]: it is not said whose 'g' is meant (write NEW.g or OLD.g)",
    "CHANGED": "7:4:[unknown-name]: nothing here is called 'CHANGED' (did you mean 'CHANGE'?)",
    "NEU.g = 'x'": "7:4:[unknown-name]: nothing here is called 'NEU' (conditions and actions know NEW and OLD)",
    "NEW.gg = 'x'": "7:8:[unknown-attribute]: 'E' has no attribute 'gg' (did you mean 'g'?)",
    "NEW.g": "7:4:[type-mismatch]: a truth value is expected here, not a text",
    "ANNOUNCEMENT AND\n NEW.g > 1": "8:10:[type-mismatch]: a text and a whole number do not go together",
    "LATE(1h)": "7:4:[wrong-arguments]: LATE has two lengths of time, or no arguments (for example LATE(0s, 1h))",
    "LATE(0, 1)": "7:4:[wrong-arguments]: LATE has two lengths of time, or no arguments (for example LATE(0s, 1h))",
    "ONTIME(1h, 2h)": "7:4:[wrong-arguments]: ONTIME has no arguments",
    "EXISTS (SELECT * FROM E)": "7:4:[unsupported-sql]: a subquery here is not supported (derive a class with it)",
    "count(*) > 1": "7:4:[misplaced-aggregate]: 'count' needs rows; here is one event (derive a class with it)",
}  # fmt: skip
WRONG_ARGUMENTS: dict[str, str] = {
    "LATE": "7:4:[misplaced-primitive]: LATE stands in conditions only",
    "format(NEW.g)": "7:4:[unsupported-sql]: a format that is not written out is not supported",
    "format('%d', NEW.k)": "7:11:[bad-format]: '%d' is no mark of a format"
    " (marks: %s text, %n number, %t time, %% percent)",
    "format('100%')": "7:11:[bad-format]: '%' is no mark of a format"
    " (marks: %s text, %n number, %t time, %% percent)",
    "format('%s')": "7:4:[wrong-arguments]: the format has 1 marks for 0 values",
    "format('%n', NEW.g)": "7:17:[type-mismatch]: a whole number or a number is expected here, not a text",
    "format('%t', NEW.k)": "7:17:[type-mismatch]: a time is expected here, not a whole number",
    "sin(NEW.x)": "7:4:[unsupported-sql]: 'sin' is not supported",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_in_a_condition_is_told_with_its_place(text: str) -> None:
    assert problems_of(text) == [WRONG[text]]


@pytest.mark.parametrize("text", WRONG_ARGUMENTS)
def test_what_is_wrong_in_an_argument_is_told_with_its_place(text: str) -> None:
    (found,) = problems_of(text, is_argument=True)
    assert found.startswith(WRONG_ARGUMENTS[text])
