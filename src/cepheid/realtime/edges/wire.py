"""An event as bytes, the same on all edges: a head of 40 bytes, then the elements of its array.

    4 bytes   "CEPH"
    4 bytes   the type of an element as NumPy writes it, such as "<f8"
    2 bytes   the version of this form, 1
    2 bytes   marks: 1 where the event came too late for its consumer
    4 bytes   how many elements there are
    8 bytes   the number of the event among those of its source
    8 bytes   when its validity begins, in nanoseconds since the epoch
    8 bytes   when it ends, or 0 where the sender does not know

All of them little-endian. Devices may send JSON instead: an object with the attributes by which statements
know such events, which are `value`, or `values` of an array, or the names of its elements. Events that
carry more than numbers leave as JSON, too, in the form in which files hold events.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import Any, NamedTuple

from cepheid.core.event import Event
from cepheid.core.time import SECOND
from cepheid.core.types import ArrayType
from cepheid.core.values import TYPE_NAMES, Coercion, Coercions, NotJson, parse_json
from cepheid.io.encode import encode, to_json
from cepheid.realtime.graph import Time
from cepheid.realtime.machine import Sample
from cepheid.realtime.operators.kind import Array
from cepheid.realtime.payload import NUMBERS, OBJECT, Payload

_MAGIC = b"CEPH"
_VERSION = 1
_LATE = 1
_HEAD = Struct("<4s4sHHIQqq")
HEAD_BYTES = _HEAD.size


class Rejected(ValueError):
    """A message that is no event of a supplier; says why."""


class Head(NamedTuple):
    """What a message says of its event, beside the array."""

    number: int
    begin: Time
    end: Time
    is_late: bool


class Format:
    """How events with a payload are written and read."""

    def __init__(self, payload: Payload) -> None:
        import numpy as np

        self.payload = payload
        self.dtype = np.dtype(payload.dtype).newbyteorder("<")
        self.length = HEAD_BYTES + self.dtype.itemsize * payload.size  # of a message
        self._native = np.dtype(payload.dtype)
        self._type = self.dtype.str.encode().ljust(4, b"\0")
        self._attributes = _attributes(payload)
        self._from_buffer, self._array = np.frombuffer, np.array

    # -- out --

    def encode(self, sample: Sample[Array], *, is_late: bool) -> bytes:
        value = sample.value
        if value.dtype == OBJECT:
            return _json(sample, self.payload.fields)
        raw: bytes = value.astype(self.dtype, copy=False).tobytes()
        return self.head(sample, is_late=is_late) + raw

    def head(self, sample: Sample[Any], *, is_late: bool) -> bytes:
        marks = _LATE if is_late else 0
        return _HEAD.pack(
            *(_MAGIC, self._type, _VERSION, marks, self.payload.size),
            *(sample.number, sample.begin, sample.end),
        )

    # -- in --

    def decode(self, message: bytes | memoryview) -> tuple[Head | None, Array]:
        """The array is a copy. JSON has no head. Rejected where it is no event of the payload."""
        if message[:4] == _MAGIC:
            return self._decode_raw(message)
        text = bytes(message).lstrip()
        if not text.startswith(b"{"):
            raise Rejected("it is neither an event as bytes nor a JSON object")
        return None, self._decode_json(text)

    def _decode_raw(self, message: bytes | memoryview) -> tuple[Head, Array]:
        if len(message) < HEAD_BYTES:
            raise Rejected(f"it ends in its head, after {len(message)} bytes")
        _, type, version, marks, size, number, begin, end = _HEAD.unpack_from(message)
        if version != _VERSION:
            raise Rejected(f"it is of version {version}, not {_VERSION}")
        if type != self._type or size != self.payload.size:
            raise Rejected(f"it carries {_shown(type, size)}, not {self.payload}")
        if len(message) != self.length:
            raise Rejected(f"it has {len(message)} bytes, not the {self.length} of {self.payload}")
        value = self._from_buffer(message, self.dtype, size, HEAD_BYTES).astype(self._native)
        return Head(number, begin, end, bool(marks & _LATE)), value

    def _decode_json(self, text: bytes) -> Array:
        if not self._attributes:
            raise Rejected(f"it is JSON, which has no {self.payload}")
        try:
            given = parse_json(text.decode())
        except NotJson as wrong:
            raise Rejected(f"it is {wrong}") from None
        except UnicodeDecodeError as wrong:
            byte = wrong.object[wrong.start]
            raise Rejected(f"it is not JSON: byte {byte:#04x} is not UTF-8") from None
        except ValueError as wrong:
            raise Rejected(f"it is not JSON: {wrong}") from None
        assert isinstance(given, Mapping)  # as its first character says
        found: list[object] = []
        for name, of in self._attributes.items():
            try:
                value = of(given.get(name))
            except ValueError as wrong:
                raise Rejected(f"'{name}': {wrong}") from None
            found += value if isinstance(value, list) else [value]
            if None in found:
                raise Rejected(f"it lacks '{name}', or a number of it")
        if len(found) != self.payload.size:
            raise Rejected(f"it has {len(found)} elements, not the {self.payload.size} of an event")
        try:
            return self._array(found, self._native)
        except OverflowError:
            raise Rejected(f"not all of its numbers are {self.payload.dtype}") from None


def _attributes(payload: Payload) -> dict[str, Coercion]:
    """What turns attributes of JSON into numbers."""
    of = Coercions({}).of
    return {
        name: of(ArrayType(TYPE_NAMES[type[:-2]]) if type.endswith("[]") else TYPE_NAMES[type])
        for name, type in payload.attributes.items()
    }


def _json(sample: Sample[Array], fields: tuple[str, ...]) -> bytes:
    values = dict(zip(fields, sample.value.tolist(), strict=True))
    instant = sample.begin * SECOND // 1_000_000_000
    return to_json(encode(Event(sample.source, instant, values))).encode()


def _shown(type: bytes, size: int) -> str:
    import numpy as np

    names = {np.dtype(name).newbyteorder("<").str.encode(): name for name in NUMBERS}
    name = names.get(type.rstrip(b"\0"))
    return "elements of an unknown type" if name is None else str(Payload(name, size))
