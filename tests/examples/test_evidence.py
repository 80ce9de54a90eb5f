"""The scenarios of the case studies show what their READMEs say."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import cepheid as cep
from cepheid.simulation.verify import Verdict

EXAMPLES = Path(__file__).parents[2] / "examples"


def folder_of(program: str) -> Path:
    return EXAMPLES / program.partition("/")[0] / "evidence"


def verify(program: str, scenario: object, property: str, runs: int) -> Verdict:
    loaded = cep.load(EXAMPLES / program, folder_of(program) / "properties.epl")
    assert not any(f.severity == "error" for f in loaded.resolve().problems)
    if isinstance(scenario, str):
        scenario = folder_of(program) / f"{scenario}.toml"
    return cep.verify(loaded, scenario, property, runs=runs, until="1d")


@pytest.mark.parametrize(
    "program", ["motorbike/motorbike.epl", "motorbike/motorbike_partitioned.epl"]
)
def test_no_tyre_has_more_than_four_bar_but_in_the_scenario_of_the_paper(program: str) -> None:
    paper = verify(program, "paper", "TooHighTirePressure", 5)
    assert paper.holds is False
    assert paper.trace is not None
    assert len(paper.trace.events) == 1
    assert verify(program, "calibrated", "TooHighTirePressure", 20).holds is True


def test_two_accidents_on_one_day_need_six_readings() -> None:
    program = "motorbike/motorbike_partitioned.epl"
    text = (folder_of(program) / "calibrated.toml").read_text()
    often = text.replace("riding = 0.99995, burst = 0.00005", "riding = 0.998, burst = 0.002")
    assert often != text
    assert verify(program, "calibrated", "TwoAccidentsTheSameDay", 5).holds is True
    found = verify(program, tomllib.loads(often), "TwoAccidentsTheSameDay", 5)
    assert found.holds is False
    assert found.trace is not None
    assert len(found.trace.events) == 6
    assert len({event["motorbikeId"] for event in found.trace.events}) == 1


@pytest.mark.parametrize(
    "program", ["airquality/airquality.epl", "airquality/airquality_fixed.epl"]
)
def test_an_early_reading_meets_the_grades_of_the_one_before(program: str) -> None:
    assert verify(program, "winter", "SixGrades", 1).holds is True
    early = verify(program, "jitter", "SixGrades", 1)
    assert early.holds is False
    assert early.trace is not None
    first, second = early.trace.events
    assert second.instant - first.instant < 600_000_000
    assert first["station"] == second["station"]


def test_what_the_readme_says_of_the_tables_that_are_not_reached() -> None:
    """Every ghost rider has left a seat, and a batch of a day has no row in a run of a day."""
    scenario = folder_of("motorbike/x") / "calibrated.toml"
    for name, is_whole in (("motorbike_partitioned", True), ("motorbike", False)):
        program = cep.load(EXAMPLES / "motorbike" / f"{name}.epl")
        found = cep.simulate(program, scenario, runs=30, until="1d", seed=3)
        mean = {event: summary.mean for event, summary in found.events.items()}
        assert mean["GhostRider"] > 0
        expected = mean["GhostRider"] + mean["BlowOutTire"]  # the thrown ones
        share = mean["DriverLeftSeat"] / expected
        assert 0.9 < share <= 1.1 if is_whole else 0.15 < share < 0.6  # one bike of three at a time
        assert found.events["AccidentsReport"].max == 0
