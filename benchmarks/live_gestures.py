"""Frames of `examples/gestures` through the whole loop: model, queries, complex events, and rules that act.

A hundred bodies go through their cycles of twelve frames; each frame is a transaction of 4,000 changes, and
each cycle ends in a hundred gestures, all of which turn a slide. Beside it pyecore, the model alone: the same
attributes are set, and an observer of each object is told and does nothing.
"""

from __future__ import annotations

import runpy
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cepheid as cep
from benchmarks.measure import cpu_seconds
from benchmarks.pairs import paired
from benchmarks.report import Figure, Goal
from cepheid import live

EXAMPLE = Path(__file__).parents[1] / "examples" / "gestures"
METAMODEL = EXAMPLE / "gestures.ecore"
BODIES = 100
SECONDS = 0.040  # of a frame, 25 times a second
SLIDES = 1_000_000  # nobody comes to the end of them

Change = tuple[int, str, float]  # the number of a point, a coordinate, a value


def figures() -> Iterator[Figure]:
    names = (
        f"a frame of {BODIES} bodies: changes, queries, gestures and rules, beside 40 ms",
        "the same, beside pyecore's model alone",
    )
    if find_spec("pyecore") is None:
        note = "pyecore is not installed"
        yield from (Figure(name=name, ratio=None, note=note) for name in names)
        return
    loop, model = Loop(), PyecoreModel()
    loop.seconds()  # warm
    found = paired(loop.seconds, model.seconds)
    frame = statistics.median(found.ours)
    yield Figure(
        name=names[0],
        ratio=frame / SECONDS,
        goal=Goal("at most", 1),
        of={"ms": frame * 1_000, "frames/s": 1 / frame},
        note=f"{loop.gestures:,} gestures",
        is_wrong=loop.gestures != BODIES * loop.film.cycles,
    )
    yield Figure.of_pairs(names[1], found, None)


class Film:
    """What the sensor sees, cycle by cycle."""

    def __init__(self) -> None:
        made = runpy.run_path(str(EXAMPLE / "generate.py"), run_name="generate")
        self.start, self.pause = made["START"], made["FRAME"]
        self.kinds = [made["kind_of"](point) for point in made["POINTS"]] * BODIES
        self._points = {point: place for place, point in enumerate(made["POINTS"])}
        self._bodies = made["crowd"](BODIES)
        self._steps = len(made["ROUND"])
        self.cycles = 0

    def cycle(self) -> list[list[Change]]:
        self.cycles += 1
        return [self._frame(step) for step in range(self._steps)]

    def _frame(self, step: int) -> list[Change]:
        size = len(self._points)
        return [
            (number * size + self._points[point], axis, value)
            for number, body in enumerate(self._bodies)
            for point, axis, value in body.moved(step)
        ]

    def seconds(self, play: Callable[[list[list[Change]]], None]) -> float:
        """Of a frame, while a cycle is played."""
        cycle = self.cycle()
        return cpu_seconds(partial(play, cycle)) / len(cycle)


class Loop:
    def __init__(self) -> None:
        program = cep.load(EXAMPLE / "gestures.vepl", EXAMPLE / "gestures.vql")
        self.film = Film()
        self._time = self.film.start
        self._run = live.open(program, metamodel=METAMODEL)
        self._run.listeners.append(self._count)
        self.gestures = 0
        with self._run.transaction(at=self._time) as change:
            self._points = [change.create(kind) for kind in self.film.kinds]
            size = len(self._points) // BODIES
            for start in range(0, len(self._points), size):
                body = change.create("Body")
                for point in self._points[start : start + size]:
                    change.set(body, point.type[0].lower() + point.type[1:], point)
                slide = SLIDES // 2
                change.create("Presentation", slides=SLIDES, slide=slide, speakers=[body])

    def seconds(self) -> float:
        return self.film.seconds(self._play)

    def _play(self, cycle: list[list[Change]]) -> None:
        for frame in cycle:
            self._time += self.film.pause
            with self._run.transaction(at=self._time) as change:
                for point, axis, value in frame:
                    change.set(self._points[point], axis, value)

    def _count(self, entry: live.Entry) -> None:
        if isinstance(entry, live.Fired):
            self.gestures += 1


class PyecoreModel:
    def __init__(self) -> None:
        from pyecore.notification import EObserver
        from pyecore.resources import ResourceSet

        self.film = Film()
        package: Any = ResourceSet().get_resource(str(METAMODEL)).contents[0]
        self._points = [package.getEClassifier(kind)() for kind in self.film.kinds]
        self._observers = [EObserver(point, notifyChanged=_do_nothing) for point in self._points]

    def seconds(self) -> float:
        return self.film.seconds(self._play)

    def _play(self, cycle: list[list[Change]]) -> None:
        for frame in cycle:
            for point, axis, value in frame:
                setattr(self._points[point], axis, value)


def _do_nothing(_: object) -> None:
    """What an observer does that only watches."""
