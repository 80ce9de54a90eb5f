"""Rounds over events that change their mind: the local engine beside PEACE's own way in SQLite.

Both are preloaded with the same events and then take the same rounds in turn. What is in the database is
counted as the paper does: the events of subscribed classes, those of complex classes, and what was told
of them. All actions of all rounds are compared. In sliding windows the engine is beside itself: neither
time nor memory may grow once the windows are full.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Protocol

from benchmarks.measure import Sizes
from benchmarks.pairs import Ratios
from benchmarks.peace_local import CepheidLocal
from benchmarks.peace_paper import PaperSqlite
from benchmarks.peace_workloads import WORKLOADS, Action, Detection, Workload
from benchmarks.report import Figure, Goal

LEAST, JUDGED, MOST = 10_000, 1_000_000, 3_600_000  # events in the database
OF_ONE = 3  # of them for each subscribed event: itself, its complex event, and that it was told
RATES = (100, 500)  # events that are new in a round
ROUNDS = 20  # of each rate
FULL, LATER, COMPARED = 1_300, 2_000, 400  # rounds 1,301 to 1,700 and 2,001 to 2,400 of windows


class Engine(Protocol):
    """What takes rounds."""

    def preload(self, rounds: Iterable[tuple[int, Sequence[Detection]]]) -> None: ...

    def round(self, number: int, detections: Sequence[Detection]) -> tuple[float, Sequence[Action]]:
        """The seconds that it takes, and what it tells."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Series:
    """Rounds of one rate, of two engines in turn."""

    rate: int
    taken: Ratios
    actions: int
    problem: str = ""

    def figure(self, name: str, goal: Goal | None, names: tuple[str, str]) -> Figure:
        figure = Figure.of_pairs(name, self.taken, goal, names=names)
        note = self.problem or f"{self.actions:,} actions"
        return replace(figure, note=note, is_wrong=bool(self.problem))


def run(sizes: Sizes) -> Iterator[Figure]:
    for workload in WORKLOADS:
        for count in sizes.choose((LEAST, 100_000, JUDGED), (LEAST, 100_000, JUDGED, MOST)):
            goal = Goal("at least", 20) if count == JUDGED else None
            yield from beside_paper(workload, sizes.events(count), goal)
        yield from growth(workload, sizes.events(MOST))
        for rate in RATES:
            yield from windows(workload, max(int(rate * sizes.scale), workload.pairs))


def beside_paper(workload: Workload, count: int, goal: Goal | None) -> Iterator[Figure]:
    """How many times as fast."""
    with closing(PaperSqlite(workload)) as theirs, closing(CepheidLocal(workload)) as ours:
        for series in in_step(workload, (theirs, count), (ours, count)):
            name = f"{workload.name}, {series.rate} events a round among {count:,}"
            names = "paper's seconds", "seconds"
            yield series.figure(f"{name}, speed beside the paper's way", goal, names)


def growth(workload: Workload, count: int) -> Iterator[Figure]:
    """How many times as long among many events as among few."""
    with closing(CepheidLocal(workload)) as large, closing(CepheidLocal(workload)) as small:
        for series in in_step(workload, (large, count), (small, LEAST)):
            name = f"{workload.name}, {series.rate} events a round among {count:,}"
            names = "seconds", "beside"
            yield series.figure(f"{name}, beside {LEAST:,}", Goal("at most", 1.5), names)


def in_step(
    workload: Workload, one: tuple[Engine, int], other: tuple[Engine, int]
) -> Iterator[Series]:
    """Two engines, with what is in their databases, take the same rounds; who is first alternates."""
    for engine, count in (one, other):
        engine.preload(workload.preloaded(count // OF_ONE))
    rounds = workload.rounds([rate for rate in RATES for _ in range(ROUNDS)])
    for rate in RATES:
        taken: list[tuple[float, float]] = []
        actions, problem = 0, ""
        for number, detections in (next(rounds) for _ in range(ROUNDS)):
            turns = (one[0], other[0]) if number % 2 else (other[0], one[0])
            found = {id(engine): engine.round(number, detections) for engine in turns}
            (first, told), (second, expected) = (found[id(engine)] for engine, _ in (one, other))
            taken.append((first, second))
            actions += len(told)
            problem = problem or difference(number, told, expected)
        ours, theirs = zip(*taken, strict=True)
        yield Series(rate, Ratios(ours, theirs), actions, problem)


def difference(number: int, told: Sequence[Action], expected: Sequence[Action]) -> str:
    if sorted(told) == sorted(expected):
        return ""
    alone = sorted(set(told) ^ set(expected))
    return f"round {number}: {len(told)} and {len(expected)} actions, one of two only: {alone[:1]}"


def windows(workload: Workload, rate: int) -> Iterator[Figure]:
    """Rounds of full windows, in a process whose memory is theirs."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        seconds, memory, actions = pool.submit(_slide, workload, rate).result()
    for what, values in (("time", seconds), ("memory", memory)):
        later, earlier = (tuple(values[n : n + COMPARED]) for n in (LATER, FULL))
        name = f"{workload.name}, {rate} events a round, windows: {what} of later rounds"
        names = ("seconds", "beside") if what == "time" else ("MB", "beside")
        figure = Figure.of_pairs(name, Ratios(later, earlier), Goal("at most", 1.1), names=names)
        expected = rate // workload.pairs * workload.pairs
        yield replace(
            figure,
            note=f"{statistics.median(actions):,.0f} actions a round",
            is_wrong=min(actions[FULL:]) < expected // 2,
        )


def _slide(workload: Workload, rate: int) -> tuple[list[float], list[float], list[int]]:
    """Seconds, megabytes and actions of each round."""
    seconds: list[float] = []
    memory: list[float] = []
    actions: list[int] = []
    with closing(CepheidLocal(workload, window="sliding")) as engine:
        for number, detections in workload.rounds([rate] * (LATER + COMPARED)):
            taken, told = engine.round(number, detections)
            seconds.append(taken)
            memory.append(_resident())
            actions.append(len(told))
    return seconds, memory, actions


def _resident() -> float:
    """Megabytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
