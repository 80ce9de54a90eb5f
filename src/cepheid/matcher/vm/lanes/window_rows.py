"""The rows of one window over a batch of events.

Rows enter a window and leave it in the same order, so what it holds is a span of a growing table
that only moves forward. Each change lets rows enter groups and leave them, and then gives results:
one for each row that enters, for all rows together, or for each group that it touches. Everything
lies in five arrays of words: single words, rows, groups, a hash table of the groups, results.
"""

from __future__ import annotations

from enum import auto

import numpy as np
from numba import types

from cepheid.matcher.vm.expressions.evaluate import real, word
from cepheid.matcher.vm.jit import COLUMN, COLUMNS, WORDS, entry, inlined, words_of
from cepheid.matcher.vm.memory.declared import Declared
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
from cepheid.matcher.vm.rows.aggregates import is_before, is_too_large, moved, shown


class WindowHead(Declared):
    """Single words; behind them the aggregates as `AggregateRow` has them, with two words that say where
    rows have something: CODE the argument, OWNER the links of an extreme."""

    KIND = auto()
    LIMIT = auto()  # how many rows, or how long
    SHAPE = auto()
    KEYS = auto()  # how many of the values of a row say its group: the first ones
    AGGREGATES = auto()
    WIDTH = auto()  # of a row
    GROUP_WIDTH = auto()
    FIRST_ROW = auto()  # the first row that counts
    GATHERED = auto()  # the first one that waits for its batch
    CURSOR = auto()  # the first one that has not come yet
    END = auto()
    ANCHOR = auto()  # since when batches follow each other; START: there was none yet
    DUE = auto()  # when the running batch ends; NEVER: there is none
    GROUPS = auto()
    MOST_GROUPS = auto()
    SIZE = auto()  # of the hash table: a power of two
    CHANGES = auto()
    FOUND = auto()  # results
    MOST_FOUND = auto()
    WANTED = auto()  # room for so many
    HEAD_WIDTH = auto()


class StreamRow(Declared):
    """A row; then its values. Behind them lie, for each extreme, the numbers of the rows before and
    after it among those that may become the extreme."""

    INSTANT = auto()
    SEQUENCE = auto()
    GROUP = auto()
    NULLS = auto()
    VALUES = auto()


class StreamGroup(Declared):
    """A group: the last change that touched it, its rows. Then its keys, and of each aggregate two words."""

    CHANGE = auto()
    SIZE = auto()
    NULLS = auto()
    KEYS = auto()


class AggregateState(Declared):
    """The two words of an aggregate."""

    COUNTED = auto()
    TOTAL = auto()


class ExtremeState(Declared):
    """Those of an extreme: rows."""

    FIRST = auto()
    LAST = auto()


class StreamResult(Declared):
    """A result: a column for each word. Behind them lie the values of the aggregates."""

    ROW = auto()  # that it stands for
    LEAVES = auto()  # whether that row leaves
    CAUSE = auto()  # the row whose event brought it; NONE: a timer did
    INSTANT = auto()
    NUMBER = auto()  # among the results of the change
    NULLS = auto()
    VALUES = auto()


class WindowStatus(Declared):
    """How the rows of a batch were taken."""

    DONE = auto()
    MORE_GROUPS = auto()
    MORE_FOUND = auto()


# -- groups ----------------------------------------------------------------------------------------


@inlined
def entry_of(head, groups, table, words, keys, nulls):
    """The entry of a group, or the free one where it belongs."""
    count, mask = head[WindowHead.KEYS], head[WindowHead.SIZE] - 1
    mixed = nulls
    for key in range(count):
        mixed = (mixed ^ words[keys + key]) * 0x9E3779B97F4A7C1
        mixed ^= mixed >> 32
    place = mixed & mask
    while table[place] != NONE:
        group = table[place] * head[WindowHead.GROUP_WIDTH]
        is_same = groups[group + StreamGroup.NULLS] == nulls
        for key in range(count):
            is_same &= groups[group + StreamGroup.KEYS + key] == words[keys + key]
        if is_same:
            break
        place = (place + 1) & mask
    return place


@inlined
def group_of(head, rows, groups, table, row):
    """The number of a row's group, which may be new."""
    count = head[WindowHead.KEYS]
    if count == 0:
        return 0
    nulls = rows[row + StreamRow.NULLS] & ((1 << count) - 1)
    place = entry_of(head, groups, table, rows, row + StreamRow.VALUES, nulls)
    if table[place] == NONE:
        number = table[place] = head[WindowHead.GROUPS]
        head[WindowHead.GROUPS] += 1
        group = number * head[WindowHead.GROUP_WIDTH]
        groups[group + StreamGroup.NULLS] = nulls
        for key in range(count):
            groups[group + StreamGroup.KEYS + key] = rows[row + StreamRow.VALUES + key]
    return table[place]


# -- aggregates ------------------------------------------------------------------------------------


@inlined
def add(head, rows, groups, row, sign):
    """A row enters its group (1) or leaves it (-1)."""
    group = rows[row + StreamRow.GROUP] * head[WindowHead.GROUP_WIDTH]
    groups[group + StreamGroup.SIZE] += sign
    state = group + StreamGroup.KEYS + head[WindowHead.KEYS]
    nulls = rows[row + StreamRow.NULLS]
    for number in range(head[WindowHead.AGGREGATES]):
        aggregate = WindowHead.HEAD_WIDTH + number * AggregateRow.WIDTH
        value, is_null = 0, 0
        slot = head[aggregate + AggregateRow.CODE]
        if slot != NONE:
            value, is_null = rows[row + StreamRow.VALUES + slot], (nulls >> slot) & 1
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
    counted = groups[state + AggregateState.COUNTED] + sign
    groups[state + AggregateState.COUNTED] = counted
    if kind == AggregateKind.COUNT:
        return
    if counted == 0:
        groups[state + AggregateState.TOTAL] = 0  # the word of both zeros
    elif kind in (AggregateKind.LEAST_EVER, AggregateKind.GREATEST_EVER):
        value = shown(head, aggregate, value)
        if counted == 1 or is_before(head, aggregate, value, groups[state + AggregateState.TOTAL]):
            groups[state + AggregateState.TOTAL] = value
    else:
        groups[state + AggregateState.TOTAL] = moved(
            head, aggregate, groups[state + AggregateState.TOTAL], value, sign
        )


@inlined
def value_of(head, rows, aggregate, row):
    return shown(
        head, aggregate, rows[row + StreamRow.VALUES + head[aggregate + AggregateRow.CODE]]
    )


@inlined
def enter_extreme(head, rows, groups, aggregate, state, row):
    """Rows that a later one makes useless go: they would leave before it."""
    before, width = head[aggregate + AggregateRow.OWNER], head[WindowHead.WIDTH]
    value = value_of(head, rows, aggregate, row)
    last = groups[state + ExtremeState.LAST]
    while last != NONE and not is_before(
        head, aggregate, value_of(head, rows, aggregate, last * width), value
    ):
        last = rows[last * width + before]
    place = row // width
    if last == NONE:
        groups[state + ExtremeState.FIRST] = place
    else:
        rows[last * width + before + 1] = place
    rows[row + before] = last
    rows[row + before + 1] = NONE
    groups[state + ExtremeState.LAST] = place


@inlined
def leave_extreme(head, rows, groups, aggregate, state, row):
    width = head[WindowHead.WIDTH]
    if groups[state + ExtremeState.FIRST] != row // width:
        return
    before = head[aggregate + AggregateRow.OWNER]
    after = rows[row + before + 1]
    groups[state + ExtremeState.FIRST] = after
    if after == NONE:
        groups[state + ExtremeState.LAST] = NONE
    else:
        rows[after * width + before] = NONE


@inlined
def result(head, rows, groups, aggregate, state):
    kind = head[aggregate + AggregateRow.KIND]
    if kind in (AggregateKind.LEAST, AggregateKind.GREATEST):
        first = groups[state + ExtremeState.FIRST]
        if first == NONE:
            return 0, 1
        return value_of(head, rows, aggregate, first * head[WindowHead.WIDTH]), 0
    counted, total = groups[state + AggregateState.COUNTED], groups[state + AggregateState.TOTAL]
    if kind == AggregateKind.COUNT:
        return counted, 0
    if counted == 0 or is_too_large(head, aggregate, total):
        return 0, 1
    return (word(real(total) / np.float64(counted)) if kind == AggregateKind.AVERAGE else total), 0


# -- changes ---------------------------------------------------------------------------------------


@inlined
def touch(head, rows, groups, found, row, leaves, begin):
    """A row of a change: if a result is to stand for it, that one is begun."""
    shape = head[WindowHead.SHAPE]
    if shape == RowShape.BY_GROUP:
        group = rows[row * head[WindowHead.WIDTH] + StreamRow.GROUP] * head[WindowHead.GROUP_WIDTH]
        speaks = groups[group + StreamGroup.CHANGE] != head[WindowHead.CHANGES]
        groups[group + StreamGroup.CHANGE] = head[WindowHead.CHANGES]
    elif shape == RowShape.BY_TOTAL:
        speaks = head[WindowHead.FOUND] == begin
    else:
        speaks = leaves == 0
    if speaks:
        most, place = head[WindowHead.MOST_FOUND], head[WindowHead.FOUND]
        found[StreamResult.ROW * most + place] = row
        found[StreamResult.LEAVES * most + place] = leaves
        head[WindowHead.FOUND] += 1


@inlined
def tell(head, rows, groups, found, begin, instant, cause):
    """Completes the results of a change."""
    most = head[WindowHead.MOST_FOUND]
    for place in range(begin, head[WindowHead.FOUND]):
        found[StreamResult.INSTANT * most + place] = instant
        found[StreamResult.CAUSE * most + place] = cause
        found[StreamResult.NUMBER * most + place] = place - begin + 1
        row = found[StreamResult.ROW * most + place] * head[WindowHead.WIDTH]
        state = (
            rows[row + StreamRow.GROUP] * head[WindowHead.GROUP_WIDTH]
            + StreamGroup.KEYS
            + head[WindowHead.KEYS]
        )
        nulls = 0
        for number in range(head[WindowHead.AGGREGATES]):
            aggregate = WindowHead.HEAD_WIDTH + number * AggregateRow.WIDTH
            value, is_null = result(head, rows, groups, aggregate, state)
            found[(StreamResult.VALUES + number) * most + place] = value
            nulls |= is_null << number
            state += 2
        found[StreamResult.NULLS * most + place] = nulls


@inlined
def has_room(head, count):
    """Whether there is room for the results of a change of so many rows."""
    head[WindowHead.WANTED] = 1 if head[WindowHead.SHAPE] == RowShape.BY_TOTAL else count
    return head[WindowHead.FOUND] + head[WindowHead.WANTED] <= head[WindowHead.MOST_FOUND]


@inlined
def change(head, rows, groups, found, new, new_end, old, old_end, instant, cause):
    """Some rows enter, then some leave."""
    begin = head[WindowHead.FOUND]
    head[WindowHead.CHANGES] += 1
    for row in range(new, new_end):
        touch(head, rows, groups, found, row, 0, begin)
        add(head, rows, groups, row * head[WindowHead.WIDTH], 1)
    for row in range(old, old_end):
        touch(head, rows, groups, found, row, 1, begin)
        add(head, rows, groups, row * head[WindowHead.WIDTH], -1)
    tell(head, rows, groups, found, begin, instant, cause)


# -- time ------------------------------------------------------------------------------------------


@inlined
def let_time_pass(head, rows, groups, found, instant):
    if head[WindowHead.KIND] == WindowKind.TIME:
        return let_rows_leave(head, rows, groups, found, instant)
    if head[WindowHead.KIND] == WindowKind.TIME_BATCH:
        return let_batches_end(head, rows, groups, found, instant)
    return WindowStatus.DONE


@inlined
def let_rows_leave(head, rows, groups, found, instant):
    """Rows of one instant leave together."""
    width, limit = head[WindowHead.WIDTH], head[WindowHead.LIMIT]
    while head[WindowHead.FIRST_ROW] < head[WindowHead.CURSOR]:
        first = head[WindowHead.FIRST_ROW]
        entered = rows[first * width + StreamRow.INSTANT]
        if entered + limit > instant:
            break
        end = first + 1
        while end < head[WindowHead.CURSOR] and rows[end * width + StreamRow.INSTANT] == entered:
            end += 1
        if not has_room(head, end - first):
            return WindowStatus.MORE_FOUND
        change(head, rows, groups, found, 0, 0, first, end, entered + limit, NONE)
        head[WindowHead.FIRST_ROW] = end
    return WindowStatus.DONE


@inlined
def let_batches_end(head, rows, groups, found, instant):
    """The rows of a batch enter together, and those of the one before leave."""
    while head[WindowHead.DUE] <= instant and head[WindowHead.DUE] != NEVER:
        due, first, gathered, end = (
            head[WindowHead.DUE],
            head[WindowHead.FIRST_ROW],
            head[WindowHead.GATHERED],
            head[WindowHead.CURSOR],
        )
        if not has_room(head, end - first):
            return WindowStatus.MORE_FOUND
        change(head, rows, groups, found, gathered, end, first, gathered, due, NONE)
        head[WindowHead.FIRST_ROW] = gathered
        head[WindowHead.GATHERED] = end
        head[WindowHead.DUE] = due + head[WindowHead.LIMIT] if end > gathered else NEVER
    return WindowStatus.DONE


# -- events ----------------------------------------------------------------------------------------


@inlined
def push(head, rows, groups, found, row):
    """The next row comes from the source."""
    kind = head[WindowHead.KIND]
    instant = rows[row * head[WindowHead.WIDTH] + StreamRow.INSTANT]
    if kind == WindowKind.TIME_BATCH:
        if head[WindowHead.DUE] == NEVER:
            if head[WindowHead.ANCHOR] == START:
                head[WindowHead.ANCHOR] = instant
            passed = (instant - head[WindowHead.ANCHOR]) // head[WindowHead.LIMIT]
            head[WindowHead.DUE] = head[WindowHead.ANCHOR] + (passed + 1) * head[WindowHead.LIMIT]
        return
    new, old, old_end = row, head[WindowHead.FIRST_ROW], head[WindowHead.FIRST_ROW]
    if kind == WindowKind.LENGTH_BATCH:
        if row + 1 - head[WindowHead.GATHERED] < head[WindowHead.LIMIT]:
            return
        new = old_end = head[WindowHead.FIRST_ROW] = head[WindowHead.GATHERED]
        head[WindowHead.GATHERED] = row + 1
    elif kind == WindowKind.LENGTH:
        if row + 1 - old > head[WindowHead.LIMIT]:
            old_end = head[WindowHead.FIRST_ROW] = old + 1
    elif kind != WindowKind.TIME:
        head[WindowHead.FIRST_ROW] = row + 1  # rows never leave, and nobody asks for them
    change(head, rows, groups, found, new, row + 1, old, old_end, instant, row)


@entry(types.void(WORDS, WORDS, COLUMN, COLUMN, COLUMN, COLUMNS, COLUMN))
def add_rows(head_, rows_, places, instants, sequences, values, nulls):
    """Puts the events at some places of a batch behind the rows, in one go through their memory.

    `values` has a row for each attribute; `nulls` bits for them, or no words where there are none.
    """
    head, rows = words_of(head_), words_of(rows_)
    width, attributes = head[WindowHead.WIDTH], len(values)
    row = head[WindowHead.END] * width
    for number in range(len(places)):
        place = places[number]
        rows[row + StreamRow.INSTANT] = instants[place]
        rows[row + StreamRow.SEQUENCE] = sequences[place]
        rows[row + StreamRow.NULLS] = nulls[place] if len(nulls) else 0
        for slot in range(attributes):
            rows[row + StreamRow.VALUES + slot] = values[slot, place]
        for link in range(StreamRow.VALUES + attributes, width):
            rows[row + link] = NONE
        row += width
    head[WindowHead.END] += len(places)


@entry("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64)")
def follow(head_, rows_, groups_, table_, found_, until):
    """Takes the rows from the cursor on; then time passes."""
    head, rows, groups = words_of(head_), words_of(rows_), words_of(groups_)
    table, found = words_of(table_), words_of(found_)
    for row in range(head[WindowHead.CURSOR], head[WindowHead.END]):
        place = row * head[WindowHead.WIDTH]
        if (
            let_time_pass(head, rows, groups, found, rows[place + StreamRow.INSTANT])
            != WindowStatus.DONE
        ):
            return WindowStatus.MORE_FOUND
        if not has_room(
            head,
            row + 1 - head[WindowHead.FIRST_ROW]
            if head[WindowHead.KIND] == WindowKind.LENGTH_BATCH
            else 2,
        ):
            return WindowStatus.MORE_FOUND
        if head[WindowHead.GROUPS] == head[WindowHead.MOST_GROUPS]:
            return WindowStatus.MORE_GROUPS
        rows[place + StreamRow.GROUP] = group_of(head, rows, groups, table, place)
        push(head, rows, groups, found, row)
        head[WindowHead.CURSOR] = row + 1
    return let_time_pass(head, rows, groups, found, until)


@entry("void(int64[::1], int64[::1], int64[::1])")
def rehash(head_, groups_, table_):
    """Enters all groups into an empty hash table, whose size is already known."""
    head, groups, table = words_of(head_), words_of(groups_), words_of(table_)
    if head[WindowHead.KEYS] > 0:
        for number in range(head[WindowHead.GROUPS]):
            group = number * head[WindowHead.GROUP_WIDTH]
            nulls = groups[group + StreamGroup.NULLS]
            place = entry_of(head, groups, table, groups, group + StreamGroup.KEYS, nulls)
            table[place] = number


@entry("void(int64[::1], int64[::1], int64[::1], int64, int64, int64[::1], int32[::1])")
def write_keys(head_, found_, rows_, rank, start, words_, ends):
    """The keys of results, one behind the other, and where each ends."""
    head, found = words_of(head_), words_of(found_)
    rows, words = words_of(rows_), words_of(words_)
    most, end = head[WindowHead.MOST_FOUND], 0
    for place in range(len(ends) - 1):
        cause = found[StreamResult.CAUSE * most + place]
        words[end] = found[StreamResult.INSTANT * most + place]
        words[end + 1] = words[end + 2] = 0
        if cause != NONE:
            words[end + 1] = 1
            words[end + 2] = rows[cause * head[WindowHead.WIDTH] + StreamRow.SEQUENCE]
        words[end + 3] = 1
        words[end + 4] = rank
        end += 5
        if cause == NONE:
            row = found[StreamResult.ROW * most + place] * head[WindowHead.WIDTH]
            words[end] = TimerStage.WINDOW
            words[end + 1] = start
            words[end + 2] = -1
            words[end + 3] = 0
            words[end + 4] = 0
            words[end + 5] = rank
            words[end + 6] = 0  # a row that is new
            words[end + 7] = found[StreamResult.LEAVES * most + place]
            words[end + 8] = rows[row + StreamRow.INSTANT]
            words[end + 9] = 1
            words[end + 10] = rows[row + StreamRow.SEQUENCE]
            words[end + 11] = 0
            end += 12
        words[end] = found[StreamResult.NUMBER * most + place]
        end += 1
        ends[place + 1] = end
