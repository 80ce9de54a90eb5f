"""Pictures of a bench: latencies and throughput over the load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cepheid.drawing.plots import BLUE, GREEN, ORANGE, VIOLET, write_plots
from cepheid.realtime.bench import Point

_COLOURS = (BLUE, ORANGE, GREEN, VIOLET)
_MS = 1_000_000


def draw(points: Sequence[Point], consumers: Sequence[str], folder: str | Path) -> list[Path]:
    """Writes the pictures into a folder."""
    figures: dict[str, Callable[[], Any]] = {
        "latency.png": lambda: _latency(points, consumers),
        "throughput.png": lambda: _throughput(points),
    }
    return write_plots(figures, folder)


def _lines(points: Sequence[Point]) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(point.name, []).append(point)
    return found


def _latency(points: Sequence[Point], consumers: Sequence[str]) -> Any:
    """A panel for each consumer: medians as lines, up to the 99th percentile as areas."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    figure = Figure(figsize=(3.2 * len(consumers), 2.8), layout="constrained")
    panels = figure.subplots(1, len(consumers), squeeze=False)[0]
    for panel, consumer in zip(panels, consumers, strict=True):
        for colour, (name, line) in zip(_COLOURS, _lines(points).items(), strict=False):
            known = [(p.load, p.latencies(consumer)) for p in line]
            loads = [100 * load for load, each in known if each.count]
            medians = [each.quantile(0.5) / _MS for _, each in known if each.count]
            tails = [each.quantile(0.99) / _MS for _, each in known if each.count]
            panel.plot(loads, medians, "o-", color=colour, markersize=3, label=name)
            panel.fill_between(loads, medians, tails, color=colour, alpha=0.15, linewidth=0)
        panel.set_title(consumer)
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter("")
        panel.set_xlabel("load (%)")
    panels[0].set_ylabel("latency (ms): median, up to p99")
    _with_legend(figure, panels[-1])
    return figure


def _throughput(points: Sequence[Point]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 2.8), layout="constrained")
    panel = figure.subplots()
    for colour, (name, line) in zip(_COLOURS, _lines(points).items(), strict=False):
        loads = [100 * point.load for point in line]
        panel.plot(
            loads, [p.throughput for p in line], "o-", color=colour, markersize=3, label=name
        )
    panel.set_xlabel("load (%)")
    panel.set_ylabel("Mbit/s in time")
    panel.set_ylim(bottom=0)
    _with_legend(figure, panel)
    return figure


def _with_legend(figure: Any, panel: Any) -> None:
    """Below all panels: it covers nothing."""
    lines, names = panel.get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=len(names), frameon=False)
