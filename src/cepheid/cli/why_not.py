"""`cepheid why-not`: what kept a statement from giving a row."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from cepheid.cli.exits import FOUND
from cepheid.cli.options import AsJson, ManyValues, Programs, load
from cepheid.cli.run import Events, Start, Zone, quiet, time_of
from cepheid.cli.source_options import Optional
from cepheid.errors import UsageError, error


class WhyNotCommand(ManyValues):
    many = ("--events", "-e", "--optional")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_two_times(args)))


BETWEEN = "--between"


def _two_times(args: list[str]) -> list[str]:
    """`--between T1 T2` as two options, since an option has one value."""
    given = list(args)
    if BETWEEN in given:
        place = given.index(BETWEEN)
        if place + 2 < len(given) and not given[place + 2].startswith("--"):
            given.insert(place + 2, BETWEEN)
    return given


Named = Annotated[
    str, typer.Option("--statement", "-s", metavar="NAME", help="The statement that gave no row.")
]
At = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="When: ISO 8601 or seconds.", show_default="ever"),
]
Between = Annotated[
    list[str] | None,
    typer.Option(BETWEEN, metavar="TIME TIME", help="From when to when.", show_default=False),
]
Nth = Annotated[
    int | None,
    typer.Option(
        "--event",
        metavar="N",
        min=1,
        help="With the N-th event, counted from 1.",
        show_default=False,
    ),
]
Most = Annotated[
    int,
    typer.Option(metavar="N", min=1, help="Try all sets of so many parts of the statement."),
]
All = Annotated[bool, typer.Option("--all", help="Show all that was found, not the nearest alone.")]


def why_not(
    programs: Programs,
    events: Events,
    statement: Named,
    at: At = None,
    between: Between = None,
    event: Nth = None,
    start: Start = None,
    zone: Zone = None,
    optional: Optional = None,
    most: Most = 3,
    all: All = False,
    as_json: AsJson = False,
) -> None:
    """Tell why a statement gave no row.

    Names the smallest sets of parts of the statement without which there would
    have been a row, the nearest first: conditions that failed with their
    values, timers, forbidding events, events that were missing. Where another
    statement derives what is missing, it is asked in turn. Exits with 1 if
    there was a row.

      cepheid why-not bikes.epl --events rides.jsonl --statement Crash
      cepheid why-not bikes.epl --events rides.jsonl --statement Crash --event 312
      cepheid why-not bikes.epl --events rides.jsonl --statement Crash \\
          --between 2017-03-01T10:00:00Z 2017-03-01T10:01:00Z
    """
    from cepheid.cli.run import STANDARD_INPUT
    from cepheid.cli.terminal.absence import NEAREST, print_absence
    from cepheid.cli.terminal.console import out
    from cepheid.cli.terminal.progress import ProgressBar
    from cepheid.io.encode import to_json
    from cepheid.verbs.absence import explain_absence

    if events == [STANDARD_INPUT]:
        hint = "write the events to a file first"
        raise UsageError(error("usage", "standard input is read once, and not again", hint=hint))
    program = load(programs)
    with ProgressBar() as progress, quiet():
        found = explain_absence(
            program,
            tuple(events),
            statement,
            at=None if at is None else time_of(at, "--at"),
            between=_times(between),
            event=event,
            start=None if start is None else time_of(start, "--start"),
            zone=zone,
            optional=optional or (),
            most=most,
            progress=progress,
        )
    if as_json:
        typer.echo(to_json(found.to_json()))
    else:
        print_absence(found, out(), most=sys.maxsize if all else NEAREST)
    if found.rows:
        raise typer.Exit(FOUND)


def _times(given: list[str] | None) -> tuple[str | float, str | float] | None:
    if given is None or not given:
        return None
    if len(given) != 2:
        hint = f"{BETWEEN} 2026-01-01T00:00:00Z 2026-01-01T01:00:00Z"
        raise UsageError(error("usage", f"{BETWEEN} takes two times", hint=hint))
    first, last = (time_of(each, BETWEEN) for each in given)
    return first, last
