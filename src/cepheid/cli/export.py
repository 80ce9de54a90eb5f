"""`cepheid export`: a program in the form of another tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.options import ManyValues, Programs, load, one_of, write_file

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


def _svg(intake: Intake) -> str:
    from cepheid.formal.petri.export.svg import to_svg

    translation, marking = _net(intake)
    return to_svg(translation.net, marking)


# What a program can be turned into.
FORMATS: dict[str, Callable[[Intake], str]] = {
    "maude": _maude,
    "cpn": _cpn,
    "pnml": _pnml,
    "svg": _svg,
}


def export(
    programs: Programs,
    to: Annotated[str, typer.Option(metavar="NAME", help=f"What to write: {', '.join(FORMATS)}.")],
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
) -> None:
    """Write a program in the form of another tool.

    maude is a specification for Maude, whole and ready to run: event types,
    the meaning of patterns and windows as equations, a rule per statement,
    and with events the command that takes them. cpn is a coloured Petri net
    for CPN Tools, pnml the same for other tools that know Petri nets, svg a
    picture of it; events lie in the net at its start.

      cepheid export alarms.epl --to maude --out alarms.maude
      cepheid export alarms.epl --to svg --out alarms.svg
      cepheid export alarms.epl --to cpn --events monday.jsonl -o alarms.cpn
    """
    from cepheid.cli.terminal.output import STANDARD_OUTPUT, spare
    from cepheid.io import expand

    form = FORMATS[one_of(tuple(FORMATS), to, "--to")]
    if out != STANDARD_OUTPUT:
        spare("--out", [out], [*programs, *expand(events or ())])
    text = form(take_in_files(programs, events or []))
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
