"""The pattern operators as small steps.

The reference semantics calls from instance to instance; here every such call is a step on a stack,
and what has to happen after it lies below it. So the machine can stop before any step, to grow or
to ask, and go on later. The names are those of the reference: an instance *begins*, is *true* with
a binding, *fails*, or is *quit* from above.
"""

from __future__ import annotations

from cepheid.matcher.vm.calendar import after_period
from cepheid.matcher.vm.evaluate import holds, value_of
from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.layout import BEGIN, NONE, TABLE, WIDTH, Head, Region, at
from cepheid.matcher.vm.store import (
    BINDING,
    LINK,
    enter,
    find,
    give_back,
    live_at,
    node_at,
    push,
    take_collected,
    take_row,
)
from cepheid.matcher.vm.tables import (
    ABSENT,
    ABSENT_STARTED,
    ALL,
    ANY,
    ARMED,
    AT,
    BEGIN_LIVE,
    BODY,
    BODY_STARTED,
    COMBINE,
    DEAD,
    DISTINCT,
    E_FIRST,
    E_LAST,
    EVERY,
    FAIL,
    FAILS,
    FIRE,
    FIRST,
    FOLLOWED,
    GENERATION,
    H_BINDING,
    H_NEXT,
    H_PLACE,
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
    LINE,
    LIST,
    LISTENED,
    LIVE,
    MATCHED,
    N_BOUND_KEYS,
    N_CHILD,
    N_CHILDREN,
    N_EVENT_DOES,
    N_FIRED,
    N_HEAD,
    N_HIGH,
    N_IS_ONE_LIST,
    N_KEY_DOUBLE,
    N_KEYS,
    N_KIND,
    N_LAST_TIMER,
    N_LATE,
    N_LOW,
    N_MONTHS,
    N_NEXT,
    N_PERIOD,
    N_PLACE,
    N_REACHED,
    N_STARTS_RUNS,
    N_TAG,
    N_TAG_COUNT,
    N_TAGS,
    N_TAIL,
    N_TIMER_DOES,
    N_TIMERS,
    NEVER,
    NEXT_DUE,
    ORIGIN,
    ORIGIN_EVENT,
    REPEAT,
    ROOT,
    ROOT_STARTED,
    SCRATCH,
    SEEN_KEYS,
    SIDES_STARTED,
    SPAWN,
    SPAWNED,
    START_SIDE,
    TABLE_ENTRY,
    TRUE,
    TRUTH,
    UNLISTED,
    WAIT,
    WAIT_FOR,
    WHILE,
    WITHIN,
)

CLOCK, SITE, ARGUMENTS = int(Head.CLOCK), int(Head.SITE), int(Head.ARGUMENTS)
ANSWERS, USED_ANSWERS = int(Head.ANSWERS), int(Head.USED_ANSWERS)
ANSWER = int(Region.ANSWER)

# -- instances -------------------------------------------------------------------------------------


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
    if memory[node + N_EVENT_DOES] != NONE:
        if memory[node + N_IS_ONE_LIST] == 1:
            memory[live + L_LIST] = NONE
            append(memory, row, node + N_HEAD, node + N_TAIL)
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
    append(memory, row, place + E_FIRST, place + E_LAST)


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
def is_nan(bits):
    return (bits & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000


@part
def one_zero(bits):
    """The bits of a double, the same for both zeros."""
    return 0 if bits == MINUS_ZERO else bits


MINUS_ZERO = -(1 << 63)
ONE_NAN = 0x7FF8000000000000


@part
def append(memory, row, head, tail):
    memory[LISTENED] += 1
    live = live_at(memory, row)
    order = memory[LISTENED]
    if memory[live + L_BEGIN] == NONE:
        node = node_at(memory, memory[live + L_NODE])
        if memory[node + N_STARTS_RUNS] == 1:
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
# goes back and their period is the same. So each node has a list, kept in order from its end.


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
    while earlier != NONE and memory[live_at(memory, earlier) + L_DUE] > due:
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


# -- what a wait brings ----------------------------------------------------------------------------


@part
def event_came(memory, row, event):
    """The event that an instance waits for."""
    live = live_at(memory, row)
    number = memory[live + L_WAIT]
    node = node_at(memory, number)
    memory[node + N_REACHED] += 1
    if memory[node + N_EVENT_DOES] == FAILS:
        push(memory, FAIL, row, 0, 0, 0)
        return
    bound = memory[live + L_BOUND]
    came_true(memory, row, number, bind(memory, bound, memory[node + N_TAG], event))


@part
def time_came(memory, row):
    """The timer of an instance falls due; it is disarmed already."""
    live = live_at(memory, row)
    number = memory[live + L_WAIT]
    kind = kind_of(memory, row)
    if kind == WITHIN:
        push(memory, FAIL, row, 0, 0, 0)
        return
    node = node_at(memory, number)
    memory[node + N_FIRED] += 1
    if kind == AT:
        binding = memory[live + L_BEGIN]
        end(memory, row)
        push(memory, TRUE, row, binding, 1, 0)
        return
    if memory[node + N_TIMER_DOES] == FAILS:
        push(memory, FAIL, row, 0, 0, 0)
        return
    came_true(memory, row, number, memory[live + L_BOUND])


@part
def came_true(memory, row, number, binding):
    """A wait is over: the next of its line begins, or the instance is true and over."""
    live = live_at(memory, row)
    line = node_at(memory, memory[live + L_NODE])
    following = NONE
    if memory[line + N_KIND] == LINE:
        following = memory[node_at(memory, number) + N_NEXT]
    if following != NONE:
        stop_waiting(memory, row)
        if wait_for(memory, row, following, binding) == 1:
            push(memory, WAIT_FOR, row, following, binding, 0)
        return
    parent = memory[live + L_PARENT]
    above = live_at(memory, parent)
    kind = memory[node_at(memory, memory[above + L_NODE]) + N_KIND]
    if kind != EVERY or memory[above + L_A] == 1:
        end(memory, row)
        rise(memory, row, binding, 1)
        return
    # Under `every` the instance becomes the one that would follow it.
    stop_waiting(memory, row)
    first = memory[line + N_CHILD] if memory[line + N_KIND] == LINE else number
    if wait_for(memory, row, first, memory[live + L_BEGIN]) == 1:
        push(memory, TRUE, parent, binding, 0, 0)
        push(memory, WAIT_FOR, row, first, memory[live + L_BEGIN], 0)
    else:
        rise(memory, parent, binding, 0)


@part
def rise(memory, row, binding, finished):
    """An instance is true: up through `->` as far as that is all there is to it."""
    while True:
        live = live_at(memory, row)
        parent = memory[live + L_PARENT]
        above = live_at(memory, parent)
        kind = memory[node_at(memory, memory[above + L_NODE]) + N_KIND]
        if kind == ROOT:
            if finished == 1:
                unlink(memory, row)
            if memory[above + L_A] == 0:
                push(memory, MATCHED, memory[above + L_RUNNING], NONE, binding, 0)
            return
        if kind != FOLLOWED:
            push(memory, TRUE, row, binding, finished, 0)
            return
        following = memory[node_at(memory, memory[live + L_NODE]) + N_NEXT]
        if finished == 1:
            unlink(memory, row)
        if following != NONE:
            begin_next(memory, parent, following, binding)
            return
        finished = 0
        if memory[above + L_FIRST] == NONE:
            end(memory, parent)
            finished = 1
        row = parent


@part
def begin_next(memory, parent, number, binding):
    """The next part of `->`; a wait begins at once."""
    running = memory[live_at(memory, parent) + L_RUNNING]
    child = new_live(memory, number, parent, binding, running)
    node = node_at(memory, number)
    kind = memory[node + N_KIND]
    if kind == LINE:
        number = memory[node + N_CHILD]
    if kind not in (LINE, WAIT) or wait_for(memory, child, number, binding) == 1:
        push(memory, BEGIN_LIVE, child, 0, 0, 0)


# -- bindings --------------------------------------------------------------------------------------


@part
def copy_binding(memory, binding):
    """A copy; NONE is the empty one."""
    row = take_collected(memory, BINDING)
    begin = memory[TABLE + 4 * BINDING + BEGIN]
    width = memory[TABLE + 4 * BINDING + WIDTH]
    place = begin + row * width
    if binding == NONE:
        for i in range(width - 1):
            memory[place + i] = NONE
    else:
        source = begin + binding * width
        for i in range(width - 1):
            memory[place + i] = memory[source + i]
    memory[place + width - 1] = 0
    return row


@part
def bind(memory, binding, tag, event):
    if tag == NONE:
        return binding
    row = copy_binding(memory, binding)
    memory[at(memory, BINDING, row) + tag] = event
    return row


@part
def merge(memory, into, other):
    """What another binding has, over what is there."""
    if other == NONE:
        return
    place, source = at(memory, BINDING, into), at(memory, BINDING, other)
    for i in range(memory[TABLE + 4 * BINDING + WIDTH] - 1):
        if memory[source + i] != NONE:
            memory[place + i] = memory[source + i]


# -- what an instance does when it begins ----------------------------------------------------------


@part
def begin_live(memory, row):
    """1: a question."""
    live = live_at(memory, row)
    number = memory[live + L_NODE]
    node = node_at(memory, number)
    kind = memory[node + N_KIND]
    if kind == WAIT:
        return wait_for(memory, row, number, memory[live + L_BEGIN])
    if kind == LINE:
        return wait_for(memory, row, memory[node + N_CHILD], memory[live + L_BEGIN])
    if kind == EVERY:
        push(memory, SPAWN, row, 0, 0, 0)
    elif kind == DISTINCT:
        forget_keys(memory, row)
        push(memory, SPAWN, row, 0, 0, 0)
    elif kind in (FOLLOWED, WHILE):
        begin_child(memory, row, memory[node + N_CHILD], memory[live + L_BEGIN])
    elif kind == ALL:
        memory[live + L_A] = NONE  # first and last truth
        memory[live + L_B] = NONE
        push(memory, START_SIDE, row, memory[node + N_CHILD], 0, 0)
    elif kind == ANY:
        memory[live + L_A] = 1  # starting
        push(memory, SIDES_STARTED, row, 0, 0, 0)
        push(memory, START_SIDE, row, memory[node + N_CHILD], 0, 0)
    elif kind == ABSENT:
        push(memory, ABSENT_STARTED, row, 0, 0, 0)
        begin_child(memory, row, memory[node + N_CHILD], memory[live + L_BEGIN])
    elif kind == REPEAT:
        push(memory, BODY, row, 0, 0, 0)
        if memory[node + N_CHILDREN] > 1:
            until = memory[node_at(memory, memory[node + N_CHILD]) + N_NEXT]
            begin_child(memory, row, until, memory[live + L_BEGIN])
    elif kind == WITHIN:
        begin_within(memory, row, number)
    elif kind == AT:
        return begin_at(memory, row, number)
    elif kind == ROOT:
        memory[live + L_A] = 1
        push(memory, ROOT_STARTED, row, 0, 0, 0)
        begin_child(memory, row, memory[node + N_CHILD], NONE)
    return 0


@part
def begin_child(memory, parent, node, binding):
    running = memory[live_at(memory, parent) + L_RUNNING]
    child = new_live(memory, node, parent, binding, running)
    push(memory, BEGIN_LIVE, child, 0, 0, 0)
    return child


@part
def begin_within(memory, row, number):
    node = node_at(memory, number)
    period, months = memory[node + N_PERIOD], memory[node + N_MONTHS]
    if period == 0 and months == 0:
        push(memory, FAIL, row, 0, 0, 0)
        return
    arm(memory, row, number, after_period(memory[CLOCK], period, months))
    begin_child(memory, row, memory[node + N_CHILD], memory[live_at(memory, row) + L_BEGIN])


@part
def begin_at(memory, row, number):
    """When a schedule comes next is a question to Python: sites below zero are schedules."""
    if memory[USED_ANSWERS] == memory[ANSWERS]:
        memory[SITE] = NONE - memory[node_at(memory, number) + N_LOW]
        memory[ARGUMENTS] = 0
        return 1
    answer = at(memory, ANSWER, memory[USED_ANSWERS])
    memory[USED_ANSWERS] += 1
    if memory[answer + 1] == 0:
        arm(memory, row, number, memory[answer])
    return 0


# -- what a parent makes of its children's news ----------------------------------------------------


@part
def true(memory, row, binding, finished):
    """An instance is true; its parent hears it. 1: a question."""
    parent = memory[live_at(memory, row) + L_PARENT]
    kind = kind_of(memory, parent)
    if kind in (ROOT, FOLLOWED):
        rise(memory, row, binding, finished)
    elif kind == EVERY:
        every_true(memory, parent, row, binding, finished)
    elif kind == DISTINCT:
        return distinct_true(memory, parent, row, binding, finished)
    elif kind == WITHIN:
        within_true(memory, parent, row, binding, finished)
    elif kind == WHILE:
        return while_true(memory, parent, row, binding, finished)
    elif kind == ALL:
        all_true(memory, parent, row, binding, finished)
    elif kind == ANY:
        if finished == 1:
            unlink(memory, row)
            quit(memory, parent)
        push(memory, TRUE, parent, binding, finished, 0)
    elif kind == ABSENT:
        if finished == 1:
            unlink(memory, row)
        push(memory, FAIL, parent, 0, 0, 0)
    elif kind == REPEAT:
        repeat_true(memory, parent, row, binding, finished)
    return 0


@part
def fail(memory, row):
    """An instance has failed for good; its parent hears it."""
    quit(memory, row)
    live = live_at(memory, row)
    parent = memory[live + L_PARENT]
    above = live_at(memory, parent)
    kind = memory[node_at(memory, memory[above + L_NODE]) + N_KIND]
    if kind in (EVERY, DISTINCT):
        if memory[above + L_A] == 0:
            unlink(memory, row)
            if kind == DISTINCT:
                forget_keys(memory, parent)
            push(memory, SPAWN, parent, 0, 0, 0)
        return
    unlink(memory, row)
    if kind == FOLLOWED:
        if memory[above + L_FIRST] == NONE:
            push(memory, FAIL, parent, 0, 0, 0)
    elif kind == ANY:
        if memory[above + L_FIRST] == NONE and memory[above + L_A] == 0:
            push(memory, FAIL, parent, 0, 0, 0)
    elif kind not in (ROOT, ABSENT):
        push(memory, FAIL, parent, 0, 0, 0)


@part
def every_true(memory, parent, row, binding, finished):
    above = live_at(memory, parent)
    if memory[above + L_A] == 1:
        memory[above + L_B] = 1  # true at once: it would repeat for ever at one instant
        return
    if finished == 1:
        unlink(memory, row)
    push(memory, TRUE, parent, binding, 0, 0)
    push(memory, SPAWN, parent, 0, 0, 0)


# -- `every-distinct` ------------------------------------------------------------------------------
# The keys that an instance has seen are entries of the table, of the generation that it has in L_C.


@part
def forget_keys(memory, row):
    """The instance begins to remember keys anew; the old ones are collected."""
    memory[GENERATION] += 1
    memory[live_at(memory, row) + L_C] = memory[GENERATION]


@part
def distinct_true(memory, parent, row, binding, finished):
    """A truth counts only if its key is new. 1: a question."""
    above = live_at(memory, parent)
    number = memory[above + L_NODE]
    node = node_at(memory, number)
    if memory[above + L_A] == 1:
        memory[above + L_B] = 1  # true at once, as for `every`
        return 0
    status, nulls = distinct_key(memory, node, binding)
    if status != 0:
        return 1
    is_new = see_key(memory, node, SEEN_KEYS - number, parent, nulls)
    if finished == 1:
        unlink(memory, row)
    if is_new:
        push(memory, TRUE, parent, binding, 0, 0)
    push(memory, SPAWN, parent, 0, 0, 0)
    return 0


@part
def distinct_key(memory, node, binding):
    """Puts the key of a binding into SCRATCH: whether there is a question, and which are null."""
    scratch = memory[TABLE + 4 * SCRATCH + BEGIN]
    codes = memory[TABLE + 4 * LIST + BEGIN] + memory[node + N_BOUND_KEYS]
    doubles, nulls = memory[node + N_KEY_DOUBLE], 0
    for i in range(memory[node + N_KEYS]):
        status, value, is_null = value_of(memory, memory[codes + i], NONE, binding, NONE)
        if status != 0:
            return 1, 0
        if is_null != 0:
            nulls |= 1 << i
            value = 0
        elif (doubles >> i) & 1:
            value = ONE_NAN if is_nan(value) else one_zero(value)
        memory[scratch + i] = value
    return 0, nulls


@part
def see_key(memory, node, owner, row, nulls):
    """Whether the key in SCRATCH has not been seen, or its time is over; from now on it has."""
    count = memory[node + N_KEYS]
    generation = memory[live_at(memory, row) + L_C]
    found = find(memory, owner, generation, nulls, count)
    if found != NONE and memory[at(memory, TABLE_ENTRY, found) + E_FIRST] > memory[CLOCK]:
        return False
    if found == NONE:
        found = enter(memory, owner, generation, nulls, count)
    entry = at(memory, TABLE_ENTRY, found)
    memory[entry + E_FIRST] = NEVER
    if memory[node + N_LOW] != NONE:
        memory[entry + E_FIRST] = memory[CLOCK] + memory[node + N_PERIOD]
    memory[entry + E_LAST] = row
    return True


@part
def spawn(memory, row):
    live = live_at(memory, row)
    memory[live + L_A] = 1
    memory[live + L_B] = 0
    node = memory[node_at(memory, memory[live + L_NODE]) + N_CHILD]
    child = new_live(memory, node, row, memory[live + L_BEGIN], memory[live + L_RUNNING])
    push(memory, SPAWNED, row, child, 0, 0)
    push(memory, BEGIN_LIVE, child, 0, 0, 0)


@part
def spawned(memory, row, child):
    live = live_at(memory, row)
    memory[live + L_A] = 0
    if memory[live + L_B] == 1 or memory[live_at(memory, child) + L_ALIVE] == 0:
        quit(memory, child)
        unlink(memory, child)


@part
def within_true(memory, parent, row, binding, finished):
    above = live_at(memory, parent)
    memory[above + L_A] += 1
    most = memory[node_at(memory, memory[above + L_NODE]) + N_HIGH]
    if most != NONE and memory[above + L_A] > most:
        push(memory, FAIL, parent, 0, 0, 0)
        return
    if finished == 1:
        unlink(memory, row)
        quit(memory, parent)
    push(memory, TRUE, parent, binding, finished, 0)


@part
def while_true(memory, parent, row, binding, finished):
    above = live_at(memory, parent)
    code = memory[node_at(memory, memory[above + L_NODE]) + N_LATE]
    passes = holds(memory, code, NONE, binding, NONE)
    if passes < 0:
        return 1
    if passes == 0:
        push(memory, FAIL, parent, 0, 0, 0)
        return 0
    if finished == 1:
        unlink(memory, row)
        quit(memory, parent)
    push(memory, TRUE, parent, binding, finished, 0)
    return 0


# -- and, or ---------------------------------------------------------------------------------------


@part
def start_side(memory, row, node):
    """Sides begin one after the other, as long as the whole is alive; those of `or` backwards."""
    live = live_at(memory, row)
    if memory[live + L_ALIVE] == 0:
        return
    following = memory[node_at(memory, node) + N_NEXT]
    if following != NONE:
        push(memory, START_SIDE, row, following, 0, 0)
    begin_child(memory, row, node, memory[live + L_BEGIN])


@part
def sides_started(memory, row):
    live = live_at(memory, row)
    memory[live + L_A] = 0
    if memory[live + L_ALIVE] == 1 and memory[live + L_FIRST] == NONE:
        push(memory, FAIL, row, 0, 0, 0)


@part
def all_true(memory, parent, row, binding, finished):
    above = live_at(memory, parent)
    place = memory[node_at(memory, memory[live_at(memory, row) + L_NODE]) + N_PLACE]
    if finished == 1:
        unlink(memory, row)
    combinations = count_combinations(memory, parent, place)
    if combinations > 0 and not can_come_true(memory, parent, place):
        forget_truths_of(memory, parent, place)  # no other side can meet them any more
    add_truth(memory, parent, place, binding)
    if combinations > 0:
        is_over = not can_come_true(memory, parent, NONE)
        if is_over:
            child = memory[above + L_FIRST]
            while child != NONE:
                quit(memory, child)
                unlink(memory, child)
                child = memory[above + L_FIRST]
        push(memory, COMBINE, parent, place * 2 + (1 if is_over else 0), binding, 0)


@part
def can_come_true(memory, row, besides):
    """Whether news may come from a side; an absence has none but its failure."""
    child = memory[live_at(memory, row) + L_FIRST]
    while child != NONE:
        live = live_at(memory, child)
        node = node_at(memory, memory[live + L_NODE])
        if memory[node + N_PLACE] != besides and memory[node + N_KIND] != ABSENT:
            return True
        child = memory[live + L_NEXT]
    return False


@part
def count_truths(memory, row, place):
    count = 0
    truth = memory[live_at(memory, row) + L_A]
    while truth != NONE:
        cell = at(memory, TRUTH, truth)
        count += memory[cell + H_PLACE] == place
        truth = memory[cell + H_NEXT]
    return count


@part
def count_combinations(memory, row, besides):
    sides = memory[node_at(memory, memory[live_at(memory, row) + L_NODE]) + N_CHILDREN]
    product = 1
    for place in range(sides):
        if place != besides:
            product *= count_truths(memory, row, place)
    return product


@part
def add_truth(memory, row, place, binding):
    live = live_at(memory, row)
    truth = take_row(memory, TRUTH)
    cell = at(memory, TRUTH, truth)
    memory[cell + H_BINDING] = binding
    memory[cell + H_PLACE] = place
    memory[cell + H_NEXT] = NONE
    if memory[live + L_B] == NONE:
        memory[live + L_A] = truth
    else:
        memory[at(memory, TRUTH, memory[live + L_B]) + H_NEXT] = truth
    memory[live + L_B] = truth


@part
def forget_truths_of(memory, row, place):
    live = live_at(memory, row)
    truth, before = memory[live + L_A], NONE
    while truth != NONE:
        cell = at(memory, TRUTH, truth)
        after = memory[cell + H_NEXT]
        if memory[cell + H_PLACE] == place:
            if before == NONE:
                memory[live + L_A] = after
            else:
                memory[at(memory, TRUTH, before) + H_NEXT] = after
            if after == NONE:
                memory[live + L_B] = before
            give_back(memory, TRUTH, truth)
        else:
            before = truth
        truth = after


@part
def forget_truths(memory, row):
    live = live_at(memory, row)
    truth = memory[live + L_A]
    while truth != NONE:
        after = memory[at(memory, TRUTH, truth) + H_NEXT]
        give_back(memory, TRUTH, truth)
        truth = after
    memory[live + L_A] = NONE
    memory[live + L_B] = NONE


@part
def combine(memory, row, place_and_end, binding, number):
    """The combination of this number, of the new truth with those of all other sides."""
    live = live_at(memory, row)
    if memory[live + L_ALIVE] == 0:  # a truth may make a parent end this instance
        return
    place, is_over = place_and_end // 2, place_and_end % 2
    total = count_combinations(memory, row, place)
    merged = combination(memory, row, place, binding, number, total)
    if number + 1 < total:
        push(memory, COMBINE, row, place_and_end, binding, number + 1)
        push(memory, TRUE, row, merged, 0, 0)
        return
    if is_over == 1:
        end(memory, row)
    push(memory, TRUE, row, merged, is_over, 0)


@part
def combination(memory, row, place, binding, number, total):
    """Counts like digits: the last side changes fastest."""
    live = live_at(memory, row)
    sides = memory[node_at(memory, memory[live + L_NODE]) + N_CHILDREN]
    merged = copy_binding(memory, NONE)
    rest = total
    for side in range(sides):
        if side == place:
            merge(memory, merged, binding)
            continue
        rest //= count_truths(memory, row, side)
        merge(memory, merged, truth_number(memory, row, side, number // rest))
        number %= rest
    return merged


@part
def truth_number(memory, row, place, number):
    truth = memory[live_at(memory, row) + L_A]
    while True:
        cell = at(memory, TRUTH, truth)
        if memory[cell + H_PLACE] == place:
            if number == 0:
                return memory[cell + H_BINDING]
            number -= 1
        truth = memory[cell + H_NEXT]


# -- repeat ----------------------------------------------------------------------------------------
# A counts, B is the binding of what was collected, C is 1 while the body starts.


@part
def body_of(memory, row):
    """The live body, or NONE; the other child is what it waits for."""
    child = memory[live_at(memory, row) + L_FIRST]
    while child != NONE:
        live = live_at(memory, child)
        if memory[node_at(memory, memory[live + L_NODE]) + N_PLACE] == 0:
            return child
        child = memory[live + L_NEXT]
    return NONE


@part
def start_body(memory, row):
    """Starts P; again, up to `high` times, while it is true and finished as it starts."""
    live = live_at(memory, row)
    node = node_at(memory, memory[live + L_NODE])
    high = memory[node + N_HIGH]
    if (
        memory[live + L_ALIVE] == 0
        or body_of(memory, row) != NONE
        or (high != NONE and memory[live + L_A] >= high)
    ):
        if memory[live + L_ALIVE] == 1:
            memory[live + L_C] = 0
        return
    memory[live + L_C] = 1
    push(memory, BODY_STARTED if high == NONE else BODY, row, 0, 0, 0)
    begin_child(memory, row, memory[node + N_CHILD], memory[live + L_BEGIN])


@part
def body_started(memory, row):
    live = live_at(memory, row)
    if memory[live + L_ALIVE] == 1:
        memory[live + L_C] = 0


@part
def repeat_true(memory, parent, row, binding, finished):
    above = live_at(memory, parent)
    node = node_at(memory, memory[above + L_NODE])
    if memory[node_at(memory, memory[live_at(memory, row) + L_NODE]) + N_PLACE] == 1:
        repeat_ended(memory, parent, row, binding, finished)
        return
    memory[above + L_A] += 1
    collect_events(memory, parent, binding)
    if finished == 1:
        unlink(memory, row)
    low, high, count = memory[node + N_LOW], memory[node + N_HIGH], memory[above + L_A]
    if low != NONE and low == high and high == count:
        repeat_done(memory, parent, binding)
    elif high != NONE and count >= high:
        body = body_of(memory, parent)
        if body != NONE:
            quit(memory, body)
            unlink(memory, body)
    elif body_of(memory, parent) == NONE and memory[above + L_C] == 0:
        push(memory, BODY, parent, 0, 0, 0)


@part
def repeat_ended(memory, parent, row, binding, finished):
    above = live_at(memory, parent)
    low = memory[node_at(memory, memory[above + L_NODE]) + N_LOW]
    if finished == 1:
        unlink(memory, row)
    if low != NONE and memory[above + L_A] < low:
        push(memory, FAIL, parent, 0, 0, 0)
    else:
        repeat_done(memory, parent, binding)


@part
def repeat_done(memory, row, binding):
    """True with what was collected, and over."""
    merged = copy_binding(memory, binding)
    merge(memory, merged, memory[live_at(memory, row) + L_B])
    quit(memory, row)
    push(memory, TRUE, row, merged, 1, 0)


@part
def collect_events(memory, row, binding):
    live = live_at(memory, row)
    node = node_at(memory, memory[live + L_NODE])
    if binding == NONE or memory[node + N_TAG_COUNT] == 0:
        return
    collected = copy_binding(memory, memory[live + L_B])
    source, place = at(memory, BINDING, binding), at(memory, BINDING, collected)
    tags = memory[TABLE + 4 * LIST + BEGIN] + memory[node + N_TAGS]
    for i in range(memory[node + N_TAG_COUNT]):
        tag = memory[tags + 2 * i]
        is_list = memory[tags + 2 * i + 1]
        bound = memory[source + tag]
        if bound == NONE:
            continue
        if is_list == 1:
            memory[place + tag] = extend(memory, memory[place + tag], bound)
        else:
            memory[place + tag] = link(memory, memory[place + tag], bound)
    memory[live + L_B] = collected


@part
def link(memory, before, event):
    row = take_collected(memory, LINK)
    cell = at(memory, LINK, row)
    memory[cell] = event
    memory[cell + 1] = before
    memory[cell + 2] = 1 if before == NONE else memory[at(memory, LINK, before) + 2] + 1
    memory[cell + 3] = 0
    return row


@part
def extend(memory, before, other):
    """A list with the events of another list behind it."""
    if before == NONE:
        return other
    count = memory[at(memory, LINK, other) + 2]
    for i in range(count):
        before = link(memory, before, event_number(memory, other, i))
    return before


@part
def event_number(memory, last, index):
    """An event of a list, counted from the oldest."""
    cell = at(memory, LINK, last)
    for _ in range(memory[cell + 2] - 1 - index):
        cell = at(memory, LINK, memory[cell + 1])
    return memory[cell]
