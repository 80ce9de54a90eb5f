"""The public verbs: programs from text, bounded runs, sessions, results."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.core.types import EventType
from cepheid.engines.registry import ENGINES, Offer, engines_that
from cepheid.io.type_arguments import GivenTypes
from cepheid.verbs import LARGE, engine_for

PAIRS = """
create schema A (k string, v int);
create schema B (k string, v int);
@Name('Pair') insert into Pair
select a.k as k, b.v - a.v as gain
from pattern [every a=A -> b=B(k=a.k) where timer:within(3 seconds)];
@Name('Big') insert into Big select k from Pair(gain > 1);
"""
EVENTS: list[dict[str, object]] = [
    {"@type": "A", "@time": 1, "k": "x", "v": 1},
    {"@type": "A", "@time": 2, "k": "y", "v": 1},
    {"@type": "B", "@time": 3, "k": "x", "v": 5},
    {"@type": "B", "@time": 9, "k": "y", "v": 5},
]


@pytest.fixture
def program() -> cep.Program:
    return cep.parse(PAIRS)


def rows(result: cep.Result) -> list[tuple[str, float, dict[str, object]]]:
    return [(e.type, e.instant / 1e6, dict(e)) for e in result]


FOUND = [("Pair", 3.0, {"k": "x", "gain": 4}), ("Big", 3.0, {"k": "x"})]


def test_dictionaries_are_events(program: cep.Program) -> None:
    assert rows(cep.run(program, EVENTS)) == FOUND


def test_arrow_and_pandas_are_events(program: cep.Program) -> None:
    assert rows(cep.run(program, pa.Table.from_pylist(EVENTS))) == FOUND
    assert rows(cep.run(program, pd.DataFrame(EVENTS))) == FOUND


def test_a_mapping_names_the_types(program: cep.Program) -> None:
    tables: dict[str, list[dict[str, object]]] = {"A": [], "B": []}
    for event in EVENTS:
        tables[str(event["@type"])].append({n: v for n, v in event.items() if n != "@type"})
    assert rows(cep.run(program, tables)) == FOUND


def test_several_sources_are_one_input(program: cep.Program, tmp_path: Path) -> None:
    path = tmp_path / "more.jsonl"
    path.write_text('{"@type": "B", "@time": 3, "k": "x", "v": 5}\n')
    assert rows(cep.run(program, EVENTS[:2], path)) == FOUND


def test_bounded_input_is_sorted_and_the_moves_are_counted(program: cep.Program) -> None:
    result = cep.run(program, list(reversed(EVENTS)))
    assert rows(result) == FOUND
    assert (result.taken, result.moved) == (4, 3)


def test_types_that_there_are_not_have_no_events(program: cep.Program) -> None:
    result = cep.run(program, EVENTS[:1])
    assert result.of("Pair") == []
    with pytest.raises(cep.UsageError, match="did you mean 'Pair'"):
        result.of("pairs")


def test_events_of_one_instant_keep_their_order(program: cep.Program) -> None:
    at_once = [{**event, "@time": 5} for event in EVENTS]
    assert [e["k"] for e in cep.run(program, at_once).of("Pair")] == ["x", "y"]
    assert not cep.run(program, at_once[2:], at_once[:2])


def test_the_clock_runs_to_the_largest_time_of_the_input() -> None:
    program = cep.parse("select 1 as one from pattern [every timer:interval(10 sec)]")
    assert len(cep.run(program, [{"@time": 0}, {"@time": 35}])) == 3
    assert len(cep.run(program, [{"@time": 35}], start=0)) == 3
    assert len(cep.run(program, [])) == 0


def test_an_event_before_the_start_is_late(program: cep.Program) -> None:
    with pytest.raises(cep.LateEvent, match="before the start"):
        cep.run(program, EVENTS, start=2)


def test_a_row_knows_what_it_is_and_what_is_behind_it(program: cep.Program) -> None:
    pair, big = cep.run(program, EVENTS, why=True)
    assert pair.time == datetime(1970, 1, 1, 0, 0, 3, tzinfo=UTC)
    assert (pair.type, pair.statement, pair["gain"], pair.is_old) == ("Pair", "Pair", 4, False)
    assert list(pair) == ["k", "gain"]
    assert [(c.type, c["v"]) for c in pair.causes] == [("A", 1), ("B", 5)]
    assert [[c.type for c in cause.causes] for cause in big.causes] == [["A", "B"]]


def test_without_why_the_matcher_keeps_no_causes(program: cep.Program) -> None:
    assert [row.causes for row in cep.run(program, EVENTS, engine="local")] == [(), ()]
    _, big = cep.run(program, EVENTS, engine="reference")
    [cause] = big.causes
    assert (cause.type, cause.causes) == ("Pair", ())


def test_partial_matches_that_time_ended_are_given_on_request(program: cep.Program) -> None:
    result = cep.run(program, EVENTS, timed_out=True)
    [timeout] = [e for e in result if e.is_timeout]
    assert (timeout.type, timeout.instant, dict(timeout)) == (
        "Pair",
        5_000_000,
        {"k": "y", "gain": None},
    )


def test_what_cannot_be_read_stops_the_run_or_is_listed(program: cep.Program) -> None:
    bad = [*EVENTS, {"@type": "A", "@time": 4, "v": "many"}, {"@type": "C", "@time": 4}]
    with pytest.raises(cep.InputError, match="bad-value"):
        cep.run(program, bad)
    result = cep.run(program, bad, on_error="skip")
    assert rows(result) == FOUND
    assert [d.code for d in result.skipped] == ["bad-value", "unknown-type"]


def test_a_type_without_a_schema_takes_it_from_its_events() -> None:
    program = cep.parse("select k, v / 2 as half from A(v > 1)")
    assert [d.code for d in program.check(without=["retention"])] == ["no-schema"]
    result = cep.run(program, [{"@type": "A", "@time": 0, "k": "x", "v": 3}])
    assert [dict(e) for e in result] == [{"k": "x", "half": 1.5}]
    with pytest.raises(cep.ProgramError, match="no attribute 'k' in A"):
        cep.run(program, [{"@type": "A", "@time": 0, "v": 3}])


DOUBLED = "insert into Y select *, v + v as d from Z"


def of_z(*values: object) -> list[dict[str, object]]:
    return [{"@type": "Z", "@time": time, "v": value} for time, value in enumerate(values)]


def test_how_large_numbers_are_does_not_change_their_type() -> None:
    program = cep.parse(DOUBLED)
    assert [e["d"] for e in cep.run(program, of_z(2_000_000_000))] == [4_000_000_000]
    assert [e["d"] for e in cep.run(program, of_z(2_000_000_000, 2**40))] == [4_000_000_000, 2**41]


def test_events_one_at_a_time_need_a_schema() -> None:
    program = cep.parse(DOUBLED + "; select z.v as v from pattern [every z=Z -> w=W]")
    with pytest.raises(cep.ProgramError) as refused:
        cep.open(program)
    assert [(d.code, d.message, d.hint) for d in refused.value.diagnostics] == [
        (
            "no-schema",
            f"type '{name}' has no schema",
            f"create schema {name} (...), or types={{...}}",
        )
        for name in "ZW"
    ]
    session = cep.open(cep.parse(DOUBLED, types={"Z": {"v": "long"}}))
    assert [dict(e) for e in session.send("Z", {"v": 2}, time=0)] == [{"v": 2, "d": 4}]


def test_types_that_nothing_can_produce_need_no_schema_but_take_only_nulls() -> None:
    program = cep.parse(
        """create schema X (n int);
        insert into T select x from U;
        insert into U select x from T;
        insert into X select x as n from T;
        @Name('next') select n + 1 as m from X;"""
    )
    session = cep.open(program, start=0)
    assert session.advance(5) == []
    with pytest.raises(cep.InputError, match="'abc' is not a null"):
        session.send("T", {"x": "abc"}, time=6)
    with pytest.raises(cep.RunError, match="runaway"):
        session.send("T", {"x": None}, time=6)


def test_bounded_input_need_not_have_events_of_every_type() -> None:
    program = cep.parse("select coalesce(z.v, 5) as v from pattern [every (a=A or z=Z)]")
    assert [e["v"] for e in cep.run(program, [{"@type": "A", "@time": 0}])] == [5]


INTO_X = """
create schema X (n int);
insert into X select v as n from Z;
select n + 1 as m from X;
"""


def test_a_value_that_does_not_fit_its_target_is_found_before_the_run() -> None:
    program = cep.parse(INTO_X)
    for value in ("abc", 2**40, 1.5):
        with pytest.raises(cep.ProgramError, match=r"schema-conflict\]: 'n' of X is int, not "):
            cep.run(program, of_z(value))
    assert [dict(e) for e in cep.run(program, of_z(None)).of("statement_2")] == [{"m": None}]


def test_what_is_null_in_all_events_takes_the_type_of_what_stands_beside_it() -> None:
    program = cep.parse(
        "create schema X (n string); insert into X select coalesce(v, 5) as n from Z"
    )
    with pytest.raises(cep.ProgramError, match="'n' of X is string, not int"):
        cep.run(program, of_z(None))


def test_nested_events_of_a_type_without_a_schema_are_refused() -> None:
    program = cep.parse(
        "create schema X (n int); insert into T select z from pattern [every z=Z];"
        "insert into X select z.v as n from T; select n + 1 as m from X"
    )
    nested: list[dict[str, object]] = [{"@type": "T", "@time": 0, "z": {"v": "abc"}}]
    with pytest.raises(cep.InputError, match="type 'Z' has no schema"):
        cep.run(program, nested)
    with pytest.raises(cep.InputError, match="'abc' is not a null"):
        cep.run(program, of_z(None), nested)


def test_standard_input_needs_a_schema(tmp_path: Path) -> None:
    (tmp_path / "x.epl").write_text(INTO_X)
    done = subprocess.run(
        [sys.executable, "-m", "cepheid", "run", "x.epl", "--events", "-"],
        cwd=tmp_path,
        input='{"@type": "Z", "@time": 0, "v": "abc"}\n',
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode
    assert "error[no-schema]: type 'Z' has no schema" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_statement_cannot_derive_a_type_that_comes_from_outside() -> None:
    given = cep.parse("@Name('A') select 1 as x from B", types={"A": {"x": "int"}, "B": {}})
    assert [d.code for d in given.check()] == ["duplicate-name"]
    events = cep.parse("@Name('A') select x from A")
    with pytest.raises(cep.ProgramError, match="statement 'A' would derive the type 'A'"):
        cep.run(events, [{"@type": "A", "@time": 0, "x": 1}])
    read = cep.parse("@Name('A') select 1 as x from B; select x from A", types={"B": {}})
    assert [d.code for d in read.check(without=["retention"])] == ["no-priority"]


@pytest.mark.parametrize(
    "types",
    [
        {"A": {"@type": "int"}},
        {"A": pa.schema([pa.field("x", pa.binary())])},
        {"A": pa.schema([pa.field("x", pa.list_(pa.null()))])},
        {"A": EventType("A", (), is_open=True)},
    ],
)
def test_given_types_say_what_their_attributes_are(types: GivenTypes) -> None:
    with pytest.raises(cep.UsageError):
        cep.parse("select * from A", types=types)


def test_the_steps_of_a_pattern_are_counted(program: cep.Program) -> None:
    steps = cep.run(program, EVENTS).steps
    assert [(s.statement, s.step, s.count) for s in steps] == [
        ("Pair", "a=A", 2),
        ("Pair", "b=B(k = a.k)", 1),
    ]


def test_results_become_tables(program: cep.Program) -> None:
    result = cep.run(program, EVENTS)
    table = result.to_arrow()
    assert table.column_names == ["@type", "@time", "k", "gain"]
    assert table["gain"].to_pylist() == [4, None]
    assert list(result.to_pandas()["k"]) == ["x", "x"]
    page = result._repr_html_()
    assert page.count("<table>") == 2
    assert ">4</td>" in page
    assert repr(result) == "<Result: 1 Pair, 1 Big>"


def test_an_empty_result_has_its_columns(program: cep.Program) -> None:
    assert cep.run(program, []).to_arrow().column_names == ["@type", "@time", "k", "gain"]
    assert list(cep.run(program, []).to_pandas().columns) == ["@type", "@time", "k", "gain"]


def test_events_are_equal_if_they_say_the_same(program: cep.Program) -> None:
    once, again = cep.run(program, EVENTS), cep.run(program, EVENTS)
    assert list(once) == list(again)
    assert once[0] == {"k": "x", "gain": 4}
    assert once[0] != once[1]
    assert len({*once, *again}) == 2


def test_html_escapes_what_events_say() -> None:
    program = cep.parse("create schema A (k string); select k from A")
    page = cep.run(program, [{"@type": "A", "@time": 0, "k": "<script>"}])._repr_html_()
    assert "<script>" not in page


def test_a_session_returns_the_rows_of_timers_first() -> None:
    program = cep.parse(
        """create schema A (v int);
        @Name('tick') select 0 as v from pattern [every timer:interval(10 sec)];
        @Name('echo') select v from A;"""
    )
    session = cep.open(program, start=0)
    assert [e.statement for e in session.send("A", {"v": 1}, time=25)] == ["tick", "tick", "echo"]
    assert [e.instant for e in session.advance(30)] == [30_000_000]
    assert session.advance("1970-01-01T00:00:30Z") == []
    assert len(session.advance(datetime(1970, 1, 1, 0, 1, tzinfo=UTC))) == 3


def test_the_clock_of_a_session_starts_at_the_first_event() -> None:
    program = cep.parse(
        "create schema A (v int); select 0 as v from pattern [timer:interval(10 sec)]"
    )
    session = cep.open(program)
    assert session.send("A", {"v": 1}, time=100) == []
    assert [e.instant for e in session.advance(200)] == [110_000_000]


def test_time_never_goes_back(program: cep.Program) -> None:
    session = cep.open(program, start=10)
    before = session.save()
    with pytest.raises(cep.LateEvent):
        session.send("A", {"k": "x", "v": 1}, time=9)
    with pytest.raises(cep.LateEvent):
        session.advance(9)
    assert session.save() == before


def test_what_cannot_be_taken_changes_nothing(program: cep.Program) -> None:
    session = cep.open(program, start=0)
    before = session.save()
    for type, values, time in (
        ("C", {}, 1),
        ("A", {"v": 2**40}, 1),
        ("A", {"v": 1}, None),
        ("A", {"v": 1}, "yesterday"),
    ):
        with pytest.raises(cep.InputError):
            session.send(type, values, time=time)
    assert session.save() == before


def test_a_session_goes_on_from_where_it_was_saved(program: cep.Program) -> None:
    session = cep.open(program, start=0)
    session.send("A", {"k": "x", "v": 1}, time=1)
    later = cep.open(program, state=session.save())
    assert [dict(e) for e in later.send("B", {"k": "x", "v": 5}, time=2)] == [
        {"k": "x", "gain": 4},
        {"k": "x"},
    ]


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize("options", [{}, {"why": True}])
def test_events_of_one_time_keep_their_order_when_a_session_goes_on_between_them(
    engine: str, options: dict[str, Any]
) -> None:
    program = cep.parse(
        "create schema A (v int); "
        "insert into R select a.v as v from pattern [every a=A -> timer:interval(1 sec)];"
    )
    session = cep.open(program, engine=engine, **options)
    for number in range(4):
        session.send("A", {"v": number}, 100)
        session = cep.open(program, engine=engine, state=session.save(), **options)
    found = session.advance(200)
    assert [row["v"] for row in found] == [0, 1, 2, 3]
    assert len({row.key for row in found}) == 4


def test_state_of_another_program_or_no_state_is_refused(program: cep.Program) -> None:
    other = cep.parse(PAIRS.replace("3 seconds", "4 seconds"))
    saved = cep.open(other, start=0).save()
    for state in (saved, b"", b"nonsense", saved[:-1] + b"x"):
        with pytest.raises(cep.RunError, match="bad-state"):
            cep.open(program, state=state)
    own = cep.open(program, start=0).save()
    with pytest.raises(cep.RunError, match="bad-state"):
        cep.open(program, state=own[:-20])


def test_an_engine_that_cannot_names_those_that_can(program: cep.Program) -> None:
    with pytest.raises(cep.UsageError) as refused:
        cep.open(program, engine="spark")
    (problem,) = refused.value.diagnostics
    named = ENGINES.keys() & set(re.findall(r"\w+", str(problem.hint)))
    assert named == set(engines_that(Offer.SESSION))


def test_engines_have_names(program: cep.Program) -> None:
    assert rows(cep.run(program, EVENTS, engine="reference")) == FOUND
    with pytest.raises(cep.UsageError, match="did you mean 'local'"):
        cep.run(program, EVENTS, engine="locall")
    with pytest.raises(cep.UsageError, match="Spark does not take events one at a time"):
        cep.open(program, engine="spark")
    with pytest.raises(cep.UsageError, match="does not keep the events behind a row"):
        cep.run(program, EVENTS, engine="spark", why=True)


def test_large_files_are_left_to_spark(tmp_path: Path) -> None:
    for size, engine in ((LARGE, "local"), (LARGE + 1, "spark")):
        with (tmp_path / "large.jsonl").open("wb") as file:
            file.truncate(size)
        assert engine_for([str(tmp_path)]) == engine
    assert engine_for(["table:rides"]) == "spark"


def test_a_program_that_is_wrong_does_not_run() -> None:
    program = cep.parse("create schema A (v int); select w from A")
    with pytest.raises(cep.ProgramError, match="no attribute 'w' in A"):
        cep.run(program, [])
    with pytest.raises(cep.ProgramError):
        cep.open(program)


def test_calls_that_make_no_sense_are_named(program: cep.Program) -> None:
    session = cep.open(program, start=0)
    calls: list[Callable[[], object]] = [
        lambda: cep.run("crash.epl", EVENTS),  # type: ignore[arg-type]
        lambda: cep.open("crash.epl"),  # type: ignore[arg-type]
        lambda: cep.parse(5),  # type: ignore[arg-type]
        lambda: cep.load(["a.epl", "b.epl"]),  # type: ignore[arg-type]
        lambda: cep.run(program, EVENTS, on_error="ignore"),  # type: ignore[arg-type]
        lambda: cep.open(program, state="abc"),  # type: ignore[arg-type]
        lambda: cep.open(program, state=session.save(), start=5),
    ]
    for call in calls:
        with pytest.raises(cep.UsageError):
            call()
    with pytest.raises(cep.InputError, match="dictionary"):
        session.send("A", 5, time=1)  # type: ignore[arg-type]


def test_a_session_shows_its_clock(program: cep.Program) -> None:
    session = cep.open(program)
    assert session.clock is None
    session.send("A", {"k": "x", "v": 1}, time=90)
    assert session.clock == datetime(1970, 1, 1, 0, 1, 30, tzinfo=UTC)
    assert repr(session) == "<Session: 1970-01-01T00:01:30Z>"


def test_programs_survive_json_and_printing(program: cep.Program) -> None:
    assert cep.Program.from_json(program.to_json()) == program
    assert cep.parse(str(program)) == program
    with pytest.raises(cep.UsageError, match="not JSON"):
        cep.Program.from_json("{")


def test_program_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(cep.UsageError, match="missing-file"):
        cep.load(tmp_path / "none.epl")
    with pytest.raises(cep.UsageError, match="bad-file"):
        cep.load(tmp_path)
    broken = tmp_path / "broken.epl"
    broken.write_bytes(b"select *\nfrom \xff")
    with pytest.raises(cep.UsageError, match="not UTF-8 on line 2"):
        cep.load(broken)
