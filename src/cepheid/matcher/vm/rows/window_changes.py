"""Deltas: what a statement makes of the items that enter and leave its window together.

A delta is processed in phases, each over one list; between two of its elements processing can stop,
to get more room or to ask Python, and be taken up again.
"""

from __future__ import annotations

from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import EVENT, give_back, has_room, push
from cepheid.matcher.vm.memory.layout import NONE, Head, Region, at
from cepheid.matcher.vm.memory.tables import (
    GroupRow,
    ItemRow,
    OutputRow,
    RateKind,
    RowShape,
    RunningRow,
    StatementRow,
    Status,
    StepKind,
    TimerStage,
    WindowKind,
    WindowRow,
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
    statement = memory[at(memory, Region.RUNNING, running) + RunningRow.STATEMENT]
    return at(
        memory, Region.WINDOW, memory[at(memory, Region.STATEMENT, statement) + StatementRow.WINDOW]
    )


@part
def free_item(memory, row):
    item = at(memory, Region.ITEM, row)
    group = memory[item + ItemRow.GROUP]
    if group != NONE:
        memory[at(memory, Region.GROUP, group) + GroupRow.ITEMS] -= 1
    memory[item + ItemRow.WINDOW] = NONE
    give_back(memory, Region.ITEM, row)


@part
def shows_groups(memory, window):
    """Whether one row of the result stands for many items."""
    return memory[window + WindowRow.SHAPE] in (RowShape.BY_TOTAL, RowShape.BY_GROUP)


# -- beginning and going on ------------------------------------------------------------------------


@part
def begin_delta(memory, running, new, new_count, old, old_count):
    """Processes what enters and leaves, or begins to."""
    window = window_of(memory, running)
    memory[Head.D_NEW] = new
    memory[Head.D_NEW_COUNT] = new_count
    memory[Head.D_OLD] = old
    memory[Head.D_OLD_COUNT] = old_count
    memory[Head.D_NEW_PASSED] = count_passed(memory, window, new, new_count)
    memory[Head.D_OLD_PASSED] = count_passed(memory, window, old, old_count)
    if new_count + old_count > 0 and memory[Head.D_NEW_PASSED] + memory[Head.D_OLD_PASSED] == 0:
        for _ in range(old_count):
            after = memory[at(memory, Region.ITEM, old) + ItemRow.NEXT]
            free_item(memory, old)
            old = after
        return Status.DONE
    clear(memory, running)
    rate = memory[window + WindowRow.RATE]
    if rate == RateKind.DIRECT:
        is_fired = memory[Head.TIMER] != NONE and memory[Head.STAGE] == TimerStage.WINDOW
        memory[Head.D_BY_ROW] = 1 if is_fired and memory[window + WindowRow.ORDER_COUNT] == 0 else 0
    elif not is_past_after(memory, window, running, memory[Head.D_NEW_PASSED]):
        memory[Head.D_IS_PAST] = 0
    needs_before = memory[window + WindowRow.NEEDS_OLD] == 1 and rate != RateKind.FIRST_OF_GROUP
    first = TOUCH_NEW if needs_before and shows_groups(memory, window) else APPLY_NEW
    begin_phase(memory, window, first)
    if new_count + old_count == 0 and memory[window + WindowRow.SHAPE] == RowShape.BY_TOTAL:
        memory[Head.D_LEFT] = 1  # a delivery that is forced shows the total, without a row
    return process(memory, 1)


@part
def clear(memory, running):
    """Nothing has been done yet."""
    memory[Head.D_RUNNING] = running
    memory[Head.D_STAMP] += 1
    memory[Head.D_TOUCHED] = NONE
    memory[Head.D_TOUCHED_COUNT] = 0
    memory[Head.D_SHOWN] = NONE
    memory[Head.D_SHOWN_OLD] = NONE
    memory[Head.D_LEAVING] = NONE
    memory[Head.D_BY_ROW] = 0
    memory[Head.D_IS_PAST] = 1
    memory[Head.D_LETS_OUT] = 0


@part
def fire_rate(memory, running):
    """The timer of an output rate fires; it is disarmed already."""
    window = window_of(memory, running)
    if memory[window + WindowRow.SPEAKS_UNASKED] == 1:
        arm_rate(memory, window, running, 0)
    clear(memory, running)
    memory[Head.D_NEW] = NONE
    let_out(memory, window, running)
    if memory[Head.D_LETS_OUT] == 0:
        return Status.DONE
    begin_phase(memory, window, RELEASE)
    return process(memory, 1)


@part
def count_passed(memory, window, row, count):
    if (
        memory[
            at(memory, Region.STATEMENT, memory[window + WindowRow.STATEMENT]) + StatementRow.WHERE
        ]
        == NONE
    ):
        return count
    passed = 0
    for _ in range(count):
        item = at(memory, Region.ITEM, row)
        passed += memory[item + ItemRow.PASSES]
        row = memory[item + ItemRow.NEXT]
    return passed


@part
def begin_phase(memory, window, phase):
    """Where a phase begins, and how many elements it has; at least one means: until it is over."""
    memory[Head.D_PHASE] = phase
    memory[Head.D_CURSOR] = NONE
    memory[Head.D_LEFT] = 0
    if phase in (TOUCH_NEW, APPLY_NEW, SHOW_NEW):
        speaks_of_items = memory[window + WindowRow.RATE] == RateKind.FIRST_OF_GROUP
        if phase == SHOW_NEW and shows_groups(memory, window) and not speaks_of_items:
            memory[Head.D_CURSOR] = memory[Head.D_TOUCHED]
            memory[Head.D_LEFT] = memory[Head.D_TOUCHED_COUNT]
        else:
            memory[Head.D_CURSOR] = memory[Head.D_NEW]
            memory[Head.D_LEFT] = memory[Head.D_NEW_COUNT]
    elif phase in (TOUCH_OLD, APPLY_OLD):
        memory[Head.D_CURSOR] = memory[Head.D_OLD]
        memory[Head.D_LEFT] = memory[Head.D_OLD_COUNT]
    elif phase == SHOW_OLD:
        if keeps_leaving(memory, window):
            memory[Head.D_CURSOR] = memory[Head.D_OLD]
            memory[Head.D_LEFT] = memory[Head.D_OLD_COUNT]
    elif phase == RELEASE:
        if memory[Head.D_LETS_OUT] == 1:
            begin_release(memory, window)
    elif phase in (SETTLE, ARRANGE):
        memory[Head.D_LEFT] = memory[window + WindowRow.COLLECTS]
    elif phase == PRESENT:
        begin_list(memory, memory[Head.D_LEAVING])
    elif phase in (DISTINCT_NEW, EMIT_NEW):
        begin_list(memory, memory[Head.D_SHOWN])
    else:
        begin_list(memory, memory[Head.D_SHOWN_OLD])
    if phase in (DISTINCT_NEW, DISTINCT_OLD) and memory[window + WindowRow.DISTINCT_OWNER] == NONE:
        memory[Head.D_LEFT] = 0


@part
def begin_list(memory, first):
    memory[Head.D_CURSOR] = first
    memory[Head.D_LEFT] = 0 if first == NONE else 1


@part
def keeps_leaving(memory, window):
    """Whether items are looked at after they have left."""
    if memory[window + WindowRow.RATE] == RateKind.FIRST_OF_GROUP:
        return True
    return memory[window + WindowRow.NEEDS_OLD] == 1 and not shows_groups(memory, window)


@part
def process(memory, has_begun):
    """Goes on with the delta at hand."""
    window = window_of(memory, memory[Head.D_RUNNING])
    last = EMIT_OLD
    if memory[window + WindowRow.COLLECTS] == 0 and memory[Head.D_SHOWN_OLD] == NONE:
        last = SHOW_OLD
    while True:
        if memory[Head.D_LEFT] == 0:
            if memory[Head.D_PHASE] >= last and memory[Head.D_SHOWN_OLD] == NONE:
                finish(memory, window)
                return Status.DONE
            begin_phase(memory, window, memory[Head.D_PHASE] + 1)
            continue
        if not has_room(memory):
            push(memory, StepKind.PROCESS, 0, 0, 0, 0)
            return Status.DONE
        if memory[Head.D_PHASE] in (APPLY_NEW, APPLY_OLD):
            apply_all(memory, window, memory[Head.D_PHASE] == APPLY_OLD)
            has_begun = 1
            continue
        status = process_one(memory, window)
        if status == Status.ASK:
            if has_begun == 0:
                return Status.ASK
            push(memory, StepKind.PROCESS, 0, 0, 0, 0)
            return Status.DONE
        if status != Status.DONE:
            return status
        has_begun = 1


@part
def finish(memory, window):
    if memory[window + WindowRow.KIND] == WindowKind.UNLIMITED and memory[Head.D_NEW] != NONE:
        free_item(memory, memory[Head.D_NEW])


@part
def process_one(memory, window):
    """The next element of a phase."""
    phase, row = memory[Head.D_PHASE], memory[Head.D_CURSOR]
    if phase <= SHOW_OLD:
        return process_item(memory, window, phase, row)
    if phase == EMIT_NEW:
        return emit_shown(memory, window, Head.D_SHOWN, NEW)
    if phase == EMIT_OLD:
        return emit_shown(memory, window, Head.D_SHOWN_OLD, REMOVED)
    if phase == PRESENT:
        return present_left(memory, window, row)
    if phase == RELEASE:
        return release_one(memory, window, row)
    if phase == DISTINCT_NEW:
        keep_if_distinct(memory, window, Head.D_SHOWN)
        return Status.DONE
    if phase == DISTINCT_OLD:
        keep_if_distinct(memory, window, Head.D_SHOWN_OLD)
        return Status.DONE
    if phase == ARRANGE:
        arrange(memory, window, Head.D_SHOWN)
        arrange(memory, window, Head.D_SHOWN_OLD)
    elif settle(memory, window) != Status.DONE:
        return Status.ASK
    memory[Head.D_LEFT] = 0
    return Status.DONE


@part
def process_item(memory, window, phase, row):
    speaks_of_items = memory[window + WindowRow.RATE] == RateKind.FIRST_OF_GROUP
    if phase == SHOW_NEW and shows_groups(memory, window) and not speaks_of_items:
        return show_group(memory, window, row)
    following = NONE if row == NONE else memory[at(memory, Region.ITEM, row) + ItemRow.NEXT]
    if row == NONE or memory[at(memory, Region.ITEM, row) + ItemRow.PASSES] == 1:
        if phase in (SHOW_NEW, SHOW_OLD):
            status = show_item(memory, window, row, phase == SHOW_OLD)
            if status != Status.DONE:
                return status
        elif not touch_before(memory, window, row, phase == TOUCH_OLD):
            return Status.ASK
    if phase == SHOW_OLD:
        free_item(memory, row)
    memory[Head.D_CURSOR] = following
    memory[Head.D_LEFT] -= 1
    return Status.DONE


# -- groups ----------------------------------------------------------------------------------------


@part
def apply_all(memory, window, is_leaving):
    """Lets the items of the phase count, or count no more, as far as there is room."""
    shape = memory[window + WindowRow.SHAPE]
    is_grouped = shows_groups(memory, window)
    frees = is_leaving and not keeps_leaving(memory, window)
    takes_cells = memory[window + WindowRow.TAKES_CELLS] == 1 and not is_leaving
    keeps_groups = memory[window + WindowRow.KEEPS_GROUPS] == 1
    row = memory[Head.D_CURSOR]
    if row == NONE:  # a delivery that is forced
        touch(memory, row, is_leaving)
        memory[Head.D_LEFT] = 0
        return
    left = memory[Head.D_LEFT]
    while left > 0:
        item = at(memory, Region.ITEM, row)
        following = memory[item + ItemRow.NEXT]
        if memory[item + ItemRow.PASSES] == 1 and shape != RowShape.BY_ROW:
            if is_grouped:
                touch(memory, row, is_leaving)
            if keeps_groups:
                keep_group(memory, window, row, is_leaving)
            group, nulls = memory[item + ItemRow.GROUP], memory[item + ItemRow.NULLS]
            if is_leaving:
                count_out(memory, window, group, nulls, item + ItemRow.ARGUMENTS)
            else:
                count_in(memory, window, group, nulls, item + ItemRow.ARGUMENTS)
        if frees:
            free_item(memory, row)
        row = following
        left -= 1
        if takes_cells and not has_room(memory):
            break
    memory[Head.D_CURSOR] = row
    memory[Head.D_LEFT] = left


@part
def keep_group(memory, window, row, is_leaving):
    """Remembers the last row of a group, and which groups were seen and left."""
    item = at(memory, Region.ITEM, row)
    number = memory[item + ItemRow.GROUP]
    group = at(memory, Region.GROUP, number)
    if (
        memory[window + WindowRow.RATE] == RateKind.ALL_GROUPS
        and memory[window + WindowRow.SHAPE] == RowShape.BY_ROW_AND_GROUP
    ):
        memory[group + GroupRow.IS_SEEN] = 1
        if is_leaving and memory[group + GroupRow.STAMP] != memory[Head.D_STAMP]:
            memory[group + GroupRow.STAMP] = memory[Head.D_STAMP]
            memory[group + GroupRow.NEXT_LEFT] = NONE
            if memory[Head.D_LEAVING] == NONE:
                memory[Head.D_LEAVING] = number
            else:
                memory[
                    at(memory, Region.GROUP, memory[Head.D_LAST_LEAVING]) + GroupRow.NEXT_LEFT
                ] = number
            memory[Head.D_LAST_LEAVING] = number
    if is_leaving:
        return
    memory[group + GroupRow.LAST_EVENT] = memory[item + ItemRow.EVENT]
    memory[group + GroupRow.LAST_BINDING] = memory[item + ItemRow.BINDING]
    if memory[group + GroupRow.IS_KEPT] == 1:
        return
    memory[group + GroupRow.IS_KEPT] = 1
    memory[group + GroupRow.FOLLOWING] = NONE
    running = at(memory, Region.RUNNING, memory[Head.D_RUNNING])
    if memory[running + RunningRow.GROUPS] == NONE:
        memory[running + RunningRow.GROUPS] = number
    else:
        memory[
            at(memory, Region.GROUP, memory[running + RunningRow.LAST_GROUP]) + GroupRow.FOLLOWING
        ] = number
    memory[running + RunningRow.LAST_GROUP] = number
    memory[running + RunningRow.GROUP_COUNT] += 1


@part
def group_of_item(memory, row):
    if row == NONE:
        return memory[at(memory, Region.RUNNING, memory[Head.D_RUNNING]) + RunningRow.GROUP]
    return memory[at(memory, Region.ITEM, row) + ItemRow.GROUP]


@part
def touch(memory, row, is_leaving):
    """The group of an item is touched by the delta; the first item stands for it."""
    number = group_of_item(memory, row)
    group = at(memory, Region.GROUP, number)
    if memory[group + GroupRow.STAMP] == memory[Head.D_STAMP]:
        return
    memory[group + GroupRow.STAMP] = memory[Head.D_STAMP]
    memory[group + GroupRow.NEXT] = NONE
    memory[group + GroupRow.IS_LEAVING] = 1 if is_leaving else 0
    if row == NONE:
        memory[group + GroupRow.EVENT] = NONE
        memory[group + GroupRow.BINDING] = NONE
        memory[group + GroupRow.KEY] = NONE
    else:
        item = at(memory, Region.ITEM, row)
        memory[group + GroupRow.EVENT] = memory[item + ItemRow.EVENT]
        memory[group + GroupRow.BINDING] = memory[item + ItemRow.BINDING]
        memory[group + GroupRow.KEY] = memory[item + ItemRow.KEY]
    if memory[Head.D_TOUCHED] == NONE:
        memory[Head.D_TOUCHED] = number
    else:
        memory[at(memory, Region.GROUP, memory[Head.D_LAST_TOUCHED]) + GroupRow.NEXT] = number
    memory[Head.D_LAST_TOUCHED] = number
    memory[Head.D_TOUCHED_COUNT] += 1


@part
def touch_before(memory, window, row, is_leaving):
    """Touches a group, and keeps what it shows before the delta; False: a question."""
    number = group_of_item(memory, row)
    group = at(memory, Region.GROUP, number)
    if memory[group + GroupRow.STAMP] == memory[Head.D_STAMP]:
        return True
    event, binding, key = NONE, NONE, NONE
    if row != NONE:
        item = at(memory, Region.ITEM, row)
        event, binding, key = (
            memory[item + ItemRow.EVENT],
            memory[item + ItemRow.BINDING],
            memory[item + ItemRow.KEY],
        )
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
    group = at(memory, Region.GROUP, number)
    event, binding = memory[group + GroupRow.EVENT], memory[group + GroupRow.BINDING]
    result = result_of(memory, window, number, event, binding, 0)
    if result == QUESTION:
        return Status.ASK
    memory[Head.D_CURSOR] = memory[group + GroupRow.NEXT]
    memory[Head.D_LEFT] -= 1
    if result < 0:
        return Status.DONE
    key, is_leaving = memory[group + GroupRow.KEY], memory[group + GroupRow.IS_LEAVING]
    return put(memory, window, result, number, key, is_leaving, 0)


@part
def show_item(memory, window, row, is_old):
    item = at(memory, Region.ITEM, row)
    event, binding = memory[item + ItemRow.EVENT], memory[item + ItemRow.BINDING]
    group, key = memory[item + ItemRow.GROUP], memory[item + ItemRow.KEY]
    if memory[window + WindowRow.RATE] == RateKind.FIRST_OF_GROUP:
        return speak(memory, window, row, not is_old)
    result = result_of(memory, window, group, event, binding, 1 if is_old else 0)
    if result == QUESTION:
        return Status.ASK
    if result < 0:
        return Status.DONE
    stream = 1 if is_old else 0
    return put(memory, window, result, group, key, stream, stream)


@part
def speak(memory, window, row, is_new):
    """What the group of an item shows now, if its silence is over."""
    if memory[Head.D_IS_PAST] == 0:
        return Status.DONE
    item = at(memory, Region.ITEM, row)
    number = memory[item + ItemRow.GROUP]
    result = result_of(
        memory, window, number, memory[item + ItemRow.EVENT], memory[item + ItemRow.BINDING], 0
    )
    if result == QUESTION:
        return Status.ASK
    if result < 0 or not ends_silence(memory, window, number, is_new):
        return Status.DONE
    output = new_output(memory, window, result, number, NONE, 0)
    waiting = at(memory, Region.GROUP, number) + GroupRow.SHOWN
    if memory[waiting] == NONE:
        memory[waiting] = output
        append_output(memory, Head.D_SHOWN, Head.D_LAST_SHOWN, output)
    else:
        replace(memory, memory[waiting], output)
        free_output(memory, output)
    return Status.DONE


@part
def put(memory, window, event, group, key, is_leaving, is_old):
    """A result goes out, or waits for the end of the delta."""
    if memory[window + WindowRow.COLLECTS] == 1:
        show(memory, window, event, group, key, is_leaving, is_old)
        return Status.DONE
    return emit_placed(memory, window, event, REMOVED if is_old == 1 else NEW, key, is_leaving)


@part
def emit_shown(memory, window, head, stream):
    """The first of the outputs that wait goes out."""
    row = memory[head]
    output = at(memory, Region.OUTPUT, row)
    event, key = memory[output + OutputRow.EVENT], memory[output + OutputRow.KEY]
    is_leaving = memory[output + OutputRow.IS_LEAVING]
    memory[head] = memory[output + OutputRow.NEXT]
    free_output(memory, row)
    begin_list(memory, memory[head])
    memory[at(memory, EVENT, event) + INSTANT] = memory[CLOCK]  # it may have waited for long
    return emit_placed(memory, window, event, stream, key, is_leaving)


@part
def emit_placed(memory, window, event, stream, key, is_leaving):
    """A row goes out; if a window's timer brought it, at the place of the item it stands for."""
    place = NONE
    if memory[Head.D_BY_ROW] == 1:
        place = (2 if stream == REMOVED else 0) + is_leaving
    return emit(memory, memory[window + WindowRow.STATEMENT], event, stream, place, key)


# -- what a rate says beside what waited -----------------------------------------------------------


@part
def present(memory, window, number):
    """What a group shows now, by the last row that entered it; False: a question."""
    group = at(memory, Region.GROUP, number)
    event, binding = memory[group + GroupRow.LAST_EVENT], memory[group + GroupRow.LAST_BINDING]
    result = result_of(memory, window, number, event, binding, 0)
    if result == QUESTION:
        return False
    if result >= 0:
        show(memory, window, result, number, NONE, 0, 0)
    return True


@part
def present_left(memory, window, number):
    if not present(memory, window, number):
        return Status.ASK
    begin_list(memory, memory[at(memory, Region.GROUP, number) + GroupRow.NEXT_LEFT])
    return Status.DONE


@part
def begin_release(memory, window):
    running = at(memory, Region.RUNNING, memory[Head.D_RUNNING])
    rate, shape = memory[window + WindowRow.RATE], memory[window + WindowRow.SHAPE]
    is_snapshot = rate == RateKind.SNAPSHOTS
    memory[Head.D_STAMP] += 1
    if shape == RowShape.BY_TOTAL:
        is_empty = memory[Head.D_SHOWN] == NONE and memory[Head.D_SHOWN_OLD] == NONE
        memory[Head.D_LEFT] = 1 if is_snapshot or is_empty else 0
    elif memory[window + WindowRow.KEEPS_GROUPS] == 1:
        begin_list(memory, memory[running + RunningRow.GROUPS])
    elif is_snapshot:
        if memory[window + WindowRow.KIND] in (WindowKind.LENGTH_BATCH, WindowKind.TIME_BATCH):
            memory[Head.D_CURSOR] = memory[running + RunningRow.RELEASED]
            memory[Head.D_LEFT] = memory[running + RunningRow.RELEASED_COUNT]
        elif memory[window + WindowRow.KIND] != WindowKind.UNLIMITED:
            memory[Head.D_CURSOR] = memory[running + RunningRow.FIRST]
            memory[Head.D_LEFT] = memory[running + RunningRow.COUNT]


@part
def release_one(memory, window, row):
    if memory[window + WindowRow.SHAPE] == RowShape.BY_TOTAL:
        return release_total(memory, window)
    if memory[window + WindowRow.KEEPS_GROUPS] == 1:
        group = at(memory, Region.GROUP, row)
        if memory[group + GroupRow.IS_SEEN] == 0 and not present(memory, window, row):
            return Status.ASK
        memory[group + GroupRow.IS_SEEN] = 0
        begin_list(memory, memory[group + GroupRow.FOLLOWING])
        return Status.DONE
    item = at(memory, Region.ITEM, row)
    if memory[item + ItemRow.PASSES] == 1 and not release_item(memory, window, row):
        return Status.ASK
    memory[Head.D_CURSOR] = memory[item + ItemRow.NEXT]
    memory[Head.D_LEFT] -= 1
    return Status.DONE


@part
def release_total(memory, window):
    """The aggregates as they are; where nothing waited, as the old row, too."""
    group = memory[at(memory, Region.RUNNING, memory[Head.D_RUNNING]) + RunningRow.GROUP]
    new = result_of(memory, window, group, NONE, NONE, 0)
    if new == QUESTION:
        return Status.ASK
    if new >= 0:
        if (
            memory[window + WindowRow.RATE] != RateKind.SNAPSHOTS
            and memory[window + WindowRow.NEEDS_OLD] == 1
        ):
            old = result_of(memory, window, group, NONE, NONE, 0)
            if old == QUESTION:
                return Status.ASK
            show(memory, window, old, group, NONE, 0, 1)
        show(memory, window, new, group, NONE, 0, 0)
    memory[Head.D_LEFT] = 0
    return Status.DONE


@part
def release_item(memory, window, row):
    """A row that counts now, or its group, once; False: a question."""
    item = at(memory, Region.ITEM, row)
    number = memory[item + ItemRow.GROUP]
    is_grouped = memory[window + WindowRow.SHAPE] == RowShape.BY_GROUP
    if (
        is_grouped
        and memory[at(memory, Region.GROUP, number) + GroupRow.STAMP] == memory[Head.D_STAMP]
    ):
        return True
    event, binding = memory[item + ItemRow.EVENT], memory[item + ItemRow.BINDING]
    result = result_of(memory, window, number, event, binding, 0)
    if result == QUESTION:
        return False
    if is_grouped:
        memory[at(memory, Region.GROUP, number) + GroupRow.STAMP] = memory[Head.D_STAMP]
    if result >= 0:
        show(memory, window, result, number, NONE, 0, 0)
    return True
