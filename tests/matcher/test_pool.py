"""Values get numbers, and come back as they were."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.core.event import Event, Value
from cepheid.core.types import DOUBLE, ArrayType, DataType, EventRef
from cepheid.expr.values import group_key
from cepheid.matcher.columns.interning import EventReader, Pool
from tests.matcher.expressions import ATTRIBUTES, exactly, make_value

SEEDS = st.integers(0, 10**9)
TYPES = [type for _, type in ATTRIBUTES]
TEXTS = st.lists(st.none() | st.sampled_from(["", "a", "b", "ß", "a longer text"]))


@given(SEEDS, st.sampled_from(TYPES))
def test_values_come_back_to_the_bit(seed: int, type: DataType) -> None:
    pool, value = Pool(), make_value(Random(seed), type)
    bits, is_null = pool.encode(value, type)
    assert is_null == (value is None)
    assert -(2**63) <= bits < 2**63
    if not is_null:
        assert exactly(pool.decode(bits, type)) == exactly(value)


@given(SEEDS, st.sampled_from(TYPES))
def test_interned_numbers_are_equal_if_and_only_if_values_are(seed: int, type: DataType) -> None:
    random, pool = Random(seed), Pool()
    values = [make_value(random, type) for _ in range(8)]
    numbers = [pool.intern(value) for value in values]
    for x, m in zip(values, numbers, strict=True):
        for y, n in zip(values, numbers, strict=True):
            assert (m == n) == (group_key(x) == group_key(y))


def test_equal_values_that_print_differently_are_kept_apart() -> None:
    pool, type = Pool(), ArrayType(DOUBLE)
    values: list[Value] = [[0.0], [-0.0], [0], [math.nan]]
    assert len({pool.encode(value, type)[0] for value in values}) == 4
    assert pool.intern([0.0]) == pool.intern([-0.0]) == pool.intern([0])


@given(TEXTS, st.booleans())
def test_arrays_of_strings_get_the_numbers_of_their_strings(
    texts: list[str | None], is_encoded: bool
) -> None:
    pool = Pool()
    pool.intern("b")
    array = pa.array(texts, pa.string())
    numbers = pool.intern_array(array.dictionary_encode() if is_encoded else array)
    assert numbers.dtype == np.int64
    assert len(numbers) == len(texts)
    for text, number in zip(texts, numbers.tolist(), strict=True):
        assert text is None or number == pool.intern(text)


def test_chunks_and_sparse_dictionaries_are_taken_too() -> None:
    pool = Pool()
    chunks = pa.chunked_array([["a", None], ["b", "a"]])
    assert [pool.value(n) for n in pool.intern_array(chunks)[[0, 2, 3]]] == ["a", "b", "a"]
    indices, words = pa.array([2, None, 2], pa.int8()), pa.array(["x", "y", "z"])
    sparse = pa.DictionaryArray.from_arrays(indices, words)
    assert pool.value(int(pool.intern_array(sparse)[0])) == "z"
    assert len(pool.intern_array(pa.array([], pa.string()))) == 0


def test_rows_of_the_memory_are_events_and_lists() -> None:
    events = [Event("A", 0, {}), Event("A", 1, {})]
    rows = EventReader(events.__getitem__, lambda link: events[: link + 1])
    pool = Pool()
    assert pool.decode(1, EventRef("A"), rows) is events[1]
    assert pool.decode(1, ArrayType(EventRef("A")), rows) == events
    bits, _ = pool.encode(events[1], EventRef("A"))
    assert bits < 0
    assert pool.decode(bits, EventRef("A"), rows) is events[1]


@given(SEEDS)
def test_a_saved_pool_goes_on_as_before(seed: int) -> None:
    random, pool = Random(seed), Pool()
    values = [(make_value(random, type), type) for type in TYPES]
    words = [pool.encode(value, type) for value, type in values]
    interned = [pool.intern(value) for value, _ in values]
    loaded = Pool.load(pool.save())
    assert [loaded.intern(value) for value, _ in values] == interned
    assert [loaded.encode(value, type) for value, type in values] == words
    assert len(loaded) == len(pool)


@pytest.mark.parametrize("value", [1e308, -0.0, math.inf, 5e-324])
def test_doubles_are_their_bits(value: float) -> None:
    bits, _ = Pool().encode(value, DOUBLE)
    assert bits == np.float64(value).view(np.int64)
