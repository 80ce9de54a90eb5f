"""`cepheid export`: a program in the form of another tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.options import ManyValues, Programs, load, one_of, write_file
from cepheid.errors import UsageError, error

if TYPE_CHECKING:
    from cepheid.engines.common.intake import Intake
    from cepheid.formal.petri.nets.net import Marking
    from cepheid.formal.petri.translate import Translation


class ExportCommand(ManyValues):
    many = ("--events", "-e")


def _maude(intake: Intake) -> str:
    from cepheid.formal.maude.specify import specify

    specification = specify(intake.program)
    for attribute in specification.beforehand:
        typer.echo(f"evaluated beforehand: {attribute}", err=True)
    if intake.first is None or intake.last is None:
        return specification.source()
    run = specification.command(intake.events, intake.first, intake.last)
    return f"{specification.source()}\n{run}"


def _net(intake: Intake) -> tuple[Translation, Marking]:
    """The net of a program; its input is in the marking, if there is any."""
    from cepheid.formal.petri.translate import translate

    translation = translate(intake.program)
    first = intake.first or 0
    return translation, translation.marking(intake.events, first, intake.last or first)


def _cpn(intake: Intake) -> str:
    from cepheid.formal.petri.export.cpn.file import to_cpn

    translation, marking = _net(intake)
    spans = {s.name: s.tree.span for s in intake.program.statements}
    return to_cpn(translation.net, marking, spans)


def _pnml(intake: Intake) -> str:
    from cepheid.formal.petri.export.pnml import to_pnml

    translation, marking = _net(intake)
    return to_pnml(translation.net, marking)


@dataclass(frozen=True, slots=True)
class _View:
    """What a picture of a net shows."""

    unfold: tuple[str, ...] = ()
    is_touched: bool = False  # only what a run over the events touches


def _picture(intake: Intake, to: str, view: _View) -> str:
    from cepheid.formal.petri.export.page import to_html, to_svg
    from cepheid.formal.petri.export.units import touched_part

    translation, marking = _net(intake)
    net = touched_part(translation.net, marking) if view.is_touched else translation.net
    return (to_svg if to == "svg" else to_html)(net, marking, view.unfold)


# What a program can be turned into.
FORMATS: dict[str, Callable[[Intake], str]] = {"maude": _maude, "cpn": _cpn, "pnml": _pnml}
PICTURES = ("svg", "html")
NAMES = (*FORMATS, *PICTURES)


def export(
    programs: Programs,
    to: Annotated[str, typer.Option(metavar="NAME", help=f"What to write: {', '.join(NAMES)}.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="'-', or a file.")] = "-",
    events: Annotated[
        list[str] | None,
        typer.Option(
            "--events",
            "-e",
            metavar="FILE...",
            help="Files of events to export along with the program.",
            show_default=False,
        ),
    ] = None,
    unfold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A box of a picture that is open: an operator, a statement, or all.",
            show_default=False,
        ),
    ] = None,
    touched: Annotated[
        bool,
        typer.Option("--touched", help="In a picture: only what a run over the events touches."),
    ] = False,
) -> None:
    """Write a program in the form of another tool.

    maude is a specification for Maude, whole and ready to run: event types,
    the meaning of patterns and windows as equations, a rule per statement,
    and with events the command that takes them. cpn is a coloured Petri net
    for CPN Tools, pnml the same for other tools that know Petri nets; events
    lie in the net at its start. html is a picture of the net in which a box
    for each operator opens, svg one with those boxes open that --unfold names.

      cepheid export alarms.epl --to maude --out alarms.maude
      cepheid export alarms.epl --to html --out alarms.html
      cepheid export alarms.epl --to svg --unfold Fire --out alarms.svg
      cepheid export alarms.epl --to cpn --events monday.jsonl -o alarms.cpn
    """
    from cepheid.cli.terminal.output import STANDARD_OUTPUT, spare
    from cepheid.io import expand

    chosen = one_of(NAMES, to, "--to")
    view = _View(tuple(unfold or ()), touched)
    if chosen in FORMATS and view != _View():
        fact = f"{'--unfold' if unfold else '--touched'} is for pictures"
        raise UsageError(error("usage", fact, hint=f"write --to {' or '.join(PICTURES)}"))
    if touched and not events:
        raise UsageError(error("usage", "--touched needs events to run", hint="name --events"))
    if out != STANDARD_OUTPUT:
        spare("--out", [out], [*programs, *expand(events or ())])
    intake = take_in_files(programs, events or [])
    text = FORMATS[chosen](intake) if chosen in FORMATS else _picture(intake, chosen, view)
    if out == STANDARD_OUTPUT:
        typer.echo(text, nl=False)
    else:
        write_file(out, text)


def take_in_files(programs: list[str], events: list[str]) -> Intake:
    """A program and its events; errors in either end the command."""
    from cepheid.engines.common.intake import take_in
    from cepheid.io import fail, records_of

    resolved = load(programs).resolve()
    records = (record for file in events for record in records_of(file, on_problem=fail))
    return take_in(resolved, records, fail)
