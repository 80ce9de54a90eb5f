"""What is asked of Spark: a program over frames, in a batch or at the pace of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cepheid.core.time import Instant, Period, parse_period
from cepheid.engines.spark.codec.event_frames import EventFrame
from cepheid.engines.spark.codec.input_columns import Options, time_columns
from cepheid.errors import UsageError, error
from cepheid.program.resolved import ResolvedProgram


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRequest:
    """A program over frames, its types known; over streams where there is a watermark."""

    program: ResolvedProgram
    sources: tuple[EventFrame, ...] = ()
    options: Options = field(default_factory=Options)
    start: Instant | None = None
    end: Instant | None = None  # the last time of the input, where that is known
    timed_out: bool = False
    why: bool = False
    is_ordered: bool = False  # whether the keys of rows must say the order of all of them
    rejects: bool = False  # whether rows that are no events are told, in a stream
    watermark: WatermarkPolicy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkPolicy:
    """How long a stream waits for events that come late, how long after that it tells those that come
    later still, and how long, by the clock on the wall, it waits for any event at all."""

    delay: Period
    is_brought: bool = False  # the frames have a watermark already
    grace: Period | None = None  # for ever
    idle: Period | None = None  # for ever


def check_periods(**given: str | Period | None) -> dict[str, Period | None]:
    """The periods of a call; UsageError where one is none."""
    return {name: _period(period, name) for name, period in given.items()}


def watermark_policy(
    request: SparkRequest, periods: Mapping[str, Period | None]
) -> WatermarkPolicy:
    """What a call asks for, or its frames bring along; UsageError where it makes no sense."""
    delay, brought = periods["watermark"], _brought(request)
    if delay is not None and brought is not None:
        fact = "the frame has a watermark already, by withWatermark"
        raise UsageError(error("usage", fact, hint="leave out watermark="))
    return WatermarkPolicy(
        delay=required_delay(delay) if brought is None else brought,
        is_brought=brought is not None,
        grace=periods["grace"],
        idle=periods["idle"],
    )


def required_delay(given: str | Period | None) -> Period:
    delay = _period(given, "watermark")
    if delay is None:
        fact = "a stream needs a watermark: how long an event may come after later ones"
        hint = "watermark='10 seconds', or withWatermark on the frame"
        raise UsageError(error("usage", fact, hint=hint))
    return delay


def _brought(request: SparkRequest) -> Period | None:
    """The delay of the watermark that the frames have, all of them and on their times, or none."""
    marks = [source.watermarks for source in request.sources]
    if not any(marks):
        return None
    for source, mark in zip(request.sources, marks, strict=True):
        if not mark:
            fact = f"{source} has no watermark, and others have one"
            hint = "withWatermark on all frames, or watermark= and on none"
            raise UsageError(error("usage", fact, hint=hint))
        times = time_columns(source, request.program)
        for name in mark.keys() - set(times):
            fact = f"the watermark of {source} is on column '{name}', which is not the time"
            hint = f"withWatermark('{times[0]}', ...)" if times else "name the time with time="
            raise UsageError(error("usage", fact, hint=hint))
    return Period(microseconds=1_000 * max(delay for mark in marks for delay in mark.values()))


def _period(given: str | Period | None, name: str) -> Period | None:
    try:
        period = parse_period(given) if isinstance(given, str) else given
    except ValueError as problem:
        raise UsageError(error("bad-period", f"{name}: {problem}")) from None
    if period is not None and period.months:
        fact = f"{name}: months are not all of one length"
        raise UsageError(error("bad-period", fact, hint="count days"))
    return period
