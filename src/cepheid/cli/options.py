"""Arguments and options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

from cepheid.cli.terminal.help import PlainCommand
from cepheid.core.program_file import read_program_text
from cepheid.core.whole_file import whole_file
from cepheid.errors import UsageError, error, reason_of

if TYPE_CHECKING:
    from cepheid.verbs import Program

Name = TypeVar("Name", bound=str)


def _there(paths: list[str] | None) -> list[str] | None:
    """The programs, told what is wrong with a path before parsers are loaded, which takes longer."""
    for path in paths or ():
        if os.path.isdir(path):
            fact, hint = f"'{path}' is a folder, not a program", "name the program files in it"
            raise UsageError(error("usage", fact, hint=hint))
        if not os.path.exists(path):  # what is there is read once: it may be a pipe
            read_program_text(path)
    return paths


_PROGRAMS = typer.Argument(
    metavar="PROGRAM",
    help="Files of a program; several files form one program.",
    show_default=False,
    callback=_there,
)
Programs: TypeAlias = Annotated[list[str], _PROGRAMS]
ProgramsIfAny: TypeAlias = Annotated[list[str] | None, _PROGRAMS]
PipelineFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--pipeline",
        "-p",
        metavar="FILE",
        help="A file that connects sources, programs and executors.",
        show_default="cepheid.toml, if nothing else is named",
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")]


class ManyValues(PlainCommand):
    """A command whose repeatable options also take several values: `--events a.csv b.csv`.

    So a glob that the shell expands names event files, all of them. The values end at the next
    option and at a program, which is told by its suffix.
    """

    many: Sequence[str] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(self._repeated(args)))

    def _repeated(self, args: list[str]) -> Iterable[str]:
        option: str | None = None
        is_first = False  # the value that the option has anyway
        for arg in args:
            if arg.startswith("-") and arg != "-":
                option = arg if arg in self.many else None
                is_first = True
            elif option is not None and not is_first and _is_program(arg):
                option = None
            elif option is not None and not is_first:
                yield option
            else:
                is_first = False
            yield arg


def _is_program(path: str) -> bool:
    from cepheid.lang import is_program

    return is_program(path)


def one_of(known: Sequence[Name], name: str, option: str) -> Name:
    """The value of an option that has only these."""
    for each in known:
        if each == name:
            return each
    fact, hint = f"'{name}' is no value of {option}", f"choose from {', '.join(known)}"
    raise UsageError(error("usage", fact, hint=hint))


def load(paths: Sequence[str]) -> Program:
    """One program from the files of an argument."""
    from cepheid.verbs import load as load_program

    return load_program(*paths)


def write_file(file: str, text: str) -> None:
    """Writes a text and the folders that lead to it; UsageError where that fails, and the old file stays."""
    try:
        path = Path(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as draft:
            draft.write_text(text, encoding="utf-8", newline="\n")
    except OSError as problem:
        fact = f"cannot write '{file}': {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None
