"""`cepheid explain`: every stage for people and for programs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import cepheid as cep
from cepheid.cli.explain import STAGES as NAMED_STAGES
from cepheid.cli.stages import STAGES
from cepheid.errors import CATALOGUE
from cepheid.verbs import pipeline
from tests.cli.conftest import EXAMPLES, Run
from tests.effort import some

Write = Callable[[str, str], Path]

pytestmark = pytest.mark.usefixtures("folder")


def test_the_help_names_every_stage() -> None:
    assert " or ".join([", ".join(list(STAGES)[:-1]), list(STAGES)[-1]]) == NAMED_STAGES


def test_every_stage_is_a_step_of_the_pipeline() -> None:
    steps = [f for f in vars(pipeline).values() if inspect.isfunction(f) and f.__doc__]
    named = [re.match(r"`--stage (\w+)`(?: and `(\w+)`)?", f.__doc__ or "") for f in steps]
    assert {name for found in named if found for name in found.groups() if name} == set(STAGES)


PROGRAMS = sorted(EXAMPLES.glob("*/*.epl"))


@pytest.mark.parametrize("program", some(PROGRAMS, every=2), ids=lambda path: path.stem)
def test_every_stage_of_every_example_can_be_shown(cepheid: Run, program: Path) -> None:
    for options in ([], *(["--stage", stage] for stage in STAGES)):
        outcome = cepheid("explain", str(program), *options)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out
        assert cepheid("explain", str(program), *options, "--json").data


def test_the_overview_lists_the_statements(cepheid: Run) -> None:
    lines = [line.split() for line in cepheid("explain", "p.epl").out.splitlines()]
    assert lines[0] == ["2", "statements,", "4", "event", "types"]
    assert ["Pair", "A,", "B", "Pair"] in lines
    assert ["Big", "A", "Big"] in lines


@pytest.mark.parametrize("columns", [40, 60, 80])
@pytest.mark.parametrize("stage", [[], ["--stage", "types"]])
def test_no_width_cuts_a_name(
    cepheid: Run, monkeypatch: pytest.MonkeyPatch, columns: int, stage: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    program = EXAMPLES / "motorbike" / "motorbike_partitioned.epl"
    out = cepheid("explain", str(program), *stage).out
    words = set(out.replace(",", " ").split())
    assert words >= {"DriverLeftSeat", "DangerousLocation", "AccidentsReport", "motorbikeId"}
    assert "…" not in out


def test_the_parsed_declarations_are_in_canonical_form(cepheid: Run) -> None:
    found = cepheid("explain", "p.epl", "--stage", "parse", "--json").data
    assert [(d["kind"], d["name"], d["line"]) for d in found] == [
        ("schema", "A", 1),
        ("schema", "B", 3),
        ("statement", "Pair", 5),
        ("statement", "Big", 10),
    ]
    assert cep.parse("".join(d["text"] for d in found)) == cep.load("p.epl")
    assert "statement Pair p.epl:5" in cepheid("explain", "p.epl", "--stage", "parse").out


def test_the_program_as_json_is_the_program(cepheid: Run) -> None:
    text = cepheid("explain", "p.epl", "--stage", "program", "--json").out
    assert cep.Program.from_json(text) == cep.load("p.epl")


def test_the_program_for_people_has_its_types(cepheid: Run) -> None:
    out = cepheid("explain", "p.epl", "--stage", "program").out
    assert "columns: id string, first int, second int" in out
    assert "filter: x > 100" in out


def test_the_types_say_where_they_come_from(cepheid: Run) -> None:
    found = cepheid("explain", "p.epl", "--stage", "types", "--json").data
    assert {type["name"]: type["derived_by"] for type in found} == {
        "A": [],
        "B": [],
        "Pair": ["Pair"],
        "Big": ["Big"],
    }


def test_the_graph_has_nodes_and_edges(cepheid: Run) -> None:
    graph = cepheid("explain", "p.epl", "--stage", "graph", "--json").data
    assert {node["id"] for node in graph["nodes"]} >= {"type:A", "statement:Pair", "type:Pair"}
    edges = {(edge["from"], edge["to"], edge["kind"]) for edge in graph["edges"]}
    assert edges == {
        ("type:A", "statement:Pair", "reads"),
        ("type:B", "statement:Pair", "reads"),
        ("statement:Pair", "type:Pair", "derives"),
        ("type:A", "statement:Big", "reads"),
        ("statement:Big", "type:Big", "derives"),
    }


def test_the_graph_is_a_tree_for_people(cepheid: Run, write: Write) -> None:
    write(
        "g.epl",
        "create schema A (x int);\n"
        "@Name('S') insert into B select x from A;\n"
        "insert into C select x from B; insert into B select x from C;",
    )
    out = cepheid("explain", "g.epl", "--stage", "graph").out
    assert out.splitlines() == [
        "A (input)",
        "└── B by S",
        "    └── C by statement_2",
        "        └── B by statement_3 (see elsewhere)",
    ]


def test_a_long_chain_and_a_lonely_cycle_can_be_drawn(cepheid: Run, write: Write) -> None:
    chain = [f"insert into T{n + 1} select x from T{n};" for n in range(50)]
    write("chain.epl", "\n".join(["create schema T0 (x int);", *chain]))
    out = cepheid("explain", "chain.epl", "--stage", "graph").out
    assert all(f"T{n} " in out for n in range(51))
    assert max(map(len, out.splitlines())) < 100
    write("cycle.epl", "create schema A (x int); insert into A select x from A;")
    assert "A (derived from itself)" in cepheid("explain", "cycle.epl", "--stage", "graph").out


def test_inheritance_shows_in_the_graph(cepheid: Run, write: Write) -> None:
    write(
        "i.epl",
        "create schema A (x int); create schema B (y int) inherits A;\n@Name('S') select x from A;",
    )
    edges = cepheid("explain", "i.epl", "--stage", "graph", "--json").data["edges"]
    assert {"from": "type:B", "to": "type:A", "kind": "inherits"} in edges
    out = cepheid("explain", "i.epl", "--stage", "graph").out
    assert "B (input)\n└── S" in out


def test_a_wrong_program_is_explained_as_far_as_it_goes(cepheid: Run, write: Write) -> None:
    write("w.epl", "create schema A (x int);\n@Name('S') select y from A;")
    outcome = cepheid("explain", "w.epl", "--stage", "types")
    assert outcome.code == 1
    assert "x" in outcome.out
    assert "w.epl:2:19: error[unknown-attribute]" in outcome.err


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_code_has_a_meaning(cepheid: Run, code: str) -> None:
    told_first = cepheid("explain", "--code", code).out.splitlines()[0]
    assert told_first == f"{code}: {CATALOGUE[code]}"
    told = cepheid("explain", "--code", code, "--json").data
    assert {"cause", "example", "fix"} < set(told)
    assert (told["code"], told["meaning"]) == (code, CATALOGUE[code])


@pytest.mark.parametrize("args", [["--code", "unbound-tg"], ["p.epl", "--stage", "grap"], []])
def test_what_cannot_be_explained_is_wrong_use(cepheid: Run, args: list[str]) -> None:
    outcome = cepheid("explain", *args)
    assert (outcome.code, outcome.out) == (2, "")
    assert "hint: " in outcome.err


WRONG = (
    "create schema A (k string); create schema B (k string);"
    " create context C partition by k from A;"
    " context C select * from pattern [every a=A -> b=B];",
    "create schema A (k string); context None select * from A;",
    "create schema A (k string); select * from pattern [every a=A -> b=Aa(k = a.j)];",
    "create schema A (k string); select j, count(*) as n from A group by j;",
)


@pytest.mark.parametrize("text", WRONG)
@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_bears_a_wrong_program(
    cepheid: Run, write: Write, text: str, stage: str
) -> None:
    write("w.epl", text)
    assert cepheid("explain", "w.epl", "--stage", stage).code == 1
    assert cepheid("explain", "w.epl", "--stage", stage, "--json").code == 1


def test_the_plan_tells_how_statements_split(cepheid: Run) -> None:
    program = str(EXAMPLES / "motorbike" / "motorbike.epl")
    plan = {s["name"]: s for s in cepheid("explain", program, "--stage", "plan", "--json").data}
    assert plan["Crash"]["key"] == {"Motorbike": ["motorbikeId"]}
    assert plan["GhostRider"]["key"] == {}
    assert plan["DriverLeftSeat"]["key"] is None
    assert "one match at a time" in plan["DriverLeftSeat"]["key_reason"]
    context = "create context PerMotorbikeId partition by motorbikeId from Motorbike"
    assert context in plan["DriverLeftSeat"]["key_reason"]
    assert (plan["Accident"]["state"], plan["Crash"]["state"]) == ("unbounded", "bounded")
    assert plan["Accident"]["retention"]["Crash"] is None
    assert plan["GhostRider"]["retention"] == {"Motorbike": "0 seconds"}


def test_the_plan_has_these_fields(cepheid: Run) -> None:
    pair, big = cepheid("explain", "p.epl", "--stage", "plan", "--json").data
    assert pair == {
        "name": "Pair",
        "output": "Pair",
        "inputs": ["A", "B"],
        "key": {"A": ["id"], "B": ["id"]},
        "key_reason": "its runs are independent, and each is tied to one key",
        "retention": {"A": "10 seconds", "B": "10 seconds"},
        "state": "bounded",
        "runs_on": pair["runs_on"],
        "batches": "chain",
        "columns": {"A": ["id", "x"], "B": ["id", "x"]},
    }
    assert pair["runs_on"] in ("matcher", "reference")
    assert list(big) == list(pair)


PLAN = """\
statement   splits by                           because
Pair        id                                  its runs are independent, and each is tied to one
                                                key
Big         anything                            each event stands for itself
Pairs       nothing: one part sees all events   its window counts the rows of all keys; to run it
                                                per id: create context PerId partition by id from
                                                Pair; context PerId select ...
statement   its events matter for   state     runs on
Pair        10 seconds              bounded   ENGINE
Big         its instant             bounded   ENGINE
Pairs       ever                    bounded   ENGINE
statement   takes batches        because
Pair        whole, as a chain
Big         whole, as a filter
Pairs       whole, as a window
stage   splits by                           statements   takes             derives
1       id                                  Pair, Big    A                 Pair, Big
                                                         B
2       nothing: one part sees all events   Pairs        Pair of stage 1   Pairs
to stage   events   attributes that travel   only if
1          A        id, x                    always
1          B        id, x                    always
2          Pair     id                       always
"""


def test_the_plan_for_people(cepheid: Run, write: Write) -> None:
    statement = "@Name('Pairs') select id, count(*) as n from Pair#length(5) group by id;"
    write("q.epl", Path("p.epl").read_text() + statement)
    out = cepheid("explain", "q.epl", "--stage", "plan").out
    lines = [line.rstrip() for line in out.splitlines()]
    told = [line.replace("reference", "ENGINE").replace("matcher", "ENGINE") for line in lines]
    assert [line for line in told if line.strip("─ ")] == PLAN.splitlines()


NORMAL = """\
Pair
└── each match begins the next
    ├── every
    │   └── wait for a=A
    │       └── about the event: v > 1
    └── wait for b=A, fail after 2 seconds
        ├── equal: k = a.k
        └── about others too: v < a.v
Big
└── every
    └── wait for A
        └── about the event: v > 2
"""


def test_the_normal_stage_says_what_each_statement_waits_for(cepheid: Run, write: Write) -> None:
    text = """
    create schema A (k string, v int);
    @Name('Pair') select a.k as k from pattern
        [every a=A(v > 1) -> b=A(k = a.k and v < a.v) where timer:within(2 sec)];
    @Name('Big') select k from A(v > 2);
    """
    write("n.epl", text)
    out = cepheid("explain", "n.epl", "--stage", "normal").out
    assert [line.rstrip() for line in out.splitlines()] == NORMAL.splitlines()
    pair, big = cepheid("explain", "n.epl", "--stage", "normal", "--json").data
    assert (pair["name"], big["name"]) == ("Pair", "Big")
    [_, last] = pair["source"]["parts"]
    assert last == {
        "node": "Wait",
        "does": "wait for b=A, fail after 2 seconds",
        "file": "n.epl",
        "line": 4,
        "event": {
            "type": "A",
            "tag": "b",
            "conditions": {"equal": ["k = a.k"], "about others too": ["v < a.v"]},
        },
        "parts": [],
    }


def test_the_matcher_stage_shows_the_machine_form_and_what_is_left_out(
    cepheid: Run, folder: Path
) -> None:
    text = """
    create schema A (k string, v int);
    @Name('Two') select a.k as k from pattern
        [every a=A(v > 1) -> b=A(k=a.k) where timer:within(2 sec)];
    @Name('Rest') select k from A output when count_insert > 2;
    """
    (folder / "m.epl").write_text(text)
    out = cepheid("explain", "m.epl", "--stage", "matcher").out
    assert "left to the reference semantics: " in out
    assert "wait b=A(k = a.k); fails after 2 seconds" in out
    shown = cepheid("explain", "m.epl", "--stage", "matcher", "--json").data
    two = next(s for s in shown["statements"] if s["name"] == "Two")
    assert [(n["kind"], n["steps"]) for n in two["nodes"]] == [
        ("root", []),
        ("followed", []),
        ("every", []),
        ("wait", ["a=A(v > 1)"]),
        ("wait", ["b=A(k = a.k)"]),
    ]
    assert list(two["nodes"][4]["code"]) == ["key of the event 0", "key of the run 0"]
    assert shown["lanes"] == {"Two": "chain"}


def test_the_matcher_stage_tells_what_takes_whole_batches(cepheid: Run, folder: Path) -> None:
    text = """
        create schema A (k string, v int);
        @Name('One') select k from A(v > 1);
        @Name('All') select count(*) as n from A#length(3);
    """
    (folder / "m.epl").write_text(text)
    shown = cepheid("explain", "m.epl", "--stage", "matcher").out
    assert "batches run whole: One as a filter, All as a window;" in shown
    lanes = cepheid("explain", "m.epl", "--stage", "matcher", "--json").data["lanes"]
    assert lanes == {"One": "filter", "All": "window"}


def test_the_matcher_stage_tells_why_a_complex_event_is_not_compiled(
    cepheid: Run, folder: Path
) -> None:
    events = "atomicEvent A(k: int)\natomicEvent B(k: int)\n"
    loop = "complexEvent Loop(k: int) { as A(k){3} }\n"
    long = "complexEvent Long(k: int) { as A(k) -> NOT (A(k) -> B(k)) -> B(k) }\n"
    (folder / "l.vepl").write_text(events + loop)
    shown = cepheid("explain", "l.vepl", "--stage", "matcher").out
    assert "batches run whole: Loop as a token automaton;" in shown
    (folder / "m.vepl").write_text(events + loop + long)
    shown = " ".join(cepheid("explain", "m.vepl", "--stage", "matcher").out.split())
    assert "Long does not take whole batches either: NOT of more than one event at 4:40" in shown
    found = cepheid("explain", "m.vepl", "--stage", "matcher", "--json").data
    assert found["uncompiled"] == {"Long": "NOT of more than one event"}
    assert found["lanes"] == {"Loop": "token automaton"}  # which has nothing to do with Long


@pytest.mark.parametrize("text", ["select k from A", "create schema A (v int); select w from A"])
def test_programs_that_cannot_run_yet_have_no_machine_form(
    cepheid: Run, folder: Path, text: str
) -> None:
    (folder / "m.epl").write_text(text)
    assert cepheid("explain", "m.epl", "--stage", "matcher", "--json").data["statements"] == []


VEPL = """
atomicEvent a(p: int)
atomicEvent b(p: int)
complexEvent found(x: int) { as (a(x) -> NOT b(x))[within 2 seconds] }
"""


def test_the_automaton_says_which_part_of_the_pattern_a_transition_comes_from(
    cepheid: Run, write: Write
) -> None:
    write("p.vepl", VEPL)
    [statement] = cepheid("explain", "p.vepl", "--stage", "automaton", "--json").data
    found = statement["automaton"]
    assert found["transitions"] == [
        {
            "from": 0,
            "to": 1,
            "event": "a",
            "binds": {"x": "p"},
            "enters": [0],
            "written": {"file": "p.vepl", "line": 4, "column": 34, "text": "a(x)"},
        },
        {
            "from": 1,
            "to": 2,
            "end of zone": 0,
            "leaves": [0],
            "written": {
                "file": "p.vepl",
                "line": 4,
                "column": 33,
                "text": "(a(x) -> NOT b(x))[within 2 seconds]",
            },
        },
        {
            "from": 1,
            "to": 3,
            "forbidden": 0,
            "binds": {"x": "p"},
            "written": {"file": "p.vepl", "line": 4, "column": 42, "text": "NOT b(x)"},
        },
    ]
    assert found["states"][1] == {"number": 1, "kind": "normal", "zones": [0], "watches": [0]}
    assert [watch["written"]["text"] for watch in found["watches"]] == ["NOT b(x)"]


@pytest.mark.parametrize(("stage", "shown"), [("automaton", "NOT b(x)"), ("graph", "found")])
def test_some_stages_can_be_drawn(cepheid: Run, write: Write, stage: str, shown: str) -> None:
    write("p.vepl", VEPL)
    outcome = cepheid("explain", "p.vepl", "--stage", stage, "--draw", "new/picture.svg")
    assert (outcome.code, outcome.err) == (0, "")
    picture = Path("new/picture.svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    assert shown in picture


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        (("--stage", "types", "--draw", "p.svg"), "there is no picture of this"),
        (("--draw", "p.svg"), "there is no picture of this"),
        (("--stage", "graph", "--draw", "p.png"), "no picture can be written as 'p.png'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    cepheid: Run, write: Write, options: tuple[str, ...], fact: str
) -> None:
    write("p.vepl", VEPL)
    outcome = cepheid("explain", "p.vepl", *options)
    assert outcome.code == 2
    assert fact in outcome.err


CLASSES = """\
CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x INTEGER) ID (k) FREEZING TIME (10m);
CREATE MUTABLE SUBSCRIBED EVENT CLASS B(k INTEGER, x INTEGER) ID (k) FREEZING TIME (5m);
CREATE COMPLEX EVENT CLASS C(k INTEGER) ID (k) OBSERVATION SPAN (1h)
AS SELECT a.k FROM A a, B b WHERE a.k = b.x OCCURRING AT a + 2m
ON ANNOUNCEMENT DO act(1), ON NEW > NOW DO act(2);
CREATE COMPLEX EVENT CLASS D(k INTEGER) ID (k) OBSERVATION SPAN (1h)
AS SELECT q.k FROM (SELECT c.k AS k, c.occ AS t FROM C c) q OCCURRING AT q.t;
"""


def test_life_spans_are_shown_with_their_derivation(cepheid: Run, write: Write) -> None:
    write("c.bicepl", CLASSES)
    derived = cepheid("explain", "c.bicepl", "--stage", "lifespans", "--json").data["classes"]
    found = {times["class"]: times for times in derived}
    assert list(found) == ["A", "B", "C", "D"]
    spread = found["C"]["spread"]
    assert spread["period"] == "1 hour 2 minutes"
    assert (
        spread["because"] == "2 x 0 (spread of A) + 1 hour (observation span) + 2 minutes (offset)"
    )
    assert found["C"]["incept_spread"]["period"] == "1 hour 22 minutes"
    assert found["D"]["spread"]["period"] == "3 hours 4 minutes"
    assert found["D"]["freezing_time"]["because"] == "that of C, the longest"
    life = found["B"]["life_span"]
    assert life["because"] == (
        "10 minutes (freezing time of C) + 3 hours 24 minutes (incept spread of D)"
    )
    assert life["microseconds"] == (10 + 204) * 60 * 1_000_000
    out = cepheid("explain", "c.bicepl", "--stage", "lifespans").out
    assert "1 hour 22 minutes" in out
    assert "kept after its time" in out


def test_the_plan_of_classes_says_what_a_change_makes_it_do(cepheid: Run, write: Write) -> None:
    write("c.bicepl", CLASSES)
    found = {
        c["class"]: c for c in cepheid("explain", "c.bicepl", "--stage", "plan", "--json").data
    }
    assert found["C"]["keeps_up_by_keys"] == ["A", "B"]
    assert found["C"]["runs_whole"] == {}
    assert "B(x)" in found["C"]["indexes"]
    assert found["C"]["statements"] == [
        {"on": "ANNOUNCEMENT", "edged": True},
        {"on": "NEW > NOW", "edged": False},
    ]
    assert found["D"]["runs_whole"] == {"C": "it reads from a query"}
    out = cepheid("explain", "c.bicepl", "--stage", "plan").out
    assert "the keys that it reaches" in out
    assert "all of it: it reads from a query" in out
    assert "in every round while it is true" in out


def test_the_plan_of_classes_says_which_queries_run_once_per_change_on_spark(
    cepheid: Run, write: Write
) -> None:
    write(
        "c.bicepl",
        """CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x INTEGER) ID (k) FREEZING TIME (1d);
CREATE COMPLEX EVENT CLASS C(k INTEGER, x INTEGER) ID (k) OBSERVATION SPAN (1d)
AS SELECT a.k, a.x FROM A a WHERE a.x IN (SELECT COUNT(*) FROM A b GROUP BY b.x) OCCURRING AT a;
CREATE COMPLEX EVENT CLASS D(k INTEGER, x INTEGER) ID (k) OBSERVATION SPAN (1d)
AS SELECT a.k, a.x FROM A a
WHERE a.x IN (SELECT COUNT(*) FROM A b WHERE b.k > a.k GROUP BY b.x) OCCURRING AT a;""",
    )
    found = {
        c["class"]: c for c in cepheid("explain", "c.bicepl", "--stage", "plan", "--json").data
    }
    assert found["C"]["on_spark"] == {"runs": "once"}
    assert found["D"]["on_spark"] == {
        "runs": "per change",
        "at_most": 10_000,
        "because": "IN asks groups that are tied to the query around them",
        "place": "c.bicepl:6:7",
    }
    out = " ".join(cepheid("explain", "c.bicepl", "--stage", "plan").out.split())
    assert "C for all rounds at once" in out
    assert "D once per change of what it reads, at most 10,000: IN asks groups" in out


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    "text",
    [CLASSES, CLASSES.replace("FROM A a", "FROM D a"), CLASSES.replace("a.k = b.x", "a.q = 1")],
)
def test_every_stage_takes_classes(cepheid: Run, write: Write, stage: str, text: str) -> None:
    write("c.bicepl", text)
    for options in ([], ["--json"]):
        done = cepheid("explain", "c.bicepl", "--stage", stage, *options)
        assert done.code == (0 if text == CLASSES else 1)
        assert done.out or stage == "normal"


def test_a_program_without_classes_has_no_life_spans(cepheid: Run) -> None:
    assert cepheid("explain", "p.epl", "--stage", "lifespans").out.startswith("no life spans")
