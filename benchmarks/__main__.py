"""`python -m benchmarks [NAME...]` runs some of the benchmarks, or all, and shows their figures;
`python -m benchmarks compare OLD NEW [NAME...]` shows how two commits differ in them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated

import typer
from rich.console import Console

from benchmarks import alone
from benchmarks.compare import COMPARED, compare
from benchmarks.measure import Sizes, machine
from benchmarks.report import Figure, save, show

NAMES = (
    *(
        "oracle",
        "whole",
        "whole_spark",
        "files",
        "push",
        "startup",
        "floor",
        "streaming",
        "growth",
        "peer",
    ),
    *("gestures", "nets", "maude", "simulation", "live", "peace", "history_spark", "graphs"),
    *("checks", "debugger", "studio"),
)


def main(
    names: Annotated[list[str] | None, typer.Argument(help=f"of {', '.join(NAMES)}")] = None,
    full: Annotated[bool, typer.Option("--full", help="the largest sizes, too")] = False,
    scale: Annotated[float, typer.Option(help="smaller inputs, to try things out")] = 1.0,
) -> None:
    """How fast Cepheid is, in ratios of what is measured in one run."""
    sizes = Sizes(full, scale)
    figures = _shown(_chosen(names, NAMES), lambda name: alone.figures(name, sizes))
    if any(figure.is_wrong for found in figures for figure in found):
        raise typer.Exit(1)


def beside(
    old: Annotated[str, typer.Argument(help="a commit, or a folder with its sources")],
    new: Annotated[str, typer.Argument(help="another one")],
    names: Annotated[list[str] | None, typer.Argument(help=f"of {', '.join(COMPARED)}")] = None,
    scale: Annotated[float, typer.Option(help="smaller inputs, to try things out")] = 1.0,
) -> None:
    """How long NEW takes, relative to OLD, in pairs of runs that alternate."""
    sizes = Sizes(scale=scale)

    def figures_of(name: str) -> list[Figure]:
        found: list[Figure] = []
        for figure in compare(old, new, name, sizes):  # which may take a while
            print(figure.name, figure.verdict, figure.interval, file=sys.stderr, flush=True)
            found.append(figure)
        return found

    _shown(_chosen(names, COMPARED), figures_of)


def _chosen(names: Sequence[str] | None, known: Sequence[str]) -> Sequence[str]:
    if unknown := [name for name in names or () if name not in known]:
        raise typer.BadParameter(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    return names or known


def _shown(
    names: Sequence[str], figures_of: Callable[[str], list[Figure]]
) -> Iterable[list[Figure]]:
    """Measures, shows and saves."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    here = machine()
    console.print(here)
    figures: dict[str, list[Figure]] = {}
    for name in names:
        console.print(f"{name} ...", style="dim")
        figures[name] = figures_of(name)
        show(name, figures[name], console)
    console.print(f"written to {save(here, figures)}")
    return figures.values()


if __name__ == "__main__":
    if sys.argv[1:2] == ["compare"]:
        del sys.argv[1]
        typer.run(beside)
    else:
        typer.run(main)
