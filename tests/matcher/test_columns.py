"""Runs from columns to columns give all that runs over records give."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event
from cepheid.core.types import EventType
from cepheid.engines.common import intake
from cepheid.io import encode, to_arrow, write_csv, write_file, write_jsonl
from cepheid.io.columns import reading as columnar
from cepheid.io.encode import to_json
from cepheid.io.rows import ColumnarRows
from cepheid.io.source import NOWHERE
from cepheid.matcher.gaps import left_to_reference
from cepheid.program.tree import ProgramTree
from cepheid.result import Result
from tests.conformance.engines import attributes_of, table_of
from tests.conformance.filters import filters
from tests.conformance.scenarios import FOLDER, FUNCTIONS, Example, parse_events, read
from tests.conformance.scenarios import TYPES as GOLDEN_TYPES
from tests.effort import IS_QUICK, examples
from tests.semantics.drive import show
from tests.semantics.generators import TYPES, programs, streams

RIDES = pa.table({"@time": [1, 2, 4, 3], "bike": [7, 8, 7, 7], "speed": [90, 60, 0, 80]})
CRASH = cep.parse(
    "create schema Ride(bike int, speed int);"
    "@Name('Crash') insert into Crash select a.bike as bike, a.speed as speed"
    " from pattern [every a=Ride(speed>50) -> b=Ride(speed=0 and bike=a.bike)]"
)


@pytest.fixture(autouse=True)
def _no_file_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "SMALL", 0)


def without_columns(source: object) -> Any:
    """The same source as one that can be read only once, so that its records are read."""
    if isinstance(source, dict):
        return {name: iter([part]) for name, part in source.items()}
    return iter(
        [without_columns(part) for part in source] if isinstance(source, list) else [source]
    )


def told(result: Result) -> tuple[object, ...]:
    """Everything that a result says.

    Parts of programs count rows by themselves, so that only the order of keys is told; and no one asks for causes.
    """
    rows = [(show(row)._replace(causes=()), row.sequence) for row in result]
    keys = [row.key for row in result]
    assert keys == sorted(keys)
    steps = [(step.statement, step.step, step.count) for step in result.steps]
    counts = result.counts(), result.taken, result.moved, result.skipped
    return rows, counts, steps, repr(result), result.derived


def compare(columns: Result, records: Result) -> None:
    assert isinstance(columns.events, ColumnarRows)
    assert not isinstance(records.events, ColumnarRows)
    found, expected = columns.to_arrow(), records.to_arrow()
    assert found.schema == expected.schema
    assert repr(found.to_pylist()) == repr(expected.to_pylist())  # NaN is like NaN
    lines = "".join(to_json(encode(row)) + "\n" for row in records)
    assert written(columns) == written(records) == lines  # before anyone looks at an event
    assert as_cells(columns) == as_cells(records)
    assert told(columns) == told(records)


def written(result: Result) -> str:
    text = StringIO()
    write_jsonl(result.events, text)
    return text.getvalue()


def as_cells(result: Result) -> str:
    text = StringIO()
    write_csv(result.events, text)
    return text.getvalue()


# Programs and events of all kinds.


def tables(stream: Sequence[Event], types: dict[str, EventType]) -> dict[str, pa.Table]:
    """The events of each type; types do not agree on what an attribute is."""
    names = dict.fromkeys(event.type for event in stream)
    found = {name: to_arrow([e for e in stream if e.type == name], types) for name in names}
    return {name: table.drop_columns(["@type"]) for name, table in found.items()}


@examples(60)
@given(programs(), streams(), st.booleans())
def test_generated_programs_give_the_same_rows(
    tree: ProgramTree, stream: list[Event], is_mixed: bool
) -> None:
    program = cep.Program(tree)
    given = tables([*stream[3:], *stream[:3]] if is_mixed else stream, dict(TYPES))
    # Of events whose key is null, only records can say something.
    columns = cep.run(program, given, start=0, on_error="skip")
    records = cep.run(program, without_columns(given), start=0, on_error="skip")
    if isinstance(columns.events, ColumnarRows):
        compare(columns, records)
    else:
        assert told(columns) == told(records)


@examples(40)
@given(filters(), st.sampled_from([1, 3, 1000]))
def test_many_filters_give_the_same_rows(example: Example, size: int) -> None:
    """Behind each batch, everything that is needed no more is forgotten."""
    optional, table = attributes_of(example.resolved), table_of(example)
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {"CHUNK": size, "_FEWER": size, "_SPARE": -1000}.items():
            patched.setattr(f"cepheid.matcher.lanes.operator.{name}", value)
        columns = cep.run(example.program, table, start=0, optional=optional)
        records = cep.run(example.program, without_columns(table), start=0, optional=optional)
        compare(columns, records)


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.txt")), ids=lambda file: file.stem)
def test_golden_scenarios_give_the_same_rows(file: Path) -> None:
    scenarios = read(file)
    for case in scenarios.cases[:: 4 if IS_QUICK else 1]:
        if case.expected[:1] and case.expected[0].startswith("=> error"):
            continue
        program = cep.parse(case.text, types=GOLDEN_TYPES, functions=FUNCTIONS)
        if {schema.name for schema in program.tree.schemas} & set(GOLDEN_TYPES):
            continue  # the table has the columns of golden types
        if any(type not in GOLDEN_TYPES for type in program.resolve().input_types):
            continue
        table = golden_table(scenarios.sequences[case.events])
        columns = cep.run(program, table, start=0)
        records = cep.run(program, without_columns(table), start=0)
        if isinstance(columns.events, ColumnarRows):
            compare(columns, records)
        else:
            assert left_to_reference(program.resolve())


def golden_table(sequence: str) -> pa.Table:
    items = list(parse_events(sequence))
    rows = [{"@time": i, "@type": None} if isinstance(i, int) else head(i) for i in items]
    types: dict[str, pa.DataType] = {"@type": pa.string(), "@time": pa.timestamp("us")}
    types |= {"id": pa.string(), "k": pa.string(), "v": pa.int32(), "ts": pa.int64()}
    return pa.Table.from_pylist(rows, pa.schema(types))


def head(event: Event) -> dict[str, Any]:
    return {"@type": event.type, "@time": event.instant, **event}


# Sources.


def frame() -> pd.DataFrame:
    return RIDES.to_pandas()


def csv_file(folder: Path) -> str:
    frame().to_csv(folder / "Ride.csv", index=False)
    return str(folder / "Ride.csv")


def lines_file(folder: Path) -> Path:
    rows = [{"@type": "Ride", **row} for row in RIDES.to_pylist()]
    (folder / "rides.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "rides.jsonl"


def parquet_file(folder: Path) -> Path:
    pq.write_table(RIDES, folder / "Ride.parquet")
    return folder / "Ride.parquet"


def file_with_types(folder: Path) -> Path:
    """With a row that was taken back, and at the end a time alone."""
    text = frame().assign(**{"@type": "Ride"}).to_csv(index=False).replace("\n", ",\n")
    text = text.replace("@type,", "@type,@old").replace("8,60,Ride,", "8,60,Ride,true")
    (folder / "rides.csv").write_text(text + "9,,,,\n")
    return folder / "rides.csv"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "CSV": csv_file,
    "JSON Lines": lines_file,
    "Parquet": parquet_file,
    "types": file_with_types,
    "Arrow": lambda _: {"Ride": RIDES},
    "a batch": lambda _: {"Ride": RIDES.to_batches()[0]},
    "pandas": lambda _: {"Ride": frame()},
    "gaps": lambda _: {"Ride": frame().assign(speed=frame()["speed"].where(frame()["bike"] < 8))},
    "several": lambda folder: [csv_file(folder), parquet_file(folder), lines_file(folder)],
    "several of a type": lambda _: {"Ride": [RIDES, RIDES, frame()]},
    "no rows": lambda _: {"Ride": RIDES.slice(0, 0)},
}


@pytest.mark.parametrize("name", SOURCES)
def test_sources_with_columns_give_the_rows_of_their_records(name: str, tmp_path: Path) -> None:
    source = SOURCES[name](tmp_path)
    compare(cep.run(CRASH, source), cep.run(CRASH, without_columns(source)))
    later = cep.run(CRASH, source, start=0.5, on_error="skip")
    compare(later, cep.run(CRASH, without_columns(source), start=0.5))


def test_types_may_differ_in_what_an_attribute_is() -> None:
    program = cep.parse(
        "create schema A(v int, w int); create schema B(v string); create schema C(v int);"
        "select a.v as a, b.v as b, c.v as c from pattern [every a=A -> b=B -> c=C(v=a.v)]"
    )
    source = {
        "A": pa.table({"@time": [1, 2], "v": [7, None]}),
        "B": pa.table({"@time": [3, 4], "v": ["x", None]}),
        "C": pa.table({"@time": [5], "v": [7]}),
    }
    compare(cep.run(program, source), cep.run(program, without_columns(source)))


def test_events_of_one_time_keep_their_order() -> None:
    times = [number % 3 for number in range(300)]
    source = {"Ride": pa.table({"@time": times, "bike": range(300), "speed": times})}
    program = cep.parse("select bike from Ride", types=CRASH.resolve().types)
    compare(cep.run(program, source), cep.run(program, without_columns(source)))


def test_files_are_read_in_several_pieces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = cep.run(CRASH, csv_file(tmp_path))
    monkeypatch.setattr(columnar.pieces_of, "__defaults__", (8, NOWHERE))
    assert len(columnar.pieces_of(csv_file(tmp_path))) > 1
    compare(cep.run(CRASH, csv_file(tmp_path)), cep.run(CRASH, without_columns({"Ride": RIDES})))
    assert told(cep.run(CRASH, csv_file(tmp_path))) == told(whole)


def test_rows_stay_a_table_until_one_is_looked_at(tmp_path: Path) -> None:
    result = cep.run(CRASH, {"Ride": RIDES})
    write_file(result.events, tmp_path / "rows.parquet", "parquet", result.types)
    assert (len(result), repr(result)) == (2, "<Result: 2 Crash>")
    assert pq.read_table(tmp_path / "rows.parquet").equals(result.to_arrow())
    assert "_events" not in vars(result.events)
    assert [row["speed"] for row in result] == [90, 80]
    assert result[0] is result.of("Crash")[0]


def test_progress_is_told_while_events_are_read_and_taken() -> None:
    heard: list[tuple[int, int | None]] = []
    cep.run(CRASH, {"Ride": RIDES}, progress=lambda done, total: heard.append((done, total)))
    assert heard == [(4, None), (4, 4)]


# What takes records.


@pytest.mark.parametrize(
    "text",
    ["@time,bike,speed\n1,7,fast\n2,7,0\n", "@time,bike,sped\n1,7,90\n", "@time,bike\n1\n", "\n"],
)
def test_problems_are_those_of_records(text: str, tmp_path: Path) -> None:
    good, bad = csv_file(tmp_path), tmp_path / "sub" / "Ride.csv"
    bad.parent.mkdir()
    bad.write_text(text)
    found = cep.run(CRASH, good, bad, on_error="skip")
    expected = cep.run(CRASH, without_columns([good, bad]), on_error="skip")
    assert told(found) == told(expected)


@pytest.mark.parametrize(
    ("text", "source", "start"),
    [
        ("select speed from Ride", {"Ride": RIDES.drop_columns(["speed"])}, None),
        ("select * from Ride", {"Ride": RIDES.set_column(1, "bike", [[1, 2, 3, 2**40]])}, None),
        ("select * from Ride", {"Ride": frame().assign(bike=[1, 2, 3, 2**70])}, None),
        ("select * from Ride", {"Ride": frame().assign(bike=[1, 2, "x", 3])}, None),
        ("select * from Ride", {"Ride": RIDES}, 3),
        ("select gone from Ride", {"Ride": RIDES}, None),
        ("select * from Ride", {"Ride": [RIDES, "gone.csv"]}, None),
        ("select * from Ride", [{"Ride": RIDES}], None),
        ("insert into S select bike from S; insert into S select bike from Ride", RIDES, None),
    ],
)
def test_errors_are_those_of_records(text: str, source: Any, start: float | None) -> None:
    program = cep.parse("create schema Ride(bike int, speed int);" + text)
    source = {"Ride": source} if isinstance(source, pa.Table) else source
    with pytest.raises(cep.CepheidError) as found:
        cep.run(program, source, start=start)
    with pytest.raises(cep.CepheidError) as expected:
        cep.run(program, without_columns(source), start=start)
    assert found.value.diagnostics == expected.value.diagnostics


@pytest.mark.parametrize("options", [{"engine": "reference"}, {"why": True}, {"timed_out": True}])
def test_what_only_records_can_do_takes_them(options: dict[str, Any]) -> None:
    result = cep.run(CRASH, {"Ride": RIDES}, **options)
    assert not isinstance(result.events, ColumnarRows)
    assert list(result) == list(cep.run(CRASH, {"Ride": RIDES}))


OTHER = RIDES.set_column(1, "bike", RIDES["bike"].cast(pa.int32()))


@pytest.mark.parametrize("name", ["CSV", "Parquet", "Arrow", "a batch", "pandas", "gaps"])
def test_columns_say_what_a_type_looks_like(name: str, tmp_path: Path) -> None:
    source = SOURCES[name](tmp_path)
    program = cep.parse("select bike, speed * 2 as twice from Ride(speed>50)")
    compare(cep.run(program, source), cep.run(program, without_columns(source)))


@pytest.mark.parametrize(
    "source",
    [
        file_with_types,
        lines_file,
        lambda _: RIDES.append_column("@type", [["Ride"] * 4]),
        lambda _: {"Ride": [RIDES, OTHER]},
        lambda _: {"Ride": RIDES.append_column("note", pa.nulls(4))},
    ],
)
def test_a_type_that_columns_do_not_describe_takes_records(
    source: Callable[[Path], Any], tmp_path: Path
) -> None:
    program = cep.parse("select bike from Ride")
    result = cep.run(program, source(tmp_path))
    assert not isinstance(result.events, ColumnarRows)
    assert len(result) == result.taken


def test_small_files_are_read_as_records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = csv_file(tmp_path)
    monkeypatch.setattr(intake, "SMALL", Path(path).stat().st_size + 1)
    assert not isinstance(cep.run(CRASH, path).events, ColumnarRows)
