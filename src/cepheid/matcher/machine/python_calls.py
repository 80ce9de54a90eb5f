"""Python's side of the questions that expressions ask; `evaluate.py` has the other one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cepheid.core.event import Event
from cepheid.matcher.columns.interning import EventReader, Pool, Words
from cepheid.matcher.compiling.bytecode import Site
from cepheid.matcher.vm.expressions.instructions import MOST_LASTING
from cepheid.matcher.vm.memory.layout import BEGIN, CAPACITY, NONE, TABLE, USED, WIDTH, Head, Region

MEMO_WIDTH = 3 + 2 * MOST_LASTING


def answer(
    memory: Words, sites: Sequence[Site], pool: Pool, event_of: Callable[[int], Event]
) -> tuple[int, bool]:
    """The answer to the question in the memory: a word, and whether it is null."""
    site = sites[memory[Head.SITE]]
    asked = _place(memory, Region.ASKED, 0)
    words = memory[asked : asked + 2 * len(site.arguments)].tolist()
    rows = EventReader(event_of, lambda link: [event_of(row) for row in linked(memory, link)])
    arguments = [
        None if is_null else pool.decode(bits, type, rows)
        for bits, is_null, type in zip(words[::2], words[1::2], site.arguments, strict=True)
    ]
    return pool.encode(site.value(arguments), site.type)


def remember(memory: Words, bits: int, *, is_null: bool) -> bool:
    """Writes an answer where the question will find it; false where the table is full.

    A full ANSWER needs more rows; a full MEMO needs twice as many, all cleared (`forget`).
    """
    row = int(memory[Head.MEMO_ROW])
    return _append(memory, bits, is_null) if row == NONE else _keep(memory, row, bits, is_null)


def _append(memory: Words, bits: int, is_null: bool) -> bool:
    row = int(memory[Head.ANSWERS])
    if row == memory[TABLE + 4 * Region.ANSWER + CAPACITY]:
        return False
    place = _place(memory, Region.ANSWER, row)
    memory[place : place + 2] = bits, is_null
    memory[Head.ANSWERS] = row + 1
    return True


def _keep(memory: Words, row: int, bits: int, is_null: bool) -> bool:
    entry = TABLE + 4 * Region.MEMO
    if 2 * memory[entry + USED] >= memory[entry + CAPACITY]:  # looking for a row would take long
        return False
    memory[entry + USED] += 1
    place, asked = _place(memory, Region.MEMO, row), _place(memory, Region.ASKED, 0)
    words = 2 * int(memory[Head.ARGUMENTS])
    memory[place : place + 3] = memory[Head.SITE] + 1, bits, is_null
    memory[place + 3 : place + 3 + words] = memory[asked : asked + words]
    return True


def forget(memory: Words) -> None:
    """Clears MEMO; due when it has grown."""
    entry = TABLE + 4 * Region.MEMO
    begin, size = memory[entry + BEGIN], memory[entry + WIDTH] * memory[entry + CAPACITY]
    memory[begin : begin + size] = 0
    memory[entry + USED] = 0


def linked(memory: Words, link: int) -> list[int]:
    """The rows of the events of a list, the oldest first."""
    place = _place(memory, Region.LINK, link)
    rows = []
    for _ in range(memory[place + 2]):
        rows.append(int(memory[place]))
        place = _place(memory, Region.LINK, int(memory[place + 1]))
    return rows[::-1]


def _place(memory: Words, region: Region, row: int) -> int:
    entry = TABLE + 4 * region
    return int(memory[entry + BEGIN] + row * memory[entry + WIDTH])
