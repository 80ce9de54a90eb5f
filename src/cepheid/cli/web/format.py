"""`cepheid web format`: wrappers in lines."""

from __future__ import annotations

from typing import Annotated

import typer

from cepheid.cli.exits import FOUND
from cepheid.cli.options import write_file


def format_wrappers(
    wrappers: Annotated[
        list[str], typer.Argument(metavar="WRAPPER", help="Files (.oxpath).", show_default=False)
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 if a file would change.")
    ] = False,
) -> None:
    """Rewrite wrappers, a line for each page and each predicate that extracts.

    Files are rewritten in place; comments are kept, and nothing but blanks
    changes.

      cepheid web format arrivals.oxpath
      cepheid web format --check *.oxpath
    """
    from cepheid import web

    found = [web.load(file) for file in wrappers]
    changed = [each for each in found if each.formatted() != each.text]
    for each in changed:
        file = str(each.file)
        if not check:
            write_file(file, each.formatted())
        typer.echo(f"{'would change' if check else 'formatted'} {file}", err=True)
    if check and changed:
        raise typer.Exit(FOUND)
