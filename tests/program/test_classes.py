"""Classes in a program: resolved in their order, event types to statements, nodes of the graph."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import cepheid as cep
from cepheid.core.types import DOUBLE, LONG, STRING, Attribute
from cepheid.drawing.graph import to_dot
from cepheid.errors import Severity
from cepheid.program.classes import Reaction, SubscribedClass
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.serialize import from_json, to_json
from tests.lang.test_bicepl import TRAVEL

A = "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT, x NUMBER, t TIMESTAMP) ID (k) FREEZING TIME 2d;"


def derived(name: str, *sources: str) -> str:
    tables = ", ".join(f"{source} {source.lower()}1" for source in sources)
    first = f"{sources[0].lower()}1"
    return (
        f"CREATE COMPLEX EVENT CLASS {name}(k TEXT) ID (k) OBSERVATION SPAN 2d"
        f" AS SELECT {first}.k FROM {tables} OCCURRING AT {first};"
    )


def program(classes: str, statements: str = "") -> cep.Program:
    return cep.compose(cep.parse(classes, "bicepl"), cep.parse(statements))


def resolved(classes: str, statements: str = "") -> ResolvedProgram:
    found = program(classes, statements).resolve()
    assert not [p for p in found.problems if p.severity is Severity.ERROR]
    return found


def errors(classes: str, statements: str = "") -> list[tuple[str, str]]:
    found = program(classes, statements).check()
    return [(f.code, f.message) for f in found if f.severity is Severity.ERROR]


def test_classes_stand_after_what_they_read_and_otherwise_as_in_the_text() -> None:
    text = derived("D", "C", "A") + derived("C", "B") + A + derived("B", "A") + derived("E", "A")
    found = resolved(text)
    assert [each.name for each in found.classes] == ["A", "B", "C", "D", "E"]
    assert [each.reads for each in found.classes] == [(), ("A",), ("B",), ("C", "A"), ("A",)]
    assert found.input_types == ("A",)


def test_the_sql_of_a_class_is_resolved() -> None:
    found = resolved(
        A.replace(";", " ON LATE(0s, 1h) DO f(NEW.x, NEW), ON CHANGE DO g();") + derived("B", "A")
    )
    told, derived_class = found.classes
    assert told.query is None
    assert isinstance(told.declared, SubscribedClass)
    assert [*told.table.columns] == ["k", "x", "t", "occ", "det"]
    first, second = told.reactions
    assert isinstance(first.declared, Reaction)
    assert first.condition.primitives == {"LATE()"}
    assert len(first.arguments) == 2
    assert second.arguments == ()
    assert derived_class.query is not None
    assert derived_class.query.reads == ("A",)


def test_a_program_without_classes_loads_no_library_for_them() -> None:
    code = (
        "import sys, cepheid as cep;"
        "p = cep.parse('create schema A (x int); select x from A'); p.check(); p.graph();"
        "assert not p.resolve().classes; print('sqlglot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("sources", "cycle"),
    [
        ({"B": ["B"]}, "'B' derives its events from itself: B -> B"),
        (
            {"B": ["A", "C"], "C": ["D"], "D": ["B"]},
            "'B' derives its events from itself: B -> D -> C -> B",
        ),
    ],
)
def test_a_class_that_derives_its_events_from_itself_is_refused(
    sources: dict[str, list[str]], cycle: str
) -> None:
    text = A + "".join(derived(name, *read) for name, read in sources.items())
    assert errors(text) == [("recursive-class", cycle)]


def test_a_cycle_by_way_of_statements_is_refused() -> None:
    through = """
        @Name('S') insert into Late select k from B(kind = 'change');
        @Name('T') insert into A select k, 1.0 as x from Late;
    """
    message = "'A' derives its events from itself: A -> B -> S -> T -> A"
    assert errors(A + derived("B", "A"), through) == [("recursive-class", message)]
    alone = through.replace("from B", "from A")
    assert errors(A, alone) == [
        ("recursive-class", "'A' derives its events from itself: A -> S -> T -> A")
    ]


def test_names_belong_to_one_class_or_schema() -> None:
    twice = A + A.replace("CLASS A", "CLASS a")
    assert errors(twice) == [("duplicate-name", "'a' is declared twice")]
    assert errors(A, "create schema A (x int)") == [("duplicate-name", "'A' is declared twice")]
    message = "statement 'A' would derive the type 'A', which it takes"
    assert ("duplicate-name", message) in errors(A, "@Name('A') select k as y from A")


# To statements.


def test_to_statements_a_class_is_a_stream_of_what_became_known() -> None:
    found = resolved(A, "@Name('S') select k, t, occ, det, x from A(kind = 'change')")
    assert found.types["A"].attributes == (
        *(Attribute("k", STRING), Attribute("x", DOUBLE), Attribute("t", LONG)),
        *(Attribute("occ", LONG), Attribute("det", LONG), Attribute("kind", STRING)),
    )
    [statement] = found.statements
    assert [str(column.expr.type) for column in statement.columns] == [
        *("string", "long", "long", "long", "double")
    ]
    assert errors(A, "select y from A") == [("unknown-attribute", "no attribute 'y' in A")]


def test_complex_events_may_be_made_of_events_of_classes() -> None:
    vepl = "complexEvent twice(k: string) { as A(k, _, _, _, _, _){2} }"
    found = cep.compose(cep.parse(A, "bicepl"), cep.parse(vepl, "vepl")).check()
    assert not [f for f in found if f.severity is Severity.ERROR]


def test_statements_tell_subscribed_classes_of_events() -> None:
    schema = "create schema R (k string, n int);"
    found = resolved(A, f"{schema} @Name('S') insert into A select k, n as x from R")
    assert found.input_types == ("R",)
    wrong = {
        "select n as x from R": "'k' is in the key of A, and this statement lacks it",
        "select k, n as y from R": "no attribute 'y' in A",
        "select k, 'a' as x from R": "'x' of A is double, not string",
        "select k, 5L as det from R": "'det' of A cannot be inserted",
    }
    for select, message in wrong.items():
        assert message in [m for _, m in errors(A, f"{schema} insert into A {select}")]
    into_complex = errors(A + derived("B", "A"), f"{schema} insert into B select k from R")
    assert into_complex == [
        ("unsupported", "'B' derives its events itself: no statement inserts into it")
    ]


def test_rules_make_no_events_of_classes_happen() -> None:
    vepl = "atomicEvent e(k: string) rule r on e(k) { emit A(k, k, k, k, k, k) }"
    found = cep.compose(cep.parse(A, "bicepl"), cep.parse(vepl, "vepl")).check()
    assert "'A' happens by itself: a rule cannot make it happen" in [f.message for f in found]


# The graph.

STATEMENTS = """
    create schema R (k string);
    @Name('Seen') insert into A select k from R;
    @Name('Moves') insert into Moved select k from A(kind = 'change');
    @Name('Ends') insert into Ended select b.k as k from pattern [every b=B(kind = 'cancellation')];
"""


def test_classes_are_nodes_of_the_graph_between_statements() -> None:
    graph = program(A + derived("B", "A"), STATEMENTS).graph()
    data = graph.to_json()
    nodes, edges = data["nodes"], data["edges"]
    assert isinstance(nodes, list)
    assert isinstance(edges, list)
    assert {node["id"]: node["level"] for node in nodes} == {
        "type:R": 0,
        "statement:Seen": 1,
        "class:A": 2,
        "class:B": 3,
        "statement:Moves": 3,
        "type:Moved": 3,
        "statement:Ends": 4,
        "type:Ended": 4,
    }
    assert {(edge["from"], edge["to"]) for edge in edges} == {
        *(("type:R", "statement:Seen"), ("statement:Seen", "class:A"), ("class:A", "class:B")),
        *(("class:A", "statement:Moves"), ("statement:Moves", "type:Moved")),
        *(("class:B", "statement:Ends"), ("statement:Ends", "type:Ended")),
    }
    assert graph.producers == ((), (), ())  # what is told at rounds follows nothing at once
    assert '"statement:Seen" -> "type:A"' in to_dot(graph)


def test_a_class_that_nothing_tells_of_events_stands_at_level_zero() -> None:
    graph = program(A + derived("B", "A")).graph()
    assert graph.class_levels == (0, 1)
    assert graph.levels == ()


def test_programs_of_classes_and_statements_print_and_survive_json() -> None:
    found = program(A + derived("B", "A"), STATEMENTS)
    assert from_json(json.loads(found.to_json())) == found.tree
    assert to_json(found.tree) == json.loads(found.to_json())
    assert "CREATE COMPLEX EVENT CLASS B(k TEXT)" in str(found)


@pytest.mark.parametrize(
    "stage", ["normal", "automaton", "plan", "graph", "types", "program", "parse"]
)
def test_every_stage_shows_programs_with_classes(
    stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from cepheid.cli.stages import OVERVIEW, STAGES

    for found in (program(TRAVEL), program(A + derived("B", "A"), STATEMENTS)):
        for shown in (STAGES[stage], OVERVIEW):
            assert list(shown.text(found)) is not None
            json.dumps(shown.data(found))


def test_wrong_types_of_attributes_are_told() -> None:
    data = json.loads(cep.parse(A, "bicepl").to_json())
    data["declarations"][0]["attributes"][1]["type"] = "int[]"
    found = cep.Program(from_json(data)).check()
    assert [f.message for f in found] == ["attribute 'x' of A is int[]"]
