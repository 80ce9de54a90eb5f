"""A program over many runs of a scenario: how often each event happens."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from cepheid.core.event import Event
from cepheid.core.html import table
from cepheid.core.time import Period, clock_after
from cepheid.engines.common.intake import runnable, with_schemas
from cepheid.engines.common.progress import Progress, no_progress
from cepheid.errors import UsageError, error
from cepheid.program.resolved import ResolvedProgram
from cepheid.simulation.factories import TimeRange, Words
from cepheid.simulation.runs import (
    InProcess,
    OnSpark,
    Processes,
    RunPlacement,
    SimulationJob,
    waves,
)
from cepheid.simulation.scenario import Scenario, period_of
from cepheid.simulation.statistics import Summary, summary
from cepheid.simulation.traces import Trace

Until: TypeAlias = str | int | float | Period | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where runs are done: in this process, in so many others, or on Spark."""

    engine: str = "local"
    workers: int = 1
    partitions: int | None = None

    def open(self, job: SimulationJob) -> AbstractContextManager[RunPlacement]:
        if self.engine == "spark":
            return nullcontext(OnSpark(job, self.partitions))
        return nullcontext(InProcess(job)) if self.workers == 1 else Processes(job, self.workers)


@dataclass(frozen=True)
class Simulation:
    """How often events of each type happened in each run; those of the scenario come first."""

    job: SimulationJob
    counts: Words  # a line for each run, a column for each type
    confidence: float

    @property
    def program(self) -> ResolvedProgram:
        return self.job.program

    @property
    def runs(self) -> int:
        return len(self.counts)

    @property
    def seed(self) -> int:
        return self.job.seed

    @cached_property
    def types(self) -> tuple[str, ...]:
        return types_of(self.job)

    @cached_property
    def events(self) -> dict[str, Summary]:
        return {
            name: summary(self.counts[:, place], self.confidence)
            for place, name in enumerate(self.types)
        }

    @cached_property
    def ratios(self) -> dict[str, float]:
        """Of each derived type, its events beside all events of the scenario, over all runs."""
        made = int(self.counts[:, : len(self.job.scenario.types)].sum())
        totals = self.counts.sum(axis=0)
        simple = self.job.scenario.types
        return {
            name: int(total) / made if made else 0.0
            for name, total in zip(self.types, totals, strict=True)
            if name not in simple
        }

    def run(self, number: int) -> Trace:
        """A single run, from 0: what happened in it, to be kept or to be run again."""
        expect_run(number, self.runs)
        return trace_of(self.job, number)

    def derived(self, number: int) -> list[Event]:
        """What the program derives in a single run."""
        return self.run(number).rows(self.program)

    def to_json(self) -> dict[str, object]:
        events = {name: found.to_json() for name, found in self.events.items()}
        return {"runs": self.runs, "seed": self.seed, "events": events, "ratios": self.ratios}

    def to_csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(
            ["Event", "Min", "Max", "Median", "Mean", "Std.Dev", "Low", "High", "Ratio"]
        )
        for name, s in self.events.items():
            numbers = (s.min, s.max, s.median, s.mean, s.sd, s.ci.low, s.ci.high)
            ratio = self.ratios.get(name)
            shown = "" if ratio is None else f"{ratio:.6g}"
            writer.writerow([name, *(f"{number:.6g}" for number in numbers), shown])
        return text.getvalue()

    def _repr_html_(self) -> str:
        head, *rows = csv.reader(io.StringIO(self.to_csv()))
        title = f"{self.runs:,} runs, seed {self.seed}; {100 * self.confidence:g} percent intervals"
        return table(title, head, rows)

    def __repr__(self) -> str:
        means = ", ".join(f"{s.mean:.4g} {name}" for name, s in self.events.items())
        return f"<Simulation: {self.runs} runs, on average {means}>"


def expect_run(number: int, runs: int) -> None:
    """UsageError where there is no such run."""
    if not 0 <= number < runs:
        fact, hint = f"there is no run {number}", f"runs have the numbers 0 to {runs - 1}"
        raise UsageError(error("usage", fact, hint=hint))


def types_of(job: SimulationJob) -> tuple[str, ...]:
    derived = (statement.target for statement in job.program.statements)
    return tuple(dict.fromkeys((*job.scenario.types, *derived)))


def by_type(lines: Words, job: SimulationJob) -> Words:
    """Counts of statements as those of the types that they derive."""
    types = types_of(job)
    names = (*job.scenario.types, *(statement.target for statement in job.program.statements))
    joined = np.zeros((len(lines), len(types)), dtype=np.int64)
    for column, name in enumerate(names):
        joined[:, types.index(name)] += lines[:, column]
    return joined


def trace_of(job: SimulationJob, number: int) -> Trace:
    run = job.run(number)
    return Trace(tuple(run.events()), start=job.span.start, end=run.end)


def simulate(
    program: ResolvedProgram,
    scenario: Scenario,
    *,
    runs: int,
    until: Until,
    events: int | None,
    seed: int,
    confidence: float,
    where: Where,
    progress: Progress = no_progress,
) -> Simulation:
    job = job_of(program, scenario, until=until, events=events, seed=seed)
    lines = take_all(job, where, runs, progress)
    return Simulation(job, by_type(lines, job), confidence)


def take_all(
    job: SimulationJob,
    where: Where,
    runs: int,
    progress: Progress = no_progress,
    is_enough: Callable[[Words], bool] | None = None,
) -> Words:
    """The counts of runs, all of them or until they are enough."""
    job.check()  # what is wrong is said here, not by a worker
    found: list[Words] = []
    done = 0
    with where.open(job) as spread:
        for lines in waves(spread, runs):
            found.append(lines)
            done += len(lines)
            progress(done, runs)
            if is_enough is not None and is_enough(np.concatenate(found)):
                break
    return np.concatenate(found)


def job_of(
    program: ResolvedProgram,
    scenario: Scenario,
    *,
    until: Until,
    events: int | None,
    seed: int,
) -> SimulationJob:
    """A job for a program; ProgramError where it cannot run."""
    program = with_schemas(runnable(program))
    # Jobs travel to other processes, where a plain dictionary arrives.
    program = replace(program, types=dict(program.types), given=dict(program.given))
    return SimulationJob(program, scenario, _span(scenario, until, events), seed)


def _span(scenario: Scenario, until: Until, events: int | None) -> TimeRange:
    try:
        period = scenario.until if until is None else period_of(until)
        end = None if period is None else clock_after(scenario.start, period)
    except ValueError as problem:
        raise UsageError(error("usage", str(problem))) from None
    has_end = events is not None or all(f.max_events is not None for f in scenario.factories)
    if end is None and not has_end:
        fact, hint = "nothing says when a run ends", "give a time, such as until='1 day'"
        raise UsageError(error("usage", fact, hint=hint))
    return TimeRange(scenario.start, end, events)
