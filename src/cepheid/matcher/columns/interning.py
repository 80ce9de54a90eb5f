"""Values as numbers: what the memory of the machine holds of strings and nested values.

Strings have numbers that are equal if and only if the strings are. Arrays, records and events that
lie in no row are kept apart even where they are equal (`-0.0` and `0.0`), so that they come back as
they were; `intern` gives them, and tuples of them, numbers to group by.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from cepheid.core.event import Event, Value
from cepheid.core.numbers import decimal_of, scaled, unscaled
from cepheid.core.time import to_date, to_datetime, to_day, to_instant
from cepheid.core.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
    EventRef,
    is_counted,
)
from cepheid.expr.jsonvalue import decode_value, encode_value
from cepheid.expr.values import group_key

if TYPE_CHECKING:
    import pyarrow as pa

Words: TypeAlias = NDArray[np.int64]
_INTEGRAL = (INT, LONG)
_REAL = (FLOAT, DOUBLE)
_FEW = 256  # values, all of which are quicker taken than found out


@dataclass(frozen=True, slots=True)
class EventReader:
    """What lies in the memory: the event of a row, and the events of a list."""

    event: Callable[[int], Event]
    events: Callable[[int], list[Event]]


class Pool:
    """All strings and nested values that the memory holds, by their numbers."""

    def __init__(self) -> None:
        self._values: list[Value] = []
        self._numbers: dict[Hashable, int] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._values)

    @property
    def in_use(self) -> int:
        """How many values it holds."""
        return len(self._values) - len(self._free)

    def value(self, number: int) -> Value:
        return self._values[number]

    # -- numbers of values --

    def intern(self, value: Value) -> int:
        """A number that equal values share; which of them it stands for is left open."""
        return self._number(value if isinstance(value, str) else group_key(value), value)

    def _number(self, key: Hashable, value: Value) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._new_number()
            self._values[number] = value
        return number

    def _new_number(self) -> int:
        if self._free:
            return self._free.pop()
        self._values.append(None)
        return len(self._values) - 1

    def keep(self, numbers: Words) -> None:
        """Forgets all but these; what is forgotten gives its number to what comes."""
        kept = set(numbers.tolist())
        dropped = {key: n for key, n in self._numbers.items() if n not in kept}
        for key, number in dropped.items():
            del self._numbers[key]
            self._values[number] = None
            self._free.append(number)

    def intern_array(self, array: pa.Array[Any] | pa.ChunkedArray[Any]) -> Words:
        """The numbers of an Arrow array of strings; those of nulls mean nothing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        encoded: Any = array if pa.types.is_dictionary(array.type) else pc.dictionary_encode(array)
        number = self._number
        texts = encoded.dictionary.to_pylist()
        numbers = np.array([number(text, text) for text in texts] or [0], dtype=np.int64)
        places: Words = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return numbers[places]

    def texts(self, numbers: Words, nulls: NDArray[np.bool_] | None) -> Any:
        """The strings of numbers as an Arrow array."""
        import pyarrow as pa

        if not self._values:
            return pa.nulls(len(numbers), pa.string())
        known = numbers if nulls is None else np.where(nulls, 0, numbers)
        all_ = np.arange(len(self._values)), known
        used, places = all_ if len(self._values) <= _FEW else self._distinct(known)
        values = (self._values[n] for n in used.tolist())
        texts: Any = pa.array([v if isinstance(v, str) else None for v in values], pa.string())
        return texts.take(pa.array(places, mask=nulls))

    def _distinct(self, numbers: Words) -> tuple[Words, Words]:
        """Which numbers there are, and the place of each among them."""
        if len(self._values) > len(numbers):
            return np.unique(numbers, return_inverse=True)
        is_used = np.zeros(len(self._values), dtype=bool)  # marking is quicker than sorting
        is_used[numbers] = True
        return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[numbers]

    def moved(self, numbers: Words, other: Pool) -> Words:
        """The numbers of the same values in another pool."""
        known, places = self._distinct(numbers)
        found: Words = np.array([other.intern(self.value(n)) for n in known.tolist()], np.int64)
        return found[places]

    # -- values in the memory --

    def encode(self, value: Value, type: DataType) -> tuple[int, bool]:
        """The word of a value of a static type, and whether it is null."""
        if value is None:
            return 0, True
        if type == STRING:
            return self.intern(value), False
        if type == BOOLEAN or type in _INTEGRAL:
            return int(cast("int", value)), False
        if type in _REAL:
            return double_bits(cast("float", value)), False
        if is_counted(type):
            return count_of(value, type), False
        return ~self._number(("exactly", _exact_key(value)), value), False

    def decode(self, bits: int, type: DataType, rows: EventReader | None = None) -> Value:
        """The value of a word that is not null."""
        if type == STRING:
            return self._values[bits]
        if type == BOOLEAN:
            return bool(bits)
        if type in _INTEGRAL:
            return int(bits)
        if type in _REAL:
            return bits_double(bits)
        if is_counted(type):
            return counted(bits, type)
        if bits < 0:
            return self._values[~bits]
        assert rows is not None, "only the memory knows its events"
        return rows.event(bits) if isinstance(type, EventRef) else list(rows.events(bits))

    # -- saving --

    def save(self) -> bytes:
        """Everything; what `intern` and `encode` gave numbers to is told apart by a flag."""
        exact = {n for key, n in self._numbers.items() if isinstance(key, tuple) and _is_exact(key)}
        free = set(self._free)
        values = [
            None if n in free else [n in exact, encode_value(value)]
            for n, value in enumerate(self._values)
        ]
        return json.dumps(values, separators=(",", ":")).encode()

    @classmethod
    def load(cls, saved: bytes) -> Pool:
        pool = cls()
        free = []
        for number, saved_value in enumerate(json.loads(saved)):
            if saved_value is None:
                free.append(number)
                pool._values.append(None)
                continue
            is_exact, data = saved_value
            value = decode_value(data)
            if is_exact:
                pool.encode(value, EventRef(""))
            else:
                pool.intern(value)
        pool._free = free
        return pool


def _is_exact(key: tuple[object, ...]) -> bool:
    return key[0] == "exactly"


def _exact_key(value: Value) -> Hashable:
    """Equal for values that no program could tell apart."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, float):
        return ("double", double_bits(value))
    if isinstance(value, list | tuple):
        return ("array", *map(_exact_key, value))
    if isinstance(value, dict):
        return ("record", *((name, _exact_key(item)) for name, item in value.items()))
    if isinstance(value, Event):
        head = (value.type, value.instant, value.sequence, value.is_old, value.is_timeout)
        return ("event", *head, _exact_key(value.values_))
    return value


# -- counted values ----------------------------------------------------------------------------


def count_of(value: Value, type: DataType) -> int:
    """How many microseconds, days or units of its last digit a value is."""
    if isinstance(value, datetime):
        return to_instant(value)
    if isinstance(value, date):
        return to_day(value)
    assert isinstance(value, Decimal), value
    assert isinstance(type, DecimalType), type
    return unscaled(scaled(value, type.scale) or value)


def counted(count: int, type: DataType) -> Value:
    if isinstance(type, DecimalType):
        return decimal_of(count, type.scale)
    return to_datetime(count) if type == TIMESTAMP else to_date(count)


def counts_in(array: Any, type: DataType) -> Words:
    """The counts of an Arrow array of the type; those of nulls are zero."""
    if isinstance(type, DecimalType):
        # Eighteen digits are in the lower of two words.
        words = np.frombuffer(array.buffers()[1], dtype=np.int64)
        lower = words[2 * array.offset : 2 * (array.offset + len(array)) : 2]
        nulls = array.is_null().to_numpy(zero_copy_only=False)
        return np.where(nulls, 0, lower)
    held = array.cast("int64" if type == TIMESTAMP else "int32")
    filled = held.fill_null(0) if held.null_count else held
    return np.require(filled.to_numpy(zero_copy_only=False), np.int64, "C")


def array_of_counts(counts: Words, nulls: NDArray[np.bool_] | None, type: Any) -> Any:
    """An Arrow array of the given type of Arrow."""
    import pyarrow as pa

    if not pa.types.is_decimal(type):
        held: Any = pa.array(
            counts if pa.types.is_timestamp(type) else counts.astype(np.int32), mask=nulls
        )
        return held.cast(type)
    plain: Any = pa.array(counts, mask=nulls)
    words = np.stack((counts, counts >> 63), axis=1)  # the upper word has the sign
    return pa.Array.from_buffers(
        type, len(counts), [plain.buffers()[0], pa.py_buffer(words.tobytes())]
    )


# -- words of several values -------------------------------------------------------------------


def double_bits(value: float) -> int:
    [bits] = struct.unpack("<q", struct.pack("<d", value))
    return int(bits)


def bits_double(bits: int) -> float:
    [value] = struct.unpack("<d", struct.pack("<q", bits))
    return float(value)
