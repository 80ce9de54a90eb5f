"""Statements drawn in a real browser, by mouse and keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from cepheid.studio.limits import Limits
from tests.studio import test_browser
from tests.studio.conftest import PROGRAM, Studio, running
from tests.studio.test_browser import SOON, write

browser, web = test_browser.browser, test_browser.web


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, compiled: None) -> Iterator[Studio]:
    with running(tmp_path_factory.mktemp("drawn"), Limits()) as opened:
        yield opened


def drawn(web: Page, type: str) -> Locator:
    return web.locator(f".ground .blocklyWorkspace > .blocklyBlockCanvas .{type}").last


def said(web: Page) -> str:
    """The text in the editor."""
    lines = web.locator(".program .cm-line").all_text_contents()
    return "\n".join(lines)


def opened(web: Page, address: str) -> None:
    web.goto(address)
    web.get_by_role("tab", name="Blocks", exact=True).click()
    expect(drawn(web, "statement")).to_be_visible(timeout=SOON)
    expect(
        web.get_by_role("tabpanel", name="Blocks").get_by_label("Statement", exact=True)
    ).to_contain_text("Pair")


def drag(web: Page, category: str, tool: str, below: Locator) -> None:
    """Takes a tool and lets it go under a block."""
    web.locator(".blocklyToolboxCategory", has_text=category).click()
    start = web.locator(f".blocklyFlyout .{tool}").first.bounding_box()
    end = below.bounding_box()
    assert start is not None
    assert end is not None
    # By its left edge, where nothing can be typed.
    web.mouse.move(start["x"] + 4, start["y"] + 12)
    web.mouse.down()
    web.mouse.move(end["x"] + 40, end["y"] + 40, steps=3)
    web.mouse.move(end["x"] + 6, end["y"] + end["height"] + 10, steps=5)
    web.mouse.up()


def becomes(web: Page, text: str) -> None:
    web.wait_for_function(
        "text => [...document.querySelectorAll('.program .cm-line')]"
        ".map(line => line.textContent).join('\\n') === text",
        arg=text,
        timeout=SOON,
    )


def test_an_event_is_drawn_and_undone(folder: Studio, web: Page) -> None:
    """The library is only loaded when blocks are looked at."""
    asked: list[str] = []
    web.on("request", lambda request: asked.append(request.url))
    address = write(folder, "drag", PROGRAM)
    web.goto(address)
    expect(web.locator(".cm-content")).to_contain_text("create schema")
    assert not any("blocks.js" in url for url in asked)
    opened(web, address)
    assert said(web) == PROGRAM

    drag(web, "Simple events", "event", drawn(web, "within"))
    more = PROGRAM.replace("(10 seconds)]", "(10 seconds) -> a2=A]")
    becomes(web, more)
    expect(web.locator(".blocks > .summary")).to_have_text("")

    web.locator(".ground .blocklyMainBackground").click(position={"x": 440, "y": 470})
    web.keyboard.press("Control+z")
    becomes(web, PROGRAM)
    expect(drawn(web, "statement").locator(".event")).to_have_count(2)
    web.keyboard.press("Control+Shift+Z")
    becomes(web, more)
    assert all(url.startswith(folder.origin) for url in asked if url.startswith("http"))


def test_what_does_not_fit_does_not_snap(folder: Studio, web: Page) -> None:
    opened(web, write(folder, "snap", PROGRAM))
    drag(web, "Clauses", "limit", drawn(web, "every"))
    note = web.locator(".blocks > .summary")
    expect(note).to_contain_text("1 block beside it", timeout=SOON)
    assert said(web) == PROGRAM


def test_text_and_blocks_follow_each_other(folder: Studio, web: Page) -> None:
    opened(web, write(folder, "both", PROGRAM))
    drawn(web, "within").get_by_text("10 seconds").click()
    web.keyboard.press("Control+a")
    web.keyboard.type("20 sec")
    web.keyboard.press("Enter")
    becomes(web, PROGRAM.replace("10 seconds", "20 seconds"))

    web.get_by_role("tab", name="Text", exact=True).click()
    web.locator(".program .cm-content").press("Control+End")
    web.keyboard.type("select * from")
    web.get_by_role("tab", name="Blocks", exact=True).click()
    web.get_by_role("tabpanel", name="Blocks").get_by_label("Statement", exact=True).select_option(
        label="Big"
    )
    expect(drawn(web, "stream")).to_contain_text("Pair")

    web.get_by_role("tabpanel", name="Blocks").get_by_label("Statement", exact=True).select_option(
        label="A"
    )
    web.get_by_label("Text of the declaration").fill("create schema A (id string, x long)")
    web.wait_for_function(
        "() => document.querySelector('.cm-content').textContent.includes('x long')", timeout=SOON
    )


def test_a_statement_that_cannot_be_read_is_grey(folder: Studio, web: Page) -> None:
    opened(web, write(folder, "grey", PROGRAM))
    web.get_by_role("tab", name="Text", exact=True).click()
    web.locator(".program .cm-line", has_text="every a=A").click()
    web.keyboard.press("Home")
    web.keyboard.type("from ")
    web.get_by_role("tab", name="Blocks", exact=True).click()
    expect(web.locator(".blocks.old")).to_be_visible(timeout=SOON)
    expect(web.locator(".blocks > .summary")).to_contain_text("this is how it was")
    expect(drawn(web, "within")).to_be_visible()


def test_a_new_statement_joins_the_text_once_it_says_something(folder: Studio, web: Page) -> None:
    opened(web, write(folder, "new", PROGRAM))
    web.get_by_role("button", name="New statement").click()
    expect(drawn(web, "statement")).to_contain_text("NewEvent")
    note = web.locator(".blocks > .summary")
    expect(note).to_contain_text("Draw an event into it")
    assert said(web) == PROGRAM
    drag(web, "Simple events", "event", drawn(web, "all"))
    added = "insert into NewEvent\nselect *\nfrom pattern [a=A];\n"
    becomes(web, f"{PROGRAM}\n{added}")
    expect(
        web.get_by_role("tabpanel", name="Blocks").get_by_label("Statement", exact=True)
    ).to_contain_text("NewEvent")


def test_an_event_is_drawn_by_keys_alone(folder: Studio, web: Page) -> None:
    opened(web, write(folder, "keys", PROGRAM))
    web.get_by_role("button", name="New context").focus()
    web.keyboard.press("Tab")
    web.keyboard.press("ArrowDown")
    expect(web.locator(".blocklyToolboxSelected")).to_contain_text("Simple events")
    web.keyboard.press("ArrowRight")
    expect(web.locator(".blocklyFlyout .event .blocklyActiveFocus").first).to_be_visible()
    web.keyboard.press("Enter")
    told = web.locator("[aria-live]", has_text="Use the arrow keys to move").first
    expect(told).to_be_attached()
    for _ in range(3):
        web.keyboard.press("ArrowDown")
    web.keyboard.press("Enter")
    becomes(web, PROGRAM.replace("every a=A ->", "every ( a=A -> a2=A) ->"))
