"""Timers of windows and output rates: each running statement has at most one of either.

Those of a statement are in a list, by due time and then by the start of what they belong to. They
almost always come behind all others, because their period is the same.
"""

from __future__ import annotations

from cepheid.matcher.vm.expressions.calendar import add_months
from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.layout import NONE, at
from cepheid.matcher.vm.memory.tables import (
    NEVER,
    NEXT_DUE,
    R_DUE,
    R_EARLIER,
    R_LATER,
    R_RATE_DUE,
    RUNNING,
    V_LAST_TIMER,
    V_RATES,
    V_TIMERS,
    WINDOW_STAGE,
)

_DAY = 86_400_000_000
_SHORT_MONTH, _LONG_MONTH = 28 * _DAY, 31 * _DAY


@part
def timer_of(memory, running, stage):
    """The place of the words of a timer, which are like those from R_DUE on."""
    words = R_DUE if stage == WINDOW_STAGE else R_RATE_DUE
    return at(memory, RUNNING, running) + words - R_DUE


@part
def list_of(window, stage):
    """The place of the list of timers, whose words are like those from V_TIMERS on."""
    return window if stage == WINDOW_STAGE else window + V_RATES - V_TIMERS


@part
def arm_running(memory, window, running, due, stage):
    timers = list_of(window, stage)
    earlier, later = memory[timers + V_LAST_TIMER], NONE
    while earlier != NONE and is_after(memory, earlier, due, running, stage):
        earlier, later = memory[timer_of(memory, earlier, stage) + R_EARLIER], earlier
    timer = timer_of(memory, running, stage)
    memory[timer + R_DUE] = due
    memory[timer + R_EARLIER] = earlier
    memory[timer + R_LATER] = later
    if earlier == NONE:
        memory[timers + V_TIMERS] = running
    else:
        memory[timer_of(memory, earlier, stage) + R_LATER] = running
    if later == NONE:
        memory[timers + V_LAST_TIMER] = running
    else:
        memory[timer_of(memory, later, stage) + R_EARLIER] = running
    memory[NEXT_DUE] = min(memory[NEXT_DUE], due)


@part
def is_after(memory, running, due, other, stage):
    armed = memory[timer_of(memory, running, stage) + R_DUE]
    return armed > due or (armed == due and running > other)


@part
def disarm_first(memory, window, stage):
    """The running statement whose timer fires."""
    timers = list_of(window, stage)
    running = memory[timers + V_TIMERS]
    timer = timer_of(memory, running, stage)
    later = memory[timer + R_LATER]
    memory[timers + V_TIMERS] = later
    if later == NONE:
        memory[timers + V_LAST_TIMER] = NONE
    else:
        memory[timer_of(memory, later, stage) + R_EARLIER] = NONE
    memory[timer + R_DUE] = NEVER
    return running


@part
def first_armed(memory, window, stage):
    """When the first timer of a statement falls due."""
    running = memory[list_of(window, stage) + V_TIMERS]
    return NEVER if running == NONE else memory[timer_of(memory, running, stage) + R_DUE]


@part
def next_boundary(anchor, period, months, now):
    """The first end of a period after now, counting periods from the anchor in both directions."""
    passed = now - anchor
    if months == 0:
        return anchor + (passed // period + 1) * period
    shortest, longest = months * _SHORT_MONTH + period, months * _LONG_MONTH + period
    count = min(passed // shortest, passed // longest)  # never too late, in either direction
    while add_months(anchor, count * months) + count * period <= now:
        count += 1
    return add_months(anchor, count * months) + count * period
