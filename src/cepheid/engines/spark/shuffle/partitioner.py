"""Which bucket an event goes to, where Python decides it: for passes that take what others derive, and for files that
workers read.

Events of the input and derived ones that have the same key must meet, whoever packs them. So both
are split here, in the columns of the operator, and not by a hash of Spark that only the former see.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.spark.plan.passes import Pass
from cepheid.io.arrow import arrow_type
from cepheid.matcher.operator import columns_of

Hashes: TypeAlias = npt.NDArray[np.uint64]
Place: TypeAlias = tuple[str, ...]  # a column, and the members in it


@dataclass(frozen=True, slots=True)
class Partitioner:
    """How the events of a pass are split; those of a type without a key may go anywhere."""

    buckets: int
    key: tuple[tuple[str, tuple[Place, ...]], ...]  # of each type
    types: tuple[str, ...]  # that attributes of a key are cast to, so that equal ones are alike

    def numbers(self, events: pa.Table) -> npt.NDArray[np.int64]:
        """The bucket of each event."""
        hashes = _hashes(events["@time"].combine_chunks())
        for name, places in self.key:
            own = np.flatnonzero(pc.equal(events["@type"], pa.scalar(name)))
            if len(own):
                hashes[own] = self._of_key(events.take(own), places)
        return (hashes % np.uint64(self.buckets)).astype(np.int64)

    def _of_key(self, events: pa.Table, places: tuple[Place, ...]) -> Hashes:
        values = (
            _hashes(_member(events, place).cast(type))
            for place, type in zip(places, self.types, strict=True)
        )
        return reduce(lambda one, other: _mixed(one * _ODD + other), values)


def partitioner_of(one: Pass, buckets: int) -> Partitioner:
    """The split of a pass; a pass in one part has one bucket."""
    if one.key is None:
        return Partitioner(1, (), ())
    names = {(t, c.attribute): c.name for c in columns_of(one.program) for t in c.types}
    key = {
        name: tuple((names[name, first], *rest) for first, *rest in paths)
        for name, paths in one.key.items()
    }
    types = tuple(str(arrow_type(type, one.program.types)) for type in one.key_types)
    return Partitioner(buckets, tuple(key.items()), types)


def _member(events: pa.Table, place: Place) -> Any:
    column, *members = place
    return reduce(pc.struct_field, members, events[column].combine_chunks())


# Hashes ---------------------------------------------------------------------------------------

# Large odd numbers, as hash functions have them.
_ODD = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.array([0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53], np.uint64)


def _hashes(values: Any) -> Hashes:
    """Equal values have equal ones; what is null is as good as zero."""
    if pa.types.is_string(values.type):
        return _mixed(_text_numbers(values))
    if pa.types.is_floating(values.type):
        numbers = (
            values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
        )  # zero has no sign
        return _mixed(np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64))
    if pa.types.is_date(values.type):
        values = values.cast(pa.int32())
    return _mixed(
        values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
    )


def _text_numbers(values: Any) -> Hashes:
    encoded = values.fill_null("").dictionary_encode()
    known = [crc32(text.encode()) for text in encoded.dictionary.to_pylist()]
    numbers: Hashes = np.array(known, np.uint64)[encoded.indices.to_numpy()]
    return numbers


def _mixed(numbers: Hashes) -> Hashes:
    """Numbers whose last bits depend on all bits of the given ones."""
    mixed: Hashes = numbers
    for factor in _FACTORS:
        mixed = (mixed ^ (mixed >> np.uint64(33))) * factor
    return mixed ^ (mixed >> np.uint64(33))
