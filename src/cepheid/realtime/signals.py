"""What the events of a supplier carry that is connected to nothing: numbers by a rule, the same every time."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from cepheid.realtime.graph import Supplier
from cepheid.realtime.operators.kind import Array

_PIECES = 32  # that the numbers repeat after
_ELEMENTS = 1 << 22  # of all pieces together: large events repeat sooner
_GREATEST = 1_000_000  # of whole numbers


def _noise(positions: Array, seed: int) -> Array:
    import numpy as np

    return np.random.default_rng(seed).random(len(positions))


def _sine(positions: Array, _: int) -> Array:
    import numpy as np

    return (1 + np.sin(positions * 2 * np.pi / 64)) / 2


def _ramp(positions: Array, _: int) -> Array:
    return positions / max(1, len(positions) - 1)


# Numbers from 0 to 1 for the elements of the first events.
SIGNALS: dict[str, Callable[[Array, int], Array]] = {"noise": _noise, "ramp": _ramp, "sine": _sine}


class Signal:
    """The events of a supplier, by their number."""

    def __init__(self, supplier: Supplier) -> None:
        import numpy as np

        payload = supplier.payload
        self._count = min(_PIECES, max(1, _ELEMENTS // payload.size))
        seed = crc32(supplier.name.encode())  # suppliers differ by their names
        numbers = SIGNALS[supplier.signal](np.arange(self._count * payload.size), seed)
        kind = np.dtype(payload.dtype).kind
        if kind in "iu":
            numbers = numbers * min(np.iinfo(payload.dtype).max, _GREATEST)
        elif kind == "b":
            numbers = numbers > 0.5
        self._pieces = numbers.astype(payload.dtype).reshape(self._count, payload.size)
        self._pieces.setflags(write=False)

    def __getitem__(self, number: int) -> Array:
        return self._pieces[number % self._count]
