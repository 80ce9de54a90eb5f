"""Events of one time are put in order, however the batches were cut."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.engines.spark.codec.sort_keys import sorted_events
from cepheid.matcher.vm.lanes.sort_ties import MOST

ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([None, "b", "a"]), st.sampled_from([None, 1, 0])),
    min_size=1,
    max_size=20,
)


@given(ROWS)
def test_events_are_ordered_by_time_and_then_by_other_columns(
    rows: list[tuple[int, str | None, int | None]],
) -> None:
    times, texts, numbers = zip(*rows, strict=True)
    columns: dict[str, Any] = {
        "@time": pa.array(times, pa.int64()),
        "text": pa.array(texts, pa.string()),
        "number": pa.array(numbers, pa.int64()),
    }
    found = sorted_events(pa.table(columns), ("text", "number"))
    keys = [(t, x is not None, x or "", n is not None, n or 0) for t, x, n in _rows(found)]
    assert keys == sorted((t, x is not None, x or "", n is not None, n or 0) for t, x, n in rows)


def _rows(table: pa.Table) -> list[tuple[int, str | None, int | None]]:
    return [(r["@time"], r["text"], r["number"]) for r in table.to_pylist()]


def test_zeros_of_both_signs_and_all_nan_are_alike_and_the_next_column_decides() -> None:
    columns: dict[str, Any] = {
        "@time": pa.array([1] * 6, pa.int64()),
        "number": np.array([0.0, -0.0, 0.0, np.nan, -np.nan, np.nan]),
        "text": ["b", "c", "a", "e", "f", "d"],
    }
    found = sorted_events(pa.table(columns), ("number", "text"))
    assert found["text"].to_pylist() == ["a", "b", "c", "d", "e", "f"]


@pytest.mark.parametrize("alike", [MOST, 100 * MOST])
def test_many_events_of_one_time(alike: int) -> None:
    numbers = list(range(alike))
    random.Random(alike).shuffle(numbers)
    columns: dict[str, Any] = {
        "@time": pa.array([7] * alike + [3], pa.int64()),
        "number": pa.array([*numbers, 0], pa.int64()),
    }
    found = sorted_events(pa.table(columns), ("number",))
    assert found.to_pydict() == {"@time": [3] + [7] * alike, "number": [0, *range(alike)]}
