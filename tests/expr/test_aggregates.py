"""Running aggregates against their definitions, with rows that come, go and survive a restart."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.core.event import Value
from cepheid.core.numbers import round_float
from cepheid.core.types import ANY, DOUBLE, FLOAT, INT, LONG, STRING, DataType
from cepheid.expr import aggregates
from cepheid.expr.aggregates import Aggregator, make_aggregator
from cepheid.expr.functions import AGGREGATES, AggregateFunction, Kind
from cepheid.expr.tree import Aggregate, Column, Part
from cepheid.expr.values import group_key, sort_key, wrap_int

# A number enters with this value, "out" lets the oldest row leave.
Rows = Sequence[Value]
OUT = "out"


def aggregate(function: str, type: DataType | None, distinct: bool = False) -> Aggregate:
    argument = None if type is None else Column(None, (Part("x"),), type=type)
    return Aggregate(function, argument, distinct, index=1 if function == "nth" else None)


def results(node: Aggregate, steps: Rows, restart: bool = False) -> list[Value]:
    """The result after every step; with `restart`, saved and loaded in between."""
    aggregator = make_aggregator(node)
    rows: list[Value] = []
    seen = []
    for step in steps:
        if step == OUT:
            if rows:
                aggregator.leave(rows.pop(0))
        else:
            rows.append(step)
            aggregator.enter(step)
        seen.append(aggregator.result())
        if restart:
            aggregator = reloaded(node, aggregator)
    return seen


def reloaded(node: Aggregate, aggregator: Aggregator) -> Aggregator:
    fresh = make_aggregator(node)
    fresh.load(json.loads(json.dumps(aggregator.save(), allow_nan=False)))
    return fresh


def recomputed(of_rows: Callable[[list[Value]], Value], steps: Rows) -> list[Value]:
    """The definition applied to the rows that are left after every step."""
    rows: list[Value] = []
    seen = []
    for step in steps:
        if step != OUT:
            rows.append(step)
        elif rows:
            rows.pop(0)
        seen.append(of_rows(rows))
    return seen


def shown(values: Sequence[Value]) -> list[str]:
    return [repr(value) for value in values]


# -- definitions -------------------------------------------------------------------------------


def numbers(rows: list[Value]) -> list[float]:
    return [row for row in rows if isinstance(row, int | float)]


def median(rows: list[Value]) -> Value:
    return float(statistics.median(numbers(rows))) if numbers(rows) else None


def least(rows: list[Value]) -> Value:
    return min((row for row in rows if row is not None), key=sort_key, default=None)


def greatest(rows: list[Value]) -> Value:
    return max((row for row in rows if row is not None), key=sort_key, default=None)


def total(rows: list[Value]) -> Value:
    values = numbers(rows)
    return wrap_int(int(sum(values))) if values else None


DEFINITIONS: dict[str, Callable[[list[Value]], Value]] = {
    "count": lambda rows: len(numbers(rows)),
    "sum": total,
    "avg": lambda rows: sum(numbers(rows)) / len(numbers(rows)) if numbers(rows) else None,
    "min": least,
    "max": greatest,
    "median": median,
    "first": lambda rows: rows[0] if rows else None,
    "last": lambda rows: rows[-1] if rows else None,
}
INTS = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([2**31 - 1, -(2**31)]))
INT_STEPS = st.lists(st.one_of(INTS, st.just(OUT)), max_size=30)
DOUBLES = st.one_of(st.none(), st.floats())
DOUBLE_STEPS = st.lists(st.one_of(DOUBLES, st.just(OUT)), max_size=20)


@given(function=st.sampled_from(sorted(DEFINITIONS)), steps=INT_STEPS)
def test_of_integers_they_follow_their_definitions(function: str, steps: Rows) -> None:
    expected = recomputed(DEFINITIONS[function], steps)
    assert shown(results(aggregate(function, INT), steps)) == shown(expected)


@given(function=st.sampled_from(sorted(DEFINITIONS)), steps=INT_STEPS)
def test_distinct_counts_every_value_once(function: str, steps: Rows) -> None:
    if function in ("first", "last"):
        return  # they depend on when a value came in, see below

    def once(rows: list[Value]) -> Value:
        return DEFINITIONS[function](list({group_key(row): row for row in rows}.values()))

    assert shown(results(aggregate(function, INT, distinct=True), steps)) == shown(
        recomputed(once, steps)
    )


@given(function=st.sampled_from(["min", "max"]), steps=DOUBLE_STEPS)
def test_extremes_of_doubles_know_nan_and_one_zero(function: str, steps: Rows) -> None:
    expected = recomputed(DEFINITIONS[function], steps)
    plain = [value + 0.0 if isinstance(value, float) else value for value in expected]
    assert shown(results(aggregate(function, DOUBLE), steps)) == shown(plain)


@given(function=st.sampled_from(sorted(AGGREGATES)), steps=DOUBLE_STEPS, distinct=st.booleans())
def test_a_restart_after_every_step_changes_nothing(
    function: str, steps: Rows, distinct: bool
) -> None:
    node = aggregate(function, DOUBLE, distinct)
    assert shown(results(node, steps, restart=True)) == shown(results(node, steps))


def by_hand(steps: Rows, fit: Callable[[float], float]) -> list[Value]:
    """Adds on entry, subtracts on leaving, and starts again from zero when nothing is left."""
    rows: list[float] = []
    running, seen = 0.0, list[Value]()
    for step in steps:
        if isinstance(step, float):
            rows.append(step)
            running = fit(running + step)
        elif step == OUT and rows:
            running = fit(running - rows.pop(0))
        running = running if rows else 0.0
        seen.append(running if rows else None)
    return seen


@given(st.lists(st.one_of(st.floats(), st.just(OUT)), max_size=20))
def test_sums_of_doubles_add_and_subtract_in_event_order(steps: Rows) -> None:
    assert shown(results(aggregate("sum", DOUBLE), steps)) == shown(by_hand(steps, float))


@given(st.lists(st.one_of(st.floats(width=32), st.just(OUT)), max_size=20))
def test_sums_of_floats_are_rounded_after_every_step(steps: Rows) -> None:
    assert shown(results(aggregate("sum", FLOAT), steps)) == shown(by_hand(steps, round_float))


def test_a_sum_starts_again_from_exactly_zero() -> None:
    steps: Rows = [0.1, 0.2, OUT, OUT, 0.3]
    assert results(aggregate("sum", DOUBLE), steps)[-1] == 0.3
    assert shown(results(aggregate("sum", DOUBLE), [math.inf, 1.0, OUT, OUT, 2.0])) == [
        "inf", "inf", "nan", "None", "2.0",
    ]  # fmt: skip


@given(st.lists(st.one_of(st.none(), st.integers(-1000, 1000), st.just(OUT)), max_size=20))
def test_stddev_is_that_of_a_sample(steps: Rows) -> None:
    def deviation(rows: list[Value]) -> Value:
        return statistics.stdev(numbers(rows)) if len(numbers(rows)) > 1 else None

    found = results(aggregate("stddev", INT), steps)
    for value, expected in zip(found, recomputed(deviation, steps), strict=True):
        assert value == (None if expected is None else pytest.approx(expected, rel=1e-12))


def test_stddev_keeps_its_digits_far_from_zero() -> None:
    values = [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]
    assert results(aggregate("stddev", DOUBLE), values)[-1] == math.sqrt(30)


@pytest.mark.parametrize(
    ("function", "type", "values", "result"),
    [
        ("count", None, [True, True], 2),
        ("count", STRING, ["a", None], 1),
        ("count", INT, [], 0),
        ("sum", INT, [2**31 - 1, 1], -(2**31)),
        ("sum", LONG, [2**63 - 1, 1], -(2**63)),
        ("sum", INT, [None], None),
        ("avg", INT, [2**31 - 1, 2**31 - 1], 2147483647.0),
        ("avg", LONG, [1, 2, None], 1.5),
        ("min", STRING, ["b", "a", None], "a"),
        ("max", STRING, ["b", "a", None], "b"),
        ("max", DOUBLE, [1.0, math.nan], math.nan),
        ("min", DOUBLE, [math.nan, 1.0], 1.0),
        ("median", INT, [1, 2], 1.5),
        ("median", INT, [3, 1, 2], 2.0),
        ("stddev", INT, [1], None),
        ("first", INT, [None, 1], None),
        ("last", INT, [1, None], None),
        ("sum", ANY, [1, "x", 2, True], 3),
        ("sum", ANY, [1, 2.5], 3.5),
        ("avg", ANY, [1, "x", 2], 1.5),
        ("max", ANY, [1, "x"], "x"),
    ],
)
def test_results(function: str, type: DataType | None, values: Rows, result: Value) -> None:
    aggregator = make_aggregator(aggregate(function, type))
    for value in values:
        aggregator.enter(value)
    assert repr(aggregator.result()) == repr(result)


def test_a_distinct_value_leaves_with_its_last_occurrence() -> None:
    node = aggregate("sum", INT, distinct=True)
    assert results(node, [5, 5, 1, OUT, OUT, OUT]) == [5, 5, 6, 6, 1, None]
    assert results(aggregate("last", INT, distinct=True), [1, 2, 1]) == [1, 2, 2]


def test_of_values_without_a_type_an_aggregate_of_numbers_gets_numbers_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made_up = AggregateFunction("made up", Kind.NUMBER, DOUBLE)
    monkeypatch.setitem(AGGREGATES, "made_up", made_up)
    monkeypatch.setitem(aggregates._MAKERS, "made_up", lambda _: aggregates._Average())
    assert results(aggregate("made_up", ANY), ["text", 1, True, 3]) == [None, 1.0, 1.0, 2.0]


def test_values_may_leave_in_any_order() -> None:
    for function in sorted(AGGREGATES):
        node = aggregate(function, DOUBLE)
        aggregator, expected = make_aggregator(node), make_aggregator(node)
        for value in (1.0, math.nan, 3.0, 2.0):
            aggregator.enter(value)
        aggregator.leave(2.0)
        aggregator.leave(math.nan)
        for value in (1.0, 3.0):
            expected.enter(value)
        if function not in ("sum", "avg"):  # the NaN stays in their running sum
            assert aggregator.result() == expected.result()


@given(
    function=st.sampled_from(sorted(AGGREGATES)),
    values=st.lists(DOUBLES, max_size=10),
    distinct=st.booleans(),
)
def test_where_rows_stay_the_results_are_the_same(
    function: str, values: Rows, distinct: bool
) -> None:
    node = aggregate(function, DOUBLE, distinct)
    usual, staying = make_aggregator(node), make_aggregator(node, rows_leave=False)
    for value in values:
        usual.enter(value)
        staying.enter(value)
        fresh = make_aggregator(node, rows_leave=False)
        fresh.load(json.loads(json.dumps(staying.save(), allow_nan=False)))
        staying = fresh
        assert repr(staying.result()) == repr(usual.result())


def test_where_rows_stay_one_value_is_kept() -> None:
    for function in ("min", "max", "first", "last"):
        staying = make_aggregator(aggregate(function, INT), rows_leave=False)
        for value in range(100):
            staying.enter(value)
        assert len(json.dumps(staying.save())) < 10
        with pytest.raises(TypeError, match="cannot leave"):
            staying.leave(1)
