"""Types as forms, what fits where, lines that unfold, and boxes that are moved, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from cepheid.studio.limits import Limits
from tests.studio import test_browser
from tests.studio.conftest import PROGRAM, Studio, running
from tests.studio.test_browser import SOON, write
from tests.studio.test_case_study import block, corner, draw, line, says

browser, web = test_browser.browser, test_browser.web


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, compiled: None) -> Iterator[Studio]:
    with running(tmp_path_factory.mktemp("domain"), Limits()) as opened:
        yield opened


def view(web: Page, name: str) -> None:
    web.get_by_role("tab", name=name, exact=True).click()


def graph_that_stays(web: Page) -> None:
    """The graph after the last check, which draws it anew."""
    view(web, "Graph")
    expect(web.locator(".below .summary")).to_have_text(re.compile(r"[^…]$"), timeout=SOON)


def test_a_form_changes_the_program_and_is_undone(folder: Studio, web: Page) -> None:
    web.goto(write(folder, "forms", PROGRAM))
    view(web, "Types")
    name = web.locator("#type-name")
    expect(name).to_have_value("A", timeout=SOON)
    name.click()
    web.keyboard.press("End")
    web.keyboard.type("lpha")
    web.keyboard.press("Enter")
    says(web, "create schema Alpha (id string, x int)")
    says(web, "every a=Alpha ->")
    expect(name).to_have_attribute("data-told", "Alpha")  # the form is that of the new text
    web.keyboard.press("Control+z")
    says(web, "every a=A ->")
    web.locator("[id='type-of-Big']").click()
    expect(web.locator(".made")).to_contain_text("second", timeout=SOON)
    web.get_by_label("Icon", exact=True).click()
    web.keyboard.type("★")
    web.keyboard.press("Enter")
    says(web, "@Icon('★') insert into Big")
    web.locator("#type-name").click()
    web.keyboard.press("Control+a")
    web.keyboard.type("B")
    web.keyboard.press("Enter")
    expect(web.locator(".domain > .said")).to_contain_text("already", timeout=SOON)


def test_values_and_tags_that_do_not_fit_do_not_snap(folder: Studio, web: Page) -> None:
    text = PROGRAM.replace("b=B(b.id = a.id)", "b=B()").replace("every a=A", "every a=A()")
    web.goto(write(folder, "fits", text))
    view(web, "Blocks")
    expect(block(web, "event")).to_be_visible(timeout=SOON)
    first = web.locator(".ground .blocklySvg > .blocklyWorkspace .event", has_text="A")
    slot = first.locator(".expression").first
    note = web.locator(".blocks > .said")
    draw(web, "Comparison", "compare", corner(slot))
    expect(first.locator(".compare")).to_have_count(1)
    # The tag of the second event is not known yet when the first one happens.
    draw(web, "Properties", "property", corner(line(web, "compare")), "b.id")
    expect(note).to_contain_text("an expression is missing")
    expect(first.locator(".property")).to_have_count(0)
    draw(web, "Properties", "property", corner(line(web, "compare")), "a.id")
    expect(first.locator(".property")).to_have_count(1)
    # A text is not compared with a number.
    draw(web, "Values", "value", corner(line(web, "compare", 0)), "1")
    expect(first.locator(".value")).to_have_count(0)
    draw(web, "Values", "value", corner(line(web, "compare", 0)), "'text'")
    says(web, "a=A(a.id = 'text')")


def test_lines_unfold_and_fold_by_a_key(folder: Studio, web: Page) -> None:
    web.goto(write(folder, "folds", PROGRAM))
    view(web, "Blocks")
    condition = block(web, "event").locator(".expression")
    expect(condition).to_contain_text("b.id = a.id", timeout=SOON)
    web.mouse.click(*[n + 3 for n in corner(condition)])
    web.keyboard.press("u")
    expect(block(web, "event").locator(".property")).to_have_count(2, timeout=SOON)
    says(web, "b=B(b.id = a.id) where")
    web.keyboard.press("u")
    expect(block(web, "event").locator(".property")).to_have_count(0, timeout=SOON)
    expect(condition).to_contain_text("b.id = a.id")
    says(web, "b=B(b.id = a.id) where")


def test_boxes_are_moved_and_begin_statements(folder: Studio, web: Page) -> None:
    address = write(folder, "graph", PROGRAM)
    web.goto(address)
    graph_that_stays(web)
    box = web.get_by_role("button", name="events A")
    expect(box).to_be_visible(timeout=SOON)
    start = box.locator("rect").bounding_box()
    assert start is not None
    web.mouse.move(start["x"] + 8, start["y"] + 8)
    web.mouse.down()
    web.mouse.move(start["x"] + 58, start["y"] + 88, steps=4)
    web.mouse.up()
    expect(web.get_by_role("button", name="Tidy")).to_be_visible()
    expect(web.locator(".graph")).to_be_visible()  # it was no click
    kept = folder.folder / ".cepheid" / "studio.json"
    web.reload()
    graph_that_stays(web)
    expect(web.get_by_role("button", name="Tidy")).to_be_visible(timeout=SOON)
    moved = box.locator("rect").bounding_box()
    assert moved is not None
    assert moved["y"] > start["y"] + 40
    assert [*json.loads(kept.read_text())["graph"]["graph/p.epl"]] == ["type:A"]
    web.get_by_role("button", name="Tidy").click()
    expect(web.get_by_role("button", name="Tidy")).to_be_hidden()

    box.focus()
    web.keyboard.press("n")
    says(web, "insert into NewEvent select * from pattern [a=A];")
    expect(block(web, "event")).to_contain_text("A", timeout=SOON)
