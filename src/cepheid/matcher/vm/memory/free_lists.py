"""Taking and giving back rows, the stack of steps, and the table that finds rows by keys."""

from __future__ import annotations

from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.layout import BEGIN, CAPACITY, NONE, TABLE, USED, WIDTH, Region, at
from cepheid.matcher.vm.memory.tables import (
    BUCKET,
    BUCKETS,
    CAUSES,
    CELL,
    E_CHAIN,
    E_COUNT,
    E_FIRST,
    E_KEYS,
    E_LAST,
    E_NULLS,
    E_OWNER,
    E_PART,
    ENTRIES,
    FRESH,
    GROUP,
    ITEM,
    KEY,
    L_WIDTH,
    LIVE,
    N_WIDTH,
    NODE,
    OUTPUT,
    POOLS,
    QUEUE,
    ROOM,
    ROW,
    RUNNING,
    SCRATCH,
    STEP,
    TABLE_ENTRY,
    TRUTH,
    X_WIDTH,
)

EVENT, BINDING, LINK = int(Region.EVENT), int(Region.BINDING), int(Region.LINK)
FREED = -2  # the mark of a row that is not in use
RESERVE = 32  # rows of a table that one step may take
# Tables that grow when a step finds no room.
GROWING = (
    EVENT, BINDING, LINK, LIVE, TRUTH, STEP, QUEUE, ROW, TABLE_ENTRY, RUNNING, CAUSES, KEY,
    ITEM, GROUP, CELL, OUTPUT,
)  # fmt: skip


@part
def live_at(memory, row):
    return memory[TABLE + 4 * LIVE + BEGIN] + row * L_WIDTH


@part
def node_at(memory, row):
    return memory[TABLE + 4 * NODE + BEGIN] + row * N_WIDTH


@part
def take_row(memory, region):
    """A row of a table, with whatever it held before."""
    pool = POOLS + 2 * region
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
    pool = POOLS + 2 * region
    memory[at(memory, region, row)] = memory[pool]
    memory[pool] = row
    memory[pool + 1] += 1


@part
def take_collected(memory, region):
    """A row of a table that is cleaned by collecting."""
    memory[FRESH] += 1
    return take_row(memory, region)


@part
def free_rows(memory, region):
    entry = TABLE + 4 * region
    return memory[entry + CAPACITY] - memory[entry + USED] + memory[POOLS + 2 * region + 1]


@part
def has_room(memory):
    """Whether the next step can be done in the tables as they are."""
    if memory[ROOM] > 0:
        memory[ROOM] -= 1
        return True
    least = free_rows(memory, EVENT)
    for region in GROWING:
        least = min(least, free_rows(memory, region))
    memory[ROOM] = least // RESERVE - 1
    return memory[ROOM] >= 0


@part
def push(memory, step, a, b, c, d):
    """Something to do before everything that waits."""
    entry = TABLE + 4 * STEP
    used = memory[entry + USED]
    place = memory[entry + BEGIN] + used * X_WIDTH
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
    return mixed & (memory[BUCKETS] - 1)


@part
def find(memory, owner, group, nulls, count):
    """The entry with this key, or NONE."""
    bucket = _bucket(memory, owner, group, nulls, memory[TABLE + 4 * SCRATCH + BEGIN], count)
    row = memory[memory[TABLE + 4 * BUCKET + BEGIN] + bucket]
    scratch = memory[TABLE + 4 * SCRATCH + BEGIN]
    begin = memory[TABLE + 4 * TABLE_ENTRY + BEGIN]
    width = memory[TABLE + 4 * TABLE_ENTRY + WIDTH]
    while row != NONE:
        entry = begin + row * width
        if (
            memory[entry + E_OWNER] == owner
            and memory[entry + E_PART] == group
            and memory[entry + E_NULLS] == nulls
        ):
            same = True
            for i in range(count):
                if memory[entry + E_KEYS + i] != memory[scratch + i]:
                    same = False
                    break
            if same:
                return row
        row = memory[entry + E_CHAIN]
    return NONE


@part
def enter(memory, owner, group, nulls, count):
    """A new entry with this key."""
    row = take_row(memory, TABLE_ENTRY)
    memory[ENTRIES] += 1
    entry = at(memory, TABLE_ENTRY, row)
    memory[entry + E_OWNER] = owner
    memory[entry + E_PART] = group
    memory[entry + E_NULLS] = nulls
    memory[entry + E_COUNT] = count
    memory[entry + E_FIRST] = NONE
    memory[entry + E_LAST] = NONE
    scratch = memory[TABLE + 4 * SCRATCH + BEGIN]
    for i in range(count):
        memory[entry + E_KEYS + i] = memory[scratch + i]
    chain_entry(memory, row)
    return row


@part
def forget(memory, row):
    """Takes an entry out of the table."""
    entry = at(memory, TABLE_ENTRY, row)
    link = memory[TABLE + 4 * BUCKET + BEGIN] + _bucket(
        memory,
        memory[entry + E_OWNER],
        memory[entry + E_PART],
        memory[entry + E_NULLS],
        entry + E_KEYS,
        memory[entry + E_COUNT],
    )
    while memory[link] != row:
        link = at(memory, TABLE_ENTRY, memory[link]) + E_CHAIN
    memory[link] = memory[entry + E_CHAIN]
    give_back(memory, TABLE_ENTRY, row)
    memory[entry + E_COUNT] = FREED
    memory[ENTRIES] -= 1


@part
def chain_entry(memory, row):
    """Puts an entry into its bucket."""
    entry = at(memory, TABLE_ENTRY, row)
    bucket = memory[TABLE + 4 * BUCKET + BEGIN] + _bucket(
        memory,
        memory[entry + E_OWNER],
        memory[entry + E_PART],
        memory[entry + E_NULLS],
        entry + E_KEYS,
        memory[entry + E_COUNT],
    )
    memory[entry + E_CHAIN] = memory[bucket]
    memory[bucket] = row
