"""The examples give the rows that the papers and their READMEs promise."""

from __future__ import annotations

import json
import runpy
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.core.event import Event
from cepheid.core.time import to_instant
from cepheid.io.encode import encode
from cepheid.io.records import Decoder
from cepheid.io.sources import records_of
from cepheid.lang.epl.parser import parse
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics.machine import Machine
from tests.effort import examples

EXAMPLES = Path(__file__).parents[2] / "examples"
MINUTE = 60_000_000
SECOND = 1_000_000


def load(program: str) -> ResolvedProgram:
    path = EXAMPLES / program
    parsed = parse(path.read_text(), program)
    assert parsed.problems == ()
    return resolve_program(parsed.tree)


def run(program: str, source: object, order: Sequence[str] | None = None) -> list[Event]:
    """The rows of a program on files, named from the examples folder, or on events."""
    if isinstance(source, str):
        source = str(EXAMPLES / source)
    resolved = load(program)
    decoder = Decoder(resolved.types)
    inputs = [decoder.decode(record, n) for n, record in enumerate(records_of(source))]
    inputs.sort(key=instant_of)
    machine = Machine(resolved, order=order)
    machine.start(instant_of(inputs[0]))
    return [row for item in inputs for row in step(machine, item)]


def instant_of(item: Event | int) -> int:
    return item if isinstance(item, int) else item.instant


def step(machine: Machine, item: Event | int) -> list[Event]:
    return machine.advance(item) if isinstance(item, int) else machine.take(item)


def of_type(rows: list[Event], name: str, *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row[c] for c in columns) for row in rows if row.type == name]


def counted(rows: list[Event]) -> dict[str, int]:
    return dict(Counter(row.type for row in rows))


def program_files() -> list[str]:
    return sorted(str(p.relative_to(EXAMPLES)) for p in EXAMPLES.glob("*/*.epl"))


@pytest.mark.parametrize("program", program_files())
def test_a_program_has_no_problems(program: str) -> None:
    assert load(program).problems == ()


# --- comfort --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def comfort() -> list[Event]:
    files = [str(EXAMPLES / "comfort" / name) for name in ("th.events", "me.events")]
    return run("comfort/comfort.epl", files)


def test_the_hot_reading_is_reported(comfort: list[Event]) -> None:
    assert of_type(comfort, "HighTemp", "sensor", "temperature") == [("s2", 31)]


def test_two_readings_are_comfortable(comfort: list[Event]) -> None:
    rows = of_type(comfort, "temp_humid", "sensor", "temperature", "humidity")
    assert rows == [("s1", 26, 30), ("s1", 27, 29)]


def test_without_every_the_first_rise_is_the_only_one(comfort: list[Event]) -> None:
    assert of_type(comfort, "greater_temp", "sensor", "temp1", "temp2") == [("s1", 24, 26)]


def test_every_around_a_sequence_gives_three_pairs(comfort: list[Event]) -> None:
    assert of_type(comfort, "every1", "k1", "k2") == [(1, 1), (2, 3), (4, 4)]


def test_every_on_the_first_step_gives_four_pairs(comfort: list[Event]) -> None:
    assert sorted(of_type(comfort, "every2", "k1", "k2")) == [(1, 1), (2, 3), (3, 3), (4, 4)]


# --- pregnancy ------------------------------------------------------------------------------------


@pytest.mark.parametrize("events", ["pregnancy/events.jsonl", "pregnancy/scenario.events"])
def test_durations_come_at_minutes_14_16_and_29(events: str) -> None:
    rows = [row for row in run("pregnancy/pregnancy.epl", events) if row.type == "Duration"]
    found = [(row.instant // MINUTE, row["patientId"], row["delay"]) for row in rows]
    assert found == [(14, "Barbara", 5), (16, "Alice", 4), (29, "Alice", 4)]


def test_the_last_count_of_each_minute_is_the_marking() -> None:
    markings = [1] * 8 + [3, 3, 2, 3, 3, 4, 4, 5, 5, 5, 3, 3, 3, 2, 2, 2, 3, 2, 2, 2, 3, 3, 4]
    last = {
        row.instant // MINUTE: row["numContr"]
        for row in run("pregnancy/pregnancy.epl", "pregnancy/events.jsonl")
        if row.type == "Counter"
    }
    held = [last[max(m for m in last if m <= minute)] for minute in range(1, 32)]
    assert held == markings


def test_a_batch_window_counts_four_times() -> None:
    rows = run("pregnancy/counter_batch.epl", "pregnancy/counter_batch.jsonl")
    found = [(row.instant // MINUTE, row["numContr"]) for row in rows]
    assert found == [(11, 3), (21, 3), (31, 3), (41, 1)]


# --- motorbike ------------------------------------------------------------------------------------

PLAIN, PARTITIONED = "motorbike/motorbike.epl", "motorbike/motorbike_partitioned.epl"


@pytest.mark.parametrize("program", [PLAIN, PARTITIONED])
def test_the_printed_readings_give_two_crashes_and_an_empty_seat(program: str) -> None:
    rows = run(program, "motorbike/listing1.jsonl")
    assert [(row.type, row.instant // SECOND - 1_488_326_000) for row in rows] == [
        ("Crash", 402),
        ("Crash", 402),
        ("DriverLeftSeat", 403),
    ]
    assert of_type(rows, "Crash", "initialSpeed") == [(100,), (90,)]


def test_the_minute_gives_what_the_readme_says() -> None:
    assert counted(run(PLAIN, "motorbike/events.jsonl")) == {
        "BlowOutTire": 12,
        "Crash": 104,
        "DriverLeftSeat": 2,
        "GhostRider": 4,
        "Accident": 1,
        "AccidentsReport": 1,
        "DangerousLocation": 1,
    }


def test_partitioning_adds_the_drivers_that_one_sequence_cannot_follow() -> None:
    plain, partitioned = (run(p, "motorbike/events.jsonl") for p in (PLAIN, PARTITIONED))
    added = [row for row in map(encode, partitioned) if row not in list(map(encode, plain))]
    assert len(partitioned) == len(plain) + len(added)
    assert [(row["@type"], row.get("motorbikeId", row["location"])) for row in added] == [
        ("DriverLeftSeat", 7),
        ("DriverLeftSeat", 5),
        ("Accident", 5),
        ("AccidentsReport", "Malaga"),
    ]


# --- temperature ----------------------------------------------------------------------------------

AND_NOT, NEXT = "temperature/temperature.epl", "temperature/temperature_next.epl"


def readings(values: Sequence[float]) -> list[dict[str, object]]:
    return [
        {"@type": "Temperature", "@time": second, "value": value}
        for second, value in enumerate(values)
    ]


def is_spike(a: float, b: float, c: float, d: float) -> bool:
    return a > 100 and a < b < c < d and d > 1.5 * a


@pytest.mark.parametrize("program", [AND_NOT, NEXT])
def test_episodes_are_found_as_the_readme_says(program: str) -> None:
    rows = run(program, "temperature/events.jsonl")
    start = to_instant(rows[0].time.replace(second=0))
    alarms = [(r.type, (r.instant - start) // SECOND) for r in rows if r.type != "Monitor"]
    assert alarms == [
        ("Critical", 23),
        ("Warning", 72),
        ("Warning", 73),
        ("Critical", 73),
        ("Warning", 74),
    ]
    assert counted(rows)["Monitor"] == 9


@pytest.mark.parametrize("program", [AND_NOT, NEXT])
@examples(100)
@given(values=st.lists(st.sampled_from([90.0, 120.0, 150.0, 200.0, 401.0, 500.0]), min_size=4))
def test_consecutive_means_next_to_each_other(program: str, values: list[float]) -> None:
    rows = run(program, readings(values))
    pairs = [pair for pair in pairwise(values) if min(pair) > 400]
    fours = zip(values, values[1:], values[2:], values[3:], strict=False)
    assert of_type(rows, "Warning", "value1", "value2") == pairs
    spikes = [f for f in fours if is_spike(*f)]
    assert of_type(rows, "Critical", "value1", "value2", "value3", "value4") == spikes


# --- air quality ----------------------------------------------------------------------------------

UNFIXED, FIXED = "airquality/airquality.epl", "airquality/airquality_fixed.epl"


@pytest.fixture(scope="module")
def generator() -> Mapping[str, Any]:
    return runpy.run_path(str(EXAMPLES / "airquality" / "generate.py"), run_name="generate")


@pytest.fixture(scope="module")
def a_day_and_more(generator: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The readings of one station, for longer than the longest window."""
    make = cast("Callable[[int, int, int], Iterator[dict[str, Any]]]", generator["measurements"])
    return [event for event in make(4, 26, 5) if event["station"] == 4]


@pytest.mark.parametrize("program", [UNFIXED, FIXED])
def test_the_program_has_43_patterns(program: str) -> None:
    assert len(load(program).statements) == 43


def test_averages_are_over_their_windows_and_graded_by_their_breakpoints(
    generator: Mapping[str, Any], a_day_and_more: list[dict[str, Any]]
) -> None:
    rows = [r for r in run(UNFIXED, a_day_and_more) if r.type == "PollutantLevel"]
    by_name = {p.name: p for p in generator["POLLUTANTS"]}
    assert len(rows) == len(by_name) * len(a_day_and_more)
    for row in rows:
        pollutant, value = by_name[row["pollutant"]], cast("float", row["value"])
        now = cast("int", row["timestamp"])
        begin = now - 3600 * pollutant.hours
        window = [e[pollutant.attribute] for e in a_day_and_more if begin < e["timestamp"] <= now]
        assert value == pytest.approx(sum(window) / len(window))
        assert row["level"] == 1 + bisect_right(pollutant.breakpoints, value)
        assert row["grade"] == generator["GRADES"][cast("int", row["level"]) - 1]


def test_the_complete_level_of_a_reading_is_its_worst_grade(
    a_day_and_more: list[dict[str, Any]],
) -> None:
    rows = run(UNFIXED, a_day_and_more)
    grades: dict[object, list[int]] = {}
    for row in rows:
        if row.type == "PollutantLevel":
            grades.setdefault(row["timestamp"], []).append(cast("int", row["level"]))
    complete = {
        row["timestamp"]: row["level"]
        for row in rows
        if row.type == "AirQualityLevel" and row["pollutants"] == 6
    }
    assert complete == {timestamp: max(levels) for timestamp, levels in grades.items()}
    assert set(complete.values()) >= {1, 2, 3, 4}


@pytest.mark.parametrize(("program", "is_stable"), [(UNFIXED, False), (FIXED, True)])
def test_only_priorities_make_the_rows_independent_of_the_text(
    program: str, is_stable: bool
) -> None:
    events = "airquality/events.jsonl"
    backwards = [s.name for s in reversed(load(program).statements)]
    in_order, in_reverse = run(program, events), run(program, events, order=backwards)
    assert (texts(in_order) == texts(in_reverse)) is is_stable


def texts(rows: list[Event]) -> list[str]:
    """Rows in an order of their own, so that only what they say is compared."""
    return sorted(json.dumps(encode(row)) for row in rows)
