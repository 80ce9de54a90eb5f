"""What a report tells: taken from a run, and cut to what a page can hold. How it looks is said in `page`."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cepheid.core.event import Event
from cepheid.core.html import Html
from cepheid.core.time import Instant, TimeUnit
from cepheid.engines.common.clock import Time
from cepheid.engines.common.judging import Extra, rules_for
from cepheid.engines.common.request import RunRequest
from cepheid.errors import CepheidWarning, Diagnostic, UsageError, error
from cepheid.io.source import placement
from cepheid.reports.texts import file_name
from cepheid.result import Result
from cepheid.verbs.program import Program
from cepheid.verbs.running import run


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a page holds; what is left out of it is counted, and said."""

    per_type: int = 100  # matches of a type, the first ones
    matches: int = 1_000  # of all types
    causes: int = 60  # events in the tree of one match
    lanes: int = 60  # types on the timeline
    ticks: int = (
        400  # events of a type that are drawn one by one; of more, how many there are where
    )
    findings: int = 200
    characters: int = 200  # of a value


@dataclass(frozen=True, slots=True)
class Content:
    """A program, its findings, and what it made of events."""

    title: str
    program: Program
    findings: Sequence[Diagnostic]
    sources: tuple[str, ...]  # names of what the events came from
    instants: Mapping[str, Sequence[Instant]]  # of the input, by type
    result: Result
    rows: Mapping[str, Sequence[Event]]  # the first of each type, by type
    limits: Limits

    @property
    def found(self) -> Mapping[str, int]:
        """How many rows there are of each type that the program derives, those without any included."""
        return {**dict.fromkeys(self.result.derived, 0), **self.result.counts()}


def report(
    program: Program,
    *events: object,
    title: str | None = None,
    limits: Limits | None = None,
    type: str | None = None,
    time: str | None = None,
    unit: TimeUnit | None = None,
    columns: Mapping[str, str] | None = None,
    zone: str | None = None,
    optional: Collection[str] = (),
    extra: Extra = "ignore",
    start: Time | None = None,
    end: Time | None = None,
    on_error: Literal["fail", "skip"] = "fail",
) -> Html:
    """A page with what a program finds in events, and why; the options are those of `cep.run`.

    Events are read twice, so they cannot be what is gone once it was read.
    """
    if program.tree.classes:
        fact = "reports are about statements, and this program has classes"
        hint = "`cepheid replay` shows what was known when"
        raise UsageError(error("unsupported", fact, hint=hint))
    limits = limits or Limits()
    skipped: list[Diagnostic] = []
    with warnings.catch_warnings(), program.sources_told():
        warnings.simplefilter("ignore", CepheidWarning)  # they stand on the page
        result = run(
            program,
            *events,
            type=type,
            time=time,
            unit=unit,
            columns=columns,
            zone=zone,
            optional=optional,
            extra=extra,
            start=start,
            end=end,
            on_error=on_error,
            why=True,
        )
        request = RunRequest(
            program=program.resolve(),
            sources=events,
            placement=placement(type, time, unit, None, columns, zone),
            rules=rules_for(program.resolve(), optional, extra),
            on_problem=skipped.append,
        )
        taken = request.take_in().events
    from cepheid.reports.page import page

    return page(
        Content(
            title=title or _title(program),
            program=program,
            findings=program.check(),
            sources=tuple(map(_name, events)),
            instants=_by_type(taken),
            result=result,
            rows=_first(program, result, limits),
            limits=limits,
        )
    )


def _title(program: Program) -> str:
    return ", ".join(map(file_name, program.sources)) or "A program"


def _name(source: object) -> str:
    is_path = isinstance(source, str) or hasattr(source, "__fspath__")
    return file_name(str(source)) if is_path else "data"


def _by_type(events: Sequence[Event]) -> dict[str, list[Instant]]:
    found: dict[str, list[Instant]] = {}
    for event in events:
        found.setdefault(event.type, []).append(event.instant)
    return found


def _first(program: Program, result: Result, limits: Limits) -> dict[str, list[Event]]:
    """The first rows of each type; types that are made of others come first, and have room first."""
    counts: Counter[str] = Counter()
    found: dict[str, list[Event]] = {name: [] for name in _by_level(program, result)}
    for row in result:
        if counts[row.type] < limits.per_type:
            counts[row.type] += 1
            found.setdefault(row.type, []).append(row)
    room = limits.matches
    for rows in found.values():
        del rows[room:]
        room -= len(rows)
    return {name: rows for name, rows in found.items() if rows}


def _by_level(program: Program, result: Result) -> list[str]:
    graph = program.graph()
    levels = {s.target: level for s, level in zip(graph.statements, graph.levels, strict=True)}
    return sorted(result.derived, key=lambda name: -levels.get(name, 0))
