"""`cepheid check`: everything that can be said about a program before it runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from cepheid.cli.exits import WRONG_USE, code_of_failure, code_of_findings
from cepheid.cli.options import AsJson, Programs, load
from cepheid.errors import CepheidError, Diagnostic, Severity

if TYPE_CHECKING:
    from cepheid.verbs import Program


def check(programs: Programs, as_json: AsJson = False) -> None:
    """Find mistakes in a program before it runs.

    Reports wrong syntax, unknown names, wrong types and more, all at once,
    each with its place. The exit code is 1 if there are errors or warnings;
    notes are harmless.

      cepheid check alarms.epl
      cepheid check types.epl alarms.epl    several files form one program
      cepheid check alarms.epl --json
    """
    program: Program | None = None
    findings: Sequence[Diagnostic]
    try:
        program = load(programs)
        findings = program.check()
    except CepheidError as wrong:
        if code_of_failure(wrong.diagnostics) == WRONG_USE:
            raise
        findings = sorted(wrong.diagnostics, key=lambda finding: _place(finding, programs))
    if as_json:
        typer.echo(json.dumps([f.to_json() for f in findings], indent=2, ensure_ascii=False))
    else:
        _show(findings, program, programs)
    raise typer.Exit(code_of_findings(findings))


def _place(finding: Diagnostic, programs: Sequence[str]) -> tuple[int, int, int]:
    span = finding.span
    if span is None or span.file not in programs:
        return 0, 0, 0
    return programs.index(span.file), span.line, span.column


def _show(findings: Sequence[Diagnostic], program: Program | None, programs: Sequence[str]) -> None:
    from cepheid.cli.console import out
    from cepheid.cli.show import show

    console = out()
    show(findings, console)
    if program is None:
        console.print(f"{summary(findings)} in {', '.join(programs)}", soft_wrap=True)
    else:
        console.print(f"{summary(findings)}{_extent(program, findings)}", soft_wrap=True)


def summary(findings: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning`, the worst first."""
    from cepheid.cli.console import counted

    counts = Counter(finding.severity for finding in findings)
    worst_first = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
    parts = [
        counted(counts[severity], str(severity)) for severity in worst_first if counts[severity]
    ]
    return ", ".join(parts) or "no findings"


def _extent(program: Program, findings: Sequence[Diagnostic]) -> str:
    from cepheid.cli.console import counted

    statements = counted(len(program.tree.statements), "statement")
    if findings:
        return f" in {statements}"
    return f": {statements}, {counted(len(program.resolve().types), 'event type')}"
