"""What one may do about findings, as edits of the text."""

from __future__ import annotations

import pickle

import pytest

import cepheid as cep
from cepheid.editing.places import apply
from cepheid.errors import Diagnostic, is_slip

SCHEMA = "create schema A (speed int, `two words` int);\n"


def findings(text: str, language: str) -> list[Diagnostic]:
    try:
        program = cep.parse(text, language)
    except cep.ProgramError as problem:
        return list(problem.diagnostics)
    return list(program.check())


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("select spede from A", "select speed from A"),
        ("select a.sped as x from pattern [every a=A];", "select a.speed as x from pattern [every a=A];"),
        ("select two_words from A", "select `two words` from A"),
        ("select speed from AA", "select speed from A"),
        ("create schema B (x itn);", "create schema B (x int);"),
        ("create schema B (x int, y varchar);", "create schema B (x int, y string);"),
        ("create schema B (x itn[])", "create schema B (x int[])"),
        ("select speed frm A", "select speed from A"),
        ("select abz(speed) as x from A", "select abs(speed) as x from A"),
        ("select speed from A#tme(5 sec)", "select speed from A#time(5 sec)"),
        ("select speed from A#time(1h30m)", "select speed from A#time(1 hour 30 minutes)"),
        ("select speed from A where speed == 1", "select speed from A where speed = 1"),
        ("select speed from A where speed = 1 && speed < 2", "select speed from A where speed = 1 and speed < 2"),
        ("select 'x as y from A", "select 'x as y from A'"),
        ("select “x” as y from A", 'select "x" as y from A'),
        ("select speed from A\\nselect speed from A", "select speed from A;\\nselect speed from A"),
        ("@Nmae('x') select speed from A", "@Name('x') select speed from A"),
        ("select speed as select from A", "select speed as `select` from A"),
        ("select speed from A /* so", "select speed from A /* so */"),
        ("@EventTime(attribute='times') create schema B (time long)", "@EventTime(attribute='time') create schema B (time long)"),
    ],
)  # fmt: skip
def test_a_fix_writes_what_was_meant(wrong: str, right: str) -> None:
    text = SCHEMA + wrong.replace("\\n", "\n")
    fixes = [fix for finding in findings(text, "epl") for fix in finding.fixes]
    assert apply(text, fixes[0].edits) == SCHEMA + right.replace("\\n", "\n")


def test_a_fix_of_operators_without_precedence_only_adds_brackets() -> None:
    atoms = "".join(f"atomicEvent a{n}()\n" for n in range(1, 6))
    text = atoms + "complexEvent c() { as a1 OR a2 /* or */ -> a3 -> a4 AND a5 }\n"
    (finding,) = (f for f in findings(text, "vepl") if f.code == "mixed-operators")
    after = apply(text, finding.fixes[0].edits)
    assert "as ((a1 OR a2) /* or */ -> a3 -> a4) AND a5 }" in after
    again = cep.parse(after, "vepl")
    assert (again.tree, again.warnings) == (cep.parse(text, "vepl").tree, ())


def test_where_it_is_not_plain_what_is_meant_there_is_no_fix() -> None:
    text = (
        SCHEMA + "create context C partition by sped and sped from A; context C select speed from A"
    )
    slips = [finding for finding in findings(text, "epl") if is_slip(finding)]
    assert slips
    assert all(finding.fixes == () for finding in slips)


def test_findings_with_fixes_travel_between_processes() -> None:
    for finding in findings(SCHEMA + "select spede from A", "epl"):
        there = pickle.loads(pickle.dumps(finding))
        assert there == finding
        assert is_slip(there) == is_slip(finding)
        assert there.to_json() == finding.to_json()


RACE = """\
create schema X (x int);
@Name('a') insert into A select x from X; // kept
@Name('b') insert into B select x from X(x > 1);
@Name('pair') insert into Pair select a.x as x from pattern [every a=A -> b=B(x = a.x)];
"""


def test_a_race_is_fixed_by_priorities() -> None:
    [race] = [each for each in findings(RACE, "epl") if each.code == "race"]
    [fix] = race.fixes
    fixed = apply(RACE, fix.edits)
    assert fixed == cep.parse(RACE).with_priorities().sources["<text>"]
    assert "// kept" in fixed
    assert not [each for each in findings(fixed, "epl") if each.code == "race"]


def test_a_race_of_a_program_that_has_no_text_has_no_fix() -> None:
    program = cep.Program(cep.parse(RACE).tree)
    assert [each.fixes for each in program.check() if each.code == "race"] == [()]
