"""Statements over DataFrames, in a batch or in a stream: what `cep.spark.detect` does with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cepheid.core.time import Instant, Period
from cepheid.engines.common.intake import runnable
from cepheid.engines.common.judging import STRICT, Rules
from cepheid.engines.common.notes import emit
from cepheid.engines.spark.batch.file_scan import Files
from cepheid.engines.spark.batch.query import batch_and_rejects, batch_rows
from cepheid.engines.spark.codec.event_frames import (
    EventFrame,
    Frames,
    judged,
    named,
    sources_of,
    with_types_of,
)
from cepheid.engines.spark.codec.event_layout import SEQUENCE
from cepheid.engines.spark.codec.input_columns import Options
from cepheid.engines.spark.codec.rejects import LATE_KIND, REJECT_KIND, rejected
from cepheid.engines.spark.plan.plan import plan_of
from cepheid.engines.spark.plan.request import SparkRequest, check_periods, watermark_policy
from cepheid.engines.spark.plan.run_warnings import warnings_on
from cepheid.engines.spark.session.spark_session import session as _session
from cepheid.engines.spark.session.workers import check_other_machines
from cepheid.engines.spark.stream.query import stream_everything, stream_late, stream_rows
from cepheid.errors import UsageError, error, suggest
from cepheid.io.source import NOWHERE, Placement
from cepheid.matcher.operator import CAUSES
from cepheid.program.graph import part_behind
from cepheid.program.resolved import ResolvedProgram

LATE, REJECTS = "@late", "@rejects"  # what `output` may ask for beside derived types


def detect(
    program: ResolvedProgram,
    events: Frames | Files,
    *,
    output: str | None = None,
    placement: Placement = NOWHERE,
    rules: Rules = STRICT,
    start: Instant | None = None,
    end: Instant | None = None,
    watermark: str | Period | None = None,
    grace: str | Period | None = None,
    idle: str | Period | None = None,
    timed_out: bool = False,
    why: bool = False,
    late: bool = False,
    rejects: bool = False,
) -> DataFrame:
    """The statements of a program over frames, or `files`; `verbs.detection` says what all this is."""
    periods = check_periods(watermark=watermark, grace=grace, idle=idle)
    if output not in (None, LATE, REJECTS):
        needed_for(output, program)
    elif output is not None and (late or rejects):
        fact = f"output='{output}' shows nothing else"
        raise UsageError(error("usage", fact, hint="leave out late= and rejects="))
    sources, sequence = _sources(events, program, placement)
    is_stream = _is_stream(sources)
    if is_stream and end is not None:
        raise UsageError(error("usage", "a stream has no end", hint="leave out end="))
    if not is_stream:
        _check_batch(is_late_asked=late or output == LATE, periods=periods)
    program = runnable(with_types_of(program, sources))
    if output not in (None, LATE, REJECTS):
        program = needed_for(output, program)
    session = sources[0].frame.sparkSession
    check_other_machines(session)
    bounds = {} if is_stream else {"start": start, "end": end}
    request = SparkRequest(
        program=program,
        sources=sources,
        options=Options(sequence=sequence, **bounds),
        start=start,
        end=end,
        timed_out=timed_out,
        why=why,
        rejects=rejects,
    )
    notes = judged(program, sources, rules)
    if output == REJECTS:
        emit(notes)
        return rejected(request)
    if is_stream:
        request = replace(request, watermark=watermark_policy(request, periods))
    plan = plan_of(request)
    emit([*notes, *warnings_on(plan)])
    if output == LATE:
        return stream_late(plan)
    if late or rejects:
        rows = stream_everything(plan) if is_stream else batch_and_rejects(plan)
    else:
        rows = stream_rows(plan) if is_stream else batch_rows(plan)
    if why and sequence is None:  # what operators count by is not known outside
        rows = rows.withColumn(CAUSES, F.transform(named(CAUSES), _without_sequence))
    if late or rejects:
        kinds = [kind for kind, is_asked in ((LATE_KIND, late), (REJECT_KIND, rejects)) if is_asked]
        return everything_shown(rows, output, kinds)
    return shown(rows, output)


def _check_batch(*, is_late_asked: bool, periods: Mapping[str, Period | None]) -> None:
    """Refuses what only streams have."""
    if is_late_asked:
        raise UsageError(error("usage", "no event of a batch is late"))
    waits = [f"{name}=" for name, period in periods.items() if period is not None]
    if waits:
        fact = "a batch waits for no event: all of them are there"
        raise UsageError(error("usage", fact, hint=f"leave out {' and '.join(waits)}"))


def _without_sequence(cause: Column) -> Column:
    return cause.withField("sequence", F.lit(None).cast("bigint"))


def _sources(
    events: Frames | Files, program: ResolvedProgram, placement: Placement
) -> tuple[tuple[EventFrame, ...], str | None]:
    """What is given, and the column that orders events of one time."""
    if not isinstance(events, Files):
        sources = sources_of(events, program, placement)
        return sources, None if sources[0].placement.sequence is None else SEQUENCE
    if placement:
        hint = "'@time' or @EventTime says when events of files happen; lines are in order"
        fact = "files take no time=, unit=, type=, sequence=, columns= and zone="
        raise UsageError(error("usage", fact, hint=hint))
    return (events.source(program, _session()),), SEQUENCE


def _is_stream(sources: Sequence[EventFrame]) -> bool:
    kinds = {source.frame.isStreaming for source in sources}
    if len(kinds) > 1:
        fact = "some frames are streams and some are not"
        raise UsageError(error("usage", fact, hint="read all of them with readStream, or none"))
    return kinds == {True}


def needed_for(output: str, program: ResolvedProgram) -> ResolvedProgram:
    """The statements without which the events of a type would be others."""
    derived = {s.target for s in program.statements}
    if output not in derived:
        hint = suggest(output, derived, "derived types")
        raise UsageError(error("unknown-type", f"no statement derives '{output}'", hint=hint))
    return part_behind(output, program)


def shown(rows: DataFrame, output: str | None) -> DataFrame:
    """The rows as a call asks for them."""
    if output is None:
        return rows.drop(named("@key"))
    own = rows.where(named("@type") == output)
    # A type without attributes has no column.
    members = rows.schema[output].dataType.names if output in rows.columns else ()  # type: ignore[attr-defined]
    attributes = [named(output).getField(member).alias(member) for member in members]
    head = [named(n) for n in ("@time", "@kind", CAUSES) if n in rows.columns]
    return own.select(*head, *attributes)


def everything_shown(rows: DataFrame, output: str | None, kinds: Sequence[str]) -> DataFrame:
    """The same among which are events that came late and rows that are none, as JSON in '@row'."""
    is_problem = named("@kind").isin(*kinds) if kinds else F.expr("false")
    is_row = ~named("@kind").isin(LATE_KIND, REJECT_KIND)
    if output is None:
        return rows.where(is_row | is_problem).drop(named("@key"))
    own = rows.where((is_row & (named("@type") == output)) | is_problem)
    members = rows.schema[output].dataType.names if output in rows.columns else ()  # type: ignore[attr-defined]
    attributes = [named(output).getField(member).alias(member) for member in members]
    head = [named(n) for n in ("@type", "@time", "@kind", CAUSES) if n in rows.columns]
    return own.select(*head, *attributes, named("@problem"), named("@row"))
