"""`while`, `timer:within` and `timer:withinmax`: what ends a part."""

from __future__ import annotations

from cepheid.formal.petri.functions.lists import after
from cepheid.formal.petri.nets.net import INT
from cepheid.formal.petri.nets.terms import Apply, Const, Term, Var, plus
from cepheid.formal.petri.translation.ending_patterns import (
    CHILD,
    ID,
    NO,
    YES,
    Fail,
    Instances,
    Part,
    Start,
    State,
    Tell,
    X,
)
from cepheid.formal.petri.translation.inscriptions import Holds, Row
from cepheid.formal.petri.translation.timers import T
from cepheid.pattern import tree

COUNT = Var("c")
WITHIN: State = ((COUNT, INT),)


def draw_while(net: Instances, part: Part) -> None:
    """It ends its child at the first truth for which the condition does not hold."""
    pattern = part.pattern
    assert isinstance(pattern, tree.While)
    (child,) = part.children
    net.start(part, "start", (), Start(child))
    now = net.reading_now
    row = Row(T, None, binding=X)
    passes, stops = (Holds(pattern.condition, row, negated=negated) for negated in (False, True))
    true = (child.news("true"), ID, CHILD, X)
    net.on(part, "finished", (*true, YES), (), None, Tell(X, YES), guard=passes, also=now)
    net.on(part, "true", (*true, NO), (), (), Tell(X, NO), guard=passes, also=now)
    for finished in (YES, NO):
        heard = (*true, finished)
        net.on(part, "stop", heard, (), None, Fail(), guard=stops, quits=(child,), also=now)
    net.on(part, "failed", (child.news("failed"), ID, CHILD), (), None, Fail())


def draw_within(net: Instances, part: Part) -> None:
    """It ends its child when its time is over, or at the match after the largest number of them."""
    pattern = part.pattern
    assert isinstance(pattern, tree.Within)
    (child,) = part.children
    if pattern.period.is_zero:
        net.start(part, "start", None, Fail())
        net.live(part, (COUNT,))
    else:
        armed = net.armed(part, after(pattern.period, T))
        net.start(part, "start", (Const(0),), Start(child), also=armed)
    count = plus(COUNT, 1)
    passes: Term | None = None
    over = net.disarmed(part)
    true = (child.news("true"), ID, CHILD, X)
    if pattern.most is not None:
        passes, stops = (Apply(op, count, Const(pattern.most)) for op in ("<=", ">"))
        for finished in (YES, NO):
            net.on(
                part,
                "stop",
                (*true, finished),
                (COUNT,),
                None,
                Fail(),
                guard=stops,
                quits=(child,),
                also=over,
            )
    net.on(part, "true", (*true, NO), (COUNT,), (count,), Tell(X, NO), guard=passes)
    net.on(part, "finished", (*true, YES), (COUNT,), None, Tell(X, YES), guard=passes, also=over)
    net.on(part, "failed", (child.news("failed"), ID, CHILD), (COUNT,), None, Fail(), also=over)
    net.on(part, "over", ("woken", ID), (COUNT,), None, Fail(), quits=(child,))
