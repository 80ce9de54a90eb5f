"""VEPL text: what is accepted, what is said of the rest, and that printing and parsing are inverse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.errors import Severity
from cepheid.lang.vepl.language import VEPL
from cepheid.pattern.algebra import Occurrence
from cepheid.program.tree import PatternSource
from tests.algebra.generators import forms
from tests.effort import examples

ATOMS = "".join(f"atomicEvent a{n}\n" for n in range(1, 7))


def codes(text: str) -> list[str]:
    """The codes of the errors in a text."""
    try:
        found = cep.parse(text, language="vepl").check(without=["races"])
    except cep.ProgramError as refused:
        found = list(refused.diagnostics)
    return sorted({f.code for f in found if f.severity is Severity.ERROR})


def shown(form: str) -> str:
    """A form as it is printed, with all brackets that it needs."""
    tree = cep.parse(f"{ATOMS}complexEvent c() {{ as {form} }}", language="vepl").tree
    source = tree.statements[0].source
    assert isinstance(source, PatternSource)
    assert isinstance(source.pattern, Occurrence)
    return VEPL.print_pattern(source.pattern)


# What the original accepted, and what it refused.
ACCEPTED = [
    f"(a1 {operator} a2){count}{window}"
    for operator in ("->", "OR", "AND")
    for count in ("", "{10}", "{+}")
    for window in ("", "[1000]")
]
ACCEPTED += [
    "a1{*}->a2",
    "a1{*} AND a2",
    "(a1 -> a2{*}) -> a3",
    "(a1 -> (a2 -> a3{*})) -> a4",
    "a1",
]
REFUSED = {
    **{f"(a1 {operator} a2){{*}}": "impossible-repeat" for operator in ("->", "OR", "AND")},
    "(a1 -> a2){*}[1000]": "impossible-repeat",
    "a1{*}": "impossible-repeat",
    "a1{*} OR a2": "impossible-repeat",
    "a1[1000]": "bad-window",
    "a1{1}": "impossible-repeat",
    # The original took these; here an absence needs a span.
    "NOT a1": "misplaced-not",
    "(NOT a1)[1000]": "misplaced-not",
    "(NOT a1){10}": "misplaced-not",
    "a1 -> NOT a2": "misplaced-not",
    "NOT a1 -> a2": "misplaced-not",
    "a1 AND NOT a2": "misplaced-not",
    "a1 -> NOT (NOT a2) -> a3": "misplaced-not",
    "a1 -> NOT a2{*} -> a3": "impossible-repeat",
    "(NOT a1 AND NOT a2)[1000]": "misplaced-not",
    "(a1 -> NOT a2)[holdsFor 1 second]": "misplaced-not",
    "(a1 -> NOT a2){2}": "misplaced-not",
    "(a1 -> a2)[0]": "bad-period",
    "a1 -> NOT (a2 -> NOT a3)[1000] -> a4": "misplaced-not",
    "a1" + " -> a2 OR a3" * 600: "too-deep",
    "(a1 -> a2){2:1}": "impossible-repeat",
}


@pytest.mark.parametrize("form", ACCEPTED)
def test_forms_that_are_accepted(form: str) -> None:
    assert codes(f"{ATOMS}complexEvent c() {{ as {form} }}") == []


@pytest.mark.parametrize("form", REFUSED)
def test_forms_that_are_refused(form: str) -> None:
    assert codes(f"{ATOMS}complexEvent c() {{ as {form} }}") == [REFUSED[form]]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("atomicEvent a\natomicEvent a", "duplicate-name"),
        ("atomicEvent a(p: Stringg)", "unknown-type"),
        ("atomicEvent a(p: int) { check p > 'x' }", "type-mismatch"),
        ("atomicEvent a(p: int) { check q > 1 }", "unknown-attribute"),
        ("atomicEvent a(p: int)\ncomplexEvent c() { as a(x, y) -> a }", "wrong-arguments"),
        ("atomicEvent a(p: int)\ncomplexEvent c() { as a() -> a }", "wrong-arguments"),
        (
            "atomicEvent a(p: int)\natomicEvent b(p: string)\ncomplexEvent c() { as a(x) -> b(x) }",
            "type-mismatch",
        ),
        ("atomicEvent alpha\ncomplexEvent c() { as alpha -> alpa }", "unknown-type"),
        ("atomicEvent a\ncomplexEvent c() { as a -> d }\ncomplexEvent d() { as a -> c }", "cycle"),
        ("atomicEvent a\ncomplexEvent c { as a -> a }", "syntax"),
        ("atomicEvent a\ncomplexEvent c() { a -> a }", "syntax"),
        ("atomicEvent a\ncomplexEvent c() { as a -> }", "syntax"),
        ("atomicEvent a\ncomplexEvent c() { as a -> a context recent }", "syntax"),
        ("atomicEvnt a", "syntax"),
        ("trait t { p: int }", "unsupported"),
    ],
)
def test_what_is_wrong_has_a_code(text: str, code: str) -> None:
    assert codes(text) == [code]


def test_one_broken_declaration_hides_no_other() -> None:
    text = "atomicEvent a(p int)\ncomplexEvent c() { as a -> }\natomicEvent b\ncomplexEvent d() { as b[5] }"
    with pytest.raises(cep.ProgramError) as refused:
        cep.parse(text, language="vepl")
    places = [(d.span.line, d.code) for d in refused.value.diagnostics if d.span]
    assert places == [(1, "syntax"), (2, "syntax"), (4, "bad-window")]


@pytest.mark.parametrize(
    ("form", "read"),
    [
        ("a1 OR a2 -> a3", "(a1 OR a2) -> a3"),
        ("a1 -> a2 OR a3", "(a1 -> a2) OR a3"),
        ("a1 -> a2 -> a3 AND a4 AND a5 -> a6", "((a1 -> a2 -> a3) AND a4 AND a5) -> a6"),
        ("NOT a1{2}[5] -> a2", "NOT a1{2}[within 5 milliseconds] -> a2"),
    ],
)
def test_how_operators_without_precedence_are_read(form: str, read: str) -> None:
    assert shown(form) == read


def test_mixed_operators_are_a_warning_with_the_reading() -> None:
    text = f"{ATOMS}complexEvent c() {{ as a1 OR a2 -> a3 }}"
    [warning] = cep.parse(text, language="vepl").warnings
    assert warning.code == "mixed-operators"
    assert warning.hint == "write (a1 OR a2) -> a3"
    assert not cep.parse(
        f"{ATOMS}complexEvent c() {{ as (a1 OR a2) -> a3 }}", language="vepl"
    ).warnings


TEXT = """
package p.q
import a.b.*
context strict
// about a
atomicEvent a(p:int){check p>1} // behind a
complexEvent   c( x : int ){
  // inside
  as a( x ){2:3}->(NOT a(_) -> a)  // behind the form
  context immediate   global
}
"""


def test_formatting_keeps_comments_and_changes_nothing_the_second_time() -> None:
    formatted = VEPL.format_text(TEXT, None)
    assert VEPL.parse(formatted, None).tree == VEPL.parse(TEXT, None).tree
    assert VEPL.format_text(formatted, None) == formatted
    assert formatted == (
        "package p.q\n"
        "import a.b.*\n"
        "context strict\n"
        "\n"
        "// about a\n"
        "atomicEvent a(p: int) {\n"
        "    check p > 1\n"
        "}  // behind a\n"
        "\n"
        "complexEvent c(x: int) {\n"
        "    // inside\n"
        "    as a(x){2:3} -> (NOT a(_) -> a)  // behind the form\n"
        "    context immediate global\n"
        "}\n"
    )


CONTEXTS = ("chronicle", "immediate", "strict", "immediate global")


@examples(150)
@given(st.lists(st.tuples(forms(2), st.sampled_from(CONTEXTS)), max_size=3))
def test_printing_and_formatting_are_inverse_to_parsing(parts: list[tuple[str, str]]) -> None:
    text = "".join(f"atomicEvent {name}(p: int, q: int)\n" for name in "abc")
    for number, (form, context) in enumerate(parts):
        text += f"complexEvent c{number}(x: int) {{ as {form} context {context} }}\n"
    tree = VEPL.parse(text, None).tree
    assert VEPL.parse(VEPL.print_program(tree), None).tree == tree
    formatted = VEPL.format_text(text, None)
    assert VEPL.parse(formatted, None).tree == tree
    assert VEPL.format_text(formatted, None) == formatted


def test_both_languages_feed_each_other() -> None:
    epl = "@Name('Many') insert into Many select count(*) as n from Pair#length(5) having count(*) > 1;"
    vepl = "atomicEvent a(p: int)\natomicEvent b(p: int)\ncomplexEvent Pair(x: int) { as a(x) -> b(x) }"
    program = cep.Program(
        cep.parse(vepl, language="vepl").tree + cep.parse(epl, types={"Pair": {"x": "int"}}).tree
    )
    events = [{"@type": t, "@time": n, "p": n // 2} for n, t in enumerate("abab")]
    rows = [(row.type, dict(row.values_)) for row in cep.run(program, events)]
    assert rows == [("Pair", {"x": 0}), ("Pair", {"x": 1}), ("Many", {"n": 2})]
    assert cep.Program.from_json(program.to_json()) == program
    assert "create schema" not in str(program)
    assert "complexEvent Pair" in str(program)
