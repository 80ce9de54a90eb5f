"""Deltas: what a statement makes of the items that enter and leave its window together.

A delta is processed in phases, each over one list; between two of its elements processing can stop,
to get more room or to ask Python, and be taken up again.
"""

from __future__ import annotations

from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import EVENT, give_back, has_room, push
from cepheid.matcher.vm.memory.layout import NONE, at
from cepheid.matcher.vm.memory.tables import (
    ALL_GROUPS,
    ASK,
    BY_GROUP,
    BY_ROW,
    BY_ROW_AND_GROUP,
    BY_TOTAL,
    D_BY_ROW,
    D_CURSOR,
    D_IS_PAST,
    D_LAST_LEAVING,
    D_LAST_SHOWN,
    D_LAST_TOUCHED,
    D_LEAVING,
    D_LEFT,
    D_LETS_OUT,
    D_NEW,
    D_NEW_COUNT,
    D_NEW_PASSED,
    D_OLD,
    D_OLD_COUNT,
    D_OLD_PASSED,
    D_PHASE,
    D_RUNNING,
    D_SHOWN,
    D_SHOWN_OLD,
    D_STAMP,
    D_TOUCHED,
    D_TOUCHED_COUNT,
    DIRECT,
    DONE,
    FIRST_OF_GROUP,
    G_BINDING,
    G_EVENT,
    G_FOLLOWING,
    G_IS_KEPT,
    G_IS_LEAVING,
    G_IS_SEEN,
    G_ITEMS,
    G_KEY,
    G_LAST_BINDING,
    G_LAST_EVENT,
    G_NEXT,
    G_NEXT_LEFT,
    G_SHOWN,
    G_STAMP,
    GROUP,
    I_ARGUMENTS,
    I_BINDING,
    I_EVENT,
    I_GROUP,
    I_KEY,
    I_NEXT,
    I_NULLS,
    I_PASSES,
    I_WINDOW,
    ITEM,
    LENGTH_BATCH,
    O_EVENT,
    O_IS_LEAVING,
    O_KEY,
    O_NEXT,
    OUTPUT,
    PROCESS,
    R_COUNT,
    R_FIRST,
    R_GROUP,
    R_GROUP_COUNT,
    R_GROUPS,
    R_LAST_GROUP,
    R_RELEASED,
    R_RELEASED_COUNT,
    R_STATEMENT,
    RUNNING,
    S_WHERE,
    S_WINDOW,
    SNAPSHOTS,
    STAGE,
    STATEMENT,
    TIME_BATCH,
    TIMER,
    UNLIMITED,
    V_COLLECTS,
    V_DISTINCT_OWNER,
    V_KEEPS_GROUPS,
    V_KIND,
    V_NEEDS_OLD,
    V_ORDER_COUNT,
    V_RATE,
    V_SHAPE,
    V_SPEAKS_UNASKED,
    V_STATEMENT,
    V_TAKES_CELLS,
    WINDOW,
    WINDOW_STAGE,
)
from cepheid.matcher.vm.rows.output import (
    append_output,
    arm_rate,
    arrange,
    ends_silence,
    free_output,
    is_past_after,
    keep_if_distinct,
    let_out,
    new_output,
    replace,
    settle,
    show,
)
from cepheid.matcher.vm.rows.results import CLOCK, INSTANT, NEW, REMOVED, emit
from cepheid.matcher.vm.rows.selection import QUESTION, count_in, count_out, result_of

# The phases of a delta.
(
    TOUCH_NEW,  # what groups show before it
    TOUCH_OLD,
    APPLY_NEW,  # items count, or count no more
    APPLY_OLD,
    SHOW_NEW,  # results
    SHOW_OLD,
    PRESENT,  # groups that rows have left, where all groups are shown
    SETTLE,  # the output rate
    RELEASE,  # what the rate says beside what waited
    DISTINCT_NEW,
    DISTINCT_OLD,
    ARRANGE,
    EMIT_NEW,
    EMIT_OLD,
) = range(14)


@part
def window_of(memory, running):
    statement = memory[at(memory, RUNNING, running) + R_STATEMENT]
    return at(memory, WINDOW, memory[at(memory, STATEMENT, statement) + S_WINDOW])


@part
def free_item(memory, row):
    item = at(memory, ITEM, row)
    group = memory[item + I_GROUP]
    if group != NONE:
        memory[at(memory, GROUP, group) + G_ITEMS] -= 1
    memory[item + I_WINDOW] = NONE
    give_back(memory, ITEM, row)


@part
def shows_groups(memory, window):
    """Whether one row of the result stands for many items."""
    return memory[window + V_SHAPE] in (BY_TOTAL, BY_GROUP)


# -- beginning and going on ------------------------------------------------------------------------


@part
def begin_delta(memory, running, new, new_count, old, old_count):
    """Processes what enters and leaves, or begins to."""
    window = window_of(memory, running)
    memory[D_NEW] = new
    memory[D_NEW_COUNT] = new_count
    memory[D_OLD] = old
    memory[D_OLD_COUNT] = old_count
    memory[D_NEW_PASSED] = count_passed(memory, window, new, new_count)
    memory[D_OLD_PASSED] = count_passed(memory, window, old, old_count)
    if new_count + old_count > 0 and memory[D_NEW_PASSED] + memory[D_OLD_PASSED] == 0:
        for _ in range(old_count):
            after = memory[at(memory, ITEM, old) + I_NEXT]
            free_item(memory, old)
            old = after
        return DONE
    clear(memory, running)
    rate = memory[window + V_RATE]
    if rate == DIRECT:
        is_fired = memory[TIMER] != NONE and memory[STAGE] == WINDOW_STAGE
        memory[D_BY_ROW] = 1 if is_fired and memory[window + V_ORDER_COUNT] == 0 else 0
    elif not is_past_after(memory, window, running, memory[D_NEW_PASSED]):
        memory[D_IS_PAST] = 0
    needs_before = memory[window + V_NEEDS_OLD] == 1 and rate != FIRST_OF_GROUP
    first = TOUCH_NEW if needs_before and shows_groups(memory, window) else APPLY_NEW
    begin_phase(memory, window, first)
    if new_count + old_count == 0 and memory[window + V_SHAPE] == BY_TOTAL:
        memory[D_LEFT] = 1  # a delivery that is forced shows the total, without a row
    return process(memory, 1)


@part
def clear(memory, running):
    """Nothing has been done yet."""
    memory[D_RUNNING] = running
    memory[D_STAMP] += 1
    memory[D_TOUCHED] = NONE
    memory[D_TOUCHED_COUNT] = 0
    memory[D_SHOWN] = NONE
    memory[D_SHOWN_OLD] = NONE
    memory[D_LEAVING] = NONE
    memory[D_BY_ROW] = 0
    memory[D_IS_PAST] = 1
    memory[D_LETS_OUT] = 0


@part
def fire_rate(memory, running):
    """The timer of an output rate fires; it is disarmed already."""
    window = window_of(memory, running)
    if memory[window + V_SPEAKS_UNASKED] == 1:
        arm_rate(memory, window, running)
    clear(memory, running)
    memory[D_NEW] = NONE
    let_out(memory, window, running)
    if memory[D_LETS_OUT] == 0:
        return DONE
    begin_phase(memory, window, RELEASE)
    return process(memory, 1)


@part
def count_passed(memory, window, row, count):
    if memory[at(memory, STATEMENT, memory[window + V_STATEMENT]) + S_WHERE] == NONE:
        return count
    passed = 0
    for _ in range(count):
        item = at(memory, ITEM, row)
        passed += memory[item + I_PASSES]
        row = memory[item + I_NEXT]
    return passed


@part
def begin_phase(memory, window, phase):
    """Where a phase begins, and how many elements it has; at least one means: until it is over."""
    memory[D_PHASE] = phase
    memory[D_CURSOR] = NONE
    memory[D_LEFT] = 0
    if phase in (TOUCH_NEW, APPLY_NEW, SHOW_NEW):
        speaks_of_items = memory[window + V_RATE] == FIRST_OF_GROUP
        if phase == SHOW_NEW and shows_groups(memory, window) and not speaks_of_items:
            memory[D_CURSOR] = memory[D_TOUCHED]
            memory[D_LEFT] = memory[D_TOUCHED_COUNT]
        else:
            memory[D_CURSOR] = memory[D_NEW]
            memory[D_LEFT] = memory[D_NEW_COUNT]
    elif phase in (TOUCH_OLD, APPLY_OLD):
        memory[D_CURSOR] = memory[D_OLD]
        memory[D_LEFT] = memory[D_OLD_COUNT]
    elif phase == SHOW_OLD:
        if keeps_leaving(memory, window):
            memory[D_CURSOR] = memory[D_OLD]
            memory[D_LEFT] = memory[D_OLD_COUNT]
    elif phase == RELEASE:
        if memory[D_LETS_OUT] == 1:
            begin_release(memory, window)
    elif phase in (SETTLE, ARRANGE):
        memory[D_LEFT] = memory[window + V_COLLECTS]
    elif phase == PRESENT:
        begin_list(memory, memory[D_LEAVING])
    elif phase in (DISTINCT_NEW, EMIT_NEW):
        begin_list(memory, memory[D_SHOWN])
    else:
        begin_list(memory, memory[D_SHOWN_OLD])
    if phase in (DISTINCT_NEW, DISTINCT_OLD) and memory[window + V_DISTINCT_OWNER] == NONE:
        memory[D_LEFT] = 0


@part
def begin_list(memory, first):
    memory[D_CURSOR] = first
    memory[D_LEFT] = 0 if first == NONE else 1


@part
def keeps_leaving(memory, window):
    """Whether items are looked at after they have left."""
    if memory[window + V_RATE] == FIRST_OF_GROUP:
        return True
    return memory[window + V_NEEDS_OLD] == 1 and not shows_groups(memory, window)


@part
def process(memory, has_begun):
    """Goes on with the delta at hand."""
    window = window_of(memory, memory[D_RUNNING])
    last = EMIT_OLD
    if memory[window + V_COLLECTS] == 0 and memory[D_SHOWN_OLD] == NONE:
        last = SHOW_OLD
    while True:
        if memory[D_LEFT] == 0:
            if memory[D_PHASE] >= last and memory[D_SHOWN_OLD] == NONE:
                finish(memory, window)
                return DONE
            begin_phase(memory, window, memory[D_PHASE] + 1)
            continue
        if not has_room(memory):
            push(memory, PROCESS, 0, 0, 0, 0)
            return DONE
        if memory[D_PHASE] in (APPLY_NEW, APPLY_OLD):
            apply_all(memory, window, memory[D_PHASE] == APPLY_OLD)
            has_begun = 1
            continue
        status = process_one(memory, window)
        if status == ASK:
            if has_begun == 0:
                return ASK
            push(memory, PROCESS, 0, 0, 0, 0)
            return DONE
        if status != DONE:
            return status
        has_begun = 1


@part
def finish(memory, window):
    if memory[window + V_KIND] == UNLIMITED and memory[D_NEW] != NONE:
        free_item(memory, memory[D_NEW])


@part
def process_one(memory, window):
    """The next element of a phase."""
    phase, row = memory[D_PHASE], memory[D_CURSOR]
    if phase <= SHOW_OLD:
        return process_item(memory, window, phase, row)
    if phase == EMIT_NEW:
        return emit_shown(memory, window, D_SHOWN, NEW)
    if phase == EMIT_OLD:
        return emit_shown(memory, window, D_SHOWN_OLD, REMOVED)
    if phase == PRESENT:
        return present_left(memory, window, row)
    if phase == RELEASE:
        return release_one(memory, window, row)
    if phase == DISTINCT_NEW:
        keep_if_distinct(memory, window, D_SHOWN)
        return DONE
    if phase == DISTINCT_OLD:
        keep_if_distinct(memory, window, D_SHOWN_OLD)
        return DONE
    if phase == ARRANGE:
        arrange(memory, window, D_SHOWN)
        arrange(memory, window, D_SHOWN_OLD)
    elif settle(memory, window) != DONE:
        return ASK
    memory[D_LEFT] = 0
    return DONE


@part
def process_item(memory, window, phase, row):
    speaks_of_items = memory[window + V_RATE] == FIRST_OF_GROUP
    if phase == SHOW_NEW and shows_groups(memory, window) and not speaks_of_items:
        return show_group(memory, window, row)
    following = NONE if row == NONE else memory[at(memory, ITEM, row) + I_NEXT]
    if row == NONE or memory[at(memory, ITEM, row) + I_PASSES] == 1:
        if phase in (SHOW_NEW, SHOW_OLD):
            status = show_item(memory, window, row, phase == SHOW_OLD)
            if status != DONE:
                return status
        elif not touch_before(memory, window, row, phase == TOUCH_OLD):
            return ASK
    if phase == SHOW_OLD:
        free_item(memory, row)
    memory[D_CURSOR] = following
    memory[D_LEFT] -= 1
    return DONE


# -- groups ----------------------------------------------------------------------------------------


@part
def apply_all(memory, window, is_leaving):
    """Lets the items of the phase count, or count no more, as far as there is room."""
    shape = memory[window + V_SHAPE]
    is_grouped = shows_groups(memory, window)
    frees = is_leaving and not keeps_leaving(memory, window)
    takes_cells = memory[window + V_TAKES_CELLS] == 1 and not is_leaving
    keeps_groups = memory[window + V_KEEPS_GROUPS] == 1
    row = memory[D_CURSOR]
    if row == NONE:  # a delivery that is forced
        touch(memory, row, is_leaving)
        memory[D_LEFT] = 0
        return
    left = memory[D_LEFT]
    while left > 0:
        item = at(memory, ITEM, row)
        following = memory[item + I_NEXT]
        if memory[item + I_PASSES] == 1 and shape != BY_ROW:
            if is_grouped:
                touch(memory, row, is_leaving)
            if keeps_groups:
                keep_group(memory, window, row, is_leaving)
            group, nulls = memory[item + I_GROUP], memory[item + I_NULLS]
            if is_leaving:
                count_out(memory, window, group, nulls, item + I_ARGUMENTS)
            else:
                count_in(memory, window, group, nulls, item + I_ARGUMENTS)
        if frees:
            free_item(memory, row)
        row = following
        left -= 1
        if takes_cells and not has_room(memory):
            break
    memory[D_CURSOR] = row
    memory[D_LEFT] = left


@part
def keep_group(memory, window, row, is_leaving):
    """Remembers the last row of a group, and which groups were seen and left."""
    item = at(memory, ITEM, row)
    number = memory[item + I_GROUP]
    group = at(memory, GROUP, number)
    if memory[window + V_RATE] == ALL_GROUPS and memory[window + V_SHAPE] == BY_ROW_AND_GROUP:
        memory[group + G_IS_SEEN] = 1
        if is_leaving and memory[group + G_STAMP] != memory[D_STAMP]:
            memory[group + G_STAMP] = memory[D_STAMP]
            memory[group + G_NEXT_LEFT] = NONE
            if memory[D_LEAVING] == NONE:
                memory[D_LEAVING] = number
            else:
                memory[at(memory, GROUP, memory[D_LAST_LEAVING]) + G_NEXT_LEFT] = number
            memory[D_LAST_LEAVING] = number
    if is_leaving:
        return
    memory[group + G_LAST_EVENT] = memory[item + I_EVENT]
    memory[group + G_LAST_BINDING] = memory[item + I_BINDING]
    if memory[group + G_IS_KEPT] == 1:
        return
    memory[group + G_IS_KEPT] = 1
    memory[group + G_FOLLOWING] = NONE
    running = at(memory, RUNNING, memory[D_RUNNING])
    if memory[running + R_GROUPS] == NONE:
        memory[running + R_GROUPS] = number
    else:
        memory[at(memory, GROUP, memory[running + R_LAST_GROUP]) + G_FOLLOWING] = number
    memory[running + R_LAST_GROUP] = number
    memory[running + R_GROUP_COUNT] += 1


@part
def group_of_item(memory, row):
    if row == NONE:
        return memory[at(memory, RUNNING, memory[D_RUNNING]) + R_GROUP]
    return memory[at(memory, ITEM, row) + I_GROUP]


@part
def touch(memory, row, is_leaving):
    """The group of an item is touched by the delta; the first item stands for it."""
    number = group_of_item(memory, row)
    group = at(memory, GROUP, number)
    if memory[group + G_STAMP] == memory[D_STAMP]:
        return
    memory[group + G_STAMP] = memory[D_STAMP]
    memory[group + G_NEXT] = NONE
    memory[group + G_IS_LEAVING] = 1 if is_leaving else 0
    if row == NONE:
        memory[group + G_EVENT] = NONE
        memory[group + G_BINDING] = NONE
        memory[group + G_KEY] = NONE
    else:
        item = at(memory, ITEM, row)
        memory[group + G_EVENT] = memory[item + I_EVENT]
        memory[group + G_BINDING] = memory[item + I_BINDING]
        memory[group + G_KEY] = memory[item + I_KEY]
    if memory[D_TOUCHED] == NONE:
        memory[D_TOUCHED] = number
    else:
        memory[at(memory, GROUP, memory[D_LAST_TOUCHED]) + G_NEXT] = number
    memory[D_LAST_TOUCHED] = number
    memory[D_TOUCHED_COUNT] += 1


@part
def touch_before(memory, window, row, is_leaving):
    """Touches a group, and keeps what it shows before the delta; False: a question."""
    number = group_of_item(memory, row)
    group = at(memory, GROUP, number)
    if memory[group + G_STAMP] == memory[D_STAMP]:
        return True
    event, binding, key = NONE, NONE, NONE
    if row != NONE:
        item = at(memory, ITEM, row)
        event, binding, key = memory[item + I_EVENT], memory[item + I_BINDING], memory[item + I_KEY]
    result = result_of(memory, window, number, event, binding, 1)
    if result == QUESTION:
        return False
    touch(memory, row, is_leaving)
    if result >= 0:
        show(memory, window, result, number, key, 1 if is_leaving else 0, 1)
    return True


# -- results ---------------------------------------------------------------------------------------


@part
def show_group(memory, window, number):
    group = at(memory, GROUP, number)
    event, binding = memory[group + G_EVENT], memory[group + G_BINDING]
    result = result_of(memory, window, number, event, binding, 0)
    if result == QUESTION:
        return ASK
    memory[D_CURSOR] = memory[group + G_NEXT]
    memory[D_LEFT] -= 1
    if result < 0:
        return DONE
    key, is_leaving = memory[group + G_KEY], memory[group + G_IS_LEAVING]
    return put(memory, window, result, number, key, is_leaving, 0)


@part
def show_item(memory, window, row, is_old):
    item = at(memory, ITEM, row)
    event, binding = memory[item + I_EVENT], memory[item + I_BINDING]
    group, key = memory[item + I_GROUP], memory[item + I_KEY]
    if memory[window + V_RATE] == FIRST_OF_GROUP:
        return speak(memory, window, row, not is_old)
    result = result_of(memory, window, group, event, binding, 1 if is_old else 0)
    if result == QUESTION:
        return ASK
    if result < 0:
        return DONE
    stream = 1 if is_old else 0
    return put(memory, window, result, group, key, stream, stream)


@part
def speak(memory, window, row, is_new):
    """What the group of an item shows now, if its silence is over."""
    if memory[D_IS_PAST] == 0:
        return DONE
    item = at(memory, ITEM, row)
    number = memory[item + I_GROUP]
    result = result_of(memory, window, number, memory[item + I_EVENT], memory[item + I_BINDING], 0)
    if result == QUESTION:
        return ASK
    if result < 0 or not ends_silence(memory, window, number, is_new):
        return DONE
    output = new_output(memory, window, result, number, NONE, 0)
    waiting = at(memory, GROUP, number) + G_SHOWN
    if memory[waiting] == NONE:
        memory[waiting] = output
        append_output(memory, D_SHOWN, D_LAST_SHOWN, output)
    else:
        replace(memory, memory[waiting], output)
        free_output(memory, output)
    return DONE


@part
def put(memory, window, event, group, key, is_leaving, is_old):
    """A result goes out, or waits for the end of the delta."""
    if memory[window + V_COLLECTS] == 1:
        show(memory, window, event, group, key, is_leaving, is_old)
        return DONE
    return emit_placed(memory, window, event, REMOVED if is_old == 1 else NEW, key, is_leaving)


@part
def emit_shown(memory, window, head, stream):
    """The first of the outputs that wait goes out."""
    row = memory[head]
    output = at(memory, OUTPUT, row)
    event, key = memory[output + O_EVENT], memory[output + O_KEY]
    is_leaving = memory[output + O_IS_LEAVING]
    memory[head] = memory[output + O_NEXT]
    free_output(memory, row)
    begin_list(memory, memory[head])
    memory[at(memory, EVENT, event) + INSTANT] = memory[CLOCK]  # it may have waited for long
    return emit_placed(memory, window, event, stream, key, is_leaving)


@part
def emit_placed(memory, window, event, stream, key, is_leaving):
    """A row goes out; if a window's timer brought it, at the place of the item it stands for."""
    place = NONE
    if memory[D_BY_ROW] == 1:
        place = (2 if stream == REMOVED else 0) + is_leaving
    return emit(memory, memory[window + V_STATEMENT], event, stream, place, key)


# -- what a rate says beside what waited -----------------------------------------------------------


@part
def present(memory, window, number):
    """What a group shows now, by the last row that entered it; False: a question."""
    group = at(memory, GROUP, number)
    event, binding = memory[group + G_LAST_EVENT], memory[group + G_LAST_BINDING]
    result = result_of(memory, window, number, event, binding, 0)
    if result == QUESTION:
        return False
    if result >= 0:
        show(memory, window, result, number, NONE, 0, 0)
    return True


@part
def present_left(memory, window, number):
    if not present(memory, window, number):
        return ASK
    begin_list(memory, memory[at(memory, GROUP, number) + G_NEXT_LEFT])
    return DONE


@part
def begin_release(memory, window):
    running = at(memory, RUNNING, memory[D_RUNNING])
    rate, shape = memory[window + V_RATE], memory[window + V_SHAPE]
    is_snapshot = rate == SNAPSHOTS
    memory[D_STAMP] += 1
    if shape == BY_TOTAL:
        is_empty = memory[D_SHOWN] == NONE and memory[D_SHOWN_OLD] == NONE
        memory[D_LEFT] = 1 if is_snapshot or is_empty else 0
    elif memory[window + V_KEEPS_GROUPS] == 1:
        begin_list(memory, memory[running + R_GROUPS])
    elif is_snapshot:
        if memory[window + V_KIND] in (LENGTH_BATCH, TIME_BATCH):
            memory[D_CURSOR] = memory[running + R_RELEASED]
            memory[D_LEFT] = memory[running + R_RELEASED_COUNT]
        elif memory[window + V_KIND] != UNLIMITED:
            memory[D_CURSOR] = memory[running + R_FIRST]
            memory[D_LEFT] = memory[running + R_COUNT]


@part
def release_one(memory, window, row):
    if memory[window + V_SHAPE] == BY_TOTAL:
        return release_total(memory, window)
    if memory[window + V_KEEPS_GROUPS] == 1:
        group = at(memory, GROUP, row)
        if memory[group + G_IS_SEEN] == 0 and not present(memory, window, row):
            return ASK
        memory[group + G_IS_SEEN] = 0
        begin_list(memory, memory[group + G_FOLLOWING])
        return DONE
    item = at(memory, ITEM, row)
    if memory[item + I_PASSES] == 1 and not release_item(memory, window, row):
        return ASK
    memory[D_CURSOR] = memory[item + I_NEXT]
    memory[D_LEFT] -= 1
    return DONE


@part
def release_total(memory, window):
    """The aggregates as they are; where nothing waited, as the old row, too."""
    group = memory[at(memory, RUNNING, memory[D_RUNNING]) + R_GROUP]
    new = result_of(memory, window, group, NONE, NONE, 0)
    if new == QUESTION:
        return ASK
    if new >= 0:
        if memory[window + V_RATE] != SNAPSHOTS and memory[window + V_NEEDS_OLD] == 1:
            old = result_of(memory, window, group, NONE, NONE, 0)
            if old == QUESTION:
                return ASK
            show(memory, window, old, group, NONE, 0, 1)
        show(memory, window, new, group, NONE, 0, 0)
    memory[D_LEFT] = 0
    return DONE


@part
def release_item(memory, window, row):
    """A row that counts now, or its group, once; False: a question."""
    item = at(memory, ITEM, row)
    number = memory[item + I_GROUP]
    is_grouped = memory[window + V_SHAPE] == BY_GROUP
    if is_grouped and memory[at(memory, GROUP, number) + G_STAMP] == memory[D_STAMP]:
        return True
    event, binding = memory[item + I_EVENT], memory[item + I_BINDING]
    result = result_of(memory, window, number, event, binding, 0)
    if result == QUESTION:
        return False
    if is_grouped:
        memory[at(memory, GROUP, number) + G_STAMP] = memory[D_STAMP]
    if result >= 0:
        show(memory, window, result, number, NONE, 0, 0)
    return True
