"""`cepheid explain`: what Cepheid makes of a program, stage by stage."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.exits import FOUND
from cepheid.cli.options import AsJson, ProgramsIfAny, load, write_file
from cepheid.errors import CATALOGUE, Severity, UsageError, error, suggest
from cepheid.explanations import explanations

if TYPE_CHECKING:
    from cepheid.cli.stages import Stage
    from cepheid.verbs import Program

STAGES = "parse, program, types, graph, normal, automaton, plan, lifespans, matcher or memory"


def explain(
    programs: ProgramsIfAny = None,
    stage: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"{STAGES}.", show_default="an overview"),
    ] = None,
    code: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Explain the code of a finding.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    draw: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write a picture of the stage graph or automaton: .svg.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show how Cepheid understands a program.

    The stages: parse, the declarations as they were read; program, each
    statement with its names and types resolved; types, all event types and
    who derives them; graph, what is derived from what; normal, what the
    source of each statement waits for, in few words; automaton, the states
    of complex events and what leads from one to another; plan, how the events
    of each statement can be split without changing its rows, how long they
    matter, what it keeps, and which statements run together, and how classes
    are kept up to date; lifespans, how long windows keep the events of
    classes, with the derivation; matcher, the machine form that the compiled matcher runs, and what it leaves to the
    reference semantics; memory, what lies in the memory of the machine
    when the program has begun.

      cepheid explain alarms.epl
      cepheid explain alarms.epl --stage graph
      cepheid explain alarms.epl --stage program --json
      cepheid explain travel.bicepl --stage lifespans
      cepheid explain tolerance.vepl --stage automaton --draw tolerance.svg
      cepheid explain --code unbound-tag
    """
    if code is not None:
        _explain_code(code, as_json=as_json)
    elif not programs:
        hint = "cepheid explain PROGRAM, or cepheid explain --code unbound-tag"
        raise UsageError(error("usage", "nothing to explain", hint=hint))
    else:
        chosen = _stage(stage)
        picture = _picture(chosen, draw)
        program = load(programs)
        _explain(program, chosen, as_json=as_json)
        if draw is not None and picture is not None:
            write_file(draw, picture(program))


def _stage(name: str | None) -> Stage:
    from cepheid.cli.stages import OVERVIEW, STAGES

    if name is None:
        return OVERVIEW
    if name not in STAGES:
        hint = suggest(name, STAGES, "stages")
        raise UsageError(error("usage", f"no stage '{name}'", hint=hint))
    return STAGES[name]


def _picture(stage: Stage, file: str | None) -> Callable[[Program], str] | None:
    """How to draw a stage, if that is asked for."""
    if file is None:
        return None
    if stage.draw is None:
        raise UsageError(
            error("usage", "there is no picture of this", hint="--stage graph or --stage automaton")
        )
    if Path(file).suffix != ".svg":
        fact = f"no picture can be written as '{file}'"
        raise UsageError(error("usage", fact, hint="name an .svg file"))
    return stage.draw


def _explain_code(code: str, *, as_json: bool) -> None:
    if code not in CATALOGUE:
        hint = suggest(code, CATALOGUE, "codes")
        raise UsageError(error("usage", f"no finding has the code '{code}'", hint=hint))
    explained = explanations()[code]
    if as_json:
        typer.echo(json.dumps({"meaning": CATALOGUE[code], **asdict(explained)}))
        return
    example = indent(explained.example.rstrip(), "    ")
    parts = (f"{code}: {CATALOGUE[code]}", explained.cause, example, explained.fix)
    typer.echo("\n\n".join(parts))


def _explain(program: Program, stage: Stage, *, as_json: bool) -> None:
    """A wrong program is explained, too, as far as it goes, and then what is wrong with it."""
    from rich.text import Text

    from cepheid.cli.terminal.console import err, out
    from cepheid.cli.terminal.diagnostics import show
    from cepheid.verbs import CHECKS

    if as_json:
        typer.echo(json.dumps(stage.data(program), indent=2, ensure_ascii=False))
    else:
        console = out()
        for part in stage.text(program):
            console.print(part, soft_wrap=isinstance(part, Text))
    errors = [f for f in program.check(without=CHECKS) if f.severity is Severity.ERROR]
    if errors:
        show(errors, err())
        raise typer.Exit(FOUND)
