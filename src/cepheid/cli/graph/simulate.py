"""`cepheid graph simulate`: a graph in virtual time."""

from __future__ import annotations

from cepheid.cli.graph.options import (
    File,
    Late,
    Length,
    NoPriorities,
    NoSharing,
    Processors,
    Seed,
    TimesFile,
    loaded,
    seconds_of,
    times_of,
    wanted,
)


def simulate(
    file: File,
    length: Length = None,
    processors: Processors = None,
    no_sharing: NoSharing = False,
    no_priorities: NoPriorities = False,
    late: Late = None,
    times: TimesFile = None,
    seed: Seed = 0,
) -> None:
    """Simulate a graph: the scheduler of real runs, with measured times instead of a clock.

    The same times and the same seed give the same result, on any machine
    and for any number of processors.

      cepheid graph simulate fusion.toml --for 10s --processors 4
      cepheid graph simulate fusion.toml --for 10s --times there.json --no-priorities
    """
    from cepheid.cli.graph.tables import metrics_table, summary_line
    from cepheid.cli.terminal.console import out
    from cepheid.realtime.checking import checked
    from cepheid.realtime.running import simulate as simulate_graph

    found = loaded(file)
    graph = wanted(found.graph, no_sharing=no_sharing, no_priorities=no_priorities, late=late)
    known = times_of(checked(graph), times)
    metrics = simulate_graph(
        graph,
        known,
        seconds=seconds_of(length),
        processors=processors or found.processors,
        seed=seed,
    )
    console = out()
    console.print(metrics_table(metrics))
    console.print(summary_line(metrics), soft_wrap=True)
