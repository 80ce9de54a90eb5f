"""Values by chance: what is drawn at once is what would be drawn one by one."""

from __future__ import annotations

import math
import re
from inspect import isabstract
from typing import Any

import numpy as np
import pytest

from cepheid.simulation.distributions import distribution
from cepheid.simulation.reading import read_source
from cepheid.simulation.sources import ByMode, Drawable, ValueSource

SHAPE = (3, 4_000)


def drawn(given: object, shape: tuple[int, int] = SHAPE, seed: int = 1) -> Any:
    source = read_source(given)
    assert isinstance(source, Drawable)
    return source.draw(np.random.default_rng(seed), shape)


def test_a_source_says_how_it_is_drawn() -> None:
    assert isabstract(ValueSource)
    assert isabstract(Drawable)
    assert not isabstract(ByMode)
    assert not issubclass(ByMode, Drawable)


@pytest.mark.parametrize(
    ("given", "mean", "sd"),
    [
        ({"distribution": "normal", "mean": 100, "sd": 50}, 100, 50),
        ({"distribution": "exponential", "mean": 60}, 60, 60),
        ({"distribution": "uniform", "min": 2, "max": 4}, 3, 2 / math.sqrt(12)),
        ({"distribution": "triangular", "min": 0, "mode": 0, "max": 3}, 1, math.sqrt(0.5)),
        ({"distribution": "poisson", "mean": 4}, 4, 2),
        ({"distribution": "gamma", "shape": 4, "scale": 2}, 8, 4),
        ({"distribution": "weibull", "shape": 1, "scale": 5}, 5, 5),
        ({"distribution": "lognormal", "mean": 0, "sd": 0.5}, math.exp(0.125), 0.604),
        ({"distribution": "bernoulli", "p": 0.25}, 0.25, math.sqrt(0.1875)),
        ({"distribution": "t", "df": 12, "loc": 3}, 3, math.sqrt(1.2)),  # SciPy's own
        ({"distribution": "binom", "n": 10, "p": 0.5}, 5, math.sqrt(2.5)),
        ({"choice": [0, 10], "weights": [3, 1]}, 2.5, math.sqrt(18.75)),
        ({"mixture": [{"value": 0, "weight": 3}, {"value": 10}]}, 2.5, math.sqrt(18.75)),
        ({"value": 1, "fault": {"rate": 0.25, "value": 9}}, 3, math.sqrt(12)),
    ],
)
def test_distributions_have_their_mean_and_spread(given: object, mean: float, sd: float) -> None:
    values = drawn(given).astype(float)
    assert values.mean() == pytest.approx(mean, abs=5 * sd / math.sqrt(values.size))
    assert values.std() == pytest.approx(sd, rel=0.1)


@pytest.mark.parametrize(
    ("given", "fact"),
    [
        ({"distribution": "normal", "mean": 1, "sd": -1}, "sd is not negative"),
        ({"distribution": "normal", "mean": 1}, "needs mean, sd"),
        ({"distribution": "normal", "mean": 1, "sd": 1, "df": 2}, "has no 'df', but mean, sd"),
        ({"distribution": "exponential", "mean": 0}, "above zero"),
        ({"distribution": "uniform", "min": 3, "max": 2}, "min is not above max"),
        ({"distribution": "normal", "mean": float("nan"), "sd": 1}, "mean is a number, not nan"),
        ({"previous": float("inf"), "value": 1}, "previous is a number, not inf"),
        ({"value": 2**63}, "a value has more than 64 bits"),
        ({"distribution": "normal", "mean": "high", "sd": 1}, "mean is a number, not 'high'"),
        ({"distribution": "beta", "a": -1, "b": 2}, "no beta distribution has a = -1, b = 2"),
        ({"distribution": "beta", "a": 1}, "needs b"),
        ({"distribution": "beta", "a": 1, "b": 1, "c": 1}, "has no 'c'"),
        ({"distribution": "nomral", "mean": 1, "sd": 1}, "did you mean 'normal'?"),
        ({"value": True, "flip": 1.5}, "flip lies between 0 and 1"),
        ({"value": [1]}, "is no text, number, true or false"),
        ({"speed": 3}, "a value needs one of"),
        ({"value": 3, "wieght": 2}, "'wieght' says nothing beside 'value'"),
        ({"choice": []}, "choice is a list of values"),
        ({"choice": [1, 2], "weights": [1]}, "2 values need as many weights"),
        ({"choice": [1, 2], "weights": [0, 0]}, "one of them is above zero"),
        ({"walk": {"value": 1}, "start": 5, "max": 3}, "a walk starts between min and max"),
        ({"walk": {"value": "up"}}, "walk needs numbers"),
        ({"markov": {"a": {"b": 1}}}, "no state 'b'"),
        ({"markov": {"a": {"a": 1}}, "start": "z"}, "no state 'z'"),
        ({"previous": 0.5}, "needs a distribution or a value"),
        ({"mixture": []}, "a mixture is a list of sources"),
        ({"value": 1, "fault": {"value": 2}}, "a fault is a table with a rate and a value"),
        ({"distribution": "normal", "mean": 0, "sd": 1, "min": 2, "max": 1}, "min is above max"),
        ({"modes": {"a": {"modes": {"b": 1}}}}, "modes are for a whole value"),
        ({"mixture": [{"modes": {"a": 1}}, 2]}, "modes are for a whole value"),
        ({"walk": {"modes": {"a": 1}}}, "modes are for a whole value"),
        ({"value": 1, "fault": {"rate": 0.1, "modes": {"a": 2}}}, "modes are for a whole value"),
        ({"modes": {"a": 1}, "flip": 0.1}, "limits and faults go into the modes"),
        ({"index": 3}, "write index = true"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_fact(given: object, fact: str) -> None:
    with pytest.raises(ValueError, match=re.escape(fact)):
        read_source(given)


def test_factories_have_numbers_and_values_of_their_own() -> None:
    assert drawn({"index": True}, (3, 2)).tolist() == [[1, 1], [2, 2], [3, 3]]
    assert drawn({"each": ["a", "b"]}, (3, 1)).tolist() == [["a"], ["b"], ["a"]]


def test_a_flip_is_rare_and_turns_the_value() -> None:
    values = drawn({"value": True, "flip": 0.01}, (10, 10_000))
    assert values.dtype == bool
    assert (~values).mean() == pytest.approx(0.01, abs=0.001)


def test_limits_are_those_of_a_sensor() -> None:
    values = drawn({"distribution": "normal", "mean": 0, "sd": 10, "min": -5, "max": 5})
    assert (values.min(), values.max()) == (-5, 5)


@pytest.mark.parametrize("bounds", [{}, {"min": -2}, {"max": 3}, {"min": -2, "max": 3}])
def test_a_walk_bounces_off_its_bounds(bounds: dict[str, float]) -> None:
    step = {"distribution": "normal", "mean": 0, "sd": 1}
    path = drawn({"walk": step, "start": 1, **bounds}, (2, 500))
    steps = distribution("normal", {"mean": 0, "sd": 1}).draw(np.random.default_rng(1), (2, 500))
    for row, changes in zip(path, steps, strict=True):
        place, way = 1.0, 1.0
        for found, change in zip(row, changes, strict=True):
            place, way = bounced(place + way * change, way, **bounds)
            assert found == pytest.approx(place)


def bounced(
    place: float, way: float, min: float = -math.inf, max: float = math.inf
) -> tuple[float, float]:
    """A place behind a wall is one before it, and the way turns round."""
    while not min <= place <= max:
        place, way = (2 * min - place if place < min else 2 * max - place), -way
    return place, way


def test_a_reading_depends_on_the_one_before() -> None:
    given = {"previous": 0.9, "distribution": "normal", "mean": 1, "sd": 2, "start": 5}
    path = drawn(given, (2, 300))
    news = distribution("normal", {"mean": 1, "sd": 2}).draw(np.random.default_rng(1), (2, 300))
    for row, new in zip(path, news, strict=True):
        before = 5.0
        for found, change in zip(row, new, strict=True):
            before = 0.9 * before + change
            assert found == pytest.approx(before)


def test_a_markov_chain_goes_step_by_step() -> None:
    rows: dict[str, dict[str, float]] = {
        "a": {"a": 0.5, "b": 0.5},
        "b": {"c": 1},
        "c": {"a": 0.25, "b": 0.25, "c": 0.5},
    }
    path = drawn({"markov": rows, "start": "b"}, (3, 1_001))
    chance = np.random.default_rng(1).random((3, 1_001))
    for row, chances in zip(path, chance, strict=True):
        state = "b"
        for found, number in zip(row, chances, strict=True):
            reached = 0.0
            for name in "abc":
                reached += rows[state].get(name, 0)
                if number < reached:
                    state = name
                    break
            assert found == state


def test_states_are_values() -> None:
    on = drawn({"markov": {"true": {"false": 1}, "false": {"true": 1}}, "start": True}, (1, 4))
    assert on.tolist() == [[False, True, False, True]]
    assert drawn({"markov": {"1": {"2.5": 1}, "2.5": {"1": 1}}}, (1, 2)).tolist() == [[2.5, 1]]
