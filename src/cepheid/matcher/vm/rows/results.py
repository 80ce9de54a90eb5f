"""Rows of the result: filled, reported, and queued for the statements that take them."""

from __future__ import annotations

from cepheid.matcher.vm.expressions.evaluate import value_of
from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import EVENT
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, USED, Field, Head, at
from cepheid.matcher.vm.memory.tables import (
    CAUSE,
    CAUSES,
    DONE,
    ENDLESS,
    KEYED,
    LIST,
    MATCH,
    OLD,
    QUEUE,
    ROW,
    RUNAWAY,
    S_COLUMN_COUNT,
    S_COLUMNS,
    S_CONSUMED,
    S_INSERTED,
    S_REPORTED,
    S_TARGET,
    SLOTS,
    STATEMENT,
    W_EVENT,
    W_KEY,
    W_KIND,
    W_STATEMENT,
)
from cepheid.matcher.vm.rows.sort_keys import extend_key

CLOCK = int(Head.CLOCK)
EVENT_TYPE, INSTANT, SEQUENCE = int(Field.TYPE), int(Field.INSTANT), int(Field.SEQUENCE)
EVENT_KEY, MARK, NULLS = int(Field.KEY), int(Field.MARK), int(Field.NULLS)
MOST_DERIVED = 100_000
NEW, REMOVED = 1, 2  # streams, as bits


@part
def fill(memory, row, plan, event, binding, aggregates):
    """The attributes of a derived event; False: a question."""
    derived = at(memory, EVENT, row)
    slots = memory[SLOTS]
    memory[derived + EVENT_TYPE] = memory[plan + S_TARGET]
    memory[derived + INSTANT] = memory[CLOCK]
    memory[derived + SEQUENCE] = 0
    memory[derived + EVENT_KEY] = NONE
    memory[derived + MARK] = 0
    for i in range(NULLS, slots):
        memory[derived + i] = 0
    columns = memory[TABLE + 4 * LIST + BEGIN] + memory[plan + S_COLUMNS]
    for i in range(memory[plan + S_COLUMN_COUNT]):
        code, slot = memory[columns + 2 * i], memory[columns + 2 * i + 1]
        status, value, is_null = value_of(memory, code, event, binding, aggregates)
        if status != 0:
            return False
        memory[derived + slots + slot] = value
        if is_null != 0:
            memory[derived + NULLS + slot // 64] |= 1 << (slot % 64)
    return True


@part
def emit(memory, statement, event, stream, place_stream, place):
    """Reports and inserts a row, as the statement says of its stream.

    `place_stream` and `place` say which item it stands for, if that decides its place.
    """
    plan = at(memory, STATEMENT, statement)
    if memory[KEYED] == 1:
        key = extend_key(memory, statement, place_stream, place)
        memory[at(memory, EVENT, event) + EVENT_KEY] = key
    if memory[plan + S_REPORTED] & stream:
        entry = TABLE + 4 * ROW + USED
        row = at(memory, ROW, memory[entry])
        memory[entry] += 1
        memory[row + W_EVENT] = event
        memory[row + W_STATEMENT] = statement
        # Where only removed rows are reported, they are what was asked for.
        is_old = stream == REMOVED and memory[plan + S_REPORTED] == NEW | REMOVED
        memory[row + W_KIND] = OLD if is_old else MATCH
        memory[row + W_KEY] = memory[at(memory, EVENT, event) + EVENT_KEY]
    if (memory[plan + S_INSERTED] & stream) and memory[plan + S_CONSUMED] == 1:
        return insert(memory, statement, event)
    return DONE


@part
def insert(memory, statement, event):
    cause = at(memory, CAUSES, memory[CAUSE])
    memory[cause] += 1
    if memory[cause] > MOST_DERIVED:
        memory[RUNAWAY] = statement
        return ENDLESS
    entry = TABLE + 4 * QUEUE + USED
    queued = at(memory, QUEUE, memory[entry])
    memory[entry] += 1
    memory[queued] = event
    memory[queued + 1] = memory[CAUSE]
    return DONE
