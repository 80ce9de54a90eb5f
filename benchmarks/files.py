"""A program over files, from the file to the rows in this process, beside Arrow's reading of them alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet

import cepheid as cep
from benchmarks.inputs import Rides
from benchmarks.measure import Sizes, timed
from benchmarks.pairs import Measure, paired
from benchmarks.programs import SPEEDS, crash
from benchmarks.report import Figure, Goal

READERS: dict[str, Callable[[Path], object]] = {
    ".csv": pyarrow.csv.read_csv,
    ".parquet": pyarrow.parquet.read_table,
}
GOALS = {".csv": 3, ".parquet": 4}


def run(sizes: Sizes) -> Iterator[Figure]:
    for count in sizes.choose((1_000_000,), (1_000_000, 10_000_000)):
        rides = Rides(events=sizes.events(count))
        for file in sorted(rides.files().iterdir()):
            yield measure(file, rides.events)


def measures(sizes: Sizes) -> Mapping[str, Measure]:
    files = sorted(Rides(events=sizes.events(1_000_000)).files().iterdir())
    return {f"Crash over a file of {file.suffix[1:]}": _run(file) for file in files}


def measure(file: Path, count: int) -> Figure:
    """Crash over a file, warm."""
    taken = cep.run(crash(SPEEDS), file).taken
    found = paired(_run(file), timed(partial(READERS[file.suffix], file)))
    name = f"Crash over {count:,} events of {file.suffix[1:]}, beside reading them"
    figure = Figure.of_pairs(name, found, Goal("at most", GOALS[file.suffix]))
    return replace(figure, is_wrong=taken != count)


def _run(file: Path) -> Measure:
    return timed(partial(cep.run, crash(SPEEDS), file))
