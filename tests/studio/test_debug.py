"""A run that is stepped through by a page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cepheid as cep
from cepheid.debugging.position import Position
from cepheid.studio.limits import Limits
from tests.studio.conftest import (
    ENDLESS,
    ENDLESS_EVENTS,
    EVENTS,
    PROGRAM,
    Page,
    Refused,
    Studio,
    running,
    texts,
)

LINES = EVENTS.splitlines()


@pytest.fixture
def begun(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.ask("debug", texts=texts(), lines=LINES)
    return found


def move(page: Page, begun: dict[str, Any], name: str, **more: object) -> dict[str, Any]:
    found: dict[str, Any] = page.ask("debug-move", session=begun["session"], move=name, **more)
    return found


def place(state: dict[str, Any]) -> tuple[int, int]:
    return state["events"], state["step"]


def test_it_begins_before_the_first_event(begun: dict[str, Any]) -> None:
    assert (place(begun), begun["of"], begun["said"]) == ((0, 0), 4, "the program has begun")
    assert begun["statements"] == ["Pair", "Big"]
    assert {"A", "B", "Pair", "Big"} <= {*begun["types"]}
    assert (begun["rows"], begun["partial"], begun["queue"]) == (0, [], [])


def test_moves_are_those_of_the_debugger(page: Page, begun: dict[str, Any]) -> None:
    debugger = cep.debug(cep.parse(PROGRAM), *map(json.loads, LINES))
    moves = ["step", "step", "event", "event", "step", "step", "back", "event-back", "event"]
    acts: dict[str, Callable[[], Position]] = {
        "step": debugger.step,
        "back": debugger.back,
        "event": lambda: debugger.step("event"),
        "event-back": lambda: debugger.back("event"),
    }
    for name in moves:
        state, position = move(page, begun, name), acts[name]()
        assert place(state) == (position.events, position.step)
        assert str(position).endswith(state["said"])
        assert state["rows"] == len(debugger.rows)
        assert sum(each["count"] for each in state["partial"]) == len(debugger.inspect().partial())


def test_a_partial_match_stands_on_a_part_of_its_pattern(page: Page, begun: dict[str, Any]) -> None:
    [group] = move(page, begun, "event")["partial"]
    pieces = group["pattern"]
    assert "".join(text for text, _ in pieces).startswith("every a=A -> b=B(b.id = a.id) where")
    assert [text for text, kind in pieces if kind == "awaited"] == ["b=B(b.id = a.id)"]
    [match] = group["matches"]
    assert (match["since"], match["ends"]) == ("1970-01-01T00:00:01Z", "1970-01-01T00:00:11Z")
    [(tag, event)] = match["bound"]
    assert (tag, event["type"], event["index"]) == ("a", "A", 0)
    assert (group["statement"], group["place"]["line"]) == ("Pair", 7)


def test_derived_events_wait_in_the_queue(page: Page, begun: dict[str, Any]) -> None:
    move(page, begun, "event")
    for _ in range(4):
        state = move(page, begun, "step")
        if state["queued"]:
            break
    assert [event["type"] for event in state["queue"]] == ["Pair"]
    assert state["statement"]["name"] == "Pair"
    assert state["statement"]["place"]["line"] == 4


def test_breakpoints_on_types_statements_conditions_and_ages(
    page: Page, begun: dict[str, Any]
) -> None:
    session = begun["session"]
    for given in (
        {"type": "B", "where": "x = 3"},
        {"statement": "Big"},
        {"age": "1 sec", "statement": "Pair"},
    ):
        state = page.ask("debug-break", session=session, **given)
    texts = [each["text"] for each in state["breakpoints"]]
    assert texts == ["type B, where x = 3", "statement Big", "statement Pair, age 1 second"]
    stops = []
    for _ in range(9):
        state = move(page, begun, "continue")
        stops += state["stopped"]
        if state["over"]:
            break
    assert {*stops} == {1, 2, 3}
    assert move(page, begun, "rewind")["stopped"] != []
    for number in (1, 2, 3):
        state = page.ask("debug-break", session=session, clear=number)
    assert state["breakpoints"] == []
    assert move(page, begun, "continue")["over"]


def test_the_scrubber_goes_to_an_event(page: Page, begun: dict[str, Any]) -> None:
    assert place(move(page, begun, "go", events=3)) == (3, 0)
    assert place(move(page, begun, "go", events=1)) == (1, 0)
    with pytest.raises(Refused, match=r"no place 9\+0"):
        move(page, begun, "go", events=9)
    assert place(move(page, begun, "event")) == (2, 0)


def test_windows_and_timers_are_shown(page: Page) -> None:
    text = "create schema A (x int);\n@Name('S') select sum(x) as s from A#time(5 sec);"
    lines = [f'{{"@type": "A", "@time": {n}, "x": {n}}}' for n in range(3)]
    begun = page.ask("debug", texts=texts(text), lines=lines)
    state = move(page, begun, "go", events=2)
    [window] = state["windows"]
    assert (window["statement"], window["count"]) == ("S", 2)
    assert window["rows"][0]["leaves"] == "1970-01-01T00:00:05Z"
    assert (state["timed"], state["timers"][0]["statement"]) == (1, "S")


def test_what_cannot_be_done_is_refused_and_the_place_stays(
    page: Page, begun: dict[str, Any]
) -> None:
    session = begun["session"]
    for verb, given, said in (
        ("debug-move", {"move": "jump"}, "no move 'jump'"),
        ("debug-move", {"move": "go"}, "'events' must be a whole number"),
        ("debug-break", {}, "needs a statement, a type or an age"),
        ("debug-break", {"type": "Nope"}, "no event type 'Nope'"),
        ("debug-break", {"type": "A", "where": "y > 1"}, "no attribute|nothing is called|'y'"),
        ("debug-break", {"age": "soon"}, "age"),
        ("debug-break", {"clear": 7}, "no breakpoint 7"),
    ):
        with pytest.raises(Refused, match=said):
            page.ask(verb, session=session, **given)
    with pytest.raises(Refused, match="let go of this run"):
        page.ask("debug-move", session=session + 100, move="step")
    assert place(move(page, begun, "event")) == (1, 0)


def test_a_move_without_end_is_stopped(studio: Studio, page: Page) -> None:
    begun = page.ask("debug", texts=texts(ENDLESS), lines=ENDLESS_EVENTS)
    asked = page.send("debug-move", session=begun["session"], move="continue")
    page.send("cancel", id=asked)
    assert page.said(asked).get("stopped")
    with pytest.raises(Refused, match="let go of this run"):
        move(page, begun, "step")


def test_a_move_has_the_limit_of_runs(tmp_path_factory: pytest.TempPathFactory) -> None:
    with (
        running(tmp_path_factory.mktemp("short"), Limits(run=4)) as studio,
        studio.page() as page,
    ):
        begun = page.ask("debug", texts=texts(ENDLESS), lines=ENDLESS_EVENTS)
        with pytest.raises(Refused, match="more than 4 seconds"):
            move(page, begun, "continue")


def test_what_does_not_run_does_not_start(page: Page) -> None:
    with pytest.raises(Refused, match="no attribute 'nope'"):
        page.ask("debug", texts=texts(PROGRAM.replace("a.x as first", "a.nope as first")), lines=[])
    with pytest.raises(Refused, match="no file in this folder"):
        page.ask("debug", texts=texts(), events="../secret.jsonl")


def test_without_events_there_is_nothing_to_step_through(page: Page) -> None:
    begun = page.ask("debug", texts=texts(), lines=[])
    assert (begun["of"], begun["clock"]) == (0, None)
    for name in ("step", "back", "event", "event-back", "continue", "rewind"):
        assert move(page, begun, name)["rows"] == 0


def test_complex_events_of_vepl_stand_on_their_forms(page: Page) -> None:
    folder = Path(__file__).parents[2] / "examples/gestures"
    text = (folder / "gestures.vepl").read_text()
    lines = (folder / "recorded.jsonl").read_text().splitlines()[:60]
    begun = page.ask("debug", texts=texts(text, "gestures.vepl"), lines=lines)
    seen = [move(page, begun, "event")["partial"] for _ in range(begun["of"])]
    groups = [group for partial in seen for group in partial]
    assert groups
    assert all("".join(text for text, _ in group["pattern"]).strip() for group in groups)
    assert any(kind for group in groups for _, kind in group["pattern"])


def motorbike() -> tuple[str, list[str]]:
    folder = Path(__file__).parents[2] / "examples/motorbike"
    lines = (folder / "events.jsonl").read_text().splitlines()
    return (folder / "motorbike.epl").read_text(), lines


def classes_in(picture: list[Any]) -> list[str]:
    _, attributes, inside = picture
    own = [attributes["class"]] if "class" in attributes else []
    return [*own, *(each for part in inside if isinstance(part, list) for each in classes_in(part))]


def words_in(picture: Any) -> list[str]:
    return [picture] if isinstance(picture, str) else [w for p in picture[2] for w in words_in(p)]


def test_partial_matches_are_tokens_in_the_net(page: Page) -> None:
    text, lines = motorbike()
    begun = page.ask("debug", texts=texts(text), lines=lines)
    assert not begun["automata"]
    for events in (329, 40, 41):
        state = move(page, begun, "go", events=events)
        drawn = page.ask("debug-picture", session=begun["session"], on="net")
        counts = {each["where"]: each["count"] for each in drawn["standing"]}
        partial = {group["statement"]: group["count"] for group in state["partial"]}
        for name in ("BlowOutTire", "Crash", "DriverLeftSeat"):
            assert counts.get(f"{name}.Ev_a1", 0) == partial.get(name, 0), (events, name)
        assert drawn["at"] == events
        assert classes_in(drawn["picture"]).count("badge") >= len(partial)
        assert "DriverLeftSeat" in words_in(drawn["picture"])
    with pytest.raises(Refused, match="no statement is a complex event"):
        page.ask("debug-picture", session=begun["session"], on="automaton")
    with pytest.raises(Refused, match="nothing to draw is called 'moon'"):
        page.ask("debug-picture", session=begun["session"], on="moon")


def test_complex_events_are_tokens_on_their_automata(page: Page) -> None:
    folder = Path(__file__).parents[2] / "examples/gestures"
    text = (folder / "gestures.vepl").read_text()
    lines = (folder / "recorded.jsonl").read_text().splitlines()[:60]
    begun = page.ask("debug", texts=texts(text, "gestures.vepl"), lines=lines)
    assert begun["automata"]
    seen = 0
    for _ in range(20):
        state = move(page, begun, "event")
        drawn = page.ask("debug-picture", session=begun["session"], on="automaton")
        tokens = sum(each["count"] for each in drawn["standing"])
        assert tokens == sum(group["count"] for group in state["partial"])
        assert classes_in(drawn["picture"]).count("badge") == len(drawn["standing"])
        seen += tokens
    assert seen


def test_a_net_is_fired_over_ten_thousand_events_and_no_more(page: Page) -> None:
    lines = [json.dumps({"@type": "A", "@time": n, "id": "k", "x": n}) for n in range(10_001)]
    begun = page.ask("debug", texts=texts(), lines=lines)
    with pytest.raises(Refused, match="10,001 events, and nets are fired over 10,000"):
        page.ask("debug-picture", session=begun["session"], on="net")
    move(page, begun, "step")


def test_markup_in_names_is_text_in_pictures(page: Page) -> None:
    name = "<img src=x onerror=alert(1)>"
    begun = page.ask(
        "debug", texts=texts(PROGRAM.replace("@Name('Pair')", f"@Name('{name}')")), lines=LINES
    )
    drawn = page.ask("debug-picture", session=begun["session"], on="net")
    assert any(name in text for text in words_in(drawn["picture"]))
