"""Logic with nulls, comparisons, columns, and choices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.core.event import Event, Value
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
    EventType,
)
from cepheid.errors import Diagnostic
from cepheid.expr.evaluate import Frame, compile_condition, compile_expr
from cepheid.expr.tree import (
    Aggregate,
    And,
    Binary,
    BinaryOperator,
    Call,
    Case,
    Column,
    Expr,
    InList,
    InRange,
    Like,
    Literal,
    Not,
    Or,
    Part,
    Ref,
    Regexp,
)
from cepheid.expr.typing import Scope, resolve

Scalar = str | bool | int | float | None
NAN = math.nan
TRUTHS: tuple[bool | None, ...] = (True, False, None)
BY_CLASS: dict[type, DataType] = {
    str: STRING,
    bool: BOOLEAN,
    int: LONG,
    float: DOUBLE,
    type(None): NULL,
}
TYPE = EventType(
    "T",
    (
        Attribute("n", INT),
        Attribute("s", STRING),
        Attribute("p", EventRef("P")),
        Attribute("list", ArrayType(INT)),
        Attribute("ps", ArrayType(EventRef("P"))),
    ),
)
POINT = EventType("P", (Attribute("x", INT),))
SCOPE = Scope(
    {"T": TYPE, "P": POINT},
    {"a": EventRef("T"), "r": ArrayType(EventRef("T"))},
    EventRef("T"),
)


def lit(value: Scalar) -> Literal:
    return Literal(value, type=BY_CLASS[type(value)])


def truth(value: bool | None) -> Literal:
    return Literal(value, type=BOOLEAN)


def hidden(value: Scalar) -> Expr:
    """A value of which nothing is known before the run."""
    return Call("coalesce", (Literal(value, type=ANY),))


def value_of(expr: Expr, frame: Frame | None = None) -> Value:
    problems: list[Diagnostic] = []
    resolved = resolve(expr, SCOPE, problems)
    assert problems == []
    return compile_expr(resolved)(frame or Frame())


def compare(left: Scalar, operator: BinaryOperator, right: Scalar) -> Value:
    """The result for typed constants, which must be that of values without a static type."""
    result = value_of(Binary(operator, lit(left), lit(right)))
    assert value_of(Binary(operator, hidden(left), hidden(right))) is result
    return result


# -- logic -------------------------------------------------------------------------------------


@pytest.mark.parametrize("operands", list(itertools.product(TRUTHS, repeat=3)))
def test_and_is_the_least_and_or_the_greatest_of_false_null_true(
    operands: tuple[bool | None, ...],
) -> None:
    rank = {False: 0, None: 1, True: 2}
    parts = tuple(map(truth, operands))
    assert value_of(And(parts)) is min(operands, key=lambda v: rank[v])
    assert value_of(Or(parts)) is max(operands, key=lambda v: rank[v])


def test_not_keeps_null() -> None:
    assert [value_of(Not(truth(v))) for v in TRUTHS] == [False, True, None]


def test_a_condition_holds_only_where_it_is_true() -> None:
    assert [compile_condition(truth(v))(Frame()) for v in TRUTHS] == [True, False, False]
    assert compile_condition(None)(Frame()) is True


def test_what_is_no_truth_is_unknown() -> None:
    assert value_of(And((hidden("x"), truth(True)))) is None
    assert value_of(And((hidden("x"), truth(False)))) is False
    assert value_of(Not(hidden(1))) is None


# -- comparisons -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "operator", "right", "result"),
    [
        (1, "=", 1.0, True),
        (2**53 + 1, "=", 2.0**53, False),
        (2**53 + 1, ">", 2.0**53, True),
        (0.0, "=", -0.0, True),
        (NAN, "=", NAN, False),
        (NAN, "!=", NAN, True),
        (NAN, "<", 1.0, False),
        (NAN, ">=", 1, False),
        (NAN, "is", NAN, True),
        (NAN, "is not", 1.0, True),
        (None, "=", None, None),
        (None, "!=", 1, None),
        (1, "<", None, None),
        (None, "is", None, True),
        (None, "is", 1, False),
        (1, "is not", None, True),
        (1, "is", 1.0, True),
        ("a", "<", "b", True),
        ("Z", "<", "a", True),
        ("\uffff", "<", "\U00010000", True),
        ("a", "is", "a", True),
        (True, "=", True, True),
        (True, "!=", False, True),
        (True, "is", False, False),
    ],
)
def test_comparisons(left: Scalar, operator: BinaryOperator, right: Scalar, result: Value) -> None:
    assert compare(left, operator, right) is result


@pytest.mark.parametrize(
    ("left", "operator", "right"),
    [("1", "=", 1), (True, "=", 1), (True, "<", False), ("a", "<", 1), (1, "!=", "x")],
)
def test_values_that_turn_out_not_to_be_comparable_give_null(
    left: Scalar, operator: BinaryOperator, right: Scalar
) -> None:
    assert value_of(Binary(operator, hidden(left), hidden(right))) is None


NUMBERS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats())


@given(NUMBERS, NUMBERS)
def test_numbers_compare_by_their_exact_values(left: float, right: float) -> None:
    assert compare(left, "<", right) is (left < right)
    assert compare(left, ">=", right) is (left >= right)
    assert compare(left, "=", right) is (left == right)


def test_a_column_compares_with_a_column_and_with_a_constant() -> None:
    frame = Frame(Event("T", 0, {"n": 5, "s": None}), {"a": Event("T", 0, {"n": 4})})
    n, of_a = Ref((Part("n"),)), Ref((Part("a"), Part("n")))
    assert value_of(Binary(">", n, of_a), frame) is True
    assert value_of(Binary(">", of_a, n), frame) is False
    assert value_of(Binary("<=", n, lit(5)), frame) is True
    assert value_of(Binary("=", Ref((Part("s"),)), lit("x")), frame) is None


def test_arrays_records_and_events_are_equal_when_their_parts_are() -> None:
    def event(x: int, instant: int = 0) -> Event:
        return Event("T", instant, {"p": {"x": x}, "list": [1, None, x]})

    def equal(attribute: str, left: Event, right: Event) -> Value:
        expr = Binary("=", Ref((Part(attribute),)), Ref((Part("a"), Part(attribute))))
        opposite = Binary("!=", expr.left, expr.right)
        result = value_of(expr, Frame(left, {"a": right}))
        assert value_of(opposite, Frame(left, {"a": right})) is (not result)
        return result

    assert equal("p", event(1), event(1)) is True
    assert equal("p", event(1), event(2)) is False
    assert equal("list", event(1), event(1)) is True
    assert equal("list", event(1), event(2)) is False
    whole = Binary("=", Ref((Part("a"),)), Ref((Part("r", 0),)))
    assert value_of(whole, Frame(tags={"a": event(1), "r": [event(1)]})) is True
    assert value_of(whole, Frame(tags={"a": event(1), "r": [event(1, instant=1)]})) is False


@pytest.mark.parametrize(
    ("value", "items", "result"),
    [
        (1, (1, 2), True),
        (1, (1.0, 2), True),
        (3, (1, 2), False),
        (3, (1, None), None),
        (1, (1, None), True),
        (None, (1, 2), None),
        ("a", ("a", "b"), True),
        (NAN, (1.0, 2.0), False),
        (True, (True, False), True),
    ],
)
def test_in_a_list(value: Scalar, items: tuple[Scalar, ...], result: bool | None) -> None:
    negated = None if result is None else not result
    makers: tuple[Callable[[Scalar], Expr], ...] = (lit, hidden)
    for make in makers:
        parts = tuple(make(item) for item in items)
        assert value_of(InList(make(value), parts)) is result
        assert value_of(InList(make(value), parts, negated=True)) is negated


@pytest.mark.parametrize(
    ("value", "low", "high", "closed", "open"),
    [
        (1, 1, 3, True, False),
        (2, 1, 3, True, True),
        (3, 1, 3, True, False),
        (4, 1, 3, False, False),
        (2, 3, 1, True, True),
        (1, 3, 1, True, False),
        (2.5, 1, 3, True, True),
        ("b", "a", "c", True, True),
        (None, 1, 3, None, None),
        (5, None, 3, None, None),
        (2, 1, None, None, None),
        (NAN, 1.0, 3.0, False, False),
    ],
)
def test_in_a_range(
    value: Scalar, low: Scalar, high: Scalar, closed: bool | None, open: bool | None
) -> None:
    makers: tuple[Callable[[Scalar], Expr], ...] = (lit, hidden)
    for make in makers:
        ends = make(value), make(low), make(high)
        assert value_of(InRange(*ends)) is closed
        assert value_of(InRange(*ends, include_low=False, include_high=False)) is open
        assert value_of(InRange(*ends, negated=True)) is (None if closed is None else not closed)


def test_the_included_end_of_a_swapped_range_is_its_lower_end() -> None:
    swapped = [InRange(lit(v), lit(3), lit(1), include_high=False) for v in (1, 3)]
    assert [value_of(expr) for expr in swapped] == [True, False]


def test_a_range_of_mixed_values_is_unknown() -> None:
    assert value_of(InRange(hidden("b"), hidden(1), hidden(3))) is None


# -- texts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pattern", "escape", "result"),
    [
        ("abc", "abc", None, True),
        ("abc", "a", None, False),
        ("abc", "a%", None, True),
        ("abc", "%b%", None, True),
        ("abc", "_b_", None, True),
        ("abc", "__", None, False),
        ("", "%", None, True),
        ("a\nc", "a_c", None, True),
        ("ab", "a%b", None, True),
        ("abab", "%ab", None, True),
        ("aba", "%ab%ba%", None, False),
        ("a.c", "a.c", None, True),
        ("abc", "a.c", None, False),
        ("50%", "50!%", "!", True),
        ("50x", "50!%", "!", False),
        ("a_", "a!_", "!", True),
        ("a!", "a!!", "!", True),
        ("a!", "a!", "!", True),
        (None, "%", None, None),
    ],
)
def test_like(text: str | None, pattern: str, escape: str | None, result: bool | None) -> None:
    negated = None if result is None else not result
    assert value_of(Like(lit(text), lit(pattern), escape)) is result
    assert value_of(Like(hidden(text), hidden(pattern), escape, negated=True)) is negated


def _like(text: str, pattern: str) -> bool:
    """Like, by its definition."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(_like(text[i:], pattern[1:]) for i in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and _like(text[1:], pattern[1:])


@given(st.text("ab", max_size=8), st.text("ab%_", max_size=6))
def test_like_agrees_with_its_definition(text: str, pattern: str) -> None:
    assert value_of(Like(lit(text), lit(pattern))) is _like(text, pattern)


def test_like_takes_no_exponential_time() -> None:
    assert value_of(Like(lit("a" * 2000), lit("%a" * 40 + "b"))) is False


@pytest.mark.parametrize(
    ("text", "pattern", "result"),
    [("abc", "a.c", True), ("abcd", "a.c", False), ("b", "a|b", True), (None, "a", None)],
)
def test_regexp_matches_the_whole_text(text: str | None, pattern: str, result: bool | None) -> None:
    negated = None if result is None else not result
    assert value_of(Regexp(lit(text), lit(pattern))) is result
    assert value_of(Regexp(hidden(text), hidden(pattern), negated=True)) is negated


def test_a_pattern_that_only_the_run_knows_and_that_is_wrong_gives_null() -> None:
    assert value_of(Regexp(lit("a"), hidden("("))) is None
    assert value_of(Regexp(lit("a"), hidden(3))) is None


# -- columns -----------------------------------------------------------------------------------

INNER = Event("P", 0, {"x": 8})
CURRENT = Event("T", 0, {"n": 1, "s": "s", "p": {"x": 7}, "list": [4, 5], "ps": [INNER]})
TAGGED = Event("T", 0, {"n": 2, "p": INNER})
FRAME = Frame(CURRENT, {"a": TAGGED, "r": (TAGGED, CURRENT), "none": None})


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (Column(None, ()), CURRENT),
        (Column(None, (Part("n"),)), 1),
        (Column(None, (Part("missing"),)), None),
        (Column(None, (Part("p"), Part("x"))), 7),
        (Column(None, (Part("n"), Part("x"))), None),
        (Column(None, (Part("list", 1),)), 5),
        (Column(None, (Part("list", 2),)), None),
        (Column(None, (Part("n", 0),)), None),
        (Column(None, (Part("ps", 0), Part("x"))), 8),
        (Column("a", ()), TAGGED),
        (Column("a", (Part("n"),)), 2),
        (Column("a", (Part("p"), Part("x"))), 8),
        (Column("none", (Part("n"),)), None),
        (Column("none", ()), None),
        (Column("unbound", (Part("n"),)), None),
        (Column("unbound", (Part("n"),), 0), None),
        (Column("r", (Part("n"),), 0), 2),
        (Column("r", (Part("n"),), 1), 1),
        (Column("r", (Part("n"),), 2), None),
        (Column("r", (), 1), CURRENT),
        (Column("r", ()), [TAGGED, CURRENT]),
    ],
)
def test_columns(column: Column, value: Value) -> None:
    assert compile_expr(column)(FRAME) == value


def test_without_an_event_at_hand_its_attributes_are_null() -> None:
    assert compile_expr(Column(None, (Part("n"),)))(Frame()) is None
    assert compile_expr(Column(None, (Part("p"), Part("x"))))(Frame()) is None


# -- choices, functions of the frame -----------------------------------------------------------


def test_case_takes_the_first_branch_that_is_true() -> None:
    branches = ((truth(None), lit("null")), (truth(False), lit("no")), (truth(True), lit("yes")))
    assert value_of(Case(None, branches, None)) == "yes"
    assert value_of(Case(None, branches[:2], lit("else"))) == "else"
    assert value_of(Case(None, branches[:2], None)) is None


def test_case_with_an_operand_compares_and_null_equals_nothing() -> None:
    branches = ((lit(None), lit("null")), (lit(1.0), lit("one")))
    assert value_of(Case(lit(1), branches, None)) == "one"
    assert value_of(Case(lit(None), branches, lit("else"))) == "else"


def test_a_branch_is_converted_to_the_common_type() -> None:
    result = value_of(Case(None, ((truth(True), lit(1)),), lit(2.5)))
    assert (result, type(result)) == (1.0, float)


def test_functions_of_the_frame() -> None:
    frame = Frame(now=-1, is_new=False)
    assert value_of(Call("current_timestamp", ()), frame) == -1
    assert value_of(Call("current_timestamp", ()), Frame(now=2_999)) == 2
    assert value_of(Call("istream", ()), frame) is False


def test_aggregates_are_read_from_their_slots() -> None:
    total, count = Aggregate("sum", Column(None, (Part("n"),), type=INT)), Aggregate("count", None)
    slots: Mapping[Aggregate, int] = {total: 1, count: 0}
    problems: list[Diagnostic] = []
    expr = resolve(Binary("-", total, count), SCOPE, problems)
    frame = Frame(aggregates=[3, 10])
    assert compile_expr(expr, slots)(frame) == 7
    condition = Binary(">", total, lit(9))
    assert compile_condition(condition, slots)(frame) is True


def test_unresolved_names_are_refused() -> None:
    with pytest.raises(TypeError, match="resolve the expression first"):
        compile_expr(Ref((Part("x"),)))
