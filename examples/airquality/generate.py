"""Writes the two air quality programs and a file of measurements.

The 43 statements differ only in pollutant, window and breakpoints, so they are made from the table
below. Measurements follow a daily curve per pollutant with seeded noise; three stations in four have
a daily episode that drives one pollutant through the grades.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
START = 1_480_550_400  # 2016-12-01T00:00:00Z
EVERY = 600  # seconds between two readings of a station
GRADES = (
    "Good",
    "Moderate",
    "Unhealthy for Sensitive Groups",
    "Unhealthy",
    "Very Unhealthy",
    "Hazardous",
)


@dataclass(frozen=True, slots=True)
class Pollutant:
    """How a pollutant is graded, and what an ordinary day of it looks like.

    `breakpoints` are the smallest averages of the grades after Good. `calm` is the mean of a
    station's readings, `peak_hour` when they are highest, `digits` how finely sensors measure.
    """

    name: str
    attribute: str
    hours: int
    breakpoints: tuple[float, ...]
    calm: float
    peak_hour: int
    digits: int

    @property
    def word(self) -> str:
        """The name as part of an identifier."""
        return self.name.replace(".", "")


# Windows and breakpoints: U.S. EPA, technical assistance document EPA-454/B-16-002 (2016).
POLLUTANTS = (
    Pollutant("PM2.5", "pm25", 24, (12.1, 35.5, 55.5, 150.5, 250.5), 9.0, 8, 1),
    Pollutant("PM10", "pm10", 24, (55.0, 155.0, 255.0, 355.0, 425.0), 30.0, 19, 1),
    Pollutant("O3", "o3", 8, (0.055, 0.071, 0.086, 0.106, 0.201), 0.035, 15, 3),
    Pollutant("NO2", "no2", 1, (54.0, 101.0, 361.0, 650.0, 1250.0), 30.0, 8, 1),
    Pollutant("SO2", "so2", 1, (36.0, 76.0, 186.0, 305.0, 605.0), 8.0, 11, 1),
    Pollutant("CO", "co", 8, (4.5, 9.5, 12.5, 15.5, 30.5), 0.9, 19, 2),
)

# What happens every day, by the station's number modulo four (1: nothing):
# (attribute, first hour, hours, factor at its height).
EPISODES: dict[int, tuple[str, float, float, float]] = {
    2: ("no2", 5.0, 3.0, 9.0),  # a street in the rush hour
    3: ("so2", 2.0, 3.5, 90.0),  # a refinery flares
    0: ("pm10", 3.0, 9.0, 25.0),  # dust from the desert
}


# --- the programs ---------------------------------------------------------------------------------

SCHEMA = """\
// Air quality of a region: every station reports six pollutants in one reading every ten minutes.
// Written by generate.py; change that and run it again.
@EventTime(attribute='timestamp', unit='seconds')
create schema Measurement (
  timestamp long,
  station int,
{attributes}
);

// Level 1: the average of each pollutant over its window, per station.
"""
GRADES_TITLE = "// Level 2: the grade of each average; exactly one of six holds.\n"
AVERAGE = """\
{annotations}
insert into {word}Average
select timestamp, station, avg({attribute}) as value
from Measurement#time({window})
group by station;
"""
GRADE = """\
{annotations}
insert into PollutantLevel
select a.timestamp as timestamp, a.station as station, '{name}' as pollutant,
       {level} as level, '{grade}' as grade, a.value as value
from pattern [every a = {word}Average({condition})];
"""
LEVEL = """\
// Level 3: the worst grade among those that the latest reading of a station has got so far.
// `pollutants` counts them; the row with {count} is complete.
{annotations}
insert into AirQualityLevel
select timestamp, station, count(*) as pollutants, max(level) as level,
       case max(level)
{cases}
       end as grade
from PollutantLevel#time(10 minutes)
group by station;
"""


def program(has_priorities: bool) -> str:
    """The text of the program: six times one average and six grades, and the level of a station.

    Priorities, where wanted, fall from the first statement to the last. So every pattern comes
    before those that depend on it, and no two share a rank.
    """
    ranks = iter(range(1 + len(POLLUTANTS) * (1 + len(GRADES)), 0, -1))

    def annotations(name: str) -> str:
        priority = f"@Priority({next(ranks)}) " if has_priorities else ""
        return f"{priority}@Name('{name}')"

    averages = [average(p, annotations(f"{p.word}Average")) for p in POLLUTANTS]
    grades = [
        grade(p, level, annotations(p.word + name.title().replace(" ", "")))
        for p in POLLUTANTS
        for level, name in enumerate(GRADES, start=1)
    ]
    level = station_level(annotations("AirQualityLevel"))
    return "\n".join([schema(), *averages, GRADES_TITLE, *grades, level])


def schema() -> str:
    attributes = ",\n".join(f"  {p.attribute} double" for p in POLLUTANTS)
    return SCHEMA.format(attributes=attributes)


def average(pollutant: Pollutant, annotations: str) -> str:
    window = "1 hour" if pollutant.hours == 1 else f"{pollutant.hours} hours"
    return AVERAGE.format(
        name=pollutant.name,
        word=pollutant.word,
        attribute=pollutant.attribute,
        window=window,
        annotations=annotations,
    )


def grade(pollutant: Pollutant, level: int, annotations: str) -> str:
    return GRADE.format(
        name=pollutant.name,
        word=pollutant.word,
        level=level,
        grade=GRADES[level - 1],
        condition=condition(pollutant.breakpoints, level),
        annotations=annotations,
    )


def condition(breakpoints: tuple[float, ...], level: int) -> str:
    """From this grade's first value to just below the next grade's; the ends are open."""
    low = [f"value >= {breakpoints[level - 2]}"] if level > 1 else []
    high = [f"value < {breakpoints[level - 1]}"] if level <= len(breakpoints) else []
    return " and ".join(low + high)


def station_level(annotations: str) -> str:
    cases = "\n".join(
        f"         when {level} then '{name}'" for level, name in enumerate(GRADES, start=1)
    )
    return LEVEL.format(count=len(POLLUTANTS), cases=cases, annotations=annotations)


# --- the measurements -----------------------------------------------------------------------------


def measurements(stations: int, hours: int, seed: int) -> Iterator[dict[str, object]]:
    """Readings in the order of time; the stations share out the ten minutes among themselves."""
    noise = random.Random(seed)
    offsets = {station: 7 * station % EVERY for station in range(1, stations + 1)}
    in_turn = sorted(offsets, key=lambda station: offsets[station])
    for begin in range(0, hours * 3600, EVERY):
        for station in in_turn:
            yield reading(begin + offsets[station], station, noise)


def reading(second: int, station: int, noise: random.Random) -> dict[str, object]:
    values = {p.attribute: concentration(p, second, station, noise) for p in POLLUTANTS}
    return {"@type": "Measurement", "timestamp": START + second, "station": station, **values}


def concentration(pollutant: Pollutant, second: int, station: int, noise: random.Random) -> float:
    """A daily curve between half and one and a half of the calm mean, noise, and episodes."""
    hour = second / 3600
    daily = 1 + 0.4 * math.cos((hour - pollutant.peak_hour) * math.tau / 24)
    factor = daily * noise.uniform(0.9, 1.1) * episode(pollutant, hour, station)
    return round(pollutant.calm * factor, pollutant.digits)


def episode(pollutant: Pollutant, hour: float, station: int) -> float:
    """One outside an episode; inside, a hill that reaches its factor in the middle."""
    attribute, first, length, factor = EPISODES.get(station % 4, ("", 0.0, 1.0, 1.0))
    progress = (hour % 24 - first) / length
    if attribute != pollutant.attribute or not 0 <= progress <= 1:
        return 1.0
    return 1 + (factor - 1) * math.sin(progress * math.pi)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stations", type=int, default=4, help="61 in Andalusia")
    parser.add_argument("--hours", type=int, default=9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=FOLDER / "events.jsonl")
    options = parser.parse_args()
    for name, has_priorities in (("airquality.epl", False), ("airquality_fixed.epl", True)):
        text = program(has_priorities)
        (FOLDER / name).write_text(text, encoding="utf-8")
    with options.out.open("w", encoding="utf-8") as file:
        for event in measurements(options.stations, options.hours, options.seed):
            file.write(json.dumps(event) + "\n")


if __name__ == "__main__":
    main()
