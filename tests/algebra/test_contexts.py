"""Which matches the contexts choose."""

from __future__ import annotations

import pytest

import cepheid as cep
from tests.algebra.forms import SCHEMAS, program, run, stream, words

FIGURE_5 = "a a a b c b"  # a1 a1 a1 a2 a3 a2 in the paper


@pytest.mark.parametrize(
    ("context", "matches"),
    [
        ("chronicle", ["a0 b3", "a1 b5"]),
        ("immediate", ["a0 b3"]),
        ("strict", ["a2 b3"]),
    ],
)
def test_figure_5(context: str, matches: list[str]) -> None:
    assert words(run(program("a -> b", context), stream(FIGURE_5))) == matches


# What the original was seen to do: form, context, events, and how many matches there are after each.
OBSERVED = [
    ("a OR b", "chronicle", "a b", (1, 2)),
    ("a -> b", "chronicle", "a b", (0, 1)),
    ("a AND b", "chronicle", "a b", (0, 1)),
    ("a{+} -> b", "chronicle", "a b", (0, 1)),
    ("a{3} -> b", "chronicle", "a b", (0, 0)),
    ("a OR b", "immediate", "a a b b", (1, 2, 3, 4)),
    ("a -> b", "immediate", "a a b b", (0, 0, 1, 2)),
    ("a AND b", "immediate", "a a b b", (0, 0, 1, 2)),
    # Here the original had two: each `a` began a match of its own, though one was open that takes it.
    ("a{+} -> b", "immediate", "a a b b", (0, 0, 1, 1)),
    ("a{3} -> b", "immediate", "a a b b", (0, 0, 0, 0)),
    ("a OR b", "strict", "a a b b", (1, 2, 3, 4)),
    ("a -> b", "strict", "a a b b", (0, 0, 1, 1)),
    ("a AND b", "strict", "a a b b", (0, 0, 1, 1)),
    ("a{+} -> b", "strict", "a a b b", (0, 0, 1, 1)),
    ("a{3} -> b", "strict", "a a b b", (0, 0, 0, 0)),
    ("a(x, y) -> a(x, z)", "chronicle", "a31 a32", (0, 1)),
]


@pytest.mark.parametrize(("form", "context", "events", "counts"), OBSERVED)
def test_what_the_original_did(
    form: str, context: str, events: str, counts: tuple[int, ...]
) -> None:
    given = stream(events)
    for length, count in enumerate(counts, start=1):
        assert len(run(program(form, context), given[:length])) == count


@pytest.mark.parametrize(
    ("form", "context", "events", "matches"),
    [
        # An event advances one partial match, the oldest that can use it; it begins none then.
        ("a -> b -> c", "chronicle", "a a b c b c", ["a0 b2 c3", "a1 b4 c5"]),
        ("a{3}", "chronicle", "a a a a a", ["a0 a1 a2"]),
        # Loops take what they can until what follows comes, and stop at their minimum at the end.
        ("a{+} -> b", "chronicle", "a a a b", ["a0 a1 a2 b3"]),
        ("a -> b{+}", "chronicle", "a b b", ["a0 b1"]),
        ("a{*} -> b", "chronicle", "b a b", ["b0", "a1 b2"]),
        ("a{*} -> a -> b", "chronicle", "b a a b", ["a1 a2 b3"]),
        ("a{2:3} -> b", "chronicle", "a a a a b b", ["a0 a1 a2 b4"]),
        # Parameters of one name are equal, in groups, loops and on both sides of them.
        ("a(x, _) -> b(x, _)", "chronicle", "a1 a2 b2 b1", ["a1 b2", "a0 b3"]),
        ("a(x, _){2} -> b(x, _)", "chronicle", "a1 a2 a1 b1", ["a0 a2 b3"]),
        ("a(x, _) -> (b(x, _) -> c(x, _))", "chronicle", "a1 b1 c2 c1", ["a0 b1 c3"]),
        # Each value of a common parameter has partial matches of its own: noise of one is none of another.
        ("a(x, _) -> b(x, _)", "immediate", "a1 a2 b2 b1", ["a1 b2", "a0 b3"]),
        ("a(x, _) -> b(x, _)", "immediate global", "a1 b2 b1", []),
        ("a(x, _) -> b(x, _)", "strict", "a1 a2 b1 b2", ["a0 b2", "a1 b3"]),
        ("a(x, _) -> b(x, _)", "strict global", "a1 a2 b2 b1", ["a1 b2"]),
        # An event of any declared type is noise; what advances another partial match is none.
        ("a -> b", "immediate", "a d b", []),
        ("a -> b -> c", "immediate", "a a b c", ["a0 b2 c3"]),
        # A forbidden event ends the partial matches that forbid it, and only these.
        ("a -> NOT b -> c", "chronicle", "a b c a c", ["a3 c4"]),
        ("a -> NOT b(x, _) -> c(x, _)", "chronicle", "a b1 c1 c2", ["a0 c3"]),
        # A name that nothing binds stands for any value.
        ("a -> NOT b(x, _) -> (c(x, _) OR d)", "chronicle", "a b1 d c2", ["a0 c3"]),
        ("a -> NOT (b -> d) -> c", "chronicle", "a b c a b d c", ["a0 c2"]),
        ("a -> NOT (b{2}) -> c", "chronicle", "a b c a b b c", ["a0 c2"]),
        ("(a -> NOT b -> c) AND b", "chronicle", "a b c", []),
        ("a -> NOT b -> d{2} -> c", "chronicle", "a d b d c", ["a0 d1 d3 c4"]),
        ("a -> NOT b -> d{*} -> c", "chronicle", "a b c a c", ["a3 c4"]),
        ("a -> NOT (b(x, _) -> d(x, _)) -> c", "chronicle", "a b1 d1 c a b1 d2 c", ["a4 c7"]),
        # Two values that are forbidden together are not forbidden one by one.
        (
            "(a(x, _) OR a) -> NOT d(x, y) -> b -> c(x, y)",
            "chronicle global",
            "a1 d12 b c32",
            ["a0 b2 c3"],
        ),
        # What must be absent whatever its key concerns all keys, and is noise to its own alone.
        ("a(x, _) -> NOT b -> c(x, _)", "chronicle", "a1 b2 c1", []),
        ("a(x, _) -> NOT (b -> d) -> c(x, _)", "immediate", "a1 b2 c1", ["a0 c2"]),
        # Null is no value that two events could share, nor do they share a key.
        ("a(x, _) -> b(x, _)", "chronicle global", "a b", []),
        ("a(x, _) -> b(x, _)", "chronicle", "a b", []),
        ("(a{*}){2} -> b", "chronicle", "b", ["b0"]),
        ("(a{+}){+} -> b", "chronicle", "a a b", ["a0 a1 b2"]),
        ("(a -> NOT b -> c) AND b", "chronicle", "b a c", ["b0 a1 c2"]),
        # A referenced event keeps its own names through its loops, and begins anew in a loop around it.
        ("many(_, _) -> c", "chronicle", "a1 a2 b3 c", []),
        ("many(_, _) -> c", "chronicle", "a1 a2 a1 b1 c", ["a0 a2 b3 c4"]),
        ("pair(_, _){2}", "chronicle", "a1 b1 a2 b2", ["a0 b1 a2 b3"]),
        # So does what it forbids: in each round, other values.
        ("lone(_, _){2}", "chronicle", "a b1 c2 a c1", ["a0 c2 a3 c4"]),
        ("lone(_, _){2}", "chronicle", "a b1 c2 a b1 c1", []),
        # What is forbidden in something forbidden shares the names of that.
        ("a -> NOT (b(y, _) -> NOT c(y, _) -> d) -> a", "chronicle", "a b1 c2 d a", []),
        ("a -> NOT (b(y, _) -> NOT c(y, _) -> d) -> a", "chronicle", "a b1 c1 d a", ["a0 a4"]),
        # A name that only the match has stands there for any value.
        (
            "a(x, _) -> NOT (b -> NOT c(x, _) -> d) -> a(x, _)",
            "chronicle global",
            "a1 b c2 d a1",
            ["a0 a4"],
        ),
    ],
)
def test_what_contexts_choose(form: str, context: str, events: str, matches: list[str]) -> None:
    assert words(run(program(form, context), stream(events))) == matches


@pytest.mark.parametrize(
    ("form", "events", "end", "matches"),
    [
        # A window counts from the first event to the last one.
        ("(a -> b -> c)[within 2 seconds]", "a@0 b@1 c@2", 9, ["a0 b1 c2"]),
        ("(a -> b -> c)[within 2 seconds]", "a@0 b@1 c@3", 9, []),
        ("((a -> b) -> c)[2000]", "a@0 b@1 c@3", 9, []),
        ("a -> (b -> c)[within 2 seconds]", "a@0 b@5 c@7", 9, ["a0 b1 c2"]),
        ("(a -> b)[holdsFor 2 seconds]", "a@0 b@2", 9, ["a0 b1"]),
        # What comes too early ends the partial match.
        ("(a -> b)[holdsFor 2 seconds]", "a@0 b@1 b@2", 9, []),
        ("(a{+})[holdsFor 2 seconds]", "a@0 a@1 a@3", 9, ["a0 a1 a2"]),
        # Absence up to the end of a window is decided when that is reached, before its events.
        ("(a -> NOT b)[within 2 seconds]", "a@0 b@2", 9, ["a0"]),
        ("(a -> NOT b)[within 2 seconds]", "a@0 b@1", 9, []),
        ("(a -> NOT b)[within 2 seconds]", "a@0", 1, []),
        ("(a(x, _) -> NOT b(x, _))[within 2 seconds]", "a1@0 a2@0", 9, ["a0", "a1"]),
        ("(a(x, _) -> NOT b(x, _))[within 2 seconds]", "a@0 b@1", 9, ["a0"]),
        ("((a -> NOT b)[within 1 second])[holdsFor 2 seconds]", "a@0", 9, []),
        ("((a -> b)[holdsFor 2 seconds]) AND c", "a@0 b@1 c@2 b@3", 9, []),
        ("(a AND NOT b)[within 2 seconds]", "a@0 b@1 a@3", 9, ["a2"]),
        ("(a AND c AND NOT b)[within 3 seconds]", "a@0 c@1 b@2", 9, []),
        ("(a AND c AND NOT b)[within 3 seconds]", "b@0 a@1 c@2 b@4", 9, ["a1 c2"]),
        ("(a -> NOT b)[within 2 seconds] -> c", "a@0 c@1 c@3", 9, ["a0 c2"]),
        # X does not complete within the time; completing later does no harm.
        ("a -> NOT (b -> d)[within 1 second] -> c", "a@0 b@1 d@3 c@4", 9, ["a0 c3"]),
        ("a -> NOT (b -> d)[within 1 second] -> c", "a@0 b@1 d@2 c@4", 9, []),
    ],
)
def test_time(form: str, events: str, end: int, matches: list[str]) -> None:
    assert words(run(program(form), stream(events), end * 1_000_000)) == matches


def test_a_row_has_the_parameters_and_the_time_of_what_completed_it() -> None:
    found = run(program("a(x, _) -> b(x, y)", "chronicle", "x: int, y: int"), stream("a1 b15@7"))
    assert [(match.instant, match.values) for match in found] == [(7_000_000, {"x": 1, "y": 5})]


def test_each_round_of_a_loop_binds_the_own_names_of_a_referenced_event_anew() -> None:
    text = """
    atomicEvent a(p: int)
    atomicEvent b(p: int)
    complexEvent pair(x: int) { as a(x) -> b(x) }
    complexEvent any(){ as pair(_){2} }
    complexEvent same(y: int) { as pair(y){2} }
    """
    events = [{"@type": t, "@time": n, "p": n // 2} for n, t in enumerate("abab")]
    rows = cep.run(cep.parse(text, language="vepl"), events, engine="reference")
    assert [row.type for row in rows] == ["pair", "pair", "any"]


def test_an_event_that_inherits_has_the_key_of_its_own_type() -> None:
    epl = "create schema Base (p int); create schema Sub () inherits Base; create schema A (p int);"
    vepl = "complexEvent found(k: int) { as A(k) -> Sub(k) -> NOT Base -> A(k) }"
    program = cep.Program(cep.parse(epl).tree + cep.parse(vepl, language="vepl").tree)
    events = [{"@type": t, "@time": n, "p": 1} for n, t in enumerate(("A", "Sub", "A"))]
    assert [row["k"] for row in cep.run(program, events, engine="reference")] == [1]


@pytest.mark.parametrize("engine", ["reference", "automaton"])
@pytest.mark.parametrize("context", ["chronicle", "immediate", "strict"])
def test_what_a_window_ends_is_forgotten(context: str, engine: str) -> None:
    """Also where no event of its key comes again."""
    session = cep.open(
        cep.parse(
            f"{SCHEMAS} complexEvent f() {{ as (a(x, _) -> b(x, _))[within 2 seconds] context {context} }}",
            language="vepl",
        ),
        engine=engine,
    )
    sizes = []
    for number in range(60):
        session.send("a", {"p": number, "q": 0}, time=number)
        sizes.append(len(session.save()))
    assert max(sizes[-10:]) < 1.2 * max(sizes[5:15])


def test_an_event_without_a_key_is_noise_to_all() -> None:
    text = f"{SCHEMAS} atomicEvent other() complexEvent f(x: int) {{ as a(x, _) -> b(x, _) context immediate }}"
    events = [{"@type": t, "@time": n, "p": 1, "q": 1} for n, t in enumerate("aab")]
    program = cep.parse(text, language="vepl")
    assert len(list(cep.run(program, events, engine="reference"))) == 1
    events.insert(2, {"@type": "other", "@time": 1.5})
    assert not list(cep.run(program, events, engine="reference"))


def test_a_referenced_event_stands_for_its_events() -> None:
    text = """
    atomicEvent a(p: int)
    atomicEvent b(p: int)
    complexEvent pair(x: int) { as a(x) -> b(x) context strict }
    complexEvent twice(x: int, y: int) { as pair(x) -> pair(y) }
    """
    events = [
        {"@type": t, "@time": n, "p": v}
        for n, (t, v) in enumerate([*zip("aabb", (1, 2, 2, 1), strict=True), ("a", 3), ("b", 3)])
    ]
    rows = cep.run(cep.parse(text, language="vepl"), events, engine="reference")
    assert [dict(row.values_) for row in rows if row.type == "twice"] == [{"x": 1, "y": 3}]
