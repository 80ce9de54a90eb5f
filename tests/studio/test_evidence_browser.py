"""Evidence in a real browser, by mouse and keyboard; what is found is played."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from playwright.sync_api import Locator, Page, expect

from cepheid.studio.limits import Limits
from tests.studio import test_browser
from tests.studio.conftest import Studio, running
from tests.studio.test_browser import SOON, status, write
from tests.studio.test_evidence import BOILERS, ENVIRONMENT, RACE, SCENARIO

browser, web = test_browser.browser, test_browser.web
MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, compiled: None) -> Iterator[Studio]:
    with running(tmp_path_factory.mktemp("evidence"), Limits()) as opened:
        yield opened


@pytest.fixture
def panel(web: Page) -> Locator:
    return web.locator(".evidence")


def opened(folder: Studio, web: Page, name: str) -> None:
    """A program whose names are markup, with a scenario and an environment."""
    program = BOILERS.replace("'Overheated'", f"'{MARKUP}'").replace("Overheated", f"`{MARKUP}`")
    address = write(folder, name, program, "")
    for file, text in (("<b>day.toml", SCENARIO), ("road.toml", ENVIRONMENT)):
        (folder.folder / name / file).write_text(text)
    web.goto(f"{address}&panel=evidence")


def test_a_race_is_played_and_its_fix_ends_it(folder: Studio, web: Page) -> None:
    web.goto(f"{write(folder, 'race', RACE)}&panel=debug")
    race = web.locator(".findings > li").filter(has_text="depend on whether 'a' or 'b'")
    race.get_by_role("button", name="Play it").click()
    status(web, "3 matches in 1 event.")
    expect(web.locator("#events")).to_contain_text("Events that show a finding")
    race.get_by_role("button", name="write priorities").press("Enter")
    text = web.locator(".program .cm-content")
    expect(text).to_contain_text("@Priority(3)")
    expect(web.locator(".below .summary")).not_to_contain_text("looking", timeout=SOON)
    expect(race).to_have_count(0)
    text.press("Control+z")
    expect(text).not_to_contain_text("@Priority")
    expect(race).to_have_count(1, timeout=SOON)


def test_runs_by_chance_are_counted_and_played(folder: Studio, web: Page, panel: Locator) -> None:
    opened(folder, web, "chance")
    web.get_by_title("chance/<b>day.toml").click()  # in the list of the folder
    panel.get_by_label("Runs").fill("40")
    panel.get_by_label("Runs").press("Enter")
    row = panel.get_by_role("row", name=MARKUP)
    expect(row).to_be_visible(timeout=SOON)
    panel.get_by_role("row", name="Hot").press("ArrowDown")
    web.keyboard.press("Enter")
    expect(panel.locator(".pictures h3")).to_have_text(MARKUP)
    expect(panel.locator(".pictures svg")).to_have_count(2)
    most = row.get_by_role("cell").nth(2).inner_text()
    panel.get_by_role("button", name="with the most").press("Enter")
    tab = web.get_by_role("tab", name=f"{MARKUP}{most}", exact=True)
    expect(tab).to_be_visible(timeout=SOON)
    expect(web.locator("#events")).to_contain_text("of chance/<b>day.toml")
    assert web.locator("img, b").count() == 0


def test_a_property_is_verified_and_what_breaks_it_is_played(
    folder: Studio, web: Page, panel: Locator
) -> None:
    opened(folder, web, "property")
    panel.get_by_role("tab", name="Simulate").press("ArrowRight")
    panel.get_by_label("Precision ±").fill("0.15")
    panel.get_by_role("button", name=f"Verify {MARKUP}").press("Enter")
    broken = panel.locator(".verdict.broken")
    expect(broken).to_contain_text(f"{MARKUP} happened in", timeout=SOON)
    expect(broken.locator(".trace .event")).to_have_text(["Reading", "Reading"])
    broken.get_by_role("button", name="Play it").click()
    expect(web.locator(".try > .summary")).to_contain_text("in 2 events.", timeout=SOON)
    expect(web.get_by_role("tab", name="Try it")).to_be_focused()
    assert web.locator("img, b").count() == 0


def test_a_search_begins_with_an_environment_that_is_written_here(
    folder: Studio, web: Page, panel: Locator
) -> None:
    opened(folder, web, "search")
    web.get_by_title("search/road.toml").click()
    begin = panel.get_by_role("button", name="New environment")
    expect(begin).to_be_enabled()  # once the types are known
    begin.press("Enter")
    text = panel.get_by_label("Text of the environment")
    expect(text).to_be_focused()
    assert "values.degrees = [0.0, 50.0, 100.0]" in text.input_value()
    web.keyboard.press("Control+s")
    file = folder.folder / "search" / "environment.toml"
    expect(panel.get_by_role("button", name="Save file").last).to_be_disabled()
    assert file.read_text() == text.input_value()

    panel.get_by_label("Find").select_option("Hot")
    panel.get_by_role("button", name="Search", exact=True).press("Enter")
    if find_spec("maude") is None:
        expect(panel.locator(".finding")).to_contain_text("pip install 'cepheid[maude]'")
        return
    expect(panel.locator("section.trace .event")).to_have_text(["Reading", "Hot"], timeout=SOON)
    panel.get_by_role("button", name="Play it").press("Enter")
    status(web, "2 matches in 1 event.")


def test_runs_that_take_too_long_are_stopped(folder: Studio, web: Page, panel: Locator) -> None:
    opened(folder, web, "stopped")
    said = panel.locator("form:visible .summary")
    panel.get_by_role("button", name="New scenario").click()
    panel.get_by_role("button", name="Close").click()  # what is not saved counts, too
    panel.get_by_label("Runs").fill("1000000")
    panel.get_by_label("Runs").press("Enter")
    expect(said).to_contain_text("of 1,000,000 runs", timeout=SOON)
    panel.get_by_role("button", name="Stop").press("Enter")
    expect(said).to_have_text("Stopped.")
    expect(panel.get_by_role("button", name="Simulate", exact=True)).to_be_enabled()
    assert not (folder.folder / "stopped" / "scenario.toml").exists()
