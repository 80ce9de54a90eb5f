"""Tables of graphs: what is predicted, what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from cepheid.cli.terminal.text_table import Column, TextTable
from cepheid.realtime.drawing import shown_time

if TYPE_CHECKING:
    from cepheid.realtime.bench import Point
    from cepheid.realtime.checking import Checked
    from cepheid.realtime.metrics import Metrics
    from cepheid.realtime.prediction.forecast import Forecast, Prediction


def prediction_table(prediction: Prediction) -> TextTable:
    heads = ("priority", "deadline", "bound", "holds up to")
    table = TextTable(
        [Column("consumer"), *(Column(head, "right") for head in heads), Column("verdict")]
    )
    for name, each in prediction.consumers.items():
        deadline = each.consumer.deadline
        table.add(
            name,
            str(each.consumer.priority),
            "" if deadline is None else shown_time(deadline),
            "none" if each.bound is None else shown_time(each.bound),
            f"{each.limit:.3g} times",
            Text("in time", "green") if each.holds else Text(_verdict(each), "yellow"),
        )
    return table


def _verdict(forecast: Forecast) -> str:
    if forecast.bound is None:
        return "no bound"
    if not forecast.is_timely:
        return "may be late"
    if forecast.may_expire:
        return "may expire"
    return f"may lose events of {', '.join(forecast.losing)}"


def metrics_table(metrics: Metrics) -> TextTable:
    heads = ("priority", "delivered", "late", "p50", "p99", "p99.9", "max")
    table = TextTable([Column("consumer"), *(Column(head, "right") for head in heads)])
    for name, each in metrics.consumers.items():
        found = each.latencies
        shares = (0.5, 0.99, 0.999, 1.0)
        table.add(
            name,
            str(each.consumer.priority),
            f"{each.count:,}",
            f"{each.late:,}",
            *(shown_time(found.quantile(share)) if found.count else "" for share in shares),
        )
    return table


def losses_line(metrics: Metrics) -> str:
    """What was released before its time, by cause."""
    causes = sorted({cause for _, cause in metrics.released})
    return ", ".join(f"{metrics.lost(cause):,} {cause}" for cause in causes) or "nothing lost"


def summary_line(metrics: Metrics) -> str:
    left = f"; {metrics.left:,} jobs were left at the end" if metrics.left else ""
    return (
        f"{metrics.seconds:.3g} s, processors {metrics.utilisation:.0%} busy, "
        f"{metrics.timely_throughput:.3g} Mbit/s in time; {losses_line(metrics)}{left}"
    )


def queues_table(metrics: Metrics) -> TextTable:
    heads = ("InputQ", "PendingQ", "MovingQ")
    table = TextTable([Column("priority"), *(Column(head, "right") for head in heads)])
    for level, lengths in metrics.waiting.items():
        table.add(str(level), *(f"{length:,}" for length in lengths))
    return table


def nodes_table(found: Checked) -> TextTable:
    """Sources by priority, with what follows from the shape of the graph."""
    from cepheid.realtime.graph import Operator
    from cepheid.realtime.operators.kinds import KINDS

    graph = found.graph
    table = TextTable(
        [
            Column("priority", "right"),
            Column("source"),
            Column("kind"),
            Column("reads"),
            Column("makes"),
            Column("ring", "right"),
            Column("GIL"),
            Column("state"),
        ]
    )
    sources = sorted(graph.sources.values(), key=lambda each: graph.levels.get(each.name, 10**9))
    for each in sources:
        level, makes = str(graph.levels.get(each.name, "none")), str(found.payloads[each.name])
        ring = str(graph.rings[each.name])
        if isinstance(each, Operator):
            gil = "released" if found.works[each.name].releases_gil else "held"
            state = "kept" if KINDS[each.kind].is_stateful else ""
            reads = ", ".join(each.inputs)
            table.add(level, each.name, each.kind, reads, makes, ring, gil, state)
        else:
            table.add(level, each.name, "supplier", "", makes, ring, "", "")
    return table


def bench_table(points: Sequence[Point], consumers: Sequence[str]) -> TextTable:
    """A line for each consumer, as all of them beside each other fit on few screens."""
    table = TextTable(
        [
            Column("load", "right"),
            Column("copies", "right"),
            Column("graph"),
            Column("busy", "right"),
            Column("Mbit/s", "right"),
            Column("consumer"),
            Column("in time", "right"),
            Column("p50", "right"),
            Column("p99", "right"),
        ]
    )
    for point in points:
        head = [
            f"{point.load:.0%}",
            str(point.copies),
            point.name,
            f"{point.utilisation:.0%}",
            f"{point.throughput:,.3g}",
        ]
        for name in consumers:
            found = point.latencies(name)
            shares = (0.5, 0.99)
            times = (shown_time(found.quantile(share)) if found.count else "" for share in shares)
            table.add(*head, name, f"{point.timely(name):,}", *times)
            head = [""] * len(head)
    return table
