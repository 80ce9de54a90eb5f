"""`cepheid stream` with classes: rounds over a stream of detections, until it is stopped."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.cli.action_sink import ActionSink
from cepheid.cli.run import time_of
from cepheid.cli.stream import LOOK, stop_query, stopping
from cepheid.errors import UsageError, error
from cepheid.jobs.record import Progress
from cepheid.jobs.reporting import listener

if TYPE_CHECKING:
    from cepheid.bitemporal.stream.sink import Act, RoundsSink
    from cepheid.core.event import Event
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


def run_rounds(
    program: ResolvedProgram, options: RoundsOptions, actions: ActionSink, spark: Spark
) -> None:
    """Starts the query of a program with classes, prints its actions, and ends it."""
    from cepheid.bitemporal.spark.stream import RoundsJob, start
    from cepheid.engines.spark.endpoints.sources import open_history
    from cepheid.engines.spark.endpoints.uri import parse_source
    from cepheid.engines.spark.session.failures import failure_of

    sink = sink_of(program, options, acting(program, actions))
    checkpoint = Path(options.checkpoint)
    frame = open_history(spark, parse_source(options.source), checkpoint / "journal")
    job = RoundsJob(sink, checkpoint / "query", trigger=options.trigger, once=options.once)
    stopped = threading.Event()
    with stopping(stopped):
        query = start(frame, job)
        listener().running()
        try:
            while not stopped.is_set() and query.isActive:
                stopped.wait(LOOK)
            if stopped.is_set():
                listener().stopped()
            else:
                query.awaitTermination()
        except Exception as failure:
            raise failure_of(failure) from None
        finally:
            stop_query(query)
    _report(sink)


def acting(program: ResolvedProgram, actions: ActionSink) -> Act:
    """What becomes of the actions of a micro-batch; all of it again where the batch is repeated."""
    from cepheid.actions import RowActions
    from cepheid.io import write_jsonl

    made = RowActions(program)
    count = 0

    def act(rows: Sequence[Event]) -> None:
        nonlocal count
        actions.put(action for row in rows for action in made.of(row))
        write_jsonl(list(rows), sys.stdout)
        sys.stdout.flush()
        count += len(rows)
        listener().found(rows)
        listener().progressed(Progress(rows=count))

    return act


def sink_of(program: ResolvedProgram, options: RoundsOptions, act: Act) -> RoundsSink:
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
    return RoundsSink(program, Path(options.out), course, delay=options.delay, act=act)


def _report(sink: RoundsSink) -> None:
    from cepheid.cli.terminal.console import err

    err().print(f"stopped: {sink.summary()}", soft_wrap=True)
