"""A program over files, from the file to the rows in this process, beside Arrow's reading of them alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet

from benchmarks.inputs import Rides
from benchmarks.measure import Job, Sizes, in_turn
from benchmarks.programs import SPEEDS, crash
from benchmarks.report import Figure, Goal
from cepheid.verbs import run as run_program

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


def measure(file: Path, count: int) -> Figure:
    """Crash over a file, warm."""
    program = crash(SPEEDS)
    taken = run_program(program, file).taken
    jobs: dict[str, Job] = {
        "run": partial(run_program, program, file),
        "read": partial(READERS[file.suffix], file),
    }
    found = in_turn(jobs)
    return Figure(
        name=f"Crash over {count:,} events of {file.suffix[1:]}, beside reading them",
        ratio=found["run"] / found["read"],
        goal=Goal("at most", GOALS[file.suffix]),
        of={"events/s": count / found["run"], "read alone": count / found["read"]},
        is_wrong=taken != count,
    )
