"""Arguments and options that the commands of graphs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cepheid.core.time import SECOND, parse_length
from cepheid.errors import UsageError, error

if TYPE_CHECKING:
    from cepheid.realtime.calibration import Times
    from cepheid.realtime.checking import Checked
    from cepheid.realtime.graph import Graph
    from cepheid.realtime.reading import GraphFile

File: TypeAlias = Annotated[
    str, typer.Argument(metavar="FILE", help="The graph (TOML).", show_default=False)
]
Length: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="TIME",
        help="How long it runs: 10s, '5 minutes'.",
        show_default="as long as its files have events",
    ),
]
Processors: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="How many work side by side.", show_default="as the graph says"
    ),
]
NoSharing: TypeAlias = Annotated[
    bool, typer.Option("--no-sharing", help="Every consumer has operators of its own.")
]
NoPriorities: TypeAlias = Annotated[
    bool, typer.Option("--no-priorities", help="All consumers are equally important.")
]
Late: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What becomes of late events, for all consumers: mark or shed.",
        show_default="as each consumer says",
    ),
]
TimesFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="How long operators take, as `graph check --save-times` wrote it.",
        show_default="measured now",
    ),
]
Seed: TypeAlias = Annotated[
    int, typer.Option(metavar="N", help="Chance: when suppliers begin, and jitter.")
]


def seconds_of(length: str | None) -> float | None:
    if length is None:
        return None
    try:
        return parse_length(length).microseconds / SECOND
    except ValueError as wrong:
        raise UsageError(error("usage", str(wrong))) from None


def wanted(
    graph: Graph, *, no_sharing: bool, no_priorities: bool = False, late: str | None = None
) -> Graph:
    """The graph as options want it."""
    from cepheid.cli.options import one_of
    from cepheid.realtime.graph import variant

    sheds = None if late is None else one_of(("mark", "shed"), late, "--late") == "shed"
    return variant(graph, sharing=not no_sharing, priorities=not no_priorities, shedding=sheds)


def loaded(file: str) -> GraphFile:
    """A graph with nothing wrong; what is odd about it, `graph check` tells."""
    from cepheid.realtime.reading import load

    return load(file)


def times_of(checked: Checked, file: str | None) -> Times:
    """From a file, or measured now."""
    from cepheid.cli.terminal.console import err
    from cepheid.realtime.calibration import calibrate, load_times

    if file is not None:
        return load_times(file)
    with err().status("measuring how long operators take"):
        return calibrate(checked)
