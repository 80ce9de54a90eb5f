"""`@Allow('code', 'why')`: one kind of finding is silenced at one declaration."""

from __future__ import annotations

from pathlib import Path

import pytest

import cepheid as cep
from cepheid.expr.python import PythonFunction
from cepheid.lang.vepl.language import VEPL
from cepheid.program.seal import program_digest
from cepheid.program.serialize import from_json, to_json

SCHEMA = "create schema A (k string, v int);\n"
GROWS = "@Name('S') select median(v) as m from A;"
ALLOWED = f"@Allow('unbounded-state', 'a short run') {GROWS}"


def codes(program: cep.Program) -> list[str]:
    return [f.code for f in program.check() if f.code != "retention"]


def test_a_finding_is_silenced_at_its_statement_and_nowhere_else() -> None:
    assert codes(cep.parse(SCHEMA + GROWS)) == ["unbounded-state"]
    assert codes(cep.parse(SCHEMA + ALLOWED)) == []
    other = GROWS.replace("'S'", "'R'").replace("median", "stddev")
    assert codes(cep.parse(SCHEMA + ALLOWED + other)) == ["unbounded-state"]


def test_the_note_of_a_schema_and_what_is_said_of_a_text_can_be_silenced_too() -> None:
    allowed = "@Allow('retention', 'known') create schema A (k string, v int);"
    assert [f.code for f in cep.parse(f"{allowed} select k from A").check()] == []
    mixed = "@Name('M') select v from A(v > 1 and v < 5 or v = 9);"
    found = {f.code for f in cep.parse(SCHEMA + mixed).check(without=["retention"])}
    for code in found:
        allowed = f"@Allow('{code}', 'meant') {mixed}"
        assert code not in codes(cep.parse(SCHEMA + allowed))


def test_an_allowance_that_silences_nothing_is_a_note() -> None:
    [finding] = [
        f
        for f in cep.parse(f"{SCHEMA}@Allow('implied', 'levels') select v from A").check()
        if f.code == "unused-allow"
    ]
    assert finding.severity is cep.Severity.NOTE
    assert "'implied'" in finding.message


def test_an_allowance_is_not_called_unused_where_analyses_are_left_out() -> None:
    found = cep.parse(SCHEMA + ALLOWED).check(without=["state", "retention"])
    assert found == []


@pytest.mark.parametrize(
    "annotation",
    [
        "@Allow('nothing', 'why')",
        "@Allow('race', '')",
        "@Allow('race', '  ')",
        "@Allow('race')",
        "@Allow",
        "@Allow(code='race')",
    ],
)
def test_an_allowance_without_a_code_or_a_reason_is_an_error(annotation: str) -> None:
    found = cep.parse(f"{SCHEMA}{annotation} select v from A").check()
    assert [(f.code, f.severity) for f in found if f.severity is cep.Severity.ERROR] == [
        ("bad-annotation", cep.Severity.ERROR)
    ]


def test_an_error_cannot_be_silenced() -> None:
    found = cep.parse(f"{SCHEMA}@Allow('unknown-attribute', 'later') select w from A").check()
    assert "unknown-attribute" in [f.code for f in found]


def test_an_allowance_survives_printing_the_json_form_and_the_builder() -> None:
    program = cep.parse(SCHEMA + ALLOWED)
    assert codes(cep.parse(str(program))) == []
    assert from_json(to_json(program.tree)) == program.tree
    schema = cep.schema("A", k="string", v="int")
    built = cep.stream("A").select(m=cep.agg.median(cep.col("v"))).named("S")
    assert codes(cep.compose(schema, built)) == ["unbounded-state"]
    allowed = built.annotated("Allow", "unbounded-state", "a short run")
    assert codes(cep.compose(schema, allowed)) == []


def test_rules_and_events_of_vepl_have_allowances() -> None:
    text = (
        "atomicEvent a(p: int)\natomicEvent b(p: int)\ncomplexEvent c(p: int) { as a(p) -> b(p) }"
    )
    [code] = set(codes(cep.parse(text, language="vepl"))) - {"unused-type"}
    allowed = text.replace("complexEvent", f"@Allow('{code}', 'a short run')\ncomplexEvent")
    program = cep.parse(allowed, language="vepl")
    assert code not in codes(program)
    assert "@Allow" in VEPL.print_program(program.tree)


def test_an_allowance_changes_no_saved_state() -> None:
    plain, allowed = cep.parse(SCHEMA + GROWS), cep.parse(SCHEMA + ALLOWED)
    assert program_digest(plain.resolve()) == program_digest(allowed.resolve())


def test_a_program_that_allows_something_keeps_its_functions_of_python() -> None:
    def risk(version: str) -> PythonFunction:
        return cep.function("risk", lambda v: v, arguments=["int"], returns="int", version=version)

    def digest(text: str, version: str) -> str:
        return program_digest(cep.parse(SCHEMA + text, functions=[risk(version)]).resolve())

    calls = "@Name('S') select median(risk(v)) as m from A;"
    allowed = f"@Allow('unbounded-state', 'a short run') {calls}"
    assert digest(calls, "1") == digest(allowed, "1") != digest(allowed, "2")
    function = risk("1")
    median = cep.agg.median(cep.call(function, cep.col("v")))
    built = cep.stream("A").select(m=median).named("S")
    grown = built.annotated("Allow", "unbounded-state", "a short run")
    assert codes(cep.compose(function, cep.schema("A", k="string", v="int"), grown)) == []


def test_other_findings_of_a_statement_stay_and_annotations_have_no_case() -> None:
    other = "@Allow('unused-type', 'meant') " + GROWS
    assert sorted(codes(cep.parse(SCHEMA + other))) == ["unbounded-state", "unused-allow"]
    assert codes(cep.parse(SCHEMA + ALLOWED.replace("@Allow", "@allow"))) == []


def test_an_allowance_of_one_file_is_none_of_another(tmp_path: Path) -> None:
    (tmp_path / "a.epl").write_text(SCHEMA + ALLOWED)
    (tmp_path / "b.epl").write_text("\n" + GROWS.replace("'S'", "'R'").replace("median", "stddev"))
    assert codes(cep.load(tmp_path / "a.epl", tmp_path / "b.epl")) == ["unbounded-state"]


def test_a_finding_of_what_was_built_has_no_place() -> None:
    schema = cep.schema("A", k="string", v="int")
    built = cep.stream("A").select(m=cep.agg.median(cep.col("v"))).named("S")
    [finding] = [
        f
        for f in cep.compose(schema, built.annotated("Allow", "race", "meant")).check()
        if f.code == "unbounded-state"
    ]
    assert finding.span is None
