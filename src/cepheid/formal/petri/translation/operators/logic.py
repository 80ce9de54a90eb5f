"""`and`, `or`, `not`."""

from __future__ import annotations

from cepheid.formal.petri.functions.lists import (
    ADD_TRUTH,
    CLOSE,
    COMBINE,
    HEAD,
    IS_OPEN,
    LENGTH,
    ONLY_TRUTH,
    TAIL,
)
from cepheid.formal.petri.nets.net import BOOL, INT, Simple
from cepheid.formal.petri.nets.terms import Apply, Const, If, Var, both, call, negation, plus
from cepheid.formal.petri.translation.ending_patterns import (
    CHILD,
    FINISHED,
    ID,
    NO,
    YES,
    B,
    Fail,
    Instances,
    Later,
    Part,
    Start,
    State,
    Tell,
    X,
)
from cepheid.pattern import tree

SIDES, TRUTHS = Simple("SIDES", tuple), Simple("TRUTHS", tuple)
OPEN, TRUE = Var("open"), Var("truths")
COUNT, STARTING = Var("c"), Var("starting")
AND: State = ((OPEN, SIDES), (TRUE, TRUTHS))
OR: State = ((COUNT, INT), (STARTING, BOOL))
_LIST, _OVER = Var("xs"), Var("over")


def draw_and(net: Instances, part: Part) -> None:
    """It keeps the truths of every side, and combines each new one with all those of the others."""
    sides = part.children
    begun = Const((True,) * len(sides)), Const(((),) * len(sides))
    net.start(part, "start", begun, *map(Start, sides))
    for side in sides:
        _draw_truth_of_side(net, part, side)
        failed = (side.news("failed"), ID, CHILD)
        net.on(part, "failed", failed, (OPEN, TRUE), None, Fail(), quits=sides)
    heard = ("reports", ID, _LIST, _OVER)
    first, rest = call(HEAD, _LIST), call(TAIL, _LIST)
    state = (OPEN, TRUE)
    is_last = Apply("=", call(LENGTH, _LIST), Const(1))
    more = Later("reports", (rest, _OVER))
    net.on(part, "report", heard, state, state, Tell(first, NO), more, guard=negation(is_last))
    last_but_open, last_of_all = (*heard[:-1], NO), (*heard[:-1], YES)
    net.on(part, "report_last", last_but_open, state, state, Tell(first, NO), guard=is_last)
    net.on(part, "finish", last_of_all, state, None, Tell(first, YES), guard=is_last)


def _draw_truth_of_side(net: Instances, part: Part, side: Part) -> None:
    heard = (side.news("true"), ID, CHILD, X, FINISHED)
    # An absence has no news but its failure.
    speaking = [s.place for s in part.children if not isinstance(s.pattern, tree.Absent)]
    others = tuple(place for place in speaking if place != side.place)
    place, state = Const(side.place), (OPEN, TRUE)
    sides = call(CLOSE, OPEN, place, FINISHED)
    combined = call(COMBINE, TRUE, place, X)
    added = call(ADD_TRUTH, TRUE, place, X)
    found = Apply(">", call(LENGTH, combined), Const(0))
    net.on(part, f"keep_{side.place + 1}", heard, state, (sides, added), guard=negation(found))
    # Truths that no other side can meet any more are forgotten.
    kept = If(call(IS_OPEN, sides, Const(others)), added, call(ONLY_TRUTH, TRUE, place, X))
    for title, over in (("combine", NO), ("combine_last", YES)):
        is_open = call(IS_OPEN, sides, Const(tuple(speaking)))
        net.on(
            part,
            f"{title}_{side.place + 1}",
            heard,
            state,
            (sides, kept),
            Later("reports", (combined, over)),
            guard=both(found, negation(is_open) if over is YES else is_open),
            quits=part.children if over is YES else (),
        )


def draw_or(net: Instances, part: Part) -> None:
    """True whenever a side is. Sides start from the last to the first: the later one speaks."""
    sides = part.children
    starts = (Start(side) for side in reversed(sides))
    net.start(part, "start", (Const(len(sides)), YES), *starts, Later("begun"))
    state = (COUNT, STARTING)
    for side in sides:
        true = (side.news("true"), ID, CHILD, X)
        net.on(part, "finished", (*true, YES), state, None, Tell(X, YES), quits=sides)
        net.on(part, "true", (*true, NO), state, state, Tell(X, NO))
        failed = (side.news("failed"), ID, CHILD)
        is_last = both(negation(STARTING), Apply("=", COUNT, Const(1)))
        assert is_last is not None
        net.on(part, "failed", failed, state, None, Fail(), guard=is_last)
        fewer = (plus(COUNT, -1), STARTING)
        net.on(part, "one_failed", failed, state, fewer, guard=negation(is_last))
    none, some = (Apply(op, COUNT, Const(0)) for op in ("=", ">"))
    net.on(part, "none_begun", ("begun", ID), state, None, Fail(), guard=none)
    net.on(part, "begun", ("begun", ID), state, (COUNT, NO), guard=some)


def draw_not(net: Instances, part: Part) -> None:
    """True from the start, fails when its child is true."""
    (child,) = part.children
    net.start(part, "start", (), Start(child), Later("begun"))
    net.on(part, "true", ("begun", ID), (), (), Tell(B, NO))
    true = (child.news("true"), ID, CHILD, X, FINISHED)
    net.on(part, "failed", true, (), None, Fail(), quits=(child,))
    net.on(part, "for_ever", (child.news("failed"), ID, CHILD), (), ())
