"""Sources as scenarios write them: a plain value, or a table that says how a value comes about."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from cepheid.core.time import SECOND, parse_length
from cepheid.errors import suggest
from cepheid.simulation.distributions import distribution
from cepheid.simulation.sources import (
    ByMode,
    Choice,
    Constant,
    Drawable,
    Drawn,
    Each,
    Faulty,
    Following,
    Index,
    Limited,
    Markov,
    Mixture,
    Scalar,
    ValueSource,
    Walk,
)

Table: TypeAlias = dict[str, Any]
_AROUND = ("flip", "fault", "min", "max")  # what may stand beside any kind of source


class Wrong(ValueError):
    """A fact about a source that makes no sense."""


class Reader:
    """Reads sources, and gathers what is wrong with them."""

    def __init__(self, problems: list[str]) -> None:
        self._problems = problems

    def source(self, given: object, place: str) -> ValueSource | None:
        try:
            return given if isinstance(given, ValueSource) else read_source(given)
        except ValueError as problem:
            self._problems.append(f"{place}: {problem}")
            return None

    def modes(self, given: object, place: str) -> Markov | None:
        """The modes of a factory, a Markov chain whose states have names."""
        try:
            return given if isinstance(given, Markov) else markov(given)
        except ValueError as problem:
            self._problems.append(f"{place}: {problem}")
            return None

    def gap(self, given: object, place: str) -> ValueSource | None:
        """The same for seconds, which may be written as a period."""
        if isinstance(given, str):
            try:
                given = parse_length(given).microseconds / SECOND
            except ValueError as problem:
                self._problems.append(f"{place}: {problem}")
                return None
        source = self.source(given, place)
        if source is not None and not all(map(_is_number, source.scalars())):
            self._problems.append(f"{place}: a number of seconds is needed")
            return None
        if isinstance(source, Constant) and float(source.value) <= 0:
            self._problems.append(f"{place}: events come some time after each other")
            return None
        return source


def read_source(given: object) -> ValueSource:
    """A source; ValueError with a fact."""
    if isinstance(given, Mapping) and "modes" in given:
        return _by_mode(dict(given))
    return _drawable(given)


def _part(given: object) -> Drawable:
    """A source inside another one."""
    if isinstance(given, Mapping) and "modes" in given:
        raise Wrong("modes are for a whole value, not for a part of one")
    return _drawable(given)


def _by_mode(table: Table) -> ValueSource:
    given = table.pop("modes")
    if table.keys() & set(_AROUND):
        raise Wrong("limits and faults go into the modes")
    if not isinstance(given, Mapping) or not given:
        raise Wrong("modes is a table with a value for each mode")
    _expect_empty(table, "modes")
    return ByMode(tuple((name, _part(own)) for name, own in given.items()))


def _drawable(given: object) -> Drawable:
    if not isinstance(given, Mapping):
        return Constant(_scalar(given))
    table = dict(given)
    kind = next((name for name in _KINDS if name in table), None)
    if kind is None:
        raise Wrong(f"a value needs one of {', '.join(('modes', *_KINDS))}")
    flip, fault = table.pop("flip", None), table.pop("fault", None)
    limits = _limits(table) if kind != "walk" else {}
    source = _KINDS[kind](table)
    _expect_empty(table, kind)
    if limits:
        source = Limited(source, **limits)
    if flip is not None:
        source = Faulty(source, _rate(flip, "flip"))
    return source if fault is None else _faulty(source, fault)


def _expect_empty(table: Table, kind: str) -> None:
    """What is left in a table is not understood."""
    if table:
        name = next(iter(table))
        hint = suggest(name, (*_AROUND, "modes", *_KINDS), "there are")
        raise Wrong(f"{name!r} says nothing beside {kind!r}; {hint}")


def _faulty(source: Drawable, given: object) -> Drawable:
    if not isinstance(given, Mapping) or "rate" not in given:
        raise Wrong("a fault is a table with a rate and a value")
    table = dict(given)
    return Faulty(source, _rate(table.pop("rate"), "rate"), _part(table))


def _limits(table: Table) -> dict[str, float]:
    """A distribution between bounds keeps to them by itself."""
    if table.get("distribution") in ("uniform", "triangular"):
        return {}
    limits = _bounds(table)
    if limits.get("min", -math.inf) > limits.get("max", math.inf):
        raise Wrong("min is above max")
    return limits


def _bounds(table: Table) -> dict[str, float]:
    names = [name for name in ("min", "max") if name in table]
    return {str(name): _number(table.pop(name), name) for name in names}


# The kinds of sources; each takes out of the table what it understands.


def _value(table: Table) -> Drawable:
    return Constant(_scalar(table.pop("value")))


def _index(table: Table) -> Drawable:
    if table.pop("index") is not True:
        raise Wrong("write index = true")
    return Index()


def _each(table: Table) -> Drawable:
    return Each(_scalars(table.pop("each"), "each"))


def _choice(table: Table) -> Drawable:
    values = _scalars(table.pop("choice"), "choice")
    weights = table.pop("weights", [1] * len(values))
    if not isinstance(weights, Sequence) or len(weights) != len(values):
        raise Wrong(f"{len(values)} values need as many weights")
    return Choice(values, _shares(weights))


def _drawn(table: Table) -> Drawable:
    name = table.pop("distribution")
    if not isinstance(name, str):
        raise Wrong("the name of a distribution is a text")
    numbers = {n: v for n, v in table.items() if n not in ("start", "previous")}
    for parameter in numbers:
        del table[parameter]
    return Drawn(distribution(name, {n: _number(v, n) for n, v in numbers.items()}))


def _walk(table: Table) -> Drawable:
    step = _part(table.pop("walk"))
    bounds = _bounds(table)
    start = _number(table.pop("start", 0), "start")
    low, high = bounds.get("min", -math.inf), bounds.get("max", math.inf)
    if not low <= start <= high or low == high:
        raise Wrong("a walk starts between min and max")
    return Walk(_numeric(step, "walk"), start, **bounds)


def _following(table: Table) -> Drawable:
    share = _number(table.pop("previous"), "previous")
    start = _number(table.pop("start", 0), "start")
    if "distribution" not in table and "value" not in table:
        raise Wrong("what is new in each reading needs a distribution or a value")
    news = _drawn(table) if "distribution" in table else _value(table)
    return Following(share, _numeric(news, "previous"), start)


def _markov(table: Table) -> Drawable:
    chain = markov(table.pop("markov"))
    start = table.pop("start", chain.states[0])
    start = str(start).lower() if isinstance(start, bool) else str(start)
    if start not in chain.states:
        raise Wrong(f"no state {start!r}; {suggest(start, map(str, chain.states), 'states')}")
    return Markov(
        tuple(_state(str(s)) for s in chain.states), chain.rows, chain.states.index(start)
    )


def markov(given: object) -> Markov:
    """A Markov chain whose states are texts, the first of them the one before all readings."""
    if not isinstance(given, Mapping) or not given:
        raise Wrong("a Markov chain is a table of states, each a table of the next ones")
    states = [str(state) for state in given]
    rows = []
    for state, row in given.items():
        if not isinstance(row, Mapping) or not row:
            raise Wrong(f"state {state!r} needs a table of the next ones")
        for name in row:
            if name not in given:
                raise Wrong(f"no state {name!r}; {suggest(str(name), states, 'states')}")
        rows.append(_shares([row.get(name, 0) for name in states]))
    return Markov(tuple(states), tuple(rows))


def _mixture(table: Table) -> Drawable:
    given = table.pop("mixture")
    if not isinstance(given, list | tuple) or not given:
        raise Wrong("a mixture is a list of sources")
    parts, weights = [], []
    for part in given:
        own = dict(part) if isinstance(part, Mapping) else {"value": part}
        weights.append(own.pop("weight", 1))
        parts.append(_part(own))
    return Mixture(tuple(parts), _shares(weights))


# Where two of these stand in one table, the first says what it is.
_KINDS: dict[str, Callable[[Table], Drawable]] = {
    "previous": _following,
    "walk": _walk,
    "markov": _markov,
    "mixture": _mixture,
    "choice": _choice,
    "each": _each,
    "index": _index,
    "value": _value,
    "distribution": _drawn,
}


# Plain values.


def _state(text: str) -> Scalar:
    """The name of a state as a value: keys of a table are always texts."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _scalar(value: object) -> Scalar:
    if _is_number(value):
        return _number(value, "a value")
    if isinstance(value, bool | str):
        return value
    raise Wrong(f"{value!r} is no text, number, true or false")


def _scalars(values: object, name: str) -> tuple[Scalar, ...]:
    if not isinstance(values, list | tuple) or not values:
        raise Wrong(f"{name} is a list of values")
    return tuple(map(_scalar, values))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numeric(source: Drawable, name: str) -> Drawable:
    if not all(map(_is_number, source.scalars())):
        raise Wrong(f"{name} needs numbers")
    return source


def _number(value: object, name: str) -> float:
    if not _is_number(value):
        raise Wrong(f"{name} is a number, not {value!r}")
    assert isinstance(value, int | float)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Wrong(f"{name} has more than 64 bits")
    if not math.isfinite(value):
        raise Wrong(f"{name} is a number, not {value}")
    return value


def _rate(value: object, name: str) -> float:
    rate = _number(value, name)
    if not 0 <= rate <= 1:
        raise Wrong(f"{name} lies between 0 and 1, not at {rate:g}")
    return rate


def _shares(weights: Sequence[object]) -> tuple[float, ...]:
    """Weights as shares of one."""
    numbers = [_number(weight, "a weight") for weight in weights]
    total = sum(numbers)
    if min(numbers) < 0 or not 0 < total < math.inf:
        raise Wrong("weights are not negative, and one of them is above zero")
    return tuple(number / total for number in numbers)
