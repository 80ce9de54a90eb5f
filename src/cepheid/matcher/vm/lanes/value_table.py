"""A hash table of values: where those stand that belong to one of them."""

from __future__ import annotations

from enum import auto

from cepheid.matcher.vm.jit import inlined
from cepheid.matcher.vm.memory.declared import Declared
from cepheid.matcher.vm.memory.layout import NONE


class ValueEntry(Declared):
    """An entry of the hash table; then lists of those that belong to its value.

    It is filled up to a power of two, so that no entry lies in more lines of the cache than it must.
    """

    IS_USED = auto()  # NONE: it is free
    VALUE = auto()
    LISTS = auto()


@inlined
def entry_in(table, size, entry_bits, value):
    """The entry of a value, or the free one where it belongs, in a table of so many entries."""
    mask = size - 1
    mixed = value * 0x9E3779B97F4A7C1
    place = (mixed ^ (mixed >> 32)) & mask
    while True:
        found = place << entry_bits
        if table[found + ValueEntry.IS_USED] == NONE or table[found + ValueEntry.VALUE] == value:
            return found
        place = (place + 1) & mask


@inlined
def claim(table, entry, value):
    """The value has this entry from now on; whether it is new there."""
    if table[entry + ValueEntry.IS_USED] != NONE:
        return 0
    table[entry + ValueEntry.IS_USED] = 1
    table[entry + ValueEntry.VALUE] = value
    return 1
