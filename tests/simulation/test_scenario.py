"""Scenarios: the same in TOML, as a dictionary and as classes; what is wrong is said all at once."""

from __future__ import annotations

import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cepheid as cep
from cepheid.core.time import Period, parse_instant
from cepheid.errors import InputError, UsageError
from cepheid.simulation.distributions import distribution
from cepheid.simulation.factories import Maker, TimeRange
from cepheid.simulation.fit import fitting
from cepheid.simulation.scenario import Factory, Scenario, scenario_of
from cepheid.simulation.sources import Constant, Drawn, Faulty, Index, Limited

TEXT = """
start = 2026-02-01T00:00:00Z
until = "1 day"

[[factory]]
type = "Bike"
count = 3
every = {distribution = "exponential", mean = 60}
max_events = 10

[factory.attributes]
id = {index = true}
speed = {distribution = "normal", mean = 100, sd = 50, min = 0}
seat = {value = true, flip = 0.0001}
"""
PROGRAM = cep.parse(
    """
    @EventTime(attribute='ts', unit='seconds')
    create schema Bike (ts long, id int, speed int, seat boolean, place string, p float);
    create schema Other (x double, when_ string);
    @Name('Ghost') insert into Ghost
    select b.id as id from pattern [every b=Bike(seat = false and speed > 0)];
    @Name('Big') insert into Big select o.x as x from pattern [every o=Other(x > 0)];
    """
)
DAY = TimeRange(parse_instant("2026-01-01"), parse_instant("2026-01-02"))


def made(
    *factories: dict[str, Any], number: int = 0, seed: int = 0, span: TimeRange = DAY
) -> list[Any]:
    scenario = scenario_of({"factory": list(factories)})
    maker = Maker(scenario, PROGRAM.resolve(), all_attributes=True)
    return maker.run(seed, number, span).events()


def test_a_scenario_is_the_same_however_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(TEXT)
    speed = Limited(Drawn(distribution("normal", {"mean": 100, "sd": 50})), min=0)
    bike = Factory(
        "Bike",
        Drawn(distribution("exponential", {"mean": 60})),
        count=3,
        max_events=10,
        attributes={"id": Index(), "speed": speed, "seat": Faulty(Constant(value=True), 0.0001)},
    )
    wanted = Scenario((bike,), parse_instant("2026-02-01"), Period(86_400_000_000))
    assert scenario_of(file) == scenario_of(tomllib.loads(TEXT)) == scenario_of(wanted) == wanted


def test_classes_take_sources_as_dictionaries_have_them() -> None:
    speed: Any = {"distribution": "normal", "mean": 100, "sd": 50, "min": 0}
    seat: Any = {"value": True, "flip": 0.0001}
    gap: Any = {"distribution": "exponential", "mean": 60}
    attributes = {"id": Index(), "speed": speed, "seat": seat}
    bike = Factory("Bike", gap, count=3, max_events=10, attributes=attributes)
    start: Any = "2026-02-01"
    until: Any = "1 day"
    assert Scenario((bike,), start, until) == scenario_of(tomllib.loads(TEXT))
    soon: Any = "soon"
    for times in ({"start": soon}, {"until": soon}):
        with pytest.raises(InputError, match="'soon' is not"):
            Scenario((bike,), **times)
    wrong: Any = {"distribution": "normal", "mean": 1, "sd": -1}
    with pytest.raises(InputError, match="factory of Bike, speed: no normal distribution"):
        Factory("Bike", gap, attributes={"speed": wrong})


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"factory": []}, ["a scenario needs a [[factory]]"]),
        ({"fatcory": []}, ["a scenario has no 'fatcory'", "did you mean 'factory'?"]),
        ({"until": "soon"}, ["'soon' is not a time period"]),
        ({"start": "never"}, ["'never' is not an ISO 8601 time"]),
        ({"factory": [{"every": 1}]}, ["factory 1 needs the type of its events"]),
        ({"factory": [{"type": "Bike"}]}, ["factory 1 (Bike) needs `every`"]),
        ({"factory": [{"type": "Bike", "every": 0}]}, ["every: events come some time after"]),
        ({"factory": [{"type": "Bike", "every": "a while"}]}, ["every: 'a while' is not a time"]),
        ({"factory": [{"type": "Bike", "every": "1 month"}]}, ["months are not all of one length"]),
        ({"factory": [{"type": "Bike", "every": True}]}, ["every: a number of seconds is needed"]),
        (
            {"factory": [{"type": "Bike", "every": 1, "count": 0, "max_events": 1.5}]},
            ["count is a whole number from 1 on, not 0", "max_events is a whole number"],
        ),
        (
            {
                "factory": [
                    {"type": "Bike", "every": 1, "attributes": {"a": {}, "b": {"value": []}}}
                ]
            },
            ["factory 1 (Bike), a: a value needs", "factory 1 (Bike), b: [] is no"],
        ),
        (
            {"factory": [{"type": "Bike", "every": {"modes": {"x": 1}}}]},
            ["every: the modes of the factory are none"],
        ),
        (
            {"factory": [{"type": "Bike", "every": 1, "modes": {"x": {"y": 1}}}]},
            ["modes: no state 'y'"],
        ),
    ],
)
def test_all_that_is_wrong_is_said(change: dict[str, Any], facts: list[str]) -> None:
    good = {"factory": [{"type": "Bike", "every": 60}]}
    with pytest.raises(InputError) as refused:
        scenario_of({**good, **change})
    assert {problem.code for problem in refused.value.diagnostics} == {"bad-scenario"}
    for fact in facts:
        assert fact in str(refused.value)


def test_a_broken_file_has_a_place(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('start = 2026-01-01\n[[factory]\ntype = "A"')
    with pytest.raises(InputError) as refused:
        scenario_of(file)
    span = refused.value.diagnostics[0].span
    assert span is not None
    assert (span.file, span.line) == (str(file), 2)
    for wrong, code in ((tmp_path / "none.toml", "missing-file"), (tmp_path, "bad-file")):
        with pytest.raises(UsageError) as missing:
            scenario_of(wrong)
        assert missing.value.diagnostics[0].code == code
    with pytest.raises(UsageError, match="not int"):
        scenario_of(3)


@pytest.mark.parametrize(
    ("factory", "code", "fact"),
    [
        ({"type": "Bke"}, "unknown-type", "did you mean 'Bike'?"),
        ({"attributes": {"sped": 1}}, "unknown-attribute", "did you mean 'speed'?"),
        ({"attributes": {"ts": 1}}, "bad-scenario", "is the time of an event"),
        ({"attributes": {"speed": "fast"}}, "bad-scenario", "is of type int, and 'fast' is not"),
        ({"attributes": {"speed": True}}, "bad-scenario", "and True is not"),
        ({"attributes": {"seat": 1}}, "bad-scenario", "is of type boolean, and 1 is not"),
        ({"attributes": {"place": {"index": True}}}, "bad-scenario", "is of type string"),
        ({"attributes": {"speed": {"value": 1, "flip": 0.1}}}, "bad-scenario", "True is not"),
    ],
)
def test_a_scenario_fits_its_program(factory: dict[str, Any], code: str, fact: str) -> None:
    with pytest.raises(InputError) as refused:
        made({"type": "Bike", "every": 60, **factory})
    assert refused.value.diagnostics[0].code == code
    assert fact in str(refused.value)


def test_a_run_is_the_same_every_time_and_other_runs_differ() -> None:
    bike = {"type": "Bike", "every": {"distribution": "exponential", "mean": 60}, "count": 2}
    speed = {"attributes": {"speed": {"distribution": "normal", "mean": 100, "sd": 50}}}
    events = made({**bike, **speed})
    assert events == made({**bike, **speed})
    assert events != made({**bike, **speed}, number=1)
    assert events != made({**bike, **speed}, seed=1)
    more = {"attributes": {**speed["attributes"], "seat": {"value": True, "flip": 0.5}}}
    others = made({**bike, **more}, {"type": "Other", "every": 10})
    bikes = [event for event in others if event.type == "Bike"]
    assert [(e.instant, e["speed"]) for e in bikes] == [(e.instant, e["speed"]) for e in events]


def test_events_are_in_order_and_end_with_the_run() -> None:
    events = made(
        {"type": "Bike", "every": {"distribution": "exponential", "mean": 30}, "count": 20},
        {"type": "Other", "every": "20 minutes"},
    )
    assert [e.sequence for e in events] == list(range(len(events)))
    instants = [e.instant for e in events]
    assert instants == sorted(instants)
    assert DAY.start <= instants[0]
    assert DAY.end is not None
    assert instants[-1] <= DAY.end
    bikes = [e for e in events if e.type == "Bike"]
    assert len(bikes) == pytest.approx(20 * 2_880, abs=5 * 240)
    assert all(e["ts"] * 1_000_000 == e.instant for e in bikes)
    assert sum(e.type == "Other" for e in events) == 72


def test_the_end_belongs_to_the_run_and_limits_cut_it() -> None:
    minute = {"type": "Bike", "every": 60, "count": 2}
    assert len(made(minute)) == 2 * 1_440
    assert len(made({**minute, "max_events": 5})) == 10
    assert len(made(minute, span=TimeRange(DAY.start, DAY.end, most=7))) == 7
    assert len(made(minute, span=TimeRange(DAY.start, None, most=7))) == 7
    assert len(made({**minute, "max_events": 70_000}, span=TimeRange(DAY.start, None))) == 140_000
    assert made({**minute, "every": 1e9}) == []


def test_gaps_are_never_negative_and_too_many_events_end_a_run() -> None:
    often = {"type": "Bike", "every": {"distribution": "normal", "mean": 1, "sd": 50}}
    assert made({**often, "max_events": 50})
    for many in ({"every": 1e-7}, {"every": 1e9, "count": 10**12}):
        with pytest.raises(cep.RunError, match="more than 50,000,000 events of Bike"):
            made({"type": "Bike", **many})


def test_no_time_is_beyond_the_calendar() -> None:
    wild = {"distribution": "lognormal", "mean": 0, "sd": 40}
    instants = [event.instant for event in made({"type": "Bike", "every": wild, "count": 50})]
    assert DAY.end is not None
    assert DAY.start <= min(instants) <= max(instants) <= DAY.end
    with pytest.raises(cep.InputError, match="events of Bike come after the year 9999"):
        made({"type": "Bike", "every": 1e9, "max_events": 500}, span=TimeRange(DAY.start, None))


def test_modes_join_gaps_and_attributes() -> None:
    bike = {
        "type": "Bike",
        "modes": {"rides": {"rides": 0.9, "stands": 0.1}, "stands": {"rides": 1}},
        "every": {"modes": {"rides": 60, "stands": 7}},
        "attributes": {
            "speed": {"modes": {"rides": 50, "stands": 0}},
            "seat": {"modes": {"rides": True, "stands": False}},
        },
    }
    events = made(bike)
    gaps = [b.instant - a.instant for a, b in pairwise(events)]
    assert {e["speed"] for e in events} == {0, 50}
    for gap, event in zip(gaps, events[1:], strict=True):
        assert (gap, event["seat"]) == (
            (60_000_000, True) if event["speed"] else (7_000_000, False)
        )


def test_values_become_those_of_the_attribute() -> None:
    import numpy as np

    types = {a.name: a.type for a in PROGRAM.resolve().types["Bike"].attributes}
    wild = np.array([1e30, -1e30, 1.5, 2.5])
    assert fitting(wild, types["id"]).tolist() == [2**31 - 1, -(2**31), 2, 2]
    assert fitting(wild, types["ts"]).tolist()[1:] == [-(2**63), 2, 2]
    assert fitting(wild, types["ts"])[0] > 2**62
    assert fitting(np.array([0.1]), types["p"]).dtype == np.float32


@pytest.mark.parametrize("name", ["normal", "lognormal"])
def test_no_spread_may_have_a_sign(name: str) -> None:
    drawn = distribution(name, {"mean": 0.0, "sd": -0.0}).draw(np.random.default_rng(1), (2, 1))
    assert drawn.ravel().tolist() == [0.0 if name == "normal" else 1.0] * 2
