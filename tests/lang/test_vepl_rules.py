"""Query events, rules and fixes as VEPL text: printing, formatting and JSON are inverse to parsing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import cepheid as cep
from cepheid.expr.tree import Part, Ref
from cepheid.lang.vepl.language import VEPL
from cepheid.program.actions import (
    Action,
    CallFunction,
    Choice,
    CreateObject,
    DeleteObject,
    EmitEvent,
    FeatureValue,
    MoveObject,
    SetFeature,
)
from cepheid.program.serialize import from_json, to_json
from cepheid.program.tree import ProgramTree, QuickFix, ReactiveRule, Trigger
from tests.effort import examples
from tests.strategies import expressions, optional, several

NAMES = st.sampled_from(("a", "host", "set", "if", "x y", "create", "else", "Some.thing"))
ARGUMENTS = optional(several(optional(NAMES), 0, 3))


def paths(least: int = 1) -> SearchStrategy[Ref]:
    return several(NAMES, least, 3).map(lambda names: Ref(tuple(map(Part, names))))


def actions() -> SearchStrategy[Action]:
    values = expressions()
    plain = st.one_of(
        st.builds(SetFeature, paths(2), values, st.sampled_from(("=", "+=", "-="))),
        st.builds(
            CreateObject,
            st.sampled_from(("Host", "sub.Host")),
            optional(NAMES),
            optional(paths(2)),
            several(st.builds(FeatureValue, NAMES, values), 0, 2),
        ),
        st.builds(DeleteObject, paths()),
        st.builds(MoveObject, paths(), paths(2)),
        st.builds(EmitEvent, NAMES, several(values, 0, 2)),
        st.builds(CallFunction, NAMES, several(values, 0, 2)),
    )
    return st.recursive(
        plain,
        lambda inner: st.builds(Choice, values, several(inner, 0, 2), several(inner, 0, 2)),
        max_leaves=4,
    )


BODIES = several(actions(), 0, 3)


@examples(150)
@given(BODIES, NAMES, several(st.builds(Trigger, NAMES, ARGUMENTS), 1, 2), ARGUMENTS)
def test_rules_read_back_as_printed_formatted_and_written(
    body: tuple[Action, ...],
    name: str,
    triggers: tuple[Trigger, ...],
    arguments: tuple[str | None, ...] | None,
) -> None:
    rule = ReactiveRule(name=name, triggers=triggers, body=body)
    fix = QuickFix(name=name, query="some.query", arguments=arguments, body=body)
    tree = ProgramTree((rule, fix))
    text = VEPL.print_program(tree)
    parsed = VEPL.parse(text, None)
    assert not parsed.problems
    assert parsed.tree == tree
    formatted = VEPL.format_text(text, None)
    assert VEPL.parse(formatted, None).tree == tree
    assert VEPL.format_text(formatted, None) == formatted
    assert from_json(json.loads(json.dumps(to_json(tree)))) == tree


TEXT = """
package p
import-queries q.r
queryEvent   gone( h :Host , n: int )as Host.cpu( h ,n )lost
@Priority( 2 ) rule r on gone(h,_) , told{ // why
if h.cpu>-3{ call f(h) // here
 } else if h.cpu is null { set h.cpu+=2 } else{ delete h } // there
   create App as a in h.runs{name='x',cpu=1}; emit told }
@Cost(2) fix f on tooMuch{ move a to h.runs }
"""


def test_formatting_keeps_comments_and_puts_every_step_on_a_line() -> None:
    formatted = VEPL.format_text(TEXT, None)
    assert VEPL.parse(formatted, None).tree == VEPL.parse(TEXT, None).tree
    assert formatted == (
        "package p\n"
        "import-queries q.r\n"
        "\n"
        "queryEvent gone(h: Host, n: int) as Host.cpu(h, n) lost\n"
        "\n"
        "@Priority(2)\n"
        "rule r on gone(h, _), told {  // why\n"
        "    if h.cpu > -3 {\n"
        "        call f(h)  // here\n"
        "    } else if h.cpu is null {\n"
        "        set h.cpu += 2\n"
        "    } else {\n"
        "        delete h\n"
        "    }  // there\n"
        "    create App as a in h.runs { name = 'x', cpu = 1 };\n"
        "    emit told\n"
        "}\n"
        "\n"
        "@Cost(2)\n"
        "fix f on tooMuch {\n"
        "    move a to h.runs\n"
        "}\n"
    )


@pytest.mark.parametrize(
    ("text", "place", "fact"),
    [
        ("rule r { }", (1, 8), "expected 'on' and an event, found '{'"),
        ("rule r on a(h) set h.x = 1", (1, 16), "expected '{' and the body of the rule"),
        ("rule r on a(h) { sett h.x = 1 }", (1, 18), "expected a step of the rule"),
        ("rule r on a(h) { set h = 1 }", (1, 24), "expected '.' and a feature"),
        ("rule r on a(h) { set h.x 1 }", (1, 26), "expected '=' and a value"),
        ("rule r on a(h) { move h h.x }", (1, 25), "expected 'to' and where it moves"),
        ("rule r on a(h) { if h.x = 1 delete h }", (1, 29), "expected '{'"),
        ("rule r on a(h) { delete h", (1, 26), "expected a step of the rule"),
        ("fix f on q(h) { delete }", (1, 24), "expected the object to delete"),
        ("queryEvent e(h: Host)", (1, 22), "expected 'as' and a query"),
        ("queryEvent e(h: strng) as q(h)", (1, 17), "no type 'strng' of parameters"),
    ],
)
def test_what_cannot_be_read_has_a_place(text: str, place: tuple[int, int], fact: str) -> None:
    [problem] = VEPL.parse(text, None).problems
    assert problem.span is not None
    assert (problem.span.line, problem.span.column) == place
    assert problem.message.startswith(fact)


def test_the_change_of_a_query_event_is_found_unless_it_is_said() -> None:
    text = "queryEvent e(h: Host) as q(h)"
    [schema] = cep.parse(text, "vepl").tree.schemas
    assert schema.query is not None
    assert schema.query.change == "found"
    assert schema.objects == (("h", "Host"),)


def test_other_languages_have_no_words_for_rules() -> None:
    program = cep.parse("atomicEvent a\nrule r on a { emit a }", "vepl")
    with pytest.raises(cep.UsageError, match="EPL has no words for 'r'"):
        program.to_text("epl")
    assert "rule r on a {" in str(program)
