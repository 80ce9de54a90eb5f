"""Many simulated runs: beside one pass over the same events, for more days and runs, beside Maude."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

import cepheid as cep
from benchmarks.maude import in_maude
from benchmarks.measure import Sizes, cpu_seconds, in_turn, seconds
from benchmarks.pairs import paired
from benchmarks.report import Figure, Goal
from cepheid.core.event import Event
from cepheid.formal.maude.process import Maude
from cepheid.matcher.operator import open_operator
from cepheid.simulation.factories import Maker
from cepheid.simulation.runs import RowCounter, SimulationJob
from cepheid.simulation.scenario import read_scenario
from cepheid.simulation.simulate import job_of

FOLDER = Path(__file__).parents[1] / "examples" / "motorbike"
PAPER, CALIBRATED = (FOLDER / "evidence" / f"{name}.toml" for name in ("paper", "calibrated"))
RUNS = 256
READINGS = 1_000  # for the paper's encoding, whose time for each grows with their number
DAY = 86_400_000_000


def run(sizes: Sizes) -> Iterator[Figure]:
    runs = max(int(RUNS * sizes.scale), 8)
    yield from beside_one_pass(runs)
    yield from growth(sizes)
    yield from beside_maude()


def job(days: int = 1, scenario: Path = PAPER) -> SimulationJob:
    program = cep.load(FOLDER / "motorbike.epl").resolve()
    until = f"{days} days"
    return job_of(program, read_scenario(scenario), until=until, events=None, seed=0)


def beside_one_pass(runs: int) -> Iterator[Figure]:
    for scenario in (PAPER, CALIBRATED):
        work = job(scenario=scenario)
        counter, table = RowCounter(work), one_table(work, runs)
        counter.counts(0)
        found = paired(
            partial(cpu_seconds, partial(counter.table, range(runs))),
            partial(cpu_seconds, partial(one_pass, work, table)),
        )
        name = f"{runs} one-day runs of the {scenario.stem} scenario, beside one pass over them"
        yield Figure.of_pairs(name, found, Goal("at most", 3))


def one_table(work: SimulationJob, runs: int) -> pa.Table:
    """The events of all runs, each on a day of its own."""
    maker = Maker(work.scenario, work.program)
    tables, taken = [], 0
    for number in range(runs):
        table = maker.table(maker.run(work.seed, number, work.span))
        times = table["@time"].to_numpy() + number * DAY
        sequence = table["@sequence"].to_numpy() + taken
        taken += len(table)
        table = table.set_column(1, "@time", pa.array(times))
        tables.append(table.set_column(2, "@sequence", pa.array(sequence)))
    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()


def one_pass(work: SimulationJob, table: pa.Table) -> None:
    operator = open_operator(work.program)
    operator.start(work.span.start)
    operator.take(table)


def growth(sizes: Sizes) -> Iterator[Figure]:
    """Table 1 of the paper, scaled down: time grows with days and with runs as they do."""
    few = max(int(16 * sizes.scale), 4)
    grid = [(days, runs) for days in (1, 4) for runs in (few, 4 * few)]
    counters = {days: RowCounter(job(days)) for days in (1, 4)}
    for counter in counters.values():
        counter.counts(0)
    taken = in_turn(
        {f"{d} {r}": partial(counters[d].table, range(r)) for d, r in grid},
    )
    base = taken[f"1 {few}"]
    for days, runs in grid[1:]:
        share = days * runs // few
        yield Figure(
            name=f"{days} days, {runs} runs: time beside {share} times that of 1 day, {few} runs",
            ratio=taken[f"{days} {runs}"] / (share * base),
            goal=Goal("at most", 1.5),
            of={"seconds": taken[f"{days} {runs}"], "beside": share * base},
        )


def beside_maude() -> Iterator[Figure]:
    """The time for an event of a day, beside that in Maude: as we write the program, and as the
    paper does, by rules over one list of events."""
    ours = "time for an event in Maude, as exported, beside the same day simulated"
    papers = f"time for an event in the paper's Maude encoding ({READINGS:,} readings), beside ours"
    if find_spec("maude") is None:
        for name in (ours, papers):
            yield Figure(name=name, ratio=None, note="pip install 'cepheid[maude]' first")
        return
    work = job()
    counter = RowCounter(work)
    events = int(counter.table(range(16))[:, 0].sum())
    simulated = in_turn({"ours": partial(counter.table, range(16))})["ours"] / events
    day = work.run(0).events()
    with Maude() as maude:
        in_maude(maude, work.program, day[:100])  # the first program loads the part that all share
        exported = seconds(lambda: in_maude(maude, work.program, day)) / len(day)
    few = replace(work, span=replace(work.span, most=READINGS))
    encoded = _as_the_paper(few.run(0).events())["seconds"] / READINGS
    for name, taken, times in ((ours, exported, 20), (papers, encoded, 1_000)):
        yield Figure(
            name=name,
            ratio=taken / simulated,
            goal=Goal("at least", times),
            of={"microseconds": 1e6 * simulated, "beside": 1e6 * taken},
        )


def _as_the_paper(events: list[Event]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "readings.jsonl"
        file.write_text("".join(f"{json.dumps(_reading(event))}\n" for event in events))
        command = [sys.executable, "-m", "benchmarks.paper", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _reading(event: Event) -> list[object]:
    values: dict[str, Any] = dict(event)
    second = event.instant // 1_000_000 % 86_400
    pressures = [round(100 * values[name]) for name in ("tirePressure1", "tirePressure2")]
    return [second, values["motorbikeId"], values["speed"], values["seat"], *pressures]
