"""`cepheid debug`: a run step by step, by commands from standard input."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TextIO

import typer

from cepheid.cli.exits import FOUND
from cepheid.cli.options import ManyValues, Programs, load
from cepheid.cli.run import End, Events, Start, TimedOut, Zone, quiet, time_of
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
from cepheid.errors import UsageError, error, reason_of


class DebugCommand(ManyValues):
    many = ("--events", "-e", "--map", "--optional")


CommandFile = Annotated[
    str | None,
    typer.Option(
        "--commands",
        "-c",
        metavar="FILE",
        help="Commands, one a line; lines that begin with # are left out.",
        show_default="standard input",
    ),
]


def debug(
    programs: Programs,
    events: Events,
    commands: CommandFile = None,
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
    timed_out: TimedOut = False,
) -> None:
    """Step through a run, forward and back, and look at what the program keeps.

    Commands step, set breakpoints, show partial matches, windows and timers, and
    try other events; `help` lists them.

      cepheid debug alarms.epl --events monday.jsonl
      cepheid debug alarms.epl --events monday.jsonl --commands fires.txt
    """
    if "-" in events and commands is None:
        fact = "standard input has the commands, not the events"
        raise UsageError(error("usage", fact, hint="--commands FILE"))
    from cepheid.io.source import placement

    place = placement(type_column, time, unit, sequence, renaming(map), zone)
    strict = extra_of(extra)
    begin = None if start is None else time_of(start, "--start")
    finish = None if end is None else time_of(end, "--end")
    program = load(programs)
    # What follows takes longer to load than to say what is wrong so far.
    from cepheid.cli.debug_commands import Commands
    from cepheid.cli.terminal.console import err
    from cepheid.cli.terminal.diagnostics import show
    from cepheid.cli.terminal.progress import ProgressBar
    from cepheid.verbs import debug as debug_program

    with ProgressBar() as progress, quiet():
        debugger = debug_program(
            program,
            *events,
            type=place.type,
            time=place.time,
            unit=place.unit,
            sequence=place.sequence,
            columns=place.columns,
            zone=zone,
            optional=optional or (),
            extra=strict,
            start=begin,
            end=finish,
            timed_out=timed_out,
            progress=progress,
        )
    show(debugger.notes, err())
    with _lines(commands) as lines:
        is_good = Commands(debugger).follow(lines)
    if not is_good:
        raise typer.Exit(FOUND)


@contextmanager
def _lines(file: str | None) -> Iterator[TextIO]:
    if file is None:
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")
        yield sys.stdin
        return
    try:
        lines = open(file, encoding="utf-8", errors="replace")  # noqa: SIM115
    except OSError as problem:
        fact = f"cannot read '{file}': {reason_of(problem)}"
        raise UsageError(error("missing-file", fact)) from None
    with lines:
        yield lines
