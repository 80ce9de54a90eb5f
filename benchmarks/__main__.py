"""`python -m benchmarks [NAME...]`: runs some of the benchmarks, or all, and shows their figures."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from benchmarks import alone
from benchmarks.measure import Sizes, machine
from benchmarks.report import Figure, save, show

NAMES = (
    *("oracle", "files", "push", "startup", "floor", "streaming", "growth", "peer"),
    *("nets", "maude", "simulation"),
)


def main(
    names: Annotated[list[str] | None, typer.Argument(help=f"of {', '.join(NAMES)}")] = None,
    full: Annotated[bool, typer.Option("--full", help="the largest sizes, too")] = False,
    scale: Annotated[float, typer.Option(help="smaller inputs, to try things out")] = 1.0,
) -> None:
    """How fast Cepheid is, in ratios of what is measured in one run."""
    chosen = names or list(NAMES)
    if unknown := [name for name in chosen if name not in NAMES]:
        raise typer.BadParameter(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    console = Console(width=None if sys.stdout.isatty() else 120)
    here = machine()
    console.print(here)
    figures: dict[str, list[Figure]] = {}
    for name in chosen:
        console.print(f"{name} ...", style="dim")
        figures[name] = alone.figures(name, Sizes(full, scale))
        show(name, figures[name], console)
    console.print(f"written to {save(here, figures)}")  # type: ignore[arg-type]
    if any(figure.is_wrong for found in figures.values() for figure in found):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
