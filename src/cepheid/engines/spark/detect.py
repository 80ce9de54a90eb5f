"""Statements over DataFrames, in a batch or in a stream: what `cep.spark.detect` does with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, cast, get_args

from pyspark.sql import DataFrame

from cepheid.core.time import Period, TimeUnit
from cepheid.engines.common.clock import Time, instant_of
from cepheid.engines.common.intake import runnable
from cepheid.engines.common.notes import emit
from cepheid.engines.spark.batch.file_scan import Files
from cepheid.engines.spark.batch.query import batch_rows
from cepheid.engines.spark.codec.event_layout import SEQUENCE
from cepheid.engines.spark.codec.input_columns import (
    EventFrame,
    Frames,
    Options,
    named,
    sources_of,
    with_types_of,
)
from cepheid.engines.spark.plan.plan import plan_of
from cepheid.engines.spark.plan.request import SparkRequest, watermark_policy
from cepheid.engines.spark.plan.run_warnings import warnings_on
from cepheid.engines.spark.session.spark_session import is_connect
from cepheid.engines.spark.session.spark_session import session as _session
from cepheid.engines.spark.session.workers import check_workers
from cepheid.engines.spark.stream.query import stream_late, stream_rejects, stream_rows
from cepheid.errors import UsageError, error, suggest
from cepheid.program.resolved import ResolvedProgram

LATE, REJECTS = "@late", "@rejects"  # what `output` may ask for beside derived types


class Resolvable(Protocol):
    """A program, such as `cep.load` and `cep.parse` make."""

    def resolve(self) -> ResolvedProgram: ...


def detect(
    program: Resolvable | ResolvedProgram,
    events: Frames | Files,
    *,
    output: str | None = None,
    time: str | None = None,
    unit: TimeUnit | None = None,
    sequence: str | None = None,
    start: Time | None = None,
    watermark: str | Period | None = None,
    grace: str | Period | None = None,
    idle: str | Period | None = None,
    timed_out: bool = False,
) -> DataFrame:
    """The statements of a program over frames, or `files`; `verbs.detection` says what all this is."""
    resolved = program if isinstance(program, ResolvedProgram) else program.resolve()
    if isinstance(events, Files):
        for name, given in (("time", time), ("unit", unit), ("sequence", sequence)):
            if given is not None:
                hint = "'@time' or @EventTime says when events of files happen; lines are in order"
                raise UsageError(error("usage", f"files take no {name}=", hint=hint))
        sources: tuple[EventFrame, ...] = (events.source(resolved, _session()),)
        sequence = SEQUENCE
    else:
        sources = sources_of(events, resolved)
    resolved = runnable(with_types_of(resolved, sources))
    if output not in (None, LATE, REJECTS):
        resolved = needed_for(output, resolved)
    session = sources[0].frame.sparkSession
    if is_connect(session):
        check_workers(session)
    request = SparkRequest(
        program=resolved,
        sources=sources,
        options=Options(time=time, unit=_unit(unit), sequence=sequence),
        start=None if start is None else instant_of(start),
        timed_out=timed_out,
    )
    if output == REJECTS:
        return stream_rejects(request)
    is_stream = _is_stream(sources)
    if is_stream:
        request = replace(request, watermark=watermark_policy(request, watermark, grace, idle))
    elif output == LATE:
        raise UsageError(error("usage", "no event of a batch is late"))
    plan = plan_of(request)
    emit(warnings_on(plan), stacklevel=3)
    if output == LATE:
        return stream_late(plan)
    return shown(stream_rows(plan) if is_stream else batch_rows(plan), output)


def _is_stream(sources: Sequence[EventFrame]) -> bool:
    kinds = {source.frame.isStreaming for source in sources}
    if len(kinds) > 1:
        fact = "some frames are streams and some are not"
        raise UsageError(error("usage", fact, hint="read all of them with readStream, or none"))
    return kinds == {True}


def _unit(unit: str | None) -> TimeUnit:
    units = get_args(TimeUnit)
    if unit is not None and unit not in units:
        raise UsageError(
            error("usage", f"no time unit {unit!r}", hint=suggest(unit, units, "units"))
        )
    return cast("TimeUnit", unit or "seconds")


def needed_for(output: str, program: ResolvedProgram) -> ResolvedProgram:
    """The statements without which the events of a type would be others."""
    derived = {s.target for s in program.statements}
    if output not in derived:
        hint = suggest(output, derived, "derived types")
        raise UsageError(error("unknown-type", f"no statement derives '{output}'", hint=hint))
    wanted = {output}
    names: set[str] = set()
    while found := {s.name for s in program.statements if s.target in wanted} - names:
        names |= found
        inputs = {name for s in program.statements if s.name in names for name in s.inputs}
        wanted |= {n for n, t in program.types.items() if inputs & {n, *t.ancestors}}
    return program.part(names)


def shown(rows: DataFrame, output: str | None) -> DataFrame:
    """The rows as a call asks for them."""
    if output is None:
        return rows.drop(named("@key"))
    own = rows.where(named("@type") == output)
    # A type without attributes has no column.
    members = rows.schema[output].dataType.names if output in rows.columns else ()  # type: ignore[attr-defined]
    attributes = [named(output).getField(member).alias(member) for member in members]
    return own.select(named("@time"), named("@kind"), *attributes)
