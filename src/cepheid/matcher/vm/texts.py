"""Texts that repeat, as numbers.

Few different texts in a long column, such as names of types, cost most where a processor cannot guess
which one comes next. So nothing here depends on the text: a hash of some of its bytes says which one it
may be, and all of its words are compared with those of that one, however long it is.
"""

from __future__ import annotations

import numpy as np
from numba import types

from cepheid.matcher.vm.jit import entry, inlined, unaligned, words_of
from cepheid.matcher.vm.memory.layout import NONE

SLOTS = 1 << 10
WORD = 8  # bytes
_SHIFT = np.uint64(64 - 10)
_HEAD, _MIDDLE, _LENGTH = (
    np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
)
_ONE, _LAST_BIT = np.uint64(1), np.uint64(63)

_offsets = types.Array(types.int32, 1, "C", readonly=True)
_words = types.Array(types.uint64, 1, "C", readonly=True)
_numbers = types.Array(types.int64, 1, "C")
_signature = types.int64(
    _offsets, _words, _words, _numbers, _numbers, types.Array(types.uint64, 2, "C"),
    types.Array(types.uint64, 2, "C"), types.int64, types.Array(types.int32, 1, "C"),
)  # fmt: skip


@unaligned
def word_at(words, place):
    """The eight bytes from a place on, wherever it is; little-endian, with a word to spare."""
    shift = np.uint64((place & 7) << 3)
    first = words[place >> 3] >> shift
    return first | ((words[(place >> 3) + 1] << _ONE) << (_LAST_BIT - shift))


@inlined
def slot_of(words, begin, length, ends):
    half = length >> 1
    head = word_at(words, begin) & ends[min(length, WORD)]
    middle = word_at(words, begin + half) & ends[min(length - half, WORD)]
    mixed = head * _HEAD + middle * _MIDDLE + np.uint64(length) * _LENGTH
    return (mixed ^ (mixed >> np.uint64(29))) * _HEAD >> _SHIFT


@entry(_signature)
def number_texts(offsets, words, ends, slots, lengths, names, masks, first, codes):
    """Numbers texts from the first one on; gives the place of one that is none of the names.

    `slots[SLOTS]` tells the slot of that one. All names have as many words; `masks` has their bits.
    """
    count, width = len(codes), names.shape[1]
    offsets, words, ends, slots = (
        words_of(offsets),
        words_of(words),
        words_of(ends),
        words_of(slots),
    )
    lengths, names, masks = words_of(lengths), words_of(names), words_of(masks)
    codes = words_of(codes)
    for row in range(first, count):
        begin = np.int64(offsets[row])
        length = np.int64(offsets[row + 1]) - begin
        slot = slot_of(words, begin, length, ends)
        code = slots[slot]
        differs = np.uint64(lengths[code] ^ length)
        for place in range(width):
            found = word_at(words, begin + WORD * place) & masks[code * width + place]
            differs |= found ^ names[code * width + place]
        if differs != 0:
            slots[SLOTS] = slot
            return row
        codes[row] = code
    return NONE
