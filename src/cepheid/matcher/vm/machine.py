"""The machine: takes events, lets timers fire, offers events to those that wait, derives rows.

All of it is steps on one stack, like the operators of `patterns`. A step that needs an answer from
Python leaves everything as it is and is done again when the answer is there.
"""

from __future__ import annotations

from cepheid.matcher.vm.expressions.doubles import ONE_NAN, is_nan, one_zero
from cepheid.matcher.vm.expressions.evaluate import holds, value_of
from cepheid.matcher.vm.jit import entry, part, words_of
from cepheid.matcher.vm.memory.free_lists import (
    EVENT,
    enter,
    find,
    has_room,
    live_at,
    node_at,
    push,
    take_collected,
    take_row,
)
from cepheid.matcher.vm.memory.garbage import collect
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, USED, Field, Head, at
from cepheid.matcher.vm.memory.tables import (
    ABSENT_STARTED,
    ASK,
    BASE_KEY,
    BEGIN_LIVE,
    BODY,
    BODY_STARTED,
    BUCKETS,
    C_ATOM_COUNT,
    C_ATOMS,
    C_DOUBLES,
    C_KEY_COUNT,
    C_KEYS,
    C_STATEMENT,
    CAUSE,
    CAUSES,
    COMBINE,
    CONSUMER,
    CURSOR,
    CURSORS,
    DISPATCH,
    DONE,
    DRAIN,
    E_FIRST,
    EMITTED,
    ENTRIES,
    FAIL,
    FIRE,
    FIRE_DUE,
    FIRST,
    FRESH,
    GIVEN,
    GROW,
    INPUT,
    L_A,
    L_AFTER,
    L_ALIVE,
    L_ARMED,
    L_BEGIN,
    L_BOUND,
    L_DUE,
    L_ORDER,
    L_ORIGIN,
    L_ORIGIN_EVENT,
    L_WAIT,
    LIMIT,
    LIST,
    LISTENED,
    LISTS,
    MATCHED,
    N_EARLY,
    N_EVENT_KEYS,
    N_HEAD,
    N_IS_ONE_LIST,
    N_KEY_DOUBLE,
    N_KEYS,
    N_LATE,
    N_STATEMENT,
    N_TIMERS,
    NEVER,
    NEXT_DUE,
    OFFERS,
    ORDINAL,
    ORIGIN,
    ORIGIN_EVENT,
    PASS_TIME,
    PATTERN_STAGE,
    PROCESS,
    QUEUE,
    QUEUE_HEAD,
    R_ENTRY,
    R_ROOT,
    R_STATEMENT,
    RATE_STAGE,
    REHASH,
    ROOT_STARTED,
    RUNNING,
    S_CONDITION,
    S_HAS_CONTEXT,
    S_HAVING,
    S_ROOT,
    S_RUNNING,
    S_WHERE,
    S_WINDOW,
    SCRATCH,
    SIDES_STARTED,
    SNAPSHOT,
    SPAWN,
    SPAWNED,
    STAGE,
    START_SIDE,
    START_STATEMENT,
    STATEMENT,
    STEP,
    T_CONSUMER_COUNT,
    T_CONSUMERS,
    TABLE_ENTRY,
    TAKE,
    TICK,
    TIMED,
    TIMER,
    TRUE,
    TYPE,
    UNTIL,
    V_STATEMENT,
    WAIT_FOR,
    WINDOW,
    X_WIDTH,
)
from cepheid.matcher.vm.patterns.instances import bury, disarm, new_live, wait_for
from cepheid.matcher.vm.patterns.operators import (
    begin_live,
    body_started,
    combine,
    event_came,
    fail,
    sides_started,
    spawn,
    spawned,
    start_body,
    start_side,
    time_came,
    true,
)
from cepheid.matcher.vm.rows.results import NEW, emit, fill
from cepheid.matcher.vm.rows.window_changes import process
from cepheid.matcher.vm.rows.window_timers import first_armed
from cepheid.matcher.vm.rows.windows import (
    come,
    fire_first,
    next_window,
    start_window,
    window_due,
)

CLOCK, ANSWERS, USED_ANSWERS = int(Head.CLOCK), int(Head.ANSWERS), int(Head.USED_ANSWERS)
EVENT_TYPE, INSTANT, SEQUENCE = int(Field.TYPE), int(Field.INSTANT), int(Field.SEQUENCE)
EVENT_KEY, MARK, NULLS = int(Field.KEY), int(Field.MARK), int(Field.NULLS)


@part
def do(memory, step, a, b, c, d):
    if step == TRUE:
        return true(memory, a, b, c)
    if step == OFFERS:
        return offer(memory, a, 0)
    if step == TAKE:
        return take(memory)
    if step == DISPATCH:
        return dispatch(memory, a, b, c)
    if step == DRAIN:
        drain(memory)
    elif step == BEGIN_LIVE:
        return begin_live(memory, a)
    elif step == MATCHED:
        return matched(memory, a, b, c)
    elif step == FAIL:
        fail(memory, a)
    elif step == SPAWN:
        spawn(memory, a)
    elif step == SPAWNED:
        spawned(memory, a, b)
    elif step == TICK:
        return tick(memory, a)
    elif step == FIRE_DUE:
        return fire_due(memory, a)
    elif step == FIRE:
        time_came(memory, a)
    elif step == WAIT_FOR:
        return wait_for(memory, a, b, c)
    elif step == COMBINE:
        combine(memory, a, b, c, d)
    elif step == START_SIDE:
        start_side(memory, a, b)
    elif step == SIDES_STARTED:
        sides_started(memory, a)
    elif step == ABSENT_STARTED:
        absent_started(memory, a)
    elif step == ROOT_STARTED:
        memory[live_at(memory, a) + L_A] = 0
    elif step == BODY:
        start_body(memory, a)
    elif step == BODY_STARTED:
        body_started(memory, a)
    elif step == PASS_TIME:
        pass_time(memory)
    elif step == START_STATEMENT:
        start_statement(memory, a)
    elif step == PROCESS:
        return process(memory, 0)
    return DONE


@part
def absent_started(memory, row):
    live = live_at(memory, row)
    if memory[live + L_ALIVE] == 1:
        push(memory, TRUE, row, memory[live + L_BEGIN], 0, 0)


# -- events ----------------------------------------------------------------------------------------


@part
def take(memory):
    """What happens next: a derived event is taken, time passes, or an input event is taken."""
    steps = TABLE + 4 * STEP + USED
    while has_room(memory):
        bury(memory)
        if memory[TABLE + 4 * QUEUE + USED] > 0:
            push(memory, TAKE, 0, 0, 0, 0)
            push(memory, DRAIN, 0, 0, 0, 0)
            return DONE
        if memory[ENTRIES] > 2 * memory[BUCKETS]:
            return REHASH
        if memory[FRESH] > memory[LIMIT]:
            collect(memory)
        if memory[CURSOR] == memory[GIVEN]:
            push(memory, PASS_TIME, 0, 0, 0, 0)
            return DONE
        row = memory[at(memory, INPUT, memory[CURSOR])]
        event = at(memory, EVENT, row)
        instant = memory[event + INSTANT]
        if memory[NEXT_DUE] <= instant:
            waiting = memory[steps]
            push(memory, TAKE, 0, 0, 0, 0)
            status = tick(memory, instant)
            if status != DONE or memory[steps] != waiting + 1:
                return status
            memory[steps] = waiting
            continue
        memory[CLOCK] = instant
        memory[CURSOR] += 1
        if memory[event + EVENT_TYPE] == NONE:
            continue
        consumers = at(memory, TYPE, memory[event + EVENT_TYPE])
        count = memory[consumers + T_CONSUMER_COUNT]
        if count == 0:
            continue
        first = memory[consumers + T_CONSUMERS]
        memory[CAUSE] = new_cause(memory)
        begin_event(memory, row)
        waiting = memory[steps]
        push(memory, TAKE, 0, 0, 0, 0)
        status = dispatch(memory, row, first, first + count)
        if status == ASK:  # the event is taken already: what is left to do is a step of its own
            push(memory, DISPATCH, row, first, first + count, 0)
            return DONE
        if status != DONE or memory[steps] != waiting + 1:
            return status
        memory[steps] = waiting
    push(memory, TAKE, 0, 0, 0, 0)
    return DONE


@part
def begin_event(memory, row):
    """What is derived and armed from here on has this event as its origin."""
    memory[ORDINAL] += 1
    memory[ORIGIN] = memory[ORDINAL]
    memory[ORIGIN_EVENT] = row
    memory[TIMER] = NONE
    memory[BASE_KEY] = NONE


@part
def new_cause(memory):
    """Causes are counted only as long as what they derived is being taken."""
    entry = TABLE + 4 * CAUSES + USED
    if memory[TABLE + 4 * QUEUE + USED] == 0:
        memory[entry] = 0
    row = memory[entry]
    memory[entry] = row + 1
    memory[at(memory, CAUSES, row)] = 0
    return row


@part
def drain(memory):
    """The oldest derived event that has not been taken."""
    bury(memory)
    waiting = TABLE + 4 * QUEUE + USED
    if memory[QUEUE_HEAD] == memory[waiting]:
        memory[QUEUE_HEAD] = 0
        memory[waiting] = 0
        return
    queued = at(memory, QUEUE, memory[QUEUE_HEAD])
    memory[QUEUE_HEAD] += 1
    row = memory[queued]
    memory[CAUSE] = memory[queued + 1]
    begin_event(memory, row)
    consumers = at(memory, TYPE, memory[at(memory, EVENT, row) + EVENT_TYPE])
    first = memory[consumers + T_CONSUMERS]
    push(memory, DRAIN, 0, 0, 0, 0)
    push(memory, DISPATCH, row, first, first + memory[consumers + T_CONSUMER_COUNT], 0)


@part
def dispatch(memory, event, number, last):
    """One statement takes an event, then the next. It asks only before it has changed anything."""
    consumer = at(memory, CONSUMER, number)
    statement = memory[consumer + C_STATEMENT]
    plan = at(memory, STATEMENT, statement)
    running = memory[plan + S_RUNNING]
    if memory[plan + S_HAS_CONTEXT] == 1:
        running = find_partition(memory, consumer, statement, event)
        if running < NONE:
            return ASK
        if running == NONE:
            running = new_partition(memory, statement, memory[consumer + C_KEY_COUNT])
            push(memory, DISPATCH, event, number, last, 0)
            push(memory, START_STATEMENT, running, 0, 0, 0)
            return DONE
    memory[EMITTED] = 0
    if memory[plan + S_ROOT] == NONE:
        code = memory[plan + S_CONDITION]
        passes = 1 if code == NONE else holds(memory, code, event, NONE, NONE)
        if passes < 0:
            return ASK
        if number + 1 < last:
            push(memory, DISPATCH, event, number + 1, last, 0)
        if passes == 0:
            return DONE
        status = matched(memory, running, event, NONE)
        if status != ASK:
            return status
        push(memory, MATCHED, running, event, NONE, 0)
        return DONE
    status = find_lists(memory, consumer, running, event)
    if status != 0:
        return ASK
    if number + 1 < last:
        push(memory, DISPATCH, event, number + 1, last, 0)
    if memory[CURSORS] > 0:
        memory[SNAPSHOT] = memory[LISTENED]
        return offer(memory, event, 1)
    return DONE


@part
def find_partition(memory, consumer, statement, event):
    """The running statement for an event's key; NONE: not yet; below: a question."""
    count = memory[consumer + C_KEY_COUNT]
    doubles = memory[consumer + C_DOUBLES]
    nulls = event_keys(memory, memory[consumer + C_KEYS], count, event, doubles)
    if nulls < 0:
        return NONE - 1
    entry = find(memory, NONE - 1 - statement, 0, nulls, count)
    if entry == NONE:
        memory[at(memory, SCRATCH, count)] = nulls
        return NONE
    return memory[at(memory, TABLE_ENTRY, entry) + E_FIRST]


@part
def event_keys(memory, codes, count, event, doubles):
    """Puts the values of key expressions into SCRATCH; gives their null bits, or -1: a question."""
    nulls = 0
    codes += memory[TABLE + 4 * LIST + BEGIN]
    scratch = memory[TABLE + 4 * SCRATCH + BEGIN]
    for i in range(count):
        status, value, is_null = value_of(memory, memory[codes + i], event, NONE, NONE)
        if status != 0:
            return -1
        if is_null != 0:
            nulls |= 1 << i
            value = 0
        elif (doubles >> i) & 1:
            value = one_zero(value)
            if is_nan(value):
                value = ONE_NAN
        memory[scratch + i] = value
    return nulls


@part
def new_partition(memory, statement, count):
    nulls = memory[at(memory, SCRATCH, count)]
    entry = enter(memory, NONE - 1 - statement, 0, nulls, count)
    running = take_row(memory, RUNNING)
    place = at(memory, RUNNING, running)
    memory[place + R_STATEMENT] = statement
    memory[place + R_ROOT] = NONE
    memory[place + R_ENTRY] = entry
    memory[at(memory, TABLE_ENTRY, entry) + E_FIRST] = running
    return running


@part
def start_statement(memory, running):
    start_window(memory, running)
    place = at(memory, RUNNING, running)
    root = memory[at(memory, STATEMENT, memory[place + R_STATEMENT]) + S_ROOT]
    if root != NONE:
        memory[place + R_ROOT] = new_live(memory, root, NONE, NONE, running)
        push(memory, BEGIN_LIVE, memory[place + R_ROOT], 0, 0, 0)


# -- offering --------------------------------------------------------------------------------------


@part
def find_lists(memory, consumer, running, event):
    """The lists of atoms that wait for such an event; 1: a question."""
    memory[CURSORS] = 0
    atoms = memory[TABLE + 4 * LIST + BEGIN] + memory[consumer + C_ATOMS]
    for i in range(memory[consumer + C_ATOM_COUNT]):
        number = memory[atoms + i]
        node = node_at(memory, number)
        is_one_list = memory[node + N_IS_ONE_LIST] == 1
        if is_one_list and memory[node + N_HEAD] == NONE:
            continue
        code = memory[node + N_EARLY]
        if code != NONE:
            passes = holds(memory, code, event, NONE, NONE)
            if passes < 0:
                return 1
            if passes == 0:
                continue
        if is_one_list:
            first = memory[node + N_HEAD]
        else:
            count = memory[node + N_KEYS]
            nulls = event_keys(
                memory, memory[node + N_EVENT_KEYS], count, event, memory[node + N_KEY_DOUBLE]
            )
            if nulls < 0:
                return 1
            if nulls > 0:
                continue
            entry = find(memory, number, running, 0, count)
            first = NONE if entry == NONE else memory[at(memory, TABLE_ENTRY, entry) + E_FIRST]
        if first != NONE:
            memory[at(memory, LISTS, memory[CURSORS])] = first
            memory[CURSORS] += 1
    return 0


@part
def next_waiting(memory, cursor):
    """The next of a list that still waits and did so before the event; NONE at its end."""
    row = memory[at(memory, LISTS, cursor)]
    while row != NONE and memory[live_at(memory, row) + L_ALIVE] == 0:
        row = memory[live_at(memory, row) + L_AFTER]
    if row != NONE:
        order = memory[live_at(memory, row) + L_ORDER]
        if (order if order > 0 else order + FIRST) > memory[SNAPSHOT]:
            row = NONE
    memory[at(memory, LISTS, cursor)] = row
    return row


@part
def offer(memory, event, has_begun):
    """Offers the event to those that wait for it, in the order in which they began to.

    `has_begun` says that the step has changed something already. Then a question is for the next.
    """
    steps = TABLE + 4 * STEP + USED
    while True:
        best, best_cursor, best_order = NONE, NONE, NEVER
        for cursor in range(memory[CURSORS]):
            row = next_waiting(memory, cursor)
            if row != NONE and memory[live_at(memory, row) + L_ORDER] < best_order:
                best, best_cursor = row, cursor
                best_order = memory[live_at(memory, row) + L_ORDER]
        if best == NONE:
            return DONE
        live = live_at(memory, best)
        code = memory[node_at(memory, memory[live + L_WAIT]) + N_LATE]
        passes = 1 if code == NONE else holds(memory, code, event, memory[live + L_BOUND], NONE)
        if passes < 0:
            if has_begun == 0:
                return ASK
            push(memory, OFFERS, event, 0, 0, 0)
            return DONE
        has_begun = 1
        memory[at(memory, LISTS, best_cursor)] = memory[live + L_AFTER]
        if passes == 0:
            continue
        waiting = memory[steps]
        push(memory, OFFERS, event, 0, 0, 0)
        event_came(memory, best, event)
        if memory[steps] == waiting + 2 and top_step(memory) == MATCHED and has_room(memory):
            # A match is all that came of it: its row can be made at once.
            memory[steps] = waiting + 1
            place = memory[TABLE + 4 * STEP + BEGIN] + (waiting + 1) * X_WIDTH
            status = matched(memory, memory[place + 1], memory[place + 2], memory[place + 3])
            if status == ASK:
                memory[steps] = waiting + 2
                return DONE
            if status != DONE:
                return status
        if memory[steps] != waiting + 1 or not has_room(memory):
            return DONE
        memory[steps] = waiting


@part
def top_step(memory):
    entry = TABLE + 4 * STEP
    return memory[memory[entry + BEGIN] + (memory[entry + USED] - 1) * X_WIDTH]


# -- time ------------------------------------------------------------------------------------------


@part
def pass_time(memory):
    """All input is taken; time may go on."""
    bury(memory)
    if memory[UNTIL] == NEVER:
        return
    if memory[NEXT_DUE] <= memory[UNTIL]:
        push(memory, PASS_TIME, 0, 0, 0, 0)
        push(memory, TICK, memory[UNTIL], 0, 0, 0)
    else:
        memory[CLOCK] = memory[UNTIL]


@part
def first_due(memory):
    """When the first timer falls due."""
    due = NEVER
    for i in range(memory[TABLE + 4 * TIMED + USED]):
        node = node_at(memory, memory[at(memory, TIMED, i)])
        first = memory[node + N_TIMERS]
        if first != NONE:
            due = min(due, memory[live_at(memory, first) + L_DUE])
    for i in range(memory[TABLE + 4 * WINDOW + USED]):
        window = at(memory, WINDOW, i)
        due = min(due, window_due(memory, window), first_armed(memory, window, RATE_STAGE))
    return due


@part
def tick(memory, limit):
    """At each instant at which timers fall due, up to a limit, they fire, then their events."""
    steps = TABLE + 4 * STEP + USED
    while True:
        bury(memory)
        due = first_due(memory)
        memory[NEXT_DUE] = due
        if due > limit:
            return DONE
        waiting = memory[steps]
        push(memory, TICK, limit, 0, 0, 0)
        push(memory, DRAIN, 0, 0, 0, 0)
        if not has_room(memory):
            return DONE
        memory[CLOCK] = due
        status = fire_due(memory, due)
        is_over = memory[steps] == waiting + 2 and memory[TABLE + 4 * QUEUE + USED] == 0
        if status != DONE or not is_over:
            return status
        memory[steps] = waiting


@part
def fire_due(memory, due):
    """The timers of an instant: by statement, those of its pattern first."""
    steps = TABLE + 4 * STEP + USED
    bury(memory)
    while True:
        row = next_timer(memory, due)
        window = next_window(memory, due)
        if row == NONE and window == NONE:
            return DONE
        waiting = memory[steps]
        push(memory, FIRE_DUE, due, 0, 0, 0)
        memory[BASE_KEY] = NONE
        memory[CAUSE] = new_cause(memory)
        memory[EMITTED] = 0
        if window == NONE or (row != NONE and not is_before(memory, window, row)):
            fire_pattern(memory, row)
            return DONE
        status = fire_first(memory, window, due)
        if status != DONE or memory[steps] != waiting + 1 or not has_room(memory):
            return status
        memory[steps] = waiting


@part
def fire_pattern(memory, row):
    """A timer of a pattern fires."""
    live = live_at(memory, row)
    memory[ORIGIN] = memory[live + L_ORIGIN]
    memory[ORIGIN_EVENT] = memory[live + L_ORIGIN_EVENT]
    memory[TIMER] = memory[live + L_ARMED]
    memory[STAGE] = PATTERN_STAGE
    disarm(memory, row)
    push(memory, FIRE, row, 0, 0, 0)


@part
def is_before(memory, window, row):
    """Whether a window's statement comes before that of a pattern's timer."""
    node = node_at(memory, memory[live_at(memory, row) + L_WAIT])
    return memory[at(memory, WINDOW, window) + V_STATEMENT] < memory[node + N_STATEMENT]


@part
def next_timer(memory, due):
    """Of the timers due now, the first by statement, then by origin, then by arming."""
    best, statement, origin, number = NONE, NONE, NEVER, NEVER
    for i in range(memory[TABLE + 4 * TIMED + USED]):
        node = node_at(memory, memory[at(memory, TIMED, i)])
        first = memory[node + N_TIMERS]
        if first == NONE:
            continue
        live = live_at(memory, first)
        if memory[live + L_DUE] != due:
            continue
        if best != NONE and memory[node + N_STATEMENT] != statement:
            break
        order, count = memory[live + L_ORIGIN], memory[live + L_ARMED]
        if best == NONE or order < origin or (order == origin and count < number):
            best, statement, origin, number = first, memory[node + N_STATEMENT], order, count
    return best


# -- results ---------------------------------------------------------------------------------------


@part
def matched(memory, running, event, binding):
    """A match, or an event of a stream, becomes a row of its statement."""
    statement = memory[at(memory, RUNNING, running) + R_STATEMENT]
    plan = at(memory, STATEMENT, statement)
    if memory[plan + S_WINDOW] != NONE:
        return come(memory, running, event, binding)
    for code in (memory[plan + S_WHERE], memory[plan + S_HAVING]):
        if code != NONE:
            passes = holds(memory, code, event, binding, NONE)
            if passes < 0:
                return ASK
            if passes == 0:
                return DONE
    row = take_collected(memory, EVENT)
    if not fill(memory, row, plan, event, binding, NONE):
        return ASK
    return emit(memory, statement, row, NEW, NONE, NONE)


# -- all of it -------------------------------------------------------------------------------------


@entry("int64(int64[::1])")
def run(array):
    """Does what lies on the stack, until it is done or Python is needed.

    A step that asks is done again once the answer is there. So it asks only as long as it has changed
    nothing that its repetition would find changed; a step that has, leaves the rest of its work, with
    the question, to a step that it pushes. The answers hold until the step is over.
    """
    memory = words_of(array)
    entry = TABLE + 4 * STEP
    while memory[entry + USED] > 0:
        if not has_room(memory):
            return GROW
        memory[entry + USED] -= 1
        place = memory[entry + BEGIN] + memory[entry + USED] * X_WIDTH
        memory[USED_ANSWERS] = 0
        status = do(
            memory,
            memory[place],
            memory[place + 1],
            memory[place + 2],
            memory[place + 3],
            memory[place + 4],
        )
        if status != DONE:
            if status in (ASK, REHASH):
                memory[entry + USED] += 1  # the step is done again
            return status
        memory[ANSWERS] = 0
    return DONE
