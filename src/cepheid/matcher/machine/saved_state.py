"""The memory of the machine as bytes, and back.

Written are the single words, and of each table the rows in use with their numbers; what the program
gives anew is left out.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from types import ModuleType

import numpy as np

from cepheid.matcher.columns.interning import Pool
from cepheid.matcher.compiling import lowering
from cepheid.matcher.compiling.machine_program import MachineProgram
from cepheid.matcher.machine.python_calls import forget
from cepheid.matcher.vm.memory import free_lists, layout, tables
from cepheid.matcher.vm.memory.access import (
    Memory,
    Words,
    collect,
    lay_out,
    rehash,
    rows_of,
    with_room,
)
from cepheid.matcher.vm.memory.declared import Declared
from cepheid.matcher.vm.memory.free_lists import BINDING, EVENT, FREED, LINK
from cepheid.matcher.vm.memory.layout import (
    NONE,
    REGIONS,
    TABLE,
    USED,
    WIDTH,
    EventRow,
    Head,
    Region,
)
from cepheid.matcher.vm.memory.tables import (
    FREE_LISTS,
    CellRow,
    EntryRow,
    GroupRow,
    ItemRow,
    KeyRow,
    LiveRow,
    OutputRow,
)
from cepheid.program.normal import digest as rewrites_digest
from cepheid.program.seal import Seal, forged

# Tables that the program gives anew, or that mean nothing between two calls.
_LEFT_OUT = {
    *(int(r) for r in (Region.CODE, Region.ASKED, Region.ANSWER, Region.STACK, Region.MEMO)),
    *(
        Region.STATEMENT,
        Region.CONSUMER,
        Region.TYPE,
        Region.LIST,
        Region.TIMED,
        Region.INPUT,
        Region.STEP,
        Region.ROW,
        Region.BUCKET,
    ),
}


def save(memory: Memory, pool: Pool, form: MachineProgram) -> bytes:
    """The state between two calls."""
    clean(memory, pool, form)
    parts = [memory[:TABLE], *_tables(memory)]
    words = np.concatenate(parts)
    pooled = pool.save()
    payload = zlib.compress(
        len(pooled).to_bytes(8, "little") + pooled + words.astype("<i8").tobytes(), 1
    )
    return _seal(form).close(payload)


def clean(memory: Memory, pool: Pool, form: MachineProgram) -> None:
    """Between two calls: gives back all rows and values that nothing refers to."""
    collect(memory)
    forget(memory)  # answers may have numbers of the pool
    pool.keep(np.append(np.arange(form.constants), _pooled(memory)))


def _pooled(memory: Memory) -> Words:
    """Numbers of the pool that the memory may hold, in every word that can hold a value.

    Some of these words are other numbers, and keep a value that nobody needs: never more of them
    than there are words.
    """
    slots = int(memory[Head.SLOTS])
    events = rows_of(memory, EVENT)
    words = [
        events[in_use(EVENT, events) != 0, slots:],
        rows_of(memory, Region.TABLE_ENTRY)[:, EntryRow.KEYS :],
        rows_of(memory, Region.CELL)[:, CellRow.VALUE],
        rows_of(memory, Region.GROUP)[:, GroupRow.STATE :],
        rows_of(memory, Region.ITEM)[:, ItemRow.ARGUMENTS :],
        rows_of(memory, Region.OUTPUT)[:, OutputRow.ORDER :],
    ]
    values = np.unique(np.concatenate([table.ravel() for table in words]))
    return np.append(values, ~values)


def _seal(form: MachineProgram) -> Seal:
    return Seal("matcher", format_of(tables, layout, free_lists), form.program)


def format_of(*modules: ModuleType) -> str:
    """Names all that the words of a state depend on: state of another form must never be misread.

    That is where everything lies, what the program was rewritten to, and how that was lowered.
    """
    return _format(modules, rewrites_digest(), lowering.LOWERING_VERSION)


@cache
def _format(modules: tuple[ModuleType, ...], *versions: object) -> str:
    declared = {
        f"{module.__name__}.{name}": _numbers(value)
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, int) or (isinstance(value, type) and issubclass(value, Declared))
    }
    return sha256(repr((versions, sorted(declared.items()))).encode()).hexdigest()


def _numbers(declared: int | type[Declared]) -> dict[str, int] | int:
    """A constant, or the names of a declaration and what they stand for."""
    if isinstance(declared, int):
        return int(declared)
    return {name: int(member) for name, member in declared.__members__.items()}


def load(state: bytes, form: MachineProgram) -> tuple[Memory, Pool]:
    """What `save` wrote; RunError where the bytes are damaged, or another program's."""
    payload = _seal(form).open(state)
    with forged():
        content = zlib.decompress(payload)
        size = int.from_bytes(content[:8], "little")
        words = np.frombuffer(content[8 + size :], dtype="<i8").astype(np.int64)
        return _restored(words, form), Pool.load(content[8 : 8 + size])


def _tables(memory: Memory) -> Iterator[Words]:
    """For each table: its number, its rows, how many of them are written, which, and the rows."""
    for region in range(REGIONS):
        used = int(memory[TABLE + 4 * region + USED])
        if region in _LEFT_OUT or not used:
            continue
        rows = rows_of(memory, region)
        numbers = np.flatnonzero(in_use(region, rows)).astype(np.int64)
        pool = memory[FREE_LISTS + 2 * region : FREE_LISTS + 2 * region + 2]
        yield np.array([region, used, len(numbers), rows.shape[1]], dtype=np.int64)
        yield pool if region not in _FLAGS else np.array([NONE, 0], dtype=np.int64)
        yield numbers
        yield rows[numbers].ravel()


# Where a row of a table says whether it is in use, and what it says if it is not.
_FLAGS = {
    EVENT: (int(EventRow.MARK), FREED),
    LINK: (3, FREED),
    Region.KEY: (KeyRow.MARK, FREED),
    BINDING: (-1, FREED),
    Region.LIVE: (LiveRow.ALIVE, 0),
    Region.TABLE_ENTRY: (EntryRow.COUNT, FREED),
}


def in_use(region: int, rows: Words) -> Words:
    """Which rows of a table are in use, as far as the rows themselves tell."""
    if region not in _FLAGS:
        return np.ones(len(rows), dtype=np.int64)
    place, free = _FLAGS[region]
    found: Words = rows[:, place] != free
    return found


def _restored(words: Words, form: MachineProgram) -> Memory:
    is_keyed = bool(words[Head.KEYED])
    memory = lay_out(form, keyed=is_keyed)
    tables: dict[int, tuple[int, Words, Words, Words]] = {}
    place = TABLE
    while place < len(words):
        region, used, count, width = (int(word) for word in words[place : place + 4])
        pool = words[place + 4 : place + 6]
        numbers = words[place + 6 : place + 6 + count]
        place += 6 + count
        tables[region] = used, pool, numbers, words[place : place + count * width]
        place += count * width
    needed = {r: used - int(memory[TABLE + 4 * r + USED]) for r, (used, *_) in tables.items()}
    buckets = int(words[Head.BUCKETS])
    memory = with_room(memory, {**needed, Region.BUCKET: buckets})
    memory[:TABLE] = words[:TABLE]
    memory[Head.DEAD] = NONE  # those to be given back are not alive, and so among the free ones
    memory[TABLE + 4 * Region.BUCKET + USED] = buckets
    for region, (used, pool, numbers, rows) in tables.items():
        _restore(memory, region, used, pool, numbers, rows)
    rehash(memory)
    return memory


def _restore(
    memory: Memory, region: int, used: int, pool: Words, numbers: Words, rows: Words
) -> None:
    memory[TABLE + 4 * region + USED] = used
    memory[FREE_LISTS + 2 * region : FREE_LISTS + 2 * region + 2] = pool
    table = rows_of(memory, region)
    table[numbers] = rows.reshape(len(numbers), int(memory[TABLE + 4 * region + WIDTH]))
    if region not in _FLAGS:
        return
    free = np.setdiff1d(np.arange(used), numbers)
    flag, value = _FLAGS[region]
    table[free, flag] = value
    table[free, 0] = np.append(free[1:], NONE)
    if len(free):
        memory[FREE_LISTS + 2 * region : FREE_LISTS + 2 * region + 2] = (free[0], len(free))
