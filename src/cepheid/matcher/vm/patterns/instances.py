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
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, Head, Region, at
from cepheid.matcher.vm.memory.linked_lists import insert, remove
from cepheid.matcher.vm.memory.tables import (
    NEVER,
    ONE_TURN,
    UNLISTED,
    DeadLive,
    EntryRow,
    LiveRow,
    NodeKind,
    NodeRow,
    StepKind,
)
from cepheid.matcher.vm.patterns.and_state import forget_truths
from cepheid.matcher.vm.patterns.bindings import is_empty

CLOCK = int(Head.CLOCK)


LIVES = TABLE + 4 * Region.LIVE + BEGIN  # where instances begin


@part
def new_live(memory, node, parent, binding, running):
    """An instance that has not begun, as the last child of its parent."""
    row = take_row(memory, Region.LIVE)
    live = live_at(memory, row)
    memory[live + LiveRow.NODE] = node
    memory[live + LiveRow.PARENT] = parent
    memory[live + LiveRow.BEGIN] = binding
    memory[live + LiveRow.ALIVE] = 1
    memory[live + LiveRow.FIRST] = NONE
    memory[live + LiveRow.LAST] = NONE
    memory[live + LiveRow.NEXT] = NONE
    memory[live + LiveRow.PREV] = NONE
    memory[live + LiveRow.RUNNING] = running
    memory[live + LiveRow.OWN_1] = 0
    memory[live + LiveRow.OWN_2] = NONE
    memory[live + LiveRow.OWN_3] = 0
    memory[live + LiveRow.WAIT] = NONE
    memory[live + LiveRow.BOUND] = NONE
    memory[live + LiveRow.LIST] = UNLISTED
    memory[live + LiveRow.DUE] = NEVER
    if parent != NONE:
        above = live_at(memory, parent)
        first, last = above + LiveRow.FIRST, above + LiveRow.LAST
        begin = memory[LIVES]
        insert(
            memory,
            begin,
            LiveRow.WIDTH,
            LiveRow.PREV,
            LiveRow.NEXT,
            first,
            last,
            row,
            memory[last],
            NONE,
        )
    return row


@part
def kind_of(memory, row):
    return memory[node_at(memory, memory[live_at(memory, row) + LiveRow.NODE]) + NodeRow.KIND]


@part
def unlink(memory, row):
    """Takes an instance from its parent's children."""
    live = live_at(memory, row)
    above = live_at(memory, memory[live + LiveRow.PARENT])
    first, last = above + LiveRow.FIRST, above + LiveRow.LAST
    remove(memory, memory[LIVES], LiveRow.WIDTH, LiveRow.PREV, LiveRow.NEXT, first, last, row)


@part
def end(memory, row):
    """An instance without children is over; its row is given back when nobody looks at it."""
    live = live_at(memory, row)
    if memory[live + LiveRow.ALIVE] == 0:
        return
    memory[live + LiveRow.ALIVE] = 0
    stop_waiting(memory, row)
    if kind_of(memory, row) == NodeKind.ALL:
        forget_truths(memory, row)
    memory[live + DeadLive.NEXT] = memory[Head.DEAD]
    memory[Head.DEAD] = row


@part
def quit(memory, row):
    """Ends an instance and everything below it, without a word to its parent."""
    current = row
    while True:
        child = memory[live_at(memory, current) + LiveRow.FIRST]
        if child != NONE:
            current = child
            continue
        end(memory, current)
        if current == row:
            return
        unlink(memory, current)
        current = memory[live_at(memory, current) + LiveRow.PARENT]


@part
def bury(memory):
    """Gives back the rows of instances that are over; only between two events."""
    row = memory[Head.DEAD]
    while row != NONE:
        after = memory[live_at(memory, row) + DeadLive.NEXT]
        give_back(memory, Region.LIVE, row)
        row = after
    memory[Head.DEAD] = NONE


# -- waiting ---------------------------------------------------------------------------------------


@part
def wait_for(memory, row, number, binding):
    """An instance begins to wait as a node says, behind those that wait already; 1: a question."""
    live = live_at(memory, row)
    node = node_at(memory, number)
    if memory[node + NodeRow.TWIN] != NONE and is_empty(memory, binding):
        number = memory[node + NodeRow.TWIN]
        node = node_at(memory, number)
    if memory[node + NodeRow.EVENT_DOES] != NONE:
        if memory[node + NodeRow.IS_ONE_LIST] == 1:
            memory[live + LiveRow.LIST] = NONE
            append(memory, row, number, node + NodeRow.HEAD, node + NodeRow.TAIL)
        else:
            status = bound_key(memory, node, binding)
            if status == 1:
                return 1
            if status == 0:  # else it is equal to nothing, and waits for ever
                listen_by_key(memory, row, number, memory[node + NodeRow.KEYS])
    memory[live + LiveRow.WAIT] = number
    memory[live + LiveRow.BOUND] = binding
    if memory[node + NodeRow.TIMER_DOES] != NONE:
        due = after_period(
            memory[CLOCK], memory[node + NodeRow.PERIOD], memory[node + NodeRow.MONTHS]
        )
        if due == memory[CLOCK]:
            push(memory, StepKind.FIRE, row, 0, 0, 0)
        else:
            arm(memory, row, number, due)
    return 0


@part
def stop_waiting(memory, row):
    live = live_at(memory, row)
    entry = memory[live + LiveRow.LIST]
    if entry == NONE:
        node = node_at(memory, memory[live + LiveRow.WAIT])
        detach(memory, row, node + NodeRow.HEAD, node + NodeRow.TAIL)
    elif entry >= 0:
        place = at(memory, Region.TABLE_ENTRY, entry)
        detach(memory, row, place + EntryRow.FIRST, place + EntryRow.LAST)
    memory[live + LiveRow.LIST] = UNLISTED
    if memory[live + LiveRow.DUE] != NEVER:
        disarm(memory, row)


@part
def listen_by_key(memory, row, number, count):
    live = live_at(memory, row)
    entry = find(memory, number, memory[live + LiveRow.RUNNING], 0, count)
    if entry == NONE:
        entry = enter(memory, number, memory[live + LiveRow.RUNNING], 0, count)
    memory[live + LiveRow.LIST] = entry
    place = at(memory, Region.TABLE_ENTRY, entry)
    append(memory, row, number, place + EntryRow.FIRST, place + EntryRow.LAST)


@part
def bound_key(memory, node, binding):
    """Puts the key that a wait is about into SCRATCH. 1: a question; 2: nothing equals it."""
    scratch = memory[TABLE + 4 * Region.SCRATCH + BEGIN]
    codes = memory[TABLE + 4 * Region.LIST + BEGIN] + memory[node + NodeRow.BOUND_KEYS]
    doubles = memory[node + NodeRow.KEY_DOUBLE]
    for i in range(memory[node + NodeRow.KEYS]):
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
    """An instance waits behind all others of its node, so that each list is in the order of LiveRow.ORDER."""
    memory[Head.LISTENED] += 1
    live = live_at(memory, row)
    turn = memory[node_at(memory, number) + NodeRow.TURN]
    memory[live + LiveRow.ORDER] = memory[Head.LISTENED] - turn * ONE_TURN
    begin, before, after = memory[LIVES], LiveRow.BEFORE, LiveRow.AFTER
    insert(memory, begin, LiveRow.WIDTH, before, after, head, tail, row, memory[tail], NONE)


@part
def detach(memory, row, head, tail):
    """An instance waits no more; it still knows who waits behind it."""
    before, after = LiveRow.BEFORE, LiveRow.AFTER
    remove(memory, memory[LIVES], LiveRow.WIDTH, before, after, head, tail, row)


# -- timers ----------------------------------------------------------------------------------------
# Timers of one node almost always fall due in the order in which they are armed, because time never
# goes back and their period is the same. So each node has a list, kept in order from its end. Those
# of schedules and months may be armed at different times for one instant: then the origin decides.


@part
def arm(memory, row, number, due):
    live = live_at(memory, row)
    node = node_at(memory, number)
    memory[Head.ARMED] += 1
    memory[live + LiveRow.WAIT] = number
    memory[live + LiveRow.ORIGIN] = memory[Head.ORIGIN]
    memory[live + LiveRow.ORIGIN_EVENT] = memory[Head.ORIGIN_EVENT]
    memory[live + LiveRow.ARMED] = memory[Head.ARMED]
    memory[live + LiveRow.DUE] = due
    earlier, later = memory[node + NodeRow.LAST_TIMER], NONE
    while earlier != NONE and fires_after(memory, earlier, due):
        earlier, later = memory[live_at(memory, earlier) + LiveRow.EARLIER], earlier
    begin, before, after = memory[LIVES], LiveRow.EARLIER, LiveRow.LATER
    first, last = node + NodeRow.TIMERS, node + NodeRow.LAST_TIMER
    insert(memory, begin, LiveRow.WIDTH, before, after, first, last, row, earlier, later)
    memory[Head.NEXT_DUE] = min(memory[Head.NEXT_DUE], due)


@part
def fires_after(memory, row, due):
    """Whether an armed timer comes after one that is armed now."""
    live = live_at(memory, row)
    if memory[live + LiveRow.DUE] != due:
        return memory[live + LiveRow.DUE] > due
    return memory[live + LiveRow.ORIGIN] > memory[Head.ORIGIN]


@part
def disarm(memory, row):
    live = live_at(memory, row)
    node = node_at(memory, memory[live + LiveRow.WAIT])
    before, after = LiveRow.EARLIER, LiveRow.LATER
    first, last = node + NodeRow.TIMERS, node + NodeRow.LAST_TIMER
    remove(memory, memory[LIVES], LiveRow.WIDTH, before, after, first, last, row)
    memory[live + LiveRow.DUE] = NEVER
