"""`cepheid test`: a user's own cases."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.exits import FOUND, GOOD
from cepheid.cli.options import AsJson
from cepheid.errors import UsageError, error

if TYPE_CHECKING:
    from rich.console import Console

    from cepheid.cli.test_cases import Outcome, Verdict

_MOST_LINES = 60  # of one diff
_STYLES = {"-": "red", "+": "green", "@": "cyan", " ": ""}
_OUTCOMES: dict[Outcome, str] = {
    "passed": "green",
    "written": "yellow",
    "failed": "red",
    "broken": "red",
}


def run_cases(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER", help="Cases, or folders of cases.", show_default=False),
    ],
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Make the rows of now the expected ones.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run your own cases and show where they differ from what you expect.

    A case is a folder with a program (all its files, such as *.epl), events (all
    files named events.*) and expected.jsonl, the rows that must come out.
    Without expected.jsonl, run --rewrite once and read what it wrote. The
    exit code is 1 if a case fails.

      cepheid test cases/
      cepheid test cases/night cases/day --rewrite
    """
    from cepheid.cli.test_cases import find_cases, judge

    cases = [case for folder in folders for case in find_cases(folder)]
    if not cases:
        from cepheid.lang import extensions

        programs = ", ".join(f"*{extension}" for extension in extensions())
        hint = f"a case is a folder with {programs}, events.* and expected.jsonl"
        names = ", ".join(f"'{folder}'" for folder in folders)
        raise UsageError(error("usage", f"no cases in {names}", hint=hint))
    verdicts = [judge(case, rewrite=rewrite) for case in cases]
    if as_json:
        typer.echo(json.dumps([v.to_json() for v in verdicts], indent=2, ensure_ascii=False))
    else:
        _show(verdicts)
    is_good = all(verdict.outcome in ("passed", "written") for verdict in verdicts)
    raise typer.Exit(GOOD if is_good else FOUND)


def _show(verdicts: Sequence[Verdict]) -> None:
    from cepheid.cli.terminal.console import out

    console = out()
    for verdict in verdicts:
        if verdict.diff or verdict.problems:
            _show_failure(verdict, console)
    _show_table(verdicts, console)
    counts = Counter(verdict.outcome for verdict in verdicts)
    console.print(", ".join(f"{counts[o]} {o}" for o in _OUTCOMES if counts[o]))


def _show_failure(verdict: Verdict, console: Console) -> None:
    from rich.text import Text

    from cepheid.cli.terminal.diagnostics import one_line, show
    from cepheid.cli.test_cases import shown

    console.print(Text(shown(verdict.case.folder), "bold"))
    show(verdict.problems, console)
    for line in verdict.diff[:_MOST_LINES]:
        console.print(Text(one_line(line), _STYLES[line[0]]), soft_wrap=True)
    hidden = len(verdict.diff) - _MOST_LINES
    if hidden > 0:
        console.print(f"... {hidden} more lines", style="dim")
    console.print()


def _show_table(verdicts: Sequence[Verdict], console: Console) -> None:
    from rich.text import Text

    from cepheid.cli.terminal.text_table import Column, TextTable
    from cepheid.cli.test_cases import shown

    table = TextTable([Column("case"), Column("outcome"), Column("rows", "right")])
    for verdict in verdicts:
        outcome = Text(verdict.outcome, _OUTCOMES[verdict.outcome])
        rows = "" if verdict.outcome == "broken" else str(verdict.rows)
        table.add(shown(verdict.case.folder), outcome, rows)
    console.print(table)
