"""What a graph at work looks like: consumers, queues, load."""

from __future__ import annotations

from rich.console import Group, RenderableType

from cepheid.cli.graph.tables import metrics_table, queues_table, summary_line
from cepheid.realtime.dispatcher import Dispatcher


def view_of(dispatcher: Dispatcher) -> RenderableType:
    metrics = dispatcher.snapshot()
    parts: list[RenderableType] = [metrics_table(metrics), queues_table(metrics)]
    parts.append(summary_line(metrics))
    if dispatcher.troubles:
        last = dispatcher.troubles[-1]
        parts.append(
            f"{len(dispatcher.troubles)} failures, the last of {last.operator}: {last.reason}"
        )
    return Group(*parts)
