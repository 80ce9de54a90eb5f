"""Properties over many runs: how probable it is that one is broken, and a trace that breaks it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cepheid.core.html import element, table, together
from cepheid.core.time import format_instant
from cepheid.engines.common.progress import Progress, no_progress
from cepheid.program.resolved import ResolvedProgram
from cepheid.simulation.factories import Words
from cepheid.simulation.properties import Property, property_of
from cepheid.simulation.runs import SimulationJob
from cepheid.simulation.scenario import Scenario
from cepheid.simulation.simulate import Until, Where, job_of, take_all, trace_of
from cepheid.simulation.statistics import (
    Difference,
    Finding,
    Interval,
    Method,
    SamplePlan,
    SequentialTest,
    difference,
    proportion,
)
from cepheid.simulation.traces import Trace, smallest

Truths: TypeAlias = npt.NDArray[np.bool_]  # one for each run
_HOLDS = {Finding.KEPT: True, Finding.EXCEEDED: False, Finding.CLOSE: None}


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Verdict:
    """What the runs say of a property.

    `estimate` is the share of runs in which its pattern matched, of an invariant its negation. With a
    bound, `holds` says whether the property is broken in at most that share of all runs, None where
    the runs leave it open; else whether no run broke it. `is_close`: a sequential test has found that
    the share is within the precision of the bound, and gives no verdict.
    """

    name: str
    kind: str
    hits: int
    runs: int
    interval: Interval
    confidence: float
    method: Method
    bound: float
    holds: bool | None
    plan: SamplePlan
    is_sequential: bool
    trace: Trace | None
    is_close: bool = False
    against: Verdict | None = None
    difference: Difference | None = None

    @property
    def estimate(self) -> float:
        return self.hits / self.runs

    @property
    def word(self) -> str:
        """The verdict in a word."""
        if self.holds is not None:
            return "holds" if self.holds else "broken"
        return "within-precision" if self.is_close else "open"

    def __repr__(self) -> str:
        from cepheid.simulation.wording import answer

        return f"<Verdict: {answer(self)}>"

    def _repr_html_(self) -> str:
        """The answer, how sure it is, and the events of a run that breaks the property."""
        from cepheid.simulation.wording import answer, reasons

        parts = [element("p", element("b", answer(self)))]
        parts += [element("p", reason) for reason in reasons(self, is_planned=False)]
        if self.trace is not None:
            events = ((e.type, format_instant(e.instant), e.values_) for e in self.trace.events)
            parts.append(table("a run that breaks it", ("type", "time", "attributes"), events))
        return together(parts)

    def to_json(self) -> dict[str, object]:
        found: dict[str, object] = {
            "property": self.name,
            "kind": self.kind,
            "estimate": self.estimate,
            "low": self.interval.low,
            "high": self.interval.high,
            "runs": self.runs,
            "bound": self.bound,
            "precision": self.plan.precision,
            "sequential": self.is_sequential,
            "verdict": self.word,
            "holds": self.holds,
            "trace": None if self.trace is None else self.trace.records(),
            "left_out": None if self.trace is None else self.trace.left_out,
        }
        if self.against is not None and self.difference is not None:
            gap = self.difference
            found["against"] = self.against.to_json()
            found["difference"] = {
                "estimate": gap.estimate,
                "low": gap.low,
                "high": gap.high,
                "p_value": gap.p_value,
            }
        return found


def verify(
    program: ResolvedProgram,
    scenario: Scenario,
    property: str | None,
    *,
    plan: SamplePlan,
    runs: int | None,
    until: Until,
    events: int | None,
    seed: int,
    bound: float,
    is_sequential: bool,
    method: Method,
    against: Scenario | None,
    where: Where,
    progress: Progress = no_progress,
) -> Verdict:
    wanted = property_of(program, property)
    test = (
        SequentialTest(bound, plan.precision, plan.confidence) if bound and is_sequential else None
    )
    planned = plan.runs if test is None else test.most_runs
    most = planned if runs is None else runs
    inquiry = _Inquiry(wanted, plan, most, bound, is_sequential, test, method, where, progress)
    needed = wanted.needed()
    job, *others = [
        job_of(needed, s, until=until, events=events, seed=seed)
        for s in (scenario, against)
        if s is not None
    ]
    for each in (job, *others):
        each.check()  # both are right before either is run
    found = inquiry.verdict(job)
    if not others:
        return found
    other = inquiry.verdict(others[0])
    gap = difference((found.hits, found.runs), (other.hits, other.runs), plan.confidence)
    return replace(found, against=other, difference=gap)


@dataclass(frozen=True, slots=True)
class _Inquiry:
    """How a property is looked into."""

    property: Property
    plan: SamplePlan
    runs: int
    bound: float
    is_sequential: bool
    test: SequentialTest | None  # of a sequential inquiry with a bound
    method: Method
    where: Where
    progress: Progress

    def verdict(self, job: SimulationJob) -> Verdict:
        names = [statement.name for statement in job.program.statements]
        column = len(job.scenario.types) + names.index(self.property.statement)

        def is_enough(lines: Words) -> bool:
            return self._decided(lines[:, column] > 0) is not None

        lines = take_all(job, self.where, self.runs, self.progress, is_enough)
        matched = lines[:, column] > 0
        decided = self._decided(matched)
        if decided is not None:
            matched = matched[: decided[1]]
        hits, runs, confidence = int(matched.sum()), len(matched), self.plan.confidence
        interval = proportion(hits, runs, confidence, self.method)
        return Verdict(
            name=self.property.name,
            kind=self.property.kind,
            hits=hits,
            runs=runs,
            interval=interval,
            confidence=confidence,
            method=self.method,
            bound=self.bound,
            holds=self._holds(matched, interval) if decided is None else _HOLDS[decided[0]],
            is_close=decided is not None and decided[0] is Finding.CLOSE,
            plan=self.plan,
            is_sequential=self.is_sequential,
            trace=self._trace(job, self._broken(matched)),
        )

    def _broken(self, matched: Truths) -> Truths:
        return matched if self.property.is_broken_by_rows else ~matched

    def _holds(self, matched: Truths, interval: Interval) -> bool | None:
        broken = self._broken(matched)
        if not self.bound:
            return not broken.any()
        if self.test is not None:  # an interval that is looked at again and again promises nothing
            return None
        low, high = interval.low, interval.high
        if not self.property.is_broken_by_rows:
            low, high = 1 - high, 1 - low
        return True if high <= self.bound else False if low > self.bound else None

    def _decided(self, matched: Truths) -> tuple[Finding, int] | None:
        """What a sequential inquiry has found, and how many runs it took; None: nothing yet."""
        if not self.is_sequential:
            return None
        broken = self._broken(matched)
        if self.test is None:  # one counterexample is enough
            found = np.flatnonzero(broken)
            return (Finding.EXCEEDED, int(found[0]) + 1) if len(found) else None
        finding, runs = self.test.decide(broken)
        return None if finding is None else (finding, runs)

    def _trace(self, job: SimulationJob, broken: Truths) -> Trace | None:
        """The first run that broke the property, made small; what did not happen stays whole."""
        found = np.flatnonzero(broken)
        if not len(found):
            return None
        trace = trace_of(job, int(found[0]))
        if not self.property.is_broken_by_rows:
            return trace
        return smallest(trace, job.program, self.property.statement)
