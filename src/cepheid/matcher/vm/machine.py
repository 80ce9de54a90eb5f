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
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, USED, EventRow, Head, Region, at
from cepheid.matcher.vm.memory.tables import (
    NEVER,
    ONE_TURN,
    STEP_WIDTH,
    ConsumerRow,
    EntryRow,
    LiveRow,
    NodeRow,
    RunningRow,
    StartingLive,
    StatementRow,
    Status,
    StepKind,
    TimerStage,
    TypeRow,
    WindowRow,
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
from cepheid.semantics import limits

MOST_INSTANTS = limits.MOST_INSTANTS
CLOCK, ANSWERS, USED_ANSWERS = int(Head.CLOCK), int(Head.ANSWERS), int(Head.USED_ANSWERS)
EVENT_TYPE, INSTANT, SEQUENCE = int(EventRow.TYPE), int(EventRow.INSTANT), int(EventRow.SEQUENCE)
EVENT_KEY, MARK, NULLS = int(EventRow.KEY), int(EventRow.MARK), int(EventRow.NULLS)


@part
def do(memory, step, a, b, c, d):
    if step == StepKind.TRUE:
        return true(memory, a, b, c)
    if step == StepKind.OFFERS:
        return offer(memory, a, 0)
    if step == StepKind.TAKE:
        return take(memory)
    if step == StepKind.DISPATCH:
        return dispatch(memory, a, b, c)
    if step == StepKind.DRAIN:
        drain(memory)
    elif step == StepKind.BEGIN_LIVE:
        return begin_live(memory, a)
    elif step == StepKind.MATCHED:
        return matched(memory, a, b, c)
    elif step == StepKind.FAIL:
        fail(memory, a)
    elif step == StepKind.SPAWN:
        spawn(memory, a)
    elif step == StepKind.SPAWNED:
        spawned(memory, a, b)
    elif step == StepKind.TICK:
        return tick(memory, a)
    elif step == StepKind.FIRE_DUE:
        return fire_due(memory, a)
    elif step == StepKind.FIRE:
        time_came(memory, a)
    elif step == StepKind.WAIT_FOR:
        return wait_for(memory, a, b, c)
    elif step == StepKind.COMBINE:
        combine(memory, a, b, c, d)
    elif step == StepKind.START_SIDE:
        start_side(memory, a, b)
    elif step == StepKind.SIDES_STARTED:
        sides_started(memory, a)
    elif step == StepKind.ABSENT_STARTED:
        absent_started(memory, a)
    elif step == StepKind.ROOT_STARTED:
        memory[live_at(memory, a) + StartingLive.IS_STARTING] = 0
    elif step == StepKind.BODY:
        start_body(memory, a)
    elif step == StepKind.BODY_STARTED:
        body_started(memory, a)
    elif step == StepKind.PASS_TIME:
        pass_time(memory)
    elif step == StepKind.START_STATEMENT:
        start_statement(memory, a)
    elif step == StepKind.PROCESS:
        return process(memory, 0)
    return Status.DONE


@part
def absent_started(memory, row):
    live = live_at(memory, row)
    if memory[live + LiveRow.ALIVE] == 1:
        push(memory, StepKind.TRUE, row, memory[live + LiveRow.BEGIN], 0, 0)


# -- events ----------------------------------------------------------------------------------------


@part
def take(memory):
    """What happens next: a derived event is taken, time passes, or an input event is taken."""
    steps = TABLE + 4 * Region.STEP + USED
    while has_room(memory):
        bury(memory)
        if memory[TABLE + 4 * Region.QUEUE + USED] > 0:
            push(memory, StepKind.TAKE, 0, 0, 0, 0)
            push(memory, StepKind.DRAIN, 0, 0, 0, 0)
            return Status.DONE
        if memory[Head.ENTRIES] > 2 * memory[Head.BUCKETS]:
            return Status.REHASH
        if memory[Head.FRESH] > memory[Head.LIMIT]:
            collect(memory)
        if memory[Head.CURSOR] == memory[Head.GIVEN]:
            push(memory, StepKind.PASS_TIME, 0, 0, 0, 0)
            return Status.DONE
        row = memory[at(memory, Region.INPUT, memory[Head.CURSOR])]
        event = at(memory, EVENT, row)
        instant = memory[event + INSTANT]
        if memory[Head.NEXT_DUE] <= instant:
            waiting = memory[steps]
            push(memory, StepKind.TAKE, 0, 0, 0, 0)
            status = tick(memory, instant)
            if status != Status.DONE or memory[steps] != waiting + 1:
                return status
            memory[steps] = waiting
            continue
        memory[CLOCK] = instant
        memory[Head.CURSOR] += 1
        memory[Head.SPEAKING] = 0
        if memory[event + EVENT_TYPE] == NONE:
            continue
        consumers = at(memory, Region.TYPE, memory[event + EVENT_TYPE])
        count = memory[consumers + TypeRow.CONSUMER_COUNT]
        if count == 0:
            continue
        first = memory[consumers + TypeRow.CONSUMERS]
        memory[Head.CAUSE] = new_cause(memory)
        begin_event(memory, row)
        waiting = memory[steps]
        push(memory, StepKind.TAKE, 0, 0, 0, 0)
        status = dispatch(memory, row, first, first + count)
        if (
            status == Status.ASK
        ):  # the event is taken already: what is left to do is a step of its own
            push(memory, StepKind.DISPATCH, row, first, first + count, 0)
            return Status.DONE
        if status != Status.DONE or memory[steps] != waiting + 1:
            return status
        memory[steps] = waiting
    push(memory, StepKind.TAKE, 0, 0, 0, 0)
    return Status.DONE


@part
def begin_event(memory, row):
    """What is derived and armed from here on has this event as its origin."""
    memory[Head.ORDINAL] += 1
    memory[Head.ORIGIN] = memory[Head.ORDINAL]
    memory[Head.ORIGIN_EVENT] = row
    memory[Head.TIMER] = NONE
    memory[Head.BASE_KEY] = NONE


@part
def new_cause(memory):
    """Causes are counted only as long as what they derived is being taken."""
    entry = TABLE + 4 * Region.CAUSES + USED
    if memory[TABLE + 4 * Region.QUEUE + USED] == 0:
        memory[entry] = 0
    row = memory[entry]
    memory[entry] = row + 1
    memory[at(memory, Region.CAUSES, row)] = 0
    return row


@part
def drain(memory):
    """The oldest derived event that has not been taken."""
    bury(memory)
    waiting = TABLE + 4 * Region.QUEUE + USED
    if memory[Head.QUEUE_HEAD] == memory[waiting]:
        memory[Head.QUEUE_HEAD] = 0
        memory[waiting] = 0
        return
    queued = at(memory, Region.QUEUE, memory[Head.QUEUE_HEAD])
    memory[Head.QUEUE_HEAD] += 1
    row = memory[queued]
    memory[Head.CAUSE] = memory[queued + 1]
    begin_event(memory, row)
    consumers = at(memory, Region.TYPE, memory[at(memory, EVENT, row) + EVENT_TYPE])
    first = memory[consumers + TypeRow.CONSUMERS]
    push(memory, StepKind.DRAIN, 0, 0, 0, 0)
    push(
        memory, StepKind.DISPATCH, row, first, first + memory[consumers + TypeRow.CONSUMER_COUNT], 0
    )


@part
def dispatch(memory, event, number, last):
    """One statement takes an event, then the next. It asks only before it has changed anything."""
    consumer = at(memory, Region.CONSUMER, number)
    statement = memory[consumer + ConsumerRow.STATEMENT]
    plan = at(memory, Region.STATEMENT, statement)
    running = memory[plan + StatementRow.RUNNING]
    if memory[plan + StatementRow.HAS_CONTEXT] == 1:
        running = find_partition(memory, consumer, statement, event)
        if running < NONE:
            return Status.ASK
        if running == NONE:
            running = new_partition(memory, statement, memory[consumer + ConsumerRow.KEY_COUNT])
            push(memory, StepKind.DISPATCH, event, number, last, 0)
            push(memory, StepKind.START_STATEMENT, running, 0, 0, 0)
            return Status.DONE
    memory[Head.EMITTED] = 0
    if memory[plan + StatementRow.ROOT] == NONE:
        code = memory[plan + StatementRow.CONDITION]
        passes = 1 if code == NONE else holds(memory, code, event, NONE, NONE)
        if passes < 0:
            return Status.ASK
        if number + 1 < last:
            push(memory, StepKind.DISPATCH, event, number + 1, last, 0)
        if passes == 0:
            return Status.DONE
        status = matched(memory, running, event, NONE)
        if status != Status.ASK:
            return status
        push(memory, StepKind.MATCHED, running, event, NONE, 0)
        return Status.DONE
    status = find_lists(memory, consumer, running, event)
    if status != 0:
        return Status.ASK
    if number + 1 < last:
        push(memory, StepKind.DISPATCH, event, number + 1, last, 0)
    if memory[Head.CURSORS] > 0:
        memory[Head.SNAPSHOT] = memory[Head.LISTENED]
        return offer(memory, event, 1)
    return Status.DONE


@part
def find_partition(memory, consumer, statement, event):
    """The running statement for an event's key; NONE: not yet; below: a question."""
    count = memory[consumer + ConsumerRow.KEY_COUNT]
    doubles = memory[consumer + ConsumerRow.DOUBLES]
    nulls = event_keys(memory, memory[consumer + ConsumerRow.KEYS], count, event, doubles)
    if nulls < 0:
        return NONE - 1
    entry = find(memory, NONE - 1 - statement, 0, nulls, count)
    if entry == NONE:
        memory[at(memory, Region.SCRATCH, count)] = nulls
        return NONE
    return memory[at(memory, Region.TABLE_ENTRY, entry) + EntryRow.FIRST]


@part
def event_keys(memory, codes, count, event, doubles):
    """Puts the values of key expressions into SCRATCH; gives their null bits, or -1: a question."""
    nulls = 0
    codes += memory[TABLE + 4 * Region.LIST + BEGIN]
    scratch = memory[TABLE + 4 * Region.SCRATCH + BEGIN]
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
    nulls = memory[at(memory, Region.SCRATCH, count)]
    entry = enter(memory, NONE - 1 - statement, 0, nulls, count)
    running = take_row(memory, Region.RUNNING)
    place = at(memory, Region.RUNNING, running)
    memory[place + RunningRow.STATEMENT] = statement
    memory[place + RunningRow.ROOT] = NONE
    memory[place + RunningRow.ENTRY] = entry
    memory[at(memory, Region.TABLE_ENTRY, entry) + EntryRow.FIRST] = running
    return running


@part
def start_statement(memory, running):
    start_window(memory, running)
    place = at(memory, Region.RUNNING, running)
    root = memory[
        at(memory, Region.STATEMENT, memory[place + RunningRow.STATEMENT]) + StatementRow.ROOT
    ]
    if root != NONE:
        memory[place + RunningRow.ROOT] = new_live(memory, root, NONE, NONE, running)
        push(memory, StepKind.BEGIN_LIVE, memory[place + RunningRow.ROOT], 0, 0, 0)


# -- offering --------------------------------------------------------------------------------------


@part
def find_lists(memory, consumer, running, event):
    """The lists of atoms that wait for such an event; 1: a question."""
    memory[Head.CURSORS] = 0
    atoms = memory[TABLE + 4 * Region.LIST + BEGIN] + memory[consumer + ConsumerRow.ATOMS]
    for i in range(memory[consumer + ConsumerRow.ATOM_COUNT]):
        number = memory[atoms + i]
        node = node_at(memory, number)
        is_one_list = memory[node + NodeRow.IS_ONE_LIST] == 1
        if is_one_list and memory[node + NodeRow.HEAD] == NONE:
            continue
        code = memory[node + NodeRow.EARLY]
        if code != NONE:
            passes = holds(memory, code, event, NONE, NONE)
            if passes < 0:
                return 1
            if passes == 0:
                continue
        if is_one_list:
            first = memory[node + NodeRow.HEAD]
        else:
            count = memory[node + NodeRow.KEYS]
            nulls = event_keys(
                memory,
                memory[node + NodeRow.EVENT_KEYS],
                count,
                event,
                memory[node + NodeRow.KEY_DOUBLE],
            )
            if nulls < 0:
                return 1
            if nulls > 0:
                continue
            entry = find(memory, number, running, 0, count)
            first = (
                NONE
                if entry == NONE
                else memory[at(memory, Region.TABLE_ENTRY, entry) + EntryRow.FIRST]
            )
        if first != NONE:
            memory[at(memory, Region.LISTS, memory[Head.CURSORS])] = first
            memory[Head.CURSORS] += 1
    return 0


@part
def next_waiting(memory, cursor):
    """The next of a list that still waits and did so before the event; NONE at its end."""
    row = memory[at(memory, Region.LISTS, cursor)]
    while row != NONE and memory[live_at(memory, row) + LiveRow.ALIVE] == 0:
        row = memory[live_at(memory, row) + LiveRow.AFTER]
    if row != NONE:
        order = memory[live_at(memory, row) + LiveRow.ORDER]
        if order & (ONE_TURN - 1) > memory[Head.SNAPSHOT]:
            row = NONE
    memory[at(memory, Region.LISTS, cursor)] = row
    return row


@part
def offer(memory, event, has_begun):
    """Offers the event to those that wait for it, in the order in which they began to.

    `has_begun` says that the step has changed something already. Then a question is for the next.
    """
    steps = TABLE + 4 * Region.STEP + USED
    while True:
        best, best_cursor, best_order = NONE, NONE, NEVER
        for cursor in range(memory[Head.CURSORS]):
            row = next_waiting(memory, cursor)
            if row != NONE and memory[live_at(memory, row) + LiveRow.ORDER] < best_order:
                best, best_cursor = row, cursor
                best_order = memory[live_at(memory, row) + LiveRow.ORDER]
        if best == NONE:
            return Status.DONE
        live = live_at(memory, best)
        code = memory[node_at(memory, memory[live + LiveRow.WAIT]) + NodeRow.LATE]
        passes = (
            1 if code == NONE else holds(memory, code, event, memory[live + LiveRow.BOUND], NONE)
        )
        if passes < 0:
            if has_begun == 0:
                return Status.ASK
            push(memory, StepKind.OFFERS, event, 0, 0, 0)
            return Status.DONE
        has_begun = 1
        memory[at(memory, Region.LISTS, best_cursor)] = memory[live + LiveRow.AFTER]
        if passes == 0:
            continue
        waiting = memory[steps]
        push(memory, StepKind.OFFERS, event, 0, 0, 0)
        event_came(memory, best, event)
        if (
            memory[steps] == waiting + 2
            and top_step(memory) == StepKind.MATCHED
            and has_room(memory)
        ):
            # A match is all that came of it: its row can be made at once.
            memory[steps] = waiting + 1
            place = memory[TABLE + 4 * Region.STEP + BEGIN] + (waiting + 1) * STEP_WIDTH
            status = matched(memory, memory[place + 1], memory[place + 2], memory[place + 3])
            if status == Status.ASK:
                memory[steps] = waiting + 2
                return Status.DONE
            if status != Status.DONE:
                return status
        if memory[steps] != waiting + 1 or not has_room(memory):
            return Status.DONE
        memory[steps] = waiting


@part
def top_step(memory):
    entry = TABLE + 4 * Region.STEP
    return memory[memory[entry + BEGIN] + (memory[entry + USED] - 1) * STEP_WIDTH]


# -- time ------------------------------------------------------------------------------------------


@part
def pass_time(memory):
    """All input is taken; time may go on."""
    bury(memory)
    if memory[Head.UNTIL] == NEVER:
        return
    if memory[Head.NEXT_DUE] <= memory[Head.UNTIL]:
        push(memory, StepKind.PASS_TIME, 0, 0, 0, 0)
        push(memory, StepKind.TICK, memory[Head.UNTIL], 0, 0, 0)
    else:
        memory[CLOCK] = memory[Head.UNTIL]


@part
def first_due(memory):
    """When the first timer falls due."""
    due = NEVER
    for i in range(memory[TABLE + 4 * Region.TIMED + USED]):
        node = node_at(memory, memory[at(memory, Region.TIMED, i)])
        first = memory[node + NodeRow.TIMERS]
        if first != NONE:
            due = min(due, memory[live_at(memory, first) + LiveRow.DUE])
    for i in range(memory[TABLE + 4 * Region.WINDOW + USED]):
        window = at(memory, Region.WINDOW, i)
        due = min(due, window_due(memory, window), first_armed(memory, window, TimerStage.RATE))
    return due


@part
def tick(memory, limit):
    """At each instant at which timers fall due, up to a limit, they fire, then their events."""
    steps = TABLE + 4 * Region.STEP + USED
    while True:
        bury(memory)
        due = first_due(memory)
        memory[Head.NEXT_DUE] = due
        if due > limit:
            return Status.DONE
        if speaks_for_ever(memory):
            return Status.ENDLESS_OUTPUT
        if memory[Head.FRESH] > memory[Head.LIMIT]:  # between two instants all is as between events
            collect(memory)
        waiting = memory[steps]
        push(memory, StepKind.TICK, limit, 0, 0, 0)
        push(memory, StepKind.DRAIN, 0, 0, 0, 0)
        if not has_room(memory):
            return Status.DONE
        memory[CLOCK] = due
        status = fire_due(memory, due)
        is_over = memory[steps] == waiting + 2 and memory[TABLE + 4 * Region.QUEUE + USED] == 0
        if status != Status.DONE or not is_over:
            return status
        memory[steps] = waiting


@part
def speaks_for_ever(memory):
    """Counts the instants at which timers give rows while no event comes."""
    if memory[Head.REPORTED] != memory[Head.REPORTED_BEFORE]:
        memory[Head.REPORTED_BEFORE] = memory[Head.REPORTED]
        memory[Head.SPEAKING] += 1
    return memory[Head.SPEAKING] > MOST_INSTANTS


@part
def fire_due(memory, due):
    """The timers of an instant: by statement, those of its pattern first."""
    steps = TABLE + 4 * Region.STEP + USED
    bury(memory)
    while True:
        row = next_timer(memory, due)
        window = next_window(memory, due)
        if row == NONE and window == NONE:
            return Status.DONE
        waiting = memory[steps]
        push(memory, StepKind.FIRE_DUE, due, 0, 0, 0)
        memory[Head.BASE_KEY] = NONE
        memory[Head.CAUSE] = new_cause(memory)
        memory[Head.EMITTED] = 0
        if window == NONE or (row != NONE and not is_before(memory, window, row)):
            fire_pattern(memory, row)
            return Status.DONE
        status = fire_first(memory, window, due)
        if status != Status.DONE or memory[steps] != waiting + 1 or not has_room(memory):
            return status
        memory[steps] = waiting


@part
def fire_pattern(memory, row):
    """A timer of a pattern fires."""
    live = live_at(memory, row)
    memory[Head.ORIGIN] = memory[live + LiveRow.ORIGIN]
    memory[Head.ORIGIN_EVENT] = memory[live + LiveRow.ORIGIN_EVENT]
    memory[Head.TIMER] = memory[live + LiveRow.ARMED]
    memory[Head.STAGE] = TimerStage.PATTERN
    disarm(memory, row)
    push(memory, StepKind.FIRE, row, 0, 0, 0)


@part
def is_before(memory, window, row):
    """Whether a window's statement comes before that of a pattern's timer."""
    node = node_at(memory, memory[live_at(memory, row) + LiveRow.WAIT])
    return (
        memory[at(memory, Region.WINDOW, window) + WindowRow.STATEMENT]
        < memory[node + NodeRow.STATEMENT]
    )


@part
def next_timer(memory, due):
    """Of the timers due now, the first by statement, then by origin, then by arming."""
    best, statement, origin, number = NONE, NONE, NEVER, NEVER
    for i in range(memory[TABLE + 4 * Region.TIMED + USED]):
        node = node_at(memory, memory[at(memory, Region.TIMED, i)])
        first = memory[node + NodeRow.TIMERS]
        if first == NONE:
            continue
        live = live_at(memory, first)
        if memory[live + LiveRow.DUE] != due:
            continue
        if best != NONE and memory[node + NodeRow.STATEMENT] != statement:
            break
        order, count = memory[live + LiveRow.ORIGIN], memory[live + LiveRow.ARMED]
        if best == NONE or order < origin or (order == origin and count < number):
            best, statement, origin, number = first, memory[node + NodeRow.STATEMENT], order, count
    return best


# -- results ---------------------------------------------------------------------------------------


@part
def matched(memory, running, event, binding):
    """A match, or an event of a stream, becomes a row of its statement."""
    statement = memory[at(memory, Region.RUNNING, running) + RunningRow.STATEMENT]
    plan = at(memory, Region.STATEMENT, statement)
    if memory[plan + StatementRow.WINDOW] != NONE:
        return come(memory, running, event, binding)
    for code in (memory[plan + StatementRow.WHERE], memory[plan + StatementRow.HAVING]):
        if code != NONE:
            passes = holds(memory, code, event, binding, NONE)
            if passes < 0:
                return Status.ASK
            if passes == 0:
                return Status.DONE
    row = take_collected(memory, EVENT)
    if not fill(memory, row, plan, event, binding, NONE):
        return Status.ASK
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
    entry = TABLE + 4 * Region.STEP
    while memory[entry + USED] > 0:
        if not has_room(memory):
            return Status.GROW
        memory[entry + USED] -= 1
        place = memory[entry + BEGIN] + memory[entry + USED] * STEP_WIDTH
        memory[USED_ANSWERS] = 0
        status = do(
            memory,
            memory[place],
            memory[place + 1],
            memory[place + 2],
            memory[place + 3],
            memory[place + 4],
        )
        if status != Status.DONE:
            if status in (Status.ASK, Status.REHASH):
                memory[entry + USED] += 1  # the step is done again
            return status
        memory[ANSWERS] = 0
    return Status.DONE
