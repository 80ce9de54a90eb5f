"""Linked lists through the rows of tables, written once.

A list is the places of two words, which hold its first and its last row, and the words of a row that
hold its neighbours. `begin` and `width` say where the rows of the table lie.
"""

from __future__ import annotations

from cepheid.matcher.vm.jit import inlined
from cepheid.matcher.vm.memory.layout import NONE


@inlined
def insert(memory, begin, width, before_word, after_word, first, last, row, before, after):
    """Puts a row between two that are neighbours; NONE is what lies beyond either end."""
    place = begin + row * width
    memory[place + before_word] = before
    memory[place + after_word] = after
    if before == NONE:
        memory[first] = row
    else:
        memory[begin + before * width + after_word] = row
    if after == NONE:
        memory[last] = row
    else:
        memory[begin + after * width + before_word] = row


@inlined
def remove(memory, begin, width, before_word, after_word, first, last, row):
    """Takes a row out of its list; it still knows what came before and after it."""
    place = begin + row * width
    before, after = memory[place + before_word], memory[place + after_word]
    if before == NONE:
        memory[first] = after
    else:
        memory[begin + before * width + after_word] = after
    if after == NONE:
        memory[last] = before
    else:
        memory[begin + after * width + before_word] = before


@inlined
def append(memory, begin, width, after_word, first, last, row):
    """Puts a row at the end of a list whose rows know only what comes after them."""
    memory[begin + row * width + after_word] = NONE
    if memory[first] == NONE:
        memory[first] = row
    else:
        memory[begin + memory[last] * width + after_word] = row
    memory[last] = row
