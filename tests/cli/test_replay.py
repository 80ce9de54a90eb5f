"""`cepheid replay`: its lines, its options, its screen, and what keys do."""

from __future__ import annotations

import os
import sys
import tty
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import cepheid as cep
from cepheid.cli.terminal.keys import BACK, FASTER, PAUSE, QUIT, SLOWER, STEP, TerminalKeys
from cepheid.cli.terminal.player import MAX, Player
from cepheid.cli.terminal.replay_screen import ReplayScreen
from cepheid.verbs.replay import Replay, replay
from tests.actions.clocks import Hand
from tests.bitemporal.test_replay import HISTORY, PROGRAM
from tests.cli.conftest import EXAMPLES, Run
from tests.pipelines.test_in_step import lines

RUN = ("replay", "a.bicepl", "--history", "h.jsonl", "--chronon", "1m")


@pytest.fixture(autouse=True)
def given(write: Callable[[str, str], Path]) -> None:
    write("a.bicepl", PROGRAM)
    write("h.jsonl", lines(HISTORY))


# --- lines ------------------------------------------------------------------------------------------


def times(rows: list[dict[str, Any]]) -> list[str]:
    return [row["@time"][14:19] for row in rows]


def test_a_pipe_gets_a_line_for_each_round_in_which_something_happens(cepheid: Run) -> None:
    outcome = cepheid(*RUN)
    assert (outcome.code, outcome.err) == (0, "")
    assert times(outcome.rows) == ["01:00", "02:00", "05:00", "10:00", "11:00"]
    assert outcome.rows[3] == {
        "@time": "1970-01-01T00:10:00Z",
        "changes": [],
        "actions": [{"@type": "now", "@cause": {"@type": "D", "k": 1}, "p1": 1}],
        "waiting": 1,
    }
    assert [(c["@type"], c["kind"], c["fired"]) for c in outcome.rows[1]["changes"]] == [
        ("A", "change", False),
        ("D", "announcement", False),
    ]
    assert [row["waiting"] for row in outcome.rows] == [3, 2, 1, 1, 0]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--from", "300"], ["05:00", "10:00", "11:00"]),
        (["--from", "1970-01-01T00:05:01Z"], ["10:00", "11:00"]),
        (["--to", "600"], ["01:00", "02:00", "05:00", "10:00"]),
        (["--from", "120", "--to", "1970-01-01T00:05:00Z"], ["02:00", "05:00"]),
        (["--step", "60s"], ["01:00", "02:00"]),
        (["--from", "120", "--step", "3m"], ["02:00", "05:00"]),
        (["--break", "now"], ["01:00", "02:00", "05:00", "10:00"]),
        (["--break", "now", "D"], ["01:00", "02:00"]),
        (["--break", "seen", "--step", "1h"], ["01:00"]),
        (["--from", "180", "--step", "1h", "--break", "seen"], ["05:00"]),
        (["--speed", "max"], ["01:00", "02:00", "05:00", "10:00", "11:00"]),
    ],
)
def test_it_begins_ends_and_stops_where_options_say(
    cepheid: Run, options: list[str], expected: list[str]
) -> None:
    outcome = cepheid(*RUN, *options)
    assert (outcome.code, times(outcome.rows)) == (0, expected)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--from", "soon"], "--from: 'soon' is not an ISO 8601 time"),
        (["--to", "soon"], "--to: 'soon' is not an ISO 8601 time"),
        (["--from", "9000"], "after the last round"),
        (["--to", "30"], "there are no rounds"),
        (["--step", "far"], "a step: 'far' is not a time period"),
        (["--step", "0s"], "no time at all"),
        (["--break", "noww"], "nothing is called 'noww'"),
        (["--speed", "fast"], "'fast' is no speed"),
        (["--speed", "0x"], "'0x' is no speed"),
        (["--speed", "-1x"], "'-1x' is no speed"),
        (["--format", "csv"], "choose from screen, jsonl"),
        (["--window", "x"], "no window 'x'"),
        (["--after-freeze", "x"], "no after_freeze 'x'"),
        (["--chronon", "x"], "a chronon: 'x' is not a time period"),
    ],
)
def test_wrong_values_are_wrong_use(cepheid: Run, options: list[str], words: str) -> None:
    outcome = cepheid(*RUN, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err


def test_what_was_refused_is_told(cepheid: Run, write: Callable[[str, str], Path]) -> None:
    late = {**HISTORY[0], "@detected": 9_000, "x": 5.0}
    write("h.jsonl", lines([*HISTORY, late]))
    assert "refused 1 detection of A: after the freeze" in cepheid(*RUN).err
    assert cepheid(*RUN, "--after-freeze", "take").err == ""


# --- the player -------------------------------------------------------------------------------------


class Script:
    """Keys that are pressed one after the other; None is a frame in which none is."""

    are_real = True

    def __init__(self, clock: Hand, *keys: str | None) -> None:
        self._clock = clock
        self._keys = [*keys, QUIT]
        self.waited: list[float | None] = []

    def wait(self, seconds: float | None) -> str | None:
        self.waited.append(seconds)
        key = self._keys.pop(0)
        self._clock.time += 100.0 if seconds is None else seconds  # a pause is long
        return key


def found() -> Replay:
    return replay(cep.parse(PROGRAM, "bicepl"), HISTORY, chronon="1m")


def played(*keys: str | None, **options: Any) -> list[tuple[float, bool, float, str | None]]:
    """What there is to see after each key: the minute, whether it is paused, speed, and a stop."""
    seen = []
    clock = Hand()
    settings = {"speed": 600, "is_paused": False, "stop": (), **options}

    def draw(player: Player) -> None:
        time = round(player.replay.time / 60_000_000, 3)
        seen.append((time, player.is_paused, player.speed, player.stopped_at))

    Player(found(), keys=Script(clock, *keys), clock=clock, draw=draw, **settings).play()
    return seen


def test_time_passes_at_its_speed() -> None:
    assert [time for time, *_ in played(None, None)] == [1, 2, 3]
    assert [time for time, *_ in played(None, None, speed=60)] == [1, 1.1, 1.2]


def test_a_pause_takes_no_time() -> None:
    seen = played(None, PAUSE, PAUSE, None)
    assert [(time, is_paused) for time, is_paused, *_ in seen] == [
        (1, False),
        (2, False),
        (2, True),
        (2, False),
        (3, False),
    ]


def test_keys_change_the_speed_and_time_goes_on_meanwhile() -> None:
    seen = played(SLOWER, FASTER, FASTER)
    assert [speed for _, _, speed, _ in seen] == [600, 300, 600, 1_800]
    assert [time for time, *_ in seen] == [1, 1.5, 2.5, 5.5]
    assert played(FASTER, speed=86_400, is_paused=True)[-1][2] == MAX
    assert played(SLOWER, speed=1, is_paused=True)[-1][2] == 1


def test_keys_without_a_meaning_do_not_hold_up_time() -> None:
    assert [time for time, *_ in played("x", "y")] == [1, 2, 3]


def test_steps_and_steps_back_pause() -> None:
    seen = played(STEP, STEP, BACK, BACK, BACK)
    assert [(time, is_paused) for time, is_paused, *_ in seen] == [
        (1, False),
        (2, True),
        (5, True),
        (2, True),
        (1, True),
        (1, True),  # just before the first round
    ]


def test_it_stops_at_a_break_and_goes_on_when_told() -> None:
    seen = played(None, PAUSE, None, stop=("changed", "D"), speed=6_000)
    assert seen[1:] == [
        (2, True, 6_000, "D, changed"),
        (2, False, 6_000, None),
        (12, False, 6_000, None),
    ]


def test_the_end_is_a_pause_from_which_one_can_only_go_back() -> None:
    seen = played(None, PAUSE, BACK, PAUSE, None, speed=86_400)
    assert [(time, is_paused) for time, is_paused, *_ in seen[1:]] == [
        (20, True),
        (20, True),
        (11, True),
        (11, False),
        (20, True),
    ]


def test_at_full_speed_every_change_is_seen() -> None:
    assert [time for time, *_ in played(*[None] * 5, speed=MAX)] == [1, 2, 5, 10, 11, 20]


class Nobody:
    are_real = False

    def __init__(self, clock: Hand) -> None:
        self._clock = clock
        self.waited: list[float | None] = []

    def wait(self, seconds: float | None) -> str | None:
        self.waited.append(seconds)
        self._clock.time += seconds or 0
        return None


def test_where_nobody_can_press_a_key_it_ends_by_itself() -> None:
    clock = Hand()
    keys = Nobody(clock)
    player = Player(
        found(), speed=MAX, is_paused=False, stop=(), keys=keys, clock=clock, draw=lambda _: None
    )
    player.play()
    assert player.replay.is_over
    assert set(keys.waited) == {0}


# --- keys -------------------------------------------------------------------------------------------


@pytest.fixture
def press(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes], int]]:
    """Keys of a terminal that nobody sees."""
    inside, outside = os.openpty()
    tty.setcbreak(outside)
    with os.fdopen(outside, "r") as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        yield lambda keys: os.write(inside, keys)
    os.close(inside)


@pytest.mark.parametrize(
    ("pressed", "expected"),
    [
        (b" ", [PAUSE]),
        (b"nb+-q", [STEP, BACK, FASTER, SLOWER, QUIT]),
        (b"\x1b[C", [STEP]),
        (b"\x1b[D\x1b[D\x1b[C", [BACK, BACK, STEP]),  # an arrow that is held down
        (b"\x1b", [QUIT]),
        (b"\x1b[3~n", ["\x1b[3~", STEP]),
        (b"\x1bOPn", ["\x1bOP", STEP]),
    ],
)
def test_keys_are_told_apart(
    press: Callable[[bytes], int], pressed: bytes, expected: list[str]
) -> None:
    with TerminalKeys() as keys:
        press(pressed)
        assert [keys.wait(5) for _ in expected] == expected
        assert keys.wait(0) is None


# --- the screen -------------------------------------------------------------------------------------


def screen(width: int, height: int) -> list[str]:
    travel = EXAMPLES / "travel"
    found = replay(cep.load(travel / "travel.bicepl"), travel / "history.jsonl", chronon="1m")
    shown: list[str] = []
    clock = Hand()

    def draw(player: Player) -> None:
        console = Console(width=width, height=height, file=StringIO(), record=True)
        console.print(ReplayScreen(player), end="")
        shown[:] = console.export_text().splitlines()

    found.to("2013-01-10T18:59:00Z")
    found.begin = found.time + 1
    settings: dict[str, Any] = {"speed": 60, "is_paused": True, "stop": ["publishOnTwitter"]}
    keys = Script(clock, STEP, STEP)
    Player(found, keys=keys, clock=clock, draw=draw, **settings).play()
    return shown


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (60, 16)])
def test_the_screen_is_as_large_as_the_terminal_and_says_what_counts(
    width: int, height: int
) -> None:
    shown = screen(width, height)
    assert (len(shown), max(map(len, shown))) == (height, width)
    text = "\n".join(shown)
    assert "Thu 2013-01-10 19:01:00 UTC   paused, 60x" in shown[0]
    assert "known now: 60 events" in text
    assert "waiting: 0" in text
    assert "19:01 publishOnTwitter(Still in the air" in text
    assert "the last 0" not in text
    assert "q quit" in shown[-1]


def test_changes_stand_out_and_small_classes_are_not_hidden() -> None:
    text = "\n".join(screen(80, 24))
    assert "~ 19:30  2013-01-10 AF1780" in text
    assert "MissedConnectingFlight (1)" in text
    assert "LH2476 b4" in text
