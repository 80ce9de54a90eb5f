"""Events of one time without a sequence, in rows that go from pass to pass.

Each task puts such events in order by their values, and counts them by itself. What they lead to is put in
order by the same values, which travel with it: in `@ties`, as numbers that compare as the values do. Of
events that agree in all of them, which are in one task, the last number says which came first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.spark.codec.event_layout import KEY, TIES, TIME, TYPE
from cepheid.engines.spark.codec.sort_keys import NULL, Numbers, ranks

TIES_FIELD = pa.field(TIES, pa.list_(pa.int64()))
_CAUSE = 2  # the word of a key that says which event has led to a row
_BYTES, _MORE = 6, 255  # of a text, that a word holds; what stands behind them if there are more


# Where rows are found -------------------------------------------------------------------------


def with_ties(
    rows: pa.Table,
    events: pa.RecordBatch,
    sort_keys: Sequence[str],
    types: Collection[str],
    taken: int,
) -> pa.Table:
    """Rows of some types with the values of the events that led to them, of which `taken` came before."""
    keys: Any = rows[KEY].combine_chunks()
    is_wanted: Any = pc.is_in(rows[TYPE].combine_chunks(), pa.array([*types], pa.string()))
    wanted = np.flatnonzero(is_wanted.to_numpy(zero_copy_only=False))
    begins = keys.offsets.to_numpy()[wanted]
    sequences: Numbers = keys.values.to_numpy()[begins + _CAUSE]
    places: Any = pa.array(sequences - taken)
    lists = [_words(events.column(name).take(places)) for name in sort_keys]
    lists.append(_single(sequences))
    sizes = np.zeros(len(keys), np.int64)
    sizes[wanted] = sum(each.sizes for each in lists)
    ends = np.cumsum([0, *sizes]).astype(np.int32)
    offsets: Any = pa.array(ends)
    words: Any = pa.array(_side_by_side(lists))
    found: Any = pa.ListArray.from_arrays(offsets, words)
    return rows.append_column(TIES_FIELD, found)


def without_ties(rows: pa.Table) -> pa.Table:
    """Rows that no event has led to."""
    return rows.append_column(TIES_FIELD, pa.nulls(len(rows), TIES_FIELD.type))


class _Lists(NamedTuple):
    """Lists of words, one behind the other."""

    words: Numbers
    sizes: Numbers


def _single(words: Numbers) -> _Lists:
    return _Lists(words, np.ones(len(words), np.int64))


def _words(column: Any) -> _Lists:
    """Of each value words that compare as values do, and none of which begins like those of another."""
    if not pa.types.is_string(column.type):
        return _single(ranks(column))
    encoded = column.dictionary_encode()
    texts = [_words_of_text(text) for text in encoded.dictionary.to_pylist()]
    known = [*texts, [int(NULL)]]
    codes = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    sizes = np.array([len(words) for words in known], np.int64)
    begins = np.cumsum(sizes) - sizes
    flat = np.array([word for words in known for word in words], np.int64)
    return _Lists(flat[_spread(begins[codes], sizes[codes])], sizes[codes])


def _words_of_text(text: str) -> list[int]:
    given = text.encode()
    parts = [given[begin : begin + _BYTES] for begin in range(0, len(given), _BYTES)] or [b""]
    words = [int.from_bytes(part.ljust(_BYTES, b"\0")) << 8 | _MORE for part in parts]
    words[-1] += len(parts[-1]) - _MORE
    return words


def _side_by_side(lists: Sequence[_Lists]) -> Numbers:
    """The words of the first of each, then those of the second of each."""
    sizes = np.stack([each.sizes for each in lists], axis=1)
    begins = (np.cumsum(sizes) - sizes.ravel()).reshape(sizes.shape)
    found = np.empty(int(sizes.sum()), np.int64)
    for number, each in enumerate(lists):
        found[_spread(begins[:, number], each.sizes)] = each.words
    return found


def _spread(begins: Numbers, sizes: Numbers) -> Numbers:
    """The places of the words of lists that begin somewhere."""
    ends = np.cumsum(sizes)
    found: Numbers = np.repeat(begins - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
    return found


# Where they are events ------------------------------------------------------------------------


@dataclass(slots=True)
class Causes:
    """Counts the events of the input that led to the rows of a partition, which come in their order."""

    _last: tuple[object, object] | None = None
    _count: int = -1

    def numbered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows whose keys say by that number which event has led to them."""
        keys: Any = batch.column(KEY)
        is_row = keys.is_valid().to_numpy(zero_copy_only=False)  # else it only lets time pass
        words, ends = keys.values.to_numpy().copy(), keys.offsets.to_numpy().copy()
        words[ends[:-1][is_row] + _CAUSE] = np.fromiter(self._numbers(batch), np.int64)[is_row]
        found: Any = pa.ListArray.from_arrays(
            pa.array(ends), pa.array(words), mask=pa.array(~is_row)
        )
        return batch.set_column(batch.schema.get_field_index(KEY), KEY, found)

    def _numbers(self, batch: pa.RecordBatch) -> Iterator[int]:
        times, ties = (batch.column(name).to_pylist() for name in (TIME, TIES))
        for cause in zip(times, ties, strict=True):
            if cause != self._last:
                self._last, self._count = cause, self._count + 1
            yield self._count
