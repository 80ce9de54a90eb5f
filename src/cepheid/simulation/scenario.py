"""Scenarios: which events happen by chance, how often, and with which values.

A scenario is data: written in TOML, as a dictionary of the same form, or with the classes here.

    start = 2026-01-01T00:00:00Z

    [[factory]]
    type = "Motorbike"
    count = 3
    every = {distribution = "exponential", mean = 60}
    max_events = 10_000

    [factory.attributes]
    motorbikeId = {index = true}
    speed = {distribution = "normal", mean = 100, sd = 50, min = 0}
    seat = {value = true, flip = 0.0001}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from cepheid.core.time import BEGIN, Instant, Period, parse_instant, parse_period
from cepheid.errors import InputError, UsageError, error, suggest
from cepheid.io.toml import read_toml
from cepheid.simulation.reading import Reader
from cepheid.simulation.sources import ByMode, Markov, ValueSource


@dataclass(frozen=True, slots=True)
class Factory:
    """Makes events of one type: `count` of its kind, each with a clock of its own.

    Sources may also be given as in a dictionary.
    """

    type: str
    every: ValueSource  # seconds from one event to the next
    count: int = 1
    max_events: int | None = None  # of each of them in a run
    attributes: Mapping[str, ValueSource] = field(default_factory=dict)
    modes: Markov | None = None  # what all its attributes may depend on

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in self.__slots__}
        fields = _fields(
            {n: v for n, v in given.items() if v is not None}, f"factory of {self.type}"
        )
        for name, value in fields.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Factories, and when their clocks start; `until` is how long a run lasts."""

    factories: tuple[Factory, ...]
    start: Instant = BEGIN
    until: Period | None = None

    def __post_init__(self) -> None:
        start: object = self.start
        try:
            if isinstance(start, str | datetime):
                object.__setattr__(self, "start", parse_instant(start))
            if self.until is not None:
                object.__setattr__(self, "until", period_of(self.until))
        except ValueError as problem:
            raise InputError(error("bad-scenario", str(problem))) from None

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the events it makes, each once."""
        return tuple(dict.fromkeys(factory.type for factory in self.factories))


def scenario_of(given: object) -> Scenario:
    """A scenario from a path, a dictionary or a scenario; InputError with all that is wrong."""
    if isinstance(given, Scenario):
        return given
    if isinstance(given, str | Path):
        return read_scenario(given)
    if isinstance(given, Mapping):
        return _built(given, None)
    fact = f"a scenario is a path, a dictionary or a Scenario, not {type(given).__name__}"
    raise UsageError(error("usage", fact))


def read_scenario(path: str | Path) -> Scenario:
    """A scenario from a TOML file."""
    return _built(read_toml(path, "bad-scenario"), str(path))


def _built(data: Mapping[str, object], file: str | None) -> Scenario:
    problems: list[str] = []
    scenario = _scenario(data, problems)
    if problems:
        where = f"{file}: " if file else ""
        raise InputError(*(error("bad-scenario", f"{where}{problem}") for problem in problems))
    assert scenario is not None
    return scenario


def _scenario(data: Mapping[str, object], problems: list[str]) -> Scenario | None:
    _expect_keys(data, ("factory", "start", "until"), "a scenario", problems)
    start, until = BEGIN, None
    try:
        if "start" in data:
            start = parse_instant(data["start"])
        if "until" in data:
            until = period_of(data["until"])
    except (ValueError, OverflowError) as problem:
        problems.append(str(problem))
    tables = data.get("factory", ())
    if not isinstance(tables, list | tuple) or not tables:
        problems.append("a scenario needs a [[factory]]")
        return None
    factories = [
        _factory(table, f"factory {number}", problems)
        for number, table in enumerate(tables, start=1)
    ]
    return Scenario(tuple(f for f in factories if f is not None), start, until)


def _factory(table: object, place: str, problems: list[str]) -> Factory | None:
    if isinstance(table, Factory):
        return table
    if not isinstance(table, Mapping):
        problems.append(f"{place} is no table")
        return None
    name = table.get("type")
    if not isinstance(name, str):
        problems.append(f"{place} needs the type of its events, a text")
        return None
    place = f"{place} ({name})"
    known = ("type", "count", "every", "max_events", "modes", "attributes")
    _expect_keys(table, known, place, problems)
    try:
        return Factory(**_fields(table, place))
    except InputError as refused:
        problems += [problem.message for problem in refused.diagnostics]
        return None


def _fields(table: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The fields of a factory; InputError with all that is wrong with them."""
    problems: list[str] = []
    reader = Reader(problems)
    attributes = table.get("attributes", {})
    if not isinstance(attributes, Mapping):
        problems.append(f"{place}: attributes is a table")
        attributes = {}
    sources = {a: reader.source(given, f"{place}, {a}") for a, given in attributes.items()}
    every = reader.gap(table["every"], f"{place}, every") if "every" in table else None
    if "every" not in table:
        problems.append(f"{place} needs `every`, the seconds from one event to the next")
    modes = reader.modes(table["modes"], f"{place}, modes") if "modes" in table else None
    if "modes" not in table or modes is not None:
        _check_modes({**sources, "every": every}, modes, place, problems)
    count = _whole(table, "count", place, problems)
    most = _whole(table, "max_events", place, problems)
    if problems:
        raise InputError(*(error("bad-scenario", problem) for problem in problems))
    return {
        "type": table["type"],
        "every": every,
        "count": 1 if count is None else count,
        "max_events": most,
        "attributes": sources,
        "modes": modes,
    }


def _check_modes(
    sources: Mapping[str, ValueSource | None], modes: Markov | None, place: str, problems: list[str]
) -> None:
    """A source by mode has one for each mode of its factory."""
    names = {str(state) for state in modes.states} if modes else set()
    for attribute, source in sources.items():
        if isinstance(source, ByMode) and {name for name, _ in source.parts} != names:
            wanted = ", ".join(sorted(names)) or "none"
            problems.append(f"{place}, {attribute}: the modes of the factory are {wanted}")


def _whole(table: Mapping[str, object], name: str, place: str, problems: list[str]) -> int | None:
    value = table.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        problems.append(f"{place}: {name} is a whole number from 1 on, not {value!r}")
        return None
    return value


def _expect_keys(
    table: Mapping[str, object], known: Iterable[str], place: str, problems: list[str]
) -> None:
    unknown = [str(key) for key in table if key not in known]
    problems += [f"{place} has no {key!r}; {suggest(key, known, 'keys')}" for key in unknown]


def period_of(given: object) -> Period:
    """How long a run lasts: a text such as `1d`, seconds, or a period; ValueError with a fact."""
    if isinstance(given, Period):
        found = given
    elif isinstance(given, str):
        found = parse_period(given)
    elif isinstance(given, int | float) and not isinstance(given, bool) and given >= 0:
        found = parse_period(f"{given:f} seconds")
    else:
        raise ValueError(f"{given!r} is not a time period; write for example '1 day'")
    if found.is_zero:
        raise ValueError("a run takes some time")
    return found
