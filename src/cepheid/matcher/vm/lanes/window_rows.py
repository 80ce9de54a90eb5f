"""The rows of one window over a batch of events.

Rows enter a window and leave it in the same order, so what it holds is a span of a growing table
that only moves forward. Each change lets rows enter groups and leave them, and then gives results:
one for each row that enters, for all rows together, or for each group that it touches. Everything
lies in five arrays of words: single words, rows, groups, a hash table of the groups, results.
"""

from __future__ import annotations

import numpy as np

from cepheid.matcher.vm.expressions.evaluate import real, word
from cepheid.matcher.vm.jit import entry, inlined, words_of
from cepheid.matcher.vm.memory.layout import NONE
from cepheid.matcher.vm.memory.tables import (
    NEVER,
    START,
    AggregateKind,
    AggregateRow,
    RowShape,
    TimerStage,
    WindowKind,
)
from cepheid.matcher.vm.rows.aggregates import is_before, moved, shown

# Single words; behind them the aggregates as `tables.py` has them, with two words that say where rows
# have something: A_CODE the argument, A_OWNER the links of an extreme.
(
    KIND,
    LIMIT,  # how many rows, or how long
    SHAPE,
    KEYS,  # how many of the values of a row say its group: the first ones
    AGGREGATES,
    WIDTH,  # of a row
    GROUP_WIDTH,
    FIRST_ROW,  # the first row that counts
    GATHERED,  # the first one that waits for its batch
    CURSOR,  # the first one that has not come yet
    END,
    ANCHOR,  # since when batches follow each other; START: there was none yet
    DUE,  # when the running batch ends; NEVER: there is none
    GROUPS,
    MOST_GROUPS,
    SIZE,  # of the hash table: a power of two
    CHANGES,
    FOUND,  # results
    MOST_FOUND,
    WANTED,  # room for so many
    HEAD_WIDTH,
) = range(21)

# A row; then its values. Behind them lie, for each extreme, the numbers of the rows before and after
# it among those that may become the extreme.
W_INSTANT, W_SEQUENCE, W_GROUP, W_NULLS, W_VALUES = range(5)

# A group; then its keys, and of each aggregate two words.
G_CHANGE, G_SIZE, G_NULLS, G_KEYS = range(4)  # the last change that touched it, its rows
COUNTED, TOTAL = range(2)
FIRST, LAST = range(2)  # of extremes: rows

# A result: a column for each word. Behind them lie the values of the aggregates.
(
    F_ROW,  # that it stands for
    F_LEAVES,  # whether that row leaves
    F_INSTANT,
    F_PHASE,
    F_SEQUENCE,
    F_NUMBER,  # among the results of the change
    F_NULLS,
    F_VALUES,
) = range(8)

DONE, MORE_GROUPS, MORE_FOUND = range(3)


# -- groups ----------------------------------------------------------------------------------------


@inlined
def entry_of(head, groups, table, words, keys, nulls):
    """The entry of a group, or the free one where it belongs."""
    count, mask = head[KEYS], head[SIZE] - 1
    mixed = nulls
    for key in range(count):
        mixed = (mixed ^ words[keys + key]) * 0x9E3779B97F4A7C1
        mixed ^= mixed >> 32
    place = mixed & mask
    while table[place] != NONE:
        group = table[place] * head[GROUP_WIDTH]
        is_same = groups[group + G_NULLS] == nulls
        for key in range(count):
            is_same &= groups[group + G_KEYS + key] == words[keys + key]
        if is_same:
            break
        place = (place + 1) & mask
    return place


@inlined
def group_of(head, rows, groups, table, row):
    """The number of a row's group, which may be new."""
    count = head[KEYS]
    if count == 0:
        return 0
    nulls = rows[row + W_NULLS] & ((1 << count) - 1)
    place = entry_of(head, groups, table, rows, row + W_VALUES, nulls)
    if table[place] == NONE:
        number = table[place] = head[GROUPS]
        head[GROUPS] += 1
        group = number * head[GROUP_WIDTH]
        groups[group + G_NULLS] = nulls
        for key in range(count):
            groups[group + G_KEYS + key] = rows[row + W_VALUES + key]
    return table[place]


# -- aggregates ------------------------------------------------------------------------------------


@inlined
def add(head, rows, groups, row, sign):
    """A row enters its group (1) or leaves it (-1)."""
    group = rows[row + W_GROUP] * head[GROUP_WIDTH]
    groups[group + G_SIZE] += sign
    state = group + G_KEYS + head[KEYS]
    nulls = rows[row + W_NULLS]
    for number in range(head[AGGREGATES]):
        aggregate = HEAD_WIDTH + number * AggregateRow.WIDTH
        value, is_null = 0, 0
        slot = head[aggregate + AggregateRow.CODE]
        if slot != NONE:
            value, is_null = rows[row + W_VALUES + slot], (nulls >> slot) & 1
        if is_null == 0:
            add_value(head, rows, groups, aggregate, state, row, value, sign)
        state += 2


@inlined
def add_value(head, rows, groups, aggregate, state, row, value, sign):
    kind = head[aggregate + AggregateRow.KIND]
    if kind in (AggregateKind.LEAST, AggregateKind.GREATEST):
        if sign == 1:
            enter_extreme(head, rows, groups, aggregate, state, row)
        else:
            leave_extreme(head, rows, groups, aggregate, state, row)
        return
    counted = groups[state + COUNTED] + sign
    groups[state + COUNTED] = counted
    if kind == AggregateKind.COUNT:
        return
    if counted == 0:
        groups[state + TOTAL] = 0  # the word of both zeros
    elif kind in (AggregateKind.LEAST_EVER, AggregateKind.GREATEST_EVER):
        value = shown(head, aggregate, value)
        if counted == 1 or is_before(head, aggregate, value, groups[state + TOTAL]):
            groups[state + TOTAL] = value
    else:
        groups[state + TOTAL] = moved(head, aggregate, groups[state + TOTAL], value, sign)


@inlined
def value_of(head, rows, aggregate, row):
    return shown(head, aggregate, rows[row + W_VALUES + head[aggregate + AggregateRow.CODE]])


@inlined
def enter_extreme(head, rows, groups, aggregate, state, row):
    """Rows that a later one makes useless go: they would leave before it."""
    before, width = head[aggregate + AggregateRow.OWNER], head[WIDTH]
    value = value_of(head, rows, aggregate, row)
    last = groups[state + LAST]
    while last != NONE and not is_before(
        head, aggregate, value_of(head, rows, aggregate, last * width), value
    ):
        last = rows[last * width + before]
    place = row // width
    if last == NONE:
        groups[state + FIRST] = place
    else:
        rows[last * width + before + 1] = place
    rows[row + before] = last
    rows[row + before + 1] = NONE
    groups[state + LAST] = place


@inlined
def leave_extreme(head, rows, groups, aggregate, state, row):
    width = head[WIDTH]
    if groups[state + FIRST] != row // width:
        return
    before = head[aggregate + AggregateRow.OWNER]
    after = rows[row + before + 1]
    groups[state + FIRST] = after
    if after == NONE:
        groups[state + LAST] = NONE
    else:
        rows[after * width + before] = NONE


@inlined
def result(head, rows, groups, aggregate, state):
    kind = head[aggregate + AggregateRow.KIND]
    if kind in (AggregateKind.LEAST, AggregateKind.GREATEST):
        first = groups[state + FIRST]
        if first == NONE:
            return 0, 1
        return value_of(head, rows, aggregate, first * head[WIDTH]), 0
    counted, total = groups[state + COUNTED], groups[state + TOTAL]
    if kind == AggregateKind.COUNT:
        return counted, 0
    if counted == 0:
        return 0, 1
    return (word(real(total) / np.float64(counted)) if kind == AggregateKind.AVERAGE else total), 0


# -- changes ---------------------------------------------------------------------------------------


@inlined
def touch(head, rows, groups, found, row, leaves, begin):
    """A row of a change: if a result is to stand for it, that one is begun."""
    shape = head[SHAPE]
    if shape == RowShape.BY_GROUP:
        group = rows[row * head[WIDTH] + W_GROUP] * head[GROUP_WIDTH]
        speaks = groups[group + G_CHANGE] != head[CHANGES]
        groups[group + G_CHANGE] = head[CHANGES]
    elif shape == RowShape.BY_TOTAL:
        speaks = head[FOUND] == begin
    else:
        speaks = leaves == 0
    if speaks:
        most, place = head[MOST_FOUND], head[FOUND]
        found[F_ROW * most + place] = row
        found[F_LEAVES * most + place] = leaves
        head[FOUND] += 1


@inlined
def tell(head, rows, groups, found, begin, instant, phase, sequence):
    """Completes the results of a change."""
    most = head[MOST_FOUND]
    for place in range(begin, head[FOUND]):
        found[F_INSTANT * most + place] = instant
        found[F_PHASE * most + place] = phase
        found[F_SEQUENCE * most + place] = sequence
        found[F_NUMBER * most + place] = place - begin + 1
        row = found[F_ROW * most + place] * head[WIDTH]
        state = rows[row + W_GROUP] * head[GROUP_WIDTH] + G_KEYS + head[KEYS]
        nulls = 0
        for number in range(head[AGGREGATES]):
            aggregate = HEAD_WIDTH + number * AggregateRow.WIDTH
            value, is_null = result(head, rows, groups, aggregate, state)
            found[(F_VALUES + number) * most + place] = value
            nulls |= is_null << number
            state += 2
        found[F_NULLS * most + place] = nulls


@inlined
def has_room(head, count):
    """Whether there is room for the results of a change of so many rows."""
    head[WANTED] = 1 if head[SHAPE] == RowShape.BY_TOTAL else count
    return head[FOUND] + head[WANTED] <= head[MOST_FOUND]


@inlined
def change(head, rows, groups, found, new, new_end, old, old_end, instant, phase, sequence):
    """Some rows enter, then some leave."""
    begin = head[FOUND]
    head[CHANGES] += 1
    for row in range(new, new_end):
        touch(head, rows, groups, found, row, 0, begin)
        add(head, rows, groups, row * head[WIDTH], 1)
    for row in range(old, old_end):
        touch(head, rows, groups, found, row, 1, begin)
        add(head, rows, groups, row * head[WIDTH], -1)
    tell(head, rows, groups, found, begin, instant, phase, sequence)


# -- time ------------------------------------------------------------------------------------------


@inlined
def let_time_pass(head, rows, groups, found, instant):
    if head[KIND] == WindowKind.TIME:
        return let_rows_leave(head, rows, groups, found, instant)
    if head[KIND] == WindowKind.TIME_BATCH:
        return let_batches_end(head, rows, groups, found, instant)
    return DONE


@inlined
def let_rows_leave(head, rows, groups, found, instant):
    """Rows of one instant leave together."""
    width, limit = head[WIDTH], head[LIMIT]
    while head[FIRST_ROW] < head[CURSOR]:
        first = head[FIRST_ROW]
        entered = rows[first * width + W_INSTANT]
        if entered + limit > instant:
            break
        end = first + 1
        while end < head[CURSOR] and rows[end * width + W_INSTANT] == entered:
            end += 1
        if not has_room(head, end - first):
            return MORE_FOUND
        change(head, rows, groups, found, 0, 0, first, end, entered + limit, 0, 0)
        head[FIRST_ROW] = end
    return DONE


@inlined
def let_batches_end(head, rows, groups, found, instant):
    """The rows of a batch enter together, and those of the one before leave."""
    while head[DUE] <= instant and head[DUE] != NEVER:
        due, first, gathered, end = head[DUE], head[FIRST_ROW], head[GATHERED], head[CURSOR]
        if not has_room(head, end - first):
            return MORE_FOUND
        change(head, rows, groups, found, gathered, end, first, gathered, due, 0, 0)
        head[FIRST_ROW] = gathered
        head[GATHERED] = end
        head[DUE] = due + head[LIMIT] if end > gathered else NEVER
    return DONE


# -- events ----------------------------------------------------------------------------------------


@inlined
def push(head, rows, groups, found, row):
    """The next row comes from the source."""
    kind = head[KIND]
    instant, sequence = rows[row * head[WIDTH] + W_INSTANT], rows[row * head[WIDTH] + W_SEQUENCE]
    if kind == WindowKind.TIME_BATCH:
        if head[DUE] == NEVER:
            if head[ANCHOR] == START:
                head[ANCHOR] = instant
            passed = (instant - head[ANCHOR]) // head[LIMIT]
            head[DUE] = head[ANCHOR] + (passed + 1) * head[LIMIT]
        return
    new, old, old_end = row, head[FIRST_ROW], head[FIRST_ROW]
    if kind == WindowKind.LENGTH_BATCH:
        if row + 1 - head[GATHERED] < head[LIMIT]:
            return
        new = old_end = head[FIRST_ROW] = head[GATHERED]
        head[GATHERED] = row + 1
    elif kind == WindowKind.LENGTH:
        if row + 1 - old > head[LIMIT]:
            old_end = head[FIRST_ROW] = old + 1
    elif kind != WindowKind.TIME:
        head[FIRST_ROW] = row + 1  # rows never leave, and nobody asks for them
    change(head, rows, groups, found, new, row + 1, old, old_end, instant, 1, sequence)


@entry("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64)")
def follow(head_, rows_, groups_, table_, found_, until):
    """Takes the rows from the cursor on; then time passes."""
    head, rows, groups = words_of(head_), words_of(rows_), words_of(groups_)
    table, found = words_of(table_), words_of(found_)
    for row in range(head[CURSOR], head[END]):
        place = row * head[WIDTH]
        if let_time_pass(head, rows, groups, found, rows[place + W_INSTANT]) != DONE:
            return MORE_FOUND
        if not has_room(
            head, row + 1 - head[FIRST_ROW] if head[KIND] == WindowKind.LENGTH_BATCH else 2
        ):
            return MORE_FOUND
        if head[GROUPS] == head[MOST_GROUPS]:
            return MORE_GROUPS
        rows[place + W_GROUP] = group_of(head, rows, groups, table, place)
        push(head, rows, groups, found, row)
        head[CURSOR] = row + 1
    return let_time_pass(head, rows, groups, found, until)


@entry("void(int64[::1], int64[::1], int64[::1])")
def rehash(head_, groups_, table_):
    """Enters all groups into an empty hash table, whose size is already known."""
    head, groups, table = words_of(head_), words_of(groups_), words_of(table_)
    if head[KEYS] > 0:
        for number in range(head[GROUPS]):
            group = number * head[GROUP_WIDTH]
            nulls = groups[group + G_NULLS]
            place = entry_of(head, groups, table, groups, group + G_KEYS, nulls)
            table[place] = number


@entry("void(int64[::1], int64[::1], int64[::1], int64, int64, int64[::1], int32[::1])")
def write_keys(head_, found_, rows_, rank, start, words_, ends):
    """The keys of results, one behind the other, and where each ends."""
    head, found = words_of(head_), words_of(found_)
    rows, words = words_of(rows_), words_of(words_)
    most, end = head[MOST_FOUND], 0
    for place in range(len(ends) - 1):
        phase = found[F_PHASE * most + place]
        words[end] = found[F_INSTANT * most + place]
        words[end + 1] = phase
        words[end + 2] = found[F_SEQUENCE * most + place]
        words[end + 3] = 1
        words[end + 4] = rank
        end += 5
        if phase == 0:
            row = found[F_ROW * most + place] * head[WIDTH]
            words[end] = TimerStage.WINDOW
            words[end + 1] = start
            words[end + 2] = -1
            words[end + 3] = 0
            words[end + 4] = 0
            words[end + 5] = rank
            words[end + 6] = 0  # a row that is new
            words[end + 7] = found[F_LEAVES * most + place]
            words[end + 8] = rows[row + W_INSTANT]
            words[end + 9] = 1
            words[end + 10] = rows[row + W_SEQUENCE]
            words[end + 11] = 0
            end += 12
        words[end] = found[F_NUMBER * most + place]
        end += 1
        ends[place + 1] = end
