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
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, Field, Head, at
from cepheid.matcher.vm.memory.tables import (
    ALL_GROUPS,
    ASK,
    BUFFERED,
    BY_GROUP,
    BY_ROW,
    BY_TOTAL,
    D_BEFORE,
    D_CURSOR,
    D_IS_PAST,
    D_LAST_SHOWN,
    D_LAST_SHOWN_OLD,
    D_LEFT,
    D_LETS_OUT,
    D_NEW_PASSED,
    D_OLD_PASSED,
    D_RUNNING,
    D_SHOWN,
    D_SHOWN_OLD,
    DIRECT,
    DONE,
    FIRST_OF_GROUP,
    FIRST_ONLY,
    G_NEW,
    G_OLD,
    G_SHOWN,
    G_SHOWN_OLD,
    G_SINCE,
    GROUP,
    LAST_ONLY,
    LIST,
    NEVER,
    O_ENTRY,
    O_EVENT,
    O_GROUP,
    O_IS_LEAVING,
    O_KEY,
    O_NEXT,
    O_ORDER,
    ORDERED,
    OUTPUT,
    R_GROUP_COUNT,
    R_GROUPS,
    R_IS_SILENT,
    R_LAST_GROUP,
    R_LAST_OUTPUT,
    R_LAST_SHOWN,
    R_LAST_SHOWN_OLD,
    R_NEW,
    R_NEW_TOTAL,
    R_OLD,
    R_OLD_TOTAL,
    R_RATE_ANCHOR,
    R_RATE_DUE,
    R_SATISFIED,
    R_SHOWN,
    R_SHOWN_OLD,
    R_STARTED,
    RATE_STAGE,
    RUNNING,
    S_COLUMN_COUNT,
    S_COLUMNS,
    SCRATCH,
    SLOTS,
    START,
    STATEMENT,
    V_AFTER,
    V_AFTER_COUNT,
    V_AFTER_MONTHS,
    V_DISTINCT_DOUBLE,
    V_DISTINCT_OWNER,
    V_EVERY,
    V_EVERY_COUNT,
    V_EVERY_MONTHS,
    V_LIMIT,
    V_OFFSET,
    V_ORDER,
    V_ORDER_COUNT,
    V_RATE,
    V_SHAPE,
    V_STATEMENT,
    V_WHEN,
    V_WHEN_SLOTS,
)
from cepheid.matcher.vm.rows.aggregates import is_less
from cepheid.matcher.vm.rows.window_timers import arm_running, next_boundary

CLOCK = int(Head.CLOCK)
EVENT_TYPE, INSTANT, SEQUENCE = int(Field.TYPE), int(Field.INSTANT), int(Field.SEQUENCE)
EVENT_KEY, MARK, NULLS = int(Field.KEY), int(Field.MARK), int(Field.NULLS)


# -- lists of outputs ------------------------------------------------------------------------------


@part
def new_output(memory, window, event, group, key, is_leaving):
    """What it is ordered by lies in ORDERED."""
    row = take_row(memory, OUTPUT)
    output = at(memory, OUTPUT, row)
    memory[output + O_NEXT] = NONE
    memory[output + O_EVENT] = event
    memory[output + O_GROUP] = group
    memory[output + O_KEY] = key
    memory[output + O_IS_LEAVING] = is_leaving
    ordered = memory[TABLE + 4 * ORDERED + BEGIN]
    for i in range(2 * memory[window + V_ORDER_COUNT]):
        memory[output + O_ORDER + i] = memory[ordered + i]
    return row


@part
def free_output(memory, row):
    memory[at(memory, OUTPUT, row) + O_EVENT] = NONE
    give_back(memory, OUTPUT, row)


@part
def append_output(memory, head, tail, row):
    """Adds to the list that begins and ends at two words."""
    memory[at(memory, OUTPUT, row) + O_NEXT] = NONE
    if memory[head] == NONE:
        memory[head] = row
    else:
        memory[at(memory, OUTPUT, memory[tail]) + O_NEXT] = row
    memory[tail] = row


@part
def show(memory, window, event, group, key, is_leaving, is_old):
    """Adds to the new or old outputs of the delta at hand."""
    row = new_output(memory, window, event, group, key, is_leaving)
    if is_old == 1:
        append_output(memory, D_SHOWN_OLD, D_LAST_SHOWN_OLD, row)
    else:
        append_output(memory, D_SHOWN, D_LAST_SHOWN, row)
    return row


@part
def take_first(memory, head):
    """Takes the first out of a list that is not empty."""
    row = memory[head]
    memory[head] = memory[at(memory, OUTPUT, row) + O_NEXT]
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
        memory[at(memory, OUTPUT, memory[to_tail]) + O_NEXT] = memory[head]
    memory[to_tail] = memory[tail]
    memory[head] = NONE


@part
def gather_by_group(memory, head, to_head, to_tail, word, replaces):
    """Of each group one output waits, at the place of the first; `word` of the group names it."""
    while memory[head] != NONE:
        row = take_first(memory, head)
        waiting = at(memory, GROUP, memory[at(memory, OUTPUT, row) + O_GROUP]) + word
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
    output, other = at(memory, OUTPUT, row), at(memory, OUTPUT, by)
    width = at(memory, OUTPUT, 1) - at(memory, OUTPUT, 0)
    for i in range(O_EVENT, width):
        memory[output + i] = memory[other + i]


@part
def forget_waiting(memory, head, word):
    """The outputs of a list no longer wait."""
    row = memory[head]
    while row != NONE:
        output = at(memory, OUTPUT, row)
        memory[at(memory, GROUP, memory[output + O_GROUP]) + word] = NONE
        row = memory[output + O_NEXT]


# -- rates -----------------------------------------------------------------------------------------


@part
def start_rate(memory, running):
    place = at(memory, RUNNING, running)
    memory[place + R_RATE_DUE] = NEVER
    memory[place + R_RATE_ANCHOR] = START
    memory[place + R_STARTED] = memory[CLOCK]
    memory[place + R_LAST_OUTPUT] = START
    for word in (R_SATISFIED, R_NEW, R_OLD, R_NEW_TOTAL, R_OLD_TOTAL, R_IS_SILENT, R_GROUP_COUNT):
        memory[place + word] = 0
    for word in (R_SHOWN, R_LAST_SHOWN, R_SHOWN_OLD, R_LAST_SHOWN_OLD, R_GROUPS, R_LAST_GROUP):
        memory[place + word] = NONE


@part
def is_past_after(memory, window, running, new_rows):
    """Whether `after` is over, once these rows have come."""
    place = at(memory, RUNNING, running)
    after = memory[window + V_AFTER_COUNT]
    if after != NONE:
        satisfied = min(memory[place + R_SATISFIED] + new_rows, after + 1)
        memory[place + R_SATISFIED] = satisfied
        return satisfied > after
    period, months = memory[window + V_AFTER], memory[window + V_AFTER_MONTHS]
    return memory[CLOCK] >= after_period(memory[place + R_STARTED], period, months)


@part
def settle(memory, window):
    """What the rate makes of the outputs of a delta; afterwards those are left that go out now."""
    running = memory[D_RUNNING]
    place = at(memory, RUNNING, running)
    rate = memory[window + V_RATE]
    if rate == DIRECT:
        if not is_past_after(memory, window, running, count_outputs(memory)):
            drop(memory, D_SHOWN)
            drop(memory, D_SHOWN_OLD)
        return DONE
    if rate == FIRST_OF_GROUP:
        forget_waiting(memory, D_SHOWN, G_SHOWN)
        return DONE
    is_past = memory[D_IS_PAST] == 1
    is_time = 0
    if is_past and memory[window + V_WHEN] != NONE:
        is_time = counters_hold(memory, window, place)
        if is_time < 0:
            return ASK
    gather(memory, window, place, is_past)
    if is_past:
        count_delta(memory, window, running, is_time == 1)
    return DONE


@part
def count_outputs(memory):
    count, row = 0, memory[D_SHOWN]
    while row != NONE:
        count += 1
        row = memory[at(memory, OUTPUT, row) + O_NEXT]
    return count


@part
def gather(memory, window, place, is_past):
    """Takes the outputs of a delta into account."""
    rate, shape = memory[window + V_RATE], memory[window + V_SHAPE]
    is_grouped = shape in (BY_TOTAL, BY_GROUP)
    if rate == FIRST_ONLY:
        shows = memory[D_SHOWN] != NONE or memory[D_SHOWN_OLD] != NONE
        if is_past and shows and memory[place + R_IS_SILENT] == 0:
            memory[place + R_IS_SILENT] = 1
            return
    elif is_past or shape != BY_ROW:
        if rate == BUFFERED or (rate == ALL_GROUPS and shape != BY_GROUP):
            move(memory, D_SHOWN, D_LAST_SHOWN, place + R_SHOWN, place + R_LAST_SHOWN)
            move(
                memory,
                D_SHOWN_OLD,
                D_LAST_SHOWN_OLD,
                place + R_SHOWN_OLD,
                place + R_LAST_SHOWN_OLD,
            )
        elif rate in (LAST_ONLY, ALL_GROUPS):
            if rate == LAST_ONLY:
                new, last = place + R_SHOWN, place + R_LAST_SHOWN
                gather_by_group(memory, D_SHOWN, new, last, G_SHOWN, 1)
            old, last = place + R_SHOWN_OLD, place + R_LAST_SHOWN_OLD
            replaces = 0 if is_grouped else 1
            gather_by_group(memory, D_SHOWN_OLD, old, last, G_SHOWN_OLD, replaces)
    drop(memory, D_SHOWN)
    drop(memory, D_SHOWN_OLD)


@part
def count_delta(memory, window, running, is_time):
    """Lets a delta count, and lets out if it is time."""
    place = at(memory, RUNNING, running)
    memory[place + R_NEW] += memory[D_NEW_PASSED]
    memory[place + R_OLD] += memory[D_OLD_PASSED]
    memory[place + R_NEW_TOTAL] += memory[D_NEW_PASSED]
    memory[place + R_OLD_TOTAL] += memory[D_OLD_PASSED]
    count = memory[window + V_EVERY_COUNT]
    if count != NONE:
        is_time = max(memory[place + R_NEW], memory[place + R_OLD]) >= count
    elif memory[window + V_WHEN] == NONE:
        arm_rate(memory, window, running)
    if is_time:
        let_out(memory, window, running)


@part
def arm_rate(memory, window, running):
    """Arms for the end of the running period, if that is not done."""
    place = at(memory, RUNNING, running)
    if memory[place + R_RATE_ANCHOR] == START:
        memory[place + R_RATE_ANCHOR] = memory[CLOCK]
    if memory[place + R_RATE_DUE] == NEVER:
        every, months = memory[window + V_EVERY], memory[window + V_EVERY_MONTHS]
        due = next_boundary(memory[place + R_RATE_ANCHOR], every, months, memory[CLOCK])
        arm_running(memory, window, running, due, RATE_STAGE)


@part
def let_out(memory, window, running):
    """It is time: what waits goes out, and what is to be said beside follows."""
    place = at(memory, RUNNING, running)
    rate = memory[window + V_RATE]
    memory[place + R_NEW] = 0
    memory[place + R_OLD] = 0
    memory[place + R_LAST_OUTPUT] = memory[CLOCK]
    if rate == FIRST_ONLY:
        memory[place + R_IS_SILENT] = 0
        return
    memory[D_LETS_OUT] = 1
    if rate == LAST_ONLY:
        forget_waiting(memory, place + R_SHOWN, G_SHOWN)
    if rate == LAST_ONLY or (rate == ALL_GROUPS and memory[window + V_SHAPE] == BY_GROUP):
        forget_waiting(memory, place + R_SHOWN_OLD, G_SHOWN_OLD)
    move(memory, place + R_SHOWN, place + R_LAST_SHOWN, D_SHOWN, D_LAST_SHOWN)
    move(memory, place + R_SHOWN_OLD, place + R_LAST_SHOWN_OLD, D_SHOWN_OLD, D_LAST_SHOWN_OLD)


@part
def counters_hold(memory, window, running):
    """Whether the condition of `output when` holds once the delta has come; -1: a question."""
    row = take_collected(memory, EVENT)
    event, values = at(memory, EVENT, row), at(memory, EVENT, row) + memory[SLOTS]
    memory[event + EVENT_TYPE] = NONE
    memory[event + INSTANT] = memory[CLOCK]
    memory[event + SEQUENCE] = 0
    memory[event + EVENT_KEY] = NONE
    memory[event + MARK] = 0
    for i in range(NULLS, memory[SLOTS]):
        memory[event + i] = 0
    slots = memory[TABLE + 4 * LIST + BEGIN] + memory[window + V_WHEN_SLOTS]
    memory[values + memory[slots]] = memory[running + R_NEW] + memory[D_NEW_PASSED]
    memory[values + memory[slots + 1]] = memory[running + R_NEW_TOTAL] + memory[D_NEW_PASSED]
    memory[values + memory[slots + 2]] = memory[running + R_OLD] + memory[D_OLD_PASSED]
    memory[values + memory[slots + 3]] = memory[running + R_OLD_TOTAL] + memory[D_OLD_PASSED]
    last = memory[slots + 4]
    if memory[running + R_LAST_OUTPUT] == START:
        memory[event + NULLS + last // 64] |= 1 << (last % 64)
    else:
        memory[values + last] = memory[running + R_LAST_OUTPUT] // 1000
    return holds(memory, memory[window + V_WHEN], row, NONE, NONE)


@part
def ends_silence(memory, window, number, is_new):
    """Whether a group may speak, which begins its next silence."""
    group = at(memory, GROUP, number)
    since = memory[group + G_SINCE]
    if since != START:
        memory[group + (G_NEW if is_new else G_OLD)] += 1
        count = memory[window + V_EVERY_COUNT]
        if count != NONE:
            if max(memory[group + G_NEW], memory[group + G_OLD]) < count:
                return False
        else:
            every, months = memory[window + V_EVERY], memory[window + V_EVERY_MONTHS]
            if memory[CLOCK] < after_period(since, every, months):
                return False
    memory[group + G_SINCE] = memory[CLOCK]
    memory[group + G_NEW] = 0
    memory[group + G_OLD] = 0
    return True


# -- distinct, order by, limit ---------------------------------------------------------------------


@part
def keep_if_distinct(memory, window, head):
    """Looks at the output at the cursor: it stays if no one before it says the same."""
    row = memory[D_CURSOR]
    output = at(memory, OUTPUT, row)
    nulls, count = find_columns(memory, window, memory[output + O_EVENT])
    owner, following = memory[window + V_DISTINCT_OWNER], memory[output + O_NEXT]
    if find(memory, owner, 0, nulls, count) == NONE:
        memory[output + O_ENTRY] = enter(memory, owner, 0, nulls, count)
        memory[D_BEFORE] = row
    else:
        memory[at(memory, OUTPUT, memory[D_BEFORE]) + O_NEXT] = following
        free_output(memory, row)
    memory[D_CURSOR] = following
    if following != NONE:
        return
    memory[D_LEFT] = 0
    row = memory[head]
    while row != NONE:
        output = at(memory, OUTPUT, row)
        forget(memory, memory[output + O_ENTRY])
        row = memory[output + O_NEXT]


@part
def find_columns(memory, window, event):
    """Puts the columns of a result into SCRATCH; gives their null bits and how many they are."""
    plan = at(memory, STATEMENT, memory[window + V_STATEMENT])
    columns = memory[TABLE + 4 * LIST + BEGIN] + memory[plan + S_COLUMNS]
    scratch = memory[TABLE + 4 * SCRATCH + BEGIN]
    place = at(memory, EVENT, event)
    nulls, count = 0, memory[plan + S_COLUMN_COUNT]
    for i in range(count):
        slot = memory[columns + 2 * i + 1]
        value = memory[place + memory[SLOTS] + slot]
        if (memory[place + NULLS + slot // 64] >> (slot % 64)) & 1:
            nulls |= 1 << i
            value = 0
        elif (memory[window + V_DISTINCT_DOUBLE] >> i) & 1:
            value = ONE_NAN if is_nan(value) else one_zero(value)
        memory[scratch + i] = value
    return nulls, count


@part
def arrange(memory, window, head):
    """Sorts a list and cuts it to what `limit` allows."""
    if memory[window + V_ORDER_COUNT] > 0:
        sort(memory, window, head)
    if memory[window + V_LIMIT] == NONE:
        return
    for _ in range(memory[window + V_OFFSET]):
        if memory[head] != NONE:
            free_output(memory, take_first(memory, head))
    link = head
    for _ in range(memory[window + V_LIMIT]):
        if memory[link] != NONE:
            link = at(memory, OUTPUT, memory[link]) + O_NEXT
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
                rest = memory[at(memory, OUTPUT, rest) + O_NEXT]
                left_count += 1
            right, right_count = rest, size
            while left_count > 0 or (right_count > 0 and right != NONE):
                takes_left = left_count > 0
                if takes_left and right_count > 0 and right != NONE:
                    takes_left = not comes_before(memory, window, right, left)
                if takes_left:
                    row, left_count = left, left_count - 1
                    left = memory[at(memory, OUTPUT, left) + O_NEXT]
                else:
                    row, right_count = right, right_count - 1
                    right = memory[at(memory, OUTPUT, right) + O_NEXT]
                memory[tail] = row
                tail = at(memory, OUTPUT, row) + O_NEXT
            rest = right
        memory[tail] = NONE
        if merges <= 1:
            return
        size *= 2


@part
def comes_before(memory, window, row, other):
    """Whether an output must come before another one; null is before every value."""
    criteria = memory[TABLE + 4 * LIST + BEGIN] + memory[window + V_ORDER]
    left, right = at(memory, OUTPUT, row) + O_ORDER, at(memory, OUTPUT, other) + O_ORDER
    for i in range(memory[window + V_ORDER_COUNT]):
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
