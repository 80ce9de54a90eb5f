"""The pattern operators as small steps.

The reference semantics calls from instance to instance; here every such call is a step on a stack,
and what has to happen after it lies below it. So the machine can stop before any step, to grow or
to ask, and go on later. The names are those of the reference: an instance *begins*, is *true* with
a binding, *fails*, or is *quit* from above.
"""

from __future__ import annotations

from cepheid.matcher.vm.expressions.calendar import after_period
from cepheid.matcher.vm.expressions.doubles import ONE_NAN, is_nan, one_zero
from cepheid.matcher.vm.expressions.evaluate import holds, value_of
from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import enter, find, live_at, node_at, push
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, Head, Region, at
from cepheid.matcher.vm.memory.tables import (
    NEVER,
    SEEN_KEYS,
    AndLive,
    Effect,
    EntryRow,
    LiveRow,
    NodeKind,
    NodeRow,
    RepeatLive,
    StartingLive,
    StepKind,
    WithinLive,
)
from cepheid.matcher.vm.patterns.and_state import (
    add_truth,
    combination,
    count_combinations,
    forget_truths_of,
)
from cepheid.matcher.vm.patterns.bindings import bind, collect_events, copy_binding, merge
from cepheid.matcher.vm.patterns.instances import (
    arm,
    end,
    kind_of,
    new_live,
    quit,
    stop_waiting,
    unlink,
    wait_for,
)

CLOCK, SITE, ARGUMENTS = int(Head.CLOCK), int(Head.SITE), int(Head.ARGUMENTS)
ANSWERS, USED_ANSWERS = int(Head.ANSWERS), int(Head.USED_ANSWERS)
ANSWER = int(Region.ANSWER)


# -- what a wait brings ----------------------------------------------------------------------------


@part
def event_came(memory, row, event):
    """The event that an instance waits for."""
    live = live_at(memory, row)
    number = memory[live + LiveRow.WAIT]
    node = node_at(memory, number)
    memory[node + NodeRow.REACHED] += 1
    if memory[node + NodeRow.EVENT_DOES] == Effect.FAILS:
        push(memory, StepKind.FAIL, row, 0, 0, 0)
        return
    bound = memory[live + LiveRow.BOUND]
    came_true(memory, row, number, bind(memory, bound, memory[node + NodeRow.TAG], event))


@part
def time_came(memory, row):
    """The timer of an instance falls due; it is disarmed already."""
    live = live_at(memory, row)
    number = memory[live + LiveRow.WAIT]
    kind = kind_of(memory, row)
    if kind == NodeKind.WITHIN:
        push(memory, StepKind.FAIL, row, 0, 0, 0)
        return
    node = node_at(memory, number)
    memory[node + NodeRow.FIRED] += 1
    if kind == NodeKind.AT:
        binding = memory[live + LiveRow.BEGIN]
        end(memory, row)
        push(memory, StepKind.TRUE, row, binding, 1, 0)
        return
    if memory[node + NodeRow.TIMER_DOES] == Effect.FAILS:
        push(memory, StepKind.FAIL, row, 0, 0, 0)
        return
    came_true(memory, row, number, memory[live + LiveRow.BOUND])


@part
def came_true(memory, row, number, binding):
    """A wait is over: the next of its line begins, or the instance is true and over."""
    live = live_at(memory, row)
    line = node_at(memory, memory[live + LiveRow.NODE])
    following = NONE
    if memory[line + NodeRow.KIND] == NodeKind.LINE:
        following = memory[node_at(memory, number) + NodeRow.NEXT]
    if following != NONE:
        stop_waiting(memory, row)
        if wait_for(memory, row, following, binding) == 1:
            push(memory, StepKind.WAIT_FOR, row, following, binding, 0)
        return
    parent = memory[live + LiveRow.PARENT]
    above = live_at(memory, parent)
    kind = memory[node_at(memory, memory[above + LiveRow.NODE]) + NodeRow.KIND]
    if kind != NodeKind.EVERY or memory[above + StartingLive.IS_STARTING] == 1:
        end(memory, row)
        rise(memory, row, binding, 1)
        return
    # Under `every` the instance becomes the one that would follow it.
    stop_waiting(memory, row)
    first = (
        memory[line + NodeRow.CHILD]
        if memory[line + NodeRow.KIND] == NodeKind.LINE
        else memory[live + LiveRow.NODE]
    )
    if is_instant(memory, first) or wait_for(memory, row, first, memory[live + LiveRow.BEGIN]) == 1:
        push(memory, StepKind.TRUE, parent, binding, 0, 0)
        push(memory, StepKind.WAIT_FOR, row, first, memory[live + LiveRow.BEGIN], 0)
    else:
        rise(memory, parent, binding, 0)


@part
def is_instant(memory, number):
    """Whether a wait is over as soon as it begins, which is a step of its own."""
    node = node_at(memory, number)
    has_period = memory[node + NodeRow.PERIOD] != 0 or memory[node + NodeRow.MONTHS] != 0
    return memory[node + NodeRow.TIMER_DOES] != NONE and not has_period


@part
def rise(memory, row, binding, finished):
    """An instance is true: up through `->` as far as that is all there is to it."""
    while True:
        live = live_at(memory, row)
        parent = memory[live + LiveRow.PARENT]
        above = live_at(memory, parent)
        kind = memory[node_at(memory, memory[above + LiveRow.NODE]) + NodeRow.KIND]
        if kind == NodeKind.ROOT:
            if finished == 1:
                unlink(memory, row)
            if memory[above + StartingLive.IS_STARTING] == 0:
                push(memory, StepKind.MATCHED, memory[above + LiveRow.RUNNING], NONE, binding, 0)
            return
        if kind != NodeKind.FOLLOWED:
            push(memory, StepKind.TRUE, row, binding, finished, 0)
            return
        following = memory[node_at(memory, memory[live + LiveRow.NODE]) + NodeRow.NEXT]
        if finished == 1:
            unlink(memory, row)
        if following != NONE:
            begin_next(memory, parent, following, binding)
            return
        finished = 0
        if memory[above + LiveRow.FIRST] == NONE:
            end(memory, parent)
            finished = 1
        row = parent


@part
def begin_next(memory, parent, number, binding):
    """The next part of `->`; a wait begins at once."""
    running = memory[live_at(memory, parent) + LiveRow.RUNNING]
    child = new_live(memory, number, parent, binding, running)
    node = node_at(memory, number)
    kind = memory[node + NodeRow.KIND]
    if kind == NodeKind.LINE:
        number = memory[node + NodeRow.CHILD]
    if kind not in (NodeKind.LINE, NodeKind.WAIT) or wait_for(memory, child, number, binding) == 1:
        push(memory, StepKind.BEGIN_LIVE, child, 0, 0, 0)


# -- what an instance does when it begins ----------------------------------------------------------


@part
def begin_live(memory, row):
    """1: a question."""
    live = live_at(memory, row)
    number = memory[live + LiveRow.NODE]
    node = node_at(memory, number)
    kind = memory[node + NodeRow.KIND]
    if kind == NodeKind.WAIT:
        return wait_for(memory, row, number, memory[live + LiveRow.BEGIN])
    if kind == NodeKind.LINE:
        return wait_for(memory, row, memory[node + NodeRow.CHILD], memory[live + LiveRow.BEGIN])
    if kind == NodeKind.EVERY:
        push(memory, StepKind.SPAWN, row, 0, 0, 0)
    elif kind == NodeKind.DISTINCT:
        forget_keys(memory, row)
        push(memory, StepKind.SPAWN, row, 0, 0, 0)
    elif kind in (NodeKind.FOLLOWED, NodeKind.WHILE):
        begin_child(memory, row, memory[node + NodeRow.CHILD], memory[live + LiveRow.BEGIN])
    elif kind == NodeKind.ALL:
        memory[live + AndLive.FIRST_TRUTH] = NONE
        memory[live + AndLive.LAST_TRUTH] = NONE
        push(memory, StepKind.START_SIDE, row, memory[node + NodeRow.CHILD], 0, 0)
    elif kind == NodeKind.ANY:
        memory[live + StartingLive.IS_STARTING] = 1
        push(memory, StepKind.SIDES_STARTED, row, 0, 0, 0)
        push(memory, StepKind.START_SIDE, row, memory[node + NodeRow.CHILD], 0, 0)
    elif kind == NodeKind.ABSENT:
        push(memory, StepKind.ABSENT_STARTED, row, 0, 0, 0)
        begin_child(memory, row, memory[node + NodeRow.CHILD], memory[live + LiveRow.BEGIN])
    elif kind == NodeKind.REPEAT:
        push(memory, StepKind.BODY, row, 0, 0, 0)
        if memory[node + NodeRow.CHILDREN] > 1:
            until = memory[node_at(memory, memory[node + NodeRow.CHILD]) + NodeRow.NEXT]
            begin_child(memory, row, until, memory[live + LiveRow.BEGIN])
    elif kind == NodeKind.WITHIN:
        begin_within(memory, row, number)
    elif kind == NodeKind.AT:
        return begin_at(memory, row, number)
    elif kind == NodeKind.ROOT:
        memory[live + StartingLive.IS_STARTING] = 1
        push(memory, StepKind.ROOT_STARTED, row, 0, 0, 0)
        begin_child(memory, row, memory[node + NodeRow.CHILD], NONE)
    return 0


@part
def begin_child(memory, parent, node, binding):
    running = memory[live_at(memory, parent) + LiveRow.RUNNING]
    child = new_live(memory, node, parent, binding, running)
    push(memory, StepKind.BEGIN_LIVE, child, 0, 0, 0)
    return child


@part
def begin_within(memory, row, number):
    node = node_at(memory, number)
    period, months = memory[node + NodeRow.PERIOD], memory[node + NodeRow.MONTHS]
    if period == 0 and months == 0:
        push(memory, StepKind.FAIL, row, 0, 0, 0)
        return
    arm(memory, row, number, after_period(memory[CLOCK], period, months))
    begin_child(
        memory, row, memory[node + NodeRow.CHILD], memory[live_at(memory, row) + LiveRow.BEGIN]
    )


@part
def begin_at(memory, row, number):
    """When a schedule comes next is a question to Python: sites below zero are schedules."""
    if memory[USED_ANSWERS] == memory[ANSWERS]:
        memory[SITE] = NONE - memory[node_at(memory, number) + NodeRow.LOW]
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
    parent = memory[live_at(memory, row) + LiveRow.PARENT]
    kind = kind_of(memory, parent)
    if kind in (NodeKind.ROOT, NodeKind.FOLLOWED):
        rise(memory, row, binding, finished)
    elif kind == NodeKind.EVERY:
        every_true(memory, parent, row, binding, finished)
    elif kind == NodeKind.DISTINCT:
        return distinct_true(memory, parent, row, binding, finished)
    elif kind == NodeKind.WITHIN:
        within_true(memory, parent, row, binding, finished)
    elif kind == NodeKind.WHILE:
        return while_true(memory, parent, row, binding, finished)
    elif kind == NodeKind.ALL:
        all_true(memory, parent, row, binding, finished)
    elif kind == NodeKind.ANY:
        if finished == 1:
            unlink(memory, row)
            quit(memory, parent)
        push(memory, StepKind.TRUE, parent, binding, finished, 0)
    elif kind == NodeKind.ABSENT:
        if finished == 1:
            unlink(memory, row)
        push(memory, StepKind.FAIL, parent, 0, 0, 0)
    elif kind == NodeKind.REPEAT:
        repeat_true(memory, parent, row, binding, finished)
    return 0


@part
def fail(memory, row):
    """An instance has failed for good; its parent hears it."""
    quit(memory, row)
    live = live_at(memory, row)
    parent = memory[live + LiveRow.PARENT]
    above = live_at(memory, parent)
    kind = memory[node_at(memory, memory[above + LiveRow.NODE]) + NodeRow.KIND]
    if kind in (NodeKind.EVERY, NodeKind.DISTINCT):
        if memory[above + StartingLive.IS_STARTING] == 0:
            unlink(memory, row)
            if kind == NodeKind.DISTINCT:
                forget_keys(memory, parent)
            push(memory, StepKind.SPAWN, parent, 0, 0, 0)
        return
    unlink(memory, row)
    if kind == NodeKind.FOLLOWED:
        if memory[above + LiveRow.FIRST] == NONE:
            push(memory, StepKind.FAIL, parent, 0, 0, 0)
    elif kind == NodeKind.ANY:
        if memory[above + LiveRow.FIRST] == NONE and memory[above + StartingLive.IS_STARTING] == 0:
            push(memory, StepKind.FAIL, parent, 0, 0, 0)
    elif kind not in (NodeKind.ROOT, NodeKind.ABSENT):
        push(memory, StepKind.FAIL, parent, 0, 0, 0)


@part
def every_true(memory, parent, row, binding, finished):
    above = live_at(memory, parent)
    if memory[above + StartingLive.IS_STARTING] == 1:
        memory[above + StartingLive.IS_TRUE_AT_ONCE] = (
            1  # true at once: it would repeat for ever at one instant
        )
        return
    if finished == 1:
        unlink(memory, row)
    push(memory, StepKind.TRUE, parent, binding, 0, 0)
    push(memory, StepKind.SPAWN, parent, 0, 0, 0)


# -- `every-distinct` ------------------------------------------------------------------------------
# The keys that an instance has seen are entries of the table, of the generation that it has in StartingLive.GENERATION.


@part
def forget_keys(memory, row):
    """The instance begins to remember keys anew; the old ones are collected."""
    memory[Head.GENERATION] += 1
    memory[live_at(memory, row) + StartingLive.GENERATION] = memory[Head.GENERATION]


@part
def distinct_true(memory, parent, row, binding, finished):
    """A truth counts only if its key is new. 1: a question."""
    above = live_at(memory, parent)
    number = memory[above + LiveRow.NODE]
    node = node_at(memory, number)
    if memory[above + StartingLive.IS_STARTING] == 1:
        memory[above + StartingLive.IS_TRUE_AT_ONCE] = 1  # true at once, as for `every`
        return 0
    status, nulls = distinct_key(memory, node, binding)
    if status != 0:
        return 1
    is_new = see_key(memory, node, SEEN_KEYS - number, parent, nulls)
    if finished == 1:
        unlink(memory, row)
    if is_new:
        push(memory, StepKind.TRUE, parent, binding, 0, 0)
    push(memory, StepKind.SPAWN, parent, 0, 0, 0)
    return 0


@part
def distinct_key(memory, node, binding):
    """Puts the key of a binding into SCRATCH: whether there is a question, and which are null."""
    scratch = memory[TABLE + 4 * Region.SCRATCH + BEGIN]
    codes = memory[TABLE + 4 * Region.LIST + BEGIN] + memory[node + NodeRow.BOUND_KEYS]
    doubles, nulls = memory[node + NodeRow.KEY_DOUBLE], 0
    for i in range(memory[node + NodeRow.KEYS]):
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
    count = memory[node + NodeRow.KEYS]
    generation = memory[live_at(memory, row) + StartingLive.GENERATION]
    found = find(memory, owner, generation, nulls, count)
    if (
        found != NONE
        and memory[at(memory, Region.TABLE_ENTRY, found) + EntryRow.FIRST] > memory[CLOCK]
    ):
        return False
    if found == NONE:
        found = enter(memory, owner, generation, nulls, count)
    entry = at(memory, Region.TABLE_ENTRY, found)
    memory[entry + EntryRow.FIRST] = NEVER
    if memory[node + NodeRow.LOW] != NONE:
        memory[entry + EntryRow.FIRST] = memory[CLOCK] + memory[node + NodeRow.PERIOD]
    memory[entry + EntryRow.LAST] = row
    return True


@part
def spawn(memory, row):
    live = live_at(memory, row)
    memory[live + StartingLive.IS_STARTING] = 1
    memory[live + StartingLive.IS_TRUE_AT_ONCE] = 0
    node = memory[node_at(memory, memory[live + LiveRow.NODE]) + NodeRow.CHILD]
    child = new_live(
        memory, node, row, memory[live + LiveRow.BEGIN], memory[live + LiveRow.RUNNING]
    )
    push(memory, StepKind.SPAWNED, row, child, 0, 0)
    push(memory, StepKind.BEGIN_LIVE, child, 0, 0, 0)


@part
def spawned(memory, row, child):
    live = live_at(memory, row)
    memory[live + StartingLive.IS_STARTING] = 0
    if (
        memory[live + StartingLive.IS_TRUE_AT_ONCE] == 1
        or memory[live_at(memory, child) + LiveRow.ALIVE] == 0
    ):
        quit(memory, child)
        unlink(memory, child)


@part
def within_true(memory, parent, row, binding, finished):
    above = live_at(memory, parent)
    memory[above + WithinLive.MATCHES] += 1
    most = memory[node_at(memory, memory[above + LiveRow.NODE]) + NodeRow.HIGH]
    if most != NONE and memory[above + WithinLive.MATCHES] > most:
        push(memory, StepKind.FAIL, parent, 0, 0, 0)
        return
    if finished == 1:
        unlink(memory, row)
        quit(memory, parent)
    push(memory, StepKind.TRUE, parent, binding, finished, 0)


@part
def while_true(memory, parent, row, binding, finished):
    above = live_at(memory, parent)
    code = memory[node_at(memory, memory[above + LiveRow.NODE]) + NodeRow.LATE]
    passes = holds(memory, code, NONE, binding, NONE)
    if passes < 0:
        return 1
    if passes == 0:
        push(memory, StepKind.FAIL, parent, 0, 0, 0)
        return 0
    if finished == 1:
        unlink(memory, row)
        quit(memory, parent)
    push(memory, StepKind.TRUE, parent, binding, finished, 0)
    return 0


# -- and, or ---------------------------------------------------------------------------------------


@part
def start_side(memory, row, node):
    """Sides begin one after the other, as long as the whole is alive; those of `or` backwards."""
    live = live_at(memory, row)
    if memory[live + LiveRow.ALIVE] == 0:
        return
    following = memory[node_at(memory, node) + NodeRow.NEXT]
    if following != NONE:
        push(memory, StepKind.START_SIDE, row, following, 0, 0)
    begin_child(memory, row, node, memory[live + LiveRow.BEGIN])


@part
def sides_started(memory, row):
    live = live_at(memory, row)
    memory[live + StartingLive.IS_STARTING] = 0
    if memory[live + LiveRow.ALIVE] == 1 and memory[live + LiveRow.FIRST] == NONE:
        push(memory, StepKind.FAIL, row, 0, 0, 0)


@part
def all_true(memory, parent, row, binding, finished):
    above = live_at(memory, parent)
    place = memory[node_at(memory, memory[live_at(memory, row) + LiveRow.NODE]) + NodeRow.PLACE]
    if finished == 1:
        unlink(memory, row)
    combinations = count_combinations(memory, parent, place)
    if combinations > 0 and not can_come_true(memory, parent, place):
        forget_truths_of(memory, parent, place)  # no other side can meet them any more
    add_truth(memory, parent, place, binding)
    if combinations > 0:
        is_over = not can_come_true(memory, parent, NONE)
        if is_over:
            child = memory[above + LiveRow.FIRST]
            while child != NONE:
                quit(memory, child)
                unlink(memory, child)
                child = memory[above + LiveRow.FIRST]
        push(memory, StepKind.COMBINE, parent, place * 2 + (1 if is_over else 0), binding, 0)


@part
def can_come_true(memory, row, besides):
    """Whether news may come from a side; an absence has none but its failure."""
    child = memory[live_at(memory, row) + LiveRow.FIRST]
    while child != NONE:
        live = live_at(memory, child)
        node = node_at(memory, memory[live + LiveRow.NODE])
        if (
            memory[node + NodeRow.PLACE] != besides
            and memory[node + NodeRow.KIND] != NodeKind.ABSENT
        ):
            return True
        child = memory[live + LiveRow.NEXT]
    return False


@part
def combine(memory, row, place_and_end, binding, number):
    """The combination of this number, of the new truth with those of all other sides."""
    live = live_at(memory, row)
    if memory[live + LiveRow.ALIVE] == 0:  # a truth may make a parent end this instance
        return
    place, is_over = place_and_end // 2, place_and_end % 2
    total = count_combinations(memory, row, place)
    merged = combination(memory, row, place, binding, number, total)
    if number + 1 < total:
        push(memory, StepKind.COMBINE, row, place_and_end, binding, number + 1)
        push(memory, StepKind.TRUE, row, merged, 0, 0)
        return
    if is_over == 1:
        end(memory, row)
    push(memory, StepKind.TRUE, row, merged, is_over, 0)


# -- repeat ----------------------------------------------------------------------------------------
# A counts, B is the binding of what was collected, C is 1 while the body starts.


@part
def body_of(memory, row):
    """The live body, or NONE; the other child is what it waits for."""
    child = memory[live_at(memory, row) + LiveRow.FIRST]
    while child != NONE:
        live = live_at(memory, child)
        if memory[node_at(memory, memory[live + LiveRow.NODE]) + NodeRow.PLACE] == 0:
            return child
        child = memory[live + LiveRow.NEXT]
    return NONE


@part
def start_body(memory, row):
    """Starts P; again, up to `high` times, while it is true and finished as it starts."""
    live = live_at(memory, row)
    node = node_at(memory, memory[live + LiveRow.NODE])
    high = memory[node + NodeRow.HIGH]
    if (
        memory[live + LiveRow.ALIVE] == 0
        or body_of(memory, row) != NONE
        or (high != NONE and memory[live + RepeatLive.COUNT] >= high)
    ):
        if memory[live + LiveRow.ALIVE] == 1:
            memory[live + RepeatLive.IS_STARTING] = 0
        return
    memory[live + RepeatLive.IS_STARTING] = 1
    push(memory, StepKind.BODY_STARTED if high == NONE else StepKind.BODY, row, 0, 0, 0)
    begin_child(memory, row, memory[node + NodeRow.CHILD], memory[live + LiveRow.BEGIN])


@part
def body_started(memory, row):
    live = live_at(memory, row)
    if memory[live + LiveRow.ALIVE] == 1:
        memory[live + RepeatLive.IS_STARTING] = 0


@part
def repeat_true(memory, parent, row, binding, finished):
    above = live_at(memory, parent)
    node = node_at(memory, memory[above + LiveRow.NODE])
    if memory[node_at(memory, memory[live_at(memory, row) + LiveRow.NODE]) + NodeRow.PLACE] == 1:
        repeat_ended(memory, parent, row, binding, finished)
        return
    memory[above + RepeatLive.COUNT] += 1
    collect_events(memory, parent, binding)
    if finished == 1:
        unlink(memory, row)
    low, high, count = (
        memory[node + NodeRow.LOW],
        memory[node + NodeRow.HIGH],
        memory[above + RepeatLive.COUNT],
    )
    if low != NONE and low == high and high == count:
        repeat_done(memory, parent, binding)
    elif high != NONE and count >= high:
        body = body_of(memory, parent)
        if body != NONE:
            quit(memory, body)
            unlink(memory, body)
    elif body_of(memory, parent) == NONE and memory[above + RepeatLive.IS_STARTING] == 0:
        push(memory, StepKind.BODY, parent, 0, 0, 0)


@part
def repeat_ended(memory, parent, row, binding, finished):
    above = live_at(memory, parent)
    low = memory[node_at(memory, memory[above + LiveRow.NODE]) + NodeRow.LOW]
    if finished == 1:
        unlink(memory, row)
    if low != NONE and memory[above + RepeatLive.COUNT] < low:
        push(memory, StepKind.FAIL, parent, 0, 0, 0)
    else:
        repeat_done(memory, parent, binding)


@part
def repeat_done(memory, row, binding):
    """True with what was collected, and over."""
    merged = copy_binding(memory, binding)
    merge(memory, merged, memory[live_at(memory, row) + RepeatLive.COLLECTED])
    quit(memory, row)
    push(memory, StepKind.TRUE, row, merged, 1, 0)
