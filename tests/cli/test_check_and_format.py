"""`cepheid check` and `cepheid format`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import PROGRAM, Run

Write = Callable[[str, str], Path]

pytestmark = pytest.mark.usefixtures("folder")

WRONG = """\
create schema A (speed int);
@Name('S') select a.sped from pattern [every a=A];
"""


def test_a_good_program_has_no_findings(cepheid: Run) -> None:
    outcome = cepheid("check", "p.epl", "--without", "retention")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "no findings: 2 statements, 4 event types\n"
    assert cepheid("check", "p.epl", "--without", "retention", "--json").data == []


def test_a_note_says_how_long_the_events_of_each_type_matter(cepheid: Run) -> None:
    outcome = cepheid("check", "p.epl")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines() == [
        "p.epl:1:1: note[retention]: events of A can matter for 10 seconds to 'Pair'",
        "    create schema A (id string, x int);",
        "    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        "p.epl:3:1: note[retention]: events of B can matter for 10 seconds to 'Pair'",
        "    create schema B (id string, x int);",
        "    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        "2 notes in 2 statements",
    ]


def test_a_finding_shows_its_place_its_line_and_a_hint(cepheid: Run, write: Write) -> None:
    write("w.epl", WRONG)
    outcome = cepheid("check", "w.epl")
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        "w.epl:2:19: error[unknown-attribute]: no attribute 'sped' in A",
        "    @Name('S') select a.sped from pattern [every a=A];",
        "                      ^^^^^^",
        "    hint: did you mean 'speed'?",
        "1 error in 1 statement",
    ]


def test_findings_as_json_have_their_fields(cepheid: Run, write: Write) -> None:
    write("w.epl", WRONG)
    outcome = cepheid("check", "w.epl", "--json")
    assert outcome.code == 1
    assert outcome.data == [
        {
            "code": "unknown-attribute",
            "severity": "error",
            "message": "no attribute 'sped' in A",
            "file": "w.epl",
            "line": 2,
            "column": 19,
            "end_line": 2,
            "end_column": 25,
            "hint": "did you mean 'speed'?",
            "combined": False,
            "fixes": [
                {
                    "title": "write speed",
                    "edits": [
                        {
                            "file": "w.epl",
                            "line": 2,
                            "column": 21,
                            "end_line": 2,
                            "end_column": 25,
                            "replacement": "speed",
                        }
                    ],
                }
            ],
        }
    ]


def test_syntax_and_meaning_of_all_files_are_checked_at_once(cepheid: Run, write: Write) -> None:
    write("w.epl", WRONG)
    write("v.epl", "selec 1;\nselect sped from A;")
    found = cepheid("check", "w.epl", "v.epl", "--json").data
    places = [(f["file"], f["line"], f["code"]) for f in found]
    assert places == [
        ("w.epl", 2, "unknown-attribute"),
        ("v.epl", 1, "syntax"),
        ("v.epl", 2, "unknown-attribute"),
    ]
    assert cepheid("check", "w.epl", "v.epl").out.endswith("3 errors in w.epl, v.epl\n")


def test_a_finding_of_the_combination_is_marked(cepheid: Run, write: Write) -> None:
    write("q.epl", PROGRAM)
    found = cepheid("check", "p.epl", "q.epl", "--json").data
    assert found
    assert all(finding["combined"] for finding in found)
    assert "only in this combination" in cepheid("check", "p.epl", "q.epl").out


def test_notes_are_harmless(cepheid: Run, write: Write) -> None:
    write("n.epl", "@Name('S') select x from Unheard;")
    outcome = cepheid("check", "n.epl")
    assert (outcome.code, "note[no-schema]" in outcome.out) == (0, True)
    assert outcome.out.endswith("2 notes in 1 statement\n")


def test_check_needs_a_program(cepheid: Run) -> None:
    assert cepheid("check").code == 2


DIAMOND = """\
create schema A (v int);
@Name('P') insert into B select v from A; // one way
@Name('Q') insert into C select v from A;
@Name('R') select b.v as v from pattern [every b=B -> c=C where timer:within(1 sec)];
"""


def test_the_events_that_show_a_race_are_written_and_replay(cepheid: Run, write: Write) -> None:
    path = write("d.epl", DIAMOND)
    outcome = cepheid("check", "d.epl", "--witness", "shown")
    assert (outcome.code, outcome.err) == (1, "wrote shown/race_1.jsonl\n")
    run = ("run", "d.epl", "--events", "shown/race_1.jsonl", "--type", "R")
    assert len(cepheid(*run, "--format", "jsonl").rows) == 1
    lines = DIAMOND.splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[2], lines[1], lines[3]]))
    assert cepheid(*run, "--format", "jsonl").rows == []


def test_priorities_are_written_into_the_program(cepheid: Run, write: Write) -> None:
    path = write("d.epl", DIAMOND)
    outcome = cepheid("check", "d.epl", "--fix-priorities")
    assert (outcome.code, outcome.err) == (0, "wrote priorities into d.epl\n")
    text = path.read_text()
    assert "@Priority(3)\n@Name('P') insert into B select v from A; // one way\n" in text
    assert cepheid("check", "d.epl", "--fix-priorities").err == ""
    assert path.read_text() == text


def test_a_wrong_program_gets_no_priorities(cepheid: Run, write: Write) -> None:
    path = write("d.epl", DIAMOND + "select nope from A;")
    assert cepheid("check", "d.epl", "--fix-priorities").code == 1
    assert path.read_text() == DIAMOND + "select nope from A;"


def test_an_analysis_can_be_left_out(cepheid: Run, write: Write) -> None:
    write("d.epl", DIAMOND)
    names = ("races", "priorities", "retention")
    found = cepheid("check", "d.epl", "--json", *(f"--without={name}" for name in names))
    assert (found.code, found.data) == (0, [])
    outcome = cepheid("check", "d.epl", "--without", "rases")
    assert outcome.code == 2
    assert "did you mean 'races'?" in outcome.err
    outcome = cepheid("check", "d.epl", "--without", "races, priorities")
    assert outcome.code == 2
    assert "one each: --without races --without priorities" in outcome.err


@pytest.mark.parametrize(
    ("file", "start"), [("g.svg", "<svg"), ("new/g.dot", "digraph"), ("g.json", "{")]
)
def test_the_graph_is_drawn(cepheid: Run, file: str, start: str) -> None:
    assert cepheid("check", "p.epl", "--graph", file).code == 0
    assert Path(file).read_text().startswith(start)


def test_the_graph_of_a_file_is_that_of_the_stage(cepheid: Run) -> None:
    cepheid("check", "p.epl", "--graph", "g.json")
    stage = cepheid("explain", "p.epl", "--stage", "graph", "--json").data
    assert json.loads(Path("g.json").read_text()) == stage


def test_a_graph_needs_a_known_form(cepheid: Run) -> None:
    outcome = cepheid("check", "p.epl", "--graph", "g.png", "--fix-priorities")
    assert outcome.code == 2
    assert "name a .svg, .dot or .json file" in outcome.err


# Format.

UNTIDY = "// what comes in\ncreate   schema A(x int) ; select x /* the value */ from A"


def test_a_program_is_rewritten_in_place_with_its_comments(cepheid: Run, write: Write) -> None:
    path = write("u.epl", UNTIDY)
    outcome = cepheid("format", "u.epl")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "formatted u.epl\n")
    text = path.read_text()
    assert text.startswith("// what comes in\ncreate schema A (x int);\n")
    assert "/* the value */" in text
    assert cepheid("format", "u.epl").err == ""
    assert cepheid("format", "--check", "u.epl").code == 0


def test_checking_the_form_changes_nothing(cepheid: Run, write: Write) -> None:
    path = write("u.epl", UNTIDY)
    outcome = cepheid("format", "--check", "p.epl", "u.epl")
    assert (outcome.code, outcome.err) == (1, "would change u.epl\n")
    assert path.read_text() == UNTIDY


def test_the_form_can_be_printed(cepheid: Run, write: Write) -> None:
    path = write("u.epl", UNTIDY)
    printed = cepheid("format", "u.epl", "--stdout").out
    assert printed.startswith("// what comes in\ncreate schema A (x int);\n")
    assert path.read_text() == UNTIDY
    assert cepheid("format", "-", stdin=UNTIDY).out == printed


def test_a_broken_program_stays_and_the_others_are_formatted(cepheid: Run, write: Write) -> None:
    broken, untidy = write("b.epl", "selec x;"), write("u.epl", UNTIDY)
    outcome = cepheid("format", "b.epl", "u.epl")
    assert outcome.code == 1
    assert "b.epl:1:1: error[syntax]" in outcome.err
    assert broken.read_text() == "selec x;"
    assert untidy.read_text() != UNTIDY


def test_broken_text_on_standard_input_is_refused(cepheid: Run) -> None:
    assert "<stdin>:1:1: error[syntax]" in cepheid("format", "-", stdin="selec x;").err
    outcome = cepheid("format", "-", stdin=b"select \xff from A;")
    assert (outcome.code, outcome.out) == (1, "")
    assert "not UTF-8 on line 1" in outcome.err


def test_check_and_stdout_contradict_each_other(cepheid: Run) -> None:
    assert cepheid("format", "p.epl", "--check", "--stdout").code == 2


def test_json_is_valid_for_any_file_name(cepheid: Run, write: Write) -> None:
    write('a"b.epl', WRONG)
    assert json.loads(cepheid("check", 'a"b.epl', "--json").out)[0]["file"] == 'a"b.epl'


# Graph queries.

QUERIES = "pattern busy(h : Host) {\n    Host.availableCpu(h, n);\n    check(n > 90);\n}\n"
METAMODEL = str(Path(__file__).parents[1] / "live" / "files" / "cps.ecore")


def test_queries_alone_are_checked_for_their_syntax(cepheid: Run, write: Write) -> None:
    write("q.vql", QUERIES)
    outcome = cepheid("check", "q.vql")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines() == [
        "q.vql:1:1: note[no-metamodel]: the classes and features that queries name were not looked"
        " up",
        "    pattern busy(h : Host) {",
        "    ^^^^^^^^^^^^",
        "    hint: name the metamodel: --metamodel FILE.ecore",
        "1 note in 1 pattern",
    ]
    write("w.vql", QUERIES.replace(" > 90)", " > )"))
    found = cepheid("check", "q.vql", "w.vql", "--json")
    assert found.code == 1
    assert [(f["file"], f["line"], f["code"]) for f in found.data] == [("w.vql", 3, "syntax")]


def test_queries_are_checked_against_their_metamodel(cepheid: Run, write: Write) -> None:
    pytest.importorskip("pyecore")
    write("q.vql", QUERIES)
    outcome = cepheid("check", "q.vql", "--metamodel", METAMODEL)
    assert (outcome.code, outcome.out) == (0, "no findings: 1 pattern\n")
    write("q.vql", QUERIES.replace("availableCpu", "availablCpu"))
    outcome = cepheid("check", "q.vql", "--metamodel", METAMODEL)
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        "q.vql:2:5: error[unknown-feature]: no feature 'availablCpu' in Host",
        "        Host.availablCpu(h, n);",
        "        ^^^^^^^^^^^^^^^^^^^^^^",
        "    hint: did you mean 'availableCpu'?",
        "1 error in 1 pattern",
    ]


def test_queries_of_one_name_in_two_files_are_reported(cepheid: Run, write: Write) -> None:
    pytest.importorskip("pyecore")
    write("q.vql", QUERIES)
    write("r.vql", QUERIES)
    found = cepheid("check", "q.vql", "r.vql", "--metamodel", METAMODEL, "--json").data
    assert [(f["file"], f["line"], f["code"]) for f in found] == [("r.vql", 1, "duplicate-name")]


def test_a_broken_metamodel_is_an_error_of_the_check(cepheid: Run, write: Write) -> None:
    pytest.importorskip("pyecore")
    write("q.vql", QUERIES)
    write("m.ecore", "<ecore:EPackage")
    outcome = cepheid("check", "q.vql", "--metamodel", "m.ecore")
    assert outcome.code == 1
    assert "error[bad-model]" in outcome.out
    assert cepheid("check", "q.vql", "--metamodel", "none.ecore").code == 2


def test_queries_are_formatted_with_their_comments(cepheid: Run, write: Write) -> None:
    path = write("q.vql", "pattern busy(h:Host){Host.availableCpu(h,n);check(n>90)} // hot")
    assert cepheid("format", "--check", "q.vql").code == 1
    assert cepheid("format", "q.vql").err == "formatted q.vql\n"
    assert path.read_text() == QUERIES.rstrip("\n") + "  // hot\n"
    assert cepheid("format", "--check", "q.vql").code == 0
