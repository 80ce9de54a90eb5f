"""A pipeline at work: program after program, all of them in the same rounds.

What a program reads of another one has its versions and retractions, and counts in the round in which
the other one learnt it. That is what they would do side by side, in step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from cepheid.actions import Action, RowActions, key_of
from cepheid.bitemporal.detections import History
from cepheid.bitemporal.running import Course, read_history, run_history
from cepheid.core.event import Event
from cepheid.engines.common.intake import OnProblem
from cepheid.engines.common.progress import Progress, no_progress
from cepheid.engines.registry import DEFAULT
from cepheid.errors import Diagnostic
from cepheid.io import Record, fail, records_of
from cepheid.pipelines.model import Pipeline, Read, Source, Stage
from cepheid.program.classes import SubscribedClass
from cepheid.result import Result
from cepheid.verbs.rounds import RoundsResult
from cepheid.verbs.running import run as run_statements


@dataclass(slots=True)
class PipelineResult:
    """What each program gave, in the order in which they ran."""

    pipeline: Pipeline
    results: dict[str, Result] = field(default_factory=dict)
    skipped: list[Diagnostic] = field(default_factory=list)

    def __getitem__(self, program: str) -> Result:
        return self.results[program]

    def rows(self) -> Iterator[tuple[str, Event]]:
        """The rows of all programs with their names, in the order of time."""
        rows = [(name, row) for name, result in self.results.items() for row in result]
        return iter(sorted(rows, key=lambda each: each[1].instant))

    def actions(self) -> Iterator[Action]:
        """What is to be done. Keys begin with the program: two of them may have a class in common."""
        stages = self.pipeline.stages
        made = {name: RowActions(stages[name].program) for name in self.results}
        for name, row in self.rows():
            for action in made[name].of(row):
                yield replace(action, key=f"{key_of(name)}/{action.key}")


def run(
    pipeline: Pipeline,
    *,
    engine: str = DEFAULT,
    on_error: Literal["fail", "skip"] = "fail",
    progress: Progress = no_progress,
) -> PipelineResult:
    """Runs all programs, each after those that it reads."""
    found = PipelineResult(pipeline)
    on_problem = found.skipped.append if on_error == "skip" else fail
    histories = {
        stage.name: _history(
            stage, _from_sources(stage, pipeline, on_problem), on_problem, progress
        )
        for stage in pipeline.stages.values()
        if stage.classes
    }
    course = pipeline.course and _common(pipeline.course, histories.values())
    for stage in pipeline.in_order():
        told = [_told(read, stage, found.results) for read in stage.reads if read.name is not None]
        if stage.classes:
            assert course is not None
            history = histories.pop(stage.name)
            _add(history, _history(stage, chain.from_iterable(told), on_problem))
            ran = run_history(stage.program.resolve(), history, course, engine)
            found.results[stage.name] = RoundsResult(ran, ())
        else:
            sources = _from_sources(stage, pipeline, on_problem)
            found.results[stage.name] = run_statements(
                stage.program, sources, *told, engine=engine, on_error=on_error, progress=progress
            )
    return found


def _common(course: Course, histories: Iterable[History]) -> Course:
    """From the first to the last time of all programs, so that none is behind the others."""
    spans = [(h.first, h.last) for h in histories if h.first is not None and h.last is not None]
    if not spans:
        return course
    first, last = min(first for first, _ in spans), max(last for _, last in spans)
    return replace(
        course,
        start=first if course.start is None else course.start,
        end=last if course.end is None else course.end,
    )


def _history(
    stage: Stage,
    records: Iterable[object],
    on_problem: OnProblem,
    progress: Progress = no_progress,
) -> History:
    return read_history(stage.program.resolve(), [records], on_problem, progress)


def _add(history: History, told: History) -> None:
    """What another program told, after what sources did."""
    first = len(history.detections)
    history.add(replace(d, sequence=first + d.sequence) for d in told.detections)
    history.others += told.others


def _from_sources(stage: Stage, pipeline: Pipeline, on_problem: OnProblem) -> Iterator[Record]:
    for read in stage.reads:
        if read.name is None:
            yield from _records(pipeline.sources[read.giver], stage, on_problem)


def _records(source: Source, stage: Stage, on_problem: OnProblem) -> Iterator[Record]:
    """Of a source with classes, those that the program takes; a time alone is for everybody."""
    wanted = {None, *(name for name in source.classes if name in stage.takes)}
    for record in records_of(source.files, on_problem=on_problem):
        if not source.classes or record.type in wanted:
            yield record


def _told(read: Read, stage: Stage, results: Mapping[str, Result]) -> Sequence[object]:
    """What a program gave: to a class its history, to statements what became known, and when."""
    assert read.name is not None
    result = results[read.giver]
    is_class = isinstance(stage.classes.get(read.name), SubscribedClass)
    if is_class and isinstance(result, RoundsResult) and read.name in result.classes:
        return result.history(read.name)
    return result.of(read.name)
