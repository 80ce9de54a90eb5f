"""`cep.simulate` in one process, for comparisons of commits."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import cepheid as cep
from benchmarks.measure import Sizes, cpu_seconds
from benchmarks.pairs import Measure

FOLDER = Path(__file__).parents[1] / "examples" / "motorbike"


def measures(sizes: Sizes) -> Mapping[str, Measure]:
    """The CPU time of many days, as the paper makes them and as calibrated."""
    program, runs = cep.load(FOLDER / "motorbike.epl"), max(int(64 * sizes.scale), 8)
    return {
        f"{runs} one-day runs of the {name} scenario": partial(
            cpu_seconds,
            partial(
                cep.simulate,
                program,
                FOLDER / "evidence" / f"{name}.toml",
                runs=runs,
                until="1 day",
            ),
        )
        for name in ("paper", "calibrated")
    }
