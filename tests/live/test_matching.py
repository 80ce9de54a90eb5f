"""Matches that are kept up to date: what transactions do to them, query by query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import Severity, UsageError
from cepheid.expr.evaluate import Frame, compile_condition
from cepheid.expr.tree import Expr
from cepheid.live import (
    DOUBLE,
    INT,
    STRING,
    Attribute,
    Class,
    Delta,
    Match,
    Matcher,
    Metamodel,
    Model,
    Object,
    Reference,
    from_scratch,
    parse_queries,
)
from cepheid.live.matching import search
from tests.effort import examples
from tests.live.plants import interrupted, plant

FULL = """
@Constraint(
    key = {"host"},
    message = "$host.id$ offers $host.availableCpu$ of $host.totalCpu$ ($host$)",
    severity = "error"
)
pattern offersTooMuch(host : Host) {
    Host.availableCpu(host, available);
    Host.totalCpu(host, total);
    check(available > total);
}
"""


def watched(model: Model, text: str) -> Matcher:
    return Matcher(model, parse_queries(text, model.metamodel))


def told(delta: Delta | None) -> str:
    """`+found -lost ~updated`."""
    assert delta is not None
    signs = (("+", delta.found), ("-", delta.lost), ("~", delta.updated))
    return " ".join(f"{sign}{match}" for sign, matches in signs for match in matches)


def test_a_violation_comes_changes_and_goes() -> None:
    model = plant()
    matcher = watched(model, FULL)
    with model.transaction() as change:
        host = change.create("Host", id="h1", availableCpu=10)
    assert told(matcher.delta) == "+offersTooMuch(Host#1)"
    [match] = matcher.matches("offersTooMuch")
    [found] = matcher.violations()
    assert (found.match, found.key, found.severity) == (match, (host,), Severity.ERROR)
    assert found.message == "h1 offers 10 of 8 (Host#1)"
    with model.transaction() as change:
        change.set(host, "load", 0.5)
    assert told(matcher.delta) == "~offersTooMuch(Host#1)"
    with model.transaction() as change:
        change.set(host, "availableCpu", 8)
    assert told(matcher.delta) == "-offersTooMuch(Host#1)"
    with model.transaction() as change:
        change.set(host, "availableCpu", 9)
        change.set(host, "availableCpu", 8)
    assert not matcher.delta
    with model.transaction() as change:
        change.set(host, "totalCpu", 4)
    with model.transaction() as change:
        change.delete(host)
    assert told(matcher.delta) == "-offersTooMuch(Host#1)"
    assert matcher.violation(match).message == "h1 offers 8 of 4 (Host#1)"
    assert matcher.violations() == ()


def test_what_is_set_and_set_back_is_no_update() -> None:
    model = plant()
    matcher = watched(model, FULL)
    with model.transaction() as change:
        host = change.create("Host", availableCpu=10)
    with model.transaction() as change:
        change.set(host, "load", 1)
        change.set(host, "load", None)
        change.add(host, "tags", "a")
        change.remove(host, "tags", "a")
    assert not matcher.delta


def test_a_transaction_that_is_rolled_back_is_not_told() -> None:
    model = plant()
    matcher = watched(model, FULL)
    with interrupted(model) as change:
        change.create("Host", availableCpu=10)
    assert matcher.delta is None
    assert matcher.matches("offersTooMuch") == ()


# The postures of a body, after those of a gesture recognition.

BODY = Metamodel(
    "body",
    (
        Class("Joint", tuple(Attribute(n, DOUBLE) for n in "xyz"), is_abstract=True),
        *(Class(n, (), ("Joint",)) for n in ("Head", "RightHand", "RightElbow", "RightShoulder")),
        Class(
            "Body",
            tuple(
                Reference(n[0].lower() + n[1:], n, containment=True)
                for n in ("Head", "RightHand", "RightElbow", "RightShoulder")
            ),
        ),
    ),
)
POSTURES = """
pattern forwardStart(b : Body, rh : RightHand, re : RightElbow, rs : RightShoulder, h : Head) {
    Body.head(b, h);
    Body.rightHand(b, rh);
    Body.rightElbow(b, re);
    Body.rightShoulder(b, rs);
    find stretchedRightArm(b, rh, re, rs);
    neg find rightHandAboveHead(b, rh, h);
}
private pattern stretchedRightArm(b : Body, rh : RightHand, re : RightElbow, rs : RightShoulder) {
    Body.rightHand(b, rh);
    Body.rightElbow(b, re);
    Body.rightShoulder(b, rs);
    RightHand.x(rh, x);
    check(x - re.x > 0.2 and re.x - rs.x > 0.2);
}
pattern rightHandAboveHead(b : Body, rh : RightHand, h : Head) {
    Body.rightHand(b, rh);
    Body.head(b, h);
    check(moving_avg(h.y, 2) < moving_avg(rh.y, 2));
}
"""


def test_a_posture_is_found_lost_and_found_again() -> None:
    model = Model(BODY)
    matcher = watched(model, POSTURES)
    with model.transaction() as change:
        parts = {
            "head": change.create("Head", x=0, y=2, z=0),
            "rightHand": change.create("RightHand", x=0, y=1, z=0),
            "rightElbow": change.create("RightElbow", x=0, y=1, z=0),
            "rightShoulder": change.create("RightShoulder", x=0, y=1, z=0),
        }
        change.create("Body", **parts)
    assert not matcher.delta
    hand, elbow = parts["rightHand"], parts["rightElbow"]
    start = "forwardStart(Body#5, RightHand#2, RightElbow#3, RightShoulder#4, Head#1)"
    above = "rightHandAboveHead(Body#5, RightHand#2, Head#1)"

    def frame(x: float, y: float) -> str:
        with model.transaction() as change:
            change.set(elbow, "x", x / 2)
            change.set(hand, "x", x)
            change.set(hand, "y", y)
            change.set(parts["head"], "y", 2)
        return told(matcher.delta)

    assert frame(0.5, 1) == f"+{start}"
    assert frame(0.6, 2.5) == f"~{start}"  # the average is still below
    assert frame(0.6, 2.5) == f"+{above} -{start}"
    assert frame(0.6, 1) == f"+{start} -{above}"
    assert frame(0.1, 1) == f"-{start}"


# Each kind of constraint.

HOSTS = """
pattern linked(a : Host, b : Host) { Host.next(a, b); }
pattern reaches(a : Host, b : Host) { find linked+(a, b); }
pattern lonely(a : Host) { neg find linked(a, _); neg find linked(_, a); }
pattern hubs(a : Host, n) { n == count find linked(a, _); check(n > 1); }
pattern alike(a : Host, b : Host) { Host.id(a, i); Host.id(b, i); a != b; }
pattern upOrBusy(a : Host) { Host.state(a, 'up'); } or { Host.load(a, n); check(n > 0.5); }
pattern twice(a : Host, n) { Host.availableCpu(a, c); n == eval(2 * c); }
pattern nameless(a : Host) { check(a.id is null); }
pattern servers(a : Server) { }
pattern placed(a : Application, i) { Application.host.id(a, i); }
"""


def names(matches: Sequence[Match]) -> str:
    return " ".join(",".join(_name(v) for v in match.row) for match in matches)


def _name(value: object) -> str:
    return f"{value['id']}" if isinstance(value, Object) else str(value)


def test_every_kind_of_constraint_follows_the_model() -> None:
    model = plant()
    matcher = watched(model, HOSTS)
    with model.transaction() as change:
        a, b, c = (change.create("Host", id=n) for n in "abc")
        change.create("Server")
    assert names(matcher.matches("lonely")) == "a b c None"
    assert names(matcher.matches("nameless")) == names(matcher.matches("servers")) == "None"
    with model.transaction() as change:
        change.add(a, "next", b)
        change.add(b, "next", c)
        change.add(c, "next", b)
        change.add(a, "next", c)
    assert names(matcher.matches("reaches")) == "a,b a,c b,b b,c c,b c,c"
    assert names(matcher.matches("hubs")) == "a,2"
    assert names(matcher.matches("lonely")) == "None"
    with model.transaction() as change:
        change.remove(a, "next", b)
        change.remove(b, "next", c)
        change.set(a, "id", "b")
        change.set(a, "state", "up")
        change.set(a, "load", 0.9)
        change.set(a, "availableCpu", 4)
        change.create("Application", id="x", host=a)
    assert names(matcher.matches("reaches")) == "b,b b,c c,b"
    assert names(matcher.matches("alike")) == "b,b b,b"
    assert names(matcher.matches("upOrBusy")) == "b"
    assert names(matcher.matches("twice")) == "b,8"
    assert names(matcher.matches("placed")) == "x,b"
    with model.transaction() as change:
        change.set(a, "state", "down")
    assert matcher.delta is not None
    assert names(matcher.delta.lost) == ""  # the other body still holds
    with model.transaction() as change:
        change.set(a, "load", 0.1)
    assert "upOrBusy(Host#1)" in map(repr, matcher.delta.lost)


def test_matches_are_told_in_the_order_of_the_text_and_of_identities() -> None:
    model = plant()
    matcher = watched(model, "pattern b(h : Host) { } pattern a(h : Host, n) { Host.load(h, n); }")
    with model.transaction() as change:
        for load in (2, 1):
            change.create("Host", load=load)
    assert told(matcher.delta) == "+b(Host#1) +b(Host#2) +a(Host#1, 2.0) +a(Host#2, 1.0)"


def test_private_queries_are_not_told() -> None:
    model = plant()
    matcher = watched(model, "private pattern p(h : Host) { } pattern q(h : Host) { find p(h); }")
    with model.transaction() as change:
        change.create("Host")
    assert told(matcher.delta) == "+q(Host#1)"


def test_a_matcher_that_starts_late_finds_what_is_there() -> None:
    model = plant()
    with model.transaction() as change:
        change.create("Host", availableCpu=10)
    assert len(watched(model, FULL).matches("offersTooMuch")) == 1


def test_a_closed_matcher_stays_as_it_is() -> None:
    model = plant()
    matcher = watched(model, FULL)
    matcher.close()
    with model.transaction() as change:
        change.create("Host", availableCpu=10)
    assert matcher.matches("offersTooMuch") == ()


def test_listeners_are_told_of_each_transaction() -> None:
    model = plant()
    matcher = watched(model, FULL)
    found: list[str] = []
    matcher.listeners.append(lambda delta: found.append(told(delta)))
    with model.transaction() as change:
        change.create("Host", availableCpu=10)
    assert found == ["+offersTooMuch(Host#1)"]


def test_calls_that_make_no_sense_are_refused() -> None:
    model = plant()
    matcher = watched(model, FULL)
    with pytest.raises(UsageError, match="did you mean 'offersTooMuch'"):
        matcher.matches("offerTooMuch")
    with pytest.raises(UsageError, match="are about plant, the model is of body"):
        Matcher(Model(BODY), matcher.queries)
    with model.transaction(), pytest.raises(UsageError, match="while another transaction is open"):
        Matcher(model, matcher.queries)


def test_deep_links_need_no_deep_stack() -> None:
    model = plant()
    matcher = watched(model, HOSTS)
    with model.transaction() as change:
        hosts = [change.create("Host") for _ in range(300)]
        for one, other in pairwise(hosts):
            change.add(one, "next", other)
    assert matcher.count("reaches") == 300 * 299 // 2


# Closures under insertion and deletion.

GRAPH = Metamodel(
    "graph", (Class("Node", (Attribute("n", INT), Reference("next", "Node", upper=None))),)
)
REACHES = """
private pattern step(a : Node, b : Node) { Node.next(a, b); }
pattern reaches(a : Node, b : Node) { find step+(a, b); }
"""


@examples(150)
@given(st.integers(0, 10**9).map(Random))
def test_a_closure_follows_edges_that_come_and_go_in_any_graph(rng: Random) -> None:
    model, queries = Model(GRAPH), parse_queries(REACHES, GRAPH)
    count = rng.randint(2, 9)
    with model.transaction() as change:
        nodes = [change.create("Node") for _ in range(count)]
        for _ in range(rng.randint(0, 2 * count)):
            change.add(rng.choice(nodes), "next", rng.choice(nodes))
    matcher = Matcher(model, queries)
    for _ in range(8):
        before = from_scratch("reaches", queries, model)
        with model.transaction() as change:
            for _ in range(rng.randint(1, 4)):
                source = rng.choice(nodes)
                targets = source["next"]
                assert isinstance(targets, tuple)
                if targets and rng.random() < 0.5:
                    change.remove(source, "next", rng.choice(targets))
                else:
                    change.add(source, "next", rng.choice(nodes))
        after = from_scratch("reaches", queries, model)
        assert {m.row for m in matcher.matches("reaches")} == after
        assert matcher.delta is not None
        assert {m.row for m in matcher.delta.found} == after - before
        assert {m.row for m in matcher.delta.lost} == before - after


def test_attributes_that_change_together_are_tested_as_they_were_and_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tested = []

    def compiled(expr: Expr) -> Callable[[Frame], bool]:
        holds = compile_condition(expr)
        return lambda frame: tested.append(expr) or holds(frame)  # type: ignore[func-returns-value]

    monkeypatch.setattr(search, "compile_condition", compiled)
    model = plant()
    with model.transaction() as change:
        host, twin = change.create("Host"), change.create("Host")
        change.set(host, "twin", twin)
    matcher = watched(
        model,
        "pattern p(a : Host, b : Host) { Host.twin(a, b); check(a.load + a.totalCpu + b.load + b.totalCpu > 9); }",
    )
    tested.clear()
    with model.transaction() as change:
        for one in (host, twin):
            change.set(one, "load", 0.5)
            change.set(one, "totalCpu", 9)
    assert told(matcher.delta) == "+p(Host#1, Host#2) +p(Host#2, Host#1)"
    assert len(tested) == 2 * 2


def test_values_of_every_type_are_joined() -> None:
    metamodel = Metamodel(
        "m", (Class("A", (Attribute("i", INT), Attribute("d", DOUBLE), Attribute("s", STRING))),)
    )
    model = Model(metamodel)
    matcher = watched(
        model,
        "pattern p(a : A, b : A) { A.i(a, x); A.d(b, x); } pattern q(a : A, v) { A.d(a, v); }",
    )
    with model.transaction() as change:
        change.create("A", i=1, d=float("nan"))
        change.create("A", i=2, d=1.0)
    assert told(matcher.delta) == "+p(A#1, A#2) +q(A#1, nan) +q(A#2, 1.0)"
    with model.transaction() as change:
        change.set(model[1], "d", float("nan"))
        change.set(model[2], "d", 2)
    assert told(matcher.delta) == "+p(A#2, A#2) +q(A#2, 2.0) -p(A#1, A#2) -q(A#2, 1.0)"
