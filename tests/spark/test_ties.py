"""Events of one time are put in order, however the batches were cut."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.engines.spark.ties import batches_in_order, in_order
from cepheid.matcher.vm.ties import MOST

ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([None, "b", "a"]), st.sampled_from([None, 1, 0])),
    min_size=1,
    max_size=20,
)


@given(ROWS, st.lists(st.integers(0, 20), max_size=6), st.integers(1, 9))
def test_batches_give_the_order_of_the_whole(
    rows: list[tuple[int, str | None, int | None]], cuts: list[int], at_least: int
) -> None:
    times, texts, numbers = zip(*sorted(rows, key=lambda row: row[0]), strict=True)
    columns: dict[str, Any] = {
        "@time": pa.array(times, pa.int64()),
        "text": pa.array(texts, pa.string()),
        "number": pa.array(numbers, pa.int64()),
    }
    table = pa.table(columns)
    places = sorted({0, *(min(cut, len(times)) for cut in cuts), len(times)})
    pieces = [table.slice(a, b - a) for a, b in itertools.pairwise(places)]
    batches = [batch for piece in pieces for batch in piece.to_batches()]
    ordered = batches_in_order(batches, ("text", "number"), at_least)
    found = pa.Table.from_batches(list(ordered))
    assert found.to_pylist() == in_order(table, ("text", "number")).to_pylist()
    keys = [(t, x is not None, x or "", n is not None, n or 0) for t, x, n in _rows(found)]
    assert keys == sorted(keys)


def _rows(table: pa.Table) -> list[tuple[int, str | None, int | None]]:
    return [(r["@time"], r["text"], r["number"]) for r in table.to_pylist()]


def test_events_of_one_time_wait_for_the_next_batch() -> None:
    def batch(*times: int) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"@time": pa.array(times, pa.int64())})

    found = batches_in_order([batch(1, 2), batch(2, 2), batch(2, 3), batch(4, 4)], (), at_least=1)
    assert [len(b) for b in found] == [1, 4, 1, 2]


def test_small_batches_grow() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        for time in range(0, 10, 2):
            yield pa.RecordBatch.from_pydict({"@time": pa.array([time, time + 1], pa.int64())})

    assert [len(b) for b in batches_in_order(batches(), (), at_least=4)] == [5, 4, 1]


@pytest.mark.parametrize("alike", [MOST, 100 * MOST])
def test_many_events_of_one_time(alike: int) -> None:
    numbers = list(range(alike))
    random.Random(alike).shuffle(numbers)
    columns: dict[str, Any] = {
        "@time": pa.array([7] * alike + [3], pa.int64()),
        "number": pa.array([*numbers, 0], pa.int64()),
    }
    found = in_order(pa.table(columns), ("number",))
    assert found.to_pydict() == {"@time": [3] + [7] * alike, "number": [0, *range(alike)]}
