"""Arithmetic and casts, compared with NumPy's machine numbers where those know the answer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.core.event import Value
from cepheid.core.numbers import round_float
from cepheid.core.types import ANY, BOOLEAN, DOUBLE, FLOAT, INT, LONG, NULL, STRING, DataType
from cepheid.expr.evaluate import Frame, compile_expr
from cepheid.expr.tree import Binary, BinaryOperator, Call, Cast, Expr, Literal, Negate
from cepheid.expr.typing import Scope, resolve

Scalar = str | bool | int | float | None

INTS = st.integers(-(2**31), 2**31 - 1)
LONGS = st.integers(-(2**63), 2**63 - 1)
DOUBLES = st.floats()
FLOATS = st.floats(width=32)
VALUES = {INT: INTS, LONG: LONGS, FLOAT: FLOATS, DOUBLE: DOUBLES}
MACHINE: dict[DataType, type[np.number]] = {
    INT: np.int32,
    LONG: np.int64,
    FLOAT: np.float32,
    DOUBLE: np.float64,
}
# NumPy would widen float32 beside int32 to float64; here int and float give float.
RESULT: dict[tuple[DataType, DataType], DataType] = {
    (INT, INT): INT, (INT, LONG): LONG, (INT, FLOAT): FLOAT, (INT, DOUBLE): DOUBLE,
    (LONG, LONG): LONG, (LONG, FLOAT): DOUBLE, (LONG, DOUBLE): DOUBLE,
    (FLOAT, FLOAT): FLOAT, (FLOAT, DOUBLE): DOUBLE, (DOUBLE, DOUBLE): DOUBLE,
}  # fmt: skip
TYPED = st.sampled_from(list(VALUES)).flatmap(
    lambda t: VALUES[t].map(lambda value: Literal(value, type=t))
)


def value_of(expr: Expr) -> Value:
    return compile_expr(resolve(expr, Scope({}, {}), []))(Frame())


def typed(value: Scalar, type: DataType) -> Expr:
    return Literal(value, type=type)


def hidden(value: Scalar) -> Expr:
    """A value of which nothing is known before the run."""
    return Call("coalesce", (Literal(value, type=ANY),))


def same_number(left: object, right: object) -> bool:
    """Equal in class, value and sign of zero; NaN equals NaN."""
    return type(left) is type(right) and repr(left) == repr(right)


@given(left=TYPED, right=TYPED, operator=st.sampled_from(["+", "-", "*"]))
def test_sums_and_products_are_those_of_the_machine(
    left: Literal, right: Literal, operator: BinaryOperator
) -> None:
    pair = (left.type, right.type)
    common = RESULT[pair if pair in RESULT else (right.type, left.type)]
    machine = MACHINE[common]
    with np.errstate(all="ignore"):
        a, b = machine(left.value), machine(right.value)  # type: ignore[arg-type]
        expected = {"+": a + b, "-": a - b, "*": a * b}[operator].item()
    assert same_number(value_of(Binary(operator, left, right)), expected)


@given(left=TYPED, right=TYPED)
def test_a_quotient_is_a_double(left: Literal, right: Literal) -> None:
    with np.errstate(all="ignore"):
        expected = (np.float64(left.value) / np.float64(right.value)).item()  # type: ignore[arg-type]
    assert same_number(value_of(Binary("/", left, right)), expected)


@given(left=TYPED, right=TYPED)
def test_a_remainder_has_the_sign_of_the_dividend(left: Literal, right: Literal) -> None:
    pair = (left.type, right.type)
    common = RESULT[pair if pair in RESULT else (right.type, left.type)]
    result = value_of(Binary("%", left, right))
    assert same_number(value_of(Call("mod", (left, right))), result)
    if common in (INT, LONG) and right.value == 0:
        assert result is None
        return
    with np.errstate(all="ignore"):
        machine = MACHINE[common]
        expected = np.fmod(machine(left.value), machine(right.value)).item()  # type: ignore[arg-type]
    assert same_number(result, expected)


@given(TYPED)
def test_minus_wraps_around_like_the_machine(operand: Literal) -> None:
    known = Call("coalesce", (operand,))  # of its type, but not folded into a literal
    with np.errstate(all="ignore"):
        expected = (-MACHINE[operand.type](operand.value)).item()  # type: ignore[arg-type]
    assert same_number(value_of(Negate(known)), expected)


@given(TYPED, st.sampled_from(["+", "-", "*", "/", "%"]))
def test_null_makes_null(operand: Literal, operator: BinaryOperator) -> None:
    null = typed(None, NULL)
    assert value_of(Binary(operator, operand, null)) is None
    assert value_of(Binary(operator, null, operand)) is None


@pytest.mark.parametrize(
    ("left", "operator", "right", "result"),
    [
        (1, "/", 0, math.inf),
        (-1, "/", 0, -math.inf),
        (1.0, "/", -0.0, -math.inf),
        (7, "%", -3, 1),
        (-7, "%", 3, -1),
        (7, "%", 0, None),
        (7.5, "%", 2, 1.5),
        (2**63 - 1, "+", 1, -(2**63)),
        ("7", "+", 1, None),
        (True, "+", 1, None),
        (10**400, "/", 1, None),  # beyond every number type
    ],
)
def test_values_without_a_static_type_are_long_or_double_or_give_null(
    left: Scalar, operator: BinaryOperator, right: Scalar, result: Scalar
) -> None:
    assert same_number(value_of(Binary(operator, hidden(left), hidden(right))), result)


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        ("12", STRING, INT, 12),
        (" -12\n", STRING, INT, -12),
        ("12.9", STRING, INT, 12),
        ("1e3", STRING, LONG, 1000),
        ("9223372036854775807", STRING, LONG, 2**63 - 1),
        ("9223372036854775808", STRING, LONG, None),
        ("2147483648", STRING, INT, None),
        ("9" * 5000, STRING, LONG, None),
        ("1_000", STRING, INT, None),
        ("\u0661", STRING, INT, None),  # a digit, but not one of ours
        ("twelve", STRING, DOUBLE, None),
        ("", STRING, INT, None),
        ("1e400", STRING, DOUBLE, math.inf),
        ("NaN", STRING, DOUBLE, math.nan),
        ("-Infinity", STRING, DOUBLE, -math.inf),
        ("nan", STRING, DOUBLE, None),
        ("NaN", STRING, INT, None),
        ("0.1", STRING, FLOAT, round_float(0.1)),
        (" TRUE ", STRING, BOOLEAN, True),
        ("false", STRING, BOOLEAN, False),
        ("yes", STRING, BOOLEAN, None),
        (True, BOOLEAN, STRING, "true"),
        (2.9, DOUBLE, INT, 2),
        (-2.9, DOUBLE, INT, -2),
        (2147483647.9, DOUBLE, INT, 2147483647),
        (2147483648.0, DOUBLE, INT, None),
        (-2147483648.9, DOUBLE, INT, -2147483648),
        (math.nan, DOUBLE, LONG, None),
        (math.inf, DOUBLE, LONG, None),
        (2.0**63, DOUBLE, LONG, None),
        (-(2.0**63), DOUBLE, LONG, -(2**63)),
        (2**40, LONG, INT, None),
        (2**53 + 1, LONG, DOUBLE, 2.0**53),
        (1e300, DOUBLE, FLOAT, math.inf),
        (1, INT, STRING, "1"),
        (1.0, DOUBLE, STRING, "1.0"),
        (1e16, DOUBLE, STRING, "1e+16"),
        (-0.0, DOUBLE, STRING, "-0.0"),
        (math.nan, DOUBLE, STRING, "NaN"),
        (-math.inf, DOUBLE, STRING, "-Infinity"),
        (round_float(0.1), FLOAT, STRING, "0.1"),
        (math.inf, FLOAT, STRING, "Infinity"),
        (None, NULL, INT, None),
        (True, ANY, INT, None),
        ("5", ANY, INT, 5),
        (10**400, ANY, DOUBLE, None),
    ],
)
def test_casts(value: Scalar, source: DataType, target: DataType, result: Scalar) -> None:
    assert same_number(value_of(Cast(typed(value, source), target)), result)


@given(TYPED)
def test_numbers_survive_their_text(number: Literal) -> None:
    text = Cast(number, STRING)
    assert same_number(value_of(Cast(text, number.type)), number.value)


@given(TYPED, st.sampled_from(["a", "", "%"]))
def test_joining_converts_as_cast_does(number: Literal, text: str) -> None:
    joined = value_of(Binary("||", number, typed(text, STRING)))
    converted = value_of(Cast(number, STRING))
    assert joined == f"{converted}{text}"
    assert value_of(Call("concat", (number, typed(text, STRING)))) == joined
