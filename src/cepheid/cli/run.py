"""`cepheid run`: a program over events."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.options import ManyValues, PipelineFile, ProgramsIfAny, load, one_of, write_file
from cepheid.cli.source_options import (
    Extra,
    Map,
    Optional,
    SequenceColumn,
    TimeColumn,
    TypeColumn,
    Unit,
    extra_of,
    renaming,
)
from cepheid.cli.spark_options import Conf, Master, Remote, Verbose, are_small, spark_session
from cepheid.engines.registry import DEFAULT, ENGINES
from cepheid.errors import CepheidWarning, InputError, UsageError, error
from cepheid.jobs.record import Progress, State
from cepheid.jobs.reporting import listener

if TYPE_CHECKING:
    from cepheid.cli.terminal.output import Output
    from cepheid.core.event import Event
    from cepheid.result import Result
    from cepheid.verbs import Program

STANDARD_INPUT = "-"
AUTO = "auto"


class RunCommand(ManyValues):
    many = ("--events", "-e", "--type", "-t", "--map", "--optional")


_EVENTS = typer.Option(
    "--events",
    "-e",
    metavar="FILE...",
    help="Files of events (.jsonl, .json, .csv, .parquet, .events), folders, globs,"
    " '-' for standard input, or on Spark 'table:NAME'.",
    show_default=False,
)
Events = Annotated[list[str], _EVENTS]
EventsIfAny = Annotated[list[str] | None, _EVENTS]
_LISTED = ", ".join(f"{engine.name} ({engine.help})" for engine in ENGINES.values())
Engine = Annotated[
    str | None,
    typer.Option(
        help=f"What runs the program: {_LISTED}, or {AUTO}: local up to 100 MB of files, else spark.",
        metavar="NAME",
        show_default=AUTO,
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        "-t",
        metavar="NAME...",
        help="Print only these derived types.",
        show_default="all",
    ),
]
Start = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="When the clock starts: ISO 8601 or seconds.",
        show_default="first event",
    ),
]
Zone = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The zone of times that name none, such as Europe/Berlin.",
        show_default="UTC",
    ),
]
Out = Annotated[
    str,
    typer.Option(
        "--out", "-o", metavar="PATH", help="'-', a file, or a folder for one file per type."
    ),
]
OutFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="NAME",
        help="jsonl, csv, parquet or table. By default as the suffix of --out says; without --out"
        " a table on a terminal, JSON Lines elsewhere and while events stream in.",
        show_default=False,
    ),
]
OnError = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What to do with events that cannot be read: fail, or skip and count them.",
    ),
]
Late = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What to do on standard input with an event that is before the clock: fail, or drop"
        " and count it.",
    ),
]
Why = Annotated[bool, typer.Option("--why", help="List the events behind each row.")]
TimedOut = Annotated[
    bool,
    typer.Option("--timed-out", help="Also print partial matches that timer:within ended."),
]
OutboxFolder = Annotated[
    str | None,
    typer.Option(
        "--outbox",
        metavar="FOLDER",
        help="Put the actions of rows (@Action) and classes into this outbox, for `cepheid act`.",
        show_default=False,
    ),
]


Chronon = Annotated[
    str | None,
    typer.Option(
        metavar="PERIOD",
        help="How far rounds are apart, for programs with classes: 1m, 30s, 1d.",
        show_default=False,
    ),
]
Outages = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="When there are no rounds: a 'from' and a 'to' a line, as JSON Lines or CSV.",
        show_default=False,
    ),
]
End = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Up to when the clock runs, with classes when the last round is: ISO 8601 or seconds.",
        show_default="last event",
    ),
]
Window = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What classes forget: nothing (buffering), events whose life spans are over (sliding),"
        " and actions for want of them, too (sliding-actions).",
    ),
]
AfterFreeze = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What to do with versions of events that are frozen: refuse and count, or take them.",
    ),
]


Record = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Write what became known of complex classes, or of those that --type names, as a history"
        " (JSON Lines) for a program that subscribes to them.",
        show_default=False,
    ),
]


def run(
    programs: ProgramsIfAny = None,
    events: EventsIfAny = None,
    pipeline: PipelineFile = None,
    engine: Engine = None,
    type: Types = None,
    time: TimeColumn = None,
    unit: Unit = None,
    map: Map = None,
    type_column: TypeColumn = None,
    sequence: SequenceColumn = None,
    optional: Optional = None,
    extra: Extra = "ignore",
    start: Start = None,
    zone: Zone = None,
    end: End = None,
    out: Out = "-",
    format: OutFormat = None,
    on_error: OnError = "fail",
    late: Late = "fail",
    why: Why = False,
    timed_out: TimedOut = False,
    chronon: Chronon = None,
    outages: Outages = None,
    window: Window = "buffering",
    after_freeze: AfterFreeze = "refuse",
    outbox: OutboxFolder = None,
    record: Record = None,
    master: Master = None,
    conf: Conf = None,
    remote: Remote = None,
    verbose: Verbose = False,
) -> None:
    """Run a program over events and print what it derives.

    Files are read as a whole and sorted by time. Standard input is taken as
    it comes: rows appear while events arrive. What is printed can be the
    input of another program.

      cepheid run alarms.epl --events monday.jsonl
      cepheid run alarms.epl --events data/ --type Fire --out fires.csv
      cepheid run alarms.epl --events monday.jsonl --why
      cepheid run fraud.epl --events Payment.csv --time at --map card_no=card
      cepheid run alarms.epl --events year/ --engine spark --master local[8]
      cepheid run travel.bicepl --events history.jsonl --chronon 1m
      cepheid run    all programs that cepheid.toml connects
      cepheid run alarms.epl --events monday.jsonl --outbox outbox
      tail -f log.jsonl | cepheid run alarms.epl --events - --on-error skip
    """
    if pipeline is not None or not programs:
        from cepheid.cli.pipeline import run_pipeline

        own = {
            "PROGRAM": programs,
            "--events": events,
            "--chronon": chronon,
            "--outages": outages,
            "--time": time,
            "--unit": unit,
            "--map": map,
            "--type-column": type_column,
            "--sequence": sequence,
            "--optional": optional,
            "--extra": extra if extra != "ignore" else None,
            "--start": start,
            "--end": end,
            "--zone": zone,
            "--window": window if window != "buffering" else None,
            "--after-freeze": after_freeze if after_freeze != "refuse" else None,
            "--record": record,
            "--late": late if late != "fail" else None,
            "--why": why,
            "--timed-out": timed_out,
        }
        with (
            spark_session(master=master, conf=conf, remote=remote, verbose=verbose)
            if engine == "spark"
            else nullcontext()
        ):
            run_pipeline(
                pipeline,
                [option for option, value in own.items() if value],
                engine=engine or DEFAULT,
                types=type,
                out=out,
                format=format,
                on_error=on_error,
                outbox=outbox,
            )
        return
    if not events:
        raise UsageError(error("usage", "no events are named", hint="--events FILE"))
    from cepheid.cli.terminal.output import FORMATS, output_of, spare, spare_inputs
    from cepheid.engines.common.table_names import is_table
    from cepheid.io import expand
    from cepheid.io.source import placement

    form = None if format is None else one_of(FORMATS, format, "--format")
    skips_errors = one_of(("fail", "skip"), on_error, "--on-error") == "skip"
    drops_late = one_of(("fail", "drop"), late, "--late") == "drop"
    asked = one_of((AUTO, *ENGINES), engine or AUTO, "--engine")
    place = placement(type_column, time, unit, sequence, renaming(map), zone)
    strict = extra_of(extra)
    begin = None if start is None else time_of(start, "--start")
    finish = None if end is None else time_of(end, "--end")
    inputs = [*programs, *expand(name for name in events if not is_table(name))]
    # Parsers and engines are loaded only now: that takes longer than to say what is wrong so far.
    from cepheid import verbs
    from cepheid.actions import actions_of
    from cepheid.cli.action_sink import ActionSink
    from cepheid.cli.standard_input import Feed, print_stream

    program = load(programs)
    is_stream = events == [STANDARD_INPUT] and not program.tree.classes and _has_no(zone)
    output = output_of(out, form, why=why, is_stream=is_stream)
    chosen = chosen_types(program, type)
    spare_inputs(output, chosen, inputs)
    spare("--record", filter(None, [record]), inputs)
    name = _engine(asked, events, runs_here=is_stream or why)
    listener().accepted(program, state=State.RUNNING)
    if is_stream:
        feed = Feed(
            program,
            verbs.open(
                program, start=begin, engine=name, timed_out=timed_out, why=why, extra=strict
            ),
            skips_errors=skips_errors,
            drops_late=drops_late,
            placement=place,
            until=finish,
            optional=optional or (),
        )
        print_stream(feed, chosen, output, outbox)
        return
    from cepheid.cli.terminal import run_messages
    from cepheid.cli.terminal.progress import ProgressBar

    with ExitStack() as stack, ActionSink(outbox) as sink:
        if name == "spark":
            run_messages.on_engine(name, is_asked_for=True)  # it takes its time to start
            stack.enter_context(
                spark_session(
                    master=master,
                    conf=conf,
                    remote=remote,
                    verbose=verbose,
                    is_brief=are_small(inputs) and not any(is_table(name) for name in events),
                )
            )
        progress = stack.enter_context(ProgressBar())
        stack.enter_context(quiet())
        result = verbs.run(
            program,
            *events,
            type=place.type,
            time=place.time,
            unit=place.unit,
            sequence=place.sequence,
            columns=place.columns,
            optional=optional or (),
            extra=strict,
            start=begin,
            zone=zone,
            engine=name,
            timed_out=timed_out,
            why=why,
            on_error="skip" if skips_errors else "fail",
            chronon=chronon,
            end=finish,
            outages=outages or (),
            window=window,
            after_freeze=after_freeze,
            progress=progress,
        )
        sink.put(actions_of(program, result))
    _record(result, chosen, record)
    _report(result, chosen, output)
    if asked == AUTO and name != "spark":
        run_messages.on_engine(name, is_asked_for=engine is not None)


def _has_no(zone: str | None) -> bool:
    if zone is not None:
        hint = "write times with their zone, as 2026-01-31T12:00:00+01:00"
        raise UsageError(error("usage", "standard input takes no --zone", hint=hint))
    return True


@contextmanager
def quiet() -> Iterator[None]:
    """Findings about a run are printed like all others, not as warnings of Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)
        yield


def _engine(asked: str, events: Sequence[str], *, runs_here: bool) -> str:
    """The engine that was asked for, or the one that suits the input."""
    from cepheid.verbs import engine_for

    if asked != AUTO:
        return asked
    return DEFAULT if runs_here else engine_for(events)


def time_of(text: str, option: str) -> str | float:
    """A number of seconds or an ISO 8601 text, known to be a time."""
    from cepheid.engines.common.clock import instant_of

    try:
        time: str | float = int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        time = text
    try:
        instant_of(time)
    except InputError as wrong:
        hint = "write ISO 8601, such as 2026-01-01T00:09:00Z, or a number of seconds"
        facts = (f"{option}: {problem.message}" for problem in wrong.diagnostics)
        raise UsageError(*(error("usage", fact, hint=hint) for fact in facts)) from None
    return time


def chosen_types(program: Program, names: Sequence[str] | None) -> list[str]:
    """The derived types to print, in the order of the program; classes only where they are named."""
    resolved = program.resolve()
    classes = {each.name: None for each in program.tree.classes}
    actions = (reaction.action for each in program.tree.classes for reaction in each.reactions)
    targets = (s.target for s in resolved.statements if s.target not in classes)
    derived = list(dict.fromkeys([*actions, *targets]))
    for name in names or ():
        if name not in derived and name not in classes:
            listed = [("derived types", derived), ("classes", list(classes))]
            hint = "; ".join(f"{what}: {', '.join(each)}" for what, each in listed if each)
            raise UsageError(error("usage", f"nothing derives '{name}'", hint=hint))
    return [name for name in (*derived, *classes) if (name in names if names else name in derived)]


def _record(result: Result, chosen: Sequence[str], file: str | None) -> None:
    """What became known, for another program."""
    if file is None:
        return
    from cepheid.io.encode import to_json
    from cepheid.verbs.rounds import RoundsResult

    if not isinstance(result, RoundsResult):
        fact = "the program has no classes, of which something becomes known"
        raise UsageError(error("usage", fact, hint="leave out --record"))
    lines = result.history(*(name for name in chosen if name in result.classes))
    write_file(file, "".join(f"{to_json(line)}\n" for line in lines))


def _report(result: Result, chosen: Sequence[str], output: Output) -> None:
    from cepheid.cli.terminal import run_messages
    from cepheid.cli.terminal.output import write
    from cepheid.verbs.rounds import RoundsResult

    rows = rows_of(result, chosen)
    counts = Progress(events=result.taken, rows=len(rows), rejected=len(result.skipped))
    listener().progressed(counts)
    listener().found(rows, why=output.why)
    write(rows, chosen, result.types, output)
    if output.is_table:
        run_messages.on_types(result.counts(), result.types, result.taken)
    run_messages.on_notes(result.notes)
    run_messages.on_order(result.moved)
    run_messages.on_skipped(len(result.skipped), result.skipped)
    if not rows:
        run_messages.on_nothing(result.taken, result.steps)
    if isinstance(result, RoundsResult):
        run_messages.on_rounds(result, are_rows=bool(rows))


def rows_of(result: Result, chosen: Sequence[str]) -> Sequence[Event]:
    """The rows of the chosen types, in their order."""
    from cepheid.io.rows import of_types

    is_all = set(chosen) >= set(result.derived)
    rows = result.events if is_all else of_types(result.events, chosen)
    classes = [name for name in chosen if name not in result.derived]
    if not classes:
        return rows
    known = [row for name in classes for row in result.of(name)]
    return sorted([*known, *rows], key=lambda row: row.instant)
