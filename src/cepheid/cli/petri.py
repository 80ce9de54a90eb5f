"""`cepheid petri`: the Petri net of a program, step by step."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cepheid.cli.export import take_in_files
from cepheid.cli.options import ManyValues, Programs
from cepheid.cli.terminal.help import PlainCommand, PlainGroup
from cepheid.errors import CepheidError, UsageError, error

app = typer.Typer(cls=PlainGroup, rich_markup_mode=None, no_args_is_help=True)


class StepCommand(ManyValues, PlainCommand):
    many = ("--events", "-e")


@app.callback()
def petri() -> None:
    """Look into the Petri net of a program."""


@app.command("step", cls=StepCommand)
def step(
    programs: Programs,
    events: Annotated[
        list[str],
        typer.Option(
            "--events", "-e", metavar="FILE...", help="Files of events.", show_default=False
        ),
    ],
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--break",
            "-b",
            metavar="TRANSITION",
            help="Stop before this transition fires.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Fire the Petri net of a program step by step.

    Commands are read from standard input, one in a line: step, run, back,
    break, marking and others; help lists them. What every transition keeps
    is checked after each firing.

      cepheid petri step alarms.epl --events monday.jsonl
      echo run | cepheid petri step alarms.epl --events monday.jsonl
    """
    from cepheid.cli.terminal.console import err, out
    from cepheid.cli.terminal.diagnostics import show
    from cepheid.formal.petri.firing.stepping import Stepping

    if "-" in events:
        fact = "standard input has the commands, so the events cannot come from there"
        raise UsageError(error("usage", fact, hint="name a file of events"))
    intake = take_in_files(programs, events)
    if intake.first is None or intake.last is None:
        raise UsageError(error("usage", "there are no events to step through"))
    stepping = Stepping(intake.program, intake.events, intake.first, intake.last)
    for name in at or ():
        stepping.add_breakpoint(name)
    is_asked = sys.stdin.isatty()
    console = out()
    while True:
        if is_asked:
            console.print("net> ", end="")
            sys.stdout.flush()
        line = sys.stdin.readline()
        if not line or line.strip() in ("quit", "exit"):
            return
        try:
            for text in stepping.execute(line):
                console.print(text, soft_wrap=True)
        except CepheidError as problem:
            if not is_asked:
                raise
            show(problem.diagnostics, err())
