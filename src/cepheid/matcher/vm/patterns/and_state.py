"""What the sides of an `and` have been true with, and what these make together."""

from __future__ import annotations

from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import give_back, live_at, node_at, take_row
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, Region, at
from cepheid.matcher.vm.memory.linked_lists import append
from cepheid.matcher.vm.memory.tables import AndLive, LiveRow, NodeRow, TruthRow
from cepheid.matcher.vm.patterns.bindings import copy_binding, merge


@part
def count_truths(memory, row, place):
    count = 0
    truth = memory[live_at(memory, row) + AndLive.FIRST_TRUTH]
    while truth != NONE:
        cell = at(memory, Region.TRUTH, truth)
        count += memory[cell + TruthRow.PLACE] == place
        truth = memory[cell + TruthRow.NEXT]
    return count


@part
def count_combinations(memory, row, besides):
    sides = memory[node_at(memory, memory[live_at(memory, row) + LiveRow.NODE]) + NodeRow.CHILDREN]
    product = 1
    for place in range(sides):
        if place != besides:
            product *= count_truths(memory, row, place)
    return product


@part
def add_truth(memory, row, place, binding):
    live = live_at(memory, row)
    truth = take_row(memory, Region.TRUTH)
    cell = at(memory, Region.TRUTH, truth)
    memory[cell + TruthRow.BINDING] = binding
    memory[cell + TruthRow.PLACE] = place
    first, last = live + AndLive.FIRST_TRUTH, live + AndLive.LAST_TRUTH
    begin = memory[TABLE + 4 * Region.TRUTH + BEGIN]
    append(memory, begin, TruthRow.WIDTH, TruthRow.NEXT, first, last, truth)


@part
def forget_truths_of(memory, row, place):
    live = live_at(memory, row)
    truth, before = memory[live + AndLive.FIRST_TRUTH], NONE
    while truth != NONE:
        cell = at(memory, Region.TRUTH, truth)
        after = memory[cell + TruthRow.NEXT]
        if memory[cell + TruthRow.PLACE] == place:
            if before == NONE:
                memory[live + AndLive.FIRST_TRUTH] = after
            else:
                memory[at(memory, Region.TRUTH, before) + TruthRow.NEXT] = after
            if after == NONE:
                memory[live + AndLive.LAST_TRUTH] = before
            give_back(memory, Region.TRUTH, truth)
        else:
            before = truth
        truth = after


@part
def forget_truths(memory, row):
    live = live_at(memory, row)
    truth = memory[live + AndLive.FIRST_TRUTH]
    while truth != NONE:
        after = memory[at(memory, Region.TRUTH, truth) + TruthRow.NEXT]
        give_back(memory, Region.TRUTH, truth)
        truth = after
    memory[live + AndLive.FIRST_TRUTH] = NONE
    memory[live + AndLive.LAST_TRUTH] = NONE


@part
def combination(memory, row, place, binding, number, total):
    """Counts like digits: the last side changes fastest."""
    live = live_at(memory, row)
    sides = memory[node_at(memory, memory[live + LiveRow.NODE]) + NodeRow.CHILDREN]
    merged = copy_binding(memory, NONE)
    rest = total
    for side in range(sides):
        if side == place:
            merge(memory, merged, binding)
            continue
        rest //= count_truths(memory, row, side)
        merge(memory, merged, truth_number(memory, row, side, number // rest))
        number %= rest
    return merged


@part
def truth_number(memory, row, place, number):
    truth = memory[live_at(memory, row) + AndLive.FIRST_TRUTH]
    while True:
        cell = at(memory, Region.TRUTH, truth)
        if memory[cell + TruthRow.PLACE] == place:
            if number == 0:
                return memory[cell + TruthRow.BINDING]
            number -= 1
        truth = memory[cell + TruthRow.NEXT]
