"""What instances have bound: the event of each tag, or the list of those that a repeat collected."""

from __future__ import annotations

from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import BINDING, LINK, live_at, node_at, take_collected
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, WIDTH, Region, at
from cepheid.matcher.vm.memory.tables import LiveRow, NodeRow, RepeatLive


@part
def copy_binding(memory, binding):
    """A copy; NONE is the empty one."""
    row = take_collected(memory, BINDING)
    begin = memory[TABLE + 4 * BINDING + BEGIN]
    width = memory[TABLE + 4 * BINDING + WIDTH]
    place = begin + row * width
    if binding == NONE:
        for i in range(width - 1):
            memory[place + i] = NONE
    else:
        source = begin + binding * width
        for i in range(width - 1):
            memory[place + i] = memory[source + i]
    memory[place + width - 1] = 0
    return row


@part
def is_empty(memory, binding):
    if binding == NONE:
        return True
    place, bound = at(memory, BINDING, binding), 0
    for i in range(memory[TABLE + 4 * BINDING + WIDTH] - 1):
        bound += memory[place + i] != NONE
    return bound == 0


@part
def bind(memory, binding, tag, event):
    if tag == NONE:
        return binding
    row = copy_binding(memory, binding)
    memory[at(memory, BINDING, row) + tag] = event
    return row


@part
def merge(memory, into, other):
    """What another binding has, over what is there."""
    if other == NONE:
        return
    place, source = at(memory, BINDING, into), at(memory, BINDING, other)
    for i in range(memory[TABLE + 4 * BINDING + WIDTH] - 1):
        if memory[source + i] != NONE:
            memory[place + i] = memory[source + i]


# -- lists of collected events -----------------------------------------------------------------------


@part
def collect_events(memory, row, binding):
    live = live_at(memory, row)
    node = node_at(memory, memory[live + LiveRow.NODE])
    if binding == NONE or memory[node + NodeRow.TAG_COUNT] == 0:
        return
    collected = copy_binding(memory, memory[live + RepeatLive.COLLECTED])
    source, place = at(memory, BINDING, binding), at(memory, BINDING, collected)
    tags = memory[TABLE + 4 * Region.LIST + BEGIN] + memory[node + NodeRow.TAGS]
    for i in range(memory[node + NodeRow.TAG_COUNT]):
        tag = memory[tags + 2 * i]
        is_list = memory[tags + 2 * i + 1]
        bound = memory[source + tag]
        if bound == NONE:
            continue
        if is_list == 1:
            memory[place + tag] = extend(memory, memory[place + tag], bound)
        else:
            memory[place + tag] = link(memory, memory[place + tag], bound)
    memory[live + RepeatLive.COLLECTED] = collected


@part
def link(memory, before, event):
    row = take_collected(memory, LINK)
    cell = at(memory, LINK, row)
    memory[cell] = event
    memory[cell + 1] = before
    memory[cell + 2] = 1 if before == NONE else memory[at(memory, LINK, before) + 2] + 1
    memory[cell + 3] = 0
    return row


@part
def extend(memory, before, other):
    """A list with the events of another list behind it."""
    if before == NONE:
        return other
    count = memory[at(memory, LINK, other) + 2]
    for i in range(count):
        before = link(memory, before, event_number(memory, other, i))
    return before


@part
def event_number(memory, last, index):
    """An event of a list, counted from the oldest."""
    cell = at(memory, LINK, last)
    for _ in range(memory[cell + 2] - 1 - index):
        cell = at(memory, LINK, memory[cell + 1])
    return memory[cell]
