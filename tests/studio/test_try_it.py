"""What Try it asks of a run beside its rows: other events, fewer statements, another version, files."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event
from cepheid.studio.comparison import compare_rows
from tests import effort
from tests.studio.conftest import (
    ENDLESS,
    ENDLESS_EVENTS,
    EVENTS,
    PROGRAM,
    Page,
    Refused,
    Studio,
    texts,
)

LINES = EVENTS.splitlines()
FIRST = {"from": 0}


@pytest.fixture
def run(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.ask("run", texts=texts(), lines=LINES)
    return found


def lines_of(taken: dict[str, Any]) -> list[str]:
    """As the page writes them: what its types say is JSON is that already."""
    quoted = {"id"}
    return [
        json.dumps(
            {
                **({"@type": event["type"]} if event["type"] else {}),
                "@time": event["time"],
                **{n: t if n in quoted else json.loads(t) for n, t in event["values"].items()},
            }
        )
        for event in taken["events"]
    ]


def test_events_of_a_run_can_be_changed_by_hand(page: Page, run: dict[str, Any]) -> None:
    taken = page.ask("take-events", run=run["run"])
    assert [(e["type"], e["index"], e["values"].get("x")) for e in taken["events"]] == [
        *(("A", 0, "1"), ("B", 0, "9"), ("A", 1, "300"), ("B", 1, "3"), ("", 0, None))
    ]
    again = page.ask("run", texts=texts(), lines=lines_of(taken))
    assert (again["rows"], again["lanes"], again["start"]) == (
        *(run["rows"], run["lanes"], run["start"]),
    )


def test_texts_of_all_types_become_the_same_events_again(page: Page) -> None:
    text = (
        "create schema A (s string, n long, d double, b boolean, t timestamp, y date,"
        " m decimal(6, 2), l int[]); @Name('R') select * from A;"
    )
    event = {
        "@type": "A",
        "@time": "2026-01-31T12:00:00.25Z",
        "s": '"5"',
        "n": 2**60,
        "d": 0.1,
        "b": True,
        "t": "2026-01-01T00:00:00Z",
        "y": "2026-02-01",
        "m": "1.50",
        "l": [1, 2],
    }
    asked = page.ask("run", texts=texts(text), lines=[json.dumps(event)])
    [taken] = page.ask("take-events", run=asked["run"])["events"]
    assert taken["time"] == event["@time"]
    assert taken["values"] == {
        "s": '"5"',
        "n": str(2**60),
        "d": "0.1",
        "b": "true",
        "t": event["t"],
        "y": "2026-02-01",
        "m": "1.50",
        "l": "[1, 2]",
    }


SCENARIO = """\
[[factory]]
type = "A"
every = {distribution = "exponential", mean = 60}
[factory.attributes]
id = {each = ["k"]}
x = {distribution = "uniform", min = 0, max = 9}
"""


def test_one_run_of_a_scenario_are_events(page: Page, studio: Studio) -> None:
    (studio.folder / "chance.toml").write_text(SCENARIO)
    given = {"texts": texts(), "events": "chance.toml"}
    first, again, other = (page.ask("run", **given, seed=seed) for seed in (0, 0, 1))
    assert first["taken"] == 1_000
    assert first["lanes"] == again["lanes"] != other["lanes"]
    taken = page.ask("take-events", run=again["run"])
    assert len([event for event in taken["events"] if event["type"]]) == 1_000
    (studio.folder / "chance.toml").write_text(f'until = "1 hour"\n{SCENARIO}')
    assert 0 < page.ask("run", **given, seed=0)["taken"] < 1_000
    assert page.ask("debug", **given, seed=0)["of"] < 1_000
    (studio.folder / "chance.toml").write_text("[[factory]]\ntype = 7")
    with pytest.raises(Refused):
        page.ask("run", **given, seed=0)


def test_too_many_events_are_not_changed_by_hand(page: Page) -> None:
    lines = [json.dumps({"@type": "A", "@time": n, "id": "k", "x": n}) for n in range(2_001)]
    asked = page.ask("run", texts=texts(), lines=lines)
    with pytest.raises(Refused, match="2,001 events; up to 2,000"):
        page.ask("take-events", run=asked["run"])


def test_a_text_is_found_in_events_and_rows(page: Page, run: dict[str, Any]) -> None:
    number = run["run"]
    found = page.ask("find", run=number, text="L")
    assert {(f["kind"], f["type"]): f["count"] for f in found} == {
        ("in", "A"): 1,
        ("in", "B"): 1,
        ("out", "Pair"): 1,
        ("out", "Big"): 0,
    }
    answer = page.ask("rows", run=number, kind="in", type="A", where="L", **FIRST)
    assert (answer["count"], [row["index"] for row in answer["rows"]]) == (1, [1])
    assert page.ask("rows", run=number, kind="in", type="A", **FIRST)["count"] == 2
    by_time = page.ask("rows", run=number, kind="in", type="B", where="00:00:04", **FIRST)
    assert [row["values"] for row in by_time["rows"]] == [["l", "3"]]


def test_a_statement_that_is_left_out_gives_nothing_and_stays_in_the_text(page: Page) -> None:
    answer = page.ask("run", texts=texts(), lines=LINES, without=["Pair"])
    assert (answer["rows"], answer["without"], answer["statements"]) == (0, ["Pair"], ["Big"])
    assert any("no input has events of Pair" in note["message"] for note in answer["notes"])
    made = json.dumps({"@type": "Pair", "@time": 5, "id": "m", "first": 0, "second": 8})
    fed = page.ask("run", texts=texts(), lines=[*LINES, made], without=["Pair"])
    assert [lane["type"] for lane in fed["lanes"] if lane["count"]] == ["A", "B", "Pair", "Big"]
    begun = page.ask("debug", texts=texts(), lines=LINES, without=["Big"])
    assert begun["statements"] == ["Pair"]
    with pytest.raises(Refused, match="without Pair, and a case runs all"):
        page.ask("keep", run=answer["run"], name="less")
    with pytest.raises(Refused, match="no statement 'Nope'"):
        page.ask("run", texts=texts(), lines=LINES, without=["Nope"])


def test_rows_of_two_versions_stand_side_by_side(page: Page, run: dict[str, Any]) -> None:
    other = PROGRAM.replace("second > 5", "second < 5")
    found = page.ask("compare", run=run["run"], texts=texts(other), lines=LINES)
    assert found["counts"] == [
        {"type": "Big", "both": 0, "here": 1, "there": 1},
        {"type": "Pair", "both": 2, "here": 0, "there": 0},
    ]
    assert [(r["where"], r["type"], dict(r["values"])["id"]) for r in found["rows"]] == [
        *(("here", "Big", "k"), ("both", "Pair", "k"), ("there", "Big", "l"), ("both", "Pair", "l"))
    ]
    with pytest.raises(Refused):
        page.ask("compare", run=run["run"], texts=texts("nonsense"), lines=LINES)


def test_of_many_rows_those_that_differ_are_told_first(page: Page) -> None:
    text = "create schema A (x int); @Name('R') select x from A(x {});"
    lines = [json.dumps({"@type": "A", "@time": n, "x": n}) for n in range(1_100)]
    asked = page.ask("run", texts=texts(text.format(">= 0")), lines=lines)
    found = page.ask("compare", run=asked["run"], texts=texts(text.format("< 1090")), lines=lines)
    wheres = [row["where"] for row in found["rows"]]
    assert (found["of"], len(wheres), wheres.count("here")) == (1_100, 1_000, 10)


def test_another_version_without_end_is_stopped(page: Page) -> None:
    asked = page.ask("run", texts=texts(ENDLESS.replace("every ", "")), lines=ENDLESS_EVENTS)
    compared = page.send("compare", run=asked["run"], texts=texts(ENDLESS), lines=ENDLESS_EVENTS)
    page.send("cancel", id=compared)
    assert page.said(compared).get("stopped")


ROWS = st.lists(
    st.builds(
        lambda name, time, x: Event(name, time, {"x": x}),
        st.sampled_from("AB"),
        *[st.integers(0, 3)] * 2,
    )
)


@given(ROWS, ROWS)
@effort.examples(200)
def test_every_row_of_both_versions_is_compared_once(here: list[Event], there: list[Event]) -> None:
    def said(rows: list[Event]) -> Counter[tuple[object, ...]]:
        return Counter((row.type, row.instant, row["x"]) for row in rows)

    found = compare_rows(here, there)
    of = {w: said([e.row for e in found if e.where == w]) for w in ("both", "here", "there")}
    assert of["both"] == said(here) & said(there)
    assert of["both"] + of["here"] == said(here)
    assert of["both"] + of["there"] == said(there)


def test_rows_of_one_time_that_only_the_other_version_has_stay_in_their_order() -> None:
    there = [Event("A", 1, {"x": x}) for x in (1, 2, 3)]
    assert [each.row for each in compare_rows([], there)] == there


def test_rows_are_saved_as_files_that_are_events_again(
    page: Page, run: dict[str, Any], tmp_path: Path
) -> None:
    expected = list(cep.run(cep.parse(PROGRAM), *map(json.loads, LINES)))
    everything = page.ask("export", run=run["run"], format="jsonl")
    assert everything["name"] == "rows.jsonl"
    assert len(everything["text"].splitlines()) == len(expected) == 3
    pairs = page.ask("export", run=run["run"], format="csv", kind="out", type="Pair")
    assert pairs["name"] == "Pair.csv"
    assert [row["first"] for row in csv.DictReader(io.StringIO(pairs["text"]))] == ["1", "300"]
    only = {"kind": "in", "type": "A", "where": "300"}
    [line] = page.ask("export", run=run["run"], format="jsonl", **only)["text"].splitlines()
    assert json.loads(line)["x"] == 300
    with pytest.raises(Refused, match="no format 'xlsx'"):
        page.ask("export", run=run["run"], format="xlsx")


def test_fifty_megabytes_of_events_are_looked_at_in_windows(page: Page, studio: Studio) -> None:
    """What the page is sent stays small, however large the file is and what stands in it."""
    count, long = 25_000, "x" * 2_100
    with open(studio.folder / "large.jsonl", "w") as file:
        for n in range(count):
            file.write(f'{{"@type": "A", "@time": {n}, "id": "{long}{n}", "x": {n}}}\n')
    assert (studio.folder / "large.jsonl").stat().st_size > 50 * 2**20
    asked = page.ask("run", texts=texts(), events="large.jsonl")
    assert asked["taken"] == count
    assert len(json.dumps(asked)) < 2**20
    for start in (0, count - 3):
        window = page.ask("rows", run=asked["run"], kind="in", type="A", **{"from": start})
        assert window["count"] == count
        assert len(window["rows"]) <= 500
        assert len(json.dumps(window)) < 2 * 2**20
        assert window["rows"][0]["index"] == start
    for verb, asked_for, said in (
        ("open", {"file": "large.jsonl"}, "too much to be edited here"),
        ("take-events", {"run": asked["run"]}, "up to 2,000 are changed by hand"),
    ):
        with pytest.raises(Refused, match=said):
            page.ask(verb, **asked_for)


@pytest.mark.parametrize("way", ["typed", "file"])
def test_the_report_is_that_of_the_command(page: Page, studio: Studio, way: str) -> None:
    (studio.folder / "report.jsonl").write_text(EVENTS)
    given = {"lines": LINES} if way == "typed" else {"events": "report.jsonl"}
    made = page.ask("report", texts=texts(), **given)
    assert made["name"] == "p.html"
    assert "<!DOCTYPE html>" in made["text"]
    assert "Big" in made["text"]
    assert "<script" not in made["text"]
