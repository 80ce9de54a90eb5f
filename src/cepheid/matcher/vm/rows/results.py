"""Rows of the result: filled, reported, and queued for the statements that take them."""

from __future__ import annotations

from cepheid.matcher.vm.expressions.evaluate import value_of
from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import EVENT
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, USED, EventRow, Head, Region, at
from cepheid.matcher.vm.memory.tables import ResultKind, ResultRow, StatementRow, Status
from cepheid.matcher.vm.rows.sort_keys import extend_key
from cepheid.semantics.limits import RUNAWAY

CLOCK = int(Head.CLOCK)
EVENT_TYPE, INSTANT, SEQUENCE = int(EventRow.TYPE), int(EventRow.INSTANT), int(EventRow.SEQUENCE)
EVENT_KEY, MARK, NULLS = int(EventRow.KEY), int(EventRow.MARK), int(EventRow.NULLS)
MOST_DERIVED = RUNAWAY
NEW, REMOVED = 1, 2  # streams, as bits


@part
def fill(memory, row, plan, event, binding, aggregates):
    """The attributes of a derived event; False: a question."""
    derived = at(memory, EVENT, row)
    slots = memory[Head.SLOTS]
    memory[derived + EVENT_TYPE] = memory[plan + StatementRow.TARGET]
    memory[derived + INSTANT] = memory[CLOCK]
    memory[derived + SEQUENCE] = 0
    memory[derived + EVENT_KEY] = NONE
    memory[derived + MARK] = 0
    for i in range(NULLS, slots):
        memory[derived + i] = -1  # what its type does not have is null
    columns = memory[TABLE + 4 * Region.LIST + BEGIN] + memory[plan + StatementRow.COLUMNS]
    for i in range(memory[plan + StatementRow.COLUMN_COUNT]):
        code, slot = memory[columns + 2 * i], memory[columns + 2 * i + 1]
        status, value, is_null = value_of(memory, code, event, binding, aggregates)
        if status != 0:
            return False
        memory[derived + slots + slot] = value
        if is_null == 0:
            memory[derived + NULLS + slot // 64] &= ~(1 << (slot % 64))
    return True


@part
def emit(memory, statement, event, stream, place_stream, place):
    """Reports and inserts a row, as the statement says of its stream.

    `place_stream` and `place` say which item it stands for, if that decides its place.
    """
    plan = at(memory, Region.STATEMENT, statement)
    if memory[Head.KEYED] == 1:
        key = extend_key(memory, statement, place_stream, place)
        memory[at(memory, EVENT, event) + EVENT_KEY] = key
    if memory[plan + StatementRow.REPORTED] & stream:
        entry = TABLE + 4 * Region.ROW + USED
        row = at(memory, Region.ROW, memory[entry])
        memory[entry] += 1
        memory[Head.REPORTED] += 1
        memory[Head.SPEAKER] = statement
        memory[row + ResultRow.EVENT] = event
        memory[row + ResultRow.STATEMENT] = statement
        # Where only removed rows are reported, they are what was asked for.
        is_old = stream == REMOVED and memory[plan + StatementRow.REPORTED] == NEW | REMOVED
        memory[row + ResultRow.KIND] = ResultKind.OLD if is_old else ResultKind.MATCH
        memory[row + ResultRow.KEY] = memory[at(memory, EVENT, event) + EVENT_KEY]
    if (memory[plan + StatementRow.INSERTED] & stream) and memory[
        plan + StatementRow.CONSUMED
    ] == 1:
        return insert(memory, statement, event)
    return Status.DONE


@part
def insert(memory, statement, event):
    cause = at(memory, Region.CAUSES, memory[Head.CAUSE])
    memory[cause] += 1
    if memory[cause] > MOST_DERIVED:
        memory[Head.RUNAWAY] = statement
        return Status.ENDLESS
    entry = TABLE + 4 * Region.QUEUE + USED
    queued = at(memory, Region.QUEUE, memory[entry])
    memory[entry] += 1
    memory[queued] = event
    memory[queued + 1] = memory[Head.CAUSE]
    return Status.DONE
