"""Aggregates that are kept up to date as rows enter and leave; the rules are `expr.aggregates`'.

Rows leave a group in the order in which they entered it. Each aggregate has a few words of state in
its group; those that need single values keep them in a list of cells.
"""

from __future__ import annotations

import math

import numpy as np

from cepheid.matcher.vm.expressions.doubles import ONE_NAN, is_nan, one_zero
from cepheid.matcher.vm.expressions.evaluate import real, to_float, word, wrap_int
from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import enter, find, forget, give_back, take_row
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, Region, at
from cepheid.matcher.vm.memory.linked_lists import insert as link
from cepheid.matcher.vm.memory.linked_lists import remove as unlink
from cepheid.matcher.vm.memory.tables import (
    STATE_WIDTH,
    AggregateKind,
    AggregateRow,
    CellRow,
    EntryRow,
    GroupRow,
    Rounding,
)

# The words of a state. Of sums: how many values, and their total. Of lists: the first and the last
# cell, and how many values have entered and left. Of one value: whether it is there, it, its null.
COUNTED, TOTAL = 0, 1
HEAD, TAIL, ENTERED, LEFT = 0, 1, 2, 3
CELLS = TABLE + 4 * Region.CELL + BEGIN  # where cells begin
IS_SET, VALUE, IS_NULL = 0, 1, 2
# Sums of decimals: where digits end, and what stands for a sum that has more.
MOST_UNITS, TOO_LARGE = 10**18, -(2**63)


@part
def state_of(memory, group, number):
    return at(memory, Region.GROUP, group) + GroupRow.STATE + STATE_WIDTH * number


@part
def begin_aggregate(memory, aggregate, state):
    kind = memory[aggregate + AggregateRow.KIND]
    for i in range(STATE_WIDTH):
        memory[state + i] = 0
    if kind in (
        AggregateKind.LEAST,
        AggregateKind.GREATEST,
        AggregateKind.MEDIAN,
        AggregateKind.DEVIATION,
        AggregateKind.MEAN_DEVIATION,
        AggregateKind.FIRST,
        AggregateKind.NTH,
        AggregateKind.NTH_EVER,
    ) or (kind == AggregateKind.LAST and memory[aggregate + AggregateRow.OWNER] != NONE):
        memory[state + HEAD] = NONE
        memory[state + TAIL] = NONE


# -- entering and leaving --------------------------------------------------------------------------


@part
def enter_aggregate(memory, aggregate, group, number, value, is_null):
    """A row enters; `number` is the aggregate's place in the group."""
    if memory[aggregate + AggregateRow.OWNER] == NONE:
        enter_value(memory, aggregate, state_of(memory, group, number), value, is_null)
        return
    entry = distinct_entry(memory, aggregate, group, value, is_null)
    if entry == NONE:
        entry = enter(memory, memory[aggregate + AggregateRow.OWNER], group, is_null, 1)
        place = at(memory, Region.TABLE_ENTRY, entry)
        memory[place + EntryRow.FIRST] = 0
        state = state_of(memory, group, number)
        cell = enter_value(memory, aggregate, state, value, is_null)
        memory[place + EntryRow.LAST] = value if cell == NONE else cell
    memory[at(memory, Region.TABLE_ENTRY, entry) + EntryRow.FIRST] += 1


@part
def leave_aggregate(memory, aggregate, group, number, value, is_null):
    state = state_of(memory, group, number)
    if memory[aggregate + AggregateRow.OWNER] == NONE:
        leave_value(memory, aggregate, state, value, is_null)
        return
    entry = distinct_entry(memory, aggregate, group, value, is_null)
    place = at(memory, Region.TABLE_ENTRY, entry)
    memory[place + EntryRow.FIRST] -= 1
    if memory[place + EntryRow.FIRST] > 0:
        return
    kept = memory[place + EntryRow.LAST]
    forget(memory, entry)
    if memory[aggregate + AggregateRow.KIND] in (
        AggregateKind.COUNT,
        AggregateKind.SUM,
        AggregateKind.AVERAGE,
    ):
        leave_value(memory, aggregate, state, kept, is_null)
    elif is_null == 0 or memory[aggregate + AggregateRow.KIND] in (
        AggregateKind.FIRST,
        AggregateKind.LAST,
        AggregateKind.NTH,
    ):
        memory[state + LEFT] += 1
        remove(memory, state, kept)


@part
def distinct_entry(memory, aggregate, group, value, is_null):
    """The entry of a value that is in the group already; its key is left in SCRATCH."""
    key = 0 if is_null != 0 else value
    if memory[aggregate + AggregateRow.IS_REAL] == 1:
        key = ONE_NAN if is_nan(key) else one_zero(key)
    memory[at(memory, Region.SCRATCH, 0)] = key
    return find(memory, memory[aggregate + AggregateRow.OWNER], group, is_null, 1)


@part
def enter_value(memory, aggregate, state, value, is_null):
    """Gives the cell that keeps the value, if there is one."""
    kind = memory[aggregate + AggregateRow.KIND]
    if kind == AggregateKind.COUNT:
        memory[state + COUNTED] += 1 - is_null
    elif kind in (AggregateKind.FIRST, AggregateKind.LAST, AggregateKind.FIRST_EVER):
        if kind == AggregateKind.FIRST or memory[aggregate + AggregateRow.OWNER] != NONE:
            return append(memory, state, value, is_null)
        if kind == AggregateKind.LAST or memory[state + IS_SET] == 0:
            memory[state + VALUE] = value
            memory[state + IS_NULL] = is_null
        memory[state + IS_SET] += 1
    elif kind in (AggregateKind.NTH, AggregateKind.NTH_EVER):
        row = append(memory, state, value, is_null)
        most = memory[aggregate + AggregateRow.INDEX] + 1
        if kind == AggregateKind.NTH_EVER and memory[state + ENTERED] > most:
            remove(memory, state, memory[state + HEAD])
        return row
    elif is_null == 0:
        if kind in (AggregateKind.SUM, AggregateKind.AVERAGE):
            total = memory[state + TOTAL]
            memory[state + TOTAL] = moved(memory, aggregate, total, value, 1)
            memory[state + COUNTED] += 1
        elif kind in (AggregateKind.LEAST, AggregateKind.GREATEST):
            enter_extreme(memory, aggregate, state, shown(memory, aggregate, value))
        elif kind in (AggregateKind.LEAST_EVER, AggregateKind.GREATEST_EVER):
            value = shown(memory, aggregate, value)
            kept = memory[state + VALUE]
            if memory[state + IS_SET] == 0 or is_before(memory, aggregate, value, kept):
                memory[state + VALUE] = value
                memory[state + IS_SET] = 1
        elif kind == AggregateKind.MEDIAN:
            return enter_sorted(memory, aggregate, state, shown(memory, aggregate, value))
        else:
            return append(memory, state, value, 0)
    return NONE


@part
def leave_value(memory, aggregate, state, value, is_null):
    kind = memory[aggregate + AggregateRow.KIND]
    if kind == AggregateKind.COUNT:
        memory[state + COUNTED] -= 1 - is_null
    elif kind == AggregateKind.LAST:
        memory[state + IS_SET] -= 1
    elif kind in (AggregateKind.FIRST, AggregateKind.NTH):
        remove(memory, state, memory[state + HEAD])
    elif is_null == 0:
        if kind in (AggregateKind.SUM, AggregateKind.AVERAGE):
            memory[state + COUNTED] -= 1
            if memory[state + COUNTED] == 0:
                memory[state + TOTAL] = 0  # the word of both zeros
            else:
                total = memory[state + TOTAL]
                memory[state + TOTAL] = moved(memory, aggregate, total, value, -1)
        elif kind in (AggregateKind.LEAST, AggregateKind.GREATEST):
            memory[state + LEFT] += 1
            first = memory[state + HEAD]
            if memory[at(memory, Region.CELL, first) + CellRow.NUMBER] == memory[state + LEFT]:
                remove(memory, state, first)
        elif kind == AggregateKind.MEDIAN:
            memory[state + LEFT] += 1
            remove(memory, state, find_sorted(memory, state, shown(memory, aggregate, value)))
        else:
            memory[state + LEFT] += 1
            remove(memory, state, memory[state + HEAD])


@part
def moved(memory, aggregate, total, value, sign):
    """A sum after a value has come or gone."""
    number = memory[aggregate + AggregateRow.NUMBER]
    if number == Rounding.INT:
        return wrap_int(total + sign * value)
    if number == Rounding.LONG:
        return total + value if sign == 1 else total - value
    if number == Rounding.DECIMAL:
        return decimal_sum(total, value if sign == 1 else -value)
    change = real(value) if memory[aggregate + AggregateRow.IS_REAL] == 1 else np.float64(value)
    result = real(total) + change if sign == 1 else real(total) - change
    return to_float(result) if number == Rounding.FLOAT else word(result)


@part
def decimal_sum(total, change):
    """A sum with too many digits stays what it is."""
    result = total + change
    if total == TOO_LARGE or result >= MOST_UNITS or result <= -MOST_UNITS:
        return TOO_LARGE
    return result


@part
def is_too_large(memory, aggregate, total):
    return total == TOO_LARGE and memory[aggregate + AggregateRow.NUMBER] == Rounding.DECIMAL


@part
def shown(memory, aggregate, value):
    """Of the two zeros only the positive one is kept, since the order knows only one."""
    return one_zero(value) if memory[aggregate + AggregateRow.IS_REAL] == 1 else value


@part
def is_less(is_real, left, right):
    """In the order of values: NaN is after every number."""
    if is_real == 0:
        return left < right
    x, y = real(left), real(right)
    return x < y or (math.isnan(y) and not math.isnan(x))


@part
def is_before(memory, aggregate, left, right):
    """Whether the first of two is nearer to the extreme that the aggregate asks for."""
    if memory[aggregate + AggregateRow.KIND] in (AggregateKind.LEAST, AggregateKind.LEAST_EVER):
        return is_less(memory[aggregate + AggregateRow.IS_REAL], left, right)
    return is_less(memory[aggregate + AggregateRow.IS_REAL], right, left)


# -- lists of values -------------------------------------------------------------------------------


@part
def append(memory, state, value, is_null):
    return insert_behind(memory, state, memory[state + TAIL], value, is_null)


@part
def insert_behind(memory, state, before, value, is_null):
    """A new cell behind another one; behind NONE it is the first."""
    row = take_row(memory, Region.CELL)
    cell = at(memory, Region.CELL, row)
    memory[state + ENTERED] += 1
    memory[cell + CellRow.VALUE] = value
    memory[cell + CellRow.IS_NULL] = is_null
    memory[cell + CellRow.NUMBER] = memory[state + ENTERED]
    after = (
        memory[state + HEAD]
        if before == NONE
        else memory[at(memory, Region.CELL, before) + CellRow.NEXT]
    )
    begin, first, last = memory[CELLS], state + HEAD, state + TAIL
    link(
        memory, begin, CellRow.WIDTH, CellRow.BEFORE, CellRow.NEXT, first, last, row, before, after
    )
    return row


@part
def remove(memory, state, row):
    first, last = state + HEAD, state + TAIL
    unlink(memory, memory[CELLS], CellRow.WIDTH, CellRow.BEFORE, CellRow.NEXT, first, last, row)
    give_back(memory, Region.CELL, row)


@part
def enter_extreme(memory, aggregate, state, value):
    """Values that a later one makes useless go: they would leave before it."""
    last = memory[state + TAIL]
    while last != NONE and not is_before(
        memory, aggregate, memory[at(memory, Region.CELL, last) + CellRow.VALUE], value
    ):
        remove(memory, state, last)
        last = memory[state + TAIL]
    append(memory, state, value, 0)


@part
def enter_sorted(memory, aggregate, state, value):
    before = memory[state + TAIL]
    is_real = memory[aggregate + AggregateRow.IS_REAL]
    while before != NONE and is_less(
        is_real, value, memory[at(memory, Region.CELL, before) + CellRow.VALUE]
    ):
        before = memory[at(memory, Region.CELL, before) + CellRow.BEFORE]
    return insert_behind(memory, state, before, value, 0)


@part
def find_sorted(memory, state, value):
    """A cell with the value; the same bits entered."""
    row = memory[state + HEAD]
    while memory[at(memory, Region.CELL, row) + CellRow.VALUE] != value:
        row = memory[at(memory, Region.CELL, row) + CellRow.NEXT]
    return row


# -- results ---------------------------------------------------------------------------------------


@part
def write_results(memory, first, count, group):
    """Puts (value, is null) of a group's aggregates into RESULT; gives their place."""
    place = memory[TABLE + 4 * Region.RESULT + BEGIN]
    for i in range(count):
        value, is_null = result(
            memory, at(memory, Region.AGGREGATE, first + i), state_of(memory, group, i)
        )
        memory[place + 2 * i] = value
        memory[place + 2 * i + 1] = is_null
    return place


@part
def result(memory, aggregate, state):
    kind = memory[aggregate + AggregateRow.KIND]
    if kind == AggregateKind.COUNT:
        return memory[state + COUNTED], 0
    if kind in (AggregateKind.SUM, AggregateKind.AVERAGE):
        count, total = memory[state + COUNTED], memory[state + TOTAL]
        if count == 0 or is_too_large(memory, aggregate, total):
            return 0, 1
        return (total if kind == AggregateKind.SUM else word(real(total) / np.float64(count))), 0
    if kind in (AggregateKind.LEAST_EVER, AggregateKind.GREATEST_EVER):
        return memory[state + VALUE], 1 if memory[state + IS_SET] == 0 else 0
    if kind == AggregateKind.FIRST_EVER or (
        kind == AggregateKind.LAST and memory[aggregate + AggregateRow.OWNER] == NONE
    ):
        return memory[state + VALUE], 1 if memory[state + IS_SET] == 0 else memory[state + IS_NULL]
    if kind == AggregateKind.MEDIAN:
        return median(memory, state, memory[aggregate + AggregateRow.IS_REAL])
    if kind == AggregateKind.DEVIATION:
        return deviation(memory, state, memory[aggregate + AggregateRow.IS_REAL])
    if kind == AggregateKind.MEAN_DEVIATION:
        return mean_deviation(memory, state, memory[aggregate + AggregateRow.IS_REAL])
    if kind in (AggregateKind.NTH, AggregateKind.NTH_EVER):
        row = from_last(memory, state, memory[aggregate + AggregateRow.INDEX])
    else:
        row = memory[state + TAIL] if kind == AggregateKind.LAST else memory[state + HEAD]
    if row == NONE:
        return 0, 1
    cell = at(memory, Region.CELL, row)
    return memory[cell + CellRow.VALUE], memory[cell + CellRow.IS_NULL]


@part
def as_double(value, is_real):
    return real(value) if is_real == 1 else np.float64(value)


@part
def median(memory, state, is_real):
    count = memory[state + ENTERED] - memory[state + LEFT]
    if count == 0:
        return 0, 1
    row = memory[state + HEAD]
    for _ in range((count - 1) // 2):
        row = memory[at(memory, Region.CELL, row) + CellRow.NEXT]
    cell = at(memory, Region.CELL, row)
    middle = as_double(memory[cell + CellRow.VALUE], is_real)
    if count % 2 == 1:
        return word(middle), 0
    after = at(memory, Region.CELL, memory[cell + CellRow.NEXT])
    return word((middle + as_double(memory[after + CellRow.VALUE], is_real)) / 2.0), 0


@part
def from_last(memory, state, index):
    """The cell so many places before the last; NONE if there is none."""
    row = memory[state + TAIL]
    while row != NONE and index > 0:
        row = memory[at(memory, Region.CELL, row) + CellRow.BEFORE]
        index -= 1
    return row


@part
def mean_of(memory, state, is_real, count):
    total = 0.0
    row = memory[state + HEAD]
    while row != NONE:
        cell = at(memory, Region.CELL, row)
        total += as_double(memory[cell + CellRow.VALUE], is_real)
        row = memory[cell + CellRow.NEXT]
    return total / np.float64(count)


@part
def mean_deviation(memory, state, is_real):
    """The mean first, then the distances from it."""
    count = memory[state + ENTERED] - memory[state + LEFT]
    if count == 0:
        return 0, 1
    mean = mean_of(memory, state, is_real, count)
    distances = 0.0
    row = memory[state + HEAD]
    while row != NONE:
        cell = at(memory, Region.CELL, row)
        distances += abs(as_double(memory[cell + CellRow.VALUE], is_real) - mean)
        row = memory[cell + CellRow.NEXT]
    return word(distances / np.float64(count)), 0


@part
def deviation(memory, state, is_real):
    """The mean first, then the squared differences."""
    count = memory[state + ENTERED] - memory[state + LEFT]
    if count < 2:
        return 0, 1
    mean = mean_of(memory, state, is_real, count)
    squares = 0.0
    row = memory[state + HEAD]
    while row != NONE:
        cell = at(memory, Region.CELL, row)
        difference = as_double(memory[cell + CellRow.VALUE], is_real) - mean
        squares += difference * difference
        row = memory[cell + CellRow.NEXT]
    return word(math.sqrt(squares / np.float64(count - 1))), 0
