"""Many runs: each is what it would be alone, wherever it is done; and all together are summed up."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.errors import InputError, RunError, UsageError
from cepheid.simulation import runs
from cepheid.simulation.runs import Processes, SimulationJob
from cepheid.simulation.scenario import scenario_of
from cepheid.simulation.simulate import Where, job_of
from tests.effort import examples

EXAMPLES = Path(__file__).parents[2] / "examples"
BIKES = EXAMPLES / "motorbike"
PROGRAM = cep.load(BIKES / "motorbike_partitioned.epl", BIKES / "evidence" / "properties.epl")
CALIBRATED = str(BIKES / "evidence" / "calibrated.toml")
PAPER = str(BIKES / "evidence" / "paper.toml")
SMALL: dict[str, Any] = {"runs": 40, "until": "2 hours", "seed": 3}


def replayed(found: cep.Simulation, program: cep.Program, number: int, file: Path) -> Counter[str]:
    """A run, written to a file and run as any other file."""
    file.write_text(found.run(number).text())
    rows = cep.run(program, str(file), engine="reference")
    counts = Counter(row.type for row in rows if not row.is_old)
    counts.update(event.type for event in found.run(number).events)
    return counts


@pytest.mark.parametrize("scenario", [PAPER, CALIBRATED])
def test_a_run_that_is_saved_gives_the_same_counts_again(scenario: str, tmp_path: Path) -> None:
    found = cep.simulate(PROGRAM, scenario, **SMALL)
    for number in (0, 39):
        counts = replayed(found, PROGRAM, number, tmp_path / "run.jsonl")
        assert [counts[name] for name in found.types] == found.counts[number].tolist()


GAPS = st.sampled_from([{"distribution": "exponential", "mean": 2}, 1, {"choice": [0.5, 3]}])
VALUES = st.sampled_from(
    [{"distribution": "normal", "mean": 2, "sd": 2}, {"walk": {"choice": [-1, 1]}}, 1]
)
KEYS = st.sampled_from([{"choice": ["x", "y"]}, {"each": ["x", "y"]}, "x"])
TIMED = cep.parse(
    """
    create schema A (k string, v int);
    create schema B (k string, v double);
    @Name('Pair') insert into Pair select a.k as k, b.v as v
    from pattern [every a=A(v > 0) -> b=B(b.k = a.k and b.v > a.v) where timer:within(5 seconds)];
    @Name('Lonely') insert into Lonely select a.k as k
    from pattern [every a=A -> (timer:interval(3 seconds) and not B(k = a.k))];
    @Name('Tick') insert into Tick select current_timestamp() as t
    from pattern [every timer:interval(10 seconds)];
    @Name('Busy') insert into Busy select count(*) as n from Pair#time_batch(7 seconds);
    @Name('Sum') insert into Sum select irstream k, sum(v) as v from A#length(3) group by k;
    """
)


@examples(15)
@given(st.data(), st.integers(0, 5))
def test_every_run_is_that_of_the_semantics(data: st.DataObject, seed: int) -> None:
    scenario = {
        "factory": [
            {
                "type": type,
                "count": data.draw(st.integers(1, 3)),
                "every": data.draw(GAPS),
                "attributes": {"k": data.draw(KEYS), "v": data.draw(VALUES)},
            }
            for type in "AB"
        ]
    }
    found = cep.simulate(TIMED, scenario, runs=3, until="1 minute", seed=seed)
    for number in range(3):
        trace = found.run(number)
        rows = cep.run(TIMED, trace.records(), engine="reference")
        counts = Counter(row.type for row in rows if not row.is_old)
        counts.update(event.type for event in trace.events)
        assert [counts[name] for name in found.types] == found.counts[number].tolist()


def test_the_result_is_as_promised() -> None:
    found = cep.simulate(PROGRAM, CALIBRATED, **SMALL)
    data = found.to_json()
    assert data["runs"] == 40
    assert data["seed"] == 3
    events: Any = data["events"]
    assert list(events)[:3] == ["Motorbike", "BlowOutTire", "Crash"]
    assert set(events["Crash"]) == {"min", "max", "median", "mean", "sd", "ci"}
    low, high = events["Motorbike"]["ci"]
    assert low < 360 < high
    total = found.counts.sum(axis=0)
    place = found.types.index("GhostRider")
    assert found.ratios["GhostRider"] == total[place] / total[0]
    assert "Motorbike" not in found.ratios
    lines = found.to_csv().splitlines()
    assert lines[0] == "Event,Min,Max,Median,Mean,Std.Dev,Low,High,Ratio"
    assert lines[1].startswith("Motorbike,")
    assert len(lines) == 1 + len(found.types)
    assert repr(found).startswith("<Simulation: 40 runs, on average 358.3 Motorbike, 0 B")


def test_runs_of_one_seed_are_the_first_of_more_runs() -> None:
    few = cep.simulate(PROGRAM, PAPER, **{**SMALL, "runs": 3})
    many = PROGRAM.simulate(PAPER, **SMALL)
    assert np.array_equal(few.counts, many.counts[:3])
    assert not np.array_equal(
        cep.simulate(PROGRAM, PAPER, **{**SMALL, "seed": 4}).counts, many.counts
    )


def small_job() -> SimulationJob:
    return job_of(TIMED.resolve(), scenario_of(ONE), until="1 minute", events=None, seed=0)


ONE = {"factory": [{"type": "A", "every": 1, "attributes": {"k": "x", "v": {"index": True}}}]}


def test_processes_change_nothing_even_if_they_die() -> None:
    job = small_job()
    assert isinstance(Where(workers=2).open(job), Processes)
    with Processes(job, 1) as spread:
        whole = spread.counts(range(40))
        assert spread._pool is not None
        for process in list((spread._pool._processes or {}).values()):
            os.kill(process.pid or 0, signal.SIGKILL)
            process.join()
        assert np.array_equal(spread.counts(range(40)), whole)
    assert np.array_equal(whole, runs.InProcess(job).counts(range(40)))


def test_processes_that_always_die_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "work", _die)
    monkeypatch.setattr(runs, "TRIES", 1)
    with Processes(small_job(), 1) as spread, pytest.raises(RunError, match="died 1 times"):
        spread.counts(range(4))


def _die(*_: object) -> None:
    os._exit(1)


def test_bad_calls_are_refused_before_anything_runs() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"runs": 0}, "runs is a whole number from 1, not 0"),
        ({"seed": -1}, "seed is a whole number from 0, not -1"),
        ({"workers": 0}, "workers is a whole number"),
        ({"events": 0}, "events is a whole number"),
        ({"confidence": 95}, "the confidence lies between 0 and 1"),
        ({"until": "soon"}, "'soon' is not a time period"),
        ({"until": 0}, "a run takes some time"),
        ({"until": "9000 years"}, "the clock moves beyond the year 9999"),
        ({"until": None}, "nothing says when a run ends"),
        ({"engine": "sprak"}, "did you mean 'spark'?"),
    ]
    for options, fact in wrong:
        with pytest.raises(UsageError) as refused:
            cep.simulate(PROGRAM, PAPER, **{**SMALL, **options})
        assert fact in str(refused.value)
    other = {"factory": [{"type": "Motorbyke", "every": 1}]}
    with pytest.raises(InputError, match="did you mean 'Motorbike'"):
        cep.simulate(PROGRAM, other, workers=2, **SMALL)
    with pytest.raises(UsageError, match="there is no run 40"):
        cep.simulate(PROGRAM, PAPER, **SMALL).run(40)
    with pytest.raises(cep.ProgramError):
        cep.simulate(cep.parse("select x from A"), ONE, runs=1, until=1)


def test_a_run_may_end_with_its_events() -> None:
    for until in (None, "1 hour"):
        found = cep.simulate(TIMED, ONE, runs=2, events=25, until=until)
        assert found.counts[:, 0].tolist() == [25, 25]
        assert found.counts[:, found.types.index("Tick")].tolist() == [2, 2]


def test_progress_counts_runs() -> None:
    heard: list[tuple[int, int | None]] = []
    cep.simulate(TIMED, ONE, runs=20, until=5, progress=lambda n, of: heard.append((n, of)))
    assert heard == [(16, 20), (20, 20)]


def test_the_paper_and_the_calibrated_scenario_tell_different_stories() -> None:
    paper = cep.simulate(PROGRAM, PAPER, runs=20, until="1d")
    assert paper.ratios["TooHighTirePressure"] == pytest.approx(1 - (1 - 0.2808) ** 2, abs=0.01)
    real = cep.simulate(PROGRAM, CALIBRATED, runs=60, until="1d")
    assert real.ratios["TooHighTirePressure"] == 0
    for name in ("Accident", "BlowOutTire", "Crash"):  # Table 2: 4.9e-5 to 7.0e-5
        assert real.ratios[name] == pytest.approx(5e-5, abs=2.5e-5)
    assert real.ratios["GhostRider"] == pytest.approx(1e-4, abs=4e-5)
