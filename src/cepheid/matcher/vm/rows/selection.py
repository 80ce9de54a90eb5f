"""How the rows of a window become rows of the result: groups, their aggregates, `having`, columns."""

from __future__ import annotations

from cepheid.matcher.vm.expressions.doubles import ONE_NAN, is_nan, one_zero
from cepheid.matcher.vm.expressions.evaluate import holds, value_of
from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import EVENT, enter, find, take_collected, take_row
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, at
from cepheid.matcher.vm.memory.tables import (
    A_CODE,
    A_WIDTH,
    AGGREGATE,
    ARGUMENT,
    E_FIRST,
    G_ENTRY,
    G_IS_KEPT,
    G_IS_SEEN,
    G_ITEMS,
    G_SHOWN,
    G_SHOWN_OLD,
    G_SINCE,
    G_SIZE,
    G_STAMP,
    G_STATE,
    G_WINDOW,
    GROUP,
    IS_OLD,
    LIST,
    ORDERED,
    S_HAVING,
    SCRATCH,
    START,
    STATE_WIDTH,
    STATEMENT,
    TABLE_ENTRY,
    V_AGGREGATE_COUNT,
    V_AGGREGATES,
    V_KEY_COUNT,
    V_KEY_DOUBLE,
    V_KEYS,
    V_ORDER,
    V_ORDER_COUNT,
    V_OWNER,
    V_STATEMENT,
    WINDOW,
)
from cepheid.matcher.vm.rows.aggregates import (
    begin_aggregate,
    enter_aggregate,
    leave_aggregate,
    write_results,
)
from cepheid.matcher.vm.rows.results import fill

REJECTED, QUESTION = -1, -2  # instead of the row of a result


# -- groups ----------------------------------------------------------------------------------------


@part
def find_key(memory, window, event, binding):
    """Puts the key of a row's group into SCRATCH; gives its null bits, or -1: a question."""
    nulls = 0
    codes = memory[TABLE + 4 * LIST + BEGIN] + memory[window + V_KEYS]
    doubles = memory[window + V_KEY_DOUBLE]
    scratch = memory[TABLE + 4 * SCRATCH + BEGIN]
    for i in range(memory[window + V_KEY_COUNT]):
        status, value, is_null = value_of(memory, memory[codes + i], event, binding, NONE)
        if status != 0:
            return -1
        if is_null != 0:
            nulls |= 1 << i
            value = 0
        elif (doubles >> i) & 1:
            value = ONE_NAN if is_nan(value) else one_zero(value)
        memory[scratch + i] = value
    return nulls


@part
def group_of_key(memory, number, running, nulls):
    """The group whose key is in SCRATCH, which may be a new one."""
    window = at_window(memory, number)
    owner, count = memory[window + V_OWNER], memory[window + V_KEY_COUNT]
    entry = find(memory, owner, running, nulls, count)
    if entry == NONE:
        entry = enter(memory, owner, running, nulls, count)
        group = new_group(memory, number, entry)
        memory[at(memory, TABLE_ENTRY, entry) + E_FIRST] = group
    return memory[at(memory, TABLE_ENTRY, entry) + E_FIRST]


@part
def new_group(memory, number, entry):
    window = at_window(memory, number)
    row = take_row(memory, GROUP)
    group = at(memory, GROUP, row)
    memory[group + G_WINDOW] = number
    memory[group + G_ENTRY] = entry
    memory[group + G_SIZE] = 0
    memory[group + G_ITEMS] = 0
    memory[group + G_STAMP] = 0
    memory[group + G_SHOWN] = NONE
    memory[group + G_SHOWN_OLD] = NONE
    memory[group + G_IS_KEPT] = 0
    memory[group + G_IS_SEEN] = 0
    memory[group + G_SINCE] = START
    first = at(memory, AGGREGATE, memory[window + V_AGGREGATES])
    for i in range(memory[window + V_AGGREGATE_COUNT]):
        begin_aggregate(memory, first + A_WIDTH * i, group + G_STATE + STATE_WIDTH * i)
    return row


@part
def find_arguments(memory, window, event, binding):
    """Puts the arguments of the aggregates into ARGUMENT; null bits, or -1: a question."""
    nulls = 0
    first = at(memory, AGGREGATE, memory[window + V_AGGREGATES])
    arguments = memory[TABLE + 4 * ARGUMENT + BEGIN]
    for i in range(memory[window + V_AGGREGATE_COUNT]):
        code = memory[first + A_WIDTH * i + A_CODE]
        if code == NONE:
            continue
        status, value, is_null = value_of(memory, code, event, binding, NONE)
        if status != 0:
            return -1
        memory[arguments + i] = value
        nulls |= is_null << i
    return nulls


@part
def count_in(memory, window, group, nulls, arguments):
    """A row begins to count in its group; its arguments lie at a place."""
    memory[at(memory, GROUP, group) + G_SIZE] += 1
    first = at(memory, AGGREGATE, memory[window + V_AGGREGATES])
    for i in range(memory[window + V_AGGREGATE_COUNT]):
        value, is_null = memory[arguments + i], (nulls >> i) & 1
        enter_aggregate(memory, first + A_WIDTH * i, group, i, value, is_null)


@part
def count_out(memory, window, group, nulls, arguments):
    """A row ceases to count in its group."""
    memory[at(memory, GROUP, group) + G_SIZE] -= 1
    first = at(memory, AGGREGATE, memory[window + V_AGGREGATES])
    for i in range(memory[window + V_AGGREGATE_COUNT]):
        value, is_null = memory[arguments + i], (nulls >> i) & 1
        leave_aggregate(memory, first + A_WIDTH * i, group, i, value, is_null)


@part
def at_window(memory, number):
    return at(memory, WINDOW, number)


# -- results ---------------------------------------------------------------------------------------


@part
def result_of(memory, window, group, event, binding, is_old):
    """A new event with the result for a row or a group; REJECTED by `having`, or QUESTION."""
    plan = at(memory, STATEMENT, memory[window + V_STATEMENT])
    place, count = NONE, memory[window + V_AGGREGATE_COUNT]
    if count > 0:
        place = write_results(memory, memory[window + V_AGGREGATES], count, group)
    memory[IS_OLD] = is_old
    row = REJECTED
    code = memory[plan + S_HAVING]
    passes = 1 if code == NONE else holds(memory, code, event, binding, place)
    if passes < 0:
        row = QUESTION
    elif passes == 1:
        row = take_collected(memory, EVENT)
        if not fill(memory, row, plan, event, binding, place) or not find_order(
            memory, window, event, binding, place
        ):
            row = QUESTION
    memory[IS_OLD] = 0
    return row


@part
def find_order(memory, window, event, binding, aggregates):
    """Puts (value, is null) of what a result is ordered by into ORDERED; False: a question."""
    codes = memory[TABLE + 4 * LIST + BEGIN] + memory[window + V_ORDER]
    ordered = memory[TABLE + 4 * ORDERED + BEGIN]
    for i in range(memory[window + V_ORDER_COUNT]):
        status, value, is_null = value_of(memory, memory[codes + 3 * i], event, binding, aggregates)
        if status != 0:
            return False
        memory[ordered + 2 * i] = value
        memory[ordered + 2 * i + 1] = is_null
    return True
