"""Finding the events, bindings and lists that nothing refers to any more.

Everything that can still be reached from live instances is marked, the rest is given back. It is
done between two events, after as many rows were taken as are in use, so its cost stays in
proportion to the work done.
"""

from __future__ import annotations

from cepheid.matcher.vm.expressions.calendar import after_period
from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import (
    BINDING,
    EVENT,
    FREED,
    LINK,
    give_back,
    live_at,
    node_at,
)
from cepheid.matcher.vm.memory.layout import (
    BEGIN,
    NONE,
    TABLE,
    USED,
    WIDTH,
    EventRow,
    Head,
    Region,
    at,
)
from cepheid.matcher.vm.memory.tables import (
    DISTINCT_VALUES,
    GROUPS,
    NEVER,
    SEEN_KEYS,
    START,
    AndLive,
    EntryRow,
    GroupRow,
    ItemRow,
    KeyRow,
    LiveRow,
    NodeKind,
    NodeRow,
    OutputRow,
    RepeatLive,
    ResultRow,
    RunningRow,
    StartingLive,
    StatementRow,
    TruthRow,
    TypeRow,
    WindowRow,
)

CLOCK = int(Head.CLOCK)
MARK = int(EventRow.MARK)
EVENT_TYPE, EVENT_KEY, NULLS = int(EventRow.TYPE), int(EventRow.KEY), int(EventRow.NULLS)
LEAST = 4096  # rows to be taken before collecting is worth while


@part
def collect(memory):
    memory[Head.GRAY] = NONE
    memory[Head.GRAY_KEY] = NONE
    mark_input(memory)
    mark_rows(memory)
    mark_live(memory)
    mark_windows(memory)
    mark_referred(memory)
    mark_key_parts(memory)
    live = sweep(memory, EVENT, MARK)
    live += sweep(memory, BINDING, memory[TABLE + 4 * BINDING + WIDTH] - 1)
    live += sweep(memory, LINK, 3)
    live += sweep(memory, Region.KEY, KeyRow.MARK)
    forget_empty_lists(memory)
    memory[Head.FRESH] = 0
    memory[Head.LIMIT] = max(live, LEAST)


# -- marking ---------------------------------------------------------------------------------------


@part
def mark_event(memory, row):
    if row < 0:  # none, or one of the pool
        return
    event = at(memory, EVENT, row)
    if memory[event + MARK] == 0:
        memory[event + MARK] = memory[Head.GRAY] + 2  # the chain of those to be looked into
        memory[Head.GRAY] = row


@part
def mark_referred(memory):
    """Events that are attributes of marked events, and the keys of all."""
    while memory[Head.GRAY] != NONE:
        event = at(memory, EVENT, memory[Head.GRAY])
        memory[Head.GRAY] = memory[event + MARK] - 2
        memory[event + MARK] = 1
        mark_key(memory, memory[event + EVENT_KEY])
        if memory[event + EVENT_TYPE] == NONE:
            continue
        type = at(memory, Region.TYPE, memory[event + EVENT_TYPE])
        slots = memory[TABLE + 4 * Region.LIST + BEGIN] + memory[type + TypeRow.REFS]
        for i in range(memory[type + TypeRow.REF_COUNT]):
            slot = memory[slots + 2 * i]
            if (memory[event + NULLS + slot // 64] >> (slot % 64)) & 1:
                continue
            value = memory[event + memory[Head.SLOTS] + slot]
            if memory[slots + 2 * i + 1] == 1:
                mark_links(memory, value)
            else:
                mark_event(memory, value)


@part
def mark_key(memory, row):
    if row != NONE and memory[at(memory, Region.KEY, row) + KeyRow.MARK] == 0:
        memory[at(memory, Region.KEY, row) + KeyRow.MARK] = memory[Head.GRAY_KEY] + 2
        memory[Head.GRAY_KEY] = row


@part
def mark_key_parts(memory):
    """The pieces that marked keys are made of."""
    while memory[Head.GRAY_KEY] != NONE:
        key = at(memory, Region.KEY, memory[Head.GRAY_KEY])
        memory[Head.GRAY_KEY] = memory[key + KeyRow.MARK] - 2
        memory[key + KeyRow.MARK] = 1
        mark_key(memory, memory[key + KeyRow.BEFORE])
        mark_key(memory, memory[key + KeyRow.ORIGIN])
        mark_key(memory, memory[key + KeyRow.PLACE])


@part
def mark_links(memory, row):
    while row >= 0:
        cell = at(memory, LINK, row)
        if memory[cell + 3] != 0:
            return
        memory[cell + 3] = 1
        mark_event(memory, memory[cell])
        row = memory[cell + 1]


@part
def mark_binding(memory, row, statement):
    if row == NONE:
        return
    binding = at(memory, BINDING, row)
    mark = binding + memory[TABLE + 4 * BINDING + WIDTH] - 1
    if memory[mark] == 1:
        return
    memory[mark] = 1
    plan = at(memory, Region.STATEMENT, statement)
    for tag in range(memory[plan + StatementRow.TAG_COUNT]):
        if (memory[plan + StatementRow.REPEATED] >> tag) & 1:
            # Inside a repeat a tag is bound to one event, outside to the list of them.
            mark_either(memory, memory[binding + tag])
        else:
            mark_event(memory, memory[binding + tag])


@part
def mark_either(memory, value):
    """An event or a list, whichever it is: marking too much only keeps it for a while."""
    if value == NONE:
        return
    if value < memory[TABLE + 4 * LINK + USED]:
        mark_links(memory, value)
    if value < memory[TABLE + 4 * EVENT + USED]:
        mark_event(memory, value)


@part
def mark_input(memory):
    for i in range(memory[Head.CURSOR], memory[Head.GIVEN]):
        mark_event(memory, memory[at(memory, Region.INPUT, i)])


@part
def mark_rows(memory):
    for i in range(memory[TABLE + 4 * Region.ROW + USED]):
        row = at(memory, Region.ROW, i)
        mark_event(memory, memory[row + ResultRow.EVENT])
        mark_key(memory, memory[row + ResultRow.KEY])


@part
def mark_live(memory):
    for i in range(memory[TABLE + 4 * Region.LIVE + USED]):
        live = live_at(memory, i)
        if memory[live + LiveRow.ALIVE] != 1:
            continue
        node = node_at(memory, memory[live + LiveRow.NODE])
        statement, kind = memory[node + NodeRow.STATEMENT], memory[node + NodeRow.KIND]
        mark_binding(memory, memory[live + LiveRow.BEGIN], statement)
        mark_binding(memory, memory[live + LiveRow.BOUND], statement)
        if memory[live + LiveRow.DUE] != NEVER:
            mark_event(memory, memory[live + LiveRow.ORIGIN_EVENT])
        if kind == NodeKind.REPEAT:
            mark_binding(memory, memory[live + RepeatLive.COLLECTED], statement)
        elif kind == NodeKind.ALL:
            truth = memory[live + AndLive.FIRST_TRUTH]
            while truth != NONE:
                cell = at(memory, Region.TRUTH, truth)
                mark_binding(memory, memory[cell + TruthRow.BINDING], statement)
                truth = memory[cell + TruthRow.NEXT]


@part
def mark_windows(memory):
    """The rows of windows, results that wait, and where statements began."""
    for i in range(memory[TABLE + 4 * Region.ITEM + USED]):
        item = at(memory, Region.ITEM, i)
        if memory[item + ItemRow.WINDOW] != NONE:
            statement = memory[
                at(memory, Region.WINDOW, memory[item + ItemRow.WINDOW]) + WindowRow.STATEMENT
            ]
            mark_event(memory, memory[item + ItemRow.EVENT])
            mark_binding(memory, memory[item + ItemRow.BINDING], statement)
            mark_key(memory, memory[item + ItemRow.KEY])
    for i in range(memory[TABLE + 4 * Region.GROUP + USED]):
        group = at(memory, Region.GROUP, i)
        if memory[group + GroupRow.WINDOW] != NONE and memory[group + GroupRow.IS_KEPT] == 1:
            statement = memory[
                at(memory, Region.WINDOW, memory[group + GroupRow.WINDOW]) + WindowRow.STATEMENT
            ]
            mark_event(memory, memory[group + GroupRow.LAST_EVENT])
            mark_binding(memory, memory[group + GroupRow.LAST_BINDING], statement)
    for i in range(memory[TABLE + 4 * Region.RUNNING + USED]):
        mark_key(memory, memory[at(memory, Region.RUNNING, i) + RunningRow.ORIGIN])
    for i in range(memory[TABLE + 4 * Region.OUTPUT + USED]):
        output = at(memory, Region.OUTPUT, i)
        if memory[output + OutputRow.EVENT] != NONE:
            mark_event(memory, memory[output + OutputRow.EVENT])
            mark_key(memory, memory[output + OutputRow.KEY])


# -- giving back -----------------------------------------------------------------------------------


@part
def sweep(memory, region, mark):
    """Gives back unmarked rows, so that they are taken again from the first on; counts the rest."""
    live = 0
    used = memory[TABLE + 4 * region + USED]
    for i in range(used - 1, -1, -1):
        row = at(memory, region, i)
        if memory[row + mark] == 0:
            give_back(memory, region, i)
            memory[row + mark] = FREED
        elif memory[row + mark] > 0:
            memory[row + mark] = 0
            live += 1
    return live


@part
def is_forgotten(memory, entry):
    """Whether an entry is of a list in which no atom waits, a group without rows, a past key."""
    content, owner = memory[entry + EntryRow.FIRST], memory[entry + EntryRow.OWNER]
    if owner >= 0:
        return content == NONE
    if owner <= SEEN_KEYS:
        live = live_at(memory, memory[entry + EntryRow.LAST])
        is_same = (
            memory[live + LiveRow.ALIVE] == 1 and memory[live + LiveRow.NODE] == SEEN_KEYS - owner
        )
        is_seen = (
            is_same and memory[live + StartingLive.GENERATION] == memory[entry + EntryRow.PART]
        )
        return not is_seen or content <= memory[CLOCK]
    if not DISTINCT_VALUES < owner <= GROUPS:
        return False
    group = at(memory, Region.GROUP, content)
    if memory[group + GroupRow.SIZE] != 0 or memory[group + GroupRow.ITEMS] != 0:
        return False
    if memory[group + GroupRow.SHOWN] != NONE or memory[group + GroupRow.SHOWN_OLD] != NONE:
        return False
    if memory[group + GroupRow.IS_KEPT] == 1 or is_silent(memory, group):
        return False
    give_back(memory, Region.GROUP, content)
    memory[group + GroupRow.WINDOW] = NONE
    return True


@part
def is_silent(memory, group):
    """Whether what comes to a group may have to wait; how long it is silent is not forgotten."""
    since = memory[group + GroupRow.SINCE]
    if since == START:
        return False
    window = at(memory, Region.WINDOW, memory[group + GroupRow.WINDOW])
    if memory[window + WindowRow.EVERY_COUNT] != NONE:
        return True
    every, months = memory[window + WindowRow.EVERY], memory[window + WindowRow.EVERY_MONTHS]
    return memory[CLOCK] < after_period(since, every, months)


@part
def forget_empty_lists(memory):
    """Lists in which no atom waits, and groups without rows."""
    buckets = memory[TABLE + 4 * Region.BUCKET + BEGIN]
    for bucket in range(memory[Head.BUCKETS]):
        before = NONE
        row = memory[buckets + bucket]
        while row != NONE:
            entry = at(memory, Region.TABLE_ENTRY, row)
            after = memory[entry + EntryRow.CHAIN]
            if is_forgotten(memory, entry):
                if before == NONE:
                    memory[buckets + bucket] = after
                else:
                    memory[at(memory, Region.TABLE_ENTRY, before) + EntryRow.CHAIN] = after
                give_back(memory, Region.TABLE_ENTRY, row)
                memory[entry + EntryRow.COUNT] = FREED
                memory[Head.ENTRIES] -= 1
            else:
                before = row
            row = after
