"""`cepheid as-of`: what was known at an instant."""

from __future__ import annotations

from typing import Annotated

import typer

from cepheid.cli.options import ManyValues, Programs, load, one_of
from cepheid.cli.run import (
    AfterFreeze,
    Chronon,
    Events,
    Out,
    Outages,
    OutFormat,
    Start,
    Window,
    time_of,
)
from cepheid.errors import UsageError, error


class AsOfCommand(ManyValues):
    many = ("--events", "-e", "--type", "-t")


Moment = Annotated[
    str, typer.Argument(metavar="TIME", help="ISO 8601 or seconds.", show_default=False)
]
Classes = Annotated[
    list[str] | None,
    typer.Option(
        "--type", "-t", metavar="NAME...", help="Print only these classes.", show_default="all"
    ),
]


def as_of(
    time: Moment,
    programs: Programs,
    events: Events,
    chronon: Chronon,
    type: Classes = None,
    outages: Outages = None,
    start: Start = None,
    out: Out = "-",
    format: OutFormat = None,
    window: Window = "buffering",
    after_freeze: AfterFreeze = "refuse",
) -> None:
    """Print what was known of the events of classes at an instant.

    Each event is as the last round up to that instant knew it; its time is
    the round from which on that held.

      cepheid as-of 2013-01-10T19:00:00Z travel.bicepl -e history.jsonl --chronon 1m
    """
    from cepheid import verbs
    from cepheid.cli.terminal import run_messages
    from cepheid.cli.terminal.output import FORMATS, output_of, spare_inputs, write
    from cepheid.cli.terminal.progress import ProgressBar
    from cepheid.io import expand
    from cepheid.verbs.rounds import RoundsResult

    form = None if format is None else one_of(FORMATS, format, "--format")
    output = output_of(out, form, why=False, is_stream=False)
    moment = time_of(time, "TIME")
    program = load(programs)
    known = [each.name for each in program.tree.classes]
    if not known:
        fact = "the program has no classes, whose events have versions"
        raise UsageError(error("usage", fact))
    chosen = [one_of(known, name, "--type") for name in type or known]
    spare_inputs(output, chosen, [*programs, *expand(events)])
    with ProgressBar() as progress:
        result = verbs.run(
            program,
            *events,
            start=None if start is None else time_of(start, "--start"),
            end=moment,
            chronon=chronon,
            outages=outages or (),
            window=window,
            after_freeze=after_freeze,
            progress=progress,
        )
    assert isinstance(result, RoundsResult)
    rows = [row for row in result.as_of(moment) if row.type in chosen]
    write(rows, chosen, result.types, output)
    if not rows:
        run_messages.remark("nothing was known then")
