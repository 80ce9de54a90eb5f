"""The memory as Python sees it: laid out, grown, filled with events, read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import types

from cepheid.matcher.compiling.machine_program import MachineProgram
from cepheid.matcher.machine.python_calls import MEMO_WIDTH
from cepheid.matcher.vm.jit import COLUMN, TRUTHS, WORDS, entry, words_of
from cepheid.matcher.vm.machine import first_due
from cepheid.matcher.vm.memory.free_lists import (
    BINDING,
    EVENT,
    FREED,
    GROWING,
    LINK,
    RESERVE,
    chain_entry,
    has_room,
    push,
    take_collected,
)
from cepheid.matcher.vm.memory.garbage import collect as collect_rows
from cepheid.matcher.vm.memory.layout import (
    BEGIN,
    CAPACITY,
    NONE,
    REGIONS,
    TABLE,
    USED,
    WIDTH,
    EventRow,
    Head,
    Region,
    at,
)
from cepheid.matcher.vm.memory.tables import (
    FREE_LISTS,
    MEMORY_HEAD,
    NEVER,
    STATE_WIDTH,
    STEP_WIDTH,
    CellRow,
    EntryRow,
    GroupRow,
    ItemRow,
    KeyRow,
    LiveRow,
    OutputRow,
    ResultRow,
    RunningRow,
    StepKind,
    TruthRow,
    WindowRow,
)
from cepheid.matcher.vm.rows.sort_keys import key_from_outside, key_length, write_key

Memory: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.int64]

_FEW = 1024


def lay_out(form: MachineProgram, *, keyed: bool) -> Memory:
    """A memory in which nothing has happened yet."""
    nulls = (len(form.slots) + 63) // 64
    first_slot = int(EventRow.NULLS) + nulls
    tables = {region: np.array(rows, dtype=np.int64) for region, rows in form.tables.items()}
    tables[int(Region.CODE)] = np.array(form.code, dtype=np.int64).reshape(-1, 1)
    statements = len(form.statements)
    sizes = {  # width, capacity
        EVENT: (first_slot + len(form.slots), 4 * _FEW),
        BINDING: (form.most_tags + 1, 4 * _FEW),
        LINK: (4, _FEW),
        int(Region.ASKED): (2, _FEW),
        int(Region.ANSWER): (2, _FEW),
        int(Region.STACK): (2, form.depth + 2),
        int(Region.MEMO): (MEMO_WIDTH, _FEW),
        Region.LIVE: (LiveRow.WIDTH, 4 * _FEW),
        Region.TRUTH: (TruthRow.WIDTH, _FEW),
        Region.STEP: (STEP_WIDTH, 4 * _FEW),
        Region.INPUT: (1, _FEW),
        Region.QUEUE: (2, _FEW),
        Region.ROW: (ResultRow.WIDTH, 4 * _FEW),
        Region.TABLE_ENTRY: (EntryRow.KEYS + form.most_keys, _FEW),
        Region.BUCKET: (1, _FEW),
        Region.CAUSES: (1, _FEW),
        Region.KEY: (KeyRow.WIDTH, 4 * _FEW),
        Region.LISTS: (1, max(1, sum(map(len, form.tables.values())))),
        Region.RUNNING: (RunningRow.WIDTH, statements + _FEW),
        Region.SCRATCH: (1, form.most_keys + 2),
        Region.ITEM: (ItemRow.ARGUMENTS + form.most_aggregates, _FEW),
        Region.GROUP: (GroupRow.STATE + STATE_WIDTH * form.most_aggregates, _FEW),
        Region.CELL: (CellRow.WIDTH, _FEW),
        Region.OUTPUT: (OutputRow.ORDER + 2 * form.most_ordered, _FEW),
        Region.RESULT: (2, form.most_aggregates + 1),
        Region.ARGUMENT: (1, form.most_aggregates + 1),
        Region.ORDERED: (2, form.most_ordered + 1),
    }
    memory = np.zeros(MEMORY_HEAD, dtype=np.int64)
    for region in range(REGIONS):
        memory[FREE_LISTS + 2 * region] = NONE
        width, capacity = sizes.get(region, (1, 0))
        if region in tables and tables[region].size:
            capacity, width = tables[region].shape
        memory[TABLE + 4 * region : TABLE + 4 * region + 4] = (0, width, capacity, 0)
    memory = _placed(memory[:MEMORY_HEAD], memory, is_empty=True)
    for region, rows in tables.items():
        begin = memory[TABLE + 4 * region]
        memory[begin : begin + rows.size] = rows.ravel()
        memory[TABLE + 4 * region + USED] = len(rows)
    for name, value in {
        Head.NEXT_DUE: NEVER,
        Head.UNTIL: NEVER,
        Head.DEAD: NONE,
        Head.TIMER: NONE,
        Head.BASE_KEY: NONE,
        Head.LIMIT: 4096,
        Head.BUCKETS: _FEW,
        Head.SLOTS: first_slot,
        Head.KEYED: int(keyed),
    }.items():
        memory[name] = value
    buckets = memory[TABLE + 4 * Region.BUCKET]
    memory[buckets : buckets + _FEW] = NONE
    memory[TABLE + 4 * Region.BUCKET + USED] = _FEW
    for statement in range(statements):
        place = memory[TABLE + 4 * Region.RUNNING] + statement * RunningRow.WIDTH
        memory[place : place + RunningRow.WIDTH] = NONE
        memory[place + RunningRow.STATEMENT] = statement
    memory[TABLE + 4 * Region.RUNNING + USED] = statements
    return memory


def _placed(memory: Memory, head: Memory, *, is_empty: bool = False) -> Memory:
    """A memory with room for what a head asks for, and the content of another one."""
    table = head[TABLE : TABLE + 4 * REGIONS].reshape(REGIONS, 4).copy()
    size = MEMORY_HEAD
    for entry_ in table:
        entry_[BEGIN] = size
        size += int(entry_[WIDTH] * entry_[CAPACITY])
    grown = np.zeros(size, dtype=np.int64)
    grown[:MEMORY_HEAD] = memory[:MEMORY_HEAD]
    for region in () if is_empty else range(REGIONS):
        begin, width, capacity, _ = memory[TABLE + 4 * region : TABLE + 4 * region + 4]
        words = int(width * capacity)
        grown[table[region, BEGIN] : table[region, BEGIN] + words] = memory[begin : begin + words]
    grown[TABLE : TABLE + 4 * REGIONS] = table.ravel()
    grown[Head.ROOM] = 0
    return grown


def free_rows(memory: Memory, region: int) -> int:
    entry_ = TABLE + 4 * region
    return int(
        memory[entry_ + CAPACITY] - memory[entry_ + USED] + memory[FREE_LISTS + 2 * region + 1]
    )


def with_room(memory: Memory, needed: dict[int, int]) -> Memory:
    """A memory in which tables have so many free rows; the same one if they have."""
    head = memory[:MEMORY_HEAD].copy()
    grows = False
    for region, count in needed.items():
        missing = count - free_rows(memory, region)
        if missing > 0:
            capacity = int(memory[TABLE + 4 * region + CAPACITY])
            head[TABLE + 4 * region + CAPACITY] = capacity + max(missing, capacity)
            grows = True
    return _placed(memory, head) if grows else memory


def with_more(memory: Memory, region: int) -> Memory:
    """A memory with a table twice as large."""
    head = memory[:MEMORY_HEAD].copy()
    head[TABLE + 4 * region + CAPACITY] *= 2
    return _placed(memory, head)


def grown(memory: Memory) -> Memory:
    """A memory in which the next steps can be done."""
    return with_room(memory, dict.fromkeys(GROWING, 4 * RESERVE))


def rehashed(memory: Memory) -> Memory:
    """Four times as many buckets."""
    count = int(memory[Head.BUCKETS]) * 4
    memory = with_room(memory, {Region.BUCKET: count})
    memory[Head.BUCKETS] = count
    memory[TABLE + 4 * Region.BUCKET + USED] = count
    rehash(memory)
    return memory


@entry("void(int64[::1])")
def rehash(array):
    """Puts every entry into its bucket anew."""
    memory = words_of(array)
    buckets = memory[TABLE + 4 * Region.BUCKET + BEGIN]
    for bucket in range(memory[Head.BUCKETS]):
        memory[buckets + bucket] = NONE
    for row in range(memory[TABLE + 4 * Region.TABLE_ENTRY + USED]):
        if memory[at(memory, Region.TABLE_ENTRY, row) + EntryRow.COUNT] != FREED:
            chain_entry(memory, row)


@entry("void(int64[::1])")
def collect(array):
    memory = words_of(array)
    collect_rows(memory)


@entry(types.void(WORDS, COLUMN, COLUMN, COLUMN, COLUMN))
def load_events(array, numbers, instants, sequences, absent):
    """Puts events of types by their numbers into the memory as the next input; their values follow.

    `absent` are the null bits of an event, with those of all slots that get no values.
    """
    memory = words_of(array)
    slots = memory[Head.SLOTS]
    for i in range(len(numbers)):
        row = take_collected(memory, EVENT)
        memory[at(memory, Region.INPUT, i)] = row
        event = at(memory, EVENT, row)
        memory[event + EventRow.TYPE] = numbers[i]
        memory[event + EventRow.INSTANT] = instants[i]
        memory[event + EventRow.SEQUENCE] = sequences[i]
        memory[event + EventRow.KEY] = NONE
        memory[event + EventRow.MARK] = 0
        for word in range(EventRow.NULLS, slots):
            memory[event + word] = absent[word - EventRow.NULLS]
    memory[Head.CURSOR] = 0
    memory[Head.GIVEN] = len(numbers)
    memory[TABLE + 4 * Region.INPUT + USED] = len(numbers)
    memory[Head.ROOM] = 0  # the events have taken some


# The words of an event that Python writes: type, instant, sequence, null bits, slots.
RECORD_HEAD = 3


@entry("boolean(int64[::1], int64[::1], int64)")
def load_records(array, records, count):
    """Puts events into the memory and asks for them to be taken; False: there is no room yet."""
    memory = words_of(array)
    entry_ = TABLE + 4 * EVENT
    if (
        memory[TABLE + 4 * Region.INPUT + CAPACITY] < count
        or memory[entry_ + CAPACITY] - memory[entry_ + USED] + memory[FREE_LISTS + 2 * EVENT + 1]
        < count + RESERVE
        or not has_room(memory)
    ):
        return False
    words = memory[entry_ + WIDTH] - EventRow.NULLS
    place = 0
    for i in range(count):
        row = take_collected(memory, EVENT)
        memory[at(memory, Region.INPUT, i)] = row
        event = at(memory, EVENT, row)
        memory[event + EventRow.TYPE] = records[place]
        memory[event + EventRow.INSTANT] = records[place + 1]
        memory[event + EventRow.SEQUENCE] = records[place + 2]
        memory[event + EventRow.KEY] = NONE
        memory[event + EventRow.MARK] = 0
        for word in range(words):
            memory[event + EventRow.NULLS + word] = records[place + RECORD_HEAD + word]
        place += RECORD_HEAD + words
    memory[Head.CURSOR] = 0
    memory[Head.GIVEN] = count
    memory[TABLE + 4 * Region.INPUT + USED] = count
    memory[Head.ROOM] = 0  # the events have taken some
    push(memory, StepKind.TAKE, 0, 0, 0, 0)
    return True


def absent_bits(words: int, slots: Iterable[int]) -> Words:
    """Null bits in so many words: those of all slots but these."""
    bits = np.full(words, -1, dtype=np.int64)
    for slot in slots:
        bits[slot // 64] &= ~(np.int64(1) << np.int64(slot % 64))
    return bits


@entry(types.void(WORDS, types.int64, COLUMN))
def load_values(array, slot, words):
    memory = words_of(array)
    place = memory[Head.SLOTS] + slot
    for i in range(len(words)):
        memory[at(memory, EVENT, memory[at(memory, Region.INPUT, i)]) + place] = words[i]


@entry(types.void(WORDS, types.int64, TRUTHS))
def load_nulls(array, slot, nulls):
    memory = words_of(array)
    word, bit = EventRow.NULLS + slot // 64, 1 << (slot % 64)
    for i in range(len(nulls)):
        if nulls[i]:
            memory[at(memory, EVENT, memory[at(memory, Region.INPUT, i)]) + word] |= bit


@entry(types.void(WORDS, COLUMN, COLUMN))
def load_keys(array, ends, words):
    """The keys of the events of the input; those that have no words get theirs when it is asked for."""
    memory = words_of(array)
    begin = 0
    for i in range(len(ends)):
        if ends[i] > begin:
            event = at(memory, EVENT, memory[at(memory, Region.INPUT, i)])
            memory[event + EventRow.KEY] = key_from_outside(memory, words, begin, ends[i])
            begin = ends[i]
    memory[Head.ROOM] = 0


@entry("int64(int64[::1])")
def next_due(array):
    return first_due(words_of(array))


def rows_of(memory: Memory, region: int) -> Any:
    """The rows in use, as a table that is a view of the memory."""
    begin, width, _, used = memory[TABLE + 4 * region : TABLE + 4 * region + 4]
    return memory[begin : begin + width * used].reshape(used, width)


def largest(memory: Memory) -> int:
    """The statement that keeps the most: partitions, instances, rows of windows, groups."""
    statements = rows_of(memory, Region.RUNNING)[:, RunningRow.STATEMENT]
    live, items, groups = (rows_of(memory, r) for r in (Region.LIVE, Region.ITEM, Region.GROUP))
    windows = rows_of(memory, Region.WINDOW)
    kept = [
        statements,
        statements[live[live[:, LiveRow.ALIVE] == 1, LiveRow.RUNNING]],
        statements[items[items[:, ItemRow.WINDOW] != NONE, ItemRow.RUNNING]],
        windows[groups[groups[:, GroupRow.WINDOW] != NONE, GroupRow.WINDOW], WindowRow.STATEMENT],
    ]
    return int(np.bincount(np.concatenate(kept)).argmax())


@entry("void(int64[::1], int64, int64[::1])")
def row_words(array, word, words):
    """One word of the event of each row."""
    memory = words_of(array)
    for row in range(len(words)):
        event = memory[at(memory, Region.ROW, row) + ResultRow.EVENT]
        words[row] = memory[at(memory, EVENT, event) + word]


@entry("boolean(int64[::1], int64, boolean[::1])")
def row_nulls(array, slot, nulls):
    """Whether an attribute of each row is null; gives whether one is."""
    memory = words_of(array)
    word, bit, found = EventRow.NULLS + slot // 64, slot % 64, False
    for row in range(len(nulls)):
        event = memory[at(memory, Region.ROW, row) + ResultRow.EVENT]
        is_null = (memory[at(memory, EVENT, event) + word] >> bit) & 1 == 1
        nulls[row] = is_null
        found = found or is_null
    return found


# The words of a row that Python reads: statement, kind, length of the key; then key and event.
RESULT_HEAD = 3


@entry(types.int64(WORDS, WORDS))
def take_results(array, words):
    """Takes all rows out of the memory, one behind the other, and gives how many words they need;
    where there is no room for these, the rows stay."""
    memory = words_of(array)
    count, width = memory[TABLE + 4 * Region.ROW + USED], memory[TABLE + 4 * EVENT + WIDTH]
    needed = count * (RESULT_HEAD + width)
    for number in range(count):
        needed += key_length(memory, memory[at(memory, Region.ROW, number) + ResultRow.KEY])
    if needed > len(words):
        return needed
    place = 0
    for number in range(count):
        row = at(memory, Region.ROW, number)
        key = memory[row + ResultRow.KEY]
        words[place] = memory[row + ResultRow.STATEMENT]
        words[place + 1] = memory[row + ResultRow.KIND]
        words[place + 2] = key_length(memory, key)
        place = write_key(memory, key, words, place + RESULT_HEAD)
        event = at(memory, EVENT, memory[row + ResultRow.EVENT])
        for word in range(width):
            words[place + word] = memory[event + word]
        place += width
    memory[TABLE + 4 * Region.ROW + USED] = 0
    return needed


@entry("int64(int64[::1], int64[::1], int64[::1])")
def key_lengths(array, keys, lengths):
    """How many words each key has, and all together."""
    memory = words_of(array)
    total = 0
    for i in range(len(keys)):
        lengths[i] = key_length(memory, keys[i])
        total += lengths[i]
    return total


@entry("void(int64[::1], int64[::1], int64[::1])")
def key_words(array, keys, words):
    memory = words_of(array)
    place = 0
    for i in range(len(keys)):
        place = write_key(memory, keys[i], words, place)
