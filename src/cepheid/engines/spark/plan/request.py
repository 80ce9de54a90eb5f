"""What is asked of Spark: a program over frames, in a batch or at the pace of a stream."""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.core.time import Instant, Period, parse_period
from cepheid.engines.spark.codec.input_columns import EventFrame, Options
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
    watermark: WatermarkPolicy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkPolicy:
    """How long a stream waits: for events that come late, to report those that come later still,
    and, by the clock on the wall, for any event at all."""

    delay: Period
    grace: Period | None = None  # as long as the delay
    idle: Period | None = None  # for ever


def watermark_policy(
    watermark: str | Period | None, grace: str | Period | None, idle: str | Period | None
) -> WatermarkPolicy:
    """What a call asks for; UsageError where it makes no sense."""
    delay = _period(watermark, "watermark")
    if delay is None:
        fact = "a stream needs a watermark: how long an event may come after later ones"
        raise UsageError(error("usage", fact, hint="watermark='10 seconds'"))
    return WatermarkPolicy(delay=delay, grace=_period(grace, "grace"), idle=_period(idle, "idle"))


def _period(given: str | Period | None, name: str) -> Period | None:
    try:
        period = parse_period(given) if isinstance(given, str) else given
    except ValueError as problem:
        raise UsageError(error("bad-period", f"{name}: {problem}")) from None
    if period is not None and period.months:
        fact = f"{name}: months are not all of one length"
        raise UsageError(error("bad-period", fact, hint="count days"))
    return period
