"""`cep.spark.detect`: a program over DataFrames, statements and classes alike."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING

from cepheid.core.time import Period, TimeUnit
from cepheid.engines.common.clock import Time
from cepheid.engines.common.intake import runnable
from cepheid.errors import UsageError, error
from cepheid.program.resolved import ResolvedProgram
from cepheid.verbs.program import Program
from cepheid.verbs.rounds import Length, Outages, course_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cepheid.engines.spark.batch.file_scan import Files
    from cepheid.engines.spark.codec.input_columns import Frames
    from cepheid.engines.spark.detect import Resolvable


def detect(
    program: Resolvable | ResolvedProgram,
    events: Frames | Files,
    *,
    output: str | None = None,
    time: str | None = None,
    unit: TimeUnit | None = None,
    sequence: str | None = None,
    zone: str | None = None,
    start: Time | None = None,
    watermark: str | Period | None = None,
    grace: str | Period | None = None,
    idle: str | Period | None = None,
    timed_out: bool = False,
    why: bool = False,
    chronon: Length | None = None,
    end: Time | None = None,
    outages: Outages = (),
    after_freeze: str = "refuse",
) -> DataFrame:
    """What a program finds in a frame of events, in one frame per type, or in `files`.

    A frame has the columns '@time' (or the one that `time` names: timestamps, dates, texts, numbers
    of a `unit`), the attributes of its events, and '@type' unless it stands under the name of its
    type. Times without a zone are UTC, or of `zone`. Events of one time are ordered by `sequence`; without it by type and then by all
    attributes. `output` asks for the rows of one type: '@time', '@kind' ('match', 'old',
    'timeout') and its attributes. Otherwise rows have '@type' too, and each type is a struct.
    '@rejects' asks for rows that are no events of the program, with what is wrong with them.

    `timed_out` adds rows of partial matches that `timer:within` ends. `why` adds the events that led
    to each row, '@causes': their types, times, and what `sequence` says of them; causes that are
    derived have none. Both are slower, as the reference semantics runs then.

    A stream needs a `watermark`, the time that an event may come after later ones; what comes later
    still is dropped, and for another `grace` shows under '@late'. `idle` lets time go on when nothing
    comes. `start` is when the program begins, else with its first event.

    A program with classes goes in rounds, one each `chronon` from `start` to `end`, else from the first
    to the last time of the input, but for `outages`. Its frames are histories: '@time' is the
    occurrence, '@detected', '@retracted' and '@known' as in files; all are worked out at once. Rows
    are actions; `output` names one of them, a class (what became known of it, in which round), or
    '@refused' (how many detections did not count, and why). `after_freeze` as in `cep.run`.
    """
    from cepheid.engines.spark import detect as statements

    resolved = program if isinstance(program, ResolvedProgram) else program.resolve()
    if not resolved.tree.classes:
        rounds = {"chronon": chronon, "end": end, "outages": outages or None}
        _refuse(rounds, "the program has no classes, and so no rounds")
        with program.sources_told() if isinstance(program, Program) else nullcontext():
            return statements.detect(
                resolved,
                events,
                output=output,
                time=time,
                unit=unit,
                sequence=sequence,
                zone=zone,
                start=start,
                watermark=watermark,
                grace=grace,
                idle=idle,
                timed_out=timed_out,
                why=why,
            )
    from cepheid.bitemporal.spark.detect import detect_in_rounds
    from cepheid.bitemporal.spark.frames import Columns
    from cepheid.engines.spark.batch.file_scan import Files

    timers = {"watermark": watermark, "grace": grace, "idle": idle, "timed_out": timed_out or None}
    timers |= {"why": why or None, "zone": zone}
    _refuse(timers, "the program has classes, and goes in rounds")
    if isinstance(events, Files):
        raise UsageError(
            error("unsupported", "histories are frames", hint="spark.read.parquet(...)")
        )
    course = course_of(
        chronon=chronon, start=start, end=end, outages=outages, after_freeze=after_freeze
    )
    columns = Columns(time=time or "@time", unit=unit or "seconds", sequence=sequence)
    return detect_in_rounds(runnable(resolved), events, course, output=output, columns=columns)


def _refuse(options: Mapping[str, object], fact: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise UsageError(
                error("usage", f"{fact}: {name} says nothing", hint=f"leave out {name}")
            )
