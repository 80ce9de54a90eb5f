"""What pages ask of programs and runs; work that is stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import cepheid as cep
from cepheid.cli.main import main
from cepheid.studio.limits import Limits
from tests.studio.conftest import (
    ENDLESS,
    ENDLESS_EVENTS,
    EVENTS,
    PROGRAM,
    Page,
    Refused,
    Studio,
    running,
    texts,
)

LINES = EVENTS.splitlines()


def test_findings_have_places_with_ends_and_hints(page: Page) -> None:
    for verb in ("quick-check", "check"):
        assert [f["severity"] for f in page.ask(verb, texts=texts())["findings"]].count(
            "error"
        ) == 0
        broken = PROGRAM.replace("a.x as first", "a.xx as first")
        [found] = [
            f
            for f in page.ask(verb, texts=texts(broken))["findings"]
            if f["code"] == "unknown-attribute"
        ]
        line = broken.splitlines()[found["line"] - 1]
        assert line[found["column"] - 1 : found["end_column"] - 1] == "a.xx"
        assert found["file"] == "p.epl"
        assert found["hint"]


def test_the_full_check_says_what_the_command_says(page: Page) -> None:
    text = (Path(__file__).parents[2] / "examples/motorbike/motorbike.epl").read_text()
    asked = page.ask("check", texts=texts(text, "m.epl"))["findings"]
    known = cep.parse(text, file="m.epl").check()
    assert [f["code"] for f in asked] == [f.code for f in known]
    assert any(f.get("witness") for f in asked)


@pytest.mark.parametrize("text", ["", "nonsense", "(" * 5_000, "create schema A (x int"])
def test_what_cannot_be_read_is_a_finding_and_has_no_graph(page: Page, text: str) -> None:
    assert page.ask("quick-check", texts=texts(text))["findings"] or text == ""
    if text:
        with pytest.raises(Refused):
            page.ask("draw", texts=texts(text))


def test_half_of_a_surrogate_pair_is_a_finding_like_others(page: Page) -> None:
    [found, *_] = page.ask("quick-check", texts=texts("\ud800"))["findings"]
    assert found["severity"] == "error"
    with pytest.raises(Refused, match="no file in this folder"):
        page.ask("open", file="\ud800.epl")


def test_the_graph_has_places_and_lines_between_its_boxes(page: Page) -> None:
    drawn = page.ask(
        "draw",
        texts=texts(f"{PROGRAM}@Action('mail') @Name('C') insert into C select id from Big;"),
    )
    boxes = {box["key"]: box for box in drawn["boxes"]}
    assert {*boxes} == {
        *("type:A", "type:B", "statement:Pair", "statement:Big", "statement:C", "action:mail")
    }
    assert boxes["statement:Pair"]["place"]["line"] == 4
    assert boxes["action:mail"]["level"] > boxes["statement:C"]["level"]
    assert {(edge["from"], edge["to"]) for edge in drawn["edges"]} == {
        ("type:A", "statement:Pair"),
        ("type:B", "statement:Pair"),
        ("statement:Pair", "statement:Big"),
        ("statement:Big", "statement:C"),
        ("statement:C", "action:mail"),
    }
    assert [a["name"] for a in drawn["types"]["Pair"]] == ["id", "first", "second"]


def test_a_cycle_is_marked_and_its_events_can_be_typed(page: Page) -> None:
    text = "create schema A (x int); create schema B (x int); insert into A select x + 1 as x from A(x < 3); insert into B select x from A;"
    drawn = page.ask("draw", texts=texts(text))
    [edge] = [e for e in drawn["edges"] if e["cycle"]]
    assert edge["from"] == edge["to"]
    assert drawn["inputs"] == ["A"]  # nothing reads B


def lanes(answer: dict[str, object]) -> dict[str, tuple[str, int]]:
    found = answer["lanes"]
    assert isinstance(found, list)
    return {lane["type"]: (lane["kind"], lane["count"]) for lane in found}


@pytest.mark.parametrize("way", ["typed", "file", "files"])
def test_a_run_gives_lanes_rows_and_what_is_behind_them(
    page: Page, studio: Studio, way: str
) -> None:
    (studio.folder / "e.jsonl").write_text(EVENTS)
    (studio.folder / "A.csv").write_text("@time,id,x\n1,k,1\n3,l,300\n")
    (studio.folder / "B.csv").write_text("@time,id,x\n2,k,9\n4,l,3\n")
    given: dict[str, dict[str, object]] = {
        "typed": {"lines": LINES},
        "file": {"events": "e.jsonl"},
        "files": {"files": ["B.csv", "A.csv"]},
    }
    answer = page.ask("run", texts=texts(), **given[way])
    assert lanes(answer) == {"A": ("in", 2), "B": ("in", 2), "Pair": ("out", 2), "Big": ("out", 1)}
    assert answer["lanes"][1]["times"] == [1_000_000, 3_000_000]
    rows = page.ask("rows", run=answer["run"], kind="out", type="Pair", **{"from": 0})["rows"]
    assert [row["values"] for row in rows] == [["k", "1", "9"], ["l", "300", "3"]]
    tree = page.ask("behind", run=answer["run"], type="Big", index=0)["tree"]
    told = [(n["depth"], n["type"], n["kind"], n["index"]) for n in tree]
    assert told == [(1, "Pair", "out", 0), (2, "A", "in", 0), (2, "B", "in", 0)]


def test_the_places_behind_rows_are_those_of_equal_events(page: Page) -> None:
    """On an example with hundreds of events, for every row: nothing is one beside what it should be."""
    made = page.ask("begin", example="motorbike")
    text = page.ask("open", file=made["program"])["text"]
    answer = page.ask("run", texts=texts(text, made["program"]), events=made["events"])
    run = answer["run"]
    kept = {
        (lane["kind"], lane["type"]): page.ask(
            "rows", run=run, kind=lane["kind"], type=lane["type"], **{"from": 0}
        )["rows"]
        for lane in answer["lanes"]
    }
    columns = {(lane["kind"], lane["type"]): lane["columns"] for lane in answer["lanes"]}
    checked = 0
    for type in ("Accident", "DriverLeftSeat", "BlowOutTire"):
        for index in range(len(kept["out", type])):
            for node in page.ask("behind", run=run, type=type, index=index)["tree"]:
                if (found := kept[node["kind"], node["type"]][node["index"] :]) == []:
                    continue  # on a later page
                values = dict(
                    zip(columns[node["kind"], node["type"]], found[0]["values"], strict=True)
                )
                assert {k: v for k, v in values.items() if v is not None} == dict(node["values"])
                assert found[0]["time"] == node["time"]
                checked += 1
    assert checked > 20


def test_lines_that_cannot_be_read_are_told_and_left_out(page: Page, studio: Studio) -> None:
    (studio.folder / "odd.jsonl").write_text(EVENTS + "nonsense\n")
    answer = page.ask("run", texts=texts(), events="odd.jsonl")
    assert answer["skipped"] == 1
    assert answer["problems"][0]["line"] == 6
    assert answer["rows"] == 3
    with pytest.raises(Refused, match="event 2 cannot be read"):
        page.ask("run", texts=texts(), lines=[LINES[0], "{"])


def test_events_outside_of_the_folder_are_not_read(page: Page) -> None:
    for name in ("../e.jsonl", "/dev/stdin", "p.epl", "no.jsonl", "-"):
        with pytest.raises(Refused):
            page.ask("run", texts=texts(), events=name)
        with pytest.raises(Refused):
            page.ask("run", texts=texts(), files=[name])


def test_a_run_is_kept_as_a_case_that_the_command_takes(page: Page, studio: Studio) -> None:
    answer = page.ask("run", texts=texts(), lines=LINES)
    kept = page.ask("keep", run=answer["run"], name="two pairs")
    assert kept == {"folder": "cases/two pairs", "rows": 3}
    assert main(["test", str(studio.folder / "cases/two pairs")]) == 0
    (studio.folder / "cases/two pairs/p.epl").write_text(PROGRAM.replace("> 5", "> 1"))
    assert main(["test", str(studio.folder / "cases/two pairs")]) == 1
    with pytest.raises(Refused, match="already"):
        page.ask("keep", run=answer["run"], name="two pairs")
    for name in ("", "..", "../out", "a/b", ".hidden", "<b>"):
        with pytest.raises(Refused, match="no name for a case"):
            page.ask("keep", run=answer["run"], name=name)


def test_only_the_last_runs_are_kept(page: Page) -> None:
    first, *_, last = (page.ask("run", texts=texts(), lines=LINES)["run"] for _ in range(3))
    with pytest.raises(Refused, match="let go of this run"):
        page.ask("behind", run=first, type="Big", index=0)
    with pytest.raises(Refused, match="no number 1"):
        page.ask("behind", run=last, type="Big", index=1)
    with pytest.raises(Refused, match="no events of 'Nothing'"):
        page.ask("rows", run=last, kind="out", type="Nothing", **{"from": 0})


FUNCTIONS = """\
import cepheid as cep
double = cep.function("twice", lambda x: 2 * x, ["int"], "int")
open("ran", "w").close()
"""
CALLS = "create schema A (x int); @Name('T') insert into T select twice(x) as y from A;"


@pytest.mark.parametrize("is_trusted", [False, True])
def test_python_of_the_folder_runs_only_where_it_is_trusted(
    tmp_path: Path, is_trusted: bool
) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "functions.py").write_text(FUNCTIONS.replace('"ran"', repr(str(ran))))
    with running(tmp_path, Limits(), is_trusted=is_trusted) as opened, opened.page() as page:
        codes = [f["code"] for f in page.ask("quick-check", texts=texts(CALLS))["findings"]]
    assert ("unknown-function" in codes) is not is_trusted
    assert ran.exists() is is_trusted


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory, compiled: None) -> Iterator[Studio]:
    """Whose runs may take eight seconds, in which its process is loaded, too."""
    with running(tmp_path_factory.mktemp("impatient"), Limits(run=8)) as opened:
        yield opened


def test_a_program_without_end_is_stopped_by_a_button(impatient: Studio) -> None:
    with impatient.page() as page:
        page.ask("warm")
        asked = page.send("run", texts=texts(ENDLESS), lines=ENDLESS_EVENTS)
        assert page.ask("files")["files"] == []  # the studio answers meanwhile
        assert page.ask("quick-check", texts=texts())["findings"] == []
        page.ask("cancel", id=asked)
        assert page.said(asked) == {"id": asked, "stopped": True}
        assert page.ask("run", texts=texts(), lines=LINES)["rows"] == 3


def test_a_program_without_end_is_stopped_by_the_limit(impatient: Studio) -> None:
    with impatient.page() as page:
        begun = time.monotonic()
        with pytest.raises(Refused, match="more than 8 seconds"):
            page.ask("run", texts=texts(ENDLESS), lines=ENDLESS_EVENTS)
        assert time.monotonic() - begun < 30
        assert page.ask("run", texts=texts(), lines=LINES)["rows"] == 3


def test_the_work_of_a_page_that_goes_ends(impatient: Studio) -> None:
    with impatient.page() as page:
        page.ask("warm")
        page.send("run", texts=texts(ENDLESS), lines=ENDLESS_EVENTS)
        page.ask("files")
    with impatient.page() as other:
        begun = time.monotonic()
        assert other.ask("run", texts=texts(), lines=LINES)["rows"] == 3
        assert time.monotonic() - begun < 7  # it did not wait for the limit


def test_names_and_values_with_markup_come_back_as_they_are(page: Page) -> None:
    name = "<img src=x onerror=alert(1)>"
    lines = [
        json.dumps({"@type": "A", "@time": 1, "id": name, "x": 1}),
        LINES[1].replace('"k"', json.dumps(name)),
    ]
    answer = page.ask("run", texts=texts(), lines=lines)
    rows = page.ask("rows", run=answer["run"], kind="out", type="Pair", **{"from": 0})["rows"]
    assert rows[0]["values"][0] == name
