"""Names, types and the findings about them."""

from __future__ import annotations

import pytest

from cepheid.core.types import (
    ANY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    STRING,
    ArrayType,
    Attribute,
    DataType,
    EventRef,
    EventType,
    RecordType,
)
from cepheid.errors import Diagnostic, Span
from cepheid.expr.tree import (
    Aggregate,
    And,
    Binary,
    BinaryOperator,
    Call,
    Case,
    Cast,
    Column,
    Expr,
    InList,
    InRange,
    Like,
    Literal,
    Negate,
    Not,
    Part,
    Ref,
    Regexp,
    walk,
)
from cepheid.expr.typing import Scope, aggregates_in, is_aggregated, resolve, resolve_condition

BIKE = EventType(
    "Motorbike",
    (
        Attribute("id", STRING),
        Attribute("speed", DOUBLE),
        Attribute("gear", INT),
        Attribute("distance", LONG),
        Attribute("grip", FLOAT),
        Attribute("moving", BOOLEAN),
        Attribute("position", EventRef("Position")),
        Attribute("engine", RecordType((Attribute("heat", INT),))),
        Attribute("laps", ArrayType(INT)),
        Attribute("a", INT),
    ),
)
POSITION = EventType("Position", (Attribute("x", INT), Attribute("y", INT)))
OPEN = EventType("Open", (), is_open=True)
FAST = EventType("Fast", BIKE.attributes, ancestors=frozenset({"Motorbike"}))
TYPES = {t.name: t for t in (BIKE, POSITION, OPEN, FAST)}

FILTER = Scope(
    TYPES,
    tags={"b": EventRef("Motorbike"), "r": ArrayType(EventRef("Motorbike"))},
    current=EventRef("Motorbike"),
    current_names=frozenset({"c", "Motorbike"}),
    later_tags=frozenset({"d"}),
    no_aggregates="in a filter",
)
SELECT = Scope(TYPES, tags={"b": EventRef("Motorbike"), "r": ArrayType(EventRef("Motorbike"))})
STREAM = Scope(TYPES, tags={}, current=EventRef("Motorbike"), current_names=frozenset({"m"}))


def ref(text: str) -> Ref:
    """`a[0].x` as a reference."""
    parts = []
    for part in text.split("."):
        name, _, index = part.rstrip("]").partition("[")
        parts.append(Part(name, int(index) if index else None))
    return Ref(tuple(parts), span=Span(1, 1, 1, 1 + len(text)))


def lit(value: str | bool | float | None) -> Literal:
    by_class = {str: STRING, bool: BOOLEAN, int: INT, float: DOUBLE, type(None): NULL}
    return Literal(value, type=by_class[type(value)])


def binary(left: str, operator: BinaryOperator, right: str) -> Binary:
    return Binary(operator, ref(left), ref(right))


def resolved(expr: Expr, scope: Scope = STREAM) -> Expr:
    problems: list[Diagnostic] = []
    result = resolve(expr, scope, problems)
    assert problems == []
    return result


def problems_of(expr: Expr, scope: Scope = STREAM) -> list[tuple[str, str, str | None]]:
    problems: list[Diagnostic] = []
    resolve(expr, scope, problems)
    return [(p.code, p.message, p.hint) for p in problems]


@pytest.mark.parametrize(
    ("text", "column", "type"),
    [
        ("speed", Column(None, (Part("speed"),)), DOUBLE),
        ("c.speed", Column(None, (Part("speed"),)), DOUBLE),
        ("Motorbike.speed", Column(None, (Part("speed"),)), DOUBLE),
        ("c", Column(None, ()), EventRef("Motorbike")),
        ("b.speed", Column("b", (Part("speed"),)), DOUBLE),
        ("b", Column("b", ()), EventRef("Motorbike")),
        ("r", Column("r", ()), ArrayType(EventRef("Motorbike"))),
        ("r[1]", Column("r", (), 1), EventRef("Motorbike")),
        ("r[1].gear", Column("r", (Part("gear"),), 1), INT),
        ("position.x", Column(None, (Part("position"), Part("x"))), INT),
        ("engine.heat", Column(None, (Part("engine"), Part("heat"))), INT),
        ("b.position.x", Column("b", (Part("position"), Part("x"))), INT),
        ("laps[2]", Column(None, (Part("laps", 2),)), INT),
        ("b.laps[2]", Column("b", (Part("laps", 2),)), INT),
        ("laps", Column(None, (Part("laps"),)), ArrayType(INT)),
    ],
)
def test_names_become_columns(text: str, column: Column, type: DataType) -> None:
    result = resolved(ref(text), FILTER)
    assert result == column
    assert result.type == type
    assert result.span == ref(text).span


def test_an_attribute_comes_before_a_tag_of_the_same_name_and_a_path_starts_at_the_tag() -> None:
    scope = Scope(TYPES, {"a": EventRef("Motorbike")}, EventRef("Motorbike"))
    assert resolved(ref("a"), scope) == Column(None, (Part("a"),))
    assert resolved(ref("a.speed"), scope) == Column("a", (Part("speed"),))


def test_open_types_have_every_attribute_but_tags_come_first() -> None:
    scope = Scope(TYPES, {"b": EventRef("Motorbike")}, EventRef("Open"))
    assert resolved(ref("anything"), scope).type == ANY
    assert resolved(ref("any.thing[3].deep"), scope).type == ANY
    assert resolved(ref("b"), scope) == Column("b", ())


def test_types_that_nothing_declares_are_not_held_against_the_expression() -> None:
    scope = Scope({}, {"x": EventRef("Missing")})
    assert resolved(ref("x.y.z"), scope).type == ANY


@pytest.mark.parametrize(
    ("text", "scope", "finding"),
    [
        ("sped", STREAM, ("unknown-attribute", "no attribute 'sped' in Motorbike", "did you mean 'speed'?")),
        ("b.sped", SELECT, ("unknown-attribute", "no attribute 'sped' in Motorbike", "did you mean 'speed'?")),
        ("position.z", STREAM, ("unknown-attribute", "no attribute 'z' in Position", "attributes: x, y")),
        ("engine.cold", STREAM, ("unknown-attribute", "no attribute 'cold' in the record", "attributes: heat")),
        ("speed.x", STREAM, ("unknown-attribute", "no attribute 'x' in a value of type double", None)),
        ("d", FILTER, ("unbound-tag", "tag 'd' is not bound here", "bound tags: b, r")),
        ("d.speed", FILTER, ("unbound-tag", "tag 'd' is not bound here", "bound tags: b, r")),
        ("q.speed", SELECT, ("unknown-name", "no tag or attribute 'q' here", "tags: b, r")),
        ("speed", SELECT, ("unknown-name", "no tag or attribute 'speed' here", "write b.speed")),
        ("r.speed", SELECT, ("type-mismatch", "'r' holds several events", "write r[0].speed")),
        ("b[0].speed", SELECT, ("type-mismatch", "'b' is Motorbike, not an array, and takes no index", None)),
        ("gear[0]", STREAM, ("type-mismatch", "'gear' is int, not an array, and takes no index", None)),
    ],
)  # fmt: skip
def test_wrong_names_are_reported_with_what_exists(
    text: str, scope: Scope, finding: tuple[str, str, str | None]
) -> None:
    assert problems_of(ref(text), scope) == [finding]


def test_one_mistake_is_reported_once_and_at_its_place() -> None:
    wrong = Binary("+", ref("sped"), lit(1))
    problems: list[Diagnostic] = []
    result = resolve(And((Binary(">", wrong, lit(1)), Not(wrong))), STREAM, problems)
    assert [p.code for p in problems] == ["unknown-attribute"] * 2
    assert {p.span for p in problems} == {ref("sped").span}
    assert {node.type for node in walk(result) if isinstance(node, Ref)} == {ANY}


@pytest.mark.parametrize(
    ("expr", "type"),
    [
        (binary("gear", "+", "gear"), INT),
        (binary("gear", "-", "distance"), LONG),
        (binary("gear", "*", "grip"), FLOAT),
        (binary("distance", "*", "grip"), DOUBLE),
        (binary("gear", "/", "gear"), DOUBLE),
        (binary("gear", "%", "speed"), DOUBLE),
        (Negate(ref("distance")), LONG),
        (Binary("+", ref("gear"), lit(None)), INT),
        (binary("id", "||", "gear"), STRING),
        (binary("gear", "<", "speed"), BOOLEAN),
        (binary("id", "=", "id"), BOOLEAN),
        (binary("moving", "is", "moving"), BOOLEAN),
        (binary("position", "=", "position"), BOOLEAN),
        (Binary("=", ref("laps"), lit(None)), BOOLEAN),
        (InList(ref("id"), (lit("x"), lit(None))), BOOLEAN),
        (InRange(ref("gear"), lit(1), lit(2.5)), BOOLEAN),
        (Like(ref("id"), lit("a%"), "!"), BOOLEAN),
        (Regexp(ref("id"), lit("a+")), BOOLEAN),
        (Case(None, ((ref("moving"), lit(1)),), lit(2.5)), DOUBLE),
        (Case(ref("gear"), ((lit(1), lit("x")),), None), STRING),
        (Case(None, ((ref("moving"), lit(None)),), None), NULL),
        (Cast(ref("id"), INT), INT),
        (Cast(ref("moving"), STRING), STRING),
        (Call("abs", (ref("gear"),)), INT),
        (Call("max", (ref("gear"), ref("distance"), ref("speed"))), DOUBLE),
        (Call("coalesce", (lit(None), ref("id"))), STRING),
        (Call("current_timestamp", ()), LONG),
        (Aggregate("count", None), LONG),
        (Aggregate("count", ref("position"), distinct=True), LONG),
        (Aggregate("sum", ref("gear")), INT),
        (Aggregate("avg", ref("gear")), DOUBLE),
        (Aggregate("max", ref("id")), STRING),
        (Aggregate("last", ref("position")), EventRef("Position")),
    ],
)
def test_every_expression_has_a_type(expr: Expr, type: DataType) -> None:
    assert resolved(expr).type == type


@pytest.mark.parametrize(
    ("expr", "code", "message"),
    [
        (Binary("+", ref("id"), lit("x")), "type-mismatch", "'+' takes numbers, not string"),
        (Binary("-", ref("gear"), lit(True)), "type-mismatch", "'-' takes numbers, not boolean"),
        (Negate(ref("id")), "type-mismatch", "'-' takes numbers, not string"),
        (binary("id", "=", "gear"), "type-mismatch", "'=' cannot compare string with int"),
        (binary("id", "<", "gear"), "type-mismatch", "'<' cannot compare string with int"),
        (binary("moving", "<", "moving"), "type-mismatch", "'<' needs numbers, strings or times, not boolean"),
        (Binary("<", lit(None), ref("laps")), "type-mismatch", "'<' needs numbers, strings or times, not int[]"),
        (binary("id", "||", "laps"), "type-mismatch", "'||' joins strings, numbers, times and booleans, not int[]"),
        (Not(ref("gear")), "type-mismatch", "what 'not' takes must be boolean, not int"),
        (And((ref("moving"), ref("id"))), "type-mismatch", "what 'and' joins must be boolean, not string"),
        (InList(ref("id"), (lit("x"), lit(1))), "type-mismatch", "'in' cannot compare string with int"),
        (InRange(ref("moving"), lit(None), lit(None)), "type-mismatch", "a range needs numbers, strings or times, not boolean"),
        (InRange(ref("gear"), lit("a"), lit(2)), "type-mismatch", "a range cannot compare int with string"),
        (Like(ref("gear"), lit("1%")), "type-mismatch", "'like' takes strings, not int"),
        (Like(ref("id"), lit("1%"), "!!"), "wrong-arguments", "the escape of 'like' is one character, not '!!'"),
        (Regexp(ref("id"), lit("(")), "wrong-arguments", "'(' is not a regular expression: '(' is not closed at character 1"),
        (Case(None, ((ref("gear"), lit(1)),), None), "type-mismatch", "what follows 'when' must be boolean, not int"),
        (Case(ref("gear"), ((lit("x"), lit(1)),), None), "type-mismatch", "'case' cannot compare int with string"),
        (Case(None, ((ref("moving"), lit(1)),), lit("x")), "type-mismatch", "the branches of 'case' have no common type: int, string"),
        (Cast(ref("moving"), INT), "type-mismatch", "cannot cast boolean to int"),
        (Cast(ref("laps"), STRING), "type-mismatch", "cannot cast int[] to string"),
        (Call("sqrd", (lit(1),)), "unknown-function", "no function 'sqrd'"),
        (Call("sqrt", ()), "wrong-arguments", "sqrt does not take 0 arguments"),
        (Call("sqrt", (ref("id"),)), "wrong-arguments", "argument 1 of sqrt must be a number, not string"),
        (Call("left", (ref("id"), ref("speed"))), "wrong-arguments", "argument 2 of left must be a whole number, not double"),
        (Call("max", (ref("id"), ref("gear"))), "wrong-arguments", "the arguments of max have no common type: string, int"),
        (Aggregate("sum", ref("id")), "wrong-arguments", "sum takes a number, not string"),
        (Aggregate("sum", None), "wrong-arguments", "sum does not take *"),
        (Aggregate("count", None, distinct=True), "wrong-arguments", "count does not take distinct *"),
        (Aggregate("summ", ref("gear")), "unknown-function", "no aggregate 'summ'"),
        (Aggregate("sum", Aggregate("max", ref("gear"))), "nested-aggregate", "max stands inside another aggregate"),
    ],
)  # fmt: skip
def test_wrong_types_are_reported(expr: Expr, code: str, message: str) -> None:
    assert [found[:2] for found in problems_of(expr)] == [(code, message)]


def test_hints_show_the_way() -> None:
    assert problems_of(Binary("+", ref("id"), lit("x")))[0][2] == "join strings with ||"
    assert problems_of(Call("sqrd", ()))[0][2] == "did you mean 'sqrt'?"
    assert problems_of(Call("round", ()))[0][2] == "usage: round(number[, digits])"


def test_aggregates_are_refused_where_there_are_no_rows() -> None:
    expr = Binary(">", Aggregate("sum", ref("gear")), lit(1))
    message = "sum is an aggregate and not allowed in a filter"
    assert problems_of(expr, FILTER) == [("misplaced-aggregate", message, None)]


def test_a_condition_must_be_boolean() -> None:
    problems: list[Diagnostic] = []
    assert resolve_condition(ref("moving"), STREAM, problems).type == BOOLEAN
    assert problems == []
    resolve_condition(ref("speed"), STREAM, problems)
    assert [p.message for p in problems] == ["a condition must be boolean, not double"]


def test_related_event_types_compare_and_strangers_do_not() -> None:
    tags = {name: EventRef(name) for name in ("Motorbike", "Fast", "Position")}
    scope = Scope(TYPES, tags)
    resolved(binary("Fast", "=", "Motorbike"), scope)
    assert [p[1] for p in problems_of(binary("Fast", "=", "Position"), scope)] == [
        "'=' cannot compare Fast with Position"
    ]


def test_resolving_twice_changes_nothing() -> None:
    once = resolved(Binary("+", ref("gear"), Call("abs", (ref("speed"),))))
    again = resolved(once)
    assert again == once
    assert [n.type for n in walk(again)] == [n.type for n in walk(once)]


def test_aggregates_are_found_in_order_and_once() -> None:
    total, most = Aggregate("sum", ref("gear")), Aggregate("max", ref("gear"))
    expr = Binary("+", Binary("-", total, most), Negate(total))
    assert aggregates_in(expr) == (total, most)
    assert is_aggregated(expr)
    assert not is_aggregated(ref("gear"))
