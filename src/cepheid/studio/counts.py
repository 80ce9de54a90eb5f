"""What a simulation has counted, as tables and pictures show it. Loaded when one is done: it needs NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cepheid.simulation.curves import edges, running_means
from cepheid.simulation.factories import Words
from cepheid.simulation.simulate import Simulation

_POINTS = 200  # of a curve


def counts_json(found: Simulation) -> Iterator[dict[str, object]]:
    """What there is to say of the events of each type, those of the scenario first."""
    for place, (name, summary) in enumerate(found.events.items()):
        counts = found.counts[:, place]
        yield {
            "name": name,
            "derived": name not in found.job.scenario.types,
            **summary.to_json(),
            "ratio": found.ratios.get(name),
            "fewest": int(counts.argmin()),  # runs that show it
            "most": int(counts.argmax()),
            "bars": _bars(counts),
            "means": _means(counts, found.confidence),
        }


def _bars(counts: Words) -> dict[str, object]:
    """In how many runs there were so many: bars from their first count, each as wide as the step."""
    ends = edges(counts)
    heights, _ = np.histogram(counts, ends)
    return {
        "first": round(ends[0] + 0.5),
        "step": round(ends[1] - ends[0]),
        "heights": heights.tolist(),
    }


def _means(counts: Words, confidence: float) -> dict[str, object]:
    """How the mean settles, at some of the runs."""
    found = running_means(counts, confidence)
    runs = np.unique(np.linspace(1, len(counts), _POINTS).round().astype(int))
    curves = {"mean": found.mean, "low": found.low, "high": found.high}
    return {
        "runs": runs.tolist(),
        **{name: each[runs - 1].tolist() for name, each in curves.items()},
    }
