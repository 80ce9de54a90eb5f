"""Taking and giving back rows, the stack of steps, and the table that finds rows by keys."""

from __future__ import annotations

from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.layout import (
    BEGIN,
    CAPACITY,
    NONE,
    TABLE,
    USED,
    WIDTH,
    Head,
    Region,
    at,
)
from cepheid.matcher.vm.memory.tables import FREE_LISTS, STEP_WIDTH, EntryRow, LiveRow, NodeRow

EVENT, BINDING, LINK = int(Region.EVENT), int(Region.BINDING), int(Region.LINK)
FREED = -2  # the mark of a row that is not in use
RESERVE = 32  # rows of a table that one step may take
# Tables that grow when a step finds no room.
GROWING = (
    EVENT, BINDING, LINK, Region.LIVE, Region.TRUTH, Region.STEP, Region.QUEUE, Region.ROW, Region.TABLE_ENTRY, Region.RUNNING, Region.CAUSES, Region.KEY,
    Region.ITEM, Region.GROUP, Region.CELL, Region.OUTPUT,
)  # fmt: skip


@part
def live_at(memory, row):
    return memory[TABLE + 4 * Region.LIVE + BEGIN] + row * LiveRow.WIDTH


@part
def node_at(memory, row):
    return memory[TABLE + 4 * Region.NODE + BEGIN] + row * NodeRow.WIDTH


@part
def take_row(memory, region):
    """A row of a table, with whatever it held before."""
    pool = FREE_LISTS + 2 * region
    row = memory[pool]
    if row != NONE:
        memory[pool] = memory[at(memory, region, row)]
        memory[pool + 1] -= 1
        return row
    used = TABLE + 4 * region + USED
    row = memory[used]
    memory[used] = row + 1
    return row


@part
def give_back(memory, region, row):
    pool = FREE_LISTS + 2 * region
    memory[at(memory, region, row)] = memory[pool]
    memory[pool] = row
    memory[pool + 1] += 1


@part
def take_collected(memory, region):
    """A row of a table that is cleaned by collecting."""
    memory[Head.FRESH] += 1
    return take_row(memory, region)


@part
def free_rows(memory, region):
    entry = TABLE + 4 * region
    return memory[entry + CAPACITY] - memory[entry + USED] + memory[FREE_LISTS + 2 * region + 1]


@part
def has_room(memory):
    """Whether the next step can be done in the tables as they are."""
    if memory[Head.ROOM] > 0:
        memory[Head.ROOM] -= 1
        return True
    least = free_rows(memory, EVENT)
    for region in GROWING:
        least = min(least, free_rows(memory, region))
    memory[Head.ROOM] = least // RESERVE - 1
    return memory[Head.ROOM] >= 0


@part
def push(memory, step, a, b, c, d):
    """Something to do before everything that waits."""
    entry = TABLE + 4 * Region.STEP
    used = memory[entry + USED]
    place = memory[entry + BEGIN] + used * STEP_WIDTH
    memory[place] = step
    memory[place + 1] = a
    memory[place + 2] = b
    memory[place + 3] = c
    memory[place + 4] = d
    memory[entry + USED] = used + 1


# -- rows by keys ----------------------------------------------------------------------------------
# The words of a key lie in SCRATCH.


@part
def _bucket(memory, owner, group, nulls, keys, count):
    """The bucket of a key whose words lie at a place."""
    mixed = (owner * 31 + group) * 31 + nulls
    for i in range(count):
        mixed = (mixed ^ memory[keys + i]) * 0x9E3779B97F4A7C1
        mixed ^= (mixed >> 29) & 0x7FFFFFFFF
    return mixed & (memory[Head.BUCKETS] - 1)


@part
def find(memory, owner, group, nulls, count):
    """The entry with this key, or NONE."""
    bucket = _bucket(memory, owner, group, nulls, memory[TABLE + 4 * Region.SCRATCH + BEGIN], count)
    row = memory[memory[TABLE + 4 * Region.BUCKET + BEGIN] + bucket]
    scratch = memory[TABLE + 4 * Region.SCRATCH + BEGIN]
    begin = memory[TABLE + 4 * Region.TABLE_ENTRY + BEGIN]
    width = memory[TABLE + 4 * Region.TABLE_ENTRY + WIDTH]
    while row != NONE:
        entry = begin + row * width
        if (
            memory[entry + EntryRow.OWNER] == owner
            and memory[entry + EntryRow.PART] == group
            and memory[entry + EntryRow.NULLS] == nulls
        ):
            same = True
            for i in range(count):
                if memory[entry + EntryRow.KEYS + i] != memory[scratch + i]:
                    same = False
                    break
            if same:
                return row
        row = memory[entry + EntryRow.CHAIN]
    return NONE


@part
def enter(memory, owner, group, nulls, count):
    """A new entry with this key."""
    row = take_row(memory, Region.TABLE_ENTRY)
    memory[Head.ENTRIES] += 1
    entry = at(memory, Region.TABLE_ENTRY, row)
    memory[entry + EntryRow.OWNER] = owner
    memory[entry + EntryRow.PART] = group
    memory[entry + EntryRow.NULLS] = nulls
    memory[entry + EntryRow.COUNT] = count
    memory[entry + EntryRow.FIRST] = NONE
    memory[entry + EntryRow.LAST] = NONE
    scratch = memory[TABLE + 4 * Region.SCRATCH + BEGIN]
    for i in range(count):
        memory[entry + EntryRow.KEYS + i] = memory[scratch + i]
    chain_entry(memory, row)
    return row


@part
def forget(memory, row):
    """Takes an entry out of the table."""
    entry = at(memory, Region.TABLE_ENTRY, row)
    link = memory[TABLE + 4 * Region.BUCKET + BEGIN] + _bucket(
        memory,
        memory[entry + EntryRow.OWNER],
        memory[entry + EntryRow.PART],
        memory[entry + EntryRow.NULLS],
        entry + EntryRow.KEYS,
        memory[entry + EntryRow.COUNT],
    )
    while memory[link] != row:
        link = at(memory, Region.TABLE_ENTRY, memory[link]) + EntryRow.CHAIN
    memory[link] = memory[entry + EntryRow.CHAIN]
    give_back(memory, Region.TABLE_ENTRY, row)
    memory[entry + EntryRow.COUNT] = FREED
    memory[Head.ENTRIES] -= 1


@part
def chain_entry(memory, row):
    """Puts an entry into its bucket."""
    entry = at(memory, Region.TABLE_ENTRY, row)
    bucket = memory[TABLE + 4 * Region.BUCKET + BEGIN] + _bucket(
        memory,
        memory[entry + EntryRow.OWNER],
        memory[entry + EntryRow.PART],
        memory[entry + EntryRow.NULLS],
        entry + EntryRow.KEYS,
        memory[entry + EntryRow.COUNT],
    )
    memory[entry + EntryRow.CHAIN] = memory[bucket]
    memory[bucket] = row
