"""One event, and one part after another."""

from __future__ import annotations

from cepheid.formal.petri.functions.lists import BIND, LENGTH
from cepheid.formal.petri.nets.net import INT, Arc, Transition
from cepheid.formal.petri.nets.terms import Apply, Const, If, Term, Var, both, call, plus, product
from cepheid.formal.petri.translation.ending_patterns import (
    CHILD,
    FINISHED,
    ID,
    NO,
    PARENT,
    YES,
    B,
    Fail,
    Instances,
    P,
    Part,
    Start,
    State,
    Tell,
    X,
)
from cepheid.formal.petri.translation.inscriptions import Holds, Row
from cepheid.formal.petri.translation.timers import NUMBER, E, T
from cepheid.pattern import tree

SINCE, COUNT = Var("since"), Var("c")
ATOM: State = ((SINCE, INT),)
FOLLOWED_BY: State = ((COUNT, INT),)


def draw_atom(net: Instances, part: Part) -> None:
    """It waits from its start on, and `next_...` is true and finished on the first event that fits."""
    atom = part.pattern
    assert isinstance(atom, tree.Atom)
    net.start(part, "start", (SINCE,), also=net.reading_now)
    bound = B if atom.tag is None else call(BIND, B, Const(atom.tag), E)
    told = net.news(part.news("true"), Const(1), PARENT, ID, bound, YES)
    title = net.builder.unused(net.own(f"next_{atom.tag or atom.event_type}"))
    types = net.builder.counted_as(atom.event_type)
    condition = atom.condition
    holds = None if condition is None else Holds(condition, Row(T, E, binding=B))
    for name in types:
        taken = Arc("Ev", product(NUMBER, Const(name), T, E))
        key = P if net.keys is None else net.keys[name]
        waiting = Arc(part.name, product(ID, PARENT, key, B, SINCE))
        for guard, starts_runs, suffix in _turns(part):
            net.builder.add(
                Transition(
                    " ".join((title, *((name,) if len(types) > 1 else ()), *suffix)),
                    (waiting, taken, Arc(net.stack, Const(0)), net.agenda.old_now),
                    (
                        taken,
                        told,
                        Arc(net.stack, Const(1)),
                        Arc(net.now, product(T, NUMBER, NUMBER)),
                    ),
                    both(Apply("<", SINCE, NUMBER), guard, holds),
                    net.builder.level(
                        net.statement, starts_runs=starts_runs, forbidden=part.forbidden
                    ),
                )
            )


def _turns(part: Part) -> tuple[tuple[Term | None, bool, tuple[str, ...]], ...]:
    """When an event is heard: what `every` waits for with nothing bound comes before the rest."""
    assert part.parent is not None
    is_repeated = isinstance(part.parent.pattern, tree.Every | tree.EveryDistinct)
    if part.parent.parent is None or not is_repeated:
        return ((None, False, ()),)
    bound = call(LENGTH, B)
    return (
        (Apply("=", bound, Const(0)), True, ("first",)),
        (Apply(">", bound, Const(0)), False, ()),
    )


def draw_followed_by(net: Instances, part: Part) -> None:
    """It counts the parts that are alive; each truth of one starts the next."""
    net.start(part, "start", (Const(1),), Start(part.children[0]))
    *earlier, last = part.children
    for child, following in zip(earlier, part.children[1:], strict=True):
        heard = (child.news("true"), ID, CHILD, X, FINISHED)
        count = If(FINISHED, COUNT, plus(COUNT, 1))
        net.on(part, f"next_{following.place + 1}", heard, (COUNT,), (count,), Start(following, X))
    heard = (last.news("true"), ID, CHILD, X, FINISHED)
    left = If(FINISHED, plus(COUNT, -1), COUNT)
    is_over = Apply("=", left, Const(0))
    net.on(part, "true", heard, (COUNT,), (left,), Tell(X, NO), guard=Apply(">", left, Const(0)))
    net.on(part, "finished", heard, (COUNT,), None, Tell(X, YES), guard=is_over)
    for child in part.children:
        failed = (child.news("failed"), ID, CHILD)
        one = Apply("=", COUNT, Const(1))
        net.on(part, "failed", failed, (COUNT,), None, Fail(), guard=one)
        more = Apply(">", COUNT, Const(1))
        net.on(part, "one_failed", failed, (COUNT,), (plus(COUNT, -1),), guard=more)
