"""`cep.spark.detect`: a program over DataFrames, statements and classes alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Protocol, cast

from cepheid.core.time import Period, TimeUnit
from cepheid.engines.common.clock import Length, Time, extent_of
from cepheid.engines.common.intake import runnable
from cepheid.engines.common.judging import Extra, rules_for
from cepheid.errors import UsageError, error
from cepheid.io.source import placement
from cepheid.program.resolved import ResolvedProgram
from cepheid.verbs.program import Program
from cepheid.verbs.rounds import Outages, course_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cepheid.engines.spark.batch.file_scan import Files
    from cepheid.engines.spark.codec.event_frames import Frames, PlainFrames


class Resolvable(Protocol):
    """A program, such as `cep.load` and `cep.parse` make."""

    def resolve(self) -> ResolvedProgram: ...


def detect(
    program: Resolvable | ResolvedProgram,
    events: Frames | Files,
    *,
    output: str | None = None,
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
    watermark: str | Period | None = None,
    grace: str | Period | None = None,
    idle: str | Period | None = None,
    timed_out: bool = False,
    why: bool = False,
    late: bool = False,
    rejects: bool = False,
    chronon: Length | None = None,
    outages: Outages = (),
    after_freeze: str = "refuse",
) -> DataFrame:
    """What a program finds in a frame of events, in several, in one frame per type, or in `files`.

    A frame has the columns '@time', the attributes of its events, and '@type' unless it stands under
    the name of its type. Others are named by `time` (timestamps, dates, texts, numbers of a `unit`),
    `type` and `columns` (`{"card_no": "card"}`), for all frames but those that say it themselves
    (`cep.source(frame, time="at")`). Times without a zone are UTC, or of `zone`. Events of one time are
    ordered by `sequence`; without it by type and then by all attributes. An attribute that the program
    uses and no frame has is an error unless it is `optional`; a column that no schema has is ignored,
    with a note, or with `extra="error"` refused.

    `output` asks for the rows of one type: '@time', '@kind' ('match', 'old', 'timeout') and its
    attributes. Otherwise rows have '@type' too, and each type is a struct. A row that is no event
    of the program ends a batch with an error that shows it, and is left out of a stream; `rejects` makes it a
    row of the kind 'reject', with '@row' and '@problem'. '@rejects' asks for nothing else.
    `start` is when the program begins, else with its first event; `end` how long time goes on, else up to
    the last event.

    `timed_out` adds rows of partial matches that `timer:within` ends. `why` adds the events that led
    to each row, '@causes': their types, times, and what `sequence` says of them; causes that are
    derived have none. Both are slower, as the reference semantics runs then.

    A stream needs a `watermark`, the time that an event may come after later ones, or frames that
    have one by `withWatermark`; what comes later still does not happen. `late` makes it a row of the
    kind 'late', and '@late' asks for nothing else, for ever or as long as `grace` says. `idle` lets
    time go on when nothing comes.

    A program with classes goes in rounds, one each `chronon` from `start` to `end`, else from the first
    to the last time of the input, but for `outages`. Its frames are histories: '@time' is the
    occurrence, '@detected', '@retracted' and '@known' as in files; all are worked out at once. Rows
    are actions; `output` names one of them, a class (what became known of it, in which round), or
    '@refused' (how many detections did not count, and why). `after_freeze` as in `cep.run`.
    """
    from cepheid.engines.spark import detect as statements

    resolved = program if isinstance(program, ResolvedProgram) else program.resolve()
    if not resolved.tree.classes:
        rounds = {"chronon": chronon, "outages": outages or None}
        _refuse(rounds, "the program has no classes, and so no rounds")
        first, last = extent_of(start, end)
        with program.sources_told() if isinstance(program, Program) else nullcontext():
            return statements.detect(
                resolved,
                events,
                output=output,
                placement=placement(type, time, unit, sequence, columns, zone),
                rules=rules_for(resolved, optional, extra),
                start=first,
                end=last,
                watermark=watermark,
                grace=grace,
                idle=idle,
                timed_out=timed_out,
                why=why,
                late=late,
                rejects=rejects,
            )
    from cepheid.bitemporal.spark.detect import detect_in_rounds
    from cepheid.bitemporal.spark.frames import Columns
    from cepheid.engines.spark.batch.file_scan import Files

    others = {
        "watermark": watermark,
        "grace": grace,
        "idle": idle,
        "timed_out": timed_out or None,
        "why": why or None,
        "late": late or None,
        "rejects": rejects or None,
        "type": type,
        "columns": columns,
        "zone": zone,
        "extra": None if extra == "ignore" else extra,
    }
    _refuse(others, "the program has classes, and goes in rounds")
    if isinstance(events, Files):
        raise UsageError(
            error("unsupported", "histories are frames", hint="spark.read.parquet(...)")
        )
    course = course_of(
        chronon=chronon, start=start, end=end, outages=outages, after_freeze=after_freeze
    )
    places = Columns(time=time or "@time", unit=unit or "seconds", sequence=sequence)
    plain = cast("PlainFrames", events)  # what it is not, it refuses
    return detect_in_rounds(
        runnable(resolved),
        plain,
        course,
        output=output,
        columns=places,
        optional=rules_for(resolved, optional).optional,
    )


def _refuse(options: Mapping[str, object], fact: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise UsageError(
                error("usage", f"{fact}: {name} says nothing", hint=f"leave out {name}")
            )
