"""A pipeline at work: program after program, all of them in the same rounds.

What a program reads of another one has its versions and retractions, and counts in the round in which
the other one learnt it. That is what they would do side by side, in step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from cepheid.actions import Action, RowActions, key_of
from cepheid.bitemporal import mixed
from cepheid.bitemporal.detections import History
from cepheid.bitemporal.rows import shown
from cepheid.bitemporal.running import Course, read_history, run_history, tell_classes
from cepheid.core.event import Event
from cepheid.core.time import format_instant
from cepheid.engines.common.intake import OnProblem
from cepheid.engines.common.progress import Progress, no_progress
from cepheid.engines.registry import DEFAULT
from cepheid.errors import Diagnostic
from cepheid.io import Record, fail, records_of
from cepheid.pipelines.model import Pipeline, Read, Source, Stage
from cepheid.program.classes import AnyClass
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
    return _Run(pipeline, engine, on_error, progress).result()


class _Run:
    """First come statements that wait for no rounds, as rounds begin with what those tell classes."""

    def __init__(
        self,
        pipeline: Pipeline,
        engine: str,
        on_error: Literal["fail", "skip"],
        progress: Progress,
    ) -> None:
        self._pipeline = pipeline
        self._engine = engine
        self._on_error = on_error
        self._progress = progress
        self._found = PipelineResult(pipeline)
        self._on_problem: OnProblem = self._found.skipped.append if on_error == "skip" else fail
        self._records: dict[str, list[Record]] = {}  # for statements alone
        self._histories: dict[str, History] = {}
        self._unheard: dict[str, list[Read]] = {}  # of programs that have not run yet

    def result(self) -> PipelineResult:
        stages = list(self._pipeline.in_order())
        for stage in stages:
            self._begin(stage)
        course = self._pipeline.course and _common(self._pipeline.course, self._histories.values())
        for stage in stages:
            if stage.name not in self._found.results:
                self._end(stage, course)
        self._found.results = {stage.name: self._found[stage.name] for stage in stages}
        return self._found

    def _begin(self, stage: Stage) -> None:
        """What can be done before all rounds."""
        records = _from_sources(stage, self._pipeline, self._on_problem)
        others = [read for read in stage.reads if read.name is not None]
        self._unheard[stage.name] = [r for r in others if r.giver not in self._found.results]
        if stage.classes:
            history = self._history(stage, records, self._on_problem)
            self._histories[stage.name] = history
            self._hear(stage, [read for read in others if read.giver in self._found.results])
            if not self._waits(stage):
                tell_classes(stage.program.resolve(), history, self._engine)
            return
        self._records[stage.name] = list(records)
        self._histories[stage.name] = self._history(stage, self._records[stage.name], _ignore)
        if not self._unheard[stage.name]:
            self._run_statements(stage, None)

    def _end(self, stage: Stage, course: Course | None) -> None:
        assert course is not None  # what is left has classes, or reads some
        if not stage.classes:
            self._run_statements(stage, course)
            return
        program, history = stage.program.resolve(), self._histories[stage.name]
        self._hear(stage, self._unheard[stage.name])
        if self._waits(stage):
            tell_classes(program, history, self._engine)
        ran = run_history(program, history, course, self._engine)
        self._found.results[stage.name] = RoundsResult(ran, ())

    def _waits(self, stage: Stage) -> bool:
        """Whether its statements take what others derive in rounds."""
        return any(read.name not in stage.classes for read in self._unheard[stage.name])

    def _run_statements(self, stage: Stage, course: Course | None) -> None:
        told = self._told([read for read in stage.reads if read.name is not None], stage)
        last = course.end if course is not None else None
        end = [] if last is None else [{"@time": format_instant(last)}]
        self._found.results[stage.name] = run_statements(
            stage.program,
            self._records.pop(stage.name),
            told,
            end,
            engine=self._engine,
            on_error=self._on_error,
            progress=self._progress,
        )

    def _hear(self, stage: Stage, reads: Iterable[Read]) -> None:
        """Adds what other programs told, after what sources did."""
        history = self._histories[stage.name]
        told = self._history(stage, self._told(reads, stage), self._on_problem)
        first = history.following
        history.add(d._replace(sequence=first + d.sequence) for d in told.detections)
        history.others += told.others

    def _history(self, stage: Stage, records: Iterable[object], on_problem: OnProblem) -> History:
        return read_history(stage.program.resolve(), [records], on_problem, self._progress)

    def _told(self, reads: Iterable[Read], stage: Stage) -> list[object]:
        """What programs gave, of each in its order."""
        names: dict[str, set[str]] = {}
        for read in reads:
            assert read.name is not None
            names.setdefault(read.giver, set()).add(read.name)
        return [
            each for giver, own in names.items() for each in _told(self._found[giver], own, stage)
        ]


def _told(result: Result, names: set[str], stage: Stage) -> Iterator[object]:
    """What one gave: to a class its history, to statements what became known, and when."""
    classes: Collection[str] = ()
    if isinstance(result, RoundsResult):
        classes = result.classes.keys()
        told = [name for name in result.classes if name in names and name in stage.classes]
        if told:
            yield from result.history(*told)
        for event in mixed.stream_of(result.outcome, result.classes):
            if event.type in names and event.type not in stage.classes:
                yield event
    for row in result:
        if row.type in names and row.type not in classes and not (row.is_old or row.is_timeout):
            declared = stage.classes.get(row.type)
            yield row if declared is None else _version(row, declared)


def _version(row: Event, declared: AnyClass) -> dict[str, object]:
    """A row as a version of an event of a class, whose times statements have in milliseconds."""
    values = {a.name: (mixed.taken(row.get(a.name), a.type), a.type) for a in declared.attributes}
    return {
        "@type": declared.name,
        "@time": format_instant(row.instant),
        **{name: shown(value, type) for name, (value, type) in values.items()},
    }


def _ignore(problem: Diagnostic) -> None:
    """It is told when statements run."""


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


def _from_sources(stage: Stage, pipeline: Pipeline, on_problem: OnProblem) -> Iterator[Record]:
    for read in stage.reads:
        if read.name is None:
            yield from _records(pipeline.sources[read.giver], stage, on_problem)


def _records(source: Source, stage: Stage, on_problem: OnProblem) -> Iterator[Record]:
    """Of a source with classes, those that the program takes; a time alone is for everybody."""
    wanted = {None, *(name for name in source.classes if name in stage.takes)}
    for record in records_of(source.paths(), on_problem=on_problem):
        if not source.classes or record.type in wanted:
            yield record
