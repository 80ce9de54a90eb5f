"""`cepheid graph explain`: what follows from the shape of a graph."""

from __future__ import annotations

from cepheid.cli.graph.options import File, NoPriorities, NoSharing, loaded, wanted


def explain(file: File, no_sharing: NoSharing = False, no_priorities: NoPriorities = False) -> None:
    """Show the priorities that operators have, and what else follows from a graph.

    A source works for the most important of its consumers. Its ring has room
    for as many events as can be valid at one time. Operators that hold the GIL
    keep other threads of this process from working while they run.

      cepheid graph explain driving.toml
    """
    from cepheid.cli.graph.tables import nodes_table
    from cepheid.cli.terminal.console import out
    from cepheid.realtime.checking import checked
    from cepheid.realtime.graph import shared

    given = loaded(file).graph
    graph = wanted(given, no_sharing=no_sharing, no_priorities=no_priorities)
    console = out()
    console.print(nodes_table(checked(graph)))
    if not no_sharing:
        for same in shared(given)[1]:
            console.print(f"{same.kept} does the work of {', '.join(same.others)}")
