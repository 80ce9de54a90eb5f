"""Files become records; broken lines are reported with their place and cost nothing else."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.core.time import SECOND, FarTime, to_datetime
from cepheid.errors import Diagnostic, InputError
from cepheid.io import Record, expand, fail, read_records, read_stream

Read = Callable[[str, bytes | str], tuple[list[Record], list[Diagnostic]]]

A1 = b'{"@type": "A", "@time": 1, "x": 1}'
A2 = b'{"@type": "A", "@time": 2, "x": 2}'


def places(problems: list[Diagnostic]) -> list[tuple[str, int, int]]:
    spans = [(p.code, p.span) for p in problems]
    return [(code, span.line, span.column) for code, span in spans if span]


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".json", ".JSONL"])
def test_each_line_is_one_record_with_its_place(read: Read, suffix: str, tmp_path: Path) -> None:
    records, problems = read("e" + suffix, b"\xef\xbb\xbf" + A1 + b"\r\n\r\n  \n" + A2)
    assert [(r.type, r.time, r.values) for r in records] == [("A", 1, {"x": 1}), ("A", 2, {"x": 2})]
    assert [r.span.line for r in records if r.span] == [1, 4]
    assert records[0].span
    assert records[0].span.file == str(tmp_path / ("e" + suffix))
    assert not problems


@pytest.mark.parametrize(
    ("line", "fact", "column"),
    [
        (b"{", "not JSON: it ends too early", 2),
        (b'{"x": }', "not JSON: a value is missing", 7),
        (b"{x: 1}", "not JSON: a name in double quotes is missing", 2),
        (b'{"x" 1}', "not JSON: ':' is missing", 6),
        (b'{"x": 1 "y": 2}', "not JSON: ',' is missing", 9),
        (b'{"x": "y', "not JSON: a string is not closed", 7),
        (b'{"x": "\t"}', "not JSON: a string has a control character", 8),
        (b'{"x": "\\q"}', "not JSON: there is no such escape in a string", 8),
        (A1 + A2, "not JSON: text behind the value", len(A1) + 1),
        (b'{"x": "\xff"}', "byte 0xff is not UTF-8", 8),
        ('{"é": "'.encode() + b"\xff", "byte 0xff is not UTF-8", 8),
        (b'{"x": 1, "x": 2}', "the key 'x' appears twice", 1),
        (b'{"x": 1e999}', "1e999 does not fit a double", 1),
        (b'{"x": ' + b"9" * 5000 + b"}", "a number of 5000 digits does not fit", 1),
        (b'{"x": ' + b"[" * 100 + b"]" * 100 + b"}", "nested deeper than 64 levels", 1),
        (b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested deeper than 64 levels", 1),
        (b'{"x": "\\ud800"}', "half of a surrogate pair", 1),
        (b"[1]", "an event is an object, not a list", 1),
        (b"null", "an event is an object, not null", 1),
        (b'{"@type": 5}', "'@type' is the name of an event type, not 5", 1),
        (b'{"@type": "A", "@old": "yes"}', "'@old' is true or false, not 'yes'", 1),
    ],
    ids=range(21),
)
def test_a_broken_line_is_reported_and_the_others_are_read(
    read: Read, line: bytes, fact: str, column: int
) -> None:
    records, problems = read("e.jsonl", b"\n".join([A1, line, A2, b""]))
    assert [r.time for r in records] == [1, 2]
    assert places(problems) == [("bad-line", 2, column)]
    assert fact in problems[0].message


def test_a_long_integer_is_left_to_the_decoder(read: Read) -> None:
    records, problems = read("e.jsonl", b'{"x": ' + b"9" * 400 + b"}")
    assert records[0].values == {"x": 10**400 - 1}
    assert not problems


@pytest.mark.parametrize("name", ["e.jsonl", "e.json", "e.csv", "e.events", "e.txt"])
def test_an_empty_file_has_no_events(read: Read, name: str) -> None:
    assert read(name, b"") == ([], [])


def test_a_json_file_may_be_one_array(read: Read) -> None:
    text = b'\xef\xbb\xbf [\n {"@type": "A", "@time": 1},\n  {"@type": "B",\n "x": [1]}, 7\n]\n'
    records, problems = read("e.json", text)
    assert [(r.type, r.values) for r in records] == [("A", {}), ("B", {"x": [1]})]
    assert [(r.span.line, r.span.column) for r in records if r.span] == [(2, 2), (3, 3)]
    assert places(problems) == [("bad-line", 4, 13)]
    assert read("empty.json", "[]") == ([], [])


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('[{"@type": "A"}\n {}]', 2, 2),
        ('[{"@type": "A"},\n ?]', 2, 2),
        ('[{"@type": "A"},\n', 2, 1),
        ('[{"@type": "A"}]\n x', 2, 2),
        ('[{"@type": "A"},\n {"x": 1, "x": 1}]', 2, 2),
    ],
)
def test_a_broken_array_is_read_up_to_the_break(
    read: Read, text: str, line: int, column: int
) -> None:
    records, problems = read("e.json", text)
    assert [r.type for r in records] == ["A"]
    assert places(problems) == [("bad-line", line, column)]


def test_csv_rows_have_the_type_that_the_file_is_named_after(read: Read) -> None:
    records, problems = read(
        "Bike.csv", '\ufeff@time,id,note\r\n60,1,"a ""b"",\n c"\r\n\r\n,2,\r\n'
    )
    assert [(r.type, r.time, r.values, r.is_text) for r in records] == [
        ("Bike", "60", {"id": "1", "note": 'a "b",\n c'}, True),
        ("Bike", None, {"id": "2", "note": ""}, True),
    ]
    assert [r.span.line for r in records if r.span] == [2, 5]
    assert not problems


@pytest.mark.parametrize(
    ("header", "fact"),
    [
        ("@time, id", "column ' id' has blanks around its name"),
        ("@time;id", "cells are separated by commas, and the header has ';'"),
        ("@time\tid", "cells are separated by commas, and the header has '\\t'"),
    ],
)
def test_a_header_that_would_be_misread_is_refused(read: Read, header: str, fact: str) -> None:
    with pytest.raises(InputError, match=re.escape(fact)):
        read("Bike.csv", f"{header}\n1,2\n")


def test_csv_rows_of_several_types_leave_out_the_columns_of_the_others(read: Read) -> None:
    records, _ = read("e.csv", "@type,@time,@old,x,y\nA,1,true,1,\nB,2,,,2\n,3,false,,\n")
    assert [(r.type, r.time, r.values, r.is_old) for r in records] == [
        ("A", "1", {"x": "1"}, True),
        ("B", "2", {"y": "2"}, False),
        (None, "3", {}, False),
    ]


@pytest.mark.parametrize(
    ("row", "fact"),
    [
        (b"1", "1 cell where the header has 2"),
        (b"1,2,3", "3 cells where the header has 2"),
        (b"\xff,2", "byte 0xff is not UTF-8"),
        (b'"a"b,2', "not CSV"),
        (b"1,a\rb", "not CSV"),
        (b"1,\xed\xa0\x80", "is not UTF-8"),
    ],
)
def test_a_broken_csv_row_is_reported_and_the_others_are_read(
    read: Read, row: bytes, fact: str
) -> None:
    records, problems = read("A.csv", b"@time,x\n1,1\n" + row + b"\n2,2\n")
    assert [r.time for r in records] == ["1", "2"]
    assert places(problems) == [("bad-line", 3, 1)]
    assert fact in problems[0].message


def test_a_quote_that_is_never_closed_is_reported_where_it_opens(read: Read) -> None:
    records, problems = read("A.csv", '@time,x\n1,1\n2,"a\n3,3\n')
    assert [r.time for r in records] == ["1"]
    assert places(problems) == [("bad-line", 3, 1)]


def test_an_odd_old_cell_is_a_broken_row(read: Read) -> None:
    records, problems = read("A.csv", "@time,@old\n1,maybe\n")
    assert not records
    assert places(problems) == [("bad-line", 2, 1)]


@pytest.mark.parametrize(
    ("header", "fact"), [("x,,y", "column 2 has no name"), ("x,y,x", "two columns are named 'x'")]
)
def test_a_header_must_name_each_column_once(read: Read, header: str, fact: str) -> None:
    with pytest.raises(InputError, match=fact) as caught:
        read("A.csv", header + "\n1,2,3\n")
    assert caught.value.diagnostics[0].code == "bad-file"


def test_long_cells_are_read(read: Read) -> None:
    records, problems = read("A.csv", "x\n" + "y" * 200_000 + "\n")
    assert records[0].values == {"x": "y" * 200_000}
    assert not problems


def test_parquet_rows_follow_the_same_rules_as_csv(tmp_path: Path) -> None:
    pq.write_table(pa.table({"@time": [1.5, None], "x": [1, None]}), tmp_path / "A.parquet")
    records = list(read_records(tmp_path / "A.parquet", on_problem=fail))
    assert [(r.type, r.time, r.values) for r in records] == [
        ("A", 1.5, {"x": 1}),
        ("A", None, {"x": None}),
    ]
    table = pa.table({"@type": ["A", None], "@time": [1, 2], "x": [None, None]})
    pq.write_table(table, tmp_path / "e.parquet")
    records = list(read_records(str(tmp_path / "e.parquet"), on_problem=fail))
    assert [(r.type, r.time, r.values) for r in records] == [("A", 1, {}), (None, 2, {})]
    assert [r.span.line for r in records if r.span] == [1, 2]


def test_a_parquet_type_column_of_numbers_is_reported_row_by_row(tmp_path: Path) -> None:
    pq.write_table(pa.table({"@type": [1]}), tmp_path / "e.parquet")
    problems: list[Diagnostic] = []
    assert not list(read_records(tmp_path / "e.parquet", on_problem=problems.append))
    assert places(problems) == [("bad-line", 1, 1)]


def damaged(table: pa.Table, path: Path) -> Path:
    """A file in which 'DAMAGED' begins with a byte that UTF-8 does not have."""
    pq.write_table(table, path, compression="none")
    whole = path.read_bytes()
    assert b"DAMAGED" in whole
    path.write_bytes(whole.replace(b"DAMAGED", b"\xf5AMAGED"))
    return path


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["DAMAGED", "x"]),
        pa.array(["DAMAGED", "x"]).dictionary_encode(),
        pa.array([["x", "DAMAGED"], ["x"]]),
        pa.array([{"y": "DAMAGED"}, {"y": "x"}]),
    ],
)
@pytest.mark.parametrize("is_columnar", [False, True])
def test_text_in_parquet_that_is_not_utf_8_is_a_wrong_value(
    column: Any, is_columnar: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cepheid.engines.local.engine.are_small", lambda _: not is_columnar)
    path = damaged(pa.table({"@time": [1, 2], "x": column}), tmp_path / "A.parquet")
    rows = cep.run(cep.parse("select x from A"), path, on_error="skip")
    assert [row["x"] for row in rows] == column[1:].to_pylist()
    fact = r"attribute 'x' of A: b'\xf5AMAGED' is not a string"
    assert [d.message for d in rows.skipped] == [fact]


@pytest.mark.parametrize("is_columnar", [False, True])
def test_a_type_in_parquet_that_is_not_utf_8_is_reported_with_its_row(
    is_columnar: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cepheid.engines.local.engine.are_small", lambda _: not is_columnar)
    table = pa.table({"@type": ["A", "DAMAGED"], "@time": [1, 2], "x": [1, 2]})
    path = damaged(table, tmp_path / "A.parquet")
    program = cep.parse("create schema A (x int); select x from A")
    rows = cep.run(program, path, on_error="skip")
    assert [row["x"] for row in rows] == [1]
    assert [(d.code, d.span and d.span.line) for d in rows.skipped] == [("bad-line", 2)]


def test_moments_in_lists_that_python_cannot_hold_are_wrong_values(tmp_path: Path) -> None:
    moments = pa.array([[2**60], [0]], pa.list_(pa.timestamp("us")))
    pq.write_table(pa.table({"@time": [1, 2], "x": moments}), tmp_path / "A.parquet")
    records = list(read_records(tmp_path / "A.parquet", on_problem=fail))
    assert records[0].values["x"] == [FarTime(f"timestamp[us] {2**60}")]


def test_the_scenario_notation_moves_a_clock_that_starts_at_the_epoch(read: Read) -> None:
    text = """
        A={id='a'}
        t=t.plus(1 min)  // a minute later
        A={id="b", n = 10 , pos={x=-1.5, tags=['s', 2L, null]}} B={ok=true}; C={}
        t = t.plus(1 min 30 sec)
        t='2026-01-01T00:00:00Z' D={s='it\\'s', e=1e3, v=NaN}
    """
    records, problems = read("e.events", text)
    assert not problems
    seconds = [(r.type, r.time) for r in records]
    new_year = 1_767_225_600
    assert seconds == [
        (type, to_datetime(at * SECOND))
        for type, at in [
            ("A", 0), (None, 60), ("A", 60), ("B", 60), ("C", 60), (None, 150),
            (None, new_year), ("D", new_year),
        ]
    ]  # fmt: skip
    assert records[2].values == {"id": "b", "n": 10, "pos": {"x": -1.5, "tags": ["s", 2, None]}}
    assert repr(records[7].values) == repr({"s": "it's", "e": 1000.0, "v": float("nan")})
    assert [(r.span.line, r.span.column) for r in records[2:4] if r.span] == [(4, 9), (4, 65)]


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("A={id=}", 7),
        ("A={id=x}", 7),
        ("A={id='a'", 10),
        ("A={id='a}", 7),
        ("A={id 5}", 7),
        ("A={a=1 b=2}", 8),
        ("A={a=1, a=2}", 10),
        ("A=5", 3),
        ("A", 2),
        ("A={} ?", 6),
        ("A={x=1e999}", 6),
        ("A={x=12abc}", 6),
        ("t=t.plus(5)", 1),
        ("t=t.plus(-1 min)", 1),
        ("t=t.plus(99999 years)", 1),
        ("t=t.plus(999999999 days)", 1),
        ("t='soon'", 9),
        ("A={x=" + "[" * 64 + "]" * 64 + "}", 69),
    ],
)
def test_a_broken_scenario_line_is_reported_and_moves_nothing(
    read: Read, line: str, column: int
) -> None:
    records, problems = read("e.txt", f"B={{}}\n{line}\nC={{}}\n")
    assert [(r.type, r.time) for r in records] == [("B", to_datetime(0)), ("C", to_datetime(0))]
    assert places(problems) == [("bad-line", 2, column)]


def test_a_scenario_line_that_is_no_utf8_is_reported(read: Read) -> None:
    records, problems = read("e.txt", b"A={x='\xff'}\nB={}")
    assert [r.type for r in records] == ["B"]
    assert places(problems) == [("bad-line", 1, 7)]


def test_a_stream_is_read_line_by_line_as_it_arrives() -> None:
    taken = []

    def lines() -> Iterator[bytes]:
        for line in (A1, A2):
            taken.append(line)
            yield line + b"\n"

    stream = lines()
    records = read_stream(stream, "<stdin>", fail)
    assert next(records).time == 1
    assert taken == [A1]


def test_text_and_byte_streams_read_alike() -> None:
    text = A1.decode() + "\n"
    sources: list[IO[str] | IO[bytes]] = [
        io.StringIO(text),
        io.BytesIO(text.encode()),
        io.TextIOWrapper(io.BytesIO(text.encode())),
    ]
    for stream in sources:
        assert [r.values for r in read_stream(stream, "s", fail)] == [{"x": 1}]


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(A1 + b"\n\xff\n" + A2))
    monkeypatch.setattr("sys.stdin", stream)
    problems: list[Diagnostic] = []
    assert [r.time for r in read_records("-", on_problem=problems.append)] == [1, 2]
    assert str(problems[0]).startswith("<stdin>:2:1: error[bad-line]")


def code_of(path: Path | str) -> str:
    with pytest.raises(InputError) as caught:
        list(read_records(path, on_problem=fail))
    return caught.value.diagnostics[0].code


def test_files_that_cannot_be_read_at_all_say_why(tmp_path: Path) -> None:
    (tmp_path / "e.parquet").write_bytes(b"PAR1 nothing of the kind PAR1")
    (tmp_path / "short.parquet").write_bytes(b"x")
    damaged(pa.table({"x": [1], "DAMAGED": [1]}), tmp_path / "name.parquet")
    (tmp_path / "e.xml").write_text("<e/>")
    (tmp_path / "e.json").write_bytes(b'[{"x": "\xff"}]')
    (tmp_path / "folder.jsonl").mkdir()
    assert code_of(tmp_path / "missing.jsonl") == "missing-file"
    assert code_of("a\0b.jsonl") == "missing-file"
    assert code_of("x" * 5000) == "missing-file"
    assert code_of(tmp_path / "folder.jsonl") == "bad-file"
    assert code_of(tmp_path / "e.parquet") == "bad-file"
    assert code_of(tmp_path / "short.parquet") == "bad-file"
    assert code_of(tmp_path / "name.parquet") == "bad-file"
    assert code_of(tmp_path / "e.xml") == "bad-file"
    assert code_of(tmp_path / "e.json") == "bad-file"


def test_a_parquet_file_cut_short_is_a_bad_file(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    pq.write_table(pa.table({"x": list(range(10_000))}), path)
    whole = path.read_bytes()
    for damaged in (whole[:-50], whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :]):
        path.write_bytes(damaged)
        assert code_of(path) == "bad-file"


def test_an_error_of_the_system_is_a_bad_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(A1)

    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match="permission denied"):
        list(read_records(path, on_problem=fail))


def test_a_missing_file_names_the_likeliest_neighbour(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").touch()
    with pytest.raises(InputError, match=r"did you mean 'events\.jsonl'"):
        read_records(tmp_path / "event.jsonl", on_problem=fail)


def test_arguments_expand_to_files_in_a_fixed_order(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.csv", ".hidden.jsonl", "notes.md", "c.events"):
        (tmp_path / name).touch()
    (tmp_path / "deeper.jsonl").mkdir()
    folder = str(tmp_path)
    files = [f"{folder}/{name}" for name in ("a.csv", "b.jsonl", "c.events")]
    assert expand([folder]) == files
    assert expand(["-", f"{folder}/b.jsonl", f"{folder}/*.[ce]*"]) == [
        "-",
        files[1],
        files[0],
        files[2],
    ]
    assert expand([f"{folder}/*.jsonl"]) == [files[1]]


def test_a_name_with_brackets_is_a_file_before_it_is_a_glob(tmp_path: Path) -> None:
    (tmp_path / "e[1].jsonl").touch()
    assert expand([str(tmp_path / "e[1].jsonl")]) == [str(tmp_path / "e[1].jsonl")]


@pytest.mark.parametrize("argument", ["", "none.jsonl", "*.jsonl", "folder"])
def test_arguments_that_name_nothing_are_an_error(argument: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    path = str(tmp_path / argument) if argument else ""
    with pytest.raises(InputError) as caught:
        expand([path])
    assert caught.value.diagnostics[0].code == "missing-file"
    assert repr(path) in caught.value.diagnostics[0].message or not path
