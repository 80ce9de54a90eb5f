"""`timer:interval` and `timer:at`: true when their time has come."""

from __future__ import annotations

from cepheid.formal.petri.functions.lists import NEVER, after, next_of
from cepheid.formal.petri.nets.terms import Apply, Const, call
from cepheid.formal.petri.translation.ending_patterns import ID, YES, B, Instances, Part, Tell
from cepheid.formal.petri.translation.timers import T
from cepheid.pattern import tree


def draw_interval(net: Instances, part: Part) -> None:
    pattern = part.pattern
    assert isinstance(pattern, tree.Interval)
    if pattern.period.is_zero:
        net.start(part, "at_once", None, Tell(B, YES))
        net.live(part, ())
    else:
        net.start(part, "start", (), also=net.armed(part, after(pattern.period, T)))
    net.on(part, "due", ("woken", ID), (), None, Tell(B, YES))


def draw_at(net: Instances, part: Part) -> None:
    pattern = part.pattern
    assert isinstance(pattern, tree.At)
    due = call(next_of(pattern.schedule), T)
    comes, never = (Apply(op, due, Const(NEVER)) for op in ("<>", "="))
    net.start(part, "start", (), guard=comes, also=net.armed(part, due))
    net.start(part, "never", (), guard=never, also=net.reading_now)
    net.on(part, "due", ("woken", ID), (), None, Tell(B, YES))
