"""Atomic and complex events built in Python are those of a VEPL text, and print as it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, assert_type

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.build.declarations import Declaration
from cepheid.lang.vepl.language import VEPL
from cepheid.pattern.algebra import EventCall, Form, Occurrence, Times
from cepheid.pattern.tree import Atom
from cepheid.program.tree import PatternSource
from tests.algebra.generators import forms
from tests.build.rebuild import form_of, program_of
from tests.build.test_builder import refusal
from tests.conformance.occurrences import chains, occurrences
from tests.conformance.scenarios import Example
from tests.effort import examples

x, speed = cep.col("x"), cep.col("speed")
A = cep.atomic_event("A", x="int", y="string")
B = cep.atomic_event("B", x="int")
C = cep.atomic_event("C")
a, b, c = A("x", "_"), B("x"), C()
# What the type checker would refuse, too.
anything: Any = cep


def parsed(text: str) -> cep.Program:
    return cep.parse(text, language="vepl")


def parsed_form(text: str) -> Form:
    source = parsed(f"complexEvent c() {{ as {text} }}").tree.statements[0].source
    assert isinstance(source, PatternSource)
    assert isinstance(source.pattern, Occurrence)
    return source.pattern.form


FORMS: list[tuple[cep.Form, str]] = [
    (cep.occurs("A", "x", "_"), "A(x, _)"),
    (cep.occurs("A"), "A"),
    (cep.occurs("Some type", "two words"), "`Some type`(`two words`)"),
    (a, "A(x, _)"),
    (A(y="name"), "A(_, name)"),
    (A(x="n", y="m"), "A(n, m)"),
    (A(), "A"),
    (a.then(b), "A(x, _) -> B(x)"),
    (a.then(b).then(c), "A(x, _) -> B(x) -> C"),
    (a.then(b.then(c)), "A(x, _) -> (B(x) -> C)"),
    (cep.sequence(a.then(b), c), "(A(x, _) -> B(x)) -> C"),
    (cep.sequence(a), "A(x, _)"),
    (a.and_(b).and_(c), "A(x, _) AND B(x) AND C"),
    (a.or_(b).or_(c), "A(x, _) OR B(x) OR C"),
    (a.then(b).or_(c), "(A(x, _) -> B(x)) OR C"),
    (cep.all_of(a, b.or_(c)), "A(x, _) AND (B(x) OR C)"),
    (cep.any_of(a, b.and_(c)), "A(x, _) OR (B(x) AND C)"),
    (a.then(cep.not_(b)).then(c), "A(x, _) -> NOT B(x) -> C"),
    (a.then(cep.not_(b.then(c))).then(c), "A(x, _) -> NOT (B(x) -> C) -> C"),
    (a.and_(cep.not_(b)).within("2 seconds"), "(A(x, _) AND NOT B(x))[within 2 seconds]"),
    (a.times(3), "A(x, _){3}"),
    (a.times(2, 5), "A(x, _){2:5}"),
    (a.times(2, None), "A(x, _){2:*}"),
    (a.times(1, None), "A(x, _){+}"),
    (a.times(0, None).then(b), "A(x, _){*} -> B(x)"),
    (a.then(b).times(1), "(A(x, _) -> B(x)){1}"),
    (a.times(2).times(3), "(A(x, _){2}){3}"),
    (a.times(2).within("1 min"), "A(x, _){2}[within 1 minute]"),
    (cep.not_(a.times(2).within("1 min")), "NOT A(x, _){2}[within 1 minute]"),
    (a.then(b).holds_for(2.5), "(A(x, _) -> B(x))[holdsFor 2 seconds 500 milliseconds]"),
    (a.then(b).within(timedelta(days=1)).holds_for(1), "((A(x, _) -> B(x))[within 1 day])[holdsFor 1 second]"),
]  # fmt: skip


@pytest.mark.parametrize(("built", "text"), FORMS, ids=[text for _, text in FORMS])
def test_a_form_is_that_of_its_text(built: cep.Form, text: str) -> None:
    assert built.tree == parsed_form(text)
    assert str(built) == text


TWICE = cep.complex_event("twice", a.times(2), x="int")
EVENTS: list[tuple[Declaration, str]] = [
    (C, "atomicEvent C"),
    (A, "atomicEvent A(x: int, y: string)"),
    (A.check(x > 1), "atomicEvent A(x: int, y: string) { check x > 1 }"),
    (B.check(x > 1, x < 5).check(x != 3), "atomicEvent B(x: int) { check x > 1 and x < 5 and x != 3 }"),
    (
        cep.atomic_event("D", {"two words": "Double", "check": "bool"}, t="long", event_time="t").described("d"),
        "@EventTime(attribute='t', unit='seconds')\n@Description('d')\n"
        "atomicEvent D(`two words`: double, check: boolean, t: long)",
    ),
    (cep.query_event("Q", "full", h="Host"), "queryEvent Q(h: Host) as full(h) found"),
    (
        cep.query_event("Q", "Host.cpu", {"h": "Object"}, n="int", arguments=["h", "_"], change="lost"),
        "queryEvent Q(h: Object, n: int) as Host.cpu(h, _) lost",
    ),
    (TWICE, "complexEvent twice(x: int) {\n    as A(x, _){2}\n}"),
    (cep.complex_event("c", c), "complexEvent c() {\n    as C\n}"),
    (
        cep.complex_event("c", TWICE("x").then(c), {"two words": "string"}, x="int"),
        "complexEvent c(`two words`: string, x: int) {\n    as twice(x) -> C\n}",
    ),
    (TWICE.in_context("strict"), "complexEvent twice(x: int) {\n    as A(x, _){2}\n    context strict\n}"),
    (
        TWICE.in_context("strict").in_context("chronicle", is_global=True),
        "complexEvent twice(x: int) {\n    as A(x, _){2}\n    context chronicle global\n}",
    ),
    (
        TWICE.annotated("Priority", 2).described("again"),
        "@Priority(2)\n@Description('again')\ncomplexEvent twice(x: int) {\n    as A(x, _){2}\n}",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("built", "text"), EVENTS, ids=[text for _, text in EVENTS])
def test_an_event_is_that_of_its_text(built: Declaration, text: str) -> None:
    assert cep.compose(built) == parsed(text)
    assert str(built) == text
    assert str(cep.compose(built)) == f"{text}\n"


@examples(150)
@given(forms(3))
def test_any_form_can_be_built(text: str) -> None:
    tree = parsed_form(text)
    assert form_of(tree).tree == tree
    assert str(form_of(tree)) == VEPL.print_pattern(tree)


@examples(60)
@given(st.one_of(occurrences(), chains()))
def test_any_program_in_vepl_can_be_built(example: Example) -> None:
    program = example.program
    assert program_of(program.tree) == program
    assert str(program_of(program.tree)) == str(program)


def test_events_are_declared_beside_statements_and_run() -> None:
    invalid = cep.atomic_event("invalid", host="string", cpu="int").check(cep.col("cpu") > 0)
    valid = cep.atomic_event("valid", host="string")
    tolerance = cep.complex_event("tolerance", invalid(host="h").times(3), h="string")
    unattended = cep.complex_event(
        "unattended",
        invalid("h", "_").then(cep.not_(valid("h"))).within("5 seconds"),
        h="string",
    ).in_context("strict")
    alarm = cep.stream("unattended").select(host="h").insert_into("Alarm")
    program = cep.compose(invalid, valid, tolerance.in_context("immediate"), unattended, alarm)
    assert_type(invalid("h", "_").times(3), cep.Form)
    assert not [found for found in program.check() if found.severity is cep.Severity.ERROR]
    events = [
        {"@type": "invalid", "@time": time, "host": host, "cpu": cpu}
        for time, host, cpu in ((1, "h1", 9), (2, "h2", 9), (3, "h1", 9), (4, "h1", 0), (5, "h1", 9))
    ]  # fmt: skip
    rows = [(row.type, dict(row)) for row in cep.run(program, [*events, {"@time": 20}])]
    assert rows == [
        ("tolerance", {"h": "h1"}),
        ("unattended", {"h": "h2"}),
        ("Alarm", {"host": "h2"}),
        ("unattended", {"h": "h1"}),
        ("Alarm", {"host": "h1"}),
    ]


def test_objects_of_a_live_model_are_parameters() -> None:
    full = cep.query_event("full", "tooFull", host="Host")
    twice = cep.complex_event("twice", full("host").times(2), host="`plant.Host`")
    text = """
    queryEvent full(host: Host) as tooFull(host)
    complexEvent twice(host: plant.Host) { as full(host){2} }
    """
    assert cep.compose(full, twice) == parsed(text)


def test_what_a_text_declares_can_be_used() -> None:
    text = parsed("atomicEvent D(id: string)")
    both = cep.compose(text, cep.complex_event("c", cep.occurs("D", "id").times(2), id="string"))
    assert both == parsed("atomicEvent D(id: string) complexEvent c(id: string) { as D(id){2} }")


REFUSED: list[tuple[Callable[[], object], str, str, str]] = [
    # what, code, fact, hint
    (lambda: A("x"), "wrong-arguments", "A has 2 parameters, not 1", "A(x, y)"),
    (lambda: B("x", "_"), "wrong-arguments", "B has 1 parameter, not 2", "B(x)"),
    (lambda: C("x"), "wrong-arguments", "C has no parameters, not 1", ""),
    (lambda: A(z="n"), "wrong-arguments", "A has no parameter 'z'", "x, y"),
    (lambda: A("n", y="m"), "usage", "in their order or by their names", "A(x, y)"),
    (lambda: anything.occurs("A", 5), "usage", "a parameter is a text, not 5", ""),
    (lambda: cep.occurs("A", ""), "usage", "'' cannot be a parameter", "backquotes"),
    (lambda: cep.occurs("a`b"), "usage", "cannot be an event type", "backquotes"),
    (lambda: a.within("1 second"), "bad-window", "a window on one event", "a.times(3)"),
    (lambda: a.then(b).within(0), "bad-period", "a window needs a period", ""),
    (lambda: a.then(b).holds_for("soon"), "bad-period", "'soon' is not", ""),
    (lambda: a.then(b).within("99999999999 days"), "bad-period", "longer than the calendar", ""),
    (lambda: a.times(1), "impossible-repeat", "an event occurs once anyway", "leave it out"),
    (lambda: a.times(3, 2), "impossible-repeat", "ends after it begins", ""),
    (lambda: a.times(0), "impossible-repeat", "ends after it begins", ""),
    (lambda: a.times(-1), "impossible-repeat", "not -1", ""),
    (lambda: a.times(None, 2), "impossible-repeat", "not None", ""),
    (a.times, "usage", "times takes", "a.times(3)"),
    (lambda: a.then(A), "usage", "is not a form", "call the event"),  # type: ignore[arg-type]
    (lambda: a.then("B"), "usage", "'B' is not a form", "cep.occurs"),  # type: ignore[arg-type]
    (lambda: anything.complex_event("c", A), "usage", "is not a form", "call the event"),
    (lambda: anything.all_of(a, cep.event("a", "A")), "usage", "is not a form", "cep.occurs"),
    (lambda: anything.every(a), "usage", "is not a pattern", "cep.complex_event"),
    (lambda: anything.match(a), "usage", "is not a pattern", "cep.complex_event"),
    (lambda: anything.compose(a), "usage", "no part of a program", "cep.complex_event"),
    (A.check, "usage", "no condition", "cep.col"),
    (lambda: A.check("x > 5"), "usage", "'x > 5' is not a condition", "cep.col"),
    (lambda: cep.atomic_event("A", x="int[]"), "unknown-type", "'x' has no type", "'int'"),
    (lambda: cep.atomic_event("A", x="Host[]"), "unknown-type", "'Host[]'", "boolean, date, double"),
    (lambda: cep.query_event("Q", "full", h="Host", arguments=["x"]), "wrong-arguments", "'x'", "h"),
    (lambda: anything.query_event("Q", "full", change="fund"), "usage", "'fund'", "'found'"),
    (lambda: cep.query_event("Q", "full").check(x > 1), "usage", "has no check", "into the query"),
    (lambda: anything.query_event("Q", 5), "usage", "a query is a text, not 5", ""),
    (lambda: cep.complex_event("c", a, x="itn"), "unknown-type", "'itn'", "'int'"),
    (lambda: cep.atomic_event("A", t="long", event_time=("t", "s")), "usage", "'s'", "seconds"),
    (lambda: anything.atomic_event(5), "usage", "an event type is a text, not 5", ""),
    (lambda: TWICE.in_context("stric"), "usage", "no context 'stric'", "'strict'"),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize(("make", "code", "fact", "hint"), REFUSED)
def test_a_mistake_is_refused_with_a_fact_and_a_hint(
    make: Callable[[], object], code: str, fact: str, hint: str
) -> None:
    diagnostic = refusal(make)
    assert diagnostic.code == code
    assert fact in diagnostic.message
    assert hint in (diagnostic.hint or "")


DEEP: dict[str, Callable[[cep.Form], cep.Form]] = {
    "sequences": a.then,
    "counts": lambda f: f.times(2),
    "windows": lambda f: f.times(2).within(5),
    "absences": lambda f: a.then(cep.not_(f)),
    "mixed": lambda f: a.and_(b.or_(f)),
}


@pytest.mark.parametrize("what", DEEP)
def test_forms_may_be_as_deep_as_a_text(what: str) -> None:
    built, codes = a, set[str]()
    while not codes:
        before, built = built, DEEP[what](built)
        text = f"complexEvent c() {{ as {built} }}"
        codes = {problem.code for problem in VEPL.parse(text, None).problems}
    assert codes == {"too-deep"}
    assert refusal(lambda: cep.complex_event("c", built)).code == "too-deep"
    assert parsed(str(cep.complex_event("c", before))).warnings == ()


def test_a_form_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match=r"write \.and_\(\), \.or_\(\)"):
        bool(a)


def test_events_and_forms_are_equal_by_what_they_say() -> None:
    assert cep.atomic_event("B", x="int") == B
    assert B("x") == b != B("y")
    assert b.times(2).tree == Times(EventCall(Atom("B"), ("x",)), 2, 2)
    assert repr(b) == "<Form: B(x)>"
    assert repr(B) == "<AtomicEvent: atomicEvent B(x: int)>"
    before = str(B), str(TWICE)
    B.check(x > 1)
    TWICE.in_context("strict").described("again")
    assert (str(B), str(TWICE)) == before
