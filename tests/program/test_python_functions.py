"""Functions of Python in expressions: types, failures, saved programs and saved state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cepheid as cep
from cepheid.errors import Severity

SCHEMA = "create schema Payment (n int, amount double, country string, paid boolean);\n"
EVENTS = [
    {"@type": "Payment", "@time": n, "n": n, "amount": 50.0 * n, "country": "ES", "paid": n % 2 > 0}
    for n in range(4)
]
ENGINES = ("reference", "local", "automaton")


def risk(apply: Callable[..., object] = lambda amount: amount / 100, **given: Any) -> Any:
    return cep.function("risk", apply, **{"arguments": ["double"], "returns": "double", **given})


def program(select: str, *functions: Any) -> cep.Program:
    return cep.parse(f"{SCHEMA}@Name('Alert') insert into Alert {select};", functions=functions)


def refusal(made: Callable[[], object]) -> str:
    with pytest.raises(cep.CepheidError) as problem:
        made()
    return str(problem.value).splitlines()[0]  # the place in the text follows


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_gives_what_the_function_gives(engine: str) -> None:
    found = cep.run(
        program("select risk(n) as r, n from Payment(risk(amount) >= 1)", risk()),
        EVENTS,
        engine=engine,
    )
    assert [(row["r"], row["n"]) for row in found] == [(0.02, 2), (0.03, 3)]


def test_names_have_no_case_and_a_builder_calls_functions_too() -> None:
    function = cep.function("Risk", lambda amount: amount, ["double"])
    built = cep.compose(
        function,
        cep.schema("Payment", n="int", amount="double", country="string", paid="boolean"),
        cep.stream("Payment")
        .select(r=cep.call(function, cep.col("amount")))
        .insert_into("Alert")
        .named("Alert"),
    )
    written = program("select RISK(amount) as r from Payment", function)
    assert built == written
    assert [row["r"] for row in cep.run(built, EVENTS)] == [0.0, 50.0, 100.0, 150.0]


def test_a_null_is_not_asked_about_and_none_is_null() -> None:
    asked: list[float] = []
    function = risk(asked.append)
    events = [{"@type": "Payment", "@time": 0, "amount": amount} for amount in (None, 2)]
    assert [
        row["r"]
        for row in cep.run(program("select risk(amount) as r from Payment", function), events)
    ] == [None, None]
    assert asked == [2.0]


class Odd:
    """What no attribute can hold."""

    def __repr__(self) -> str:
        return "<Odd>"


class Scalar:
    """As NumPy's scalars are."""

    def tolist(self) -> object:
        return 2.5


@pytest.mark.parametrize(
    ("returns", "given", "fact"),
    [
        ("double", "1.5", "must return double, and '1.5' is none"),
        ("double", True, "must return double, and true is not a double"),
        ("int", 2.5, "must return int, and 2.5 is not an int"),
        ("int", 2**31, "must return int, and 2147483648 does not fit an int (32 bit)"),
        ("string", 1, "must return string, and 1 is none"),
        ("boolean", 1, "must return boolean, and 1 is not a boolean"),
        ("long", Odd(), "must return long, and <Odd> is not a long"),
    ],
)
def test_a_wrong_result_is_told_with_function_statement_and_event(
    returns: str, given: object, fact: str
) -> None:
    wrong = program(
        "select risk(amount) as r from Payment where n = 2", risk(lambda _: given, returns=returns)
    )
    told = f"risk(100.0) in 'Alert' {fact}, at Payment of 1970-01-01T00:00:02Z"
    for engine in ENGINES:
        assert refusal(lambda engine=engine: cep.run(wrong, EVENTS, engine=engine)) == (  # type: ignore[misc]
            f"<text>:2:41: error[function-failed]: {told}"
        )


@pytest.mark.parametrize(
    ("returns", "given", "value"),
    [("double", 3, 3.0), ("double", Scalar(), 2.5), ("int", 3.0, 3), ("double", None, None)],
)
def test_a_result_that_easily_becomes_one_of_the_type_is_taken(
    returns: str, given: object, value: object
) -> None:
    found = cep.run(
        program("select risk(amount) as r from Payment", risk(lambda _: given, returns=returns)),
        EVENTS[:1],
    )
    assert (found[0]["r"], type(found[0]["r"])) == (value, type(value))


def test_what_a_function_raises_ends_the_run_and_its_traceback_is_kept() -> None:
    function = risk(lambda amount: 1 / (amount - 100))
    for engine in ENGINES:
        session = cep.open(
            program("select risk(amount) as r from Payment", function), engine=engine
        )
        session.send("Payment", {"amount": 50.0}, time=1)
        with pytest.raises(cep.RunError) as problem:
            session.send("Payment", {"amount": 100.0}, time=2)
        assert "risk(100.0) in 'Alert' raised ZeroDivisionError: float division by zero" in str(
            problem.value
        )
        assert isinstance(problem.value.__cause__.__cause__, ZeroDivisionError)  # type: ignore[union-attr]
        with pytest.raises(cep.RunError, match="function-failed"):
            session.send("Payment", {"amount": 1.0}, time=3)


def test_a_function_that_fails_when_time_passes_names_the_time() -> None:
    late = program(
        "select risk(a.amount) as r from pattern [every a=Payment(n = 1) -> timer:interval(1 sec)]",
        risk(lambda amount: {}[amount]),
    )
    for engine in ENGINES:
        told = refusal(lambda engine=engine: cep.run(late, EVENTS, engine=engine))  # type: ignore[misc]
        assert told.endswith("risk(50.0) in 'Alert' raised KeyError: 50.0, at 1970-01-01T00:00:02Z")


def test_each_statement_is_named_for_its_own_calls() -> None:
    two = cep.parse(
        f"{SCHEMA}@Name('One') select risk(amount) as r from Payment(n = 1);"
        "@Name('Two') select risk(amount) as r from Payment(n = 2);",
        functions=[risk(lambda amount: {50.0: 1.0}[amount])],
    )
    for engine in ENGINES:
        told = refusal(lambda engine=engine: cep.run(two, EVENTS, engine=engine))  # type: ignore[misc]
        assert "risk(100.0) in 'Two' raised KeyError: 100.0" in told


@pytest.mark.parametrize(
    ("call", "fact"),
    [
        ("risk(country)", "argument 1 of risk must be double, not string"),
        ("risk(amount, n)", "risk does not take 2 arguments"),
        ("rist(amount)", "no function 'rist'"),
    ],
)
def test_calls_are_checked_before_the_run(call: str, fact: str) -> None:
    found = program(f"select {call} as r from Payment", risk()).check()
    assert [f.message for f in found if f.severity is Severity.ERROR] == [fact]


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: cep.function("abs", abs, ["double"]), "there is a function 'abs' already"),
        (lambda: cep.function("Sum", sum, ["double"]), "there is a function 'sum' already"),
        (lambda: cep.function("select", abs), "'select' cannot be the name of a function"),
        (lambda: cep.function("two words", abs), "'two words' cannot be the name of a function"),
        (lambda: cep.function("x); drop", abs), "'x); drop' cannot be the name of a function"),
        (lambda: cep.function(3, abs), "3 cannot be the name of a function"),  # type: ignore[arg-type]
        (lambda: cep.function("risk", 3), "'risk' needs something to call, not 3"),  # type: ignore[arg-type]
        (lambda: cep.function("risk", abs, "double"), "the arguments of 'risk' are a list"),
        (lambda: cep.function("risk", abs, ["money"]), "'money' is no type that 'risk' can have"),
        (lambda: cep.function("risk", abs, ["int[]"]), "'int[]' is no type that 'risk' can have"),
        (lambda: cep.function("risk", abs, [], version=[]), "the version of 'risk' is a text"),  # type: ignore[arg-type]
        (lambda: cep.parse(SCHEMA, functions=[abs]), "a function that cep.function made is needed"),  # type: ignore[list-item]
        (lambda: cep.parse(SCHEMA, functions=abs), "a function that cep.function made is needed"),  # type: ignore[arg-type]
    ],
)
def test_what_makes_no_function_is_refused(make: Callable[[], object], fact: str) -> None:
    assert fact in refusal(make)


def test_two_functions_of_one_name_are_an_error_and_the_same_one_twice_is_not() -> None:
    select, one = "select risk(amount) as r from Payment", risk()
    assert [
        f.code for f in program(select, one, risk(abs)).check() if f.severity is Severity.ERROR
    ] == ["duplicate-name"]
    assert not program(select, one).resolve().problems
    assert not cep.compose(one, program(select, one)).resolve().problems


def test_a_saved_program_names_its_functions_and_wants_them_back() -> None:
    function = risk(version=2)
    saved = program("select risk(amount) as r from Payment", function)
    text = saved.to_json()
    assert cep.Program.from_json(text, functions=[function]) == saved
    wanted = "the program calls the function risk(double) -> double, version 2"
    assert wanted in refusal(lambda: cep.Program.from_json(text))
    told = refusal(lambda: cep.Program.from_json(text, functions=[risk(version=3)]))
    assert f"{wanted}; the one given is risk(double) -> double, version 3" in told


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_saved_state_belongs_to_a_version(engine: str) -> None:
    select = "select risk(a.amount) as r from pattern [every a=Payment -> b=Payment]"
    session = cep.open(program(select, risk(version="2025-01")), engine=engine)
    session.send("Payment", {"amount": 20.0}, time=0)
    state = session.save()
    same = cep.open(program(select, risk(version="2025-01")), state=state, engine=engine)
    assert [row["r"] for row in same.send("Payment", {"amount": 1.0}, time=1)] == [0.2]
    other = program(select, risk(version="2025-02"))
    assert "bad-state" in refusal(lambda: cep.open(other, state=state, engine=engine))


def test_simulations_and_properties_call_functions() -> None:
    checked = cep.parse(
        f"{SCHEMA}@Name('Big') @Property(kind='never') select * from pattern [every p=Payment(risk(n) > 0.015)];",
        functions=[risk()],
    )
    scenario = cep.Scenario((cep.Factory("Payment", every=1, attributes={"n": 2}),), until="3 s")  # type: ignore[arg-type, dict-item]
    found = cep.verify(checked, scenario, runs=5, seed=1)
    assert (found.hits, found.runs) == (5, 5)
    assert cep.simulate(checked, scenario, runs=2, seed=1).runs == 2
