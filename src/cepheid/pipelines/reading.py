"""Pipelines from files.

chronon = "1m"

[sources.airport]
events = "arrivals.jsonl"
class = "FlightArrival"

[programs.connections]
files = ["connections.bicepl"]
reads = ["airport"]

[executors.cancelMeeting]
kind = "log"
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from cepheid.bitemporal.running import Course
from cepheid.core.values import shown
from cepheid.errors import (
    CepheidError,
    Diagnostic,
    InputError,
    Severity,
    Span,
    UsageError,
    error,
    suggest,
)
from cepheid.io.toml import Places, read_toml
from cepheid.pipelines.checking import connection_problems, executor_problems, placed
from cepheid.pipelines.model import Pipeline, Read, Source, Stage
from cepheid.verbs import load as load_program
from cepheid.verbs.rounds import course_of

_ROUNDS = ("chronon", "start", "end", "outages", "window", "after_freeze")
_EXAMPLES = {
    "chronon": 'chronon = "1m" has one every minute',
    "start": "write ISO 8601, such as 2026-01-01T00:09:00Z, or a number of seconds",
    "end": "write ISO 8601, such as 2026-01-01T00:09:00Z, or a number of seconds",
    "outages": "a file with a 'from' and a 'to' a line",
}
_TOP = (*_ROUNDS, "outbox", "sources", "programs", "executors")


def load(file: str | os.PathLike[str]) -> Pipeline:
    """The pipeline of a file; InputError with all that is wrong with it."""
    pipeline, problems = check(file)
    wrong = [problem for problem in problems if problem.severity is Severity.ERROR]
    if pipeline is None or wrong:
        raise InputError(*wrong)
    return pipeline


def check(file: str | os.PathLike[str]) -> tuple[Pipeline | None, Sequence[Diagnostic]]:
    """The same, and what there is to say before it runs; None where it cannot be connected."""
    path = os.fspath(file)
    reader = _Reader(path, read_toml(path, "bad-pipeline"))
    pipeline = reader.pipeline()
    if reader.problems:
        return None, reader.problems
    problems = [
        *connection_problems(pipeline, reader.places),
        *executor_problems(pipeline, reader.places),
    ]
    return pipeline, problems


class _Reader:
    """Reads on after mistakes, so that all of them are found."""

    def __init__(self, file: str, data: Mapping[str, Any]) -> None:
        self.places = Places(file)
        self.problems: list[Diagnostic] = []
        self._file = file
        self._data = data

    def pipeline(self) -> Pipeline:
        self._expect_only((), self._data, _TOP)
        sources = {name: self._source(name, table) for name, table in self._tables("sources")}
        stages = {name: self._stage(name, table) for name, table in self._tables("programs")}
        if not stages and not self.problems:
            self._wrong((), None, "a pipeline has programs", "[programs.NAME] with files = [...]")
        return Pipeline(
            file=self._file,
            sources=sources,
            stages={name: stage for name, stage in stages.items() if stage is not None},
            course=self._course(list(filter(None, stages.values()))),
            executors=self._executors(),
            outbox=self._outbox(),
            outages=self._outages(),
        )

    # -- tables --

    def _tables(self, kind: str) -> list[tuple[str, Mapping[str, Any]]]:
        tables = self._data.get(kind, {})
        if not isinstance(tables, dict):
            self._wrong((), kind, f"'{kind}' are tables: [{kind}.NAME]")
            return []
        found: list[tuple[str, Mapping[str, Any]]] = []
        for name, table in tables.items():
            if isinstance(table, dict):
                found.append((name, table))
            else:
                self._wrong((kind,), name, f"this is a table, [{kind}.{name}], not {shown(table)}")
        return found

    def _source(self, name: str, table: Mapping[str, Any]) -> Source:
        place = ("sources", name)
        self._expect_only(place, table, ("events", "class", "classes"))
        if "class" in table and "classes" in table:
            self._wrong(place, "classes", "'class' and 'classes' say the same")
        classes = self._texts(place, table, "class" if "class" in table else "classes", ())
        files = [self._path(file) for file in self._texts(place, table, "events")]
        return Source(name, files, classes, self.places.table(*place))

    def _stage(self, name: str, table: Mapping[str, Any]) -> Stage | None:
        place = ("programs", name)
        self._expect_only(place, table, ("files", "reads"))
        files = [self._path(file) for file in self._texts(place, table, "files")]
        reads = [self._read(place, text) for text in self._texts(place, table, "reads", ())]
        if not files:
            return None
        try:
            program = load_program(*files)
        except CepheidError as wrong:
            self.problems += placed(wrong, self.places.setting(place, "files"))
            return None
        errors = [p for p in program.resolve().problems if p.severity is Severity.ERROR]
        self.problems += errors
        return None if errors else Stage(name, program, reads, self.places.table(*place))

    def _read(self, place: tuple[str, ...], text: str) -> Read:
        span = self.places.setting(place, "reads", text)
        giver, dot, name = text.partition(".")
        return Read(giver, name if dot else None, span)

    # -- settings --

    def _course(self, stages: Sequence[Stage]) -> Course | None:
        given = {name: self._data[name] for name in _ROUNDS if name in self._data}
        in_rounds = [stage for stage in stages if stage.classes]
        if not given and not in_rounds:
            return None
        if in_rounds and "chronon" not in given:
            fact = f"program '{in_rounds[0].name}' goes in rounds, and nothing says how often"
            self._wrong((), None, fact, _EXAMPLES["chronon"])
        if stages and not in_rounds and not self.problems:
            fact = f"{next(iter(given))}: no program has classes, and so there are no rounds"
            self._wrong((), next(iter(given)), fact, "leave it out")
        good = [self._is_good(name, value) for name, value in given.items()]
        if not all(good) or "chronon" not in given:
            return None
        if "outages" in given:
            given["outages"] = self._outages()
        try:
            return course_of(**given)
        except (
            UsageError
        ) as wrong:  # each setting is good by itself: what is left is when rounds end
            for problem in wrong.diagnostics:
                self._wrong((), "end", problem.message, problem.hint)
            return None

    def _is_good(self, name: str, value: object) -> bool:
        """Whether rounds take a setting, by itself; what they refuse is wrong in this file."""
        is_time = name in ("start", "end")
        kinds = (datetime, int, float) if is_time else ()
        if isinstance(value, bool) or not (
            isinstance(value, kinds) or (isinstance(value, str) and value)
        ):
            fact = f"{name}: this is a {'time' if is_time else 'text'}, not {shown(value)}"
            self._wrong((), name, fact, _EXAMPLES.get(name))
            return False
        given: dict[str, Any] = {"chronon": "1m"}
        given |= {name: self._path(str(value)) if name == "outages" else value}
        try:
            course_of(**given)
        except UsageError as wrong:
            for problem in wrong.diagnostics:
                self._wrong((), name, problem.message, problem.hint or _EXAMPLES.get(name))
        except InputError as wrong:
            for problem in placed(wrong, self.places.setting((), name)):
                hint = problem.hint or _EXAMPLES.get(name)
                self.problems.append(replace(problem, hint=hint))
        else:
            return True
        return False

    def _outages(self) -> str | None:
        given = self._data.get("outages")
        return self._path(given) if isinstance(given, str) else None

    def _executors(self) -> str | None:
        """The file that has them: another one that is named, or this one."""
        given = self._data.get("executors")
        if given is None:
            return None
        if isinstance(given, str) and given:
            return self._path(given)
        if not isinstance(given, dict):
            fact = f"executors: this is a file, or tables [executors.NAME], not {shown(given)}"
            self._wrong((), "executors", fact)
        return self._file

    def _outbox(self) -> str | None:
        given = self._data.get("outbox")
        if given is None:
            return None
        if not isinstance(given, str) or not given:
            self._wrong((), "outbox", f"outbox: this is a folder, not {shown(given)}")
            return None
        return self._path(given)

    def _texts(
        self,
        place: tuple[str, ...],
        table: Mapping[str, Any],
        name: str,
        default: Sequence[str] | None = None,
    ) -> Sequence[str]:
        """A text, or a list of them."""
        given = table.get(name, default)
        if given is None or (given == [] and default is None):
            fact = f"{'.'.join(place)}: '{name}' is missing"
            self._wrong(place, None, fact, f'{name} = ["FILE"]')
            return ()
        texts = [given] if isinstance(given, str) else given
        is_list = isinstance(texts, list | tuple)
        if not is_list or not all(isinstance(text, str) and text for text in texts):
            fact = (
                f"{'.'.join(place)}.{name}: this is a text or a list of texts, not {shown(given)}"
            )
            self._wrong(place, name, fact, f'{name} = ["..."]')
            return ()
        return list(texts)

    def _path(self, path: str) -> str:
        """Files lie beside the pipeline's own, wherever it is called from."""
        return str(Path(self._file).parent / path)

    def _expect_only(
        self, place: tuple[str, ...], table: Mapping[str, Any], known: Sequence[str]
    ) -> None:
        for name in table:
            if name not in known:
                fact = f"{'.'.join((*place, name))}: no such setting"
                self._wrong(place, name, fact, suggest(name, known, "settings"))

    def _wrong(
        self, table: tuple[str, ...], setting: str | None, fact: str, hint: str | None = None
    ) -> None:
        find: Callable[[], Span] = (
            (lambda: self.places.table(*table))
            if setting is None
            else (lambda: self.places.setting(table, setting))
        )
        self.problems.append(error("bad-pipeline", fact, find(), hint))
