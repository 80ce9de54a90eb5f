"""Data windows: which rows enter and leave, and when.

A row of the source becomes an item. The items of a window are a list, the oldest first, because they
leave in that order.
"""

from __future__ import annotations

from cepheid.matcher.vm.expressions.evaluate import holds
from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import take_row
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, USED, WIDTH, Head, Region, at
from cepheid.matcher.vm.memory.linked_lists import append
from cepheid.matcher.vm.memory.tables import (
    NEVER,
    START,
    GroupRow,
    ItemRow,
    RowShape,
    RunningRow,
    StatementRow,
    Status,
    TimerStage,
    WindowKind,
    WindowRow,
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
    place = at(memory, Region.RUNNING, running)
    statement = memory[place + RunningRow.STATEMENT]
    number = memory[at(memory, Region.STATEMENT, statement) + StatementRow.WINDOW]
    memory[place + RunningRow.ORIGIN] = (
        origin_key(memory, statement) if memory[Head.KEYED] == 1 else NONE
    )
    if number == NONE:
        return
    window = at(memory, Region.WINDOW, number)
    memory[place + RunningRow.FIRST] = NONE
    memory[place + RunningRow.LAST] = NONE
    memory[place + RunningRow.COUNT] = 0
    memory[place + RunningRow.RELEASED] = NONE
    memory[place + RunningRow.RELEASED_COUNT] = 0
    memory[place + RunningRow.ANCHOR] = memory[window + WindowRow.REFERENCE]
    memory[place + RunningRow.DUE] = NEVER
    memory[place + RunningRow.GROUP] = NONE
    if memory[window + WindowRow.KEY_COUNT] == 0:
        memory[place + RunningRow.GROUP] = new_group(memory, number, NONE)
    start_rate(memory, running)
    if memory[window + WindowRow.IS_EAGER] == 1:
        arm_batch(memory, running)


# -- rows of the source ----------------------------------------------------------------------------


@part
def come(memory, running, event, binding):
    """A row comes from the source."""
    place = at(memory, Region.RUNNING, running)
    plan = at(memory, Region.STATEMENT, memory[place + RunningRow.STATEMENT])
    number = memory[plan + StatementRow.WINDOW]
    window = at(memory, Region.WINDOW, number)
    kind = memory[window + WindowRow.KIND]
    code = memory[plan + StatementRow.WHERE]
    passes = 1 if code == NONE else holds(memory, code, event, binding, NONE)
    if passes < 0:
        return Status.ASK
    if passes == 0 and kind in (WindowKind.UNLIMITED, WindowKind.KEEP_ALL, WindowKind.TIME):
        return Status.DONE
    nulls, key_nulls = 0, 0
    if passes == 1:
        nulls = find_arguments(memory, window, event, binding)
        if nulls < 0:
            return Status.ASK
        key_nulls = find_key(memory, window, event, binding)
        if key_nulls < 0:
            return Status.ASK
    # From here on there are no questions.
    group = memory[place + RunningRow.GROUP]
    if memory[window + WindowRow.KEY_COUNT] > 0:
        group = NONE if passes == 0 else group_of_key(memory, number, running, key_nulls)
    if memory[window + WindowRow.IS_QUICK] == 1 and passes == 1:
        return come_quickly(memory, running, event, binding, group, nulls)
    row = new_item(memory, number, running, event, binding, passes, group, nulls)
    return enter_window(memory, running, row)


@part
def come_quickly(memory, running, event, binding, group, nulls):
    """A row that enters, and the one that leaves for it, where each gives one result at most."""
    place = at(memory, Region.RUNNING, running)
    window = window_of(memory, running)
    kind = memory[window + WindowRow.KIND]
    arguments = memory[TABLE + 4 * Region.ARGUMENT + BEGIN]
    count_in(memory, window, group, nulls, arguments)
    if kind == WindowKind.UNLIMITED:
        return show_quickly(memory, window, group, event, binding, NONE, NONE)
    number = memory[
        at(memory, Region.STATEMENT, memory[place + RunningRow.STATEMENT]) + StatementRow.WINDOW
    ]
    row = new_item(memory, number, running, event, binding, 1, group, nulls)
    append_item(memory, place, row)
    if kind == WindowKind.TIME:
        add_due(memory, window, row)
    elif memory[place + RunningRow.COUNT] > memory[window + WindowRow.SIZE]:
        oldest = memory[place + RunningRow.FIRST]
        item = at(memory, Region.ITEM, oldest)
        old_group, old_event = memory[item + ItemRow.GROUP], memory[item + ItemRow.EVENT]
        old_binding = memory[item + ItemRow.BINDING]
        passed = memory[item + ItemRow.PASSES]
        take_oldest(memory, place, 1)
        leave_quickly(memory, window, oldest)
        status = show_quickly(memory, window, group, event, binding, NONE, NONE)
        if status != Status.DONE or old_group == group or passed == 0:
            return status
        return show_quickly(memory, window, old_group, old_event, old_binding, NONE, NONE)
    return show_quickly(memory, window, group, event, binding, NONE, NONE)


@part
def leave_quickly(memory, window, row):
    item = at(memory, Region.ITEM, row)
    if memory[item + ItemRow.PASSES] == 1:
        count_out(
            memory,
            window,
            memory[item + ItemRow.GROUP],
            memory[item + ItemRow.NULLS],
            item + ItemRow.ARGUMENTS,
        )
    free_item(memory, row)


@part
def show_quickly(memory, window, group, event, binding, stream, key):
    result = result_of(memory, window, group, event, binding, 0)
    if result < 0:
        return Status.DONE
    return emit(memory, memory[window + WindowRow.STATEMENT], result, NEW, stream, key)


@part
def new_item(memory, number, running, event, binding, passes, group, nulls):
    """The arguments of the aggregates lie in ARGUMENT."""
    window = at(memory, Region.WINDOW, number)
    row = take_row(memory, Region.ITEM)
    item = at(memory, Region.ITEM, row)
    memory[item + ItemRow.NEXT] = NONE
    memory[item + ItemRow.WINDOW] = number
    memory[item + ItemRow.RUNNING] = running
    is_read = memory[window + WindowRow.READS_ROWS] == 1
    memory[item + ItemRow.EVENT] = event if is_read else NONE
    memory[item + ItemRow.BINDING] = binding if is_read else NONE
    memory[item + ItemRow.KEY] = NONE
    if memory[Head.KEYED] == 1:
        memory[item + ItemRow.KEY] = base_key(memory, memory[window + WindowRow.STATEMENT])
    memory[item + ItemRow.PASSES] = passes
    memory[item + ItemRow.GROUP] = group
    memory[item + ItemRow.NULLS] = nulls
    arguments = memory[TABLE + 4 * Region.ARGUMENT + BEGIN]
    for i in range(memory[window + WindowRow.AGGREGATE_COUNT]):
        memory[item + ItemRow.ARGUMENTS + i] = memory[arguments + i]
    if group != NONE:
        memory[at(memory, Region.GROUP, group) + GroupRow.ITEMS] += 1
    return row


@part
def enter_window(memory, running, row):
    place = at(memory, Region.RUNNING, running)
    window = window_of(memory, running)
    kind = memory[window + WindowRow.KIND]
    if kind == WindowKind.UNLIMITED:
        return begin_delta(memory, running, row, 1, NONE, 0)
    append_item(memory, place, row)
    if kind == WindowKind.KEEP_ALL:
        return begin_delta(memory, running, row, 1, NONE, 0)
    if kind == WindowKind.TIME:
        add_due(memory, window, row)
        return begin_delta(memory, running, row, 1, NONE, 0)
    if kind == WindowKind.LENGTH:
        if memory[place + RunningRow.COUNT] <= memory[window + WindowRow.SIZE]:
            return begin_delta(memory, running, row, 1, NONE, 0)
        oldest = memory[place + RunningRow.FIRST]
        take_oldest(memory, place, 1)
        return begin_delta(memory, running, row, 1, oldest, 1)
    if kind == WindowKind.LENGTH_BATCH:
        if memory[place + RunningRow.COUNT] == memory[window + WindowRow.SIZE]:
            return release(memory, running)
    elif memory[place + RunningRow.DUE] == NEVER:
        arm_batch(memory, running)
    return Status.DONE


@part
def append_item(memory, running, row):
    table = TABLE + 4 * Region.ITEM
    begin, width = memory[table + BEGIN], memory[table + WIDTH]
    first, last = running + RunningRow.FIRST, running + RunningRow.LAST
    append(memory, begin, width, ItemRow.NEXT, first, last, row)
    memory[running + RunningRow.COUNT] += 1


@part
def take_oldest(memory, running, count):
    """Takes the oldest items out of a list; they still know which comes after them."""
    for _ in range(count):
        memory[running + RunningRow.FIRST] = memory[
            at(memory, Region.ITEM, memory[running + RunningRow.FIRST]) + ItemRow.NEXT
        ]
    if memory[running + RunningRow.FIRST] == NONE:
        memory[running + RunningRow.LAST] = NONE
    memory[running + RunningRow.COUNT] -= count


@part
def release(memory, running):
    """What was gathered enters, and the batch before leaves."""
    place = at(memory, Region.RUNNING, running)
    new, new_count = memory[place + RunningRow.FIRST], memory[place + RunningRow.COUNT]
    old, old_count = memory[place + RunningRow.RELEASED], memory[place + RunningRow.RELEASED_COUNT]
    memory[place + RunningRow.RELEASED] = new
    memory[place + RunningRow.RELEASED_COUNT] = new_count
    memory[place + RunningRow.FIRST] = NONE
    memory[place + RunningRow.LAST] = NONE
    memory[place + RunningRow.COUNT] = 0
    return begin_delta(memory, running, new, new_count, old, old_count)


# -- time ------------------------------------------------------------------------------------------
# The items of a time window leave in the order in which they came, over all partitions, because the
# period is the same. So the first of them says when something happens next.


@part
def add_due(memory, window, row):
    """An item of a time window will leave."""
    item = at(memory, Region.ITEM, row)
    due = memory[CLOCK] + memory[window + WindowRow.PERIOD]
    memory[item + ItemRow.DUE] = due
    memory[Head.NEXT_DUE] = min(memory[Head.NEXT_DUE], due)
    if (
        memory[
            at(memory, Region.STATEMENT, memory[window + WindowRow.STATEMENT])
            + StatementRow.HAS_CONTEXT
        ]
        == 0
    ):
        return
    table = TABLE + 4 * Region.ITEM
    begin, width = memory[table + BEGIN], memory[table + WIDTH]
    first, last = window + WindowRow.ITEMS, window + WindowRow.LAST_ITEM
    append(memory, begin, width, ItemRow.LATER, first, last, row)


@part
def arm_batch(memory, running):
    """Arms for the end of the running period."""
    place = at(memory, Region.RUNNING, running)
    window = window_of(memory, running)
    if memory[place + RunningRow.ANCHOR] == START:
        memory[place + RunningRow.ANCHOR] = memory[CLOCK]
    period, months = memory[window + WindowRow.PERIOD], memory[window + WindowRow.MONTHS]
    due = next_boundary(memory[place + RunningRow.ANCHOR], period, months, memory[CLOCK])
    arm_running(memory, window, running, due, TimerStage.WINDOW)


@part
def window_due(memory, window):
    """When the first timer of a statement's windows falls due."""
    due = first_armed(memory, window, TimerStage.WINDOW)
    if due != NEVER or memory[window + WindowRow.KIND] != WindowKind.TIME:
        return due
    row = first_item(memory, window)
    return NEVER if row == NONE else memory[at(memory, Region.ITEM, row) + ItemRow.DUE]


@part
def first_item(memory, window):
    """Of a statement with a time window, the first to leave."""
    plan = at(memory, Region.STATEMENT, memory[window + WindowRow.STATEMENT])
    if memory[plan + StatementRow.HAS_CONTEXT] == 1:
        return memory[window + WindowRow.ITEMS]
    return memory[
        at(memory, Region.RUNNING, memory[plan + StatementRow.RUNNING]) + RunningRow.FIRST
    ]


@part
def next_window(memory, due):
    """Of the statements whose windows or rates fall due now, the first; NONE: there is none."""
    for number in range(memory[TABLE + 4 * Region.WINDOW + USED]):
        window = at(memory, Region.WINDOW, number)
        if window_due(memory, window) == due or first_armed(memory, window, TimerStage.RATE) == due:
            return number
    return NONE


@part
def fire_first(memory, number, due):
    """The first timer of a statement's windows fires, or if none is due, of its rates."""
    window = at(memory, Region.WINDOW, number)
    memory[Head.TIMER] = 0
    if window_due(memory, window) == due:
        memory[Head.STAGE] = TimerStage.WINDOW
        memory[Head.FIRING] = firing_of(memory, number)
        return fire_window(memory, memory[Head.FIRING])
    memory[Head.STAGE] = TimerStage.RATE
    memory[Head.FIRING] = disarm_first(memory, window, TimerStage.RATE)
    return fire_rate(memory, memory[Head.FIRING])


@part
def firing_of(memory, number):
    """The running statement of which the first timer fires."""
    window = at(memory, Region.WINDOW, number)
    plan = at(memory, Region.STATEMENT, memory[window + WindowRow.STATEMENT])
    if memory[window + WindowRow.KIND] == WindowKind.TIME:
        if memory[plan + StatementRow.HAS_CONTEXT] == 0:
            return memory[plan + StatementRow.RUNNING]
        arm_due(memory, window)
    return disarm_first(memory, window, TimerStage.WINDOW)


@part
def arm_due(memory, window):
    """The partitions that items leave now."""
    row = memory[window + WindowRow.ITEMS]
    while row != NONE and memory[at(memory, Region.ITEM, row) + ItemRow.DUE] <= memory[CLOCK]:
        item = at(memory, Region.ITEM, row)
        running = memory[item + ItemRow.RUNNING]
        if memory[at(memory, Region.RUNNING, running) + RunningRow.DUE] == NEVER:
            arm_running(memory, window, running, memory[CLOCK], TimerStage.WINDOW)
        row = memory[item + ItemRow.LATER]
    memory[window + WindowRow.ITEMS] = row
    if row == NONE:
        memory[window + WindowRow.LAST_ITEM] = NONE


@part
def fire_window(memory, running):
    """The timer of a window fires; it is disarmed already."""
    place = at(memory, Region.RUNNING, running)
    window = window_of(memory, running)
    if memory[window + WindowRow.KIND] == WindowKind.TIME_BATCH:
        if memory[place + RunningRow.COUNT] > 0 or memory[window + WindowRow.IS_FORCED] == 1:
            arm_batch(memory, running)
        return release(memory, running)
    first, count = memory[place + RunningRow.FIRST], 0
    row = first
    while row != NONE and memory[at(memory, Region.ITEM, row) + ItemRow.DUE] <= memory[CLOCK]:
        count += 1
        row = memory[at(memory, Region.ITEM, row) + ItemRow.NEXT]
    take_oldest(memory, place, count)
    if memory[window + WindowRow.IS_QUICK] == 1 and (
        count == 1 or memory[window + WindowRow.SHAPE] == RowShape.BY_TOTAL
    ):
        item = at(memory, Region.ITEM, first)
        group, event, binding = (
            memory[item + ItemRow.GROUP],
            memory[item + ItemRow.EVENT],
            memory[item + ItemRow.BINDING],
        )
        key, row = memory[item + ItemRow.KEY], first
        for _ in range(count):
            following = memory[at(memory, Region.ITEM, row) + ItemRow.NEXT]
            leave_quickly(memory, window, row)
            row = following
        return show_quickly(memory, window, group, event, binding, 1, key)
    return begin_delta(memory, running, NONE, 0, first, count)
