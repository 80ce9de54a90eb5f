"""`cepheid graph bench`: a graph under more and more load, with its features and without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.graph.options import (
    File,
    Length,
    Processors,
    TimesFile,
    loaded,
    seconds_of,
    times_of,
)
from cepheid.errors import UsageError, error

if TYPE_CHECKING:
    from cepheid.realtime.graph import Graph
    from cepheid.realtime.metrics import Metrics


def bench(
    file: File,
    length: Length = None,
    processors: Processors = None,
    simulated: Annotated[
        bool, typer.Option("--simulate", help="In virtual time, instead of real runs.")
    ] = False,
    times: TimesFile = None,
    repetitions: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many runs of each.")
    ] = 5,
    plots: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Draw latencies and throughput.", show_default=False),
    ] = None,
) -> None:
    """Measure a graph under more and more load, as its table [bench] says.

    Load comes from copies of streams, as many as this machine needs. Each load
    is measured for the graph as it is and without priorities, sharing or
    shedding, in turns.

      cepheid graph bench examples/fusion/priorities.toml --plots pictures
      cepheid graph bench examples/fusion/sharing.toml --simulate --processors 3
    """
    from cepheid.cli.graph.tables import bench_table
    from cepheid.cli.terminal.console import err, out
    from cepheid.realtime.bench import as_wanted, load_of, measure_all
    from cepheid.realtime.checking import checked
    from cepheid.realtime.running import run, simulate

    found = loaded(file)
    settings = found.bench
    if settings is None:
        hint = '[bench] with copies = ["CONSUMER"] and loads = [0.5, 0.9]'
        raise UsageError(error("usage", f"'{file}' does not say what to measure", hint=hint))
    if plots is not None:
        from cepheid.drawing.plots import require_matplotlib

        require_matplotlib()
    count = processors or found.processors
    known = times_of(checked(as_wanted(found.graph, ())), times)
    seconds = settings.seconds if length is None else seconds_of(length)

    def load(graph: Graph) -> float:
        return load_of(graph, known, count)

    def measure(graph: Graph, seed: int) -> Metrics:
        if simulated:
            return simulate(
                graph, known, seconds=seconds, processors=count, seed=seed, with_values=False
            )
        return run(graph, seconds=seconds, processors=count, seed=seed, times=known).metrics

    points = []
    with err().status("measuring") as status:
        for point in measure_all(found, settings, load, measure, range(repetitions)):
            points.append(point)
            status.update(f"measured a load of {point.load:.0%}, {point.name}")
    consumers = [each.name for each in found.graph.consumers]
    out().print(bench_table(points, consumers))
    if plots is not None:
        from cepheid.realtime.plots import draw

        for picture in draw(points, consumers, plots):
            err().print(f"wrote {picture}", soft_wrap=True)
