"""Results that wait: what output rates gather and let out, and in which order results go out.

The rules are those of `semantics.output`. Outputs that wait are in lists: those of the delta at hand
begin at words of the head, those that wait for a rate at words of the running statement.
"""

from __future__ import annotations

from cepheid.matcher.vm.expressions.calendar import after_period
from cepheid.matcher.vm.expressions.doubles import ONE_NAN, is_nan, one_zero
from cepheid.matcher.vm.expressions.evaluate import holds
from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import (
    EVENT,
    enter,
    find,
    forget,
    give_back,
    take_collected,
    take_row,
)
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, WIDTH, EventRow, Head, Region, at
from cepheid.matcher.vm.memory.linked_lists import append
from cepheid.matcher.vm.memory.tables import (
    NEVER,
    START,
    GroupRow,
    OutputRow,
    RateKind,
    RowShape,
    RunningRow,
    StatementRow,
    Status,
    TimerStage,
    WindowRow,
)
from cepheid.matcher.vm.rows.aggregates import is_less
from cepheid.matcher.vm.rows.window_timers import arm_running, next_boundary

CLOCK = int(Head.CLOCK)
EVENT_TYPE, INSTANT, SEQUENCE = int(EventRow.TYPE), int(EventRow.INSTANT), int(EventRow.SEQUENCE)
EVENT_KEY, MARK, NULLS = int(EventRow.KEY), int(EventRow.MARK), int(EventRow.NULLS)


# -- lists of outputs ------------------------------------------------------------------------------


@part
def new_output(memory, window, event, group, key, is_leaving):
    """What it is ordered by lies in ORDERED."""
    row = take_row(memory, Region.OUTPUT)
    output = at(memory, Region.OUTPUT, row)
    memory[output + OutputRow.NEXT] = NONE
    memory[output + OutputRow.EVENT] = event
    memory[output + OutputRow.GROUP] = group
    memory[output + OutputRow.KEY] = key
    memory[output + OutputRow.IS_LEAVING] = is_leaving
    ordered = memory[TABLE + 4 * Region.ORDERED + BEGIN]
    for i in range(2 * memory[window + WindowRow.ORDER_COUNT]):
        memory[output + OutputRow.ORDER + i] = memory[ordered + i]
    return row


@part
def free_output(memory, row):
    memory[at(memory, Region.OUTPUT, row) + OutputRow.EVENT] = NONE
    give_back(memory, Region.OUTPUT, row)


@part
def append_output(memory, head, tail, row):
    """Adds to the list that begins and ends at two words."""
    table = TABLE + 4 * Region.OUTPUT
    begin, width = memory[table + BEGIN], memory[table + WIDTH]
    append(memory, begin, width, OutputRow.NEXT, head, tail, row)


@part
def show(memory, window, event, group, key, is_leaving, is_old):
    """Adds to the new or old outputs of the delta at hand."""
    row = new_output(memory, window, event, group, key, is_leaving)
    if is_old == 1:
        append_output(memory, Head.D_SHOWN_OLD, Head.D_LAST_SHOWN_OLD, row)
    else:
        append_output(memory, Head.D_SHOWN, Head.D_LAST_SHOWN, row)
    return row


@part
def take_first(memory, head):
    """Takes the first out of a list that is not empty."""
    row = memory[head]
    memory[head] = memory[at(memory, Region.OUTPUT, row) + OutputRow.NEXT]
    return row


@part
def drop(memory, head):
    while memory[head] != NONE:
        free_output(memory, take_first(memory, head))


@part
def move(memory, head, tail, to_head, to_tail):
    """Puts a list behind another one."""
    if memory[head] == NONE:
        return
    if memory[to_head] == NONE:
        memory[to_head] = memory[head]
    else:
        memory[at(memory, Region.OUTPUT, memory[to_tail]) + OutputRow.NEXT] = memory[head]
    memory[to_tail] = memory[tail]
    memory[head] = NONE


@part
def gather_by_group(memory, head, to_head, to_tail, word, replaces):
    """Of each group one output waits, at the place of the first; `word` of the group names it."""
    while memory[head] != NONE:
        row = take_first(memory, head)
        waiting = (
            at(memory, Region.GROUP, memory[at(memory, Region.OUTPUT, row) + OutputRow.GROUP])
            + word
        )
        if memory[waiting] == NONE:
            memory[waiting] = row
            append_output(memory, to_head, to_tail, row)
            continue
        if replaces == 1:
            replace(memory, memory[waiting], row)
        free_output(memory, row)


@part
def replace(memory, row, by):
    """An output says what another one does, and keeps its place."""
    output, other = at(memory, Region.OUTPUT, row), at(memory, Region.OUTPUT, by)
    width = at(memory, Region.OUTPUT, 1) - at(memory, Region.OUTPUT, 0)
    for i in range(OutputRow.EVENT, width):
        memory[output + i] = memory[other + i]


@part
def forget_waiting(memory, head, word):
    """The outputs of a list no longer wait."""
    row = memory[head]
    while row != NONE:
        output = at(memory, Region.OUTPUT, row)
        memory[at(memory, Region.GROUP, memory[output + OutputRow.GROUP]) + word] = NONE
        row = memory[output + OutputRow.NEXT]


# -- rates -----------------------------------------------------------------------------------------


@part
def start_rate(memory, running):
    place = at(memory, Region.RUNNING, running)
    memory[place + RunningRow.RATE_DUE] = NEVER
    memory[place + RunningRow.RATE_ANCHOR] = START
    memory[place + RunningRow.STARTED] = memory[CLOCK]
    memory[place + RunningRow.LAST_OUTPUT] = START
    for word in (
        RunningRow.SATISFIED,
        RunningRow.NEW,
        RunningRow.OLD,
        RunningRow.NEW_TOTAL,
        RunningRow.OLD_TOTAL,
        RunningRow.IS_SILENT,
        RunningRow.GROUP_COUNT,
    ):
        memory[place + word] = 0
    for word in (
        RunningRow.SHOWN,
        RunningRow.LAST_SHOWN,
        RunningRow.SHOWN_OLD,
        RunningRow.LAST_SHOWN_OLD,
        RunningRow.GROUPS,
        RunningRow.LAST_GROUP,
    ):
        memory[place + word] = NONE


@part
def is_past_after(memory, window, running, new_rows):
    """Whether `after` is over, once these rows have come."""
    place = at(memory, Region.RUNNING, running)
    after = memory[window + WindowRow.AFTER_COUNT]
    if after != NONE:
        satisfied = min(memory[place + RunningRow.SATISFIED] + new_rows, after + 1)
        memory[place + RunningRow.SATISFIED] = satisfied
        return satisfied > after
    period, months = memory[window + WindowRow.AFTER], memory[window + WindowRow.AFTER_MONTHS]
    return memory[CLOCK] >= after_period(memory[place + RunningRow.STARTED], period, months)


@part
def settle(memory, window):
    """What the rate makes of the outputs of a delta; afterwards those are left that go out now."""
    running = memory[Head.D_RUNNING]
    place = at(memory, Region.RUNNING, running)
    rate = memory[window + WindowRow.RATE]
    if rate == RateKind.DIRECT:
        if not is_past_after(memory, window, running, count_outputs(memory)):
            drop(memory, Head.D_SHOWN)
            drop(memory, Head.D_SHOWN_OLD)
        return Status.DONE
    if rate == RateKind.FIRST_OF_GROUP:
        forget_waiting(memory, Head.D_SHOWN, GroupRow.SHOWN)
        return Status.DONE
    is_past = memory[Head.D_IS_PAST] == 1
    is_time = 0
    if is_past and memory[window + WindowRow.WHEN] != NONE:
        is_time = counters_hold(memory, window, place)
        if is_time < 0:
            return Status.ASK
    counts = gather(memory, window, place, is_past)
    if is_past and counts:
        count_delta(memory, window, running, is_time == 1)
    return Status.DONE


@part
def count_outputs(memory):
    count, row = 0, memory[Head.D_SHOWN]
    while row != NONE:
        count += 1
        row = memory[at(memory, Region.OUTPUT, row) + OutputRow.NEXT]
    return count


@part
def gather(memory, window, place, is_past):
    """Takes the outputs of a delta into account; gives whether it counts."""
    rate, shape = memory[window + WindowRow.RATE], memory[window + WindowRow.SHAPE]
    is_grouped = shape in (RowShape.BY_TOTAL, RowShape.BY_GROUP)
    if rate == RateKind.FIRST_ONLY:
        shows = memory[Head.D_SHOWN] != NONE or memory[Head.D_SHOWN_OLD] != NONE
        if is_past and shows and memory[place + RunningRow.IS_SILENT] == 0:
            memory[place + RunningRow.IS_SILENT] = 1
            return True
    elif is_past or shape != RowShape.BY_ROW:
        if rate == RateKind.BUFFERED or (
            rate == RateKind.ALL_GROUPS and shape != RowShape.BY_GROUP
        ):
            move(
                memory,
                Head.D_SHOWN,
                Head.D_LAST_SHOWN,
                place + RunningRow.SHOWN,
                place + RunningRow.LAST_SHOWN,
            )
            move(
                memory,
                Head.D_SHOWN_OLD,
                Head.D_LAST_SHOWN_OLD,
                place + RunningRow.SHOWN_OLD,
                place + RunningRow.LAST_SHOWN_OLD,
            )
        elif rate in (RateKind.LAST_ONLY, RateKind.ALL_GROUPS):
            if rate == RateKind.LAST_ONLY:
                new, last = place + RunningRow.SHOWN, place + RunningRow.LAST_SHOWN
                gather_by_group(memory, Head.D_SHOWN, new, last, GroupRow.SHOWN, 1)
            old, last = place + RunningRow.SHOWN_OLD, place + RunningRow.LAST_SHOWN_OLD
            replaces = 0 if is_grouped else 1
            gather_by_group(memory, Head.D_SHOWN_OLD, old, last, GroupRow.SHOWN_OLD, replaces)
    drop(memory, Head.D_SHOWN)
    drop(memory, Head.D_SHOWN_OLD)
    return rate != RateKind.FIRST_ONLY or memory[place + RunningRow.IS_SILENT] == 1


@part
def count_delta(memory, window, running, is_time):
    """Lets a delta count, and lets out if it is time."""
    place = at(memory, Region.RUNNING, running)
    memory[place + RunningRow.NEW] += memory[Head.D_NEW_PASSED]
    memory[place + RunningRow.OLD] += memory[Head.D_OLD_PASSED]
    memory[place + RunningRow.NEW_TOTAL] += memory[Head.D_NEW_PASSED]
    memory[place + RunningRow.OLD_TOTAL] += memory[Head.D_OLD_PASSED]
    count = memory[window + WindowRow.EVERY_COUNT]
    if count != NONE:
        is_time = max(memory[place + RunningRow.NEW], memory[place + RunningRow.OLD]) >= count
    elif memory[window + WindowRow.WHEN] == NONE:
        arm_rate(memory, window, running, 1 if memory[Head.TIMER] != NONE else 0)
    if is_time:
        let_out(memory, window, running)


@part
def arm_rate(memory, window, running, is_due):
    """Arms for the end of the running period, if that is not done.

    `is_due` is 1 where a period that ends just now has not ended yet.
    """
    place = at(memory, Region.RUNNING, running)
    if memory[place + RunningRow.RATE_ANCHOR] == START:
        memory[place + RunningRow.RATE_ANCHOR] = memory[CLOCK]
        is_due = 0
    if memory[place + RunningRow.RATE_DUE] == NEVER:
        every, months = memory[window + WindowRow.EVERY], memory[window + WindowRow.EVERY_MONTHS]
        now = memory[CLOCK] - is_due
        due = next_boundary(memory[place + RunningRow.RATE_ANCHOR], every, months, now)
        arm_running(memory, window, running, due, TimerStage.RATE)


@part
def let_out(memory, window, running):
    """It is time: what waits goes out, and what is to be said beside follows."""
    place = at(memory, Region.RUNNING, running)
    rate = memory[window + WindowRow.RATE]
    memory[place + RunningRow.NEW] = 0
    memory[place + RunningRow.OLD] = 0
    memory[place + RunningRow.LAST_OUTPUT] = memory[CLOCK]
    if rate == RateKind.FIRST_ONLY:
        memory[place + RunningRow.IS_SILENT] = 0
        return
    memory[Head.D_LETS_OUT] = 1
    if rate == RateKind.LAST_ONLY:
        forget_waiting(memory, place + RunningRow.SHOWN, GroupRow.SHOWN)
    if rate == RateKind.LAST_ONLY or (
        rate == RateKind.ALL_GROUPS and memory[window + WindowRow.SHAPE] == RowShape.BY_GROUP
    ):
        forget_waiting(memory, place + RunningRow.SHOWN_OLD, GroupRow.SHOWN_OLD)
    move(
        memory,
        place + RunningRow.SHOWN,
        place + RunningRow.LAST_SHOWN,
        Head.D_SHOWN,
        Head.D_LAST_SHOWN,
    )
    move(
        memory,
        place + RunningRow.SHOWN_OLD,
        place + RunningRow.LAST_SHOWN_OLD,
        Head.D_SHOWN_OLD,
        Head.D_LAST_SHOWN_OLD,
    )


@part
def counters_hold(memory, window, running):
    """Whether the condition of `output when` holds once the delta has come; -1: a question."""
    row = take_collected(memory, EVENT)
    event, values = at(memory, EVENT, row), at(memory, EVENT, row) + memory[Head.SLOTS]
    memory[event + EVENT_TYPE] = NONE
    memory[event + INSTANT] = memory[CLOCK]
    memory[event + SEQUENCE] = 0
    memory[event + EVENT_KEY] = NONE
    memory[event + MARK] = 0
    for i in range(NULLS, memory[Head.SLOTS]):
        memory[event + i] = 0
    slots = memory[TABLE + 4 * Region.LIST + BEGIN] + memory[window + WindowRow.WHEN_SLOTS]
    memory[values + memory[slots]] = memory[running + RunningRow.NEW] + memory[Head.D_NEW_PASSED]
    memory[values + memory[slots + 1]] = (
        memory[running + RunningRow.NEW_TOTAL] + memory[Head.D_NEW_PASSED]
    )
    memory[values + memory[slots + 2]] = (
        memory[running + RunningRow.OLD] + memory[Head.D_OLD_PASSED]
    )
    memory[values + memory[slots + 3]] = (
        memory[running + RunningRow.OLD_TOTAL] + memory[Head.D_OLD_PASSED]
    )
    last = memory[slots + 4]
    if memory[running + RunningRow.LAST_OUTPUT] == START:
        memory[event + NULLS + last // 64] |= 1 << (last % 64)
    else:
        memory[values + last] = memory[running + RunningRow.LAST_OUTPUT] // 1000
    return holds(memory, memory[window + WindowRow.WHEN], row, NONE, NONE)


@part
def ends_silence(memory, window, number, is_new):
    """Whether a group may speak, which begins its next silence."""
    group = at(memory, Region.GROUP, number)
    since = memory[group + GroupRow.SINCE]
    if since != START:
        memory[group + (GroupRow.NEW if is_new else GroupRow.OLD)] += 1
        count = memory[window + WindowRow.EVERY_COUNT]
        if count != NONE:
            if max(memory[group + GroupRow.NEW], memory[group + GroupRow.OLD]) < count:
                return False
        else:
            every, months = (
                memory[window + WindowRow.EVERY],
                memory[window + WindowRow.EVERY_MONTHS],
            )
            if memory[CLOCK] < after_period(since, every, months):
                return False
    memory[group + GroupRow.SINCE] = memory[CLOCK]
    memory[group + GroupRow.NEW] = 0
    memory[group + GroupRow.OLD] = 0
    return True


# -- distinct, order by, limit ---------------------------------------------------------------------


@part
def keep_if_distinct(memory, window, head):
    """Looks at the output at the cursor: it stays if no one before it says the same."""
    row = memory[Head.D_CURSOR]
    output = at(memory, Region.OUTPUT, row)
    nulls, count = find_columns(memory, window, memory[output + OutputRow.EVENT])
    owner, following = memory[window + WindowRow.DISTINCT_OWNER], memory[output + OutputRow.NEXT]
    if find(memory, owner, 0, nulls, count) == NONE:
        memory[output + OutputRow.ENTRY] = enter(memory, owner, 0, nulls, count)
        memory[Head.D_BEFORE] = row
    else:
        memory[at(memory, Region.OUTPUT, memory[Head.D_BEFORE]) + OutputRow.NEXT] = following
        free_output(memory, row)
    memory[Head.D_CURSOR] = following
    if following != NONE:
        return
    memory[Head.D_LEFT] = 0
    row = memory[head]
    while row != NONE:
        output = at(memory, Region.OUTPUT, row)
        forget(memory, memory[output + OutputRow.ENTRY])
        row = memory[output + OutputRow.NEXT]


@part
def find_columns(memory, window, event):
    """Puts the columns of a result into SCRATCH; gives their null bits and how many they are."""
    plan = at(memory, Region.STATEMENT, memory[window + WindowRow.STATEMENT])
    columns = memory[TABLE + 4 * Region.LIST + BEGIN] + memory[plan + StatementRow.COLUMNS]
    scratch = memory[TABLE + 4 * Region.SCRATCH + BEGIN]
    place = at(memory, EVENT, event)
    nulls, count = 0, memory[plan + StatementRow.COLUMN_COUNT]
    for i in range(count):
        slot = memory[columns + 2 * i + 1]
        value = memory[place + memory[Head.SLOTS] + slot]
        if (memory[place + NULLS + slot // 64] >> (slot % 64)) & 1:
            nulls |= 1 << i
            value = 0
        elif (memory[window + WindowRow.DISTINCT_DOUBLE] >> i) & 1:
            value = ONE_NAN if is_nan(value) else one_zero(value)
        memory[scratch + i] = value
    return nulls, count


@part
def arrange(memory, window, head):
    """Sorts a list and cuts it to what `limit` allows."""
    if memory[window + WindowRow.ORDER_COUNT] > 0:
        sort(memory, window, head)
    if memory[window + WindowRow.LIMIT] == NONE:
        return
    for _ in range(memory[window + WindowRow.OFFSET]):
        if memory[head] != NONE:
            free_output(memory, take_first(memory, head))
    link = head
    for _ in range(memory[window + WindowRow.LIMIT]):
        if memory[link] != NONE:
            link = at(memory, Region.OUTPUT, memory[link]) + OutputRow.NEXT
    drop(memory, link)


@part
def sort(memory, window, head):
    """Merges runs of one, two, four outputs and so on; equal ones keep their order."""
    size = 1
    while True:
        rest, merges = memory[head], 0
        memory[head] = NONE
        tail = head
        while rest != NONE:
            merges += 1
            left, left_count = rest, 0
            while left_count < size and rest != NONE:
                rest = memory[at(memory, Region.OUTPUT, rest) + OutputRow.NEXT]
                left_count += 1
            right, right_count = rest, size
            while left_count > 0 or (right_count > 0 and right != NONE):
                takes_left = left_count > 0
                if takes_left and right_count > 0 and right != NONE:
                    takes_left = not comes_before(memory, window, right, left)
                if takes_left:
                    row, left_count = left, left_count - 1
                    left = memory[at(memory, Region.OUTPUT, left) + OutputRow.NEXT]
                else:
                    row, right_count = right, right_count - 1
                    right = memory[at(memory, Region.OUTPUT, right) + OutputRow.NEXT]
                memory[tail] = row
                tail = at(memory, Region.OUTPUT, row) + OutputRow.NEXT
            rest = right
        memory[tail] = NONE
        if merges <= 1:
            return
        size *= 2


@part
def comes_before(memory, window, row, other):
    """Whether an output must come before another one; null is before every value."""
    criteria = memory[TABLE + 4 * Region.LIST + BEGIN] + memory[window + WindowRow.ORDER]
    left, right = (
        at(memory, Region.OUTPUT, row) + OutputRow.ORDER,
        at(memory, Region.OUTPUT, other) + OutputRow.ORDER,
    )
    for i in range(memory[window + WindowRow.ORDER_COUNT]):
        is_real, descends = memory[criteria + 3 * i + 1], memory[criteria + 3 * i + 2]
        if descends == 1:
            smaller, greater = right + 2 * i, left + 2 * i
        else:
            smaller, greater = left + 2 * i, right + 2 * i
        if is_smaller(memory, smaller, greater, is_real):
            return True
        if is_smaller(memory, greater, smaller, is_real):
            return False
    return False


@part
def is_smaller(memory, left, right, is_real):
    """Of (value, is null) at two places."""
    if memory[left + 1] != 0 or memory[right + 1] != 0:
        return memory[left + 1] != 0 and memory[right + 1] == 0
    return is_less(is_real, memory[left], memory[right])
