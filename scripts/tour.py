"""Takes the pictures of docs/tour.md: the studio in a real browser, from an empty folder, by mouse and keyboard.

`.venv/bin/python scripts/tour.py` writes them all; they are looked at before they are committed.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

PICTURES = Path(__file__).parents[1] / "docs" / "tour"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SIZE = {"width": 1280, "height": 800}


def welcome(page: Page) -> None:
    page.get_by_role("button", name="Motorbike accidents").wait_for()


def text(page: Page) -> None:
    page.get_by_role("button", name="Motorbike accidents").click()
    page.locator(".below .finding").first.wait_for()


def accident(page: Page) -> None:
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("tab", name="Accident1", exact=True).click()
    page.get_by_role("row", name="2017-03-01T10:00:22Z").click()
    page.locator(".tree .event.in").first.wait_for()


def graph(page: Page) -> None:
    page.get_by_role("tab", name="Graph").click()
    page.locator(".graph .box").first.wait_for()


def blocks(page: Page) -> None:
    page.get_by_role("tab", name="Blocks").click()
    page.locator(".blocklyDraggable").first.wait_for()


def debugger(page: Page) -> None:
    page.get_by_role("tab", name="Debug").click()
    page.get_by_role("button", name="Start", exact=True).click()
    breaks = page.get_by_role("form", name="Breakpoints")
    breaks.get_by_label("Break at").select_option("a row of")
    breaks.get_by_label("Statement", exact=True).select_option("Accident")
    breaks.get_by_role("button").last.click()
    page.get_by_role("button", name="Continue", exact=True).click()
    page.locator(".debugger .match").first.wait_for()


def why_not(page: Page) -> None:
    page.get_by_role("tab", name="Text").click()
    page.get_by_role("tab", name="Try it").click()
    page.locator(".asks").get_by_role("button", name="Why not?").click()
    asked = page.locator(".why-not")
    asked.locator("#why-not-statement").select_option("Accident")
    page.get_by_role("tab", name="Crash104", exact=True).click()
    page.locator(".results tbody tr").first.click()  # what about this crash?
    asked.get_by_role("button", name="Why not?").click()
    page.locator(".absence .obstacles > li").first.wait_for()


def types(page: Page) -> None:
    page.get_by_role("tab", name="Types").click()
    page.locator(".type-list button").first.click()
    page.locator("table.properties").wait_for()


def evidence(page: Page) -> None:
    page.get_by_role("tab", name="Evidence").click()
    panel = page.locator(".evidence")
    panel.get_by_label("Runs").fill("20")
    panel.get_by_label("Runs").press("Enter")
    panel.get_by_role("row", name="Crash").first.click()
    panel.locator(".pictures svg").first.wait_for()


def job(page: Page) -> None:
    page.get_by_role("tab", name="Jobs").click()
    page.get_by_role("button", name="Start a job").click()
    page.get_by_role("form", name="A new job").locator(".command").wait_for()


# In this order, as one does it; a picture has the name of its step.
STEPS: tuple[Callable[[Page], None], ...] = (
    *(welcome, text, accident, why_not, graph, blocks, types, debugger, evidence, job),
)


def picture_of(number: int, step: Callable[[Page], None]) -> str:
    return f"{number:02}-{step.__name__.replace('_', '-')}.png"


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no chromium here: scripts/system-packages.sh")
    PICTURES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        _served(folder) as address,
        sync_playwright() as p,
    ):
        page = p.chromium.launch(executable_path=chromium, args=ARGUMENTS).new_page(viewport=SIZE)
        page.goto(address)
        for number, step in enumerate(STEPS, start=1):
            step(page)
            page.screenshot(path=PICTURES / picture_of(number, step))
            print(picture_of(number, step))


@contextmanager
def _served(place: str) -> Iterator[str]:
    folder = Path(place) / "alarms"
    folder.mkdir()
    command = [sys.executable, "-m", "cepheid", "studio", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().removeprefix("The studio is at ").strip()
        finally:
            server.send_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
