"""Properties in programs: written, printed, kept; refused where they mean nothing."""

from __future__ import annotations

import json

import pytest

import cepheid as cep
from cepheid.lang.epl.formatter import format_text
from cepheid.program.properties import kind_of, negated

SCHEMA = "create schema A (v int);\n\n"
NEVER = """@Property(kind='never')
@Name('TwoHot')
select a.v as v
from pattern [every a=A(v > 9) -> b=A(v > 9)];
"""
ALWAYS = """@Property(kind='always')
@Name('Small')
insert into Small
select a.v as v
from pattern [every a=A(v < 9)];
"""


@pytest.mark.parametrize("text", [SCHEMA + NEVER, SCHEMA + ALWAYS])
def test_a_property_survives_printing_formatting_and_json(text: str) -> None:
    program = cep.parse(text)
    assert program.resolve().problems == ()
    assert str(program) == text
    assert format_text(text) == text
    assert cep.parse(str(program)) == program
    assert cep.Program.from_json(program.to_json()) == program
    assert "Property" in json.dumps(json.loads(program.to_json()))


def test_a_property_is_built_in_python() -> None:
    hot = cep.event("a", "A", cep.col("v") > 9)
    query = cep.match(cep.every(hot)).select("a.v").named("Hot").annotated("Property", kind="never")
    program = cep.compose(cep.schema("A", v="int"), query)
    assert cep.parse(str(program)) == program
    assert kind_of(program.tree.statements[0]) == "never"


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("@Property select v from pattern [a=A]", "@Property needs a kind"),
        ("@Property('never') select a.v from pattern [a=A]", "@Property needs a kind"),
        ("@Property(kind='sometimes') select a.v from pattern [a=A]", "never, eventually, always"),
        ("@Property(kind='never', of=3) select a.v from pattern [a=A]", "@Property needs a kind"),
        ("@Property(kind='never') select v from A", "a property is a pattern"),
        ("@Property(kind='always') select a.v from pattern [a=A(v > 1)]", "on single events"),
        ("@Property(kind='always') select a.v from pattern [every a=A]", "on single events"),
        ("@Property(kind='always') select a.v from pattern [every a=A -> A]", "on single events"),
        (
            "@Property(kind='always') select a.v from pattern [every a=A(v > 1)]#length(2)",
            "on single events",
        ),
    ],
)
def test_what_means_nothing_is_refused(text: str, fact: str) -> None:
    findings = cep.parse(SCHEMA + text).resolve().problems
    errors = [finding for finding in findings if finding.code == "bad-annotation"]
    assert len(errors) == 1
    assert fact in errors[0].message
    assert errors[0].span is not None


def test_a_slip_is_noticed() -> None:
    program = cep.parse(SCHEMA + "@Propetry(kind='never') select a.v from pattern [a=A]")
    assert "did you mean '@Property'?" in str(program.warnings[0])


def test_an_invariant_is_broken_by_its_negation_and_by_nothing_else() -> None:
    program = cep.parse(SCHEMA + ALWAYS)
    contrary = negated(program.tree.statements[0], "not Small")
    assert contrary.insert_into is None
    assert kind_of(contrary) is None
    both = cep.Program(cep.parse(SCHEMA + ALWAYS).tree + type(program.tree)((contrary,)))
    events = [{"@type": "A", "@time": n, "v": v} for n, v in enumerate((8, 9, None))]
    assert [row.type for row in cep.run(both, events)] == ["Small", "not Small"]
