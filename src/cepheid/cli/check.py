"""`cepheid check`: everything that can be said about a program before it runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from cepheid.cli.exits import WRONG_USE, code_of_failure, code_of_findings
from cepheid.cli.options import AsJson, PipelineFile, ProgramsIfAny, load, write_file
from cepheid.errors import CepheidError, Diagnostic, Severity, UsageError, error, note

if TYPE_CHECKING:
    from cepheid.program.graph import Graph
    from cepheid.verbs import Program


Without = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ANALYSIS",
        help="Leave out cycles, priorities, unused, logic, state, retention, windows, traps, nulls or races.",
        show_default=False,
    ),
]


def check(
    programs: ProgramsIfAny = None,
    pipeline: PipelineFile = None,
    as_json: AsJson = False,
    without: Without = None,
    graph: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw what depends on what: .svg, .dot or .json.",
            show_default=False,
        ),
    ] = None,
    witness: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Write the events that show a race, a file for each.",
            show_default=False,
        ),
    ] = None,
    fix_priorities: Annotated[
        bool,
        typer.Option("--fix-priorities", help="Write priorities by level into the programs."),
    ] = False,
    metamodel: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The .ecore file of the models that queries, rules and fixes are about.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Find mistakes in a program before it runs.

    Reports wrong syntax, unknown names, wrong types, cycles, races and more,
    all at once, each with its place. The exit code is 1 if there are errors
    or warnings; notes are harmless.

      cepheid check alarms.epl
      cepheid check types.epl alarms.epl    several files form one program
      cepheid check alarms.epl --json
      cepheid check alarms.epl --graph alarms.svg
      cepheid check alarms.epl --fix-priorities
      cepheid check hosts.vepl hosts.vql --metamodel hosts.ecore
      cepheid check    the pipeline of cepheid.toml, and its programs
    """
    if pipeline is not None or not programs:
        from cepheid.cli.pipeline import check_pipeline

        others = {"--graph": graph, "--metamodel": metamodel, "--fix-priorities": fix_priorities}
        own = {"PROGRAM": programs, **others, "--witness": witness}
        refused = [option for option, value in own.items() if value]
        _report(*check_pipeline(pipeline, refused, without or ()), as_json=as_json)
    draw = _drawing(graph) if graph is not None else None
    program: Program | None = None
    findings: Sequence[Diagnostic]
    try:
        program = load(programs)
        if fix_priorities:
            program = _with_priorities(program)
        findings = program.check(without=without or ())
        findings = [*findings, *_over_models(program, metamodel)]
    except CepheidError as wrong:
        if code_of_failure(wrong.diagnostics) == WRONG_USE:
            raise
        findings = sorted(wrong.diagnostics, key=lambda finding: _place(finding, programs))
    if program is not None and draw is not None and graph is not None:
        write_file(graph, draw(program.graph()))
    if witness is not None:
        _write_witnesses(findings, witness)
    _report(
        findings,
        _extent(program, findings) if program else f" in {', '.join(programs)}",
        as_json=as_json,
    )


def _report(findings: Sequence[Diagnostic], extent: str, *, as_json: bool) -> NoReturn:
    """All findings, and of what; then the end."""
    if as_json:
        typer.echo(json.dumps([f.to_json() for f in findings], indent=2, ensure_ascii=False))
    else:
        from cepheid.cli.terminal.console import out
        from cepheid.cli.terminal.diagnostics import show

        console = out()
        show(findings, console)
        console.print(f"{summary(findings)}{extent}", soft_wrap=True)
    raise typer.Exit(code_of_findings(findings))


def _over_models(program: Program, metamodel: str | None) -> Sequence[Diagnostic]:
    """What a metamodel says of a program; without one, that nothing says it."""
    if metamodel is None:
        return _without_metamodel(program)
    from cepheid.live.ecore import load_metamodel
    from cepheid.live.programs import live_problems

    return live_problems(program.resolve(), load_metamodel(metamodel))


def _without_metamodel(program: Program) -> Sequence[Diagnostic]:
    asking = program.tree.queries
    if not asking:
        return ()
    fact = "the classes and features that queries name were not looked up"
    hint = "name the metamodel: --metamodel FILE.ecore"
    return (note("no-metamodel", fact, asking[0].span, hint),)


def _with_priorities(program: Program) -> Program:
    """Rewrites the files of a program; one that could not run is left as it is."""
    from cepheid.verbs import CHECKS

    if any(f.severity is Severity.ERROR for f in program.check(without=CHECKS)):
        return program
    fixed = program.with_priorities()
    for file, text in fixed.sources.items():
        if text != program.sources[file]:
            write_file(file, text)
            typer.echo(f"wrote priorities into {file}", err=True)
    return fixed


def _drawing(file: str) -> Callable[[Graph], str]:
    """How to draw a graph for a file, by its suffix."""
    from cepheid.drawing.graph import to_dot, to_svg

    ways: dict[str, Callable[[Graph], str]] = {
        ".svg": to_svg,
        ".dot": to_dot,
        ".json": lambda graph: json.dumps(graph.to_json(), indent=2, ensure_ascii=False) + "\n",
    }
    if Path(file).suffix not in ways:
        fact, hint = f"no graph can be written as '{file}'", "name a .svg, .dot or .json file"
        raise UsageError(error("usage", fact, hint=hint))
    return ways[Path(file).suffix]


def _write_witnesses(findings: Sequence[Diagnostic], folder: str) -> None:
    """`race_1.jsonl` and so on, in the order of the findings."""
    shown = [finding for finding in findings if finding.witness]
    for number, finding in enumerate(shown, start=1):
        file = str(Path(folder) / f"race_{number}.jsonl")
        write_file(file, "\n".join([*finding.witness, ""]))
        typer.echo(f"wrote {file}", err=True)


def _place(finding: Diagnostic, programs: Sequence[str]) -> tuple[int, int, int]:
    span = finding.span
    if span is None or span.file not in programs:
        return 0, 0, 0
    return programs.index(span.file), span.line, span.column


def summary(findings: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning`, the worst first."""
    from cepheid.cli.terminal.console import counted

    counts = Counter(finding.severity for finding in findings)
    worst_first = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
    parts = [
        counted(counts[severity], str(severity)) for severity in worst_first if counts[severity]
    ]
    return ", ".join(parts) or "no findings"


def _extent(program: Program, findings: Sequence[Diagnostic]) -> str:
    from cepheid.cli.terminal.console import counted

    tree = program.tree
    others = tree.queries or tree.classes
    parts = [counted(len(tree.statements), "statement")] if tree.statements or not others else []
    parts += [counted(len(tree.classes), "class", "classes")] if tree.classes else []
    parts += [counted(len(tree.queries), "pattern")] if tree.queries else []
    if findings:
        return f" in {', '.join(parts)}"
    types = len(program.resolve().types)
    parts += [counted(types, "event type")] if types or not tree.queries else []
    return f": {', '.join(parts)}"
