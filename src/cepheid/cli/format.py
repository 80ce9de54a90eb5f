"""`cepheid format`: programs in canonical form."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from cepheid.cli.exits import FOUND
from cepheid.cli.options import write_file
from cepheid.core.program_file import read_program_text
from cepheid.errors import Diagnostic, ProgramError, UsageError, error

STANDARD_INPUT = "-"

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="PROGRAM",
        help="Files of a program; '-' reads standard input and writes standard output.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class Formatted:
    file: str
    before: str
    after: str

    @property
    def is_changed(self) -> bool:
        return self.before != self.after


def format_programs(
    programs: Files,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 if a file would change.")
    ] = False,
    stdout: Annotated[
        bool, typer.Option("--stdout", help="Print the result instead of changing files.")
    ] = False,
) -> None:
    """Rewrite programs in canonical form; comments are kept.

    Files are rewritten in place. The meaning never changes, and a file with
    wrong syntax is left as it is.

      cepheid format alarms.epl
      cepheid format --check *.epl      only tells what would change
      cepheid format - < alarms.epl     writes to standard output
    """
    if check and stdout:
        raise UsageError(error("usage", "--check prints no text, so --stdout has nothing to do"))
    results, problems = _format_all(programs)
    for result in results:
        _finish(result, check=check, stdout=stdout)
    if problems:
        raise ProgramError(*problems)
    if check and any(result.is_changed for result in results):
        raise typer.Exit(FOUND)


def _format_all(programs: list[str]) -> tuple[list[Formatted], list[Diagnostic]]:
    """What can be formatted, and what is wrong with the rest."""
    texts = [_read(file) for file in programs]
    from cepheid.lang import DEFAULT, language_of

    results: list[Formatted] = []
    problems: list[Diagnostic] = []
    for file, text in zip(programs, texts, strict=True):
        try:
            language = DEFAULT if file == STANDARD_INPUT else language_of(file)
            after = language.format_text(text, _shown(file))
            results.append(Formatted(file, text, after))
        except ProgramError as wrong:
            problems.extend(wrong.diagnostics)
    return results, problems


def _shown(file: str) -> str:
    return "<stdin>" if file == STANDARD_INPUT else file


def _read(file: str) -> str:
    if file != STANDARD_INPUT:
        return read_program_text(file)
    try:
        return sys.stdin.buffer.read().decode().replace("\r\n", "\n")
    except UnicodeDecodeError as problem:
        line = problem.object[: problem.start].count(b"\n") + 1
        fact = f"standard input is not UTF-8 on line {line}"
        raise UsageError(error("bad-file", fact)) from None


def _finish(result: Formatted, *, check: bool, stdout: bool) -> None:
    if check:
        if result.is_changed:
            typer.echo(f"would change {_shown(result.file)}", err=True)
    elif stdout or result.file == STANDARD_INPUT:
        sys.stdout.write(result.after)
    elif result.is_changed:
        write_file(result.file, result.after)
        typer.echo(f"formatted {result.file}", err=True)
