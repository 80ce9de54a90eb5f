"""`cepheid search`: which inputs lead to an event?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.exits import FOUND
from cepheid.cli.options import Programs, load, write_file
from cepheid.errors import UsageError, error

if TYPE_CHECKING:
    from rich.status import Status

    from cepheid.formal.maude.search import OrderAnswer, SearchAnswer


def search(
    programs: Programs,
    within: Annotated[
        str, typer.Option(metavar="DURATION", help="How far to search, such as '10 seconds'.")
    ],
    environment: Annotated[
        str,
        typer.Option(metavar="FILE", help="What may happen: a TOML file with [[input]] tables."),
    ],
    find: Annotated[
        str | None, typer.Option(metavar="EVENT", help="A derived type.", show_default=False)
    ] = None,
    any_order: Annotated[
        bool,
        typer.Option(
            "--any-order",
            help="Instead: do results depend on the order of statements of one priority?",
        ),
    ] = False,
    traces: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many of the shortest traces to give.")
    ] = 1,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="A file for each trace.",
            show_default="print them",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(metavar="N", min=0, help="Give up after so many seconds.")
    ] = 60,
    megabytes: Annotated[
        int, typer.Option(metavar="N", min=100, help="Give up when Maude takes so much memory.")
    ] = 2000,
) -> None:
    """Find the shortest inputs that lead to an event.

    Maude tries every sequence of inputs that the environment allows, the
    shortest first, on the statements behind the event. A trace is an events
    file: `cepheid run` gives the event again. Needs Maude: pip install 'cepheid[maude]'.

      cepheid search bikes.epl --find Crash --within '10 seconds' --environment bikes.toml
      cepheid search bikes.epl --any-order --within '10 seconds' --environment bikes.toml
    """
    from cepheid import verbs

    if (find is None) != any_order:
        fact = "a search is for an event or for a difference"
        raise UsageError(error("usage", fact, hint="give either --find or --any-order"))
    program = load(programs)
    if find is None:
        with _Watch() as watch:
            order = verbs.search_any_order(
                program,
                environment,
                within=within,
                seconds=seconds,
                megabytes=megabytes,
                watch=watch,
            )
        _report_difference(order, within, out)
        return
    with _Watch() as watch:
        answer = verbs.search(
            program,
            environment,
            find,
            within=within,
            traces=traces,
            seconds=seconds,
            megabytes=megabytes,
            watch=watch,
        )
    _report(answer, find, within, out)


class _Watch:
    """A line on standard error that says how far the search is, where someone sees it."""

    def __init__(self) -> None:
        self._status: Status | None = None

    def __enter__(self) -> _Watch:
        if sys.stderr.isatty():
            from cepheid.cli.terminal.console import err

            self._status = err().status("starting Maude")
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, length: int, states: int) -> None:
        if self._status is not None:
            self._status.update(f"{length} events, {states:,} states")


def _report(answer: SearchAnswer, goal: str, within: str, out: str | None) -> None:
    from cepheid.cli.terminal.console import counted

    states = counted(answer.states, "state")
    if not answer.traces:
        names = ", ".join(f"'{name}'" for name in answer.impossible)
        why = f", as none can satisfy {names}" if not answer.states else ""
        typer.echo(f"none within {within}: no inputs lead to {goal}{why} ({states} seen)", err=True)
        return
    _write([trace.lines() for trace in answer.traces], out)
    events = counted(len(answer.traces[0].events), "event")
    found = "1 trace" if len(answer.traces) == 1 else f"{len(answer.traces)} traces"
    typer.echo(f"{found} of {events} to {goal}, none is shorter ({states} seen)", err=True)


def _report_difference(answer: OrderAnswer, within: str, out: str | None) -> None:
    from cepheid.cli.terminal.console import counted
    from cepheid.io.encode import encode, to_json

    seen = counted(answer.states, "state")
    difference = answer.difference
    if difference is None:
        fact = f"within {within}, no results depend on the order of statements"
        typer.echo(f"{fact} ({seen} seen, up to {counted(answer.length, 'event')})", err=True)
        return
    _write([difference.lines()], out)
    events = counted(len(difference.events), "event")
    typer.echo(f"the results of {events} depend on the order of statements:", err=True)
    for word, rows in (("either", difference.one), ("or", difference.other)):
        typer.echo(word if rows else f"{word} nothing", err=True)
        for row in rows:
            typer.echo(f"  {row.statement}: {to_json(encode(row))}", err=True)
    raise typer.Exit(FOUND)


def _write(traces: Sequence[list[str]], out: str | None) -> None:
    for number, lines in enumerate(traces, start=1):
        text = "".join(f"{line}\n" for line in lines)
        if out is None:
            typer.echo(text, nl=False)
        else:
            file = str(Path(out) / f"trace_{number}.jsonl")
            write_file(file, text)
            typer.echo(f"wrote {file}", err=True)
