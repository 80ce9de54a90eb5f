"""The memory of the machine as people read it: the words of every row under their names.

Words that say nothing are left out: no row, no code, no timer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cepheid.matcher.machine.saved_state import in_use
from cepheid.matcher.vm.memory.access import Memory, rows_of
from cepheid.matcher.vm.memory.declared import Declared
from cepheid.matcher.vm.memory.layout import CAPACITY, NONE, TABLE, USED, WIDTH, Head, Region
from cepheid.matcher.vm.memory.tables import (
    FREE_LISTS,
    NAMES,
    NEVER,
    OWN_WORDS,
    ROWS,
    START,
    LiveRow,
    NodeKind,
    NodeRow,
)

_SAYS_NOTHING = (NONE, NEVER, START)
Word = int | str


@dataclass(frozen=True, slots=True)
class DumpedTable:
    name: str
    width: int
    used: int
    capacity: int
    rows: Mapping[int, Mapping[str, Word]]  # by their numbers; only what is there


def dump_head(memory: Memory) -> dict[str, int]:
    """The single words."""
    return {word.name: int(memory[word]) for word in Head if memory[word] not in _SAYS_NOTHING}


def dump_tables(memory: Memory) -> Iterator[DumpedTable]:
    """The tables that are in use, in the order in which they lie there."""
    for region in Region:
        entry = TABLE + 4 * region
        used = int(memory[entry + USED])
        if used:
            rows = {number: words for number, words in _rows(memory, region) if words}
            sizes = int(memory[entry + WIDTH]), used, int(memory[entry + CAPACITY])
            yield DumpedTable(region.name, *sizes, rows)


def _rows(memory: Memory, region: Region) -> Iterator[tuple[int, dict[str, Word]]]:
    declared = ROWS.get(region)
    named = {} if declared is None else NAMES.get(declared, {})
    table = rows_of(memory, region)
    free = set(_free_rows(memory, region))
    for number in np.flatnonzero(in_use(region, table)).tolist():
        if number in free:
            continue
        row = table[number].tolist()
        names = _names(declared, memory, row)
        words: dict[str, Word] = {}
        for place, word in enumerate(row):
            if word not in _SAYS_NOTHING:
                shown = named[place](word).name if place in named else word
                words[names.get(place, str(place))] = shown
        yield number, words


def _free_rows(memory: Memory, region: Region) -> Iterator[int]:
    """Rows that were given back: each begins with the number of the next."""
    row = int(memory[FREE_LISTS + 2 * region])
    while row != NONE:
        yield row
        row = int(rows_of(memory, region)[row, 0])


def _names(declared: type[Declared] | None, memory: Memory, row: list[int]) -> dict[int, str]:
    """What the words of a row are called; those of a tail have no names."""
    names = {int(word): word.name for word in declared or () if word.name != "WIDTH"}
    if declared is LiveRow:
        node = rows_of(memory, Region.NODE)[row[LiveRow.NODE]]
        own = OWN_WORDS.get(NodeKind(int(node[NodeRow.KIND])), ())
        names.update({int(word): word.name for word in own})
    return names
