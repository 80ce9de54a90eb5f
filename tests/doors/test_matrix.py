"""Every rule for what comes in gives the same on every door of this process."""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from tests.doors.cases import BACK, CASES, TWO, Case, Row, payment, program_of

Door = Callable[[Mapping[str, Sequence[Row]], Path], object]


def names_of(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def lines(rows: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    return [{"@type": type, **row} for type, each in rows.items() for row in each]


def dictionaries(rows: Mapping[str, Sequence[Row]], _folder: Path) -> object:
    return lines(rows)


def by_type(rows: Mapping[str, Sequence[Row]], _folder: Path) -> object:
    return {type: list(each) for type, each in rows.items()}


def jsonl(rows: Mapping[str, Sequence[Row]], folder: Path) -> object:
    file = folder / "events.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines(rows)))
    return file


def csv_text(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, names_of(rows) or ["@time"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({n: "" if v is None else v for n, v in row.items()} for row in rows)
    return text.getvalue()


def csv_files(rows: Mapping[str, Sequence[Row]], folder: Path) -> object:
    files = [folder / f"{type}.csv" for type in rows]
    for file, each in zip(files, rows.values(), strict=True):
        file.write_text(csv_text(each))
    return files


def one_csv(rows: Mapping[str, Sequence[Row]], folder: Path) -> object:
    (folder / "all.csv").write_text(csv_text(lines(rows)))
    return folder / "all.csv"


def table(rows: Sequence[Row]) -> pa.Table:
    names = names_of(rows)
    return pa.table({name: column([row.get(name) for row in rows]) for name in names})


def column(values: list[Any]) -> Any:
    try:
        return pa.array(values)
    except pa.ArrowException:  # numbers beside texts
        return pa.array([None if value is None else str(value) for value in values])


def frame(rows: Sequence[Row]) -> pd.DataFrame:
    return pd.DataFrame([dict(row) for row in rows], columns=names_of(rows))


def arrow_tables(rows: Mapping[str, Sequence[Row]], _folder: Path) -> object:
    return {type: table(each) for type, each in rows.items()}


def frames(rows: Mapping[str, Sequence[Row]], _folder: Path) -> object:
    return {type: frame(each) for type, each in rows.items()}


def one_frame(rows: Mapping[str, Sequence[Row]], _folder: Path) -> object:
    return frame(lines(rows))


def parquet_files(rows: Mapping[str, Sequence[Row]], folder: Path) -> object:
    files = [folder / f"{type}.parquet" for type in rows]
    for file, each in zip(files, rows.values(), strict=True):
        pq.write_table(table(each), file)
    return files


DOORS: dict[str, Door] = {
    door.__name__: door
    for door in (
        dictionaries,
        by_type,
        jsonl,
        csv_files,
        one_csv,
        arrow_tables,
        frames,
        one_frame,
        parquet_files,
    )
}
# What a table as a whole says, a file of lines says of its first line.
OF_TABLES = {"two columns are one attribute": "bad-file"}


@pytest.fixture(params=[True, False], ids=["columns", "records"])
def in_columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Small files are read in records; here in columns, too, and tables in records."""
    size = 0 if request.param else 1 << 60
    monkeypatch.setattr("cepheid.engines.common.intake.SMALL", size)
    if not request.param:
        monkeypatch.setattr("cepheid.engines.local.engine.are_small", lambda _: True)
    return bool(request.param)


@pytest.mark.usefixtures("in_columns")
@pytest.mark.parametrize("door", DOORS.values(), ids=list(DOORS))
def test_every_rule_gives_the_same_on_every_door(door: Door, tmp_path: Path) -> None:
    wrong = []
    for number, case in enumerate(CASES):
        folder = tmp_path / str(number)
        folder.mkdir()
        expected = expectation(case, door)
        found = outcome(case, door(case.rows, folder), case.options)
        if found != expected:
            wrong.append(f"{case.name}:\n  found    {found}\n  expected {expected}")
        if case.skipped is not None:
            skipped = left_out(case, door(case.rows, folder))
            if skipped != case.skipped:
                wrong.append(f"{case.name}: skipped {skipped}, not {case.skipped}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.usefixtures("in_columns")
@pytest.mark.parametrize("name", sorted(DOORS.keys() - {"one_csv", "one_frame"}))
def test_a_column_that_one_source_has_and_another_has_renamed_already_is_fine(
    name: str, tmp_path: Path
) -> None:
    given = DOORS[name]({"Payment": [payment(card=..., card_no="c")], "Refund": [BACK]}, tmp_path)
    case = Case("renamed in one", {}, [], program=TWO, options={"columns": {"card_no": "card"}})
    assert outcome(case, given, case.options) == ([(1, "c", 20), (2, "d")], (), True)


def test_what_one_source_says_of_its_columns_is_asked_of_no_other() -> None:
    renamed = cep.source([payment()], columns={"card_no": "card"})
    others = [{**BACK, "card_no": 7}]
    with pytest.warns(cep.CepheidWarning, match="no source has the column 'card_no'"):
        cep.run(cep.parse(TWO), {"Payment": renamed, "Refund": others})


def expectation(case: Case, door: Door) -> object:
    if not isinstance(case.expected, str):
        return list(case.expected), case.notes, True
    is_table = door not in (dictionaries, by_type, jsonl)
    code = OF_TABLES.get(case.name, case.expected) if is_table else case.expected
    return code, case.row, True


def outcome(case: Case, source: object, options: Mapping[str, Any]) -> object:
    """Times and values of rows and the codes of notes; or the code of the error and its row."""
    sources = (
        source if isinstance(source, list) and source and isinstance(source[0], Path) else [source]
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cep.CepheidWarning)
            result = cep.run(program_of(case), *sources, **options)
    except cep.CepheidError as refused:
        return told_of(case, refused)
    return told(case, result)


def told_of(case: Case, refused: cep.CepheidError) -> object:
    problem = refused.diagnostics[0]
    row = row_of(problem) if case.row is not None else None
    return problem.code, row, case.said in str(problem)


def told(case: Case, result: cep.Result) -> object:
    shown = [row for row in result if row.type not in ("All", "Owner")]
    rows = [(round(row.instant / 1e6), *row.values()) for row in shown]
    text = "\n".join(map(str, result.notes))
    codes = None if case.notes is None else tuple(note.code for note in result.notes)
    return rows, codes, case.said in text


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize(
    "door", [arrow_tables, frames, one_frame, by_type], ids=lambda d: d.__name__
)
def test_every_rule_gives_the_same_for_tables_that_are_sent(
    door: Door, engine: str, tmp_path: Path
) -> None:
    wrong = []
    for case in map(as_sent, CASES):
        if {"start", "end"}.isdisjoint(case.options) and not is_open(case):
            found, expected = sent(case, door(case.rows, tmp_path), engine), expectation(case, door)
            if found != expected:
                wrong.append(f"{case.name}:\n  found    {found}\n  expected {expected}")
    assert not wrong, "\n".join(wrong)


def as_sent(case: Case) -> Case:
    """Events of other types may come later: of them nothing is said."""
    if case.notes is None or "unfed-type" not in case.notes:
        return case
    return replace(case, notes=tuple(n for n in case.notes if n != "unfed-type"), said="")


def is_open(case: Case) -> bool:
    """Only all events of a type together say what it looks like, which no session has."""
    return any(type.is_open for type in program_of(case).resolve().types.values())


def sent(case: Case, source: object, engine: str) -> object:
    placed = {n: v for n, v in case.options.items() if n not in ("optional", "extra")}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cep.CepheidWarning)
            session = cep.open(
                program_of(case), engine=engine, extra=case.options.get("extra", "ignore")
            )
            optional = case.options.get("optional", ())
            return told(case, session.send_table(cep.source(source, **placed), optional=optional))
    except cep.CepheidError as refused:
        assert (session.clock, session.sent, session.notes) == (None, 0, ())
        return told_of(case, refused)


def row_of(problem: cep.Diagnostic) -> int | None:
    """The row in its source; in CSV there is a line before it."""
    if problem.span is None:
        return None
    is_csv = (problem.span.file or "").endswith(".csv")
    return max(1, problem.span.line - is_csv)


def left_out(case: Case, source: object) -> tuple[str, ...]:
    sources = (
        source if isinstance(source, list) and source and isinstance(source[0], Path) else [source]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        result = cep.run(program_of(case), *sources, **case.options, on_error="skip")
    return tuple(problem.code for problem in result.skipped)
