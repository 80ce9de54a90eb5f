"""The studio in a browser without a screen and without a GPU, at 1280 x 800.

The page is opened again and again; a program of 43 statements is changed by one key after the other until
findings are shown; a hundred thousand events are drawn on the timeline, and it is moved.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Sizes, seconds
from benchmarks.report import Figure, Goal

if TYPE_CHECKING:
    from playwright.sync_api import Page

EXAMPLES = Path(__file__).parents[1] / "examples"
STATEMENTS = EXAMPLES / "airquality" / "airquality.epl"
PAIRS = """\
create schema A (id string, x int);
create schema B (id string, x int);
@Name('Pair') insert into Pair select a.id as id, b.x as x
from pattern [every a=A -> b=B(b.id = a.id) where timer:within(10 seconds)];
"""
OPENED, KEYS, MOVES = 5, 30, 100
ARGUMENTS = ["--no-sandbox", "--disable-gpu"]
# From a key, which makes a word longer that is no part of the language, to the finding that names the whole word.
KEY = """word => new Promise(done => {
    const list = document.querySelector(".below .findings"), begun = performance.now();
    const observer = new MutationObserver(() => {
        if (!list.textContent.includes(`'${word}'`)) return;
        observer.disconnect();
        done(performance.now() - begun);
    });
    observer.observe(list, {childList: true});
    document.execCommand("insertText", false, "q");
})"""
# Milliseconds between the frames while the timeline is moved, and of one drawing of all.
MOVED = """async moves => {
    const canvas = document.querySelector("canvas");
    const frame = () => new Promise(done => requestAnimationFrame(done));
    const key = (key, shiftKey) =>
        canvas.dispatchEvent(new KeyboardEvent("keydown", {key, shiftKey, bubbles: true}));
    const begun = performance.now();
    key("0", false);
    await frame();
    await frame();
    const drawn = performance.now() - begun;
    for (let i = 0; i < 6; i++) key("+", false);
    const frames = [];
    for (let i = 0; i < moves; i++) {
        key(i % 10 === 9 ? "-" : "ArrowRight", true);
        const last = await frame();
        frames.push(await frame() - last);
    }
    return [drawn, ...frames];
}"""


def run(sizes: Sizes) -> Iterator[Figure]:
    from playwright.sync_api import sync_playwright

    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("no chromium here: scripts/system-packages.sh", file=sys.stderr)
        return
    count = sizes.events(100_000)
    with (
        tempfile.TemporaryDirectory() as folder,
        _served(_filled(Path(folder), count)) as address,
        sync_playwright() as playwright,
    ):
        opened = playwright.chromium.launch(executable_path=browser, args=ARGUMENTS)
        page = opened.new_page(viewport={"width": 1280, "height": 800})
        ready = [seconds(lambda: _open(page, address)) * 1_000 for _ in range(OPENED)]
        yield _slow("the page is ready, beside 2 s", ready, 2_000)
        yield _slow("a key to its findings, 43 statements, beside 200 ms", _keys(page), 200)
        drawn, *frames = _moved(page, address)
        yield _slow(f"{count:,} events drawn, beside 1 s", [drawn], 1_000)
        yield _slow(f"a frame while {count:,} events move, beside 33 ms", frames, 33)
        opened.close()


def _filled(folder: Path, count: int) -> Path:
    rng, time = random.Random(1), 0.0
    shutil.copy(STATEMENTS, folder / "many.epl")
    (folder / "pairs.epl").write_text(PAIRS)
    with (folder / "events.jsonl").open("w") as events:
        for _ in range(count):
            time += rng.random()
            values = {"id": str(rng.randrange(50)), "x": rng.randrange(100)}
            event = {"@type": rng.choice("AB"), "@time": round(time, 3), **values}
            events.write(f"{json.dumps(event)}\n")
    return folder


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "cepheid", "studio", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().removeprefix("The studio is at ").strip()
        finally:
            server.send_signal(signal.SIGINT)


def _open(page: Page, address: str) -> None:
    page.goto("about:blank")  # without which the same address would not be loaded anew
    page.goto(f"{address}#file=many.epl")
    page.locator(".cm-content").get_by_text("create schema").first.wait_for()


def _keys(page: Page) -> list[float]:
    page.locator(".below .finding").first.wait_for()
    page.locator(".program .cm-content").press("Control+Home")
    taken = []
    for number in range(1, KEYS + 1):
        # Until nothing is looked for any more, so that each key is on its own.
        page.locator(".below .summary", has_text="…").wait_for(state="detached")
        taken.append(page.evaluate(KEY, "q" * number))
    return taken


def _moved(page: Page, address: str) -> Sequence[float]:
    page.goto("about:blank")
    page.goto(f"{address}#file=pairs.epl")
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator(".results canvas").wait_for(timeout=120_000)
    found: Sequence[float] = page.evaluate(MOVED, MOVES)
    return found


def _slow(name: str, taken: Sequence[float], limit: float) -> Figure:
    """The 95th percentile in milliseconds, beside what people take for at once."""
    ordered = sorted(taken)
    found = ordered[int(len(ordered) * 0.95)]
    return Figure(name=name, ratio=found / limit, goal=Goal("at most", 1), of={"ms": found})
