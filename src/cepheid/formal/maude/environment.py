"""What may happen: the inputs that a search tries.

[[input]]
type = "Motorbike"
gaps = ["1 second", "5 seconds"]        # since the event before; numbers are seconds

[input.values]
speed = [0, 60]                         # some values,
tirePressure1 = { min = 0.5, max = 2.5, step = 1.0 }
location = ["here"]                     # what is not named is null
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeGuard

from cepheid.core.event import Event
from cepheid.core.time import BEGIN, LAST_INSTANT, SECOND, Instant, parse_length
from cepheid.errors import CepheidError, Diagnostic, UsageError, error, suggest
from cepheid.formal.streams import Step
from cepheid.io.toml import read_toml
from cepheid.program.resolved import ResolvedProgram

MOST = 10_000  # inputs that can come next
_KEYS = {"type", "gaps", "values"}
_RANGE = {"min", "max", "step"}


@dataclass(frozen=True, slots=True)
class Environment:
    """All that may come next, at any time."""

    program: ResolvedProgram
    inputs: tuple[Step, ...]
    start: Instant = BEGIN

    @property
    def first(self) -> tuple[Step, ...]:
        """What may come first: with no event before it, gaps make no difference."""
        return tuple(dict.fromkeys(Step(i.type, 0, i.values) for i in self.inputs))

    def part(self, program: ResolvedProgram) -> Environment:
        """The same inputs for a part of the program."""
        return replace(self, program=program)

    def event(self, input: Step, instant: Instant, sequence: int = 0) -> Event:
        return input.event(self.program.types, instant, sequence)


def environment_of(given: object, program: ResolvedProgram) -> Environment:
    """An environment from a path or from what such a file holds; UsageError with all that is wrong."""
    if isinstance(given, str | Path):
        return make_environment(read_toml(given, "bad-environment"), program)
    if isinstance(given, Mapping):
        return make_environment(given, program)
    fact = f"an environment is a path or a dictionary, not {type(given).__name__}"
    raise UsageError(error("usage", fact))


def make_environment(data: Mapping[str, object], program: ResolvedProgram) -> Environment:
    """An environment from the data of such a file."""
    given = data.get("input")
    odd = sorted(data.keys() - {"input"})
    problems = [_wrong(f"no '{key}' in an environment", "it has [[input]] tables") for key in odd]
    if not isinstance(given, list) or not given:
        raise UsageError(*problems, _wrong("an environment needs an [[input]]"))
    inputs: list[Step] = []
    for number, each in enumerate(given, start=1):
        try:
            inputs += _inputs(each, program)
        except ValueError as problem:
            problems.append(_wrong(f"input {number}: {problem}"))
        except CepheidError as wrong:
            problems += [_wrong(f"input {number}: {d.message}", d.hint) for d in wrong.diagnostics]
    if len(inputs) > MOST:
        problems.append(_wrong(f"{len(inputs):,} inputs may come next; {MOST:,} are the most"))
    if problems:
        raise UsageError(*problems)
    environment = Environment(program, tuple(dict.fromkeys(inputs)))
    _check_values(environment)
    return environment


def _wrong(fact: str, hint: str | None = None) -> Diagnostic:
    return error("bad-environment", fact, hint=hint)


def _inputs(given: object, program: ResolvedProgram) -> Iterator[Step]:
    if not isinstance(given, dict):
        raise ValueError("it is no table")
    for key in given.keys() - _KEYS:
        raise ValueError(f"no '{key}'; an input has {', '.join(sorted(_KEYS))}")
    name = given.get("type")
    if not isinstance(name, str) or name not in program.input_types:
        hint = suggest(str(name), program.input_types, "types that come from outside")
        raise ValueError(f"no input type {name!r} ({hint})")
    gaps = given.get("gaps")
    if not isinstance(gaps, list) or not gaps:
        raise ValueError("'gaps' is a list of times since the event before")
    values = given.get("values", {})
    if not isinstance(values, dict):
        raise ValueError("'values' is a table of attributes")
    time = program.types[name].time
    if time is not None and time.attribute in values:
        raise ValueError(f"'{time.attribute}' is the time of {name}, which its gaps say")
    choices = [[(name, value) for value in _values(name, each)] for name, each in values.items()]
    count = len(gaps) * math.prod(map(len, choices))
    if count > MOST:
        raise ValueError(f"{count:,} inputs may come next; {MOST:,} are the most")
    for gap, chosen in itertools.product(map(_gap, gaps), itertools.product(*choices)):
        yield Step(name, gap, chosen)


def _gap(given: object) -> int:
    if isinstance(given, str):
        return parse_length(given).microseconds
    if not _is_number(given) or not 0 <= given <= LAST_INSTANT / SECOND:
        raise ValueError(f"{given!r} is no gap; write '3 seconds' or a number of seconds")
    return round(given * SECOND)


def _values(name: str, given: object) -> list[object]:
    """The values of an attribute: a list, or a range with both ends."""
    if isinstance(given, list):
        if not given:
            raise ValueError(f"'{name}' has no values")
        return [_hashable(name, value) for value in given]
    if not isinstance(given, dict):
        raise ValueError(f"'{name}' is a list of values, or a table with min, max and step")
    if given.keys() != _RANGE or not all(_is_number(v) for v in given.values()):
        raise ValueError(f"the range '{name}' needs the numbers min, max and step")
    low, high, step = given["min"], given["max"], given["step"]
    if step <= 0 or low > high:
        raise ValueError(f"the range '{name}' goes from min up to max by a step above zero")
    steps = (float(high) - float(low)) / step
    if steps >= MOST:
        raise ValueError(f"the range '{name}' has {steps + 1:,.0f} values; {MOST:,} are the most")
    return [low + place * step for place in range(math.floor(steps + 1e-9) + 1)]


def _hashable(name: str, value: object) -> object:
    """A value that may be part of what a search has seen: lists are tuples."""
    if isinstance(value, Mapping):
        raise ValueError(f"'{name}' has a record, which a search cannot try")
    return tuple(_hashable(name, v) for v in value) if isinstance(value, list) else value


def _is_number(value: object) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


def _check_values(environment: Environment) -> None:
    """Every input must be an event of its type."""
    problems: dict[Diagnostic, None] = {}
    for input in environment.first:
        try:
            environment.event(input, environment.start)
        except CepheidError as wrong:
            problems.update((_wrong(d.message, d.hint), None) for d in wrong.diagnostics)
    if problems:
        raise UsageError(*problems)
