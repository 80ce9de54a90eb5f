"""Events that travel in packs come out in order, each in its bucket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.core.time import Instant
from cepheid.engines.spark.batch.external_sort import ExternalSort
from cepheid.engines.spark.batch.shuffle import Packer, buckets_in, pack
from cepheid.engines.spark.codec.sort_keys import sorted_events
from cepheid.engines.spark.shuffle.partition_labels import labels_for

TIES = ("text", "number")
ROWS = st.tuples(st.integers(0, 9), st.sampled_from([None, "b", "a"]), st.integers(0, 3))


def events(rows: Sequence[tuple[int, str | None, int]]) -> pa.Table:
    columns: dict[str, Any] = {
        "@time": pa.array([time for time, _, _ in rows], pa.int64()),
        "text": pa.array([text for _, text, _ in rows], pa.string()),
        "number": pa.array([number for _, _, number in rows], pa.int64()),
    }
    return pa.table(columns)


def in_turn(packs: Iterable[pa.Table]) -> list[tuple[Instant, pa.Table]]:
    """Packs as Spark hands them over."""
    firsts: list[tuple[int, pa.Table]] = [(int(p["@time"].to_numpy().min()), p) for p in packs]
    return sorted(firsts, key=lambda pack: pack[0])


@given(
    st.lists(st.lists(ROWS, min_size=1, max_size=8), min_size=1, max_size=8),
    st.integers(1, 9),
    st.sampled_from([0, 100, 1 << 20]),
    st.integers(1, 3),
)
def test_packs_that_overlap_give_the_order_of_the_whole(
    packs: list[list[tuple[int, str | None, int]]], at_least: int, most_bytes: int, at_hand: int
) -> None:
    merger = ExternalSort(TIES, at_least, most_bytes, at_hand)
    found = pa.concat_tables(merger.merge(in_turn(map(events, packs))))
    whole = sorted_events(events([row for rows in packs for row in rows]), TIES)
    assert found.to_pylist() == whole.to_pylist()


def times(*numbers: int) -> pa.Table:
    return pa.table({"@time": pa.array(numbers, pa.int64())})


def test_events_of_one_time_wait_for_the_next_pack() -> None:
    packs = in_turn([times(1, 2), times(2, 2), times(3), times(3, 4), times(4, 5), times(6)])
    found = [t["@time"].to_pylist() for t in ExternalSort((), at_least=1).merge(packs)]
    assert found == [[1], [2, 2, 2], [3, 3], [4, 4, 5], [6]]


def test_small_packs_go_on_together() -> None:
    packs = in_turn(times(time, time + 1) for time in range(0, 10, 2))
    assert [len(t) for t in ExternalSort((), at_least=4).merge(packs)] == [4, 4, 2]


def test_what_waits_is_looked_at_again_when_there_is_twice_as_much() -> None:
    """All packs overlap: looking at everything with each of them would take for ever."""

    class Counting(ExternalSort):
        looks = 0

        def _before(self, instant: Instant | None) -> Iterator[pa.Table]:
            self.looks += 1
            return ExternalSort._before(self, instant)

    merger = Counting((), at_least=1)
    assert sum(map(len, merger.merge((0, times(0, 100)) for _ in range(1_000)))) == 2_000
    assert merger.looks < 15


def test_little_is_in_memory_where_everything_overlaps() -> None:
    packs = [(0, times(*range(100))) for _ in range(50)]
    tables = ExternalSort((), at_least=1, most_bytes=2_000, rows_at_hand=5).merge(packs)
    sizes = [len(table) for table in tables]
    assert sum(sizes) == 5_000
    assert max(sizes) < 1_000


@pytest.mark.parametrize("rows", [1, 7, 50_000])
def test_packs_hold_all_events_of_their_buckets(rows: int) -> None:
    numbers = np.arange(rows) * 7 % 5
    columns: dict[str, Any] = {
        "@time": pa.array(np.arange(rows)[::-1].copy()),
        "text": pa.array([None if n % 3 == 0 else "x" * (n % 11) for n in range(rows)]),
        "list": pa.array([[n, None] for n in range(rows)], pa.list_(pa.int32())),
        "bucket": pa.array(numbers, pa.int32()),
    }
    table = pa.table(columns)
    packer = Packer(labels_for(6, 3))
    packs = pa.Table.from_batches(list(pack(packer, table.to_batches(10_000))))
    packs = packs.sort_by([("bucket", "ascending"), ("first", "ascending")])
    assert max(len(packed.as_py()) for packed in packs["pack"]) < 1 << 16
    found = [pa.concat_tables(p for _, p in packs) for packs in buckets_in(packs.to_batches())]
    expected = [table.filter(pa.array(numbers == n)).drop_columns("bucket") for n in set(numbers)]
    assert sorted(map(_comparable, found)) == sorted(map(_comparable, expected))


def test_a_pack_says_the_smallest_of_its_times_whatever_their_order() -> None:
    columns: dict[str, Any] = {
        "@time": pa.array([9, 4, 5, 3], pa.int64()),
        "bucket": pa.array([0, 1, 0, 1], pa.int32()),
    }
    packs = pack(Packer(labels_for(2, 1)), pa.table(columns).to_batches())
    found = [
        (first, packed["@time"].to_pylist())
        for bucket in buckets_in(packs)
        for first, packed in bucket
    ]
    assert found == [(5, [9, 5]), (3, [4, 3])]


def _comparable(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))
