"""Programs as specifications: the real Maude gives the rows of the reference, in their order."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event, Value
from cepheid.core.types import BOOLEAN, DOUBLE, INT, LONG, STRING, ArrayType, Attribute
from cepheid.errors import ProgramError, RunError, UsageError
from cepheid.expr.evaluate import Frame, compile_expr
from cepheid.expr.tree import Aggregate, Expr, Part, Ref, walk
from cepheid.formal.maude.engine import run_in
from cepheid.formal.maude.names import Names, prelude
from cepheid.formal.maude.process import Maude
from cepheid.formal.maude.specify import specify
from cepheid.formal.maude.values import Reader, text_of, text_term, value_of, value_term
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import ProgramTree, Schema, SelectExpr, Statement, StreamSource
from cepheid.semantics.limits import RUNAWAY
from tests.effort import examples
from tests.formal.maudes import agree
from tests.matcher import expressions
from tests.semantics.drive import plain

SECOND = 1_000_000


@pytest.fixture(scope="module")
def maude() -> Iterator[Maude]:
    with Maude() as process:
        yield process


# -- equal to the reference ----------------------------------------------------------------------


def test_calendar_months_and_schedules(maude: Maude) -> None:
    text = """create schema A (x int);
    @Name('window') select irstream x from A#time(1 month);
    @Name('batch') select count(*) as n from A#time_batch(2 months, 0L);
    @Name('cron') insert into Tick select current_timestamp() as ts
    from pattern [every timer:at(30, 6, 29, 2, *)];
    @Name('friday') select a.x as x from pattern [every a=A -> timer:at(0, 12, *, *, 5)];
    @Name('rate') select x from A output last every 1 month;"""
    days = (0, 30, 31, 58, 59, 60, 120, 365, 789, 790, 1096, 1500)
    events = [Event("A", day * 86_400 * SECOND, {"x": day}, day) for day in days]
    assert len(agree(maude, cep.parse(text).resolve(), events, 0, 2000 * 86_400 * SECOND)) > 30


# -- expressions -----------------------------------------------------------------------------------

ATTRIBUTES = (
    *(a for a in expressions.PLAIN if a.type in (BOOLEAN, INT, LONG, DOUBLE, STRING)),
    Attribute("xs", ArrayType(INT)),
    Attribute("ds", ArrayType(DOUBLE)),
)
NAMES = {a.name for a in ATTRIBUTES}


def on_plain_attributes(expr: Expr) -> Expr:
    """The expression with attributes of one event only, of types that Maude has."""
    if isinstance(expr, Ref):
        last = expr.parts[-1]
        name = {"x": "i", "f": "d", "f2": "d2"}.get(last.name, last.name)
        return Ref((Part(name, last.index) if name in NAMES else Part("xs"),))
    changed: dict[str, Any] = {
        name: _changed(getattr(expr, name))
        for name in expr.__dataclass_fields__
        if name not in ("type", "span", "target")
    }
    return replace(expr, **changed)


def _changed(value: object) -> object:
    if isinstance(value, Expr):
        return on_plain_attributes(value)
    return tuple(map(_changed, value)) if isinstance(value, tuple) else value


@st.composite
def selections(draw: st.DrawFn) -> ProgramTree:
    """A statement that selects some expressions over one event."""
    makers = (expressions.number, expressions.text, expressions.condition)
    columns = [
        SelectExpr(on_plain_attributes(draw(st.sampled_from(makers))(draw, 2)), f"c{place}")
        for place in range(4)
    ]
    source = StreamSource("T")
    return ProgramTree(
        (Schema(name="T", attributes=ATTRIBUTES), Statement(select=tuple(columns), source=source))
    )


def event_of(seed: int, place: int) -> Event:
    random = Random(seed + place)
    values = {a.name: expressions.make_value(random, a.type) for a in ATTRIBUTES}
    return Event("T", place * SECOND, {n: _without_sign(v) for n, v in values.items()}, place)


def _without_sign(value: Value) -> Value:
    """Maude has one zero."""
    if isinstance(value, list):
        return [_without_sign(item) for item in value]
    return 0.0 if isinstance(value, float) and value == 0 else value


def _meets_negative_zero(tree: ProgramTree, events: Sequence[Event]) -> bool:
    program = resolve_program(tree)
    parts = [e for c in program.statements[0].columns for e in walk(c.expr)]
    plain_parts = [e for e in parts if not any(isinstance(p, Aggregate) for p in walk(e))]
    values = [
        compile_expr(e)(Frame(event, now=event.instant)) for e in plain_parts for event in events
    ]
    return "-0.0" in map(repr, values)


def gaps_of(program: ResolvedProgram) -> list[str]:
    try:
        specify(program)
    except ProgramError as gaps:
        return [d.code for d in gaps.diagnostics]
    return []


@examples(60)
@given(data=st.data())
def test_expressions_have_the_values_of_the_reference(maude: Maude, data: st.DataObject) -> None:
    tree, seed = data.draw(selections()), data.draw(st.integers(0, 10**6))
    program = resolve_program(tree)
    assume(not any(p.severity == "error" for p in program.problems))
    events = [event_of(seed, place) for place in range(3)]
    assume(not _meets_negative_zero(tree, events))
    assume(not gaps_of(program))
    agree(maude, program, events, 0, 3 * SECOND)


@examples(100)
@given(st.text() | st.integers() | st.floats() | st.none() | st.booleans() | st.lists(st.text()))
def test_values_come_back_from_their_terms(value: Value) -> None:
    (term,) = Reader(value_term(value)).terms()
    assert repr(plain(value_of(term, {}))) == repr(plain(value))


def test_texts_are_bytes_to_maude_and_texts_to_us() -> None:
    assert text_term('a"é\n') == '"a\\"\\303\\251\\012"'
    assert text_of('"a\\"\\303\\251\\n\\\\"') == 'a"é\n\\'


# -- what Maude cannot compute ---------------------------------------------------------------------

SCHEMA = "create schema A (id string, x int, f float, d double);"


def test_what_maude_cannot_compute_is_evaluated_beforehand(maude: Maude) -> None:
    text = f"""{SCHEMA}
    @Name('one') insert into S select upper(a.id) as id, b.x as x
    from pattern [every a=A(id like 'm%') -> b=A(id regexp '.*[0-9]' and x > a.x)];
    @Name('two') select round(d, 1) as r, f + f as g, pi() as p from A where id like 'm%';"""
    program = cep.parse(text).resolve()
    beforehand = [str(b) for b in specify(program).beforehand]
    assert beforehand == [
        "A.evaluated1 = id like 'm%'",
        "A.evaluated2 = id regexp '.*[0-9]'",
        "A.evaluated3 = upper(id)",
        "A.evaluated4 = round(d, 1)",
        "A.evaluated5 = f + f",
    ]
    values = [
        ("m1", 1, 0.1, 0.25),
        ("n2", 5, None, 1.0),
        (None, 2, 0.5, 2.75),
        ("m", 7, 3e38, 0.35),
    ]
    events = [
        Event("A", n * SECOND, dict(zip(("id", "x", "f", "d"), v, strict=True)), n)
        for n, v in enumerate(values)
    ]
    assert len(agree(maude, program, events, 0, 9 * SECOND)) == 3


def test_attributes_that_are_evaluated_have_names_of_their_own(maude: Maude) -> None:
    text = """create schema A (evaluated1 string);
    @Name('s') select upper(evaluated1) as u, evaluated1 as v from A;"""
    program = cep.parse(text).resolve()
    assert [b.name for b in specify(program).beforehand] == ["evaluated2"]
    agree(maude, program, [Event("A", 0, {"evaluated1": "x"})], 0, 1)


def test_what_cannot_be_said_in_maude_is_named_with_its_place() -> None:
    text = f"""{SCHEMA}
    @Name('one') insert into S select id, x from A;
    @Name('two') select sum(f) as s from A;
    @Name('three') select s.id as id from pattern [every s=S(id like 'm%')];
    @Name('four') select upper(a.id || b.id) as id from pattern [every a=A -> b=A(id regexp a.id)];"""
    with pytest.raises(ProgramError) as raised:
        specify(cep.parse(text).resolve())
    found = [(d.code, d.message, d.span.line) for d in raised.value.diagnostics if d.span]
    assert found == [
        ("not-in-maude", "a sum of 32-bit floats of 'two' has no counterpart in Maude", 3),
        ("not-in-maude", "'id like 'm%'' of 'three' has no counterpart in Maude", 4),
        ("not-in-maude", "'id regexp a.id' of 'four' has no counterpart in Maude", 5),
        ("not-in-maude", "'upper(a.id || b.id)' of 'four' has no counterpart in Maude", 5),
    ]


# -- names, long chains, ends ----------------------------------------------------------------------


def test_names_of_maude_and_odd_names_are_no_trouble(maude: Maude) -> None:
    text = """create schema `every` (if int, `a b` string, op int);
    create schema T (now int, event int, nil int); create schema sort (x int, now int);
    @Name('(run: [x] . ') insert into live select a.if as `count(*)`, b.now as take
    from pattern [every a=`every`(if > 0) -> b=T(now > a.if)];
    @Name('eq') insert into nothing select count(*), max(take) from live;
    @Name('rl') insert into ___a_b select x from sort;
    @Name('Value') insert into Event select now as Value, x as String, x as System from sort;"""
    events = [
        Event("every", 0, {"if": 1, "a b": "q", "op": 3}, 0),
        Event("T", 1, {"now": 2, "event": 1, "nil": None}, 1),
        Event("sort", 2, {"x": 2, "now": 1}, 2),
    ]
    assert len(agree(maude, cep.parse(text).resolve(), events, 0, 5)) == 4


def test_no_two_things_have_one_name() -> None:
    names = Names()
    assert names.of("", "a_b") != names.of("", "a-b")
    assert names.of("", "take") != "take"
    assert names.of("", "a_b") == names.of("", "a_b")


def test_events_of_subtypes_and_of_types_that_nobody_takes(maude: Maude) -> None:
    text = """create schema P (x int); create schema C (y int) inherits P; create schema Z (x int);
    create context PerX partition by x from P;
    @Name('s') context PerX select b.x - a.x as d from pattern [every a=P -> b=P];"""
    types = [("P", 1), ("C", 1), ("Z", 1), ("C", 2), ("P", 2)]
    events = [
        Event(t, n, {"x": x, "y": 1} if t == "C" else {"x": x}, n) for n, (t, x) in enumerate(types)
    ]
    assert len(agree(maude, cep.parse(text).resolve(), events, 0, 9)) == 2


def test_a_cycle_that_never_ends_is_stopped(maude: Maude, monkeypatch: pytest.MonkeyPatch) -> None:
    impatient = prelude().replace(f"DC > {RUNAWAY}", "DC > 500")
    assert impatient != prelude()
    monkeypatch.setattr("cepheid.formal.maude.specify.prelude", lambda: impatient)
    text = "create schema A (x int); @Name('again') insert into A select x + 1 as x from A"
    with pytest.raises(RunError, match="more than 100,000 events were derived from one cause"):
        run_in(maude, specify(cep.parse(f"{text};").resolve()), [Event("A", 0, {"x": 1})], 0, 0)
    agree(maude, cep.parse(f"{text}(x < 9);").resolve(), [Event("A", 0, {"x": 1})], 0, 0)


def test_input_comes_in_chunks(maude: Maude, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.formal.maude.engine.CHUNK", 7)
    text = """create schema A (x int);
    @Name('s') select a.x as x, b.x as y from pattern [every a=A -> b=A where timer:within(3 sec)];"""
    events = [Event("A", n * SECOND, {"x": n}, n) for n in range(40)]
    assert len(agree(maude, cep.parse(text).resolve(), events, 0, 60 * SECOND)) == 39


# -- the process -----------------------------------------------------------------------------------


def test_without_maude_the_export_works_and_the_rest_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "maude.py").write_text("raise ImportError('no Maude here')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    program = cep.parse("create schema A (x int); @Name('s') select x from A;")
    assert "mod CEP-PROGRAM is" in specify(program.resolve()).source()
    with pytest.raises(UsageError) as raised:
        cep.run(program, [{"@type": "A", "@time": 1, "x": 1}], engine="maude")
    (problem,) = raised.value.diagnostics
    assert (problem.code, problem.hint) == ("no-maude", "pip install 'cepheid[maude]'")


def test_a_specification_that_maude_does_not_understand_is_an_error(maude: Maude) -> None:
    specification = specify(cep.parse("create schema A (x int); select x from A;").resolve())
    broken = replace(specification, text=specification.text.replace("int(", "oops("))
    broken = replace(broken, text=broken.text.replace("endm", "  eq oops = oops . endm"))
    with pytest.raises(RunError, match="Maude does not understand"):
        maude.load(broken)


def test_a_maude_that_ends_is_an_error() -> None:
    with Maude() as process:
        process._process.kill()
        with pytest.raises(RunError, match="Maude ended with exit code -9"):
            process.ask("begin", start=0)


def test_what_maude_does_not_report() -> None:
    program = cep.parse("create schema A (x int); select x from A;")
    for option in ({"why": True}, {"timed_out": True}):
        with pytest.raises(UsageError, match="Maude does not"):
            cep.run(program, [], engine="maude", **option)  # type: ignore[arg-type]


def test_a_run_by_name_of_the_engine() -> None:
    program = cep.parse("create schema A (x int); @Name('s') insert into S select x from A;")
    rows = cep.run(program, [{"@type": "A", "@time": 1, "x": 1}], engine="maude")
    assert [dict(row) for row in rows] == [{"x": 1}]


def test_only_the_process_of_its_own_loads_maude() -> None:
    code = "import cepheid.formal.maude.search, cepheid.formal.maude.engine, sys; print('maude' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
