"""`cepheid web check`: what is wrong with a wrapper, without visiting a page."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Annotated

import typer

from cepheid.cli.exits import WRONG_USE, code_of_failure, code_of_findings
from cepheid.cli.options import AsJson, load
from cepheid.cli.web.options import Vars, WrapperFile, variables_of
from cepheid.errors import CepheidError, Diagnostic


def check(
    wrapper: WrapperFile,
    var: Vars = None,
    program: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="A program whose classes the records are of.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find mistakes in a wrapper before it visits a page.

    Reports wrong syntax, unknown functions, markers outside of records, stars
    without end; with --var, variables without a value; with --program, records
    and attributes that its classes do not have.

      cepheid web check arrivals.oxpath
      cepheid web check arrivals.oxpath --var airport=LHR --program travel.bicepl
    """
    from cepheid import web
    from cepheid.cli.check import summary
    from cepheid.cli.terminal.console import out
    from cepheid.cli.terminal.diagnostics import show

    findings: list[Diagnostic]
    needs: list[str] = []
    try:
        found = web.load(wrapper)
        needs = found.variables
        names = variables_of(var) if var else None
        findings = found.check(names, _classes(program) if program else None)
    except CepheidError as wrong:
        if code_of_failure(wrong.diagnostics) == WRONG_USE:
            raise
        findings = list(wrong.diagnostics)
    if as_json:
        typer.echo(json.dumps([f.to_json() for f in findings], indent=2, ensure_ascii=False))
    else:
        console = out()
        show(findings, console)
        asked = f"; needs {', '.join(f'${name}' for name in needs)}" if needs else ""
        console.print(f"{summary(findings)} in {wrapper}{asked}", soft_wrap=True)
    raise typer.Exit(code_of_findings(findings))


def _classes(files: list[str]) -> Mapping[str, Collection[str]]:
    """The classes and types of a program with the names of their attributes."""
    types = load(files).resolve().types
    return {name: [each.name for each in type.attributes] for name, type in types.items()}
