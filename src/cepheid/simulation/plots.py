"""Pictures of a simulation: how counts are distributed, how means settle, what one run looks like."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cepheid.core.time import SECOND
from cepheid.drawing.plots import BLUE, GREY, ORANGE, write_plots
from cepheid.simulation.curves import edges, running_means
from cepheid.simulation.simulate import Simulation

_ACROSS = 3  # pictures side by side
_HOURS = 3_600 * SECOND
_FEW = 8  # counts that each have a place on the axis


def draw(simulation: Simulation, folder: str | Path, run: int = 0) -> list[Path]:
    """Writes the three pictures into a folder; the timeline is that of one run."""
    figures: dict[str, Callable[[], Any]] = {
        "distribution.png": lambda: _distribution(simulation),
        "convergence.png": lambda: _convergence(simulation),
        "timeline.png": lambda: _timeline(simulation, run),
    }
    return write_plots(figures, folder)


def _panels(names: Sequence[str]) -> tuple[Any, list[Any]]:
    """A figure with a panel for each type."""
    from matplotlib.figure import Figure

    rows = math.ceil(len(names) / _ACROSS)
    figure = Figure(figsize=(9, 2.4 * rows), layout="constrained")
    axes = figure.subplots(rows, _ACROSS, squeeze=False).ravel().tolist()
    for unused in axes[len(names) :]:
        unused.remove()
    for name, panel in zip(names, axes, strict=False):
        panel.set_title(name)
    return figure, axes[: len(names)]


def _distribution(simulation: Simulation) -> Any:
    figure, panels = _panels(simulation.types)
    for place, (name, panel) in enumerate(zip(simulation.types, panels, strict=True)):
        counts, found = simulation.counts[:, place], simulation.events[name]
        panel.hist(counts, edges(counts), color=BLUE, edgecolor="white", linewidth=0.5)
        panel.axvline(found.mean, color=ORANGE)
        mean = f"{found.mean:,.0f}" if found.mean >= 1_000 else f"{found.mean:.4g}"
        panel.set_title(f"{name}: {mean} on average")
        if found.max - found.min < _FEW:
            panel.set_xticks(range(found.min, found.max + 1))
    figure.suptitle(f"Events in a run, over {simulation.runs:,} runs")
    figure.supylabel("runs", fontsize=8)
    return figure


def _convergence(simulation: Simulation) -> Any:
    figure, panels = _panels(simulation.types)
    runs = np.arange(1, simulation.runs + 1)
    for place, panel in enumerate(panels):
        means = running_means(simulation.counts[:, place], simulation.confidence)
        panel.fill_between(runs, means.low, means.high, color=BLUE, alpha=0.2, linewidth=0)
        panel.plot(runs, means.mean, color=BLUE)
        panel.axhline(means.mean[-1], color=ORANGE, linewidth=0.8)
    percent = f"{100 * simulation.confidence:g} percent"
    figure.suptitle(f"Mean after so many runs, with its interval of {percent}")
    figure.supxlabel("runs", fontsize=8)
    return figure


def _timeline(simulation: Simulation, number: int) -> Any:
    from matplotlib.figure import Figure

    trace = simulation.run(number)
    happened = [*trace.events, *trace.rows(simulation.program)]
    figure = Figure(figsize=(9, 0.6 + 0.4 * len(simulation.types)), layout="constrained")
    panel = figure.subplots()
    for place, name in enumerate(simulation.types):
        instants = np.array([e.instant for e in happened if e.type == name and not e.is_old])
        hours = (instants - simulation.job.span.start) / _HOURS
        is_dense = len(hours) > 500
        panel.plot(
            hours,
            np.full(len(hours), place),
            "|" if is_dense else "o",
            color=GREY if name in simulation.job.scenario.types else BLUE,
            markersize=8 if is_dense else 5,
            alpha=0.3 if is_dense else 1.0,
        )
    panel.set_yticks(range(len(simulation.types)), simulation.types)
    panel.set_ylim(len(simulation.types) - 0.5, -0.5)
    panel.set_xlabel("hours")
    panel.set_title(f"Run {number}")
    return figure
