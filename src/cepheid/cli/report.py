"""`cepheid report`: what a program found and why, as a page to hand on."""

from __future__ import annotations

from typing import Annotated

import typer

from cepheid.cli.options import ManyValues, Programs, load, one_of, write_file
from cepheid.cli.run import End, Events, Start, Zone, time_of
from cepheid.cli.source_options import (
    Extra,
    Map,
    Optional,
    TimeColumn,
    TypeColumn,
    Unit,
    extra_of,
    renaming,
)
from cepheid.errors import UsageError, error


class ReportCommand(ManyValues):
    many = ("--events", "-e", "--map", "--optional")


def report(
    programs: Programs,
    events: Events,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="The page.")
    ] = "report.html",
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What stands above it.", show_default="the program"),
    ] = None,
    most: Annotated[
        int, typer.Option(metavar="NUMBER", help="How many matches of a type are listed.", min=0)
    ] = 100,
    time: TimeColumn = None,
    unit: Unit = None,
    map: Map = None,
    type_column: TypeColumn = None,
    optional: Optional = None,
    extra: Extra = "ignore",
    start: Start = None,
    end: End = None,
    zone: Zone = None,
    on_error: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="What to do with events that cannot be read: fail, skip."
        ),
    ] = "fail",
) -> None:
    """Write a page that shows what a program finds in events, and why.

    It has the program, what can be said of it, a timeline, and the matches
    with the events behind them. One file, which opens in every browser and
    needs nothing else: for people who have nothing installed.

      cepheid report alarms.epl --events monday.jsonl -o alarms.html
      cepheid report fraud.epl --events Payment.csv --time at --most 20
    """
    from cepheid.io import expand
    from cepheid.io.source import placement

    skips = one_of(("fail", "skip"), on_error, "--on-error") == "skip"
    if "-" in events:
        fact = "a report reads events twice, and standard input is gone after the first time"
        raise UsageError(error("usage", fact, hint="name files of events"))
    columns = renaming(map)
    place = placement(type_column, time, unit, None, columns, zone)
    inputs = [*programs, *expand(events)]
    from cepheid.cli.terminal.output import spare
    from cepheid.reports import Limits
    from cepheid.reports import report as page_of

    program = load(programs)
    spare("--out", [out], inputs)
    page = page_of(
        program,
        *events,
        title=title,
        limits=Limits(per_type=most),
        type=place.type,
        time=place.time,
        unit=place.unit,
        columns=place.columns,
        zone=zone,
        optional=optional or (),
        extra=extra_of(extra),
        start=None if start is None else time_of(start, "--start"),
        end=None if end is None else time_of(end, "--end"),
        on_error="skip" if skips else "fail",
    )
    write_file(out, page)
    typer.echo(f"wrote {out}")
