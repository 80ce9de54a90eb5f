"""Programs as JSON: what goes in comes out, and what makes no sense is refused with its place."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.core.types import BOOLEAN, DOUBLE, INT, ArrayType, Attribute, EventRef
from cepheid.errors import ProgramError, Span
from cepheid.expr import tree as e
from cepheid.pattern import tree as p
from cepheid.program import tree as t
from cepheid.program.serialize import from_json, to_json
from tests.effort import examples
from tests.strategies import program_trees


@examples(150)
@given(program_trees())
def test_every_program_survives_json(tree: t.ProgramTree) -> None:
    text = json.dumps(to_json(tree), allow_nan=False)
    again = from_json(json.loads(text))
    assert again == tree


@examples(150)
@given(program_trees(), st.data())
def test_damaged_json_gives_a_diagnostic_or_a_program(
    tree: t.ProgramTree, data: st.DataObject
) -> None:
    form = json.loads(json.dumps(to_json(tree)))
    holder, key = data.draw(st.sampled_from(list(_places(form))))
    holder[key] = data.draw(st.sampled_from([None, 7, "x", [], {}, True, [[1]], {"node": "Not"}]))
    with suppress(ProgramError):  # and no other exception
        assert isinstance(from_json(form), t.ProgramTree)


def _places(data: Any) -> list[tuple[Any, Any]]:
    keys = list(data) if isinstance(data, dict) else range(len(data))
    found = [(data, key) for key in keys]
    for _, key in list(found):
        if isinstance(data[key], dict | list):
            found += _places(data[key])
    return found


def statement(**fields: Any) -> t.ProgramTree:
    usual: dict[str, Any] = {"select": (t.SelectAll(),), "source": t.StreamSource("A")}
    return t.ProgramTree((t.Statement(**(usual | fields)),))


def test_the_form_is_short_and_readable() -> None:
    condition = e.Binary(">=", e.Ref((e.Part("speed"),)), e.Literal(50, type=INT))
    source = t.PatternSource(p.Every(p.Atom("Motorbike", "a", condition)))
    assert to_json(statement(source=source)) == {
        "format": 1,
        "declarations": [
            {
                "node": "Statement",
                "select": [{"node": "SelectAll"}],
                "source": {
                    "node": "PatternSource",
                    "pattern": {
                        "node": "Every",
                        "child": {
                            "node": "Atom",
                            "event_type": "Motorbike",
                            "tag": "a",
                            "condition": {
                                "node": "Binary",
                                "operator": ">=",
                                "left": {
                                    "node": "Ref",
                                    "parts": [{"node": "Part", "name": "speed"}],
                                },
                                "right": {"node": "Literal", "type": "int", "value": 50},
                            },
                        },
                    },
                },
            }
        ],
    }


def test_places_and_inferred_types_are_left_out() -> None:
    span = Span(1, 1, 1, 2)
    where = e.Not(e.Ref((e.Part("x"),), type=BOOLEAN, span=span), type=BOOLEAN, span=span)
    text = json.dumps(to_json(statement(where=where)))
    assert "span" not in text
    assert "boolean" not in text


@pytest.mark.parametrize("name", ["A[]", "int[]", "int", "any", "[]", "A[][]"])
def test_an_event_type_may_be_called_like_another_type(name: str) -> None:
    for type in (EventRef(name), ArrayType(EventRef(name))):
        tree = t.ProgramTree((t.Schema(name="B", attributes=(Attribute("x", type),)),))
        assert from_json(to_json(tree)) == tree


def test_infinite_constants_survive() -> None:
    tree = statement(where=e.Literal(-math.inf, type=DOUBLE))
    assert from_json(json.loads(json.dumps(to_json(tree), allow_nan=False))) == tree


def statement_json(**fields: object) -> dict[str, object]:
    usual = {
        "node": "Statement",
        "select": [{"node": "SelectAll"}],
        "source": {"node": "StreamSource", "event_type": "A"},
    }
    return {"format": 1, "declarations": [usual | fields]}


@pytest.mark.parametrize(
    ("data", "message", "hint"),
    [
        ([], "program: the JSON form of a program is an object", None),
        ({}, "program format 'none'", "known formats: 1"),
        ({"format": 2}, "program format 2", "known formats: 1"),
        ({"format": 1}, "program: the field 'declarations' is missing", None),
        ({"format": 1, "declaration": []}, "program: no field 'declaration'", "did you mean 'declarations'?"),
        ({"format": 1, "declarations": 3}, "declarations: 3 is not a list", None),
        ({"format": 1, "declarations": [{"node": "Statment"}]}, "declarations[0]: no node 'Statment'", "did you mean 'Statement'?"),
        ({"format": 1, "declarations": [{"node": "Times"}]}, "declarations[0]: no node 'Times' here", "nodes: ComplexClass, Context, Query, QuickFix, ReactiveRule, Schema, Statement, SubscribedClass"),
        ({"format": 1, "declarations": [{"node": "Schema"}]}, "declarations[0]: the field 'name' of Schema is missing", None),
        (statement_json(wher=None), "declarations[0]: no field 'wher'", "did you mean 'where'?"),
        (statement_json(stream="both"), "declarations[0].stream: 'both' is not one of them", "choices: istream, rstream, irstream"),
        (statement_json(distinct=1), "declarations[0].distinct: 1 is not true or false", None),
        (statement_json(window={"node": "Window"}), "declarations[0].window: no node 'Window'", "did you mean 'TimeWindow'?"),
        (statement_json(where={"node": "Ref", "parts": []}), "declarations[0].where: a name needs a part", None),
        (statement_json(where={"node": "And", "operands": []}), "declarations[0].where: `and` needs two operands", None),
        (statement_json(where={"node": "Case", "operand": None, "branches": [], "otherwise": None}), "declarations[0].where: `case` needs a branch", None),
        (statement_json(where={"node": "Negate", "operand": {"node": "Literal", "value": 5, "type": "int"}}), "declarations[0].where: the opposite of a number is a number", None),
        (statement_json(where={"node": "Literal", "value": 2**31, "type": "int"}), "declarations[0].where: 2147483648 is not a value of type int", None),
        (statement_json(output={"node": "OutputRate"}), "declarations[0].output: an output rate needs `every`, `after` or `when`", None),
        (statement_json(output={"node": "OutputRate", "every": -3}), "declarations[0].output: `every` needs an amount", None),
        (statement_json(insert_stream="rstream"), "declarations[0]: `insert rstream` needs a type to insert into", None),
        (statement_json(select=[]), "declarations[0]: a select list needs an item", None),
        (statement_json(limit={"node": "Limit", "count": -1}), "declarations[0].limit: a limit is never negative", None),
        (statement_json(limit={"node": "Limit", "count": 2**63}), "declarations[0].limit.count: 9223372036854775808 is not a whole number of 64 bits", None),
        (statement_json(source={"node": "PatternSource", "pattern": {"node": "AllOf", "parts": []}}), "declarations[0].source.pattern: `and` needs two parts", None),
        (statement_json(window={"node": "LengthWindow", "size": True}), "declarations[0].window.size: True is not a whole number of 64 bits", None),
        (statement_json(window={"node": "TimeWindow", "period": {"node": "Period", "microseconds": -1}}), "declarations[0].window.period: a period is never negative", None),
        (statement_json(output={"node": "OutputRate", "every": "x"}), "declarations[0].output.every: 'x' does not belong here", None),
        (statement_json(where={"node": "Literal", "value": 1, "type": "string"}), "declarations[0].where: 1 is not a value of type string", None),
        (statement_json(where={"node": "Literal", "value": {"float": "1"}, "type": "double"}), "declarations[0].where.value: {'float': '1'} is not a number", None),
        (statement_json(where={"node": "Cast", "operand": {"node": "Ref", "parts": [{"node": "Part", "name": "x"}]}, "target": 7}), "declarations[0].where.target: 7 is not a type", None),
        (statement_json(where={"node": "Case", "operand": None, "branches": [[None]], "otherwise": None}), "declarations[0].where.branches[0]: a list of 2 is needed, not of 1", None),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(
    data: object, message: str, hint: str | None
) -> None:
    with pytest.raises(ProgramError) as caught:
        from_json(data)
    [finding] = caught.value.diagnostics
    assert (finding.message, finding.hint) == (message, hint)
