"""What the normal form says of a program, and what it keeps of the text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import cepheid as cep
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import Expr, conjuncts
from cepheid.matcher.compiling import lowering
from cepheid.pattern import tree
from cepheid.program.normal import REWRITES, NormalStatement, digest, nodes, normalize
from cepheid.program.normal.embedding import embed
from cepheid.program.normal.printing import conditions, headline
from cepheid.program.tree import ProgramTree
from tests.effort import examples
from tests.program.normal.shapes import SHAPES, patterns_with
from tests.semantics.drive import resolved
from tests.semantics.generators import programs

SCHEMAS = "create schema A (k string, v int); create schema B (k string, v int); "


def normal(pattern: str) -> NormalStatement:
    text = f"{SCHEMAS}select a.k as k from pattern [{pattern}]"
    return normalize(cep.parse(text).resolve()).statements[0]


def outline(node: nodes.Node, depth: int = 0) -> list[str]:
    """Headlines, each part below its whole."""
    parts = (line for child in nodes.children(node) for line in outline(child, depth + 1))
    return [f"{'  ' * depth}{headline(node)}", *parts]


OUTLINES = {
    "every a=A -> (b=B -> (timer:interval(1 sec) and not A))": [
        "each match begins the next",
        "  every",
        "    wait for a=A",
        "  one after the other",
        "    wait for b=B",
        "    wait 1 second, fail with A",
    ],
    "every (a=A -> b=B where timer:withinmax(2 sec, 3))": [
        "every",
        "  one after the other",
        "    wait for a=A",
        "    wait for b=B, fail after 2 seconds",
    ],
    "a=A or (B or timer:interval(1 sec))": [
        "any of",
        "  wait for a=A",
        "  wait for B",
        "  wait 1 second",
    ],
    "a=A -> ([2:3] b=B until A) while (a.v > 1)": [
        "each match begins the next",
        "  wait for a=A",
        "  while a.v > 1",
        "    repeat 2:3 times, until the last part",
        "      wait for b=B",
        "      wait for A",
    ],
    # What takes no time, or lets nothing pass, is no wait.
    "a=A -> B where timer:within(0 sec)": [
        "each match begins the next",
        "  wait for a=A",
        "  within 0 seconds",
        "    wait for B",
    ],
    "a=A -> B where timer:withinmax(1 sec, 0)": [
        "each match begins the next",
        "  wait for a=A",
        "  within 1 second, at most 0 matches",
        "    wait for B",
    ],
    "a=A -> (timer:interval(0 sec) and not B)": [
        "each match begins the next",
        "  wait for a=A",
        "  all of",
        "    wait 0 seconds",
        "    not",
        "      wait for B",
    ],
    "every-distinct(a.k, 1 min) a=A -> timer:at(*, *, *, *, *)": [
        "each match begins the next",
        "  every distinct a.k, for 1 minute",
        "    wait for a=A",
        "  wait for the next instant of a schedule",
    ],
}


@pytest.mark.parametrize("pattern", OUTLINES)
def test_the_normal_form_says_what_a_pattern_does(pattern: str) -> None:
    assert outline(normal(pattern).source) == OUTLINES[pattern]


CONDITIONS = {
    "v > 1 and (k = a.k and v < a.v)": {
        "about the event": ["v > 1"],
        "equal": ["k = a.k"],
        "about others too": ["v < a.v"],
    },
    "a.v + 1 = v * 2": {"equal": ["v * 2 = a.v + 1"]},
    "1 = 1": {"about the event": ["1 = 1"]},
    "v > 1 or a.v > 1": {"about others too": ["v > 1 or a.v > 1"]},
    "not (v > 1 and a.v > 1)": {"about others too": ["not (v > 1 and a.v > 1)"]},
    "a.v > 1": {"about others too": ["a.v > 1"]},
    "v + a.v = 2": {"about others too": ["v + a.v = 2"]},
    "v is a.v": {"about others too": ["v is a.v"]},
    "v < current_timestamp()": {"about others too": ["v < current_timestamp()"]},
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_is_split_by_what_it_looks_at(condition: str) -> None:
    *_, last = nodes.events(normal(f"every a=A -> B({condition})").source)
    assert conditions(last) == CONDITIONS[condition]


def test_a_stream_is_every_event_that_satisfies_its_condition() -> None:
    text = f"{SCHEMAS}select k from A(v > 1, k = 'x')"
    [statement] = normalize(cep.parse(text).resolve()).statements
    assert outline(statement.source) == ["every", "  wait for A"]
    assert statement.stream is not None
    assert list(map(print_expr, statement.stream.own)) == ["v > 1", "k = 'x'"]


def test_places_in_the_text_are_kept() -> None:
    text = (
        f"{SCHEMAS}\nselect a.k as k from pattern [\nevery a=A ->\nb=B where timer:within(1 sec)]"
    )
    [statement] = normalize(cep.parse(text).resolve()).statements
    found = {event.tag: event.span for event in nodes.events(statement.source)}
    assert {tag: span.line for tag, span in found.items() if span} == {"a": 3, "b": 4}


@examples(100)
@given(programs())
def test_steps_are_numbered_as_events_and_timers_are_written(written: ProgramTree) -> None:
    for statement in normalize(resolved(written)).statements:
        if statement.resolved.pattern is not None:
            assert steps(statement.source) == leaves(statement.resolved.pattern)


def leaves(pattern: tree.Pattern) -> list[str]:
    found = [part for part in tree.walk(pattern) if not any(tree.children(part))]
    return [part.event_type if isinstance(part, tree.Atom) else "timer" for part in found]


def steps(source: nodes.Node) -> list[str]:
    found: dict[int, str] = {}
    for node in nodes.walk(source):
        if isinstance(node, nodes.WaitForInstant):
            found[node.step] = "timer"
        if isinstance(node, nodes.Wait) and node.event is not None:
            found[node.event.step] = node.event.event_type
        if isinstance(node, nodes.Wait) and node.time is not None and node.time.step is not None:
            found[node.time.step] = "timer"
    assert sorted(found) == list(range(len(found)))
    return [found[step] for step in sorted(found)]


@st.composite
def any_shape(draw: DrawFn) -> tree.Pattern:
    shape = draw(st.sampled_from(list(SHAPES.values())))
    return draw(patterns_with(shape))


@examples(100)
@given(any_shape())
def test_the_normal_form_is_normal_already(pattern: tree.Pattern) -> None:
    node = embed(pattern)
    for rewrite in REWRITES:
        node = rewrite(node)
    again = node
    for rewrite in REWRITES:
        again = rewrite(again)
    assert again == node


def test_the_digest_knows_names_versions_and_order() -> None:
    first, second, *rest = REWRITES
    newer = replace(first, version=first.version + 1)
    lists = [(second, first, *rest), (newer, second, *rest), (first, *rest)]
    assert len({digest(), *map(digest, lists)}) == 4


def test_every_kind_of_node_is_known_to_the_machine() -> None:
    assert set(nodes.KINDS) - {nodes.Unknown} == set(lowering._KINDS)
    written = {
        kind.__name__
        for kind in nodes.Node.__subclasses__()
        if kind.__module__.startswith("cepheid.")  # other tests make up some of their own
    }
    assert written == {kind.__name__ for kind in nodes.KINDS}


# What a stream asks in `where`: whether that becomes a condition of its events.
ASKED = {
    "from A where v > 1": True,
    "from A(k = 'x') where v > 1 group by k having count(*) > 1": True,
    "from A#length(3) where v > 1": False,
    "from A where v > 1 output every 2 events": False,
    "from pattern [every A] where 1 > 0": False,
}


@pytest.mark.parametrize("clauses", ASKED)
def test_a_stream_asks_at_once_what_nothing_has_to_see_before(clauses: str) -> None:
    program = cep.parse(f"{SCHEMAS}select count(*) as n {clauses}").resolve()
    (before,), (after,) = program.statements, normalize(program).statements
    conditions = {str(print_expr(each)) for each in _parts(after.resolved.condition)}
    assert (after.resolved.where is None) is ASKED[clauses]
    assert conditions == {
        print_expr(part)
        for expr in (before.condition, before.where if ASKED[clauses] else None)
        for part in _parts(expr)
    }


def _parts(expr: Expr | None) -> list[Expr]:
    return [] if expr is None else [*conjuncts(expr)]
