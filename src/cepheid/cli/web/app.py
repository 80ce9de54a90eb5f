"""The commands of `cepheid web`."""

from __future__ import annotations

import typer

from cepheid.cli.terminal.help import PlainCommand, PlainGroup
from cepheid.cli.web.check import check
from cepheid.cli.web.extract import extract, try_wrapper
from cepheid.cli.web.format import format_wrappers

app = typer.Typer(cls=PlainGroup, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def web() -> None:
    """Read web pages by wrappers, which say what becomes a record."""


app.command("check", cls=PlainCommand)(check)
app.command("format", cls=PlainCommand)(format_wrappers)
app.command("try", cls=PlainCommand)(try_wrapper)
app.command("extract", cls=PlainCommand)(extract)
