"""What each function gives, at the edges too."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.core.event import Value
from cepheid.core.numbers import round_float
from cepheid.core.types import ANY, BOOLEAN, DOUBLE, FLOAT, INT, LONG, NULL, STRING, DataType
from cepheid.errors import Diagnostic
from cepheid.expr.evaluate import Frame, compile_expr
from cepheid.expr.functions import FUNCTIONS
from cepheid.expr.tree import Call, Expr, Literal
from cepheid.expr.typing import Scope, resolve

Scalar = str | bool | int | float | None
NAN, INF = math.nan, math.inf
BY_CLASS: dict[type, DataType] = {
    str: STRING,
    bool: BOOLEAN,
    int: INT,
    float: DOUBLE,
    type(None): NULL,
}


def call(function: str, *arguments: Scalar | Literal) -> Value:
    literals = tuple(
        a if isinstance(a, Literal) else Literal(a, type=BY_CLASS[type(a)]) for a in arguments
    )
    problems: list[Diagnostic] = []
    expr = resolve(Call(function, literals), Scope({}, {}), problems)
    assert problems == []
    return compile_expr(expr)(Frame())


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        ("abs", (-3,), 3),
        ("abs", (-2.5,), 2.5),
        ("abs", (-(2**31),), -(2**31)),
        ("sign", (-7,), -1),
        ("sign", (2.5,), 1.0),
        ("sign", (-0.0,), -0.0),
        ("sign", (NAN,), NAN),
        ("sqrt", (9,), 3.0),
        ("sqrt", (-1,), NAN),
        ("sqrt", (INF,), INF),
        ("power", (2, 10), 1024.0),
        ("pow", (0, -1), INF),
        ("pow", (-0.0, -1), -INF),
        ("pow", (-8, 0.5), NAN),
        ("pow", (-1e200, 3), -INF),
        ("pow", (1e200, 2), INF),
        ("exp", (1000,), INF),
        ("exp", (0,), 1.0),
        ("ln", (0,), -INF),
        ("ln", (-1,), NAN),
        ("log", (1,), 0.0),
        ("log10", (1000,), 3.0),
        ("log10", (-0.0,), -INF),
        ("sin", (INF,), NAN),
        ("asin", (2,), NAN),
        ("atan2", (0, -1), math.pi),
        ("degrees", (math.pi,), 180.0),
        ("pi", (), math.pi),
        ("floor", (-1.5,), -2.0),
        ("floor", (7,), 7),
        ("ceil", (-0.5,), -0.0),
        ("ceiling", (1.2,), 2.0),
        ("ceil", (INF,), INF),
        ("round", (2.5,), 3.0),
        ("round", (-2.5,), -3.0),
        ("round", (-0.4,), -0.0),
        ("round", (2.675, 2), 2.68),
        ("round", (1250, -2), 1300),
        ("round", (-1250, -2), -1300),
        ("round", (1249.0, -2), 1200.0),
        ("round", (7, 5), 7),
        ("round", (7, -400), 0),
        ("round", (2**31 - 1, -1), -(2**31) + 2),
        ("round", (1.5, 10_000), 1.5),
        ("round", (-1e300, -10_000), -0.0),
        ("round", (5e-324, 323), 1e-323),
        ("round", (NAN, 1), NAN),
        ("mod", (-7, 3), -1),
        ("mod", (7, 0), None),
        ("min", (3, 1, 2), 1),
        ("min", (1, 2.5), 1.0),
        ("max", (1.0, NAN), NAN),
        ("min", (1.0, NAN), 1.0),
        ("max", ("a", "b"), "b"),
        ("max", (1, None), None),
        ("coalesce", (None, None, 3, 4), 3),
        ("coalesce", (None, 3, 4.5), 3.0),
        ("coalesce", (None,), None),
        ("nullif", (1, 1), None),
        ("nullif", (1, 1.0), None),
        ("nullif", (1, 2), 1),
        ("nullif", (None, 1), None),
        ("nullif", (1, None), 1),
        ("nullif", (NAN, NAN), NAN),
        ("nullif", (True, False), True),
        ("length", ("häß\U0001f600",), 4),
        ("upper", ("aß",), "ASS"),
        ("lower", ("ÄB",), "äb"),
        ("trim", (" \ta \n",), "a"),
        ("ltrim", ("  a ",), "a "),
        ("rtrim", (" a  ",), " a"),
        ("substring", ("hello", 2), "ello"),
        ("substring", ("hello", 2, 3), "ell"),
        ("substring", ("hello", 0, 2), "h"),
        ("substring", ("hello", -3, 2), ""),
        ("substring", ("hello", -3), "hello"),
        ("substring", ("hello", 4, 100), "lo"),
        ("substring", ("hello", 9), ""),
        ("substring", ("hello", 2, -1), ""),
        ("left", ("hello", 2), "he"),
        ("left", ("hello", -2), ""),
        ("right", ("hello", 2), "lo"),
        ("right", ("hello", 0), ""),
        ("right", ("hello", 9), "hello"),
        ("replace", ("banana", "an", "x"), "bxxa"),
        ("replace", ("abc", "", "x"), "abc"),
        ("concat", ("a", 1, True, 2.0), "a1true2.0"),
        ("concat", ("a", None), None),
        ("startswith", ("hello", "he"), True),
        ("endswith", ("hello", "he"), False),
        ("contains", ("hello", "ell"), True),
        ("instr", ("hello", "l"), 3),
        ("instr", ("hello", "z"), 0),
        ("position", ("l", "hello"), 3),
    ],
)  # fmt: skip
def test_results(function: str, arguments: tuple[Scalar, ...], result: Scalar) -> None:
    value = call(function, *arguments)
    assert (repr(value), type(value)) == (repr(result), type(result))


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if FUNCTIONS[n].parameters])
def test_null_gives_null(name: str) -> None:
    count = max(1, len(FUNCTIONS[name].parameters))
    assert call(name, *[None] * count) is None


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if not FUNCTIONS[n].sees_nulls])
def test_values_of_the_wrong_kind_give_null_and_never_raise(name: str) -> None:
    function = FUNCTIONS[name]
    wrong: list[Value] = [[], {}, True, "x", 1, 2.5, 10**400]
    for value in wrong if function.parameters else ():
        unknown: list[Expr] = [Literal(value, type=ANY)] * len(function.parameters)  # type: ignore[arg-type]
        result = compile_expr(resolve(Call(name, tuple(unknown)), Scope({}, {}), []))(Frame())
        if not all(function.kind(i).admits(value) for i in range(len(unknown))):
            assert result is None


def test_results_are_rounded_to_their_type() -> None:
    third = Literal(round_float(1 / 3), type=FLOAT)
    assert call("round", third, 2) == round_float(0.33)
    assert call("abs", Literal(-(2**63), type=LONG)) == -(2**63)
    common = call("coalesce", Literal(None, type=FLOAT), Literal(2**24 + 1, type=INT))
    assert common == 2.0**24


@given(st.floats(), st.floats())
def test_power_is_that_of_the_machine(base: float, exponent: float) -> None:
    with np.errstate(all="ignore"):
        expected = np.power(np.float64(base), np.float64(exponent)).item()
    result = call("power", base, exponent)
    assert isinstance(result, float)
    if math.isfinite(expected) and expected != 0:
        assert math.isclose(result, expected, rel_tol=1e-14)
    else:
        assert repr(result) == repr(expected)


@given(st.sampled_from(["sqrt", "exp", "ln", "log10", "sin", "floor", "ceil", "sign"]), st.floats())
def test_functions_of_doubles_agree_with_the_machine(name: str, value: float) -> None:
    machine = getattr(np, {"ln": "log"}.get(name, name))
    with np.errstate(all="ignore"):
        expected = machine(np.float64(value)).item()
    result = call(name, value)
    assert isinstance(result, float)
    if math.isfinite(expected) and expected != 0:
        assert math.isclose(result, expected, rel_tol=1e-14)
    else:
        assert abs(result) == abs(expected) or math.isnan(result) == math.isnan(expected)


@given(st.decimals(-1000, 1000, places=4), st.integers(-3, 3))
def test_rounding_moves_by_at_most_half_a_step(number: float, digits: int) -> None:
    value = float(number)
    result = call("round", value, digits)
    assert isinstance(result, float)
    assert abs(result - value) <= 0.5 * 10.0**-digits * (1 + 1e-9)
    assert call("round", -value, digits) == -result


def test_every_function_says_how_to_call_it() -> None:
    for name, function in FUNCTIONS.items():
        spelled = function.usage.partition("(")[0]
        assert FUNCTIONS[spelled] is function, name
        assert function.doc
