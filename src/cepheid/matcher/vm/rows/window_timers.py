"""Timers of windows and output rates: each running statement has at most one of either.

Those of a statement are in a list, by due time and then by the start of what they belong to. They
almost always come behind all others, because their period is the same.
"""

from __future__ import annotations

from cepheid.matcher.vm.expressions.calendar import add_months
from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.layout import NONE, Head, Region, at
from cepheid.matcher.vm.memory.linked_lists import insert, remove
from cepheid.matcher.vm.memory.tables import NEVER, RunningRow, TimerStage, WindowRow

_DAY = 86_400_000_000
_SHORT_MONTH, _LONG_MONTH = 28 * _DAY, 31 * _DAY


@part
def timer_of(memory, running, stage):
    """The place of the words of a timer, which are like those from RunningRow.DUE on."""
    words = RunningRow.DUE if stage == TimerStage.WINDOW else RunningRow.RATE_DUE
    return at(memory, Region.RUNNING, running) + words - RunningRow.DUE


@part
def list_of(window, stage):
    """The place of the list of timers, whose words are like those from WindowRow.TIMERS on."""
    return window if stage == TimerStage.WINDOW else window + WindowRow.RATES - WindowRow.TIMERS


@part
def arm_running(memory, window, running, due, stage):
    timers = list_of(window, stage)
    earlier, later = memory[timers + WindowRow.LAST_TIMER], NONE
    while earlier != NONE and is_after(memory, earlier, due, running, stage):
        earlier, later = memory[timer_of(memory, earlier, stage) + RunningRow.EARLIER], earlier
    timer = timer_of(memory, running, stage)
    memory[timer + RunningRow.DUE] = due
    first, last = timers + WindowRow.TIMERS, timers + WindowRow.LAST_TIMER
    begin, before, after = timer_of(memory, 0, stage), RunningRow.EARLIER, RunningRow.LATER
    insert(memory, begin, RunningRow.WIDTH, before, after, first, last, running, earlier, later)
    memory[Head.NEXT_DUE] = min(memory[Head.NEXT_DUE], due)


@part
def is_after(memory, running, due, other, stage):
    armed = memory[timer_of(memory, running, stage) + RunningRow.DUE]
    return armed > due or (armed == due and running > other)


@part
def disarm_first(memory, window, stage):
    """The running statement whose timer fires."""
    timers = list_of(window, stage)
    running = memory[timers + WindowRow.TIMERS]
    first, last = timers + WindowRow.TIMERS, timers + WindowRow.LAST_TIMER
    begin, before, after = timer_of(memory, 0, stage), RunningRow.EARLIER, RunningRow.LATER
    remove(memory, begin, RunningRow.WIDTH, before, after, first, last, running)
    memory[timer_of(memory, running, stage) + RunningRow.DUE] = NEVER
    return running


@part
def first_armed(memory, window, stage):
    """When the first timer of a statement falls due."""
    running = memory[list_of(window, stage) + WindowRow.TIMERS]
    return NEVER if running == NONE else memory[timer_of(memory, running, stage) + RunningRow.DUE]


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
