"""What a session or a debugger shows of a program under way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.time import Instant
from cepheid.core.types import lineage
from cepheid.engines.common.runners import Reference
from cepheid.semantics.inspection.description import StatementState
from cepheid.semantics.inspection.machine import begun
from tests import effort
from tests.conformance.generator import examples
from tests.conformance.occurrences import occurrences
from tests.conformance.scenarios import Example, parse_events
from tests.debugging.model import debugger_of, seen

SCHEMAS = "".join(f"create schema {name} (id string, k string, v int);\n" for name in "ABC")
EVENTS = "atomicEvent A(id: string, k: string)\natomicEvent B(id: string, k: string)\natomicEvent C(id: string, k: string)\n"


def opened(
    text: str, events: str, *, language: str = "epl", engine: str = "reference"
) -> cep.Session:
    """A session of a program that has had events, in the notation of golden files."""
    program = cep.parse((SCHEMAS if language == "epl" else EVENTS) + text, language=language)
    session = cep.open(program, start=0, engine=engine)
    for item in parse_events(events, program.resolve().types):
        if isinstance(item, cep.Event):
            session.take(item)
        else:
            session.advance(item / 1_000_000)
    return session


def kept(text: str, events: str, **options: str) -> StatementState:
    [state] = opened(text, events, **options).inspect().statements
    return state


def told(match: cep.PartialMatch) -> str:
    """A partial match in a line: what is bound, awaited, forbidden, and when it ends."""
    bound = [f"{tag}={'+'.join(str(e['id']) for e in es)}" for tag, es in match.bound.items()]
    values = [f"{name}={value}" for name, value in (match.values or {}).items()]
    used = ["used " + "+".join(str(e["id"]) for e in match.events)] if match.events else []
    awaits = [f"?{a.type or _seconds(a.due)}" for a in match.awaits]
    forbids = [f"!{a.type or _seconds(a.due)}" for a in match.forbids]
    # A complex event can still use an event at the end of its window.
    ends = [f"<{round(match.ends / 1_000_000, 3):g}"] if match.ends is not None else []
    count = [f"x{match.count}"] if match.count is not None else []
    parts = ["(" + " | ".join(map(told, match.parts)) + ")"] if match.parts else []
    return " ".join([*bound, *values, *used, *count, *awaits, *forbids, *ends, *parts])


def _seconds(instant: Instant | None) -> str:
    return "never" if instant is None else f"{instant / 1_000_000:g}"


@pytest.mark.parametrize(
    ("pattern", "events", "expected"),
    [
        ("every a=A -> b=B", "A1@1000 A2@2000", ["?A", "a=A1 ?B", "a=A2 ?B"]),
        ("a=A -> b=B", "A1@1000 B2@2000", []),
        ("a=A -> (b=B or c=C)", "A1@1000", ["a=A1 ?B", "a=A1 ?C"]),
        ("a=A and b=B", "", ["?A ?B (?A | ?B)"]),
        ("a=A and b=B", "B1@1000", ["b=B1 ?A (?A)"]),
        ("(a=A -> b=B) and not c=C", "A1@1000", ["a=A1 ?B !C (a=A1 ?B | !C (?C))"]),
        ("a=A -> not b=B and c=C", "A1@1000", ["a=A1 ?C !B (a=A1 !B (a=A1 ?B) | a=A1 ?C)"]),
        ("[3] a=A", "A1@1000 A2@2000", ["a=A1+A2 x2 ?A (?A)"]),
        ("a=A until b=B", "A1@1000", ["a=A1 x1 ?B ?A (?B | ?A)"]),
        ("every a=A -> b=B where timer:within(5 sec)", "A1@1000", ["?A", "a=A1 ?B <6"]),
        (
            "a=A -> ((b=B -> c=C) where timer:within(5 sec)) where timer:within(3 sec)",
            "A1@1000 B2@2000",
            ["a=A1 b=B2 ?C <4"],
        ),
        (
            "a=A -> ((b=B -> c=C) where timer:within(3 sec)) where timer:within(5 sec)",
            "A1@1000 B2@2000",
            ["a=A1 b=B2 ?C <4"],
        ),
        ("a=A -> (timer:interval(5 sec) and not b=B)", "A1@1000", [
            "a=A1 ?6 !B (a=A1 ?6 | a=A1 !B (a=A1 ?B))"
        ]),
        ("every-distinct(a.k) a=A -> b=B", 'A1@1000{k="x"} A2@2000{k="x"}', ["?A", "a=A1 ?B"]),
        ("every (a=A while (a.v > 1)) -> b=B", "A1@1000{v=2}", ["?A", "a=A1 ?B"]),
    ],
)  # fmt: skip
def test_partial_matches_of_patterns(pattern: str, events: str, expected: list[str]) -> None:
    found = kept(f"select * from pattern [{pattern}];", events)
    assert sorted(map(told, found.partial)) == sorted(expected)


def test_a_partial_match_says_where_it_stands_and_what_it_waits_for() -> None:
    text = "select a.v as v from pattern [every a=A(v > 1) -> b=B(v = a.v and k = 'x')];"
    session = opened(text, "A1@1000{v=2}")
    [(name, match)] = session.inspect().partial()
    [awaited] = match.awaits
    assert name == "statement_1"
    assert match.place == awaited.place
    assert awaited.place.text == "b=B(v = a.v and k = 'x')"
    assert (awaited.type, awaited.condition) == ("B", "v = a.v and k = 'x'")
    program = cep.parse(SCHEMAS + text)
    assert program.text_at(awaited.place.span) == "b=B(v = a.v and k = 'x')"
    assert match.since == 1_000_000


@pytest.mark.parametrize(
    ("window", "events", "rows", "gathered"),
    [
        ("#keepall", "A1@0 A2@1000", ["A1", "A2"], []),
        ("#length(2)", "A1@0 A2@0 A3@0", ["A2", "A3"], []),
        ("#length_batch(2)", "A1@0 A2@0 A3@0", ["A1", "A2"], ["A3"]),
        ("#time(3 sec)", "A1@0 A2@1000 A3@3000", ["A2<4", "A3<6"], []),
        ("#time_batch(2 sec)", "A1@0 A2@1000 A3@2000", ["A1", "A2"], ["A3"]),
    ],
)
def test_windows_with_their_rows(
    window: str, events: str, rows: list[str], gathered: list[str]
) -> None:
    found = kept(f"select id from A{window};", events).window
    assert found is not None
    assert found.text == window.replace("sec", "seconds")

    def ids(kept: tuple[object, ...]) -> list[str]:
        return [
            f"{row.event['id']}{'' if row.leaves is None else f'<{_seconds(row.leaves)}'}"  # type: ignore[attr-defined]
            for row in kept
        ]

    assert (ids(found.rows), ids(found.gathered)) == (rows, gathered)


def test_rows_of_matches_have_what_was_bound() -> None:
    found = kept("select a.id as x from pattern [every a=A -> b=B]#length(3);", "A1@0 B2@1000")
    assert found.window is not None
    [row] = found.window.rows
    assert {tag: [e["id"] for e in events] for tag, events in (row.bound or {}).items()} == {
        "a": ["A1"],
        "b": ["B2"],
    }


def test_results_that_a_rate_holds_back_are_counted() -> None:
    assert kept("select id from A output every 3 events;", "A1@0 A2@0").waiting == 2


def test_partitions_of_a_context_have_their_keys() -> None:
    text = "create context PerK partition by k from A, k from B; context PerK select a.id as x from pattern [a=A -> b=B];"
    states = opened(text, 'A1@0{k="x"} A2@0{k="y"}').inspect().statements
    assert [(state.key, [*map(told, state.partial)]) for state in states] == [
        (("x",), ["a=A1 ?B"]),
        (("y",), ["a=A2 ?B"]),
    ]


def test_timers_stand_in_the_order_in_which_they_fire() -> None:
    text = """
    @Name('P') select a.id as x from pattern [every a=A -> b=B where timer:within(5 sec)];
    @Name('W') select count(*) as n from A#time(5 sec);
    @Name('R') select id from A output every 2 sec;
    """
    timers = opened(text, "A1@1000").inspect().timers
    assert [(t.due // 1_000_000, t.statement, t.kind) for t in timers] == [
        (3, "R", "output"),
        (6, "P", "pattern"),
        (6, "W", "window"),
    ]
    assert timers[1].place is not None
    assert timers[1].place.text == "b=B where timer:within(5 seconds)"


COMPLEX = "complexEvent O(i: string, x: string) { as %s context chronicle }\n"


@pytest.mark.parametrize("engine", ["reference", "automaton"])
@pytest.mark.parametrize(
    ("form", "events", "expected"),
    [
        ("A(i, x) -> B(_, x)", 'A1@0{k="x"}', "i=A1 x=x used A1 ?B"),
        ("A(i, x) -> NOT C(_, x) -> B(_, x)", 'A1@0{k="x"}', "i=A1 x=x used A1 ?B !C"),
        ("(A(i, x) -> B(_, x))[within 5 seconds]", 'A1@0{k="x"}', "i=A1 x=x used A1 ?B <5"),
        ("A(i, x) AND B(_, x)", 'B1@0{k="x"}', "x=x used B1 ?A"),
        (
            "A(i, x) -> B(_, x){+}",
            'A1@0{k="x"}',
            "i=A1 x=x used A1 ?B",
        ),
        ("(A(i, x) -> NOT B(_, x))[within 5 seconds]", 'A1@0{k="x"}', "i=A1 x=x used A1 ?5 !B <5"),
    ],
)
def test_partial_matches_of_complex_events(
    form: str, events: str, expected: str, engine: str
) -> None:
    found = kept(COMPLEX % form, events, language="vepl", engine=engine)
    beginning, match = found.partial
    assert beginning.since is None
    assert {each.type for each in beginning.awaits} >= {match.events[0].type}
    assert told(match).partition(" (")[0] == expected
    assert (match.state is not None) == (engine == "automaton" and not match.parts)
    assert all(awaited.place.span is not None for awaited in match.awaits)


def test_what_a_session_showed_does_not_change() -> None:
    session = opened("select * from pattern [every [3] a=A -> b=B];", "A1@0 A2@0")
    before = session.inspect()
    text = seen(before)
    for number in range(4):
        session.send("A", {"id": str(number)}, time=1)
    assert seen(before) == text != seen(session.inspect())


def test_before_the_program_has_begun_there_is_nothing() -> None:
    session = cep.open(cep.parse(SCHEMAS + "select * from A;"), engine="reference")
    assert session.inspect().to_json() == {
        "clock": None, "statements": [], "timers": [], "queue": []
    }  # fmt: skip


def test_the_compiled_matcher_says_who_can_show() -> None:
    session = opened("select * from A;", "A1@0", engine="local")
    with pytest.raises(cep.UsageError, match="the engine reference or automaton"):
        session.inspect()


def test_what_local_leaves_to_the_reference_can_be_shown() -> None:
    program = cep.parse(SCHEMAS + "select * from A;")
    assert cep.open(program, why=True, start=0).inspect().clock == 0


# What is shown is true ------------------------------------------------------------------------


@effort.examples(40)
@given(st.one_of(examples(), occurrences()))
def test_what_no_one_awaits_changes_nothing(example: Example) -> None:
    """An event of a type that is neither awaited nor forbidden leaves a statement as it was."""
    debugger = debugger_of(example)
    types = example.resolved.types
    patient = {s.name for s in example.resolved.statements if s.pattern is not None} - {
        s.name for s in example.resolved.statements if s.policy.noise_counts
    }
    before = debugger.inspect()
    with suppress(cep.RunError):
        while not debugger.is_over:
            position = debugger.step()
            after = debugger.inspect()
            if position.kind == "statement" and position.event and position.statement in patient:
                name = position.statement
                kinds = lineage(position.event.type, types)
                known = {state.key for state in before.of(name)}
                if not kinds & awaited(before.of(name)) and known >= {
                    s.key for s in after.of(name)
                }:
                    assert said(before.of(name)) == said(after.of(name))
                    assert not position.rows
            if position.kind == "timer":  # the first of those that were armed
                assert before.timers[0].due == position.instant
                assert before.timers[0].statement == position.statement
            before = after


def awaited(states: tuple[StatementState, ...]) -> set[str | None]:
    """The types that matter now; None stands for what is forbidden and has several events."""
    return {kind for state in states for match in state.partial for kind in kinds_in(match)}


def kinds_in(match: cep.PartialMatch) -> Iterator[str | None]:
    yield from (each.type for each in match.awaits if each.type or each.due is None)
    yield from (each.type for each in match.forbids if each.type or each.due is None)
    for part in match.parts:  # what is forbidden, and how far that has come
        yield from kinds_in(part)


def said(states: tuple[StatementState, ...]) -> list[str]:
    return [json.dumps(state.to_json()) for state in states]


@effort.examples(40)
@given(st.one_of(examples(), occurrences()))
def test_what_ends_is_gone_then(example: Example) -> None:
    debugger = debugger_of(example)
    with suppress(cep.RunError):
        while not debugger.is_over:
            debugger.step("instant")
            kept = debugger.inspect()
            assert all(m.ends is None or m.ends > (kept.clock or 0) for _, m in kept.partial())
            assert all(timer.due > (kept.clock or 0) for timer in kept.timers)


@effort.examples(40)
@given(st.one_of(examples(), occurrences()))
def test_ages_are_those_of_what_is_shown(example: Example) -> None:
    debugger = debugger_of(example)
    runner = debugger._runner
    assert isinstance(runner, Reference)
    with suppress(cep.RunError):
        while not debugger.is_over:
            debugger.step("derived")
            for name in debugger.statements:
                shown = [m.since for n, m in debugger.inspect().partial() if n == name]
                assert sorted(map(str, begun(runner.machine, name))) == sorted(map(str, shown))
