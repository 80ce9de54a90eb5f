"""Sort keys of rows, made of pieces: each row extends the key of what it was derived from.

As numbers they have the form that the reference semantics defines (`cepheid.semantics.machine`), so
that rows of both can be put in order together.
"""

from __future__ import annotations

from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import EVENT, take_collected
from cepheid.matcher.vm.memory.layout import NONE, Field, Head, at
from cepheid.matcher.vm.memory.tables import (
    AT_START,
    BASE_KEY,
    BY_KEY,
    BY_TIMER,
    EMITTED,
    FIRING,
    K_BEFORE,
    K_COUNT,
    K_DEPTH,
    K_INSTANT,
    K_NUMBER,
    K_ORIGIN,
    K_PLACE,
    K_RANK,
    K_SEQUENCE,
    K_STAGE,
    K_STREAM,
    K_TIMER,
    K_WIDTH,
    K_WORDS,
    KEY,
    ORIGIN_EVENT,
    PATTERN_STAGE,
    R_ORIGIN,
    RUNNING,
    S_RANK,
    STAGE,
    START_INSTANT,
    STATEMENT,
    TIMER,
)

CLOCK = int(Head.CLOCK)
INSTANT, SEQUENCE, EVENT_KEY = int(Field.INSTANT), int(Field.SEQUENCE), int(Field.KEY)


@part
def extend_key(memory, statement, stream, place):
    """The key of the next row of a statement.

    Where the row takes the place of an item, `stream` is 2 * old + leaving and `place` the key of
    what brought the item; else `stream` is NONE.
    """
    base = base_key(memory, statement)
    row, key = new_key(memory)
    memory[key + K_BEFORE] = base
    memory[key + K_RANK] = rank_of(memory, statement)
    memory[key + K_STREAM] = stream
    memory[key + K_PLACE] = place
    memory[EMITTED] += 1
    memory[key + K_NUMBER] = memory[EMITTED]
    memory[key + K_DEPTH] = memory[at(memory, KEY, base) + K_DEPTH] + 1
    return row


@part
def base_key(memory, statement):
    """The key of what happens now: an event is taken, or a timer of the statement fires."""
    if memory[BASE_KEY] == NONE:
        if memory[TIMER] != NONE:
            memory[BASE_KEY] = key_of_timer(memory, statement)
        elif memory[ORIGIN_EVENT] != NONE:
            memory[BASE_KEY] = key_of(memory, memory[ORIGIN_EVENT])
        else:
            memory[BASE_KEY] = key_of_start(memory)
    return memory[BASE_KEY]


@part
def origin_key(memory, statement):
    """The key of what starts a statement; NONE: the program does, whenever that is."""
    if memory[TIMER] == NONE and memory[ORIGIN_EVENT] == NONE:
        return NONE
    return base_key(memory, statement)


@part
def rank_of(memory, statement):
    """Its place among the statements of the whole program, of which these may be a part."""
    return memory[at(memory, STATEMENT, statement) + S_RANK]


@part
def new_key(memory):
    """A piece of a key: its row and its place."""
    row = take_collected(memory, KEY)
    key = at(memory, KEY, row)
    for i in range(K_WIDTH):
        memory[key + i] = 0
    memory[key + K_BEFORE] = NONE
    memory[key + K_ORIGIN] = NONE
    memory[key + K_STREAM] = NONE
    memory[key + K_PLACE] = NONE
    return row, key


@part
def key_of(memory, event):
    """The key of an event; that of an input event is made when it is asked for."""
    place = at(memory, EVENT, event)
    if memory[place + EVENT_KEY] == NONE:
        row, key = new_key(memory)
        memory[key + K_INSTANT] = memory[place + INSTANT]
        memory[key + K_SEQUENCE] = memory[place + SEQUENCE]
        memory[place + EVENT_KEY] = row
    return memory[place + EVENT_KEY]


@part
def key_of_start(memory):
    """What comes at once when the program starts is before all timers and events."""
    row, key = new_key(memory)
    memory[key + K_INSTANT] = memory[START_INSTANT]
    memory[key + K_TIMER] = AT_START
    return row


@part
def key_of_timer(memory, statement):
    """A timer of a pattern is placed by what armed it, others belong to the whole statement."""
    stage, origin = memory[STAGE], memory[ORIGIN_EVENT]
    row, key = new_key(memory)
    memory[key + K_TIMER] = BY_TIMER
    memory[key + K_STAGE] = stage
    memory[key + K_INSTANT] = memory[CLOCK]
    memory[key + K_RANK] = rank_of(memory, statement)
    memory[key + K_COUNT] = memory[TIMER]
    if stage != PATTERN_STAGE:
        memory[key + K_ORIGIN] = memory[at(memory, RUNNING, memory[FIRING]) + R_ORIGIN]
    elif origin != NONE:
        memory[key + K_ORIGIN] = key_of(memory, origin)
    return row


@part
def key_from_outside(memory, words, begin, end):
    """The key of an event that something else derived, from its numbers."""
    first, key = new_key(memory)
    memory[key + K_TIMER] = BY_KEY
    memory[key + K_COUNT] = end - begin
    memory[key + K_DEPTH] = words[begin + 3]
    place = begin
    while True:
        count = min(end - place, K_WIDTH - K_WORDS)
        for i in range(count):
            memory[key + K_WORDS + i] = words[place + i]
        place += count
        if place == end:
            return first
        row, key_of_rest = new_key(memory)
        memory[key + K_ORIGIN] = row
        key = key_of_rest


# -- as numbers ------------------------------------------------------------------------------------


@part
def key_length(memory, row):
    if row == NONE:  # the start
        return 4
    length = 0
    key = at(memory, KEY, row)
    while memory[key + K_BEFORE] != NONE:
        length += 2
        if memory[key + K_STREAM] != NONE:
            length += 2 + key_length(memory, memory[key + K_PLACE])
        key = at(memory, KEY, memory[key + K_BEFORE])
    if memory[key + K_TIMER] == BY_KEY:
        return length + memory[key + K_COUNT]
    if memory[key + K_TIMER] != BY_TIMER:
        return length + 4
    number = 1 if memory[key + K_STAGE] == PATTERN_STAGE else 0
    return length + 6 + number + key_length(memory, memory[key + K_ORIGIN])


@part
def write_key(memory, row, words, place):
    """Writes a key; gives the place behind it."""
    if row == NONE:
        words[place] = memory[START_INSTANT]
        words[place + 1] = -1
        words[place + 2] = words[place + 3] = 0
        return place + 4
    end = place + key_length(memory, row)
    key = at(memory, KEY, row)
    depth, behind = memory[key + K_DEPTH], end
    while memory[key + K_BEFORE] != NONE:
        words[behind - 1] = memory[key + K_NUMBER]
        behind -= 2
        if memory[key + K_STREAM] != NONE:
            behind -= 2 + key_length(memory, memory[key + K_PLACE])
            words[behind + 1] = memory[key + K_STREAM] // 2
            words[behind + 2] = memory[key + K_STREAM] % 2
            write_key(memory, memory[key + K_PLACE], words, behind + 3)
        words[behind] = memory[key + K_RANK]
        key = at(memory, KEY, memory[key + K_BEFORE])
    if memory[key + K_TIMER] == BY_KEY:
        write_words(memory, key, words, place)
        words[place + 3] = depth
        return end
    words[place] = memory[key + K_INSTANT]
    if memory[key + K_TIMER] != BY_TIMER:
        words[place + 1] = -1 if memory[key + K_TIMER] == AT_START else 1
        words[place + 2] = memory[key + K_SEQUENCE]
        words[place + 3] = depth
        return end
    words[place + 1] = words[place + 2] = 0
    words[place + 3] = depth
    words[place + 4] = memory[key + K_RANK]
    words[place + 5] = memory[key + K_STAGE]
    place = write_key(memory, memory[key + K_ORIGIN], words, place + 6)
    if memory[key + K_STAGE] == PATTERN_STAGE:
        words[place] = memory[key + K_COUNT]
    return end


@part
def write_words(memory, key, words, place):
    """Writes what came from outside."""
    end = place + memory[key + K_COUNT]
    while True:
        count = min(end - place, K_WIDTH - K_WORDS)
        for i in range(count):
            words[place + i] = memory[key + K_WORDS + i]
        place += count
        if place == end:
            return
        key = at(memory, KEY, memory[key + K_ORIGIN])
