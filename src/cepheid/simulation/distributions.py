"""Distributions by name: the common ones in plain words, all others as SciPy calls them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cepheid.errors import suggest

Numbers: TypeAlias = npt.NDArray[Any]
Shape: TypeAlias = tuple[int, int]  # factories of a kind, readings of each
Parameters: TypeAlias = tuple[tuple[str, float], ...]
Draw: TypeAlias = Callable[..., Numbers]


@dataclass(frozen=True, slots=True)
class _Known:
    """A distribution that NumPy draws from: its parameters, in order, and what they must be."""

    parameters: tuple[str, ...]
    draw: Draw  # of a generator, a shape and the parameters
    is_possible: Callable[..., bool]
    demand: str


def _positive(*values: float) -> bool:
    return all(value > 0 for value in values)


def _has_spread(_mean: float, sd: float) -> bool:
    return sd >= 0


_KNOWN: dict[str, _Known] = {
    "normal": _Known(
        ("mean", "sd"),
        lambda g, shape, mean, sd: g.normal(mean, sd, shape),
        _has_spread,
        "sd is not negative",
    ),
    "lognormal": _Known(
        ("mean", "sd"),
        lambda g, shape, mean, sd: g.lognormal(mean, sd, shape),
        _has_spread,
        "sd, of the logarithm, is not negative",
    ),
    "exponential": _Known(
        ("mean",),
        lambda g, shape, mean: g.exponential(mean, shape),
        _positive,
        "the mean is above zero",
    ),
    "uniform": _Known(
        ("min", "max"),
        lambda g, shape, low, high: g.uniform(low, high, shape),
        lambda low, high: low <= high,
        "min is not above max",
    ),
    "triangular": _Known(
        ("min", "mode", "max"),
        lambda g, shape, low, mode, high: g.triangular(low, mode, high, shape),
        lambda low, mode, high: low <= mode <= high and low < high,
        "mode lies between min and max",
    ),
    "poisson": _Known(
        ("mean",),
        lambda g, shape, mean: g.poisson(mean, shape),
        lambda mean: 0 <= mean <= 1e18,
        "the mean is not negative",
    ),
    "gamma": _Known(
        ("shape", "scale"),
        lambda g, shape, k, scale: g.gamma(k, scale, shape),
        _positive,
        "shape and scale are above zero",
    ),
    "weibull": _Known(
        ("shape", "scale"),
        lambda g, shape, k, scale: scale * g.weibull(k, shape),
        _positive,
        "shape and scale are above zero",
    ),
    "bernoulli": _Known(
        ("p",),
        lambda g, shape, p: g.random(shape) < p,
        lambda p: 0 <= p <= 1,
        "p lies between 0 and 1",
    ),
}


@dataclass(frozen=True, slots=True)
class Distribution:
    """A named distribution; ValueError with a fact where there is none such."""

    name: str
    parameters: Parameters = ()

    def __post_init__(self) -> None:
        for name, value in self.parameters:
            if not math.isfinite(value):
                raise ValueError(f"{name} = {value} is no number")
        _sampler(self.name, self.parameters)

    def draw(self, generator: np.random.Generator, shape: Shape) -> Numbers:
        return _sampler(self.name, self.parameters)(generator, shape)


def distribution(name: str, parameters: Mapping[str, float]) -> Distribution:
    return Distribution(name, tuple(parameters.items()))


@lru_cache(maxsize=256)
def _sampler(name: str, parameters: Parameters) -> Draw:
    """What draws from it, known to be possible."""
    return _known(name, parameters) if name in _KNOWN else _from_scipy(name, parameters)


def _known(name: str, parameters: Parameters) -> Draw:
    known, given = _KNOWN[name], dict(parameters)
    _expect(name, known.parameters, given)
    values = [given[parameter] or 0 for parameter in known.parameters]  # NumPy refuses -0.0
    if not known.is_possible(*values):
        raise ValueError(f"no {name} distribution has {_shown(given)}: {known.demand}")
    return lambda generator, shape: known.draw(generator, shape, *values)


def _expect(name: str, wanted: tuple[str, ...], given: Mapping[str, float]) -> None:
    for parameter in wanted:
        if parameter not in given:
            raise ValueError(f"the {name} distribution needs {', '.join(wanted)}")
    for parameter in given:
        if parameter not in wanted:
            raise ValueError(
                f"the {name} distribution has no {parameter!r}, but {', '.join(wanted)}"
            )


def _from_scipy(name: str, parameters: Parameters) -> Draw:
    from scipy import stats

    found, given = getattr(stats, name, None), dict(parameters)
    if not isinstance(found, stats.rv_continuous | stats.rv_discrete):
        raise ValueError(f"no distribution {name!r}; {suggest(name, _names(), 'among others')}")
    shapes = tuple(s.strip() for s in (found.shapes or "").split(",") if s.strip())
    optional = ("loc", "scale") if isinstance(found, stats.rv_continuous) else ("loc",)
    missing = [shape for shape in shapes if shape not in given]
    unknown = [parameter for parameter in given if parameter not in (*shapes, *optional)]
    if missing or unknown:
        has = ", ".join((*shapes, *optional))
        what = f"needs {', '.join(missing)}" if missing else f"has no {unknown[0]!r}, but {has}"
        raise ValueError(f"the {name} distribution {what}")
    frozen = found(**given)
    if math.isnan(float(frozen.ppf(0.5))):
        raise ValueError(f"no {name} distribution has {_shown(given)}")
    return lambda generator, shape: np.asarray(frozen.rvs(size=shape, random_state=generator))


def _names() -> list[str]:
    from scipy import stats

    kinds = stats.rv_continuous | stats.rv_discrete
    return [*_KNOWN, *(n for n in dir(stats) if isinstance(getattr(stats, n), kinds))]


def _shown(parameters: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in parameters.items())
