"""From an empty folder to a hospital's rules for contractions, in a real browser, by mouse and keyboard alone.

The domain is told in a form, and both statements are drawn from the palette. What comes of it is the program of
`examples/pregnancy`; a window that is drawn by mistake is found, and explained where it stands.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from cepheid.lang.epl.language import EPL
from cepheid.program.tree import ProgramTree
from cepheid.studio.limits import Limits
from tests.studio import test_browser
from tests.studio.conftest import Studio, running
from tests.studio.test_browser import SOON, status

browser, web = test_browser.browser, test_browser.web
EXAMPLE = Path(__file__).parents[2] / "examples" / "pregnancy"
# The last count of each minute in which it changes.
COUNTS = "1:1 9:3 11:2 12:3 14:4 16:5 19:3 22:2 24:2 25:3 26:2 29:3 31:4"
DURATIONS = [("14", "Barbara", "5"), ("16", "Alice", "4"), ("29", "Alice", "4")]


@pytest.fixture(autouse=True)
def patient() -> Iterator[None]:
    """A machine may do much else, and nothing here waits without need."""
    expect.set_options(timeout=SOON)
    yield
    expect.set_options(timeout=5_000)


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory, compiled: None) -> Iterator[Studio]:
    with running(tmp_path_factory.mktemp("ward"), Limits()) as opened:
        yield opened


def says(web: Page, part: str) -> None:
    """Waits until the text has a part, wherever lines end in it."""
    web.wait_for_function(
        "part => [...document.querySelectorAll('.program .cm-line')].map(line => line.textContent)"
        ".join(' ').replace(/\\s+/g, ' ').includes(part)",
        arg=part,
        timeout=SOON,
    )


# The domain.


def tell_domain(web: Page) -> None:
    web.get_by_role("tab", name="Types", exact=True).click()
    web.get_by_role("button", name="New type").click()
    web.keyboard.type("Patient")
    web.keyboard.press("Enter")
    says(web, "create schema Patient ()")
    web.get_by_text("Choose", exact=True).click()
    web.get_by_role("button", name="Icon ♥").click()
    says(web, "@Icon('♥')")
    web.get_by_label("Description").click()
    web.keyboard.type("One contraction of a patient")
    web.keyboard.press("Enter")
    says(web, "@Description('One contraction of a patient') @Icon('♥')")
    for name, kind, written in (
        ("ts", "whole", "ts int"),
        ("id", "text", "id string"),
        ("contrDuration", "whole", "contrDuration int"),
    ):
        web.get_by_role("button", name="Add property").click()
        web.keyboard.type(name)
        web.keyboard.press("Tab")
        says(web, f"{name} string")
        expect(web.get_by_label(f"Type of {name}", exact=True)).to_be_focused()
        web.keyboard.type(kind)
        says(web, written)
    web.get_by_label("Its time is").focus()
    web.keyboard.type("ts")
    says(web, "@EventTime(attribute='ts', unit='seconds')")
    web.get_by_label("counted in").focus()
    web.keyboard.type("minu")
    says(web, "unit='minutes'")


# Drawing.


def block(web: Page, type: str) -> Locator:
    """The last one of a type that is drawn."""
    return web.locator(
        f".ground .blocklySvg > .blocklyWorkspace > .blocklyBlockCanvas .{type}"
    ).last


def draw(web: Page, category: str, tool: str, place: tuple[float, float], said: str = "") -> None:
    """Takes a tool by its left edge, and lets go of it where its corner is at a place."""
    web.wait_for_function(
        "() => !document.querySelector('.below .summary').textContent.endsWith('…')"
    )
    web.locator(".blocklyToolboxCategory", has_text=category).click()
    tools = web.locator(f".blocklyFlyout .{tool}", has_text=said)
    expect(tools.first).to_be_visible()
    start = tools.first.bounding_box()
    assert start is not None
    x, y = start["x"] + 5, start["y"] + 12
    web.mouse.move(x, y)
    web.mouse.down()
    web.mouse.move(x + 40, y + 40, steps=3)
    web.mouse.move(place[0] + 5, place[1] + 12, steps=5)
    web.mouse.up()
    expect(web.locator(".blocklyDragging")).to_have_count(0)
    settle(web)


def settle(web: Page) -> None:
    """Waits until all that is drawn has found its place, which takes a frame or two."""
    frame = "new Promise(done => requestAnimationFrame(done))"
    web.evaluate(f"async () => {{ for (let n = 0; n < 3; n++) await {frame}; }}")


def corner(of: Locator) -> tuple[float, float]:
    box = of.bounding_box()
    assert box is not None
    return box["x"], box["y"]


def under(of: Locator) -> tuple[float, float]:
    box = of.bounding_box()
    assert box is not None
    return box["x"], box["y"] + box["height"]


def beside(of: Locator) -> tuple[float, float]:
    """Behind a word, where a stack begins."""
    box = of.bounding_box()
    assert box is not None
    return box["x"] + box["width"] + 12, box["y"] - 8


def slot(web: Page, said: str) -> tuple[float, float]:
    """Where a stack of the statement begins: all of them do so behind the longest word."""
    across, _ = beside(word(web, "statement", "whenever"))
    _, down = beside(word(web, "statement", said))
    return across, down


def word(web: Page, type: str, said: str) -> Locator:
    return block(web, type).get_by_text(said, exact=True).first


def write(web: Page, field: Locator, text: str) -> None:
    field.click()
    expect(web.locator(".blocklyHtmlInput")).to_be_focused()
    web.keyboard.press("Control+a")
    web.keyboard.type(text)
    web.keyboard.press("Enter")
    expect(web.locator(".blocklyHtmlInput")).to_have_count(0)
    settle(web)


def line(web: Page, type: str, number: int = 0) -> Locator:
    """A line for an expression in a block, with the field in it."""
    return block(web, type).locator(".expression").nth(number)


def begin(web: Page, name: str) -> None:
    """A new statement that makes events, with a property in place of all of them."""
    web.get_by_role("button", name="New statement").click()
    expect(block(web, "all")).to_be_visible()
    fields = block(web, "statement").locator(":scope > .blocklyField")
    write(web, fields.nth(0), name)
    write(web, fields.nth(1), name)
    web.mouse.click(*[n + 5 for n in corner(block(web, "all"))])
    web.keyboard.press("Delete")
    expect(block(web, "all")).to_have_count(0)


def draw_counter(web: Page) -> None:
    begin(web, "Counter")
    draw(web, "Patterns", "every", slot(web, "whenever"))
    draw(web, "Simple events", "event", beside(word(web, "every", "every")))
    event = block(web, "event")
    expect(event).to_contain_text("♥")
    write(web, event.locator(":scope > .blocklyField").nth(0), "a1")
    draw(web, "Comparison", "compare", corner(line(web, "event")), ">=")
    draw(web, "Properties", "property", corner(line(web, "compare")), "a1.contrDuration")
    write(web, line(web, "compare").locator(".blocklyField"), "20")
    draw(web, "Complex events", "item", slot(web, "with"))
    draw(web, "Aggregation", "aggregate", corner(line(web, "item")), "count")
    draw(web, "Properties", "property", corner(line(web, "aggregate")), "a1.contrDuration")
    write(web, block(web, "item").locator(":scope > .blocklyField").last, "numContr")
    says(web, "select count(a1.contrDuration) as numContr from pattern [every a1=Patient(")


def mistake_the_window(web: Page) -> None:
    """A batch counts once in ten minutes, which the studio says where it stands."""
    draw(web, "Data windows", "time_batch", slot(web, "in"))
    says(web, "#time_batch(10 minutes)")
    batch = block(web, "time_batch")
    expect(batch).to_have_class(re.compile(r"\bnote\b"), timeout=SOON)
    batch.locator(".blocklyIconGroup").first.click()
    expect(web.locator(".blocklyBubble").last).to_contain_text("counts once per 10 minutes")
    expect(web.locator(".blocklyBubble").last).to_contain_text("#time(10 minutes)")
    web.mouse.click(*[n + 5 for n in corner(batch)])
    web.keyboard.press("Delete")
    draw(web, "Data windows", "time_window", slot(web, "in"))
    says(web, "]#time(10 minutes)")
    expect(web.locator(".below .findings")).not_to_contain_text("counts once", timeout=SOON)


def draw_duration(web: Page) -> None:
    begin(web, "Duration")
    draw(web, "Patterns", "every", slot(web, "whenever"))
    draw(web, "Simple events", "event", beside(word(web, "every", "every")))
    write(web, block(web, "event").locator(":scope > .blocklyField").nth(0), "a1")
    write(web, line(web, "event").locator(".blocklyField"), "a1.contrDuration > 35")
    draw(web, "Simple events", "event", under(block(web, "every")))
    write(web, block(web, "event").locator(":scope > .blocklyField").nth(0), "a2")
    condition = "a2.id = a1.id and a2.contrDuration > 35 and (a2.ts - a1.ts) <= 5"
    write(web, line(web, "event").locator(".blocklyField"), condition)
    draw(web, "Complex events", "item", slot(web, "with"))
    draw(web, "Properties", "property", corner(line(web, "item")), "a1.id")
    write(web, block(web, "item").locator(":scope > .blocklyField").last, "patientId")
    draw(web, "Complex events", "item", under(block(web, "item")))
    write(web, line(web, "item").locator(".blocklyField"), "a2.ts - a1.ts")
    write(web, block(web, "item").locator(":scope > .blocklyField").last, "delay")
    says(web, "as delay")


def rows(web: Page, type: str, count: int) -> list[list[str]]:
    web.get_by_role("tab", name=type).click()
    found = web.locator(".table-ground tbody tr", has=web.locator("td"))
    expect(found).to_have_count(count)
    return [[cell.strip() for cell in row.locator("td").all_text_contents()] for row in found.all()]


def test_the_case_study_is_drawn_and_runs(ward: Studio, web: Page) -> None:
    web.set_default_timeout(SOON)
    web.goto(ward.url())
    web.get_by_role("button", name="New program").click()
    web.keyboard.press("Control+a")
    web.keyboard.type("pregnancy.epl")
    web.keyboard.press("Enter")
    tell_domain(web)

    web.get_by_role("tab", name="Blocks", exact=True).click()
    draw_counter(web)
    mistake_the_window(web)
    draw_duration(web)
    shutil.copy(EXAMPLE / "events.jsonl", ward.folder)  # what the ward wrote down
    web.keyboard.press("Control+s")
    expect(web.get_by_role("button", name="Save")).to_be_disabled()

    def tree(text: str) -> ProgramTree:
        read = EPL.parse(text, None)
        assert not read.problems
        return read.tree

    drawn = (ward.folder / "pregnancy.epl").read_text()
    assert tree(drawn) == tree((EXAMPLE / "pregnancy.epl").read_text())

    web.locator(".try > .bar select").first.select_option(label="events.jsonl")
    web.get_by_role("button", name="Run", exact=True).click()
    status(web, "18 matches in 12 events.")
    last = {row[0][14:16]: row[1] for row in rows(web, "Counter", 15)}
    assert " ".join(f"{int(minute)}:{count}" for minute, count in last.items()) == COUNTS
    assert [(row[0][14:16], *row[1:]) for row in rows(web, "Duration", 3)] == DURATIONS
