"""Texts as numbers: whatever is in a column, the result is Arrow's."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.matcher.columns.texts import encoded

# Texts that agree in their beginning, length or end, that end within a word, and that are empty.
_TEXTS = st.one_of(
    st.text("ab\0é", max_size=20),
    st.sampled_from([0, 1, 7, 8, 9, 16, 17, 63, 64, 65]).map(lambda n: "a" * n),
    st.integers(0, 30).map(lambda n: "a" * n + "b" + "a" * (30 - n)),
)


@settings(max_examples=200)
@given(
    names=st.lists(_TEXTS, min_size=1, max_size=80, unique=True),
    numbers=st.lists(st.integers(0, 79), min_size=1, max_size=30),
    begin=st.integers(0, 40),
    end=st.integers(0, 40),
)
def test_texts_are_numbered_as_arrow_does(
    names: list[str], numbers: list[int], begin: int, end: int
) -> None:
    texts = [names[number % len(names)] for number in numbers]
    many = 1 + 1200 // len(texts)
    column = pa.array(texts * many).slice(begin, len(texts) * many - begin - end)
    assert encoded(column).equals(column.dictionary_encode())


@pytest.mark.parametrize(
    "column",
    [
        pa.array([], pa.string()),
        pa.array([""] * 2000),
        pa.array(["A", None] * 1000),
        pa.array(["A", "B"] * 1000, pa.large_string()),
        pa.array([str(number) for number in range(2000)]),
    ],
    ids=["nothing", "empty", "nulls", "large", "many"],
)
def test_an_odd_column_is_numbered_as_arrow_does(column: pa.Array) -> None:  # type: ignore[type-arg]
    assert encoded(column).equals(column.dictionary_encode())
