"""Columns of texts as numbers and the texts they stand for, quickly where a few texts repeat."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cepheid.matcher.vm.memory.layout import NONE
from cepheid.matcher.vm.texts import SLOTS, WORD, number_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

_FEW = 1 << 10  # texts that are not worth it
_MOST_NAMES = 64
_MOST_WORDS = 8  # of a name
_SPARE = WORD * (_MOST_WORDS + 2)  # bytes behind a text that may be looked at
_ENDS = np.array([(1 << 8 * count) - 1 for count in range(WORD + 1)], dtype=np.uint64)


def encoded(array: Any) -> Any:
    """What Arrow's `dictionary_encode` gives; all texts of the dictionary occur."""
    if _can_number(array):
        found = _Names().encode(array)
        if found is not None:
            return found
    return array.dictionary_encode()


def _can_number(array: Any) -> bool:
    if array.type != pa.string() or array.null_count or len(array) < _FEW:
        return False
    _, offsets, data = array.buffers()
    is_aligned = data is not None and data.address % WORD == offsets.address % 4 == 0
    return is_aligned and sys.byteorder == "little"


class _Names:
    """The texts that have been met, in their order, as compiled code compares them."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        # Free slots lead to a row behind those of the names: no text has its length.
        self._slots = np.full(SLOTS + 1, _MOST_NAMES, dtype=np.int64)
        self._lengths = np.full(_MOST_NAMES + 1, NONE, dtype=np.int64)
        self._words = np.zeros((_MOST_NAMES + 1, 0), dtype=np.uint64)
        self._masks = self._words

    def encode(self, array: Any) -> Any:
        """None where there are too many texts, or too long ones."""
        codes = np.empty(len(array), dtype=np.int32)
        for begin, offsets, data in _parts(array):
            part = codes[begin : begin + len(offsets) - 1]
            row = 0
            while (row := self._number(offsets, data, row, part)) != NONE:
                if not self._add(array[begin + row].as_py()):
                    return None
        indices: Any = pa.array(codes)
        texts = pa.array(self._texts, pa.string())
        return pa.DictionaryArray.from_arrays(indices, texts, safe=False)

    def _number(self, offsets: Any, data: Any, first: int, codes: Any) -> int:
        names = self._slots, self._lengths, self._words, self._masks
        return int(number_texts(offsets, data, _ENDS, *names, first, codes))

    def _add(self, text: str) -> bool:
        """Whether the text that was met last can have a number."""
        code, slot, raw = len(self._texts), self._slots[SLOTS], text.encode()
        if code == _MOST_NAMES or len(raw) > WORD * _MOST_WORDS or self._slots[slot] < code:
            return False
        self._texts.append(text)
        self._slots[slot], self._lengths[code] = code, len(raw)
        width = max(self._words.shape[1], -(-len(raw) // WORD))
        self._words, self._masks = _wider(self._words, width), _wider(self._masks, width)
        self._words[code] = _as_words(raw, width)
        self._masks[code] = _as_words(b"\xff" * len(raw), width)
        return True


def _wider(rows: Any, width: int) -> Any:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))


def _as_words(raw: bytes, width: int) -> Any:
    return np.frombuffer(raw.ljust(WORD * width, b"\0"), dtype=np.uint64)


def _parts(array: Any) -> Iterator[tuple[int, Any, Any]]:
    """Where some of the texts begin, their offsets, and the words that these lead into.

    The last texts lie in a copy, behind which there is room.
    """
    _, places, data = array.buffers()
    offsets = np.frombuffer(places, dtype=np.int32)[array.offset : array.offset + len(array) + 1]
    words = np.frombuffer(data, dtype=np.uint64, count=data.size // WORD)
    end = np.int32(max(words.nbytes - _SPARE, 0))  # of another type, it would make offsets so
    count = int(np.searchsorted(offsets, end, side="right")) - 1
    count = max(count, 0)
    yield 0, offsets[: count + 1], words
    base = int(offsets[count])
    rest = np.frombuffer(data, dtype=np.uint8)[base : int(offsets[-1])].tobytes()
    yield count, offsets[count:] - np.int32(base), _as_words(rest, len(rest) // WORD + _SPARE)
