"""`every`, `every-distinct`, repeats and `until`."""

from __future__ import annotations

from cepheid.formal.petri.functions.lists import COLLECT, IS_NEW, NEVER, OVERRIDE, RECORD
from cepheid.formal.petri.functions.lists import after as when
from cepheid.formal.petri.nets.net import BOOL, INT, Arc, Simple
from cepheid.formal.petri.nets.terms import (
    Apply,
    Const,
    If,
    Term,
    Var,
    both,
    call,
    negation,
    plus,
    product,
)
from cepheid.formal.petri.translation.ending_patterns import (
    CHILD,
    EMPTY_LIST,
    FINISHED,
    ID,
    NO,
    YES,
    Fail,
    Instances,
    Later,
    M,
    Part,
    Start,
    State,
    Tell,
    X,
)
from cepheid.formal.petri.translation.inscriptions import BINDING, Evaluations, Row
from cepheid.formal.petri.translation.net_builder import Effect
from cepheid.formal.petri.translation.timers import T
from cepheid.pattern import tree

SPAWNING, AT_ONCE = Var("spawning"), Var("at_once")
EVERY: State = ((SPAWNING, BOOL), (AT_ONCE, BOOL))
COUNT, COLLECTED, BODY, STARTING = map(Var, ("c", "collected", "body", "starting"))
REPEAT: State = ((COUNT, INT), (COLLECTED, BINDING), (BODY, BOOL), (STARTING, BOOL))
SEEN = Simple("SEEN", tuple)
_S = Var("s")
_NEW = plus(M, 1)  # the id of the child that is started
_SPAWNED = Later("spawned", (_NEW,))
_FREE = (NO, AT_ONCE)
_BUSY = (YES, AT_ONCE)


def draw_every(net: Instances, part: Part) -> None:
    """Whenever its child is true or fails, a fresh one is spawned.

    One that is true already while it starts would repeat for ever at one instant: it is ended.
    """
    (child,) = part.children
    true = (child.news("true"), ID, CHILD, X, FINISHED)
    failed = (child.news("failed"), ID, CHILD)
    spawned = ("spawned", ID, CHILD)
    net.start(part, "start", (YES, NO), Start(child), _SPAWNED)
    net.on(part, "true_at_once", true, _BUSY, (YES, YES))
    net.on(part, "again", true, _FREE, (YES, NO), Start(child), _SPAWNED, Tell(X, NO))
    net.on(part, "failed_at_once", failed, _BUSY, _BUSY)
    net.on(part, "again_after_failure", failed, _FREE, (YES, NO), Start(child), _SPAWNED)
    net.on(part, "spawned", spawned, (YES, NO), (NO, NO))
    net.on(part, "not_spawned", spawned, (YES, YES), (NO, NO), quits=(child,), quits_from=CHILD)


def draw_every_distinct(net: Instances, part: Part) -> None:
    """Like every, with the keys that each child has inherited in `seen`."""
    pattern = part.pattern
    assert isinstance(pattern, tree.EveryDistinct)
    (child,) = part.children
    true = (child.news("true"), ID, CHILD, X, FINISHED)
    failed = (child.news("failed"), ID, CHILD)
    spawned = ("spawned", ID, CHILD)
    place = net.builder.place(f"{part.name}.seen", INT, INT, SEEN)

    def seen(identity: Term, keys: Term) -> Arc:
        return Arc(place, product(identity, ID, keys))

    begun = Effect(outputs=(seen(_NEW, EMPTY_LIST),))
    net.start(part, "start", (YES, NO), Start(child), _SPAWNED, also=begun)
    net.on(part, "true_at_once", true, _BUSY, (YES, YES))
    key = Evaluations(pattern.keys, Row(T, None, binding=X))
    due = Const(NEVER) if pattern.expiry is None else when(pattern.expiry, T)
    after, new = call(RECORD, _S, key, due, T), call(IS_NEW, _S, key, T)
    for title, told, guard in (
        ("again", (Tell(X, NO),), new),
        ("again_seen", (), negation(new)),
    ):
        for finished in (YES, NO):
            kept = () if finished is YES else (seen(CHILD, after),)
            net.on(
                part,
                title,
                (*true[:-1], finished),
                _FREE,
                (YES, NO),
                Start(child),
                _SPAWNED,
                *told,
                guard=guard,
                also=Effect((seen(CHILD, _S),), (seen(_NEW, after), *kept)) + net.reading_now,
            )
    forgotten = Effect((seen(CHILD, _S),))
    net.on(part, "failed_at_once", failed, _BUSY, _BUSY, also=forgotten)
    net.on(
        part,
        "again_after_failure",
        failed,
        _FREE,
        (YES, NO),
        Start(child),
        _SPAWNED,
        also=forgotten + begun,
    )
    net.on(part, "spawned", spawned, (YES, NO), (NO, NO))
    net.on(
        part,
        "not_spawned",
        spawned,
        (YES, YES),
        (NO, NO),
        quits=(child,),
        quits_from=CHILD,
        also=forgotten,
    )
    net.draw_quit(part, place)


def draw_repeat(net: Instances, part: Part) -> None:
    """It collects what each truth of its body binds, up to a count or until another part is true."""
    repeat = part.pattern
    assert isinstance(repeat, tree.Repeat)
    until = part.children[1:]
    begun = (Const(0), EMPTY_LIST, NO, NO)
    net.start(part, "start", begun, *map(Start, until), Later("body"))
    _draw_start_of_body(net, part, repeat)
    _draw_truth_of_body(net, part, repeat)
    state = part.variables
    if until:
        true = (until[0].news("true"), ID, CHILD, X, FINISHED)
        low = repeat.low or 0
        enough, few = (Apply(op, COUNT, Const(low)) for op in (">=", "<"))
        told = Tell(call(OVERRIDE, X, COLLECTED), YES)
        net.on(part, "ended", true, state, None, told, guard=enough, quits=part.children)
        if low:
            net.on(part, "too_few", true, state, None, Fail(), guard=few, quits=part.children)
    for child in part.children:
        failed = (child.news("failed"), ID, CHILD)
        net.on(part, "failed", failed, state, None, Fail(), quits=part.children)


def _draw_start_of_body(net: Instances, part: Part, repeat: tree.Repeat) -> None:
    """The body starts; again, up to the highest count, while it is true and finished as it starts."""
    body = part.children[0]
    before = (COUNT, COLLECTED, NO, STARTING)
    running = (COUNT, COLLECTED, YES, YES)
    heard = ("body", ID)
    if repeat.high is None:
        net.on(part, "body", heard, before, running, Start(body), Later("begun"))
        stays = (COUNT, COLLECTED, BODY, NO)
        net.on(part, "begun", ("begun", ID), part.variables, stays)
        return
    more = Apply("<", COUNT, Const(repeat.high))
    net.on(part, "body", heard, before, running, Start(body), Later("body"), guard=more)
    is_over = Apply("orelse", BODY, Apply(">=", COUNT, Const(repeat.high)))
    net.on(part, "begun", heard, part.variables, (COUNT, COLLECTED, BODY, NO), guard=is_over)


def _draw_truth_of_body(net: Instances, part: Part, repeat: tree.Repeat) -> None:
    body = part.children[0]
    true = (body.news("true"), ID, CHILD, X, FINISHED)
    tags = tuple(dict.fromkeys(a.tag for a in tree.atoms(body.pattern) if a.tag is not None))
    count, collected = plus(COUNT, 1), call(COLLECT, COLLECTED, X, Const(tags))
    below: Term | None = None
    if repeat.high is not None:
        below = Apply("<", count, Const(repeat.high))
        enough = Apply(">=", count, Const(repeat.high))
        if repeat.is_exact:
            told = Tell(call(OVERRIDE, X, collected), YES)
            net.on(
                part, "true", true, part.variables, None, told, guard=enough, quits=part.children
            )
        else:
            full = (count, collected, NO, STARTING)
            net.on(part, "full", true, part.variables, full, guard=enough, quits=(body,))
    running = If(FINISHED, NO, BODY)
    ready = both(negation(running), negation(STARTING))
    assert ready is not None
    net.on(
        part,
        "one_more",
        true,
        part.variables,
        (count, collected, NO, NO),
        Later("body"),
        guard=both(below, ready),
    )
    net.on(
        part,
        "one",
        true,
        part.variables,
        (count, collected, running, STARTING),
        guard=both(below, negation(ready)),
    )
