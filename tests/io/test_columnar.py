"""Columns hold the events that records and the decoder give, or there are no columns."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import cepheid as cep
from cepheid.core.event import Event
from cepheid.core.types import (
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
    EventTime,
    EventType,
)
from cepheid.errors import CepheidError, Diagnostic, InputError
from cepheid.io import Decoder, fail, infer_types, read_records
from cepheid.io.columns.exact import NeedsRecords
from cepheid.io.columns.inference import found_type
from cepheid.io.columns.reading import pieces_of, read_piece
from tests.effort import examples

SCALARS: dict[str, DataType] = {
    "i": INT,
    "l": LONG,
    "f": FLOAT,
    "d": DOUBLE,
    "s": STRING,
    "b": BOOLEAN,
}


def event_type(name: str, time: EventTime | None = None, **attributes: DataType) -> EventType:
    return EventType(name, tuple(Attribute(n, t) for n, t in attributes.items()), time=time)


TYPES = {
    type.name: type
    for type in (
        event_type("A", None, **SCALARS),
        event_type("B", EventTime("l", "milliseconds"), l=LONG, s=STRING, i=DOUBLE),
        event_type("C", EventTime("s", "seconds"), s=STRING, b=BOOLEAN),
        event_type("D", EventTime("d", "hours"), d=DOUBLE, xs=ArrayType(INT)),
        EventType("Open", (), is_open=True),
    )
}


def decoded(path: Path) -> tuple[list[str], list[Diagnostic]]:
    """The events by way of records, and the problems."""
    problems: list[Diagnostic] = []
    found = []
    decoder = Decoder(TYPES)
    try:
        for sequence, record in enumerate(read_records(path, on_problem=problems.append)):
            found.append(shown(decoder.decode(record, sequence)))
    except CepheidError as refused:
        problems += refused.diagnostics
    return found, problems


def shown(item: Event | int) -> str:
    if isinstance(item, Event) and not (item.is_old or item.is_timeout):
        return f"{item.sequence} {item.type} {item.instant} {item.values_!r}"
    return str(item.instant if isinstance(item, Event) else item)


def in_columns(path: Path, size: int = 1 << 24) -> list[str]:
    found: list[str] = []
    for number, piece in enumerate(pieces_of(path, size)):
        assert piece.number == number
        before = len(found)
        for batch in read_piece(pickle.loads(pickle.dumps(piece)), TYPES):
            found += (shown_row(row, before) for row in batch.to_pylist())
    return found


def shown_row(row: Mapping[str, Any], before: int) -> str:
    if row["@type"] is None:
        return str(row["@time"])
    names = [attribute.name for attribute in TYPES[row["@type"]].attributes]
    others = row.keys() - {"@type", "@time", "@place", *names}
    assert not any(row[name] is not None for name in others)
    values = {name: row.get(name) for name in names}
    return f"{before + row['@place']} {row['@type']} {row['@time']} {values!r}"


def compare(path: Path, size: int = 1 << 24) -> bool:
    """Whether the file is plain; then it has the same events either way and no problems."""
    try:
        found = in_columns(path, size)
    except NeedsRecords:
        return False
    assert (found, []) == decoded(path)
    return True


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


# Text -----------------------------------------------------------------------------------------

HEADER = "@time,i,l,f,d,s,b\n"
PLAIN = [
    HEADER + "1,2,3,4.5,5.5,six,true\n",
    HEADER + "1.5,-2,,,,,\n2,,,,-1e5,,FALSE",
    "@time,z\n1,a\n",
    "@type,@time,f,l\nB,1,5,6\n",
    HEADER + "1,2.0,-3e2,4,5,six,true\n2,,7,,,,\n",
    "s,@time\r\n\r\nabc,2026-01-01T00:00:00.5Z\r\n\r\n",
    '"@time","s"\n2026-01-01,"a,b"\n2026-01-02 10:11,"say ""no"""\n',
    '@time,s\n1,""""""\n2,""\n3,""""""""\n',
    "\ufeff@time,i\n2026-01-01T00:00:00+01:00, 7 \n",
    "@time,i,s\n1,5,0x5\n",
    "@type,@time,s,b,nobody\nA,1,x,true,\n,2,,,\nC,,2026-01-01,,\n",
    "@type,@time,i,@old,@timeout\nA,1,5,,\nA,2,6,true,\nA,3,7,,True\nA,4,8,false,false\n",
    "@time,s\n1,é\n",
    '\ufeff"@time",s\n1,x\n',
    "\ufeff\n\n@time\n1\n",
    "@time\n5\n",
    "@time,i\n",
    "",
]


@pytest.mark.parametrize("text", PLAIN)
@pytest.mark.parametrize("size", [1, 9, 1 << 20])
def test_a_plain_file_is_read_in_columns(text: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / "A.csv"
    path.write_bytes(text.encode())
    assert compare(path, size)


ODD = [
    HEADER + "1,0x5,3,4.5,5.5,six,true\n",
    HEADER + "1,2.5,3,4.5,5.5,six,true\n",
    HEADER + "1,2,9007199254740993.0,4.5,5.5,six,true\n",
    HEADER + "1,2.0,3000000000000000000,4.5,5.5,six,true\n",
    HEADER + "1,2,3,1e300,5.5,six,true\n",
    HEADER + "1,2,3,nan,5.5,six,true\n",
    HEADER + "1,2,3,4,-0,six,true\n",
    HEADER + "1,2,3,4,5,six,1\n",
    HEADER + "1,2\n",
    HEADER + ",2,3,4,5,six,true\n",
    HEADER + "10000000000,2,3,4,5,six,true\n",
    HEADER + "1,2,3,4," + "0" * 400 + "5,six,true\n",
    '@time,s\n1,"a\nb"\n2,c\n',
    '@time,s\n1,"a"b\n',
    '@time,s\n1,a"b\n',
    '@time,s\n1,"a\n',
    "@time,s\n1,a\rb\n",
    "@time,s\n1,a\0b\n",
    "@time,s,s\n1,a,b\n",
    "@time,\n1,a\n",
    "@time,i\n1,5\n2026-01-01,6\n",
    "@type,@time,i\nA,1,5\nB,2,6.5\n",
    "@type,@time,i\n,1,5\n",
    "@type,@time\nOpen,1\n",
    "@type,@time\nNo,1\n",
    "@type,l,xs\nD,1,[1]\n",
    "\n",
]


@pytest.mark.parametrize("text", ODD)
def test_an_odd_file_is_left_to_records(text: str, tmp_path: Path) -> None:
    path = tmp_path / "A.csv"
    path.write_bytes(text.encode())
    with pytest.raises(NeedsRecords):
        in_columns(path)


def test_bytes_that_are_no_text_are_left_to_records(tmp_path: Path) -> None:
    path = tmp_path / "A.csv"
    path.write_bytes(b"@time,s,nobody\n1,a,\xff\n")
    with pytest.raises(NeedsRecords):
        in_columns(path)


CELLS = st.one_of(
    st.text("0123456789", max_size=20),
    st.text("0123456789+-.eExX_ \t", max_size=8),
    st.text('tTrRuUeEfFaAlLsSnNiItTyY01 "', max_size=9),
    st.floats().map(repr),
    st.integers().map(str),
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.from_regex(
        r"\A[0-9]{4}-[01][0-9]-[0-3][0-9]([T ][0-2][0-9](:?[0-6][0-9]){0,2}([.,][0-9]{1,9})?)?"
        r"(Z|[+-][0-2][0-9](:?[0-6][0-9])?)?\Z"
    ),
    st.text(max_size=5),
)


@given(st.sampled_from(["@time", "@type", "@old", *SCALARS]), CELLS)
@examples(400)
def test_a_cell_is_read_as_records_read_it_or_not_at_all(
    folder: Path, column: str, cell: str
) -> None:
    path = folder / "A.csv"
    clock = "" if column == "@time" else "@time,"
    path.write_bytes(f"{clock}{column}\n{clock and '1,'}{cell}\n".encode("utf-8", "replace"))
    compare(path)


@given(st.sampled_from([("B", "l"), ("C", "s"), ("D", "d")]), CELLS)
@examples(150)
def test_a_cell_with_the_time_is_read_as_records_read_it_or_not_at_all(
    folder: Path, place: tuple[str, str], cell: str
) -> None:
    name, column = place
    path = folder / f"{name}.csv"
    path.write_bytes(f"{column}\n{cell}\n".encode("utf-8", "replace"))
    compare(path)


def headers(draw: DrawFn, name: str, others: Sequence[str]) -> list[str]:
    """Columns that a type has, often those that any may have, now and then one of others."""
    own = [attribute.name for attribute in TYPES[name].attributes]
    header = draw(st.lists(st.sampled_from(own), unique=True))
    header += draw(st.sampled_from([["@time"]] * 5 + [["@time", "@old"], []]))
    header += draw(st.sampled_from([[], ["@type"], ["@type", "nobody"]]))
    header += draw(st.sampled_from([[]] * 9 + [[other] for other in others]))
    return draw(st.permutations(list(dict.fromkeys(header))))


USUAL: dict[str, SearchStrategy[str]] = {
    "@time": st.integers(0, 99).map(str),
    "@old": st.sampled_from(["", "true", "false"]),
    "i": st.sampled_from(["", "1", "-22"]),
    "l": st.sampled_from(["1", "4000000000"]),
    "f": st.sampled_from(["", "1.5", "0.1"]),
    "d": st.sampled_from(["1", "1.25e-3"]),
    "s": st.sampled_from(["2026-01-01T00:00:00Z", '"2026-01-01T01:00:00+01:00"']),
    "b": st.sampled_from(["", "true", "False"]),
    "xs": st.sampled_from(["", "", '"[1, 2]"']),
    "nobody": st.just(""),
}
TEXTS = st.sampled_from(["", "x", '"y, z"', '""""', '""""""'])


@st.composite
def files(draw: DrawFn) -> tuple[str, bytes]:
    """Mostly plain, with a few odd cells, ends or lines."""
    name = draw(st.sampled_from("AABC"))
    header = headers(draw, name, list(USUAL))
    odd = draw(st.sampled_from([[], [], [draw(CELLS)]]))
    usual = USUAL | {"@type": st.just(name), **({"s": TEXTS} if name != "C" else {})}
    lines = [",".join(header)]
    for _ in range(draw(st.integers(1, 6))):
        is_pause = "@type" in header and draw(st.sampled_from([False, False, True]))
        row = [n for n in header if n == "@time" or not is_pause]
        cells = {n: draw(st.one_of(usual[n], usual[n], *map(st.just, odd))) for n in row}
        lines.append(",".join(cells.get(n, "") for n in header))
        lines += draw(st.sampled_from([[], [], [], [""], ["  "] if odd else [""]]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    last = draw(st.sampled_from([end, end, ""]))
    return name, (mark + end.join(lines) + last).encode("utf-8", "replace")


@given(files(), st.integers(1, 60))
@examples(250)
def test_a_text_has_the_events_of_its_records_in_any_pieces(
    folder: Path, file: tuple[str, bytes], size: int
) -> None:
    name, text = file
    path = folder / f"{name}.csv"
    path.write_bytes(text)
    compare(path, size)


# Tables ---------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.integers(-5, 5), st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
)
DOUBLES = st.one_of(st.floats(), st.floats(width=32), st.integers(-9, 9).map(float))
ARROW: list[tuple[Any, SearchStrategy[Any]]] = [
    (pa.int8(), st.integers(-128, 127)),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), NUMBERS),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), DOUBLES),
    (pa.bool_(), st.booleans()),
    (pa.string(), st.one_of(st.text(max_size=5), st.datetimes().map(str))),
    (pa.large_string(), st.text(max_size=5)),
    (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["x", "2026-01-01"])),
    (pa.timestamp("us"), st.datetimes()),
    (pa.timestamp("ns", "UTC"), st.integers(-(2**62), 2**62)),
    (pa.timestamp("s", "Europe/Paris"), st.integers(0, 2**33)),
    (pa.timestamp("ms"), st.integers(-(2**62), 2**62)),
    (pa.date32(), st.integers(0, 99)),
    (pa.decimal128(5, 2), st.decimals(-9, 9, places=2)),
    (pa.list_(pa.int32()), st.lists(st.integers(0, 9))),
    (pa.null(), st.none()),
]
FITTING: dict[str, list[tuple[Any, SearchStrategy[Any]]]] = {
    "@time": [
        (pa.timestamp("us", "UTC"), st.integers(0, 2**52)),
        (pa.timestamp("ns"), st.integers(-(2**61), 2**61)),
        (pa.int64(), st.integers(0, 2**33)),
        (pa.float64(), st.floats(0, 2**33)),
        (pa.string(), st.just("2026-01-01T00:00:00Z")),
    ],
    "@old": [(pa.bool_(), st.booleans()), (pa.null(), st.none())],
    "i": [(pa.int32(), st.integers(-9, 9)), (pa.float64(), st.integers(-9, 9).map(float))],
    "l": [(pa.int64(), st.integers(0, 2**40)), (pa.uint32(), st.integers(0, 9))],
    "f": [(pa.float32(), st.floats(width=32)), (pa.float64(), st.floats(-9, 9))],
    "d": [(pa.float64(), st.floats()), (pa.int32(), st.integers(-9, 9))],
    "s": [(pa.string(), st.sampled_from(["2026-01-01", "2026-01-01T10:00"])), ARROW[9]],
    "b": [(pa.bool_(), st.booleans())],
    "xs": [(pa.list_(pa.int32()), st.lists(st.integers(0, 9)))],
    "nobody": [(pa.null(), st.none()), (pa.int32(), st.none())],
}


@st.composite
def tables(draw: DrawFn) -> tuple[str, pa.Table]:
    """Columns that mostly suit their attributes; some have nulls, some are of any kind."""
    name = draw(st.sampled_from("AABCD"))
    names = headers(draw, name, list(FITTING))
    odd = draw(st.sampled_from([None, None, *names]))
    rule = TYPES[name].time
    count = draw(st.integers(1, 5))
    columns: dict[str, Any] = {}
    for column in names:
        fitting = [(pa.string(), st.just(name))] if column == "@type" else FITTING[column]
        type, values = draw(st.sampled_from(ARROW if column == odd else fitting))
        is_full = column in ("@type", "@time", rule and rule.attribute) and column != odd
        chosen = values if is_full else st.one_of(values, values, st.none())
        columns[column] = pa.array(draw(st.lists(chosen, min_size=count, max_size=count)), type)
    return name, pa.table(columns)


@given(tables(), st.integers(1, 3), st.integers(1, 2000))
@examples(250)
def test_a_table_has_the_events_of_its_records_in_any_pieces(
    folder: Path, given: tuple[str, pa.Table], group: int, size: int
) -> None:
    name, table = given
    path = folder / f"{name}.parquet"
    pq.write_table(table, path, row_group_size=group)
    compare(path, size)


MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("columns", "is_plain"),
    [
        ({"@time": [MOMENT], "i": [1], "s": ["x"]}, True),
        ({"@time": [1.5], "i": [None], "d": [float("nan")]}, True),
        ({"@time": ["2026-01-01"], "f": [0.1], "b": [True]}, True),
        ({"@time": pa.array([-1_500], pa.timestamp("ns")), "i": [1]}, True),
        ({"@time": [1, 2], "@type": ["A", None], "i": [1, None]}, True),
        ({"@time": [1, 2], "@type": ["A", "C"], "i": [1, None], "s": ["x", "2026-01-01"]}, True),
        ({"@time": [1, 2], "@type": ["A", None], "i": [1, 2]}, False),
        ({"@time": [1], "i": [2**40]}, False),
        ({"@time": [1], "i": [1.5]}, False),
        ({"@time": [1], "f": [1e300]}, False),
        ({"@time": [1], "d": [Decimal("1.5")]}, False),
        ({"@time": [1], "s": [MOMENT]}, False),
        ({"@time": [None], "i": [1]}, False),
        ({"@time": [True]}, False),
        ({"@time": [10**15]}, False),
        ({"@time": [1], "z": [None]}, True),
        ({"i": [1]}, False),
    ],
)
def test_what_is_plain_in_a_table(columns: dict[str, Any], is_plain: bool, tmp_path: Path) -> None:
    path = tmp_path / "A.parquet"
    pq.write_table(pa.table(columns), path)
    assert compare(path) == is_plain


def test_pieces_of_parquet_are_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "A.parquet"
    pq.write_table(pa.table({"@time": range(10), "i": range(10)}), path, row_group_size=3)
    assert [(p.begin, p.end) for p in pieces_of(path, size=1)] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert [(p.begin, p.end) for p in pieces_of(path)] == [(0, 4)]
    assert compare(path, size=1)


@pytest.mark.parametrize("name", ["A.jsonl", "A.parquet", "gone.csv"])
def test_what_has_no_columns_has_no_pieces(name: str, tmp_path: Path) -> None:
    if not name.startswith("gone"):
        (tmp_path / name).write_text("@time,i\n1,2\n")
    with pytest.raises(NeedsRecords):
        pieces_of(tmp_path / name)


# Types that no schema describes -----------------------------------------------------------------


def inferred(path: Path) -> EventType | None:
    """As records tell; None where there are no events or some problem."""
    try:
        return infer_types(list(read_records(path, on_problem=fail)), {}).get(path.stem)
    except InputError:
        return None


LOOKS = ["", "1", "-2", "2.5", "true", "False", "x", "007", "+1", "-0", "NaN", "1e5", "2026-01-01"]


@given(
    st.lists(st.lists(st.one_of(CELLS, st.sampled_from(LOOKS)), max_size=2), min_size=1, max_size=3)
)
@examples(300)
def test_cells_without_a_schema_look_as_they_do_in_records(
    folder: Path, rows: list[list[str]]
) -> None:
    path = folder / "A.csv"
    lines = ["@time,x,y", *(",".join(["1", *row, "", ""][:3]) for row in rows)]
    path.write_bytes("\n".join(lines).encode("utf-8", "replace"))
    try:
        found = found_type(str(path), None, {"A"})
    except NeedsRecords:
        return
    assert found == inferred(path)


@pytest.mark.parametrize(
    ("cells", "type"),
    [
        (["1", "-20", ""], LONG),
        (["1", "2.5", "1e9"], DOUBLE),
        (["true", "False"], BOOLEAN),
        (["true", "1"], STRING),
        (["007", "8", "+34"], STRING),
        (["2026-01-01T00:00:00Z", "Cadiz", '"a, b"'], STRING),
        (["", ""], NULL),
    ],
)
def test_what_cells_without_a_schema_are(cells: list[str], type: DataType, tmp_path: Path) -> None:
    path = tmp_path / "A.csv"
    path.write_text("@time,x\n" + "".join(f"1,{cell}\n" for cell in cells))
    found = found_type(str(path), None, {"A"})
    assert found == EventType("A", (Attribute("x", type),)) == inferred(path)


@pytest.mark.parametrize("cell", [" 1", "5.", "1e400", "NaN", "[1]", "{}", " true", "9" * 19])
def test_cells_that_need_a_closer_look(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "A.csv"
    path.write_text(f"@time,x\n1,{cell}\n")
    with pytest.raises(NeedsRecords):
        found_type(str(path), None, {"A"})


def test_values_beside_no_type_are_refused_in_columns_too() -> None:
    program = cep.parse("create schema A (x int); @Name('S') select x from A;")
    table = pa.table({"@type": ["A", None], "@time": [1, 2], "x": [1, 2]})
    with pytest.raises(cep.InputError, match="missing-type"):
        cep.run(program, table)


def test_a_named_time_fills_the_attribute_of_the_time_where_that_is_null() -> None:
    text = "@EventTime(attribute='ts', unit='seconds') create schema A (ts long, x int);"
    program = cep.parse(f"{text} @Name('S') select ts, x from A;")
    table = pa.table({"ts": [1, None], "x": [1, 2], "when": [10, 20]})
    rows = cep.run(program, {"A": table}, time="when")
    assert [(row["ts"], row["x"]) for row in rows] == [(1, 1), (20, 2)]
