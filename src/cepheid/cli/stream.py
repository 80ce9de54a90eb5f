"""`cepheid stream`: a program over a stream, on Spark, until it is stopped."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cepheid.cli.options import Programs, load, one_of
from cepheid.cli.run import AfterFreeze, Chronon, Outages, OutboxFolder, Start, Window
from cepheid.cli.spark_options import Conf, Master, Verbose, are_small, spark_session
from cepheid.errors import UsageError, error
from cepheid.jobs.holding import held
from cepheid.jobs.reporting import listener

if TYPE_CHECKING:
    from cepheid.cli.terminal.stream_monitor import Status
    from cepheid.core.event import Event
    from cepheid.core.time import Period
    from cepheid.engines.spark.stream.job import Query, Spark, StreamJob

From = Annotated[
    str,
    typer.Option(
        "--source",
        metavar="SOURCE",
        help="files:DIR, kafka://HOST/TOPIC, mqtt://HOST/TOPIC or rate:NUMBER.",
        show_default=False,
    ),
]
To = Annotated[
    str,
    typer.Option(
        "--sink",
        metavar="SINK",
        help="console, files:DIR, kafka://HOST/TOPIC, mqtt://HOST/TOPIC or https://HOST/PATH.",
    ),
]
Checkpoint = Annotated[
    str,
    typer.Option(
        metavar="DIR",
        help="Where the stream keeps its state; started again with it, it goes on.",
        show_default=False,
    ),
]
Watermark = Annotated[
    str,
    typer.Option(metavar="PERIOD", help="How long after later events an event may come."),
]
OneType = Annotated[
    str | None,
    typer.Option(
        "--output", metavar="TYPE", help="Only the rows of this type.", show_default="all"
    ),
]
Trigger = Annotated[
    str | None,
    typer.Option(
        metavar="PERIOD", help="How often events are taken.", show_default="as soon as they come"
    ),
]
Once = Annotated[bool, typer.Option("--once", help="Take what is there, and end.")]
Rejects = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Keep the texts that are no events in a folder.",
        show_default="count them",
    ),
]

Late = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Keep the events that came too late.", show_default="count them"
    ),
]
Folder = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Where programs with classes leave actions, changes and versions.",
        show_default=False,
    ),
]


def run_stream(
    programs: Programs,
    source: From,
    checkpoint: Checkpoint,
    sink: To = "console",
    watermark: Watermark = "10s",
    output: OneType = None,
    trigger: Trigger = None,
    once: Once = False,
    late: Late = None,
    rejects: Rejects = None,
    chronon: Chronon = None,
    out: Folder = None,
    start: Start = None,
    outages: Outages = None,
    window: Window = "buffering",
    after_freeze: AfterFreeze = "refuse",
    outbox: OutboxFolder = None,
    master: Master = None,
    conf: Conf = None,
    verbose: Verbose = False,
) -> None:
    """Run a program over a stream until it is stopped.

    Events are JSON objects in files and messages, as in event files. Rows
    appear when the watermark has passed them. Ctrl-C ends the stream; with
    the same checkpoint it goes on later where it was. Programs with classes
    take histories and go in rounds: --chronon says how often, --out where
    they leave what they find; actions are printed, and put into the outbox.

      cepheid stream alarms.epl --source rate:100 --checkpoint /tmp/alarms
      cepheid stream alarms.epl --source files:in --sink files:out --checkpoint state
      cepheid stream alarms.epl --source mqtt://host/plant/# --checkpoint state
      cepheid stream travel.bicepl --source files:in --chronon 1m --out out --checkpoint state
    """
    from cepheid.engines.common.clock import instant_of
    from cepheid.engines.spark.endpoints.checks import check_folders, check_place, files_in
    from cepheid.engines.spark.endpoints.uri import FileSource, parse_sink, parse_source

    source_uri = parse_source(source)
    check_place(source_uri)
    delay = period(watermark, "--watermark")
    pause = None if trigger is None else period(trigger, "--trigger")
    # Parsers and Spark are loaded only now: that takes longer than to say what is wrong so far.
    from cepheid.engines.common.intake import runnable
    from cepheid.engines.spark.stream.job import StreamJob, check, derived_types

    loaded = load(programs)
    program = runnable(loaded.resolve())
    if program.classes:
        from cepheid.cli.action_sink import ActionSink
        from cepheid.cli.stream_rounds import RoundsOptions, run_rounds

        for option, given in (("--output", output), ("--late", late), ("--rejects", rejects)):
            if given is not None:
                hint = "rounds leave everything in the folder of --out"
                raise UsageError(error("usage", f"rounds have no {option}", hint=hint))
        written = {"--out": out, "--checkpoint": checkpoint, "--outbox": outbox}
        check_folders(source_uri, written)
        options = RoundsOptions(
            source=source,
            checkpoint=checkpoint,
            delay=delay.microseconds,
            trigger=None if pause is None else pause.microseconds,
            once=once,
            chronon=chronon,
            out=out,
            start=start,
            outages=outages,
            window=window,
            after_freeze=after_freeze,
        )
        with held(Path(checkpoint), listener().who), ActionSink(outbox) as actions:
            listener().accepted(loaded, Path(checkpoint))
            with spark_session(master=master, conf=conf, verbose=verbose) as spark:
                run_rounds(program, options, actions, spark)
        return
    for option, given in (("--chronon", chronon), ("--out", out), ("--outages", outages)):
        if given is not None:
            raise UsageError(error("usage", f"the program has no classes, and so no {option}"))
    if outbox is not None:
        hint = "leave out --outbox, or send the rows to a web hook: --sink https://HOST/PATH"
        raise UsageError(error("usage", "streams of statements have no --outbox", hint=hint))
    job = StreamJob(
        program=program,
        source=source_uri,
        sink=parse_sink(sink),
        checkpoint=Path(checkpoint),
        watermark=delay,
        output=None if output is None else one_of(derived_types(program), output, "--output"),
        trigger=pause,
        once=once,
        start=None if start is None else instant_of(start),
        late=late,
        rejects=rejects,
    )
    check(job)
    is_brief = once and isinstance(source_uri, FileSource) and are_small(files_in(source_uri))
    with held(job.checkpoint, listener().who):
        listener().accepted(loaded, job.checkpoint)
        with spark_session(master=master, conf=conf, verbose=verbose, is_brief=is_brief) as spark:
            run(replace(job, latest=listener().latest), spark)


def period(text: str, option: str) -> Period:
    """`10s`, `500ms`, `1 min 30 sec`."""
    from cepheid.core.time import parse_length

    try:
        return parse_length(text)
    except ValueError as problem:
        raise UsageError(error("usage", f"{option}: {problem}")) from None


def run(job: StreamJob, spark: Spark) -> None:
    """Starts the queries of a job, shows what they do, and ends them."""
    from cepheid.cli.terminal.stream_monitor import Status
    from cepheid.engines.spark.session.failures import failure_of
    from cepheid.engines.spark.stream.job import start
    from cepheid.engines.spark.stream.watermarks import Watermarks

    stopped = threading.Event()
    status = Status(Watermarks.of(job.watermark))
    with ExitStack() as stack:
        stack.enter_context(stopping(stopped))
        screen = stack.enter_context(_Screen(job))
        query: Query | None = None
        try:
            query = start(job, spark, screen.show)
            listener().running()
            while not stopped.is_set() and query.isActive:
                if status.take(_reports(query)):
                    screen.update(status)
                    listener().progressed(status.progress())
                stopped.wait(LOOK)
            if stopped.is_set():
                listener().stopped()
            else:
                query.awaitTermination()
        except Exception as failure:
            raise failure_of(failure) from None
        finally:
            if query is not None:
                stop_query(query)
        status.take(_reports(query))
        listener().progressed(status.progress())
    screen.end(status)


LOOK = 0.25  # seconds between two looks at the progress
_PATIENCE = 10.0  # seconds for a micro-batch to end


def stop_query(query: Query) -> None:
    """Lets a micro-batch end that is under way: one that is cut off is run again next time."""
    deadline = time.monotonic() + _PATIENCE
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(0.01)
    query.stop()


def _reports(query: Query) -> list[dict[str, Any]]:
    return [json.loads(report.json) for report in query.recentProgress]


@contextmanager
def stopping(stopped: threading.Event) -> Iterator[None]:
    """Ctrl-C and a polite kill end the stream between two looks, not in the middle of a batch."""
    names = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(name, lambda *_: stopped.set()) for name in names]
    try:
        yield
    finally:
        for name, handler in zip(names, before, strict=True):
            signal.signal(name, handler)


class _Screen:
    """Rows on standard output; what the stream is doing on standard error.

    A terminal shows a table that is kept up to date; elsewhere a line is printed for each report.
    """

    def __init__(self, job: StreamJob) -> None:
        from rich.live import Live

        from cepheid.cli.terminal.console import err
        from cepheid.engines.spark.stream.job import derived_types

        self._types = derived_types(job.program)
        self._console = err()
        is_seen = self._console.is_terminal
        self._live = Live(console=self._console, transient=True) if is_seen else None
        self._lock = threading.Lock()

    def __enter__(self) -> _Screen:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_failure: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, rows: list[Event]) -> None:
        from cepheid.cli.terminal.tables import print_tables
        from cepheid.io import write_jsonl

        listener().found(rows)
        with self._lock:
            if self._live is not None and sys.stdout.isatty():
                print_tables(rows, self._types, self._console)
            else:
                write_jsonl(rows, sys.stdout)
                sys.stdout.flush()

    def update(self, status: Status) -> None:
        if self._live is not None:
            self._live.update(status.table())
        else:
            self._console.print(status.line(), soft_wrap=True)

    def end(self, status: Status) -> None:
        self._console.print(f"stopped: {status.line()}", soft_wrap=True)
