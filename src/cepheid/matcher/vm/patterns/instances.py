"""Instances of pattern operators: their room, what they wait for, and their timers."""

from __future__ import annotations

from cepheid.matcher.vm.expressions.calendar import after_period
from cepheid.matcher.vm.expressions.doubles import is_nan, one_zero
from cepheid.matcher.vm.expressions.evaluate import value_of
from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import (
    enter,
    find,
    give_back,
    live_at,
    node_at,
    push,
    take_row,
)
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, Head, at
from cepheid.matcher.vm.memory.tables import (
    ALL,
    ARMED,
    DEAD,
    E_FIRST,
    E_LAST,
    FIRE,
    FIRST,
    L_A,
    L_AFTER,
    L_ALIVE,
    L_ARMED,
    L_B,
    L_BEFORE,
    L_BEGIN,
    L_BOUND,
    L_C,
    L_DUE,
    L_EARLIER,
    L_FIRST,
    L_LAST,
    L_LATER,
    L_LIST,
    L_NEXT,
    L_NODE,
    L_ORDER,
    L_ORIGIN,
    L_ORIGIN_EVENT,
    L_PARENT,
    L_PREV,
    L_RUNNING,
    L_WAIT,
    LIST,
    LISTENED,
    LIVE,
    N_BOUND_KEYS,
    N_EVENT_DOES,
    N_HEAD,
    N_IS_ONE_LIST,
    N_KEY_DOUBLE,
    N_KEYS,
    N_KIND,
    N_LAST_TIMER,
    N_MONTHS,
    N_PERIOD,
    N_STARTS_RUNS,
    N_TAIL,
    N_TIMER_DOES,
    N_TIMERS,
    N_TWIN,
    NEVER,
    NEXT_DUE,
    ORIGIN,
    ORIGIN_EVENT,
    SCRATCH,
    TABLE_ENTRY,
    UNLISTED,
)
from cepheid.matcher.vm.patterns.and_state import forget_truths
from cepheid.matcher.vm.patterns.bindings import is_empty

CLOCK = int(Head.CLOCK)


@part
def new_live(memory, node, parent, binding, running):
    """An instance that has not begun, as the last child of its parent."""
    row = take_row(memory, LIVE)
    live = live_at(memory, row)
    memory[live + L_NODE] = node
    memory[live + L_PARENT] = parent
    memory[live + L_BEGIN] = binding
    memory[live + L_ALIVE] = 1
    memory[live + L_FIRST] = NONE
    memory[live + L_LAST] = NONE
    memory[live + L_NEXT] = NONE
    memory[live + L_PREV] = NONE
    memory[live + L_RUNNING] = running
    memory[live + L_A] = 0
    memory[live + L_B] = NONE
    memory[live + L_C] = 0
    memory[live + L_WAIT] = NONE
    memory[live + L_BOUND] = NONE
    memory[live + L_LIST] = UNLISTED
    memory[live + L_DUE] = NEVER
    if parent != NONE:
        above = live_at(memory, parent)
        last = memory[above + L_LAST]
        memory[live + L_PREV] = last
        if last == NONE:
            memory[above + L_FIRST] = row
        else:
            memory[live_at(memory, last) + L_NEXT] = row
        memory[above + L_LAST] = row
    return row


@part
def kind_of(memory, row):
    return memory[node_at(memory, memory[live_at(memory, row) + L_NODE]) + N_KIND]


@part
def unlink(memory, row):
    """Takes an instance from its parent's children."""
    live = live_at(memory, row)
    above = live_at(memory, memory[live + L_PARENT])
    before, after = memory[live + L_PREV], memory[live + L_NEXT]
    if before == NONE:
        memory[above + L_FIRST] = after
    else:
        memory[live_at(memory, before) + L_NEXT] = after
    if after == NONE:
        memory[above + L_LAST] = before
    else:
        memory[live_at(memory, after) + L_PREV] = before


@part
def end(memory, row):
    """An instance without children is over; its row is given back when nobody looks at it."""
    live = live_at(memory, row)
    if memory[live + L_ALIVE] == 0:
        return
    memory[live + L_ALIVE] = 0
    stop_waiting(memory, row)
    if kind_of(memory, row) == ALL:
        forget_truths(memory, row)
    memory[live + L_C] = memory[DEAD]
    memory[DEAD] = row


@part
def quit(memory, row):
    """Ends an instance and everything below it, without a word to its parent."""
    current = row
    while True:
        child = memory[live_at(memory, current) + L_FIRST]
        if child != NONE:
            current = child
            continue
        end(memory, current)
        if current == row:
            return
        unlink(memory, current)
        current = memory[live_at(memory, current) + L_PARENT]


@part
def bury(memory):
    """Gives back the rows of instances that are over; only between two events."""
    row = memory[DEAD]
    while row != NONE:
        after = memory[live_at(memory, row) + L_C]
        give_back(memory, LIVE, row)
        row = after
    memory[DEAD] = NONE


# -- waiting ---------------------------------------------------------------------------------------


@part
def wait_for(memory, row, number, binding):
    """An instance begins to wait as a node says, behind those that wait already; 1: a question."""
    live = live_at(memory, row)
    node = node_at(memory, number)
    if memory[node + N_TWIN] != NONE and is_empty(memory, binding):
        number = memory[node + N_TWIN]
        node = node_at(memory, number)
    if memory[node + N_EVENT_DOES] != NONE:
        if memory[node + N_IS_ONE_LIST] == 1:
            memory[live + L_LIST] = NONE
            append(memory, row, number, node + N_HEAD, node + N_TAIL)
        else:
            status = bound_key(memory, node, binding)
            if status == 1:
                return 1
            if status == 0:  # else it is equal to nothing, and waits for ever
                listen_by_key(memory, row, number, memory[node + N_KEYS])
    memory[live + L_WAIT] = number
    memory[live + L_BOUND] = binding
    if memory[node + N_TIMER_DOES] != NONE:
        due = after_period(memory[CLOCK], memory[node + N_PERIOD], memory[node + N_MONTHS])
        if due == memory[CLOCK]:
            push(memory, FIRE, row, 0, 0, 0)
        else:
            arm(memory, row, number, due)
    return 0


@part
def stop_waiting(memory, row):
    live = live_at(memory, row)
    entry = memory[live + L_LIST]
    if entry == NONE:
        node = node_at(memory, memory[live + L_WAIT])
        detach(memory, row, node + N_HEAD, node + N_TAIL)
    elif entry >= 0:
        place = at(memory, TABLE_ENTRY, entry)
        detach(memory, row, place + E_FIRST, place + E_LAST)
    memory[live + L_LIST] = UNLISTED
    if memory[live + L_DUE] != NEVER:
        disarm(memory, row)


@part
def listen_by_key(memory, row, number, count):
    live = live_at(memory, row)
    entry = find(memory, number, memory[live + L_RUNNING], 0, count)
    if entry == NONE:
        entry = enter(memory, number, memory[live + L_RUNNING], 0, count)
    memory[live + L_LIST] = entry
    place = at(memory, TABLE_ENTRY, entry)
    append(memory, row, number, place + E_FIRST, place + E_LAST)


@part
def bound_key(memory, node, binding):
    """Puts the key that a wait is about into SCRATCH. 1: a question; 2: nothing equals it."""
    scratch = memory[TABLE + 4 * SCRATCH + BEGIN]
    codes = memory[TABLE + 4 * LIST + BEGIN] + memory[node + N_BOUND_KEYS]
    doubles = memory[node + N_KEY_DOUBLE]
    for i in range(memory[node + N_KEYS]):
        status, value, is_null = value_of(memory, memory[codes + i], NONE, binding, NONE)
        if status != 0:
            return 1
        if is_null != 0:
            return 2
        if (doubles >> i) & 1:
            if is_nan(value):
                return 2
            value = one_zero(value)
        memory[scratch + i] = value
    return 0


@part
def append(memory, row, number, head, tail):
    """An instance waits behind all others of its node, so that each list is in the order of L_ORDER."""
    memory[LISTENED] += 1
    live = live_at(memory, row)
    order = memory[LISTENED]
    if memory[node_at(memory, number) + N_STARTS_RUNS] == 1:
        order -= FIRST
    memory[live + L_ORDER] = order
    last = memory[tail]
    memory[live + L_BEFORE] = last
    memory[live + L_AFTER] = NONE
    if last == NONE:
        memory[head] = row
    else:
        memory[live_at(memory, last) + L_AFTER] = row
    memory[tail] = row


@part
def detach(memory, row, head, tail):
    """Takes a row from a list; it still knows what came after it."""
    live = live_at(memory, row)
    before, after = memory[live + L_BEFORE], memory[live + L_AFTER]
    if before == NONE:
        memory[head] = after
    else:
        memory[live_at(memory, before) + L_AFTER] = after
    if after == NONE:
        memory[tail] = before
    else:
        memory[live_at(memory, after) + L_BEFORE] = before


# -- timers ----------------------------------------------------------------------------------------
# Timers of one node almost always fall due in the order in which they are armed, because time never
# goes back and their period is the same. So each node has a list, kept in order from its end. Those
# of schedules and months may be armed at different times for one instant: then the origin decides.


@part
def arm(memory, row, number, due):
    live = live_at(memory, row)
    node = node_at(memory, number)
    memory[ARMED] += 1
    memory[live + L_WAIT] = number
    memory[live + L_ORIGIN] = memory[ORIGIN]
    memory[live + L_ORIGIN_EVENT] = memory[ORIGIN_EVENT]
    memory[live + L_ARMED] = memory[ARMED]
    memory[live + L_DUE] = due
    earlier, later = memory[node + N_LAST_TIMER], NONE
    while earlier != NONE and fires_after(memory, earlier, due):
        earlier, later = memory[live_at(memory, earlier) + L_EARLIER], earlier
    memory[live + L_EARLIER] = earlier
    memory[live + L_LATER] = later
    if earlier == NONE:
        memory[node + N_TIMERS] = row
    else:
        memory[live_at(memory, earlier) + L_LATER] = row
    if later == NONE:
        memory[node + N_LAST_TIMER] = row
    else:
        memory[live_at(memory, later) + L_EARLIER] = row
    memory[NEXT_DUE] = min(memory[NEXT_DUE], due)


@part
def fires_after(memory, row, due):
    """Whether an armed timer comes after one that is armed now."""
    live = live_at(memory, row)
    if memory[live + L_DUE] != due:
        return memory[live + L_DUE] > due
    return memory[live + L_ORIGIN] > memory[ORIGIN]


@part
def disarm(memory, row):
    live = live_at(memory, row)
    node = node_at(memory, memory[live + L_WAIT])
    earlier, later = memory[live + L_EARLIER], memory[live + L_LATER]
    if earlier == NONE:
        memory[node + N_TIMERS] = later
    else:
        memory[live_at(memory, earlier) + L_LATER] = later
    if later == NONE:
        memory[node + N_LAST_TIMER] = earlier
    else:
        memory[live_at(memory, later) + L_EARLIER] = earlier
    memory[live + L_DUE] = NEVER
