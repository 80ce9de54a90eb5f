"""Sort keys of rows, made of pieces: each row extends the key of what it was derived from.

As numbers they have the form that the reference semantics defines (`cepheid.semantics.machine`), so
that rows of both can be put in order together.
"""

from __future__ import annotations

from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import EVENT, take_collected
from cepheid.matcher.vm.memory.layout import NONE, EventRow, Head, Region, at
from cepheid.matcher.vm.memory.tables import (
    KEY_WORDS,
    KeyOrigin,
    KeyRow,
    RunningRow,
    StatementRow,
    TimerStage,
)

CLOCK = int(Head.CLOCK)
INSTANT, SEQUENCE, EVENT_KEY = int(EventRow.INSTANT), int(EventRow.SEQUENCE), int(EventRow.KEY)


@part
def extend_key(memory, statement, stream, place):
    """The key of the next row of a statement.

    Where the row takes the place of an item, `stream` is 2 * old + leaving and `place` the key of
    what brought the item; else `stream` is NONE.
    """
    base = base_key(memory, statement)
    row, key = new_key(memory)
    memory[key + KeyRow.BEFORE] = base
    memory[key + KeyRow.RANK] = rank_of(memory, statement)
    memory[key + KeyRow.STREAM] = stream
    memory[key + KeyRow.PLACE] = place
    memory[Head.EMITTED] += 1
    memory[key + KeyRow.NUMBER] = memory[Head.EMITTED]
    memory[key + KeyRow.DEPTH] = memory[at(memory, Region.KEY, base) + KeyRow.DEPTH] + 1
    return row


@part
def base_key(memory, statement):
    """The key of what happens now: an event is taken, or a timer of the statement fires."""
    if memory[Head.BASE_KEY] == NONE:
        if memory[Head.TIMER] != NONE:
            memory[Head.BASE_KEY] = key_of_timer(memory, statement)
        elif memory[Head.ORIGIN_EVENT] != NONE:
            memory[Head.BASE_KEY] = key_of(memory, memory[Head.ORIGIN_EVENT])
        else:
            memory[Head.BASE_KEY] = key_of_start(memory)
    return memory[Head.BASE_KEY]


@part
def origin_key(memory, statement):
    """The key of what starts a statement; NONE: the program does, whenever that is."""
    if memory[Head.TIMER] == NONE and memory[Head.ORIGIN_EVENT] == NONE:
        return NONE
    return base_key(memory, statement)


@part
def rank_of(memory, statement):
    """Its place among the statements of the whole program, of which these may be a part."""
    return memory[at(memory, Region.STATEMENT, statement) + StatementRow.RANK]


@part
def new_key(memory):
    """A piece of a key: its row and its place."""
    row = take_collected(memory, Region.KEY)
    key = at(memory, Region.KEY, row)
    for i in range(KeyRow.WIDTH):
        memory[key + i] = 0
    memory[key + KeyRow.BEFORE] = NONE
    memory[key + KeyRow.ORIGIN] = NONE
    memory[key + KeyRow.STREAM] = NONE
    memory[key + KeyRow.PLACE] = NONE
    return row, key


@part
def key_of(memory, event):
    """The key of an event; that of an input event is made when it is asked for."""
    place = at(memory, EVENT, event)
    if memory[place + EVENT_KEY] == NONE:
        row, key = new_key(memory)
        memory[key + KeyRow.INSTANT] = memory[place + INSTANT]
        memory[key + KeyRow.SEQUENCE] = memory[place + SEQUENCE]
        memory[place + EVENT_KEY] = row
    return memory[place + EVENT_KEY]


@part
def key_of_start(memory):
    """What comes at once when the program starts is before all timers and events."""
    row, key = new_key(memory)
    memory[key + KeyRow.INSTANT] = memory[Head.START_INSTANT]
    memory[key + KeyRow.TIMER] = KeyOrigin.AT_START
    return row


@part
def key_of_timer(memory, statement):
    """A timer of a pattern is placed by what armed it, others belong to the whole statement."""
    stage, origin = memory[Head.STAGE], memory[Head.ORIGIN_EVENT]
    row, key = new_key(memory)
    memory[key + KeyRow.TIMER] = KeyOrigin.BY_TIMER
    memory[key + KeyRow.STAGE] = stage
    memory[key + KeyRow.INSTANT] = memory[CLOCK]
    memory[key + KeyRow.RANK] = rank_of(memory, statement)
    memory[key + KeyRow.COUNT] = memory[Head.TIMER]
    if stage != TimerStage.PATTERN:
        memory[key + KeyRow.ORIGIN] = memory[
            at(memory, Region.RUNNING, memory[Head.FIRING]) + RunningRow.ORIGIN
        ]
    elif origin != NONE:
        memory[key + KeyRow.ORIGIN] = key_of(memory, origin)
    return row


@part
def key_from_outside(memory, words, begin, end):
    """The key of an event that something else derived, from its numbers."""
    first, key = new_key(memory)
    memory[key + KeyRow.TIMER] = KeyOrigin.BY_KEY
    memory[key + KeyRow.COUNT] = end - begin
    memory[key + KeyRow.DEPTH] = words[begin + 3]
    place = begin
    while True:
        count = min(end - place, KeyRow.WIDTH - KEY_WORDS)
        for i in range(count):
            memory[key + KEY_WORDS + i] = words[place + i]
        place += count
        if place == end:
            return first
        row, key_of_rest = new_key(memory)
        memory[key + KeyRow.ORIGIN] = row
        key = key_of_rest


# -- as numbers ------------------------------------------------------------------------------------


@part
def key_length(memory, row):
    if row == NONE:  # the start
        return 4
    length = 0
    key = at(memory, Region.KEY, row)
    while memory[key + KeyRow.BEFORE] != NONE:
        length += 2
        if memory[key + KeyRow.STREAM] != NONE:
            length += 2 + key_length(memory, memory[key + KeyRow.PLACE])
        key = at(memory, Region.KEY, memory[key + KeyRow.BEFORE])
    if memory[key + KeyRow.TIMER] == KeyOrigin.BY_KEY:
        return length + memory[key + KeyRow.COUNT]
    if memory[key + KeyRow.TIMER] != KeyOrigin.BY_TIMER:
        return length + 4
    number = 1 if memory[key + KeyRow.STAGE] == TimerStage.PATTERN else 0
    return length + 6 + number + key_length(memory, memory[key + KeyRow.ORIGIN])


@part
def write_key(memory, row, words, place):
    """Writes a key; gives the place behind it."""
    if row == NONE:
        words[place] = memory[Head.START_INSTANT]
        words[place + 1] = -1
        words[place + 2] = words[place + 3] = 0
        return place + 4
    end = place + key_length(memory, row)
    key = at(memory, Region.KEY, row)
    depth, behind = memory[key + KeyRow.DEPTH], end
    while memory[key + KeyRow.BEFORE] != NONE:
        words[behind - 1] = memory[key + KeyRow.NUMBER]
        behind -= 2
        if memory[key + KeyRow.STREAM] != NONE:
            behind -= 2 + key_length(memory, memory[key + KeyRow.PLACE])
            words[behind + 1] = memory[key + KeyRow.STREAM] // 2
            words[behind + 2] = memory[key + KeyRow.STREAM] % 2
            write_key(memory, memory[key + KeyRow.PLACE], words, behind + 3)
        words[behind] = memory[key + KeyRow.RANK]
        key = at(memory, Region.KEY, memory[key + KeyRow.BEFORE])
    if memory[key + KeyRow.TIMER] == KeyOrigin.BY_KEY:
        write_words(memory, key, words, place)
        words[place + 3] = depth
        return end
    words[place] = memory[key + KeyRow.INSTANT]
    if memory[key + KeyRow.TIMER] != KeyOrigin.BY_TIMER:
        words[place + 1] = -1 if memory[key + KeyRow.TIMER] == KeyOrigin.AT_START else 1
        words[place + 2] = memory[key + KeyRow.SEQUENCE]
        words[place + 3] = depth
        return end
    words[place + 1] = words[place + 2] = 0
    words[place + 3] = depth
    words[place + 4] = memory[key + KeyRow.RANK]
    words[place + 5] = memory[key + KeyRow.STAGE]
    place = write_key(memory, memory[key + KeyRow.ORIGIN], words, place + 6)
    if memory[key + KeyRow.STAGE] == TimerStage.PATTERN:
        words[place] = memory[key + KeyRow.COUNT]
    return end


@part
def write_words(memory, key, words, place):
    """Writes what came from outside."""
    end = place + memory[key + KeyRow.COUNT]
    while True:
        count = min(end - place, KeyRow.WIDTH - KEY_WORDS)
        for i in range(count):
            words[place + i] = memory[key + KEY_WORDS + i]
        place += count
        if place == end:
            return
        key = at(memory, Region.KEY, memory[key + KeyRow.ORIGIN])
