"""`timer:interval(p) and not a=A`, in either order, is a wait for the time that the event ends.

Why no row changes: the absence is true from the start with the binding that both sides begin with,
so the time makes the whole true, with that binding, and finished: of an absence alone no more news
can come. The event makes the absence fail, the whole fails with it, and the timer is disarmed.
Nobody sees the event, since what is bound inside of `not` is not bound outside; its tag is dropped.
A period of zero is over while the sides begin, in their order, and stays as it is.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.program.normal.nodes import Absent, AllOf, Awaited, Node, Passing, Wait
from cepheid.program.normal.rewrites.rewrite import Rewrite


def _change(node: AllOf) -> Node:
    match node:
        case AllOf(
            (Wait(None, Passing() as time), Absent(Wait(Awaited() as event, None)))
            | (Absent(Wait(Awaited() as event, None)), Wait(None, Passing() as time))
        ) if not time.period.is_zero:
            return Wait(replace(event, tag=None), time, "time", span=node.span)
    return node


AWAIT_ABSENCE = Rewrite("await-absence", 1, AllOf, _change)
