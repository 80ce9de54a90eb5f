"""A stream on Spark in a real browser: started and watched, found again, mended, and begun afresh."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect, sync_playwright

from cepheid.jobs import Jobs
from cepheid.jobs.process import kill_all, marked
from cepheid.jobs.record import MARK
from tests.studio.conftest import PROGRAM
from tests.studio.test_browser import ARGUMENTS, SOON, chromium

pytestmark = [pytest.mark.spark, pytest.mark.long]

SPARK = 180_000  # milliseconds in which a Spark that starts has done something


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """With a program and a folder for events; whatever happens, no job of it is left."""
    (tmp_path / "p.epl").write_text(PROGRAM)
    (tmp_path / "in").mkdir()
    yield tmp_path
    records = [str(path) for path in (tmp_path / ".cepheid" / "jobs").glob("*")]
    assert kill_all(lambda: [p for record in records for p in marked(MARK, record)], 60)


@pytest.fixture
def web() -> Iterator[Page]:
    """A page in which nothing fails but talking to a studio that is gone."""
    path = chromium()
    wrong: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        opened = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        opened.set_default_timeout(SOON)
        opened.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
        opened.on("pageerror", lambda problem: wrong.append(str(problem)))
        yield opened
        browser.close()
    assert [text for text in wrong if "WebSocket connection" not in text] == []


@contextmanager
def studio_of(folder: Path) -> Iterator[str]:
    """A studio in a process of its own, which ends without a word; its address."""
    command = [sys.executable, "-m", "cepheid", "studio", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().split()[-1]
        finally:
            process.kill()


def put(
    folder: Path, name: str, *pairs: tuple[int, int], until: int, begun: int | None = None
) -> None:
    """A file that appears as a whole: A and B at two times, perhaps an A alone, and time that goes on."""
    lines: list[dict[str, object]] = []
    for first, second in pairs:
        lines.append({"@type": "A", "@time": first, "id": "k", "x": first})
        lines.append({"@type": "B", "@time": second, "id": "k", "x": second})
    if begun is not None:
        lines.append({"@type": "A", "@time": begun, "id": "m", "x": begun})
    text = "".join(f"{json.dumps(line)}\n" for line in [*lines, {"@time": until}])
    (folder / name).write_text(text)
    (folder / name).rename(folder / "in" / f"{name}.jsonl")


def open_jobs(web: Page, address: str) -> Locator:
    web.goto(f"{address}#file=p.epl&panel=jobs")
    return web.locator(".job-view")


def is_in_state(view: Locator, name: str, state: str) -> None:
    expect(view.locator("h3")).to_have_text(f"{state} {name}", timeout=SPARK)


def shows(view: Locator, *seconds: int) -> None:
    """The latest pairs, the newest first, by the values of their second events."""
    pairs = view.locator(".tree .line").filter(has_text="Pair")
    texts = [f"second {second}" for second in seconds]
    expect(pairs).to_have_count(len(texts), timeout=SPARK)
    for place, text in enumerate(texts):
        expect(pairs.nth(place)).to_contain_text(text)


def test_a_stream_is_started_watched_found_mended_and_begun_afresh(
    web: Page, folder: Path, compiled: None
) -> None:
    put(folder, "1", (1, 2), until=60)
    with studio_of(folder) as address:
        view = open_jobs(web, address)
        web.get_by_role("button", name="Start a job").click()
        form = web.get_by_role("form", name="A new job")
        expect(form.locator(".command")).to_have_text(
            "cepheid jobs start --name p-1 stream p.epl --source files:in --checkpoint state/p-1"
            " --sink files:out/p-1",
            timeout=SOON,
        )
        watermark = form.get_by_label("Late by at most")
        watermark.fill("5s")
        expect(form.locator(".command")).to_contain_text("--watermark 5s")
        watermark.press("Enter")
        is_in_state(view, "p-1", "running")
        shows(view, 2)
        expect(view.locator(".fact-watermark dd")).to_have_text(
            "1970-01-01T00:00:55Z", timeout=SPARK
        )
        expect(view.locator(".log")).to_contain_text("watermark")
    expect(web.locator(".away")).to_be_visible()
    web.goto("about:blank")

    with studio_of(folder) as address:
        view = open_jobs(web, address)
        is_in_state(view, "p-1", "running")
        put(folder, "2", (61, 62), until=120, begun=112)
        shows(view, 62, 2)
        expect(view.locator(".fact-watermark dd")).to_have_text(
            "1970-01-01T00:01:55Z", timeout=SPARK
        )
        view.get_by_role("button", name="Read it").click()
        kept = view.locator(".kept-state .match")
        expect(kept).to_have_count(1, timeout=SPARK)
        expect(kept).to_contain_text("Pair[m]until 1970-01-01T00:02:02Z")
        expect(kept).to_contain_text("awaitsb=B(id = a.id)")

        job = Jobs(folder / ".cepheid" / "jobs").job("p-1")
        os.kill(job.process.number, signal.SIGKILL)
        is_in_state(view, "p-1", "lost")
        expect(view.locator(".notice.bad")).to_contain_text("Its process is gone without a word")
        put(folder, "3", (121, 122), until=180)
        view.get_by_role("button", name="Restart").click()
        is_in_state(view, "p-1", "running")
        shows(view, 122, 62, 2)

        web.locator(".program .cm-content").press("Control+Home")
        for key in ("ArrowDown",) * 6:
            web.keyboard.press(key)
        web.keyboard.press("End")
        for key in ("ArrowLeft",) * len("0 seconds)];"):
            web.keyboard.press(key)
        web.keyboard.type("3")
        web.keyboard.press("Control+s")
        expect(view.locator(".notice").first).to_contain_text("p.epl as it was when it started")
        assert "within(130 seconds)" in (folder / "p.epl").read_text()
        view.get_by_role("button", name="Stop").click()
        is_in_state(view, "p-1", "stopped")
        view.get_by_role("button", name="Restart").click()
        expect(view.get_by_role("alert")).to_contain_text("by another program", timeout=SOON)
        is_in_state(view, "p-1", "stopped")
        view.get_by_role("button", name="Start afresh").click()
        is_in_state(view, "p-2", "running")
        shows(view, 122, 62, 2)
        expect(view.locator(".fact-command dd")).to_contain_text("--checkpoint state/p-2")
        view.get_by_role("button", name="Stop").click()
        is_in_state(view, "p-2", "stopped")
        view.get_by_role("button", name="Remove").click()
        is_in_state(view, "p-1", "stopped")
    web.goto("about:blank")
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["p-1", "p-2"]
