"""The gesture case study: postures, gestures and slides, in the terminal, live and from recorded events.

`pytest tests/examples --rewrite` writes the files that lie beside the example anew.
"""

from __future__ import annotations

import re
import runpy
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import cepheid as cep
from cepheid import live
from cepheid.cli.main import main
from cepheid.core.event import Event
from cepheid.io import encode, records_of
from cepheid.live.change_files import ChangeReader

FOLDER = Path(__file__).parents[2] / "examples" / "gestures"
LIVE = ("live", "gestures.vepl", "gestures.vql", "--metamodel", "gestures.ecore")


@pytest.fixture(scope="module")
def generator() -> Mapping[str, Any]:
    return runpy.run_path(str(FOLDER / "generate.py"), run_name="generate")


class Watched:
    """A live run, and what happened in each of its transactions."""

    def __init__(
        self,
        transactions: Iterable[dict[str, object]],
        queries: str | None = None,
        *,
        why: bool = False,
    ) -> None:
        own = (FOLDER / "gestures.vql").read_text() if queries is None else queries
        text = (FOLDER / "gestures.vepl").read_text()
        self.program = cep.compose(cep.parse(text, "vepl"), cep.parse(own, "vql"))
        self.run = live.open(self.program, metamodel=FOLDER / "gestures.ecore", why=why)
        self.turns: list[list[live.Entry]] = []
        reader = ChangeReader(self.run)
        for record in records_of(list(transactions)):
            reader.feed(record)
            self.turns.append(self.run.entries)

    @property
    def events(self) -> list[Event]:
        return [e.event for turn in self.turns for e in turn if isinstance(e, live.Happened)]

    def steps(self) -> list[str]:
        """What happened in each frame, without its changes and with the first transaction left out."""
        return [" ".join(map(step, turn[1:])) for turn in self.turns[1:]]

    def slides(self) -> dict[object, object]:
        return {one["title"]: one["slide"] for one in self.run.model.objects("Presentation")}


def step(entry: live.Entry) -> str:
    match entry:
        case live.Matched(change=change, match=match):
            return f"{change}:{match.query}"
        case live.Happened(event=event):
            return event.type
        case live.Fired(rule=rule):
            return f"rule:{rule}"
        case live.Changed(commit=commit):
            return "+".join(f"{c.feature}:{c.old}->{c.new}" for c in commit.changes)
    return type(entry).__name__


# What lies beside the example.


def test_the_terminal_shows_what_happens_and_records_it(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    rewrite: bool,
) -> None:
    monkeypatch.chdir(FOLDER)
    recorded = tmp_path / "recorded.jsonl"
    assert main((*LIVE, "--changes", "frames.jsonl", "--record", str(recorded))) == 0
    found = {"live.txt": capsys.readouterr().out, "recorded.jsonl": recorded.read_text()}
    for name, text in found.items():
        if rewrite:
            (FOLDER / name).write_text(text)
        assert text == (FOLDER / name).read_text(), name


def test_the_model_that_is_saved_has_the_slides_that_were_turned(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(FOLDER)
    saved = tmp_path / "after.xmi"
    assert main((*LIVE, "--changes", "frames.jsonl", "--save", str(saved))) == 0
    model = live.load_model(saved, live.load_metamodel("gestures.ecore"))
    talks = {one["title"]: one["slide"] for one in model.objects("Presentation")}
    assert talks == {"talk 1": 3, "talk 2": 1}


# Cycles.


def test_every_cycle_of_a_body_has_six_atomic_events_and_one_gesture(
    generator: Mapping[str, Any],
) -> None:
    bodies, cycles = 7, 3
    watched = Watched(generator["transactions"](bodies, cycles))
    frames = watched.turns[1:]
    assert len(frames) == 12 * cycles
    assert all(len(frame[0].commit.changes) == 40 * bodies for frame in frames)  # type: ignore[attr-defined]
    names = {f"Body#{body.id}": body["name"] for body in watched.run.model.objects("Body")}
    acting = {body.name: body.acting for body in generator["crowd"](bodies)}
    found: dict[object, Counter[str]] = {name: Counter() for name in acting}
    for event in watched.events:
        found[names[str(event["body"])]][event.type] += 1
    for name, counts in found.items():
        ahead, other = ("Forward", "Backward")[:: 1 if acting[str(name)] == "right" else -1]
        ends = ("StartFound", "StartLost", "EndFound", "EndLost", "Gesture")
        told = [*(ahead + end for end in ends), other + "StartFound", other + "StartLost"]
        assert {t: n for t, n in counts.items() if "Show" not in t} == dict.fromkeys(told, cycles)


def test_a_gesture_has_the_four_phases_of_the_paper(generator: Mapping[str, Any]) -> None:
    watched = Watched(generator["transactions"](bodies=1, cycles=1), why=True)
    assert dict(enumerate(watched.steps())) == {
        0: "",
        1: "found:forwardStart ForwardStartFound",  # phase 1
        2: "",
        3: "lost:forwardStart ForwardStartLost",  # phase 2
        4: "",
        5: "",
        6: "found:forwardEnd ForwardEndFound",  # phase 3
        7: "",
        8: "lost:forwardEnd ForwardEndLost ForwardGesture rule:forward Presentation.slide:1->2 Shown",
        9: "found:backwardStart BackwardStartFound",  # noise
        10: "lost:backwardStart BackwardStartLost",
        11: "",
    }
    *_, shown = watched.turns[9]
    behind = [step(entry) for _, entry in live.behind(shown) if not isinstance(entry, live.Changed)]
    assert behind == [
        "rule:forward",
        "ForwardGesture",
        *("ForwardStartFound", "found:forwardStart"),
        *("ForwardStartLost", "lost:forwardStart"),
        *("ForwardEndFound", "found:forwardEnd"),
        *("ForwardEndLost", "lost:forwardEnd"),
    ]


def test_averages_keep_chance_out_of_postures(generator: Mapping[str, Any]) -> None:
    """In frame 5 the hand is about as high as the head, and a sensor is not exact."""
    queries = (FOLDER / "gestures.vql").read_text()
    exact = re.sub(r"moving_avg\((\w+\.y), 2\)", r"\1", queries)
    assert frames_of_the_end(generator, queries) == {6}
    assert frames_of_the_end(generator, exact) == {5, 6}


def frames_of_the_end(generator: Mapping[str, Any], queries: str) -> set[int]:
    """The frames of the cycle in which the second posture is found."""
    watched = Watched(generator["transactions"](bodies=8, cycles=3), queries)
    return {
        frame % 12
        for frame, steps in enumerate(watched.steps())
        for posture in ("ForwardEndFound", "BackwardEndFound")
        if posture in steps
    }


def test_slides_end_with_the_first_and_the_last_one(generator: Mapping[str, Any]) -> None:
    watched = Watched(generator["transactions"](bodies=8, cycles=5))
    assert watched.slides() == {
        "talk 1": 6,
        "talk 2": 1,
        "talk 4": 1,
        "talk 5": 10,
        "talk 7": 10,
        "talk 8": 3,
    }
    refused = [event["presentation"] for event in watched.events if event.type == "NothingToShow"]
    named = {one.name: one["title"] for one in watched.run.model.objects("Presentation")}
    assert Counter(named[str(name)] for name in refused) == {"talk 2": 4, "talk 4": 2, "talk 7": 2}


@pytest.mark.parametrize("context", ["chronicle", "immediate"])
def test_other_contexts_find_the_same_gestures(context: str) -> None:
    text = (FOLDER / "gestures.vepl").read_text()
    other = text.replace("context strict", f"context {context}")
    recorded = FOLDER / "recorded.jsonl"
    rows, others = (cep.run(cep.parse(t, "vepl"), recorded) for t in (text, other))
    assert len(rows) == 6
    assert [encode(row) for row in others] == [encode(row) for row in rows]


# From recorded events.


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_recorded_events_give_the_gestures_of_the_live_run(
    engine: str, generator: Mapping[str, Any]
) -> None:
    watched = Watched(generator["transactions"](bodies=6, cycles=4))
    recorded = [
        {"@type": event.type, "@time": event.time, **event}
        for event in watched.events
        if event.statement is None
    ]
    rows = cep.run(watched.program, recorded, engine=engine)
    gestures = [event for event in watched.events if event.type.endswith("Gesture")]
    assert [encode(row) for row in rows] == [encode(event) for event in gestures]
    assert len(gestures) == 6 * 4
