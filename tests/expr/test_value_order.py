"""The total order and the keys of values, and values as JSON."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.core.event import Event, Value
from cepheid.expr.evaluate import group_key, sort_key
from cepheid.expr.jsonvalue import decode_value, encode_value

SCALARS: st.SearchStrategy[Value] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0.0, -0.0, 1.0, 1.5, math.nan, math.inf, -math.inf]),
    st.text("ab", max_size=2),
)
VALUES: st.SearchStrategy[Value] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
        st.builds(
            lambda values, old: Event("T", 5, values, 1, "S", is_old=old),
            st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
            st.booleans(),
        ),
    ),
    max_leaves=5,
)


def test_the_order_of_values() -> None:
    ascending: list[Value] = [None, False, True, -math.inf, -1, 0, 0.5, 1, math.inf, math.nan, "", "Z", "a"]  # fmt: skip
    keys = [sort_key(value) for value in ascending]
    assert sorted(keys) == keys
    assert len(set(keys)) == len(keys)


@given(VALUES, VALUES)
def test_the_order_is_total_and_agrees_with_the_keys(left: Value, right: Value) -> None:
    one, other = sort_key(left), sort_key(right)
    assert (one < other) + (one > other) + (one == other) == 1
    if group_key(left) == group_key(right):
        assert one == other
    hash(group_key(left))


@pytest.mark.parametrize(
    ("left", "right", "is_same"),
    [
        (1, 1.0, True),
        (0.0, -0.0, True),
        (math.nan, -math.nan, True),
        (True, 1, False),
        (False, 0, False),
        (None, 0, False),
        ("1", 1, False),
        ([1], [1.0], True),
        ([True], [1], False),
        ([math.nan], [math.nan], True),
        ([], {}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        (Event("A", 0, {"x": 1}), Event("A", 0, {"x": 1}), True),
        (Event("A", 0, {"x": 1}), Event("A", 1, {"x": 1}), False),
        (Event("A", 0, {"x": 1}), Event("B", 0, {"x": 1}), False),
    ],
)
def test_keys_are_equal_for_values_that_are_not_distinct(
    left: Value, right: Value, is_same: bool
) -> None:
    assert (group_key(left) == group_key(right)) is is_same


def exact(value: Value) -> str:
    """Everything that can be seen of a value."""
    if isinstance(value, Event):
        seen = (value.type, value.instant, value.sequence, value.statement, value.is_old)
        return f"{seen} {exact(value.values_)}"
    if isinstance(value, dict):
        return str({name: exact(part) for name, part in value.items()})
    return str([exact(part) for part in value]) if isinstance(value, list) else repr(value)


@given(VALUES)
def test_values_survive_json(value: Value) -> None:
    text = json.dumps(encode_value(value), allow_nan=False)
    assert exact(decode_value(json.loads(text))) == exact(value)
