"""Data windows: which rows enter and leave, and when.

A row of the source becomes an item. The items of a window are a list, the oldest first, because they
leave in that order.
"""

from __future__ import annotations

from cepheid.matcher.vm.expressions.evaluate import holds
from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import take_row
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, USED, Head, at
from cepheid.matcher.vm.memory.tables import (
    ARGUMENT,
    ASK,
    BY_TOTAL,
    DONE,
    FIRING,
    G_ITEMS,
    GROUP,
    I_ARGUMENTS,
    I_BINDING,
    I_DUE,
    I_EVENT,
    I_GROUP,
    I_KEY,
    I_LATER,
    I_NEXT,
    I_NULLS,
    I_PASSES,
    I_RUNNING,
    I_WINDOW,
    ITEM,
    KEEP_ALL,
    KEYED,
    LENGTH,
    LENGTH_BATCH,
    NEVER,
    NEXT_DUE,
    R_ANCHOR,
    R_COUNT,
    R_DUE,
    R_FIRST,
    R_GROUP,
    R_LAST,
    R_ORIGIN,
    R_RELEASED,
    R_RELEASED_COUNT,
    R_STATEMENT,
    RATE_STAGE,
    RUNNING,
    S_HAS_CONTEXT,
    S_RUNNING,
    S_WHERE,
    S_WINDOW,
    STAGE,
    START,
    STATEMENT,
    TIME,
    TIME_BATCH,
    TIMER,
    UNLIMITED,
    V_AGGREGATE_COUNT,
    V_IS_EAGER,
    V_IS_FORCED,
    V_IS_QUICK,
    V_ITEMS,
    V_KEY_COUNT,
    V_KIND,
    V_LAST_ITEM,
    V_MONTHS,
    V_PERIOD,
    V_READS_ROWS,
    V_REFERENCE,
    V_SHAPE,
    V_SIZE,
    V_STATEMENT,
    WINDOW,
    WINDOW_STAGE,
)
from cepheid.matcher.vm.rows.output import start_rate
from cepheid.matcher.vm.rows.results import NEW, emit
from cepheid.matcher.vm.rows.selection import (
    count_in,
    count_out,
    find_arguments,
    find_key,
    group_of_key,
    new_group,
    result_of,
)
from cepheid.matcher.vm.rows.sort_keys import base_key, origin_key
from cepheid.matcher.vm.rows.window_changes import begin_delta, fire_rate, free_item, window_of
from cepheid.matcher.vm.rows.window_timers import (
    arm_running,
    disarm_first,
    first_armed,
    next_boundary,
)

CLOCK = int(Head.CLOCK)

# -- starting --------------------------------------------------------------------------------------


@part
def start_window(memory, running):
    place = at(memory, RUNNING, running)
    statement = memory[place + R_STATEMENT]
    number = memory[at(memory, STATEMENT, statement) + S_WINDOW]
    memory[place + R_ORIGIN] = origin_key(memory, statement) if memory[KEYED] == 1 else NONE
    if number == NONE:
        return
    window = at(memory, WINDOW, number)
    memory[place + R_FIRST] = NONE
    memory[place + R_LAST] = NONE
    memory[place + R_COUNT] = 0
    memory[place + R_RELEASED] = NONE
    memory[place + R_RELEASED_COUNT] = 0
    memory[place + R_ANCHOR] = memory[window + V_REFERENCE]
    memory[place + R_DUE] = NEVER
    memory[place + R_GROUP] = NONE
    if memory[window + V_KEY_COUNT] == 0:
        memory[place + R_GROUP] = new_group(memory, number, NONE)
    start_rate(memory, running)
    if memory[window + V_IS_EAGER] == 1:
        arm_batch(memory, running)


# -- rows of the source ----------------------------------------------------------------------------


@part
def come(memory, running, event, binding):
    """A row comes from the source."""
    place = at(memory, RUNNING, running)
    plan = at(memory, STATEMENT, memory[place + R_STATEMENT])
    number = memory[plan + S_WINDOW]
    window = at(memory, WINDOW, number)
    kind = memory[window + V_KIND]
    code = memory[plan + S_WHERE]
    passes = 1 if code == NONE else holds(memory, code, event, binding, NONE)
    if passes < 0:
        return ASK
    if passes == 0 and kind in (UNLIMITED, KEEP_ALL, TIME):
        return DONE
    nulls, key_nulls = 0, 0
    if passes == 1:
        nulls = find_arguments(memory, window, event, binding)
        if nulls < 0:
            return ASK
        key_nulls = find_key(memory, window, event, binding)
        if key_nulls < 0:
            return ASK
    # From here on there are no questions.
    group = memory[place + R_GROUP]
    if memory[window + V_KEY_COUNT] > 0:
        group = NONE if passes == 0 else group_of_key(memory, number, running, key_nulls)
    if memory[window + V_IS_QUICK] == 1 and passes == 1:
        return come_quickly(memory, running, event, binding, group, nulls)
    row = new_item(memory, number, running, event, binding, passes, group, nulls)
    return enter_window(memory, running, row)


@part
def come_quickly(memory, running, event, binding, group, nulls):
    """A row that enters, and the one that leaves for it, where each gives one result at most."""
    place = at(memory, RUNNING, running)
    window = window_of(memory, running)
    kind = memory[window + V_KIND]
    arguments = memory[TABLE + 4 * ARGUMENT + BEGIN]
    count_in(memory, window, group, nulls, arguments)
    if kind == UNLIMITED:
        return show_quickly(memory, window, group, event, binding, NONE, NONE)
    number = memory[at(memory, STATEMENT, memory[place + R_STATEMENT]) + S_WINDOW]
    row = new_item(memory, number, running, event, binding, 1, group, nulls)
    append_item(memory, place, row)
    if kind == TIME:
        add_due(memory, window, row)
    elif memory[place + R_COUNT] > memory[window + V_SIZE]:
        oldest = memory[place + R_FIRST]
        item = at(memory, ITEM, oldest)
        old_group, old_event = memory[item + I_GROUP], memory[item + I_EVENT]
        old_binding = memory[item + I_BINDING]
        passed = memory[item + I_PASSES]
        take_oldest(memory, place, 1)
        leave_quickly(memory, window, oldest)
        status = show_quickly(memory, window, group, event, binding, NONE, NONE)
        if status != DONE or old_group == group or passed == 0:
            return status
        return show_quickly(memory, window, old_group, old_event, old_binding, NONE, NONE)
    return show_quickly(memory, window, group, event, binding, NONE, NONE)


@part
def leave_quickly(memory, window, row):
    item = at(memory, ITEM, row)
    if memory[item + I_PASSES] == 1:
        count_out(
            memory, window, memory[item + I_GROUP], memory[item + I_NULLS], item + I_ARGUMENTS
        )
    free_item(memory, row)


@part
def show_quickly(memory, window, group, event, binding, stream, key):
    result = result_of(memory, window, group, event, binding, 0)
    if result < 0:
        return DONE
    return emit(memory, memory[window + V_STATEMENT], result, NEW, stream, key)


@part
def new_item(memory, number, running, event, binding, passes, group, nulls):
    """The arguments of the aggregates lie in ARGUMENT."""
    window = at(memory, WINDOW, number)
    row = take_row(memory, ITEM)
    item = at(memory, ITEM, row)
    memory[item + I_NEXT] = NONE
    memory[item + I_WINDOW] = number
    memory[item + I_RUNNING] = running
    is_read = memory[window + V_READS_ROWS] == 1
    memory[item + I_EVENT] = event if is_read else NONE
    memory[item + I_BINDING] = binding if is_read else NONE
    memory[item + I_KEY] = NONE
    if memory[KEYED] == 1:
        memory[item + I_KEY] = base_key(memory, memory[window + V_STATEMENT])
    memory[item + I_PASSES] = passes
    memory[item + I_GROUP] = group
    memory[item + I_NULLS] = nulls
    arguments = memory[TABLE + 4 * ARGUMENT + BEGIN]
    for i in range(memory[window + V_AGGREGATE_COUNT]):
        memory[item + I_ARGUMENTS + i] = memory[arguments + i]
    if group != NONE:
        memory[at(memory, GROUP, group) + G_ITEMS] += 1
    return row


@part
def enter_window(memory, running, row):
    place = at(memory, RUNNING, running)
    window = window_of(memory, running)
    kind = memory[window + V_KIND]
    if kind == UNLIMITED:
        return begin_delta(memory, running, row, 1, NONE, 0)
    append_item(memory, place, row)
    if kind == KEEP_ALL:
        return begin_delta(memory, running, row, 1, NONE, 0)
    if kind == TIME:
        add_due(memory, window, row)
        return begin_delta(memory, running, row, 1, NONE, 0)
    if kind == LENGTH:
        if memory[place + R_COUNT] <= memory[window + V_SIZE]:
            return begin_delta(memory, running, row, 1, NONE, 0)
        oldest = memory[place + R_FIRST]
        take_oldest(memory, place, 1)
        return begin_delta(memory, running, row, 1, oldest, 1)
    if kind == LENGTH_BATCH:
        if memory[place + R_COUNT] == memory[window + V_SIZE]:
            return release(memory, running)
    elif memory[place + R_DUE] == NEVER:
        arm_batch(memory, running)
    return DONE


@part
def append_item(memory, running, row):
    last = memory[running + R_LAST]
    if last == NONE:
        memory[running + R_FIRST] = row
    else:
        memory[at(memory, ITEM, last) + I_NEXT] = row
    memory[running + R_LAST] = row
    memory[running + R_COUNT] += 1


@part
def take_oldest(memory, running, count):
    """Takes the oldest items out of a list; they still know which comes after them."""
    for _ in range(count):
        memory[running + R_FIRST] = memory[at(memory, ITEM, memory[running + R_FIRST]) + I_NEXT]
    if memory[running + R_FIRST] == NONE:
        memory[running + R_LAST] = NONE
    memory[running + R_COUNT] -= count


@part
def release(memory, running):
    """What was gathered enters, and the batch before leaves."""
    place = at(memory, RUNNING, running)
    new, new_count = memory[place + R_FIRST], memory[place + R_COUNT]
    old, old_count = memory[place + R_RELEASED], memory[place + R_RELEASED_COUNT]
    memory[place + R_RELEASED] = new
    memory[place + R_RELEASED_COUNT] = new_count
    memory[place + R_FIRST] = NONE
    memory[place + R_LAST] = NONE
    memory[place + R_COUNT] = 0
    return begin_delta(memory, running, new, new_count, old, old_count)


# -- time ------------------------------------------------------------------------------------------
# The items of a time window leave in the order in which they came, over all partitions, because the
# period is the same. So the first of them says when something happens next.


@part
def add_due(memory, window, row):
    """An item of a time window will leave."""
    item = at(memory, ITEM, row)
    due = memory[CLOCK] + memory[window + V_PERIOD]
    memory[item + I_DUE] = due
    memory[item + I_LATER] = NONE
    memory[NEXT_DUE] = min(memory[NEXT_DUE], due)
    if memory[at(memory, STATEMENT, memory[window + V_STATEMENT]) + S_HAS_CONTEXT] == 0:
        return
    last = memory[window + V_LAST_ITEM]
    if last == NONE:
        memory[window + V_ITEMS] = row
    else:
        memory[at(memory, ITEM, last) + I_LATER] = row
    memory[window + V_LAST_ITEM] = row


@part
def arm_batch(memory, running):
    """Arms for the end of the running period."""
    place = at(memory, RUNNING, running)
    window = window_of(memory, running)
    if memory[place + R_ANCHOR] == START:
        memory[place + R_ANCHOR] = memory[CLOCK]
    period, months = memory[window + V_PERIOD], memory[window + V_MONTHS]
    due = next_boundary(memory[place + R_ANCHOR], period, months, memory[CLOCK])
    arm_running(memory, window, running, due, WINDOW_STAGE)


@part
def window_due(memory, window):
    """When the first timer of a statement's windows falls due."""
    due = first_armed(memory, window, WINDOW_STAGE)
    if due != NEVER or memory[window + V_KIND] != TIME:
        return due
    row = first_item(memory, window)
    return NEVER if row == NONE else memory[at(memory, ITEM, row) + I_DUE]


@part
def first_item(memory, window):
    """Of a statement with a time window, the first to leave."""
    plan = at(memory, STATEMENT, memory[window + V_STATEMENT])
    if memory[plan + S_HAS_CONTEXT] == 1:
        return memory[window + V_ITEMS]
    return memory[at(memory, RUNNING, memory[plan + S_RUNNING]) + R_FIRST]


@part
def next_window(memory, due):
    """Of the statements whose windows or rates fall due now, the first; NONE: there is none."""
    for number in range(memory[TABLE + 4 * WINDOW + USED]):
        window = at(memory, WINDOW, number)
        if window_due(memory, window) == due or first_armed(memory, window, RATE_STAGE) == due:
            return number
    return NONE


@part
def fire_first(memory, number, due):
    """The first timer of a statement's windows fires, or if none is due, of its rates."""
    window = at(memory, WINDOW, number)
    memory[TIMER] = 0
    if window_due(memory, window) == due:
        memory[STAGE] = WINDOW_STAGE
        memory[FIRING] = firing_of(memory, number)
        return fire_window(memory, memory[FIRING])
    memory[STAGE] = RATE_STAGE
    memory[FIRING] = disarm_first(memory, window, RATE_STAGE)
    return fire_rate(memory, memory[FIRING])


@part
def firing_of(memory, number):
    """The running statement of which the first timer fires."""
    window = at(memory, WINDOW, number)
    plan = at(memory, STATEMENT, memory[window + V_STATEMENT])
    if memory[window + V_KIND] == TIME:
        if memory[plan + S_HAS_CONTEXT] == 0:
            return memory[plan + S_RUNNING]
        arm_due(memory, window)
    return disarm_first(memory, window, WINDOW_STAGE)


@part
def arm_due(memory, window):
    """The partitions that items leave now."""
    row = memory[window + V_ITEMS]
    while row != NONE and memory[at(memory, ITEM, row) + I_DUE] <= memory[CLOCK]:
        item = at(memory, ITEM, row)
        running = memory[item + I_RUNNING]
        if memory[at(memory, RUNNING, running) + R_DUE] == NEVER:
            arm_running(memory, window, running, memory[CLOCK], WINDOW_STAGE)
        row = memory[item + I_LATER]
    memory[window + V_ITEMS] = row
    if row == NONE:
        memory[window + V_LAST_ITEM] = NONE


@part
def fire_window(memory, running):
    """The timer of a window fires; it is disarmed already."""
    place = at(memory, RUNNING, running)
    window = window_of(memory, running)
    if memory[window + V_KIND] == TIME_BATCH:
        if memory[place + R_COUNT] > 0 or memory[window + V_IS_FORCED] == 1:
            arm_batch(memory, running)
        return release(memory, running)
    first, count = memory[place + R_FIRST], 0
    row = first
    while row != NONE and memory[at(memory, ITEM, row) + I_DUE] <= memory[CLOCK]:
        count += 1
        row = memory[at(memory, ITEM, row) + I_NEXT]
    take_oldest(memory, place, count)
    if memory[window + V_IS_QUICK] == 1 and (count == 1 or memory[window + V_SHAPE] == BY_TOTAL):
        item = at(memory, ITEM, first)
        group, event, binding = (
            memory[item + I_GROUP],
            memory[item + I_EVENT],
            memory[item + I_BINDING],
        )
        key, row = memory[item + I_KEY], first
        for _ in range(count):
            following = memory[at(memory, ITEM, row) + I_NEXT]
            leave_quickly(memory, window, row)
            row = following
        return show_quickly(memory, window, group, event, binding, 1, key)
    return begin_delta(memory, running, NONE, 0, first, count)
