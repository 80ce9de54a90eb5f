"""The order of events in a table: by time, and among those of one time by other columns.

Columns are compared as Spark compares them: null before everything else, NaN after it, texts by
their bytes. So a stream orders events as a batch does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers: TypeAlias = npt.NDArray[np.int64]
NULL = np.iinfo(np.int64).min


def sorted_events(events: pa.Table, sort_keys: Sequence[str]) -> pa.Table:
    """The events by '@time' and then by the columns of `sort_keys`, as one chunk."""
    events = events.combine_chunks()
    times: Numbers = events["@time"].to_numpy()
    is_sorted = bool((times[1:] >= times[:-1]).all())
    order: Numbers = np.arange(len(times)) if is_sorted else np.argsort(times, kind="stable")
    in_time = times[order]
    if sort_keys and (in_time[1:] == in_time[:-1]).any():
        order = _by_sort_keys(
            in_time, [ranks(events[name].combine_chunks()) for name in sort_keys], order
        )
    elif is_sorted:
        return events
    return events.take(order).combine_chunks()


def _by_sort_keys(times: Numbers, found: Sequence[Numbers], order: Numbers) -> Numbers:
    """Rows, whose times are in order, in the order of their ranks as well."""
    from cepheid.matcher.vm.lanes.sort_ties import (
        sort_ties,  # compiled code, which takes time to load
    )

    by_ties = order.copy()
    if sort_ties(times, np.stack(found), by_ties):
        return by_ties
    return order[np.lexsort([*(rank[order] for rank in reversed(found)), times])]


def ranks(column: Any) -> Numbers:
    """Numbers in the order of a column's values."""
    is_ = pa.types
    if is_.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_.is_integer(column.type) or is_.is_boolean(column.type):
        return _filled(column.cast(pa.int64()))
    if is_.is_floating(column.type):
        return np.where(column.is_null().to_numpy(zero_copy_only=False), NULL, _float_ranks(column))
    return _ranks_of_values(column)


def _filled(column: Any) -> Numbers:
    numbers: Numbers = column.fill_null(int(NULL)).to_numpy(zero_copy_only=False)
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
    return np.where(codes < 0, NULL, np.append(ranks, NULL)[codes])


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
