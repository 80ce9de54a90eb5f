"""How the rows of a window become rows of the result: groups, their aggregates, `having`, columns."""

from __future__ import annotations

from cepheid.matcher.vm.expressions.doubles import ONE_NAN, is_nan, one_zero
from cepheid.matcher.vm.expressions.evaluate import holds, value_of
from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import EVENT, enter, find, take_collected, take_row
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, Head, Region, at
from cepheid.matcher.vm.memory.tables import (
    START,
    STATE_WIDTH,
    AggregateRow,
    EntryRow,
    GroupRow,
    StatementRow,
    WindowRow,
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
    codes = memory[TABLE + 4 * Region.LIST + BEGIN] + memory[window + WindowRow.KEYS]
    doubles = memory[window + WindowRow.KEY_DOUBLE]
    scratch = memory[TABLE + 4 * Region.SCRATCH + BEGIN]
    for i in range(memory[window + WindowRow.KEY_COUNT]):
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
    owner, count = memory[window + WindowRow.OWNER], memory[window + WindowRow.KEY_COUNT]
    entry = find(memory, owner, running, nulls, count)
    if entry == NONE:
        entry = enter(memory, owner, running, nulls, count)
        group = new_group(memory, number, entry)
        memory[at(memory, Region.TABLE_ENTRY, entry) + EntryRow.FIRST] = group
    return memory[at(memory, Region.TABLE_ENTRY, entry) + EntryRow.FIRST]


@part
def new_group(memory, number, entry):
    window = at_window(memory, number)
    row = take_row(memory, Region.GROUP)
    group = at(memory, Region.GROUP, row)
    memory[group + GroupRow.WINDOW] = number
    memory[group + GroupRow.ENTRY] = entry
    memory[group + GroupRow.SIZE] = 0
    memory[group + GroupRow.ITEMS] = 0
    memory[group + GroupRow.STAMP] = 0
    memory[group + GroupRow.SHOWN] = NONE
    memory[group + GroupRow.SHOWN_OLD] = NONE
    memory[group + GroupRow.IS_KEPT] = 0
    memory[group + GroupRow.IS_SEEN] = 0
    memory[group + GroupRow.SINCE] = START
    first = at(memory, Region.AGGREGATE, memory[window + WindowRow.AGGREGATES])
    for i in range(memory[window + WindowRow.AGGREGATE_COUNT]):
        begin_aggregate(
            memory, first + AggregateRow.WIDTH * i, group + GroupRow.STATE + STATE_WIDTH * i
        )
    return row


@part
def find_arguments(memory, window, event, binding):
    """Puts the arguments of the aggregates into ARGUMENT; null bits, or -1: a question."""
    nulls = 0
    first = at(memory, Region.AGGREGATE, memory[window + WindowRow.AGGREGATES])
    arguments = memory[TABLE + 4 * Region.ARGUMENT + BEGIN]
    for i in range(memory[window + WindowRow.AGGREGATE_COUNT]):
        code = memory[first + AggregateRow.WIDTH * i + AggregateRow.CODE]
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
    memory[at(memory, Region.GROUP, group) + GroupRow.SIZE] += 1
    first = at(memory, Region.AGGREGATE, memory[window + WindowRow.AGGREGATES])
    for i in range(memory[window + WindowRow.AGGREGATE_COUNT]):
        value, is_null = memory[arguments + i], (nulls >> i) & 1
        enter_aggregate(memory, first + AggregateRow.WIDTH * i, group, i, value, is_null)


@part
def count_out(memory, window, group, nulls, arguments):
    """A row ceases to count in its group."""
    memory[at(memory, Region.GROUP, group) + GroupRow.SIZE] -= 1
    first = at(memory, Region.AGGREGATE, memory[window + WindowRow.AGGREGATES])
    for i in range(memory[window + WindowRow.AGGREGATE_COUNT]):
        value, is_null = memory[arguments + i], (nulls >> i) & 1
        leave_aggregate(memory, first + AggregateRow.WIDTH * i, group, i, value, is_null)


@part
def at_window(memory, number):
    return at(memory, Region.WINDOW, number)


# -- results ---------------------------------------------------------------------------------------


@part
def result_of(memory, window, group, event, binding, is_old):
    """A new event with the result for a row or a group; REJECTED by `having`, or QUESTION."""
    plan = at(memory, Region.STATEMENT, memory[window + WindowRow.STATEMENT])
    place, count = NONE, memory[window + WindowRow.AGGREGATE_COUNT]
    if count > 0:
        place = write_results(memory, memory[window + WindowRow.AGGREGATES], count, group)
    memory[Head.IS_OLD] = is_old
    row = REJECTED
    code = memory[plan + StatementRow.HAVING]
    passes = 1 if code == NONE else holds(memory, code, event, binding, place)
    if passes < 0:
        row = QUESTION
    elif passes == 1:
        row = take_collected(memory, EVENT)
        if not fill(memory, row, plan, event, binding, place) or not find_order(
            memory, window, event, binding, place
        ):
            row = QUESTION
    memory[Head.IS_OLD] = 0
    return row


@part
def find_order(memory, window, event, binding, aggregates):
    """Puts (value, is null) of what a result is ordered by into ORDERED; False: a question."""
    codes = memory[TABLE + 4 * Region.LIST + BEGIN] + memory[window + WindowRow.ORDER]
    ordered = memory[TABLE + 4 * Region.ORDERED + BEGIN]
    for i in range(memory[window + WindowRow.ORDER_COUNT]):
        status, value, is_null = value_of(memory, memory[codes + 3 * i], event, binding, aggregates)
        if status != 0:
            return False
        memory[ordered + 2 * i] = value
        memory[ordered + 2 * i + 1] = is_null
    return True
