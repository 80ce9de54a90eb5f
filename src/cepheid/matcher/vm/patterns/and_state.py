"""What the sides of an `and` have been true with, and what these make together."""

from __future__ import annotations

from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.free_lists import give_back, live_at, node_at, take_row
from cepheid.matcher.vm.memory.layout import NONE, at
from cepheid.matcher.vm.memory.tables import (
    H_BINDING,
    H_NEXT,
    H_PLACE,
    L_A,
    L_B,
    L_NODE,
    N_CHILDREN,
    TRUTH,
)
from cepheid.matcher.vm.patterns.bindings import copy_binding, merge


@part
def count_truths(memory, row, place):
    count = 0
    truth = memory[live_at(memory, row) + L_A]
    while truth != NONE:
        cell = at(memory, TRUTH, truth)
        count += memory[cell + H_PLACE] == place
        truth = memory[cell + H_NEXT]
    return count


@part
def count_combinations(memory, row, besides):
    sides = memory[node_at(memory, memory[live_at(memory, row) + L_NODE]) + N_CHILDREN]
    product = 1
    for place in range(sides):
        if place != besides:
            product *= count_truths(memory, row, place)
    return product


@part
def add_truth(memory, row, place, binding):
    live = live_at(memory, row)
    truth = take_row(memory, TRUTH)
    cell = at(memory, TRUTH, truth)
    memory[cell + H_BINDING] = binding
    memory[cell + H_PLACE] = place
    memory[cell + H_NEXT] = NONE
    if memory[live + L_B] == NONE:
        memory[live + L_A] = truth
    else:
        memory[at(memory, TRUTH, memory[live + L_B]) + H_NEXT] = truth
    memory[live + L_B] = truth


@part
def forget_truths_of(memory, row, place):
    live = live_at(memory, row)
    truth, before = memory[live + L_A], NONE
    while truth != NONE:
        cell = at(memory, TRUTH, truth)
        after = memory[cell + H_NEXT]
        if memory[cell + H_PLACE] == place:
            if before == NONE:
                memory[live + L_A] = after
            else:
                memory[at(memory, TRUTH, before) + H_NEXT] = after
            if after == NONE:
                memory[live + L_B] = before
            give_back(memory, TRUTH, truth)
        else:
            before = truth
        truth = after


@part
def forget_truths(memory, row):
    live = live_at(memory, row)
    truth = memory[live + L_A]
    while truth != NONE:
        after = memory[at(memory, TRUTH, truth) + H_NEXT]
        give_back(memory, TRUTH, truth)
        truth = after
    memory[live + L_A] = NONE
    memory[live + L_B] = NONE


@part
def combination(memory, row, place, binding, number, total):
    """Counts like digits: the last side changes fastest."""
    live = live_at(memory, row)
    sides = memory[node_at(memory, memory[live + L_NODE]) + N_CHILDREN]
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
    truth = memory[live_at(memory, row) + L_A]
    while True:
        cell = at(memory, TRUTH, truth)
        if memory[cell + H_PLACE] == place:
            if number == 0:
                return memory[cell + H_BINDING]
            number -= 1
        truth = memory[cell + H_NEXT]
