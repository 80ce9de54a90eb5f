"""Pictures of a bench: latencies and throughput over the load."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cepheid.errors import UsageError, error, reason_of
from cepheid.realtime.bench import Point

_COLOURS = ("#3b6ea5", "#d9822b", "#5c9a5c", "#8e6bb0")
_STYLE: Any = {
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "figure.dpi": 120,
    "font.size": 8,
    "grid.color": "#e6e6e6",
}
_MS = 1_000_000


def require_matplotlib() -> None:
    """Refuse to go on without the library that draws."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        hint = "`pip install 'cepheid[plots]'`"
        raise UsageError(error("no-plots", "Matplotlib is not installed", hint=hint)) from None
    del mpl


def draw(points: Sequence[Point], consumers: Sequence[str], folder: str | Path) -> list[Path]:
    """Writes the pictures into a folder."""
    import matplotlib as mpl

    files = [Path(folder) / name for name in ("latency.png", "throughput.png")]
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with mpl.rc_context(_STYLE):
            _latency(points, consumers).savefig(files[0], bbox_inches="tight")
            _throughput(points).savefig(files[1], bbox_inches="tight")
    except OSError as problem:
        fact = f"cannot write into '{folder}': {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None
    return files


def _lines(points: Sequence[Point]) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(point.name, []).append(point)
    return found


def _latency(points: Sequence[Point], consumers: Sequence[str]) -> Any:
    """A panel for each consumer: medians as lines, up to the 99th percentile as areas."""
    from matplotlib.figure import Figure

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
        panel.set_xlabel("load (%)")
    panels[0].set_ylabel("latency (ms): median, up to p99")
    panels[-1].legend(frameon=False)
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
    panel.legend(frameon=False)
    return figure
