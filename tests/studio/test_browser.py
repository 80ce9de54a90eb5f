"""The page in a real browser, by mouse and keyboard."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from cepheid.studio.limits import Limits
from tests.studio.conftest import (
    ENDLESS,
    ENDLESS_EVENTS,
    EVENTS,
    PROGRAM,
    WHY,
    WHY_EVENTS,
    Studio,
    running,
)

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
SOON = 60_000  # milliseconds, on a machine that does other things, too
expect.set_options(timeout=SOON)


def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None and "CI" not in os.environ:
        pytest.skip("chromium is not installed: scripts/system-packages.sh")
    assert found is not None
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = chromium()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def web(browser: Browser) -> Iterator[Page]:
    """A page in which nothing fails, is refused by its policy, or asks."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(SOON)
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    opened.on("pageerror", lambda problem: wrong.append(str(problem)))
    opened.on("dialog", lambda dialog: wrong.append(dialog.message))
    yield opened
    context.close()
    assert wrong == []


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory, compiled: None) -> Iterator[Studio]:
    """An empty folder."""
    with running(tmp_path_factory.mktemp("fresh"), Limits()) as opened:
        yield opened


def write(studio: Studio, name: str, program: str, events: str = EVENTS) -> str:
    """A folder with a program and events; the address that opens it."""
    (studio.folder / name).mkdir()
    (studio.folder / name / "p.epl").write_text(program)
    (studio.folder / name / "events.jsonl").write_text(events)
    return f"{studio.url()}#file={name}/p.epl"


def summary(web: Page, text: str) -> None:
    expect(web.locator(".below .summary")).to_have_text(text, timeout=SOON)


def status(web: Page, text: str) -> None:
    expect(web.locator(".try > .summary")).to_have_text(text, timeout=SOON)


def accented(web: Page) -> int:
    """How many pixels of the timeline have the colour of lines between events."""
    return int(
        web.evaluate("""async () => {
            await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
            const canvas = document.querySelector("canvas");
            const copy = new OffscreenCanvas(canvas.width, canvas.height);
            const context = copy.getContext("2d", {willReadFrequently: true});
            context.drawImage(canvas, 0, 0);
            const {data} = context.getImageData(0, 0, copy.width, copy.height);
            let count = 0;
            for (let at = 0; at < data.length; at += 4)
                if (data[at] === 29 && data[at + 1] === 79 && data[at + 2] === 145) count++;
            return count;
        }""")
    )


def test_from_an_empty_folder_to_an_accident_and_its_reasons(fresh: Studio, web: Page) -> None:
    web.goto(fresh.url())
    web.get_by_role("button", name="Motorbike accidents").click()
    summary(web, "2 warnings, 5 notes")
    path = fresh.folder / "motorbike" / "motorbike.epl"
    before = path.read_text()

    web.locator(".cm-content").press("Control+Home")
    web.keyboard.type("nonsense ")
    expect(web.locator(".finding.error").first).to_be_visible()
    expect(web.locator(".cm-lintRange-error").first).to_be_visible()
    web.keyboard.press("Control+z")
    summary(web, "2 warnings, 5 notes")

    web.keyboard.press("Control+Enter")
    status(web, "125 matches in 680 events.")
    web.get_by_role("tab", name="Accident1", exact=True).click()
    few = accented(web)
    web.get_by_role("row", name="2017-03-01T10:00:22Z").click()
    tree = web.locator(".try .tree")
    expect(tree.locator(".event.out")).to_have_text(["BlowOutTire", "Crash", "DriverLeftSeat"])
    expect(tree.locator(".event.in")).to_have_text(["Motorbike"] * 6)
    expect(tree).to_contain_text("initialSpeed 90")
    assert accented(web) > few + 300  # the lines to what is behind it

    web.get_by_role("button", name="Play it").click()
    expect(web.locator(".try > .summary")).to_contain_text("in 4 events.")
    assert path.read_text() == before
    assert not (fresh.folder / "cases").exists()


def test_a_text_is_written_when_it_is_saved_and_a_conflict_is_shown(
    fresh: Studio, web: Page
) -> None:
    address = write(fresh, "conflict", PROGRAM)
    path = fresh.folder / "conflict" / "p.epl"
    web.goto(address)
    text = web.locator(".program .cm-content")
    expect(text).to_contain_text("create schema", timeout=SOON)
    text.press("Control+Home")
    web.keyboard.type("// mine\n")
    expect(web.get_by_role("button", name="Save")).to_be_enabled()
    assert path.read_text() == PROGRAM
    web.get_by_title("conflict/p.epl", exact=True).click()  # which is open
    web.evaluate("window.confirm = text => { window.asked = text; return false; }")
    web.get_by_role("button", name="New program").click()
    web.get_by_label("Name of the program").press("Enter")
    assert "conflict/p.epl is not saved" in web.evaluate("window.asked")
    expect(text).to_contain_text("// mine")
    web.keyboard.press("Control+s")
    expect(web.get_by_role("button", name="Save")).to_be_disabled()
    assert path.read_text() == f"// mine\n{PROGRAM}"

    text.press("Control+Home")
    web.keyboard.type("// more\n")
    path.write_text("// theirs\n")
    web.keyboard.press("Control+s")
    dialog = web.get_by_role("dialog")
    expect(dialog).to_contain_text("// theirs")
    expect(dialog).to_contain_text("// more")
    assert path.read_text() == "// theirs\n"
    dialog.get_by_role("button", name="Keep mine").click()
    expect(web.get_by_role("button", name="Save")).to_be_disabled()
    assert path.read_text() == f"// more\n// mine\n{PROGRAM}"

    text.press("Control+Home")
    web.keyboard.type("x")
    path.write_text("// theirs again\n")
    web.keyboard.press("Control+s")
    dialog.get_by_role("button", name="Take the one on disk").click()
    expect(text).to_have_text("// theirs again")
    assert path.read_text() == "// theirs again\n"


def test_events_are_typed_and_kept_as_a_test(fresh: Studio, web: Page) -> None:
    web.goto(write(fresh, "typed", PROGRAM))
    web.locator("#events").select_option("Typed by hand")
    for type, time, x in (("A", "1", "1"), ("B", "2", "9")):
        web.get_by_role("button", name=f"Add {type}", exact=True).click()
        line = web.locator("tr.typed").last
        for field, value in (("time", time), ("id", "k"), ("x", x)):
            line.get_by_label(field, exact=True).fill(value)
    web.get_by_role("button", name="Run", exact=True).click()
    status(web, "2 matches in 2 events.")
    web.get_by_role("button", name="Keep as a test").click()
    web.get_by_label("Name of the test").fill("by hand")
    web.keyboard.press("Enter")
    expect(web.locator(".try > .summary")).to_contain_text("Kept in cases/by hand")
    names = sorted(path.name for path in (fresh.folder / "cases" / "by hand").iterdir())
    assert names == ["events.jsonl", "expected.jsonl", "p.epl"]


def test_a_program_without_end_is_stopped(fresh: Studio, web: Page) -> None:
    web.goto(write(fresh, "endless", ENDLESS, "\n".join(ENDLESS_EVENTS)))
    web.get_by_role("button", name="Run", exact=True).click()
    web.get_by_role("button", name="Stop").click()
    status(web, "Stopped.")
    expect(web.get_by_role("button", name="Run", exact=True)).to_be_enabled()


def test_the_graph_leads_to_the_text_by_keys_and_on_a_narrow_screen(
    fresh: Studio, web: Page
) -> None:
    web.set_viewport_size({"width": 800, "height": 600})
    web.goto(f"{write(fresh, 'graph', PROGRAM)}&view=graph")
    box = web.get_by_role("button", name="statement Big")
    expect(box).to_be_visible()
    box.focus()
    web.keyboard.press("Enter")
    expect(web.locator(".cm-activeLine")).to_contain_text("@Name('Big')")
    assert "view=text" in web.url
    assert "line=9" in web.url
    web.get_by_role("group", name="Areas").get_by_role("button", name="Try it").press("Enter")
    expect(web.get_by_role("button", name="Run", exact=True)).to_be_visible()
    expect(box).to_be_hidden()
    wide = web.evaluate("document.documentElement.scrollWidth")
    assert wide <= 800
    web.get_by_role("group", name="Areas").get_by_role("button", name="Programs").press("Enter")
    web.get_by_role("button", name="New program").click()
    web.get_by_label("Name of the program").press("Enter")
    expect(web.get_by_role("tab", name="Text")).to_be_visible()


def test_markup_stays_text_wherever_it_stands(fresh: Studio, web: Page) -> None:
    markup = "<img src=x onerror=alert(1)>"
    program = PROGRAM.replace("@Name('Big')", f"@Name('{markup}')").replace(
        "second > 5", "secnd > 5"
    )
    address = write(fresh, "<b>markup<b>", program, EVENTS.replace('"k"', f'"{markup}"'))
    web.goto(address)
    expect(web.locator(".finding.error")).to_contain_text("secnd")
    path = fresh.folder / "<b>markup<b>" / "p.epl"
    path.write_text(program.replace("secnd", "second"))
    web.reload()
    web.get_by_role("tab", name="Graph").click()
    expect(web.locator(".graph .box").filter(has_text=markup)).to_be_visible()
    web.get_by_role("button", name="Run", exact=True).click()
    status(web, "3 matches in 4 events.")
    web.get_by_role("cell", name=markup).first.click()
    expect(web.locator(".try .tree").get_by_text(markup).first).to_be_visible()
    assert web.locator("img, b").count() == 0


def test_files_of_one_program_are_read_together(fresh: Studio, web: Page) -> None:
    schemas, _, statements = PROGRAM.partition("\n\n")
    address = write(fresh, "several", statements.replace("a.x as first", "a.y as first"))
    (fresh.folder / "several" / "types.epl").write_text(schemas)
    web.goto(address)
    unknown = web.locator(".finding").filter(has_text="type 'A' has no schema")
    expect(unknown).to_be_visible()
    web.get_by_label("several/types.epl together with the open program").check()
    expect(web.locator(".finding.error")).to_contain_text(["no attribute 'y'"])
    expect(unknown).to_have_count(0)
    assert "with=several%2Ftypes.epl" in web.url

    web.get_by_title("several/types.epl", exact=True).click()
    expect(web.locator(".cm-content")).to_contain_text("create schema A")
    finding = web.locator(".finding.error").filter(has_text="p.epl, line 3")
    finding.click()
    expect(web.locator(".cm-activeLine")).to_contain_text("a.y as first")
    for key in ("ArrowDown", "Home", *["ArrowRight"] * 22):
        web.keyboard.press(key)  # on A, which the other file declares
    web.keyboard.press("F2")
    web.keyboard.type("Z")
    web.keyboard.press("Enter")
    expect(web.locator(".cm-dialog")).to_contain_text("It stands in several/types.epl as well")
    web.keyboard.press("Escape")
    web.reload()
    expect(web.locator(".finding.error")).to_contain_text(["no attribute 'y'"])
    web.get_by_label("several/types.epl together with the open program").uncheck()
    expect(unknown).to_be_visible()


def test_a_fix_and_a_new_name_change_the_text_and_are_undone(fresh: Studio, web: Page) -> None:
    broken = PROGRAM.replace("second > 5", "secnd > 5")
    web.goto(write(fresh, "services", broken))
    text = web.locator(".program .cm-content")
    web.get_by_role("button", name="write second", exact=True).click()
    expect(text).to_contain_text("Pair(second > 5)")
    expect(web.locator(".finding.error")).to_have_count(0)
    web.keyboard.press("Control+z")  # the button that had the focus is gone
    expect(text).to_contain_text("Pair(secnd > 5)")
    text.press("Control+y")
    # The text ends where the findings begin, with the focus, too.
    editor, findings = web.locator(".program .cm-editor"), web.locator(".below")
    ends = "both => both.editor.getBoundingClientRect().bottom - both.findings.getBoundingClientRect().y"
    given = {"editor": editor.element_handle(), "findings": findings.element_handle()}
    assert web.evaluate(ends, given) < 1

    web.keyboard.press("Control+End")
    for key in ("ArrowUp", "Home", *["ArrowRight"] * 40):
        web.keyboard.press(key)  # on Pair, of which Big takes the events
    web.keyboard.press("F12")
    expect(web.locator(".cm-activeLine")).to_contain_text("@Name('Pair')")
    web.keyboard.press("F2")
    web.keyboard.press("Control+a")
    web.keyboard.type("Couple")
    web.keyboard.press("Enter")
    expect(text).to_contain_text("from Couple(second > 5)")
    expect(text).to_contain_text("insert into Couple")
    web.keyboard.press("Control+z")
    expect(text).not_to_contain_text("Couple")

    web.keyboard.press("Control+End")
    web.keyboard.type("\nselect seco")
    web.keyboard.press("Control+Home")
    for _ in range(5):
        web.keyboard.press("ArrowDown")
    web.keyboard.press("End")
    web.keyboard.type(", b.")
    offered = web.locator(".cm-tooltip-autocomplete li")
    expect(offered).to_have_count(2)
    expect(offered.first).to_contain_text("id")
    web.keyboard.press("Escape")
    web.locator(".cm-line").nth(9).get_by_text("Big").hover()
    expect(web.locator(".told")).to_contain_text("Big")


def test_why_there_is_no_row_is_asked_of_an_event_of_the_timeline(fresh: Studio, web: Page) -> None:
    web.goto(write(fresh, "why-not", WHY, WHY_EVENTS))
    web.get_by_role("button", name="Run", exact=True).click()
    status(web, "0 matches in 5 events.")
    web.locator(".asks").get_by_role("button", name="Why not?").click()
    web.get_by_role("tab", name="Payment2").click()
    web.get_by_role("row", name="1970-01-01T00:00:14Z").click()
    expect(web.get_by_label("When", exact=True)).to_have_value("event")
    web.locator(".why-not").get_by_role("button", name="Why not?").click()
    answer = web.locator(".absence")
    expect(answer.locator("h3").first).to_have_text(
        "Sold gave no row with Payment at 1970-01-01T00:00:14Z"
    )
    nearest = answer.locator(".obstacles > li").first
    expect(nearest).to_contain_text("10 seconds were over at 1970-01-01T00:00:12Z")
    nearest.get_by_role("button", name="Cancel 1970-01-01T00:00:06Z").click()
    expect(web.get_by_role("tab", name="Cancel1")).to_have_attribute("aria-selected", "true")
    expect(web.locator("tr.chosen")).to_contain_text("1970-01-01T00:00:06Z")
    expect(answer.locator("h3").first).to_be_in_viewport()
    nearest.get_by_role("button", name="line 6").first.click()
    expect(web.locator(".cm-activeLine")).to_contain_text("every o=Order")


def test_a_run_is_stepped_through_by_buttons_keys_and_the_scrubber(
    fresh: Studio, web: Page
) -> None:
    web.goto(f"{write(fresh, 'debug', PROGRAM)}&panel=debug")
    panel = web.locator(".debugger")
    place = panel.locator(".place-line > strong")
    panel.get_by_role("button", name="Start", exact=True).click()
    expect(place).to_have_text("0+0", timeout=SOON)
    for key, at in (("n", "1+0"), ("s", "1+1"), ("n", "2+0"), ("p", "1+0"), ("b", "0+1")):
        web.keyboard.press(key)
        expect(place).to_have_text(at)
    panel.get_by_role("button", name="Next event").click()
    expect(panel.locator("mark.awaited")).to_have_text("b=B(b.id = a.id)")
    expect(panel.locator(".match")).to_contain_text("a =A1970-01-01T00:00:01Zid kx 1")

    panel.get_by_label("Break at").select_option("a row of")
    panel.get_by_label("Statement").select_option("Big")
    panel.get_by_role("button", name="Add").click()
    panel.get_by_role("button", name="Continue").click()
    expect(panel.locator(".breaks .stopped")).to_contain_text("statement Big")
    expect(panel.locator(".place-line")).to_contain_text("Big has taken Pair, 1 row")
    panel.locator(".place-line").get_by_role("button", name="line 9").click()
    expect(web.locator(".cm-activeLine")).to_contain_text("@Name('Big')")
    panel.locator(".scrubber").press("End")
    expect(place).to_have_text("4+0")
    panel.locator(".scrubber").press("ArrowLeft")
    expect(place).to_have_text("3+0")

    panel.get_by_label("Where").fill("nothing > 5")
    panel.get_by_role("button", name="Add").click()
    expect(panel.locator(".finding")).to_contain_text("nothing")
    expect(place).to_have_text("3+0")
    web.locator(".program .cm-content").press("Control+Home")
    web.keyboard.type("// ")
    expect(panel.locator(".summary")).to_have_text("The program has changed: start again.")
    expect(place).to_be_hidden()

    web.keyboard.press("Control+z")
    panel.get_by_role("button", name="Start", exact=True).click()
    expect(place).to_have_text("0+0")
    expect(panel.locator(".breaks li")).to_contain_text(["statement Big"])
    web.get_by_role("tab", name="Try it").click()
    web.locator("#events").select_option("Typed by hand")
    web.get_by_role("tab", name="Debug").click()
    expect(panel.locator(".summary")).to_have_text("The events have changed: start again.")
