"""The compiled matcher in this process, and the reference semantics for what that leaves to it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from cepheid.engines.common.clock import ends_at, starts_at
from cepheid.engines.common.gaps import no_gaps
from cepheid.engines.common.intake import are_small
from cepheid.engines.common.judging import only_input
from cepheid.engines.common.request import Outcome, RunRequest
from cepheid.engines.common.runners import Reference, Runner, run_through
from cepheid.engines.local.parts_runner import PartsRunner
from cepheid.errors import LateEvent
from cepheid.io.sources import tables_of
from cepheid.matcher.gaps import left_to_reference
from cepheid.matcher.parts import parts_of_pushes
from cepheid.program.resolved import ResolvedProgram

# What the matcher has not (`matcher.gaps`), the reference semantics does.
gaps = no_gaps


def open_runner(program: ResolvedProgram, *, timed_out: bool = False, why: bool = False) -> Runner:
    """The compiled matcher wherever it can do all that is asked for.

    Timed-out partial matches and the causes of rows are known to the reference semantics alone.
    """
    if timed_out or why:
        return Reference(program, timed_out=timed_out, why=why)
    if parts := parts_of_pushes(program):
        return PartsRunner(program, [open_runner(part) for part in parts])
    if left_to_reference(program):
        return Reference(program)
    from cepheid.engines.local.runner import LocalRunner

    return LocalRunner(program)


def run(request: RunRequest) -> Outcome:
    """By columns where that is possible, else by records."""
    is_plain = not (request.timed_out or request.why or request.placement.zone)
    outcome = _in_columns(request) if is_plain else None
    return run_through(open_runner, request) if outcome is None else outcome


def _in_columns(request: RunRequest) -> Outcome | None:
    """The same from columns to columns, without an object per event.

    None where it takes records: for sources that have no columns, programs that the matcher leaves to
    the reference semantics, and whatever there is to say about a single event.
    """
    tables = tables_of(request.sources, request.placement, only_input(request.program))
    if not tables or are_small(tables):
        return None
    from cepheid.engines.local import columns

    intake = columns.take_in_columns(
        request.program, tables, request.rules, request.progress, request.provided
    )
    if intake is None:
        return None
    try:
        first = starts_at(intake.first, request.start)
        intake = replace(intake, first=first, last=ends_at(intake.last, request.end))
    except LateEvent:
        return None
    return Outcome(
        program=intake.program,
        rows=columns.run_columns(intake, request.progress),
        taken=intake.events.num_rows,
        moved=intake.moved,
        notes=intake.notes,
        reached=partial(columns.steps_reached, intake),
    )
