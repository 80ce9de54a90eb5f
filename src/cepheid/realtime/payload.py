"""What events of a graph carry: arrays of one type and size, whose elements may have names."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cepheid.errors import suggest

_TEXT = re.compile(r"([a-z]+\d*)(?:\[(\d{1,12})\])?")
_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
NUMBERS = ("bool", *_INTEGERS, "float32", "float64", "complex64", "complex128")
OBJECT = "object"  # of events that statements derive, where not all attributes are numbers
LARGEST = 1 << 24  # elements: more than a picture has, and little enough for memory


@dataclass(frozen=True, slots=True)
class Payload:
    dtype: str  # as NumPy calls it
    size: int = 1
    fields: tuple[str, ...] = ()  # names of the elements

    def __str__(self) -> str:
        return self.dtype if self.size == 1 else f"{self.dtype}[{self.size}]"

    @property
    def is_real(self) -> bool:
        return self.is_number and not self.dtype.startswith("complex")

    @property
    def is_number(self) -> bool:
        return self.dtype in NUMBERS

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes of such events for statements, each with its type; none that these lack."""
        if not self.is_real:
            return {}
        element = _ELEMENTS[self.dtype]
        if self.fields:
            return dict.fromkeys(self.fields, element)
        return {"value": element} if self.size == 1 else {"values": f"{element}[]"}


_ELEMENTS = {"bool": "boolean", "float32": "float", "float64": "double"} | {
    name: "long" if name in ("uint32", "int64", "uint64") else "int" for name in _INTEGERS
}
SCALAR = Payload("float64")


def payload_of(text: str) -> Payload:
    """`uint8[512]`, or `float64` for one number; ValueError with what is wrong."""
    found = _TEXT.fullmatch(text.replace(" ", ""))
    if found is None:
        raise ValueError(f"'{text}' is no type of a payload, as 'uint8[512]' is")
    dtype, size = found[1], int(found[2] or 1)
    if dtype not in NUMBERS:
        raise ValueError(f"'{dtype}' is no type of numbers; {suggest(dtype, NUMBERS, 'types')}")
    if not 1 <= size <= LARGEST:
        raise ValueError(f"a payload has 1 to {LARGEST} elements")
    return Payload(dtype, size)
