"""The commands of `cepheid jobs`."""

from __future__ import annotations

import json
import sys
import time
from typing import Annotated

import typer

from cepheid.cli.exits import FOUND
from cepheid.cli.options import AsJson
from cepheid.cli.terminal.help import PlainCommand, PlainGroup
from cepheid.errors import Diagnostic

app = typer.Typer(cls=PlainGroup, rich_markup_mode=None, no_args_is_help=True)


class StartCommand(PlainCommand):
    """Its own options stand before the command that it starts, whose options are that command's."""

    allow_interspersed_args = False
    ignore_unknown_options = True


Folder = Annotated[str, typer.Option(metavar="DIR", help="Where the records of jobs are.")]
_FOLDER = ".cepheid/jobs"
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a job.", show_default=False)]


@app.callback()
def jobs() -> None:
    """Streams and batches in processes of their own, which go on when you leave.

    Each has a record in a folder: its program, how it is, how far it is, its
    latest rows, and what it printed.
    """


@app.command("start", cls=StartCommand)
def start(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMAND", help="stream or run, with its arguments.", show_default=False
        ),
    ],
    folder: Folder = _FOLDER,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What to call it.", show_default="the program's name and a number"
        ),
    ] = None,
) -> None:
    """Start a stream or a batch in a process of its own.

    What is wrong with its command is said here, and then nothing is started.
    There is one job at a time on a checkpoint.

      cepheid jobs start stream alarms.epl --source files:in --checkpoint state
      cepheid jobs start --name monday run alarms.epl --events monday.jsonl -o alarms.csv
    """
    from cepheid.jobs import Jobs

    job = Jobs(folder).start(command, name=name)
    typer.echo(f"started {job.name}")


@app.command("stop", cls=PlainCommand)
def stop(
    name: Name,
    folder: Folder = _FOLDER,
    within: Annotated[
        str, typer.Option(metavar="PERIOD", help="How long it may take to end in order.")
    ] = "30s",
) -> None:
    """Stop a job: in order, so that its checkpoint is whole, and then by force.

    Either way a stream goes on where it was when it is started again.

      cepheid jobs stop alarms-1
      cepheid jobs stop alarms-1 --within 5s
    """
    from cepheid.cli.stream import period
    from cepheid.core.time import SECOND
    from cepheid.jobs import Jobs

    patience = period(within, "--within").microseconds / SECOND
    job = Jobs(folder).stop(name, within=patience)
    how = " by force" if job.status.by_force else ""
    typer.echo(f"{job.name} is {job.state}{how}")


@app.command("restart", cls=PlainCommand)
def restart(name: Name, folder: Folder = _FOLDER) -> None:
    """Start a job again that has ended; a stream goes on from its checkpoint.

    A program that was changed meanwhile does not fit the checkpoint: it is
    refused, and can be started afresh, with another one.

      cepheid jobs restart alarms-1
    """
    from cepheid.jobs import Jobs

    job = Jobs(folder).restart(name)
    typer.echo(f"started {job.name} again")


@app.command("remove", cls=PlainCommand)
def remove(name: Name, folder: Folder = _FOLDER) -> None:
    """Forget a job that has ended: its record and its log, not its checkpoint.

    cepheid jobs remove alarms-1
    """
    from cepheid.jobs import Jobs

    Jobs(folder).remove(name)
    typer.echo(f"removed {name}")


@app.command("list", cls=PlainCommand)
def list_jobs(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Jobs to show in full.", show_default="all, in short"),
    ] = None,
    folder: Folder = _FOLDER,
    as_json: AsJson = False,
) -> None:
    """Show how jobs are, and how far.

    cepheid jobs list
    cepheid jobs list alarms-1    all there is to say, with its latest rows
    cepheid jobs list --json
    """
    from cepheid.jobs import Jobs, Listing

    known = Jobs(folder)
    listing = Listing(tuple(map(known.job, names))) if names else known.list()
    if as_json:
        found = [job.to_json() for job in listing.jobs]
        sys.stdout.write(f"{json.dumps(found, indent=2, ensure_ascii=False)}\n")
    else:
        from cepheid.cli.jobs.showing import show_in_full, show_table

        if names:
            show_in_full(listing.jobs)
        else:
            show_table(listing.jobs, folder)
    _end(listing.problems)


@app.command("inspect", cls=PlainCommand)
def inspect(name: Name, folder: Folder = _FOLDER, as_json: AsJson = False) -> None:
    """Show what a stream keeps: partial matches, windows, timers.

    It is the state that was committed last, read from the checkpoint while the
    stream runs or when it has ended. That takes a Spark, and so some seconds.

      cepheid jobs inspect alarms-1
      cepheid jobs inspect alarms-1 --json    bucket by bucket
    """
    from cepheid.jobs import Jobs

    found = Jobs(folder).inspect(name)
    if as_json:
        sys.stdout.write(f"{json.dumps(found.to_json(), indent=2, ensure_ascii=False)}\n")
    else:
        from cepheid.cli.jobs.showing import show_state

        show_state(found)


@app.command("log", cls=PlainCommand)
def log(
    name: Name,
    folder: Folder = _FOLDER,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the job has ended.")
    ] = False,
) -> None:
    """Print what a job printed.

    cepheid jobs log alarms-1
    cepheid jobs log alarms-1 --follow
    """
    from cepheid.jobs import Jobs

    for piece in Jobs(folder).log(name, follow=_wait if follow else None):
        sys.stdout.write(piece)
        sys.stdout.flush()


def _wait() -> None:
    time.sleep(0.25)


def _end(problems: tuple[Diagnostic, ...]) -> None:
    if problems:
        from cepheid.cli.terminal.console import err
        from cepheid.cli.terminal.diagnostics import show

        sys.stdout.flush()
        show(problems, err())
        raise typer.Exit(FOUND)
