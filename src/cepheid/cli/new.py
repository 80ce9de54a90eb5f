"""`cepheid new`: a folder to start from."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from cepheid.errors import UsageError, error, reason_of

_NAME = re.compile(r"\w[\w.-]*")
_BESIDE = ("events.jsonl", "expected.jsonl", "README.md")  # the program


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The name of the program and of its folder.")
    ],
    dir: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="Where to make the folder.")
    ] = Path(),
) -> None:
    """Make a folder with a small program, events and what they must give.

    It runs at once and is a good thing to change and play with.
    Nothing is ever overwritten.

      cepheid new alarms
      cepheid run alarms/alarms.epl --events alarms/events.jsonl
    """
    if not _NAME.fullmatch(name):
        hint = "use letters, digits, '_', '-' and '.'; --dir says where to put it"
        raise UsageError(error("usage", f"'{name}' is not a name for a program", hint=hint))
    from cepheid.lang import DEFAULT

    extension = DEFAULT.extensions[0]
    folder, program = dir / name, f"{name}{extension}"
    try:
        folder.mkdir(parents=True)
        _write(f"program{extension}", folder / program, name, folder)
        for file in _BESIDE:
            _write(file, folder / file, name, folder)
    except FileExistsError:
        hint = "choose another name, or remove it first"
        raise UsageError(error("usage", f"'{folder}' exists", hint=hint)) from None
    except OSError as problem:
        fact = f"cannot write '{folder}': {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None
    typer.echo(f"made {folder}; now try\n")
    typer.echo(f"  cepheid run {folder / program} --events {folder / 'events.jsonl'}")
    typer.echo(f"  cepheid test {folder}")


def _write(source: str, target: Path, name: str, folder: Path) -> None:
    text = (files("cepheid.cli") / "starter" / source).read_text(encoding="utf-8")
    if target.suffix == ".md":
        text = Template(text).substitute(name=name, folder=folder)
    target.write_text(text, encoding="utf-8")
