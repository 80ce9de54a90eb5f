"""Other events, fewer statements and two versions in a real browser, by mouse and keyboard; tokens in the debugger."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.studio import test_browser
from tests.studio.conftest import EVENTS, PROGRAM, Studio
from tests.studio.test_browser import accented, status, write

browser, web = test_browser.browser, test_browser.web

EXAMPLES = Path(__file__).parents[2] / "examples"


def place_of(web: Page, time: float, lane: int) -> tuple[float, float]:
    """Where the timeline has an instant of PROGRAM's events, which go from 1 to 4 seconds, and a lane."""
    box = web.locator("canvas").bounding_box()
    assert box is not None
    labels, pad, axis, row = 132, 14, 24, 30
    room = 3 * 0.02
    share = (time - 1 + room) / (3 + 2 * room)
    width = box["width"] - labels - pad
    return box["x"] + labels + share * width, box["y"] + axis + (lane + 0.5) * row


def test_an_event_is_dragged_to_another_time_and_the_rows_follow(studio: Studio, web: Page) -> None:
    web.goto(write(studio, "dragged", PROGRAM))
    web.get_by_role("button", name="Run", exact=True).click()
    status(web, "3 matches in 4 events.")
    before = accented(web)
    web.mouse.move(*place_of(web, 2, lane=1))
    web.mouse.down()
    web.mouse.move(*place_of(web, 1.5, lane=1), steps=3)
    web.mouse.move(*place_of(web, 0.99, lane=1), steps=3)
    assert accented(web) > before + 50  # the time that it would have
    web.mouse.up()
    status(web, "1 match in 4 events.")  # B before A
    expect(web.locator("#events")).to_have_value("/typed")
    times = web.locator("tr.typed").get_by_label("time", exact=True)
    expect(times).to_have_count(5)
    expect(times.nth(0)).to_have_value("1970-01-01T00:00:00.99Z")
    path = studio.folder / "dragged" / "events.jsonl"
    assert path.read_text() == EVENTS

    undo = web.get_by_role("button", name="Undo")
    x = web.locator("tr.typed").nth(1).get_by_label("x", exact=True)
    x.fill("77")
    undo.click()
    expect(x).to_have_value("1")
    undo.click()
    expect(web.locator(".try > .summary")).to_contain_text("The events")
    expect(times.nth(0)).to_have_value("1970-01-01T00:00:01Z")
    expect(times).to_have_count(5)
    expect(undo).to_be_hidden()

    # What was typed and did not run is not given up for what is dragged.
    x.fill("78")
    web.mouse.dblclick(*place_of(web, 3.5, lane=0))
    expect(web.locator(".try > .summary")).to_contain_text("run them again")
    expect(x).to_have_value("78")


def test_events_by_hand_wait_while_another_program_is_open(studio: Studio, web: Page) -> None:
    address = write(studio, "waiting", PROGRAM)
    (studio.folder / "waiting" / "other.epl").write_text(PROGRAM)
    web.goto(address)
    web.get_by_role("button", name="Change by hand").click()
    status(web, "3 matches in 4 events.")
    lines = web.locator("tr.typed")
    expect(lines).to_have_count(5)
    for title in ("waiting/other.epl", "waiting/p.epl"):
        web.get_by_title(title, exact=True).click()
        expect(web.locator("header .name")).to_have_text(title)
    source = web.locator("#events")
    source.select_option("Typed by hand")
    expect(lines).to_have_count(5)

    # What is put into the folder meanwhile is there when one comes back to the page.
    wrong = '{"@type": "Z", "@time": 1}\n' * 9
    (studio.folder / "waiting" / "later.jsonl").write_text(wrong + EVENTS)
    web.evaluate("dispatchEvent(new Event('focus'))")
    expect(source).to_contain_text("later.jsonl")
    source.select_option("waiting/later.jsonl")
    web.get_by_role("button", name="Run", exact=True).click()
    status(web, "3 matches in 4 events. 9 lines could not be read and were left out.")
    expect(web.locator(".try .more > summary")).to_have_text("4 more")
    source.select_option("all 2 files beside the program")
    web.get_by_role("button", name="Run", exact=True).click()
    expect(web.locator(".try > .summary")).to_contain_text("in 8 events")


def test_an_event_is_moved_changed_saved_and_removed_by_keys(studio: Studio, web: Page) -> None:
    web.goto(write(studio, "keys", PROGRAM))
    expect(web.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    web.keyboard.press("Control+Enter")
    status(web, "3 matches in 4 events.")
    canvas = web.locator("canvas")
    canvas.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "m", "Shift+ArrowRight", "Escape"):
        web.keyboard.press(key)
    expect(web.locator("tr.chosen")).to_contain_text("00:00:04Z")
    for key in ("m", *["ArrowRight"] * 2, "ArrowLeft", "Enter"):
        web.keyboard.press(key)
    moved = web.locator("tr.typed").nth(3).get_by_label("time", exact=True)
    expect(moved).to_have_value("1970-01-01T00:00:04.05Z")
    status(web, "3 matches in 4 events.")
    expect(web.locator("tr.chosen")).to_contain_text("00:00:04.05Z")

    value = web.locator("tr.typed").nth(3).get_by_label("x", exact=True)
    value.fill("30")
    value.press("ArrowUp")
    expect(web.locator("tr.typed").nth(2).get_by_label("x", exact=True)).to_be_focused()
    web.keyboard.press("Control+Enter")
    status(web, "4 matches in 4 events.")

    web.get_by_role("button", name="Save as a file").press("Enter")
    web.keyboard.press("Enter")
    expect(web.locator("#events")).to_have_value("keys/mine.jsonl")
    saved = (studio.folder / "keys" / "mine.jsonl").read_text().splitlines()
    assert json.loads(saved[3]) == {
        "@type": "B",
        "@time": "1970-01-01T00:00:04.05Z",
        "id": "l",
        "x": 30,
    }
    assert json.loads(saved[4]) == {"@time": "1970-01-01T00:00:20Z"}
    web.keyboard.press("Control+Enter")
    status(web, "4 matches in 4 events.")
    canvas.focus()
    for key in ("ArrowDown", "Delete"):
        web.keyboard.press(key)
    status(web, "2 matches in 3 events.")
    web.keyboard.press("ArrowDown")
    web.keyboard.press("Insert")
    status(web, "2 matches in 4 events.")
    web.mouse.dblclick(*place_of(web, 3.5, lane=0))
    status(web, "2 matches in 5 events.")


def test_two_versions_a_search_a_zone_and_files(studio: Studio, web: Page) -> None:
    web.goto(write(studio, "versions", PROGRAM))
    web.get_by_role("button", name="Run", exact=True).click()
    status(web, "3 matches in 4 events.")
    web.locator(".menu > summary").filter(has_text="Statements").click()
    web.get_by_role("checkbox", name="Big").uncheck()
    expect(web.locator(".try > .summary")).to_contain_text("have changed")
    web.keyboard.press("Escape")
    web.get_by_role("button", name="Run", exact=True).click()
    status(web, "2 matches in 4 events. Big did not run.")

    web.locator(".asks").get_by_role("button", name="Compare").click()
    web.get_by_label("Rows beside those of").select_option("the saved text")
    web.locator(".compare").get_by_role("button", name="Compare").click()
    told = web.locator(".compare .summary")
    expect(told).to_have_text("0 rows only now, 1 only then, 2 in both.")
    expect(web.locator(".compare tbody tr")).to_have_count(1)
    web.get_by_label("in both").check()
    expect(web.locator(".compare tbody tr")).to_have_text(
        [
            "Big1970-01-01T00:00:02Zid ksecond 9\N{EN DASH}",
            "Pair1970-01-01T00:00:02Zid kfirst 1second 9",
            "Pair1970-01-01T00:00:04Zid lfirst 300second 3",
        ]
    )
    web.locator(".compare").get_by_role("button", name="Close").click()

    web.get_by_label("Search events and rows").fill("300")
    expect(web.get_by_role("tab", name="Pair1 of 2")).to_be_visible()
    rows = web.locator(".found tbody tr")
    expect(rows).to_have_text(["1970-01-01T00:00:04Zl3003"])
    web.get_by_label("Time zone").select_option("Asia/Tokyo")
    expect(rows).to_have_text(["1970-01-01T09:00:04+09:00l3003"])
    for item, name, part in (
        ("The table below (CSV)", "Pair.csv", "Pair,1970-01-01T00:00:04Z,l,300,3"),
        ("All rows (JSON Lines)", "rows.jsonl", '"first": 300'),
        ("Report (a page)", "p.html", "<!DOCTYPE html>"),
    ):
        web.locator(".menu > summary").filter(has_text="Download").press("Enter")
        with web.expect_download() as coming:
            web.get_by_role("button", name=item).press("Enter")
        assert coming.value.suggested_filename == name
        assert part in Path(coming.value.path()).read_text()


def test_the_motorbikes_from_an_accident_back_to_its_beginning(studio: Studio, web: Page) -> None:
    """Break at an accident, step back to the first partial match, ask why a near-accident is none."""
    lines = (EXAMPLES / "motorbike" / "events.jsonl").read_text()
    text = (EXAMPLES / "motorbike" / "motorbike.epl").read_text()
    web.goto(f"{write(studio, 'accident', text, lines)}&panel=debug")
    panel = web.locator(".debugger")
    place = panel.locator(".place-line > strong")
    panel.get_by_role("button", name="Start", exact=True).click()
    expect(place).to_have_text("0+0")
    panel.get_by_label("Type of event").select_option("Accident")
    panel.get_by_role("button", name="Add").click()
    expect(panel.locator(".breaks li")).to_contain_text("type Accident")
    panel.get_by_role("button", name="Continue").press("Enter")
    expect(panel.locator(".breaks .stopped")).to_contain_text("type Accident")
    expect(place).to_have_text("329+24")

    panel.get_by_label("Type of event").select_option("BlowOutTire")
    panel.get_by_label("Where").fill("motorbikeId = 1")
    web.keyboard.press("Enter")
    expect(panel.locator(".breaks li")).to_have_count(2)
    panel.locator(".scrubber").focus()
    for at in ("295+31", "295+29", "295+27", "295+25"):
        web.keyboard.press("r")
        expect(place).to_have_text(at)
    expect(panel.locator(".breaks .stopped")).to_contain_text("where motorbikeId = 1")
    expect(panel.locator(".place-line")).to_contain_text("BlowOutTire happens")
    name = web.locator("strong", has_text=re.compile("^Accident$"))
    stands = panel.locator(".stands").filter(has=name)
    expect(stands).to_have_count(0)
    web.keyboard.press("s")
    expect(place).to_have_text("295+26")
    first = stands.locator(".match")
    expect(first).to_contain_text("a1 =BlowOutTire")
    expect(stands.locator("mark.awaited")).to_contain_text("a2 = Crash")
    panel.get_by_label("Also show partial matches").select_option("net")
    expect(panel.locator(".picture")).to_contain_text("Accident.within")
    expect(panel.locator(".picture .badge").first).to_be_visible()
    expect(panel.locator(".picture .hint")).to_contain_text("when 295 events were done")
    panel.locator(".scrubber").focus()
    web.keyboard.press("n")
    expect(panel.locator(".standing")).to_contain_text("Accident.control_a2 1 token")

    web.get_by_role("tab", name="Try it").click()
    web.keyboard.press("Control+Enter")
    status(web, "125 matches in 680 events.")
    web.locator(".asks").get_by_role("button", name="Why not?").press("Enter")
    web.get_by_label("Why no row of").select_option("Accident")
    web.get_by_label("When", exact=True).select_option("from")
    chosen = web.get_by_role("tab", name=re.compile("^BlowOutTire"))
    expect(chosen).to_have_attribute("aria-selected", "true")
    web.locator(".found tbody tr").first.press("Enter")  # of a motorbike that does not crash
    expect(web.get_by_label("Time", exact=True)).to_have_value("2017-03-01T10:00:15Z")
    web.get_by_label("Until").fill("2017-03-01T10:00:18Z")
    web.keyboard.press("Enter")
    answer = web.locator(".absence")
    expect(answer.locator("h3").first).to_contain_text("Accident gave no row from")
    nearest = answer.locator(".obstacles > li").first
    expect(nearest).to_contain_text("a1.motorbikeId = a2.motorbikeId: a1.motorbikeId = 3")


@pytest.mark.parametrize("view", ["try", "debug"])
def test_markup_stays_text_in_what_is_shown_of_events(studio: Studio, web: Page, view: str) -> None:
    markup = "<img src=x onerror=alert(1)>"
    program = PROGRAM.replace("@Name('Pair')", f"@Name('{markup}')")
    events = EVENTS.replace('"k"', f'"{markup}"')
    web.goto(f"{write(studio, f'inert-{view}', program, events)}&panel={view}")
    if view == "debug":
        panel = web.locator(".debugger")
        panel.get_by_role("button", name="Start", exact=True).click()
        panel.get_by_role("button", name="Next event").click()
        panel.get_by_label("Also show partial matches").select_option("net")
        expect(panel.locator(".picture svg")).to_contain_text(markup)
    else:
        web.get_by_role("button", name="Change by hand").click()
        expect(web.locator("tr.typed").first.get_by_label("id", exact=True)).to_have_value(markup)
        web.locator(".menu > summary").filter(has_text="Statements").click()
        web.get_by_role("checkbox", name=markup).uncheck()
        web.get_by_role("button", name="Run", exact=True).click()
        status(web, f"0 matches in 4 events. {markup} did not run.")
        web.locator(".asks").get_by_role("button", name="Compare").click()
        web.locator(".compare").get_by_role("button", name="Compare").click()
        expect(web.locator(".compare tbody")).to_contain_text(markup)
    assert web.locator("img").count() == 0
