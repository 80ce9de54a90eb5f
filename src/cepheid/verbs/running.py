"""Programs over events: bounded input as a whole, or events one at a time."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from cepheid.core.time import TimeUnit
from cepheid.engines.common.clock import Length, Time, extent_of, instant_of
from cepheid.engines.common.intake import runnable, with_schemas
from cepheid.engines.common.judging import Extra, rules_for
from cepheid.engines.common.notes import emit
from cepheid.engines.common.progress import Progress, no_progress
from cepheid.engines.common.request import Reached, RunRequest
from cepheid.engines.common.session import Session
from cepheid.engines.common.table_names import is_table
from cepheid.engines.registry import DEFAULT, Offer, engine_named
from cepheid.errors import Diagnostic, UsageError, error
from cepheid.io import expand, fail
from cepheid.io.source import placement
from cepheid.pattern.tree import children, walk
from cepheid.program.tree import PatternSource
from cepheid.result import Result, Step
from cepheid.verbs import pipeline
from cepheid.verbs.arguments import MAKE_ONE, choose, expect
from cepheid.verbs.program import Program
from cepheid.verbs.rounds import Outages, course_of, run_in_rounds

LARGE = 100 * 2**20  # bytes of files that are better left to Spark


def run(
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
    engine: str = DEFAULT,
    timed_out: bool = False,
    why: bool = False,
    on_error: Literal["fail", "skip"] = "fail",
    chronon: Length | None = None,
    outages: Outages = (),
    window: str = "buffering",
    after_freeze: str = "refuse",
    progress: Progress = no_progress,
) -> Result:
    """Runs a program over bounded input: paths, dictionaries, Arrow tables, pandas frames.

    The engine `local` is the compiled matcher in this process, and the reference semantics for
    what that leaves to it; `reference` is the reference semantics for everything; `petri` fires the
    program's Petri net, as far as it has one; `maude` lets the real Maude rewrite its specification;
    `spark` is the running Spark session or a new one, which takes 'table:NAME', too.
    Columns (or keys) that have other names are named by `type`, `time` (whose numbers count a `unit`),
    `sequence` (which orders events of one time) and `columns` (`{"card_no": "card"}`), for all
    sources but those that say it themselves (`cep.source`). Times that name no zone are UTC, or of
    `zone` ('Europe/Berlin'). An attribute that the program uses and no
    event has is an error unless it is `optional`; a column that no schema has is ignored, with a
    note in `result.notes`, or with `extra="error"` refused.
    The clock starts at `start`, else at the smallest time of the input, and ends at `end`, else at its
    largest. `timed_out` adds a row for every partial match that `timer:within` ends; `why` keeps the events
    behind each row, down to the input; `on_error="skip"` leaves out what cannot be read and lists it in `result.skipped`.
    `progress` hears how many events are done, and of how many; None while they are read.

    Programs with classes go in rounds, one each `chronon` ('1m') from `start` to `end` but for
    `outages`, pairs of times or a file of them; the result has actions (`RoundsResult`). `window` is
    'buffering', or 'sliding' where events are forgotten when their life spans are over;
    `after_freeze="take"` lets frozen events change.
    """
    expect(program, Program, "a program", MAKE_ONE)
    choose(on_error, ("fail", "skip"), "on_error")
    place = placement(type, time, unit, sequence, columns, zone)
    rules = rules_for(program.resolve(), optional, extra)
    if program.tree.classes:
        for option, is_wanted in (("why", why), ("timed_out", timed_out)):
            if is_wanted:
                fact = f"rounds have no {option}"
                raise UsageError(error("usage", fact, hint="actions name their cause"))
        course = course_of(
            chronon=chronon,
            start=start,
            end=end,
            outages=outages,
            window=window,
            after_freeze=after_freeze,
        )
        return run_in_rounds(
            program,
            events,
            course,
            engine=engine,
            on_error=on_error,
            progress=progress,
            placement=place,
            rules=rules,
        )
    if chronon is not None:
        fact = "the program has no classes, and so no rounds"
        raise UsageError(error("usage", fact, hint="leave out chronon"))
    chosen = engine_named(engine)
    for offer, is_wanted in ((Offer.WHY, why), (Offer.TIMED_OUT, timed_out)):
        if is_wanted:
            chosen.require(offer)
    skipped: list[Diagnostic] = []
    first, last = extent_of(start, end)
    request = RunRequest(
        program=program.resolve(),
        sources=events,
        placement=place,
        rules=rules,
        start=first,
        end=last,
        timed_out=timed_out,
        why=why,
        on_problem=skipped.append if on_error == "skip" else fail,
        progress=progress,
    )
    with program.sources_told():
        outcome = pipeline.run(chosen, request)
    emit(outcome.notes)
    return Result(
        outcome.rows,
        outcome.program.types,
        derived=list(dict.fromkeys(s.target for s in outcome.program.statements)),
        taken=outcome.taken,
        moved=outcome.moved,
        skipped=skipped,
        notes=outcome.notes,
        steps=lambda: steps_of(program, outcome.reached()),
    )


def engine_for(paths: Sequence[str]) -> str:
    """What suits an input: Spark for tables and large files, else this process."""
    if any(map(is_table, paths)):
        return "spark"
    sizes = (os.path.getsize(file) for file in expand(paths) if os.path.isfile(file))
    return "spark" if sum(sizes) > LARGE else "local"


def open(
    program: Program,
    *,
    start: Time | None = None,
    state: bytes | None = None,
    engine: str = DEFAULT,
    timed_out: bool = False,
    why: bool = False,
    extra: Extra = "ignore",
) -> Session:
    """Opens a program for events one at a time; `state` goes on from what a session saved.

    An attribute that no schema has is ignored, with a note, or with `extra="error"` refused.
    """
    expect(program, Program, "a program", MAKE_ONE)
    chosen = engine_named(engine, Offer.SESSION)
    expect(state, bytes | None, "a saved state, which is bytes,")
    if state is not None and start is not None:
        fact = "a saved state has a clock of its own"
        raise UsageError(error("usage", fact, hint="leave out start"))
    begin = None if start is None else instant_of(start, "start")
    with program.sources_told():
        resolved = with_schemas(runnable(program.resolve()))
    rules = rules_for(resolved, extra=extra)
    runner = chosen.open_runner(resolved, timed_out=timed_out, why=why)
    return Session(runner, begin, state, rules.extra)


def steps_of(program: Program, reached: Reached) -> list[Step]:
    """How often each event and timer of each pattern was reached, in the order of the text."""
    steps = []
    for statement in program.resolve().statements:
        source, counts = statement.tree.source, reached.get(statement.name)
        if isinstance(source, PatternSource) and counts is not None:
            language = program.language_at(statement.tree.span)
            leaves = (part for part in walk(source.pattern) if not any(children(part)))
            for leaf, count in zip(leaves, counts, strict=True):
                steps.append(Step(statement.name, language.print_pattern(leaf), count))
    return steps
