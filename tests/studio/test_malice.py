"""What no page of ours does: odd messages, odd values, and processes that end or stand still."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cepheid.studio.folder import LARGEST, Folder
from cepheid.studio.lane import Lane
from cepheid.studio.limits import Limits
from cepheid.studio.worker import Said, Task
from tests.studio.conftest import (
    ENDLESS,
    ENDLESS_EVENTS,
    EVENTS,
    Page,
    Refused,
    Studio,
    running,
    texts,
)

FILES = Task("files", {})
KEPT = ".cepheid/studio.json"


def nothing(_: Said) -> None:
    """Progress that nobody asks for."""


@pytest.fixture
def lane(tmp_path: Path) -> Iterator[Lane]:
    made = Lane("quick", Folder.at(tmp_path), is_trusted=False)
    yield made
    made.stop()


def process_of(lane: Lane) -> int:
    assert lane._working is not None
    return lane._working.process.ident or 0


def test_a_process_that_ended_while_it_had_nothing_to_do_is_replaced(lane: Lane) -> None:
    async def goes_on() -> Said:
        await lane.do(FILES, 60, nothing)
        os.kill(process_of(lane), signal.SIGKILL)
        assert lane._working is not None
        lane._working.process.join()
        return await lane.do(FILES, 60, nothing)

    assert asyncio.run(goes_on())[0] == "answer"


def test_what_a_process_has_started_ends_with_it(lane: Lane) -> None:
    async def stopped_while_busy() -> int:
        await lane.do(FILES, 60, nothing)
        group = process_of(lane)
        child = os.fork()
        if child == 0:  # as if the lane had started it
            signal.pause()
        os.setpgid(child, group)
        lane.stop()
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert asyncio.run(stopped_while_busy()) == -signal.SIGKILL


@pytest.mark.parametrize("depth", [300, 600, 900])
@pytest.mark.parametrize("verb", ["quick-check", "place"])
def test_a_message_that_is_nested_deep_is_answered(page: Page, verb: str, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    page.last += 1
    page.socket.send(f'{{"id": {page.last}, "verb": "{verb}", "with": {{"at": {deep}}}}}')
    page.said(page.last)
    assert page.ask("quick-check", texts=texts())


@pytest.mark.parametrize("wanted", [[1], {}, None, "1", 1.5])
def test_what_cannot_be_cancelled_is_not(page: Page, wanted: object) -> None:
    assert page.ask("cancel", id=wanted) is None
    assert page.ask("files")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Studio]:
    with running(tmp_path, Limits(pending=2)) as opened:
        yield opened


def test_a_page_waits_for_so_many_answers_only(own: Studio) -> None:
    with own.page() as page:
        endless = {"texts": texts(ENDLESS), "lines": ENDLESS_EVENTS}
        waiting = [page.send("run", **endless) for _ in range(2)]
        with pytest.raises(Refused, match="too many questions at once"):
            page.ask("files")
        for id in waiting:
            page.ask("cancel", id=id)
            assert "stopped" in page.said(id)
        assert page.ask("files")


def test_places_that_are_put_at_once_are_all_kept(page: Page) -> None:
    put = {"view": "graph", "file": "many.epl"}
    asked = [page.send("place", **put, key=f"type:{n}", at=[n, n]) for n in range(30)]
    assert [page.said(id).get("answer") for id in asked] == [{}] * 30
    assert len(page.ask("places", file="many.epl")["graph"]) == 30


def test_of_saves_at_once_one_is_first(page: Page) -> None:
    asked = [page.send("save", file="first.epl", text=f"{n}" * 9_999) for n in range(30)]
    told = [page.said(id).get("answer", {}) for id in asked]
    assert sum("version" in each for each in told) == 1
    assert sum("changed" in each for each in told) == 29


def test_no_more_places_are_kept_than_are_read_again(own: Studio) -> None:
    with own.page() as page:
        put = {"view": "graph", "file": "a.epl", "at": [1, 2]}
        page.ask("place", **put, key="k" * (LARGEST // 2))
        with pytest.raises(Refused, match="more places than are kept"):
            page.ask("place", **put, key="l" * (LARGEST // 2))
        assert len(page.ask("places", file="a.epl")["graph"]) == 1
        assert json.loads((own.folder / KEPT).read_text())


LONG = "a" * 300
ODD: list[tuple[str, dict[str, Any], str]] = [
    ("draw-type", {"form": []}, "'form' must be one form"),
    ("draw-type", {"form": [{}, {}]}, "'form' must be one form"),
    ("rows", {"kind": "no", "type": "Pair", "from": 0, "where": "x"}, "no events of 'Pair'"),
    ("export", {"kind": "no", "type": "Pair", "format": "csv", "where": "x"}, "no events of"),
    ("save", {"file": f"{LONG}.epl", "text": ""}, "no file in this folder"),
    ("keep", {"name": LONG}, "no file in this folder"),
    ("place", {"view": "graph", "file": "p.epl", "key": "A", "at": [True, 1]}, "two numbers"),
    ("run", {"events": "pipe.jsonl"}, "no plain file"),
    ("run", {"events": "pipe.toml", "seed": 1}, "no plain file"),
    ("run", {"files": ["pipe.jsonl"]}, "no plain file"),
]


@pytest.mark.parametrize(("verb", "given", "fact"), ODD)
def test_odd_values_are_told(
    page: Page, studio: Studio, verb: str, given: dict[str, Any], fact: str
) -> None:
    for pipe in ("pipe.jsonl", "pipe.toml"):
        if not (studio.folder / pipe).exists():
            os.mkfifo(studio.folder / pipe)
    run = page.ask("run", texts=texts(), lines=EVENTS.splitlines())["run"]
    with pytest.raises(Refused, match=fact):
        page.ask(verb, **{"texts": texts(), "file": "p.epl", "run": run, **given})


def test_a_job_of_a_program_with_a_long_name_has_a_name_that_it_can_have(page: Page) -> None:
    offered = page.ask("job-offer", texts=texts(file=f"{LONG}.epl"))
    assert offered["name"] == f"{LONG[:80]}-1"


def test_a_case_has_all_texts_of_a_program(page: Page, studio: Studio) -> None:
    both = [*texts("create schema A (x int);", "a/p.epl"), *texts(file="b/q.epl", text=SECOND)]
    for name in ("p.epl", "q.epl"):
        both[1]["file"] = f"b/{name}"
        run = page.ask("run", texts=both, lines=['{"@type": "A", "@time": 1, "x": 2}'])["run"]
        place = studio.folder / page.ask("keep", run=run, name=f"two {name}")["folder"]
        kept = {each.read_text() for each in place.glob("*.epl")}
        assert kept == {text["text"] for text in both}


SECOND = "@Name('B') insert into B select x from A(x > 1);"
