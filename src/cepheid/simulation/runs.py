"""Many runs of a program over a scenario, in this process, in others, or wherever else.

A run is known by its number. What it gives depends on nothing but the job and this number, so runs
can be spread in any way, and those that a dying worker took with it are simply done again.
"""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Protocol

import numpy as np

from cepheid.errors import RunError, UsageError, error
from cepheid.matcher.row_counts import open_row_counts
from cepheid.program.resolved import ResolvedProgram
from cepheid.simulation.factories import Maker, Run, TimeRange, Words
from cepheid.simulation.scenario import Scenario

TRIES = 3  # of what was lost with a worker
_WAVE = 16  # runs of a worker between two reports


@dataclass(frozen=True, slots=True)
class SimulationJob:
    """What is to be run: a program that can run, over a scenario, from a seed."""

    program: ResolvedProgram
    scenario: Scenario
    span: TimeRange
    seed: int

    def check(self) -> None:
        """InputError where scenario and program do not agree."""
        Maker(self.scenario, self.program)

    def run(self, number: int) -> Run:
        """A single run, with all attributes of its events."""
        maker = Maker(self.scenario, self.program, all_attributes=True)
        return maker.run(self.seed, number, self.span)


class RowCounter:
    """Does runs and counts: first events of each type of the scenario, then rows of statements."""

    def __init__(self, job: SimulationJob) -> None:
        self.job = job
        self._types = job.scenario.types
        self._maker = Maker(job.scenario, job.program)
        self._counts = open_row_counts(job.program)

    def counts(self, number: int) -> Words:
        job = self.job
        run = self._maker.run(job.seed, number, job.span)
        rows = self._counts.run(self._maker.table(run), job.span.start, run.end)
        return np.concatenate([run.counts(self._types), rows])

    def table(self, numbers: Sequence[int]) -> Words:
        """A line for each run."""
        width = len(self._types) + len(self.job.program.statements)
        lines = [self.counts(number) for number in numbers]
        return np.array(lines, dtype=np.int64).reshape(len(numbers), width)


class RunPlacement(Protocol):
    """A way to do runs."""

    wave: int  # how many runs are worth handing over at once

    def counts(self, numbers: range) -> Words:
        """A line for each run, in the order of the numbers."""
        ...


def waves(spread: RunPlacement, total: int) -> Iterator[Words]:
    """The lines of all runs, some at a time."""
    for begin in range(0, total, spread.wave):
        yield spread.counts(range(begin, min(begin + spread.wave, total)))


class InProcess:
    """In this process."""

    def __init__(self, job: SimulationJob) -> None:
        self._counter = RowCounter(job)
        self.wave = _WAVE

    def counts(self, numbers: range) -> Words:
        return self._counter.table(numbers)


@lru_cache(maxsize=2)
def _counter(job: bytes) -> RowCounter:
    """What a worker keeps from one piece of work to the next."""
    return RowCounter(pickle.loads(job))


def work(job: bytes, numbers: Sequence[int]) -> list[list[int]]:
    """What a worker does."""
    found: list[list[int]] = _counter(job).table(numbers).tolist()
    return found


class Processes(AbstractContextManager["Processes"]):
    """In other processes of this machine."""

    def __init__(self, job: SimulationJob, workers: int) -> None:
        try:
            self._job = pickle.dumps(job)
        except Exception as problem:  # pickle says in many ways that it cannot take a function
            functions = job.program.tree.functions
            if not functions:
                raise
            names = ", ".join(f"'{function.name}'" for function in functions)
            fact = f"{names} cannot be sent to other processes: {problem}"
            raise UsageError(
                error("usage", fact, hint="define it in a module, at the top")
            ) from None
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self.wave = 2 * _WAVE * workers

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def counts(self, numbers: range) -> Words:
        pieces = [numbers[n : n + _WAVE] for n in range(0, len(numbers), _WAVE)]
        done: dict[int, list[list[int]]] = {}
        for _ in range(TRIES):
            try:
                self._do(pieces, done)
                return np.array([line for n in range(len(pieces)) for line in done[n]], np.int64)
            except BrokenProcessPool:
                self._pool = None
        raise RunError(error("bad-workers", f"processes that do the runs died {TRIES} times"))

    def _do(self, pieces: Sequence[Sequence[int]], done: dict[int, list[list[int]]]) -> None:
        if self._pool is None:
            context = get_context("spawn")
            self._pool = ProcessPoolExecutor(self._workers, context, _follow_parent)
        waiting = {
            n: self._pool.submit(work, self._job, piece)
            for n, piece in enumerate(pieces)
            if n not in done
        }
        for n, future in waiting.items():
            done[n] = future.result()


def _follow_parent() -> None:
    """In a process that does runs: Ctrl-C is for whoever started it, and it ends with that one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


class OnSpark:
    """On the workers of Spark."""

    def __init__(self, job: SimulationJob, partitions: int | None = None) -> None:
        from cepheid.engines.spark.session.spark_session import session

        self._session = session()
        self._work = partial(work, pickle.dumps(job))
        usual = self._session.conf.get("spark.sql.shuffle.partitions")
        self._partitions = partitions or int(usual or 1)
        self.wave = 2 * _WAVE * self._partitions

    def counts(self, numbers: range) -> Words:
        from cepheid.engines.spark.session.parallel_map import parallel_map

        partitions = self._partitions
        lines = parallel_map(self._session, self._work, numbers, partitions=partitions, tries=TRIES)
        return np.array(lines, np.int64)
