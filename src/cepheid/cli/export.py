"""`cepheid export`: a program in the form of another tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.options import Programs, load, one_of, write_file
from cepheid.errors import ProgramError, Severity, UsageError, error

if TYPE_CHECKING:
    from cepheid.program.resolved import ResolvedProgram

STANDARD_OUTPUT = "-"


def _maude(program: ResolvedProgram) -> str:
    from cepheid.formal.maude.specify import specify

    specification = specify(program)
    for attribute in specification.beforehand:
        typer.echo(f"evaluated beforehand: {attribute}", err=True)
    return specification.source()


# What a program can be turned into.
FORMATS: dict[str, Callable[[ResolvedProgram], str]] = {
    "maude": _maude,
}


def export(
    programs: Programs,
    to: Annotated[str, typer.Option(metavar="NAME", help=f"What to write: {', '.join(FORMATS)}.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="'-', or a file.")] = "-",
) -> None:
    """Write a program in the form of another tool.

    maude is a specification for Maude, whole and ready to run: event types,
    the meaning of patterns and windows as equations, a rule per statement.

      cepheid export alarms.epl --to maude --out alarms.maude
    """
    form = FORMATS[one_of(tuple(FORMATS), to, "--to")]
    if out in programs:
        fact = f"--out would overwrite '{out}', which is read"
        raise UsageError(error("usage", fact, hint="choose another name"))
    resolved = load(programs).resolve()
    wrong = [p for p in resolved.problems if p.severity is Severity.ERROR]
    if wrong:
        raise ProgramError(*wrong)
    text = form(resolved)
    if out == STANDARD_OUTPUT:
        typer.echo(text, nl=False)
    else:
        write_file(out, text)
