"""`a=A where timer:within(p)` is a wait for the event with a deadline.

Why no row changes: both arm one timer of the period when they begin, then listen for the event. The
event makes both true and finished and disarms the timer; the timer makes both fail and ends the
listening. The event comes once at most, so a largest number of matches (`timer:withinmax`) of one or
more is never exceeded; a number of zero lets nothing pass and stays as it is. So does a period of
zero, which fails before it listens.
"""

from __future__ import annotations

from cepheid.program.normal.nodes import Node, Passing, Wait, Within
from cepheid.program.normal.rewrites.rewrite import Rewrite


def _change(node: Within) -> Node:
    match node:
        case Within(Wait(event, None, "event"), period, most) if not period.is_zero and most != 0:
            return Wait(event, Passing(period, span=node.span), span=node.span)
    return node


SET_DEADLINES = Rewrite("set-deadlines", 1, Within, _change)
