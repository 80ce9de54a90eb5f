"""JSON Lines that are read in columns give all that their records give: rows, notes and problems."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import cepheid as cep
from cepheid.io.columns import lines
from cepheid.io.rows import ColumnarRows
from cepheid.io.source import NOWHERE
from tests.effort import examples

PROGRAM = cep.parse("""
create schema A (i int, l long, f float, d double, s string, b boolean);
@EventTime(attribute='l', unit='milliseconds') create schema B (l long, s string, x double);
create schema C (at timestamp, day date, price decimal(6, 2), i int);
create context Names partition by s from A, s from B;
@Name('FromA') select i, l, f, d, s, b from A;
@Name('FromB') select l, s, x from B;
@Name('FromC') select at, day, price, i from C;
@Name('Both') context Names select a.d as d, b.x as x from pattern [every a=A -> b=B];
""")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


def outcome(path: Path, *, in_columns: bool, **options: Any) -> tuple[object, bool]:
    """All that a run says, and whether its rows lie in columns."""
    with (
        warnings.catch_warnings(),
        patch("cepheid.engines.local.engine.are_small", lambda _: not in_columns),
    ):
        warnings.simplefilter("ignore", cep.CepheidWarning)
        try:
            result = cep.run(PROGRAM, path, **options)
        except cep.CepheidError as refused:
            return refused.diagnostics, False
        rows = [(row.statement, row.instant, repr(row.values_), row.key) for row in result]
        said = rows, result.notes, result.skipped, result.taken, result.moved, result.counts()
        return said, isinstance(result.events, ColumnarRows)


def compare(path: Path, **options: Any) -> bool:
    """Whether the file is read in columns; it gives the same either way."""
    found, is_columnar = outcome(path, in_columns=True, **options)
    expected, is_expected = outcome(path, in_columns=False, **options)
    assert found == expected
    assert not is_expected
    return is_columnar


FULL = '{"@type": "A", "@time": 1, "i": 2, "l": 3, "f": 0.1, "d": 5.5, "s": "x", "b": true}\n'
OF_B = '{"@type": "B", "l": 1500, "s": "x", "x": 1}\n'
OF_C = '{"@type": "C", "@time": 3, "at": "2026-01-01", "day": "2026-01-01", "price": 1.5, "i": 1}\n'
ALL = FULL + OF_B + OF_C
PLAIN = {
    "several types": ALL,
    "keys in another order": ALL + '{"b": null, "s": "y", "@time": 4, "@type": "A"}\n',
    "keys that are null": ALL + FULL.replace("0.1", "null").replace("5.5", "null"),
    "whole numbers as doubles": ALL + FULL.replace("0.1", "7").replace("5.5", "-0"),
    "times as texts": ALL.replace('"@time": 1,', '"@time": "2026-01-01T00:00:00.5Z",').replace(
        '"@time": 3,', '"@time": "2026-01-01T01:00:00+01:00",'
    ),
    "times in fractions": ALL.replace('"@time": 1,', '"@time": 1.25,'),
    "a time alone": ALL + '{"@time": 99}\n{"@time": 100, "@type": null}\n',
    "blank lines": "\n \n" + ALL.replace("\n", "\n\n\t\n"),
    "carriage returns": ALL.replace("\n", "\r\n"),
    "no last line break": ALL.rstrip(),
    "a byte order mark": "\ufeff" + ALL,
    "space between all": ALL.replace(":", " : ").replace(",", " , ") + "{ }".replace(" ", " ") * 0,
    "signs in texts": ALL + FULL.replace('"x"', json.dumps('{"a": [1], "b" : "c\\d\n"}')),
    "texts beyond ASCII": ALL + FULL.replace('"x"', '"\u00e9\u4e2d\\u00e9\U0001f600\u2028"'),
    "keys with escapes": ALL + FULL.replace('"s"', '"\\u0073"'),
    "keys that nobody has": ALL + FULL.replace('"b"', '"zip": 1, "b"') + OF_B.replace('"s"', '"i": null, "s"'),
    "an attribute of another type": ALL + OF_B.replace('"s"', '"d": 1.5, "s"'),
    "NaN as it is": ALL + FULL.replace("5.5", "NaN"),
    "out of order": ALL + FULL + OF_B.replace("1500", "1"),
    "no lines": "\n",
}  # fmt: skip


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_plain_lines_are_read_in_columns(text: str, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(text, newline="")
    for size in (1, 100, 1 << 20):
        with patch.object(lines.line_pieces, "__defaults__", (NOWHERE, size)):
            assert compare(path)


ODD = {
    "a key twice": FULL.replace('"i": 2', '"i": 2, "i": 3'),
    "a key twice in an odd way": FULL.replace('"i": 2', '"i" : 2, "i": 3'),
    "a key twice beside signs": FULL.replace('"i": 2', '"i" : 2, "i": 3, "zip": "\\":"'),
    "a key twice, once with escapes": FULL.replace('"i": 2', '"i": 2, "\\u0069": 3'),
    "several objects": FULL.rstrip() + ", " + FULL,
    "an object over lines": FULL.replace(", ", ",\n", 1),
    "lines that run into each other": '{"@type": "A", "zip": [1\n{"a": 1}]}\n' + FULL.rstrip() + "," + FULL,
    "a text over lines": FULL.replace('"x"', '"x\ny"'),
    "an array": "[" + FULL.rstrip() + "]\n",
    "something behind an object": FULL.rstrip() + "]\n",
    "no object": "17\n",
    "nothing but a brace": "{\n",
    "an empty object": "{}\n",
    "a nested attribute nobody has": FULL.replace('"b"', '"zip": {"a": [1]}, "b"'),
    "a comma at the end": FULL.replace("true}", "true,}"),
    "a text for a number": FULL.replace('"i": 2', '"i": "2"'),
    "a fraction for a whole number": FULL.replace('"i": 2', '"i": 2.5'),
    "a whole number as a fraction": FULL.replace('"i": 2', '"i": 2.0'),
    "a boolean for a number": FULL.replace('"i": 2', '"i": true'),
    "a number for a boolean": FULL.replace("true", "1"),
    "a number for a text": FULL.replace('"x"', "1"),
    "a number beyond an int": FULL.replace('"i": 2', '"i": 2147483648'),
    "a number beyond a long": FULL.replace('"l": 3', f'"l": {2**63}'),
    "a number of many digits": FULL.replace('"l": 3', '"l": ' + "1" * 500),
    "a number of many digits nobody has": FULL.replace('"b"', '"zip": ' + "1" * 500 + ', "b"'),
    "a number of too many digits": FULL.replace('"l": 3', '"l": ' + "1" * 5000),
    "a large whole number as a double": FULL.replace("5.5", str(2**60 + 1)),
    "a number beyond a double": FULL.replace("5.5", "1e400"),
    "a number beyond a double nobody has": FULL.replace('"b"', '"zip": 1e400, "b"'),
    "a number beyond a float": FULL.replace("0.1", "1e300"),
    "an infinity": FULL.replace("5.5", "-Infinity"),
    "NaN as a text": FULL.replace("5.5", '"NaN"'),
    "half of a pair": FULL.replace('"x"', '"\\ud83d"'),
    "half of a pair nobody has": FULL.replace('"b"', '"zip": "\\uD83D", "b"'),
    "half of a pair in a key": FULL.replace('"b"', '"\\ud83d": 1, "b"'),
    "a whole pair": FULL.replace('"x"', '"\\ud83d\\ude00"'),
    "a time that is null": FULL.replace('"@time": 1', '"@time": null'),
    "no time": FULL.replace('"@time": 1, ', ""),
    "a time that is true": FULL.replace('"@time": 1', '"@time": true'),
    "a time that is empty": FULL.replace('"@time": 1', '"@time": ""'),
    "a time far away": FULL.replace('"@time": 1', '"@time": 1e15'),
    "times in two notations": FULL + FULL.replace('"@time": 1', '"@time": "2026-01-01"'),
    "large times in two notations": FULL.replace(": 1,", ": 1.5,") + FULL.replace(": 1,", ": 200000000001,"),
    "a time of its own that is null": OF_B.replace("1500", 'null, "@time": 2'),
    "a key that is null": FULL.replace('"x"', "null"),
    "a key that is missing": FULL + FULL.replace(', "s": "x"', ""),
    "no such type": FULL.replace('"A"', '"Z"'),
    "a type that is a number": FULL.replace('"A"', "1"),
    "a type that is a list": FULL.replace('"A"', "[]"),
    "no type": FULL.replace('"@type": "A", ', ""),
    "null beside no type": '{"@time": 5, "i": null}\n',
    "a row that was taken back": FULL.replace('"i"', '"@old": true, "i"'),
    "a mark that is no mark": FULL.replace('"i"', '"@old": 1, "i"'),
    "causes": FULL.replace('"i"', '"@why": [], "i"'),
    "a slip in a mark": FULL.replace('"i"', '"@tme": 1, "i"'),
    "an attribute of several types": FULL + '{"@type": "B", "@time": 1, "l": 1, "s": "x", "x": 1}\n' + OF_C,
    "a day that is none": OF_C.replace('"day": "2026-01-01"', '"day": "2026-02-30"'),
    "a price of too many digits": OF_C.replace("1.5", "1.555"),
    "a moment that is a number": OF_C.replace('"at": "2026-01-01"', '"at": 1'),
}  # fmt: skip
PLAIN_AFTER_ALL = {
    "a mark that is no mark": False,
    "an attribute of several types": True,
}


@pytest.mark.parametrize("name", ODD)
def test_odd_lines_are_left_to_records(name: str, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(ALL + ODD[name], newline="")
    is_columnar = {compare(path, on_error=way) for way in ("fail", "skip")}
    assert is_columnar == {PLAIN_AFTER_ALL.get(name, False)}


def test_bytes_that_are_no_text_are_left_to_records(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(ALL.encode() + FULL.encode().replace(b'"x"', b'"\xff"') + FULL.encode())
    assert not compare(path)
    assert not compare(path, on_error="skip")


def test_a_key_that_only_some_pieces_have_is_null_in_the_others(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(ALL + OF_B.replace('"s": "x", ', ""))
    with patch.object(lines.line_pieces, "__defaults__", (NOWHERE, 1)):
        assert not compare(path)
        assert not compare(path, on_error="skip")


@pytest.mark.parametrize("ending", ["ndjson", "json"])
def test_other_endings_are_read_in_columns_too(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"events.{ending}"
    path.write_text(ALL)
    assert compare(path)


def test_an_array_of_objects_is_left_to_records(tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    path.write_text("[\n" + ",\n".join(ALL.splitlines()) + "\n]\n")
    assert not compare(path)


@pytest.mark.parametrize(
    "options",
    [
        {"time": "when"},
        {"time": "when", "unit": "milliseconds"},
        {"unit": "milliseconds"},
        {"type": "kind", "time": "when", "columns": {"name": "s"}},
        {"sequence": "n"},
        {"extra": "error"},
        {"optional": ["i"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("of", ["all", "one", "none"])
def test_what_is_said_of_columns_holds_for_keys(
    options: dict[str, Any], of: str, tmp_path: Path
) -> None:
    rows = [
        {"@type": "A", "@time": 5, "i": n, "l": 7, "f": 1, "d": 2, "s": "x", "b": True}
        for n in range(3)
    ]
    for n, row in enumerate(rows):
        if of == "all" or (of == "one" and n == 1):
            row |= {"when": 3 - n, "kind": "A", "name": "y", "n": 3 - n}
    if of == "all":  # a column that stands beside one of its new name is left to records
        named = {"time": "@time", "type": "@type", "columns": "s"}
        gone = {name for option, name in named.items() if option in options}
        rows = [{k: v for k, v in row.items() if k not in gone} for row in rows]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "events.jsonl").write_text(text)
    is_columnar = {
        compare(tmp_path / "events.jsonl", on_error=way, **options) for way in ("fail", "skip")
    }
    if of == "all":
        assert is_columnar == {options != {"extra": "error"}}


VALUES = st.one_of(
    st.sampled_from([1, 2.5, 7, "x", True, None, "2026-01-01T00:00:00Z"]),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from([[], {}, [1], {"@type": "A"}, "NaN", 1e308, 2**31, 2**63]),
)
USUAL: dict[str, st.SearchStrategy[Any]] = {
    "@time": st.integers(0, 20),
    "i": st.integers(-9, 9),
    "l": st.integers(0, 20_000),
    "f": st.sampled_from([1, 0.5, 0.1]),
    "d": st.one_of(st.integers(0, 5), st.floats(0, 5)),
    "s": st.sampled_from("xyz"),
    "b": st.booleans(),
    "x": st.sampled_from([1, 2.5, None]),
    "at": st.sampled_from(["2026-01-01", "2026-01-01T10:00:00.5+01:00"]),
    "day": st.just("2026-01-01"),
    "price": st.sampled_from([1, 2.5, "3.25"]),
    "zip": st.sampled_from([1, "x", None]),
}
KEYS = {"A": "@time i l f d s b", "B": "l s x", "C": "@time at day price i"}
seldom = st.sampled_from([False] * 11 + [True])


@st.composite
def texts(draw: DrawFn) -> str:
    """Lines that are mostly plain."""
    has_odd, has_more, has_gaps = draw(seldom), draw(seldom), draw(st.booleans())
    found = []
    for _ in range(draw(st.integers(1, 8))):
        name = draw(st.sampled_from("AABC"))
        keys = KEYS[name].split() + (["zip"] if has_more and draw(st.booleans()) else [])
        row = {key: draw(USUAL[key]) for key in keys if not (has_gaps and draw(seldom))}
        if has_odd and draw(seldom):
            row[draw(st.sampled_from(list(USUAL)))] = draw(VALUES)
        kind = {"@type": name} if not draw(seldom) or not has_odd else {}
        line = json.dumps({**kind, **row}, ensure_ascii=draw(st.booleans()))
        if has_odd and draw(seldom):
            place = draw(st.integers(0, len(line)))
            sign = draw(st.sampled_from(['"', "}", "{", ",", "\n", " ", "[", ":", "\\", "\r", "0"]))
            line = line[:place] + sign + line[place + draw(st.integers(0, 1)) :]
        found.append(line + draw(st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n"])))
    return "".join(found)


@given(texts(), st.integers(1, 300), st.sampled_from(["fail", "skip"]), st.booleans())
@examples(400)
def test_any_lines_give_the_same_either_way(
    folder: Path, text: str, size: int, way: str, is_strict: bool
) -> None:
    path = folder / "events.jsonl"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with patch.object(lines.line_pieces, "__defaults__", (NOWHERE, size)):
        compare(path, on_error=way, extra="error" if is_strict else "ignore")


def test_a_key_that_only_some_tables_have_is_null_in_the_others() -> None:
    with_key = pa.table({"@time": [1], "l": [1], "s": ["x"], "x": [1.5]})
    result = cep.run(PROGRAM, {"B": [with_key, with_key.drop_columns(["s"])]}, on_error="skip")
    assert (result.taken, [problem.code for problem in result.skipped]) == (1, ["null-key"])
