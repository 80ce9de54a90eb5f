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
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, USED, WIDTH, Field, Head, at
from cepheid.matcher.vm.memory.tables import (
    ALL,
    BUCKET,
    BUCKETS,
    CURSOR,
    DISTINCT_VALUES,
    E_CHAIN,
    E_COUNT,
    E_FIRST,
    E_LAST,
    E_OWNER,
    E_PART,
    ENTRIES,
    FRESH,
    G_IS_KEPT,
    G_ITEMS,
    G_LAST_BINDING,
    G_LAST_EVENT,
    G_SHOWN,
    G_SHOWN_OLD,
    G_SINCE,
    G_SIZE,
    G_WINDOW,
    GIVEN,
    GRAY,
    GRAY_KEY,
    GROUP,
    GROUPS,
    H_BINDING,
    H_NEXT,
    I_BINDING,
    I_EVENT,
    I_KEY,
    I_WINDOW,
    INPUT,
    ITEM,
    K_BEFORE,
    K_MARK,
    K_ORIGIN,
    K_PLACE,
    KEY,
    L_A,
    L_ALIVE,
    L_B,
    L_BEGIN,
    L_BOUND,
    L_C,
    L_DUE,
    L_NODE,
    L_ORIGIN_EVENT,
    LIMIT,
    LIST,
    LIVE,
    N_KIND,
    N_STATEMENT,
    NEVER,
    O_EVENT,
    O_KEY,
    OUTPUT,
    R_ORIGIN,
    REPEAT,
    ROW,
    RUNNING,
    S_REPEATED,
    S_TAG_COUNT,
    SEEN_KEYS,
    SLOTS,
    START,
    STATEMENT,
    T_REF_COUNT,
    T_REFS,
    TABLE_ENTRY,
    TRUTH,
    TYPE,
    V_EVERY,
    V_EVERY_COUNT,
    V_EVERY_MONTHS,
    V_STATEMENT,
    W_EVENT,
    W_KEY,
    WINDOW,
)

CLOCK = int(Head.CLOCK)
MARK = int(Field.MARK)
EVENT_TYPE, EVENT_KEY, NULLS = int(Field.TYPE), int(Field.KEY), int(Field.NULLS)
LEAST = 4096  # rows to be taken before collecting is worth while


@part
def collect(memory):
    memory[GRAY] = NONE
    memory[GRAY_KEY] = NONE
    mark_input(memory)
    mark_rows(memory)
    mark_live(memory)
    mark_windows(memory)
    mark_referred(memory)
    mark_key_parts(memory)
    live = sweep(memory, EVENT, MARK)
    live += sweep(memory, BINDING, memory[TABLE + 4 * BINDING + WIDTH] - 1)
    live += sweep(memory, LINK, 3)
    live += sweep(memory, KEY, K_MARK)
    forget_empty_lists(memory)
    memory[FRESH] = 0
    memory[LIMIT] = max(live, LEAST)


# -- marking ---------------------------------------------------------------------------------------


@part
def mark_event(memory, row):
    if row < 0:  # none, or one of the pool
        return
    event = at(memory, EVENT, row)
    if memory[event + MARK] == 0:
        memory[event + MARK] = memory[GRAY] + 2  # the chain of those to be looked into
        memory[GRAY] = row


@part
def mark_referred(memory):
    """Events that are attributes of marked events, and the keys of all."""
    while memory[GRAY] != NONE:
        event = at(memory, EVENT, memory[GRAY])
        memory[GRAY] = memory[event + MARK] - 2
        memory[event + MARK] = 1
        mark_key(memory, memory[event + EVENT_KEY])
        if memory[event + EVENT_TYPE] == NONE:
            continue
        type = at(memory, TYPE, memory[event + EVENT_TYPE])
        slots = memory[TABLE + 4 * LIST + BEGIN] + memory[type + T_REFS]
        for i in range(memory[type + T_REF_COUNT]):
            slot = memory[slots + 2 * i]
            if (memory[event + NULLS + slot // 64] >> (slot % 64)) & 1:
                continue
            value = memory[event + memory[SLOTS] + slot]
            if memory[slots + 2 * i + 1] == 1:
                mark_links(memory, value)
            else:
                mark_event(memory, value)


@part
def mark_key(memory, row):
    if row != NONE and memory[at(memory, KEY, row) + K_MARK] == 0:
        memory[at(memory, KEY, row) + K_MARK] = memory[GRAY_KEY] + 2
        memory[GRAY_KEY] = row


@part
def mark_key_parts(memory):
    """The pieces that marked keys are made of."""
    while memory[GRAY_KEY] != NONE:
        key = at(memory, KEY, memory[GRAY_KEY])
        memory[GRAY_KEY] = memory[key + K_MARK] - 2
        memory[key + K_MARK] = 1
        mark_key(memory, memory[key + K_BEFORE])
        mark_key(memory, memory[key + K_ORIGIN])
        mark_key(memory, memory[key + K_PLACE])


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
    plan = at(memory, STATEMENT, statement)
    for tag in range(memory[plan + S_TAG_COUNT]):
        if (memory[plan + S_REPEATED] >> tag) & 1:
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
    for i in range(memory[CURSOR], memory[GIVEN]):
        mark_event(memory, memory[at(memory, INPUT, i)])


@part
def mark_rows(memory):
    for i in range(memory[TABLE + 4 * ROW + USED]):
        row = at(memory, ROW, i)
        mark_event(memory, memory[row + W_EVENT])
        mark_key(memory, memory[row + W_KEY])


@part
def mark_live(memory):
    for i in range(memory[TABLE + 4 * LIVE + USED]):
        live = live_at(memory, i)
        if memory[live + L_ALIVE] != 1:
            continue
        node = node_at(memory, memory[live + L_NODE])
        statement, kind = memory[node + N_STATEMENT], memory[node + N_KIND]
        mark_binding(memory, memory[live + L_BEGIN], statement)
        mark_binding(memory, memory[live + L_BOUND], statement)
        if memory[live + L_DUE] != NEVER:
            mark_event(memory, memory[live + L_ORIGIN_EVENT])
        if kind == REPEAT:
            mark_binding(memory, memory[live + L_B], statement)
        elif kind == ALL:
            truth = memory[live + L_A]
            while truth != NONE:
                cell = at(memory, TRUTH, truth)
                mark_binding(memory, memory[cell + H_BINDING], statement)
                truth = memory[cell + H_NEXT]


@part
def mark_windows(memory):
    """The rows of windows, results that wait, and where statements began."""
    for i in range(memory[TABLE + 4 * ITEM + USED]):
        item = at(memory, ITEM, i)
        if memory[item + I_WINDOW] != NONE:
            statement = memory[at(memory, WINDOW, memory[item + I_WINDOW]) + V_STATEMENT]
            mark_event(memory, memory[item + I_EVENT])
            mark_binding(memory, memory[item + I_BINDING], statement)
            mark_key(memory, memory[item + I_KEY])
    for i in range(memory[TABLE + 4 * GROUP + USED]):
        group = at(memory, GROUP, i)
        if memory[group + G_WINDOW] != NONE and memory[group + G_IS_KEPT] == 1:
            statement = memory[at(memory, WINDOW, memory[group + G_WINDOW]) + V_STATEMENT]
            mark_event(memory, memory[group + G_LAST_EVENT])
            mark_binding(memory, memory[group + G_LAST_BINDING], statement)
    for i in range(memory[TABLE + 4 * RUNNING + USED]):
        mark_key(memory, memory[at(memory, RUNNING, i) + R_ORIGIN])
    for i in range(memory[TABLE + 4 * OUTPUT + USED]):
        output = at(memory, OUTPUT, i)
        if memory[output + O_EVENT] != NONE:
            mark_event(memory, memory[output + O_EVENT])
            mark_key(memory, memory[output + O_KEY])


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
    content, owner = memory[entry + E_FIRST], memory[entry + E_OWNER]
    if owner >= 0:
        return content == NONE
    if owner <= SEEN_KEYS:
        live = live_at(memory, memory[entry + E_LAST])
        is_same = memory[live + L_ALIVE] == 1 and memory[live + L_NODE] == SEEN_KEYS - owner
        is_seen = is_same and memory[live + L_C] == memory[entry + E_PART]
        return not is_seen or content <= memory[CLOCK]
    if not DISTINCT_VALUES < owner <= GROUPS:
        return False
    group = at(memory, GROUP, content)
    if memory[group + G_SIZE] != 0 or memory[group + G_ITEMS] != 0:
        return False
    if memory[group + G_SHOWN] != NONE or memory[group + G_SHOWN_OLD] != NONE:
        return False
    if memory[group + G_IS_KEPT] == 1 or is_silent(memory, group):
        return False
    give_back(memory, GROUP, content)
    memory[group + G_WINDOW] = NONE
    return True


@part
def is_silent(memory, group):
    """Whether what comes to a group may have to wait; how long it is silent is not forgotten."""
    since = memory[group + G_SINCE]
    if since == START:
        return False
    window = at(memory, WINDOW, memory[group + G_WINDOW])
    if memory[window + V_EVERY_COUNT] != NONE:
        return True
    every, months = memory[window + V_EVERY], memory[window + V_EVERY_MONTHS]
    return memory[CLOCK] < after_period(since, every, months)


@part
def forget_empty_lists(memory):
    """Lists in which no atom waits, and groups without rows."""
    buckets = memory[TABLE + 4 * BUCKET + BEGIN]
    for bucket in range(memory[BUCKETS]):
        before = NONE
        row = memory[buckets + bucket]
        while row != NONE:
            entry = at(memory, TABLE_ENTRY, row)
            after = memory[entry + E_CHAIN]
            if is_forgotten(memory, entry):
                if before == NONE:
                    memory[buckets + bucket] = after
                else:
                    memory[at(memory, TABLE_ENTRY, before) + E_CHAIN] = after
                give_back(memory, TABLE_ENTRY, row)
                memory[entry + E_COUNT] = FREED
                memory[ENTRIES] -= 1
            else:
                before = row
            row = after
