"""A program over bounded input, to be stepped through."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from cepheid.core.time import TimeUnit
from cepheid.debugging.debugger import Debugger
from cepheid.engines.common.clock import Time, instant_of
from cepheid.engines.common.judging import Extra, rules_for
from cepheid.engines.common.notes import emit
from cepheid.engines.common.progress import Progress, no_progress
from cepheid.engines.common.request import RunRequest
from cepheid.engines.common.runners import Reference
from cepheid.engines.registry import Offer, engine_named
from cepheid.errors import UsageError, error
from cepheid.io.source import placement
from cepheid.verbs.arguments import MAKE_ONE, expect
from cepheid.verbs.program import Program


def debug(
    program: Program,
    *events: object,
    type: str | None = None,
    time: str | None = None,
    unit: TimeUnit | None = None,
    sequence: str | None = None,
    columns: Mapping[str, str] | None = None,
    zone: str | None = None,
    optional: Collection[str] = (),
    extra: Extra = "ignore",
    start: Time | None = None,
    end: Time | None = None,
    engine: str = "reference",
    timed_out: bool = False,
    why: bool = False,
    progress: Progress = no_progress,
) -> Debugger:
    """A run to be stepped through, forward and back, looked at anywhere, and tried with other events.

    What it takes is what `run` takes. The engine is `reference`, or `automaton`, which shows complex events
    as tokens on their automata.
    """
    expect(program, Program, "a program", MAKE_ONE)
    chosen = engine_named(engine, Offer.INSPECT)
    if program.tree.classes:
        fact = "classes go in rounds, which have no steps"
        hint = "`cepheid replay` goes through a history, forward and back"
        raise UsageError(error("usage", fact, hint=hint))
    request = RunRequest(
        program=program.resolve(),
        sources=events,
        placement=placement(type, time, unit, sequence, columns, zone),
        rules=rules_for(program.resolve(), optional, extra),
        start=None if start is None else instant_of(start, "start"),
        end=None if end is None else instant_of(end, "end"),
        progress=progress,
    )
    with program.sources_told():
        intake = request.take_in()
        runner = chosen.open_runner(intake.program, timed_out=timed_out, why=why)
    assert isinstance(runner, Reference)  # what offers to be looked at
    emit(intake.notes)
    return Debugger(runner, intake, extra)
