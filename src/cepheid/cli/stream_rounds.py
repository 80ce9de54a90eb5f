"""`cepheid stream` with classes: rounds over a stream of detections, until it is stopped."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.cli.run import time_of
from cepheid.cli.stream import LOOK, stop_query, stopping
from cepheid.errors import UsageError, error

if TYPE_CHECKING:
    from cepheid.bitemporal.outcome import Outcome
    from cepheid.bitemporal.stream.sink import RoundsSink
    from cepheid.engines.spark.stream.job import Spark
    from cepheid.program.resolved import ResolvedProgram


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsOptions:
    """What the command was told."""

    source: str
    checkpoint: str
    delay: int  # microseconds
    trigger: int | None
    once: bool
    chronon: str | None
    out: str | None
    start: str | None
    outages: str | None
    window: str
    after_freeze: str


def run_rounds(program: ResolvedProgram, options: RoundsOptions, spark: Spark) -> None:
    """Starts the query of a program with classes, prints its actions, and ends it."""
    from cepheid.bitemporal.rows import action_events
    from cepheid.bitemporal.spark.stream import RoundsJob, start
    from cepheid.engines.spark.endpoints.sources import open_history
    from cepheid.engines.spark.endpoints.uri import parse_source
    from cepheid.engines.spark.session.failures import failure_of
    from cepheid.io import write_jsonl

    classes = {each.name: each.declared for each in program.classes}

    def show(outcome: Outcome) -> None:
        write_jsonl(list(action_events(outcome, classes)), sys.stdout)
        sys.stdout.flush()

    sink, checkpoint = _sink(program, options), Path(options.checkpoint)
    frame = open_history(spark, parse_source(options.source), checkpoint / "journal")
    job = RoundsJob(
        sink, checkpoint / "query", trigger=options.trigger, once=options.once, show=show
    )
    stopped = threading.Event()
    with stopping(stopped):
        query = start(frame, job)
        try:
            while not stopped.is_set() and query.isActive:
                stopped.wait(LOOK)
            if not stopped.is_set():
                query.awaitTermination()
        except Exception as failure:
            raise failure_of(failure) from None
        finally:
            stop_query(query)
    _report(sink)


def _sink(program: ResolvedProgram, options: RoundsOptions) -> RoundsSink:
    from cepheid.bitemporal.stream.sink import RoundsSink
    from cepheid.verbs.rounds import course_of

    if options.out is None:
        fact = "rounds need a folder for what they find"
        raise UsageError(error("usage", fact, hint="`--out DIR`"))
    course = course_of(
        chronon=options.chronon,
        start=None if options.start is None else time_of(options.start, "--start"),
        outages=options.outages or (),
        window=options.window,
        after_freeze=options.after_freeze,
    )
    return RoundsSink(program, Path(options.out), course, delay=options.delay)


def _report(sink: RoundsSink) -> None:
    from cepheid.cli.terminal.console import err

    err().print(f"stopped: {sink.summary()}", soft_wrap=True)
