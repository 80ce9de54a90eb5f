"""Programs as JSON: what goes in comes out, and what makes no sense is refused with its place."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.core.time import Period
from cepheid.core.types import (
    ANY,
    BOOLEAN,
    DOUBLE,
    INT,
    LONG,
    NULL,
    STRING,
    ArrayType,
    Attribute,
    DataType,
    EventRef,
    RecordType,
)
from cepheid.errors import ProgramError, Span
from cepheid.expr import tree as e
from cepheid.pattern import tree as p
from cepheid.pattern.schedule import Schedule
from cepheid.program import tree as t
from cepheid.program.serialize import from_json, to_json

NAMES = st.sampled_from(["a", "b", "Speed"])
MAYBE_NAMES = st.none() | NAMES
FLAGS = st.booleans()
COUNTS = st.integers(1, 3)
PERIODS = st.builds(Period, st.integers(0, 5), st.integers(0, 2))
TYPES: st.SearchStrategy[DataType] = st.recursive(
    st.sampled_from([STRING, BOOLEAN, INT, ANY, EventRef("Position"), EventRef("any")]),
    lambda inner: (
        st.builds(ArrayType, inner)
        | st.builds(
            lambda types: RecordType(tuple(Attribute(f"x{i}", x) for i, x in enumerate(types))),
            st.lists(inner, max_size=2),
        )
    ),
    max_leaves=3,
)
ATTRIBUTES = st.lists(st.builds(Attribute, NAMES, TYPES), max_size=2).map(tuple)
SCALARS = st.none() | FLAGS | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text("x'\n")
LITERALS = st.one_of(
    st.text("ab'", max_size=2).map(lambda v: e.Literal(v, type=STRING)),
    st.integers(-3, 3).map(lambda v: e.Literal(v, type=INT)),
    st.integers(-3, 3).map(lambda v: e.Literal(v, type=LONG)),
    st.floats(allow_nan=False).map(lambda v: e.Literal(v, type=DOUBLE)),
    FLAGS.map(lambda v: e.Literal(v, type=BOOLEAN)),
    st.just(e.Literal(None, type=NULL)),
)
PARTS = st.lists(st.builds(e.Part, NAMES, st.none() | st.integers(0, 2)), min_size=1, max_size=3)
REFS = st.builds(lambda parts: e.Ref(tuple(parts)), PARTS)


def tuples(items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, min_size=1, max_size=3).map(tuple)


def compound(x: st.SearchStrategy[e.Expr]) -> st.SearchStrategy[e.Expr]:
    return st.one_of(
        st.builds(e.Negate, x),
        st.builds(e.Not, x),
        st.builds(e.And, tuples(x)),
        st.builds(e.Or, tuples(x)),
        st.builds(e.Binary, st.sampled_from(get_args(e.BinaryOperator)), x, x),
        st.builds(e.InList, x, tuples(x), FLAGS),
        st.builds(e.InRange, x, x, x, FLAGS, FLAGS, FLAGS),
        st.builds(e.Like, x, x, st.none() | st.just("!"), FLAGS),
        st.builds(e.Regexp, x, x, FLAGS),
        st.builds(e.Case, st.none() | x, tuples(st.tuples(x, x)), st.none() | x),
        st.builds(e.Cast, x, TYPES),
        st.builds(e.Call, NAMES, tuples(x)),
        st.builds(e.Aggregate, NAMES, st.none() | x, FLAGS),
        st.builds(e.Column, MAYBE_NAMES, PARTS.map(tuple), st.none() | st.integers(0, 2)),
    )


EXPRESSIONS: st.SearchStrategy[e.Expr] = st.recursive(LITERALS | REFS, compound, max_leaves=4)
MAYBE_EXPRESSIONS = st.none() | EXPRESSIONS
MINUTES = st.none() | st.frozensets(st.integers(1, 6), min_size=1, max_size=3)
SCHEDULES = st.builds(Schedule, MINUTES, MINUTES, MINUTES, MINUTES, MINUTES, MINUTES)
ATOMS = st.builds(p.Atom, NAMES, MAYBE_NAMES, MAYBE_EXPRESSIONS)
SIMPLE = ATOMS | st.builds(p.Interval, PERIODS) | st.builds(p.At, SCHEDULES)


def nested(x: st.SearchStrategy[p.Pattern]) -> st.SearchStrategy[p.Pattern]:
    bound = st.none() | COUNTS
    return st.one_of(
        st.builds(p.Every, x),
        st.builds(p.EveryDistinct, tuples(EXPRESSIONS), x, st.none() | PERIODS),
        st.builds(p.FollowedBy, tuples(x)),
        st.builds(p.AllOf, tuples(x)),
        st.builds(p.AnyOf, tuples(x)),
        st.builds(p.Absent, x),
        st.builds(p.Repeat, x, bound, bound, st.none() | x),
        st.builds(p.Within, x, PERIODS, bound),
        st.builds(p.While, x, EXPRESSIONS),
    )


PATTERNS: st.SearchStrategy[p.Pattern] = st.recursive(SIMPLE, nested, max_leaves=3)
ANNOTATIONS = st.lists(
    st.builds(
        t.Annotation,
        NAMES,
        st.lists(st.tuples(MAYBE_NAMES, SCALARS | st.lists(SCALARS, max_size=2).map(tuple)), max_size=2).map(tuple),
    ),
    max_size=1,
).map(tuple)  # fmt: skip
WINDOWS = st.one_of(
    st.builds(t.TimeWindow, PERIODS),
    st.builds(t.TimeBatch, PERIODS, st.none() | COUNTS, FLAGS, FLAGS),
    st.builds(t.LengthWindow, COUNTS),
    st.builds(t.LengthBatch, COUNTS),
    st.just(t.KeepAll()),
)
RATES = st.builds(
    t.OutputRate,
    mode=st.sampled_from([None, "first", "last", "all", "snapshot"]),
    every=st.none() | COUNTS | PERIODS,
    after=st.none() | COUNTS | PERIODS,
    when=MAYBE_EXPRESSIONS,
)
STREAMS = st.sampled_from(["istream", "rstream", "irstream"])
STATEMENTS = st.builds(
    t.Statement,
    select=tuples(
        st.builds(t.SelectAll, MAYBE_NAMES) | st.builds(t.SelectExpr, EXPRESSIONS, MAYBE_NAMES)
    ),
    source=st.builds(t.PatternSource, PATTERNS)
    | st.builds(t.StreamSource, NAMES, MAYBE_EXPRESSIONS, MAYBE_NAMES),
    insert_into=MAYBE_NAMES,
    insert_stream=STREAMS,
    stream=STREAMS,
    distinct=FLAGS,
    window=st.none() | WINDOWS,
    where=MAYBE_EXPRESSIONS,
    group_by=st.lists(EXPRESSIONS, max_size=1).map(tuple),
    having=MAYBE_EXPRESSIONS,
    output=st.none() | RATES,
    order_by=st.lists(st.builds(t.OrderItem, EXPRESSIONS, FLAGS), max_size=1).map(tuple),
    limit=st.none() | st.builds(t.Limit, COUNTS, st.integers(0, 2)),
    context=MAYBE_NAMES,
    annotations=ANNOTATIONS,
)
SCHEMAS = st.builds(
    t.Schema,
    name=NAMES,
    attributes=ATTRIBUTES,
    inherits=st.lists(NAMES, max_size=2).map(tuple),
    annotations=ANNOTATIONS,
)
CONTEXTS = st.builds(
    t.Context,
    name=NAMES,
    keys=tuples(st.builds(t.ContextKey, NAMES, tuples(NAMES))),
    annotations=ANNOTATIONS,
)
PROGRAMS = st.lists(STATEMENTS | SCHEMAS | CONTEXTS, max_size=2).map(
    lambda declarations: t.ProgramTree(tuple(declarations))
)


@settings(max_examples=150, deadline=None)
@given(PROGRAMS)
def test_every_program_survives_json(tree: t.ProgramTree) -> None:
    text = json.dumps(to_json(tree), allow_nan=False)
    again = from_json(json.loads(text))
    assert again == tree
    assert repr(again) == repr(tree)


@settings(max_examples=150, deadline=None)
@given(PROGRAMS, st.data())
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
        ({"format": 1, "declarations": [{"node": "Every"}]}, "declarations[0]: no node 'Every' here", "nodes: Context, Schema, Statement"),
        ({"format": 1, "declarations": [{"node": "Schema"}]}, "declarations[0]: the field 'name' of Schema is missing", None),
        (statement_json(wher=None), "declarations[0]: no field 'wher'", "did you mean 'where'?"),
        (statement_json(stream="both"), "declarations[0].stream: 'both' is not one of them", "choices: istream, rstream, irstream"),
        (statement_json(distinct=1), "declarations[0].distinct: 1 is not true or false", None),
        (statement_json(window={"node": "Window"}), "declarations[0].window: no node 'Window'", "did you mean 'TimeWindow'?"),
        (statement_json(where={"node": "Ref", "parts": []}), "declarations[0].where.parts: a list with at least one item is needed", None),
        (statement_json(window={"node": "LengthWindow", "size": True}), "declarations[0].window.size: True is not a whole number", None),
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
