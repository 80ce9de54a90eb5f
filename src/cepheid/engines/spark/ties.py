"""The order of events in a table: by time, and among those of one time by other columns.

Columns are compared as Spark compares them: null before everything else, NaN after it, texts by
their bytes. So a stream orders events as a batch does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers: TypeAlias = npt.NDArray[np.int64]
_NULL = np.iinfo(np.int64).min


def in_order(events: pa.Table, ties: Sequence[str]) -> pa.Table:
    """The events by '@time' and then by the columns of `ties`, as one chunk."""
    times: Numbers = events["@time"].to_numpy()
    is_sorted = bool((times[1:] >= times[:-1]).all())
    order: Numbers = np.arange(len(times)) if is_sorted else np.argsort(times, kind="stable")
    tied = _tied(times[order])
    if tied.any():
        order[tied] = _by_ties(events, times, order[tied], ties)
    elif is_sorted:
        return events.combine_chunks()
    return events.take(order).combine_chunks()


def batches_in_order(
    batches: Iterable[pa.RecordBatch], ties: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Batches that are sorted by '@time', sorted by the columns of `ties` as well.

    Spark sorts by one number several times as fast as by more. Events of the last time of a batch
    wait for the next one, which may have more of them.
    """
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        times: Numbers = batch["@time"].to_numpy()
        cut = int(np.searchsorted(times, times[-1]))
        if cut or (held and held[-1]["@time"][0].as_py() != times[0]):
            yield from _sorted([*held, batch.slice(0, cut)], ties)
            held = []
        held.append(batch.slice(cut))
    if held:
        yield from _sorted(held, ties)


def _sorted(batches: Sequence[pa.RecordBatch], ties: Sequence[str]) -> list[pa.RecordBatch]:
    return in_order(pa.Table.from_batches(batches), ties).to_batches()


def _tied(times: Numbers) -> npt.NDArray[np.bool_]:
    """Which of some sorted times are the same as one beside them."""
    tied = np.zeros(len(times), np.bool_)
    same = times[1:] == times[:-1]
    tied[1:] |= same
    tied[:-1] |= same
    return tied


def _by_ties(events: pa.Table, times: Numbers, places: Numbers, ties: Sequence[str]) -> Numbers:
    rows = events.select(list(ties)).take(places)
    keys = [_ranks(rows[name].combine_chunks()) for name in ties]
    return places[np.lexsort([*reversed(keys), times[places]])]


def _ranks(column: Any) -> Numbers:
    """Numbers in the order of a column's values."""
    is_ = pa.types
    if is_.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_.is_integer(column.type) or is_.is_boolean(column.type):
        return _filled(column.cast(pa.int64()))
    if is_.is_floating(column.type):
        return np.where(
            column.is_null().to_numpy(zero_copy_only=False), _NULL, _float_ranks(column)
        )
    return _ranks_of_values(column)


def _filled(column: Any) -> Numbers:
    numbers: Numbers = column.fill_null(int(_NULL)).to_numpy(zero_copy_only=False)
    return numbers


def _float_ranks(column: Any) -> Numbers:
    """The bits of doubles as numbers; zero has no sign, and all NaN are one."""
    values = column.cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0
    bits = np.where(np.isnan(values), np.nan, values).view(np.int64)
    return np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)


def _ranks_of_values(column: Any) -> Numbers:
    """The places of values among the different ones."""
    if pa.types.is_nested(column.type):
        values = column.to_pylist()
        known = {key: rank for rank, key in enumerate(sorted(set(map(_comparable, values))))}
        return np.array([known[_comparable(value)] for value in values], np.int64)
    encoded = column.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy(zero_copy_only=False)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.where(codes < 0, _NULL, np.append(ranks, _NULL)[codes])


def _comparable(value: object) -> tuple[Any, ...]:
    """A nested value as something that Python compares as Spark does."""
    if value is None:
        return (0,)
    if isinstance(value, dict):
        return (1, *map(_comparable, value.values()))
    if isinstance(value, list):
        return (1, *map(_comparable, value))
    if isinstance(value, float):
        return (2,) if value != value else (1, value)  # noqa: PLR0124 (that is NaN)
    return (1, value.encode() if isinstance(value, str) else value)
