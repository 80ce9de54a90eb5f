"""`cepheid report`: what it writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import EXAMPLES, Run


def test_a_page_is_written(cepheid: Run, folder: Path) -> None:
    outcome = cepheid("report", "p.epl", "--events", "e.jsonl")
    assert (outcome.code, outcome.out) == (0, "wrote report.html\n")
    text = (folder / "report.html").read_text()
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert "<title>p.epl</title>" in text
    assert (
        cepheid("report", "p.epl", "-e", "e.jsonl", "-o", "new/a.html", "--title", "A & B").code
        == 0
    )
    assert "<title>A &amp; B</title>" in (folder / "new" / "a.html").read_text()


def test_events_may_have_other_columns(cepheid: Run, folder: Path) -> None:
    (folder / "A.csv").write_text("at,name,x\n1000,k,300\n")
    columns = ("--time", "at", "--unit", "milliseconds", "--map", "name=id")
    assert cepheid("report", "p.epl", "-e", "A.csv", *columns).code == 0
    assert "1 event from A.csv gave 1 match." in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("p.epl", "-e", "-"), 2, "standard input is gone after the first time"),
        (("p.epl", "-e", "nowhere.jsonl"), 2, "nowhere.jsonl"),
        (("p.epl", "-e", "e.jsonl", "-o", "e.jsonl"), 2, "--out would overwrite 'e.jsonl'"),
        (("p.epl", "-e", "e.jsonl", "-o", "p.epl"), 2, "--out would overwrite 'p.epl'"),
        (("p.epl", "-e", "e.jsonl", "-o", "e.jsonl/x.html"), 1, "cannot write"),
        (("p.epl", "-e", "e.jsonl", "--most", "-1"), 2, "--most"),
        (("p.epl", "-e", "e.jsonl", "--on-error", "drop"), 2, "'drop' is no value of --on-error"),
        (("wrong.epl", "-e", "e.jsonl"), 1, "error[unknown-attribute]"),
        ((str(EXAMPLES / "travel" / "travel.bicepl"), "-e", "e.jsonl"), 1, "error[unsupported]"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    cepheid: Run, folder: Path, args: tuple[str, ...], code: int, said: str
) -> None:
    (folder / "wrong.epl").write_text("create schema A (x int); select y from A;")
    before = sorted(folder.iterdir())
    outcome = cepheid("report", *args)
    assert said in outcome.err
    assert outcome.code == code
    assert sorted(folder.iterdir()) == before
