"""The commands of `cepheid graph`."""

from __future__ import annotations

import typer

from cepheid.cli.graph.bench import bench
from cepheid.cli.graph.check import check
from cepheid.cli.graph.explain import explain
from cepheid.cli.graph.run import run
from cepheid.cli.graph.simulate import simulate
from cepheid.cli.terminal.help import PlainCommand, PlainGroup

app = typer.Typer(cls=PlainGroup, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def graph() -> None:
    """Check, run and measure graphs of operators in real time."""


app.command("check", cls=PlainCommand)(check)
app.command("explain", cls=PlainCommand)(explain)
app.command("run", cls=PlainCommand)(run)
app.command("simulate", cls=PlainCommand)(simulate)
app.command("bench", cls=PlainCommand)(bench)
