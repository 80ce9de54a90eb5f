"""Where the values of attributes come from, reading by reading.

A source fills a table: a row for each factory of a kind, a column for each of its readings. All rows
are filled at once, and the readings of a row follow each other in time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cepheid.simulation.distributions import Distribution, Numbers, Shape

Scalar: TypeAlias = bool | int | float | str
Names: TypeAlias = tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class ValueSource(ABC):
    """The root of all sources: those that are drawn by themselves, and those that ask for a mode."""

    @abstractmethod
    def scalars(self) -> tuple[Scalar, ...]:
        """Values of which it is known beforehand that they may come; of numbers, one is enough."""


@dataclass(frozen=True, slots=True)
class Drawable(ValueSource):
    """A source that needs nothing but chance; only such a one can be a part of another."""

    @abstractmethod
    def draw(self, generator: np.random.Generator, shape: Shape) -> Numbers: ...


@dataclass(frozen=True, slots=True)
class Constant(Drawable):
    value: Scalar

    def draw(self, generator: np.random.Generator, shape: Shape) -> Numbers:
        return np.broadcast_to(_array((self.value,)), shape)

    def scalars(self) -> tuple[Scalar, ...]:
        return (self.value,)


@dataclass(frozen=True, slots=True)
class Index(Drawable):
    """The number of the factory, from one."""

    def draw(self, generator: np.random.Generator, shape: Shape) -> Numbers:
        return np.broadcast_to(np.arange(1, shape[0] + 1)[:, None], shape)

    def scalars(self) -> tuple[Scalar, ...]:
        return (1,)


@dataclass(frozen=True, slots=True)
class Each(Drawable):
    """A value for each factory, in turn."""

    values: tuple[Scalar, ...]

    def draw(self, generator: np.random.Generator, shape: Shape) -> Numbers:
        places = np.arange(shape[0]) % len(self.values)
        return np.broadcast_to(_array(self.values)[places][:, None], shape)

    def scalars(self) -> tuple[Scalar, ...]:
        return self.values


@dataclass(frozen=True, slots=True)
class Choice(Drawable):
    values: tuple[Scalar, ...]
    weights: tuple[float, ...]  # they add up to one

    def draw(self, generator: np.random.Generator, shape: Shape) -> Numbers:
        return _array(self.values)[_places(generator.random(shape), self.weights)]

    def scalars(self) -> tuple[Scalar, ...]:
        return self.values


@dataclass(frozen=True, slots=True)
class Drawn(Drawable):
    """Every reading anew, from a distribution."""

    distribution: Distribution

    def draw(self, generator: np.random.Generator, shape: Shape) -> Numbers:
        return self.distribution.draw(generator, shape)

    def scalars(self) -> tuple[Scalar, ...]:
        return (0.5,) if self.distribution.name != "bernoulli" else (True,)


@dataclass(frozen=True, slots=True)
class Walk(Drawable):
    """A random walk: each reading is the one before and a step; it bounces off its bounds."""

    step: Drawable
    start: float = 0.0
    min: float | None = None
    max: float | None = None

    def draw(self, generator: np.random.Generator, shape: Shape) -> Numbers:
        path = self.start + np.cumsum(self.step.draw(generator, shape), axis=1)
        return _bounced(path, self.min, self.max)

    def scalars(self) -> tuple[Scalar, ...]:
        return (0.5,)


def _bounced(path: Numbers, low: float | None, high: float | None) -> Numbers:
    """A free path folded back between walls, which is the path that bounces off them."""
    if low is not None and high is not None:
        width = high - low
        place = np.mod(path - low, 2 * width)
        return low + np.where(place > width, 2 * width - place, place)
    if low is not None:
        return low + np.abs(path - low)
    if high is not None:
        return high - np.abs(high - path)
    return path


@dataclass(frozen=True, slots=True)
class Following(Drawable):
    """Depends on the reading before: a share of it, and something new."""

    share: float
    news: Drawable
    start: float = 0.0

    def draw(self, generator: np.random.Generator, shape: Shape) -> Numbers:
        from scipy.signal import lfilter

        news = np.asarray(self.news.draw(generator, shape), dtype=np.float64)
        before = np.full((shape[0], 1), self.share * self.start)
        found: Numbers = lfilter([1.0], [1.0, -self.share], news, axis=1, zi=before)[0]
        return found

    def scalars(self) -> tuple[Scalar, ...]:
        return (0.5,)


@dataclass(frozen=True, slots=True)
class Markov(Drawable):
    """A Markov chain: from each state, how probable each next one is."""

    states: tuple[Scalar, ...]
    rows: tuple[tuple[float, ...], ...]
    start: int = 0  # the state before the first reading

    def draw(self, generator: np.random.Generator, shape: Shape) -> Numbers:
        before = np.full(shape[0], self.start)
        found: Numbers = _array(self.states)[self.path(generator, shape, before)]
        return found

    def path(self, generator: np.random.Generator, shape: Shape, before: Numbers) -> Numbers:
        """The numbers of the states, row by row, after those that were before."""
        chance = generator.random(shape)
        # What each step does to every state; then what all steps up to it do, by doubling.
        steps = np.stack([_places(chance, row) for row in self.rows], axis=-1)
        done = 1
        while done < shape[1]:
            joined = np.take_along_axis(steps[:, done:], steps[:, :-done], axis=2)
            steps = np.concatenate([steps[:, :done], joined], axis=1)
            done *= 2
        return np.take_along_axis(steps, before[:, None, None], axis=2)[:, :, 0]

    def scalars(self) -> tuple[Scalar, ...]:
        return self.states


@dataclass(frozen=True, slots=True)
class Mixture(Drawable):
    """Each reading comes from one of several sources."""

    parts: tuple[Drawable, ...]
    weights: tuple[float, ...]  # they add up to one

    def draw(self, generator: np.random.Generator, shape: Shape) -> Numbers:
        places = _places(generator.random(shape), self.weights)
        drawn = [part.draw(generator, shape) for part in self.parts]
        return np.select([places == number for number in range(len(drawn))], drawn)

    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(value for part in self.parts for value in part.scalars())


@dataclass(frozen=True, slots=True)
class Faulty(Drawable):
    """At a rate, a reading is something else: that of another source, or the contrary."""

    source: Drawable
    rate: float
    fault: Drawable | None = None  # None: true becomes false, and false true

    def draw(self, generator: np.random.Generator, shape: Shape) -> Numbers:
        is_fault = generator.random(shape) < self.rate
        right = self.source.draw(generator, shape)
        wrong = ~right.astype(bool) if self.fault is None else self.fault.draw(generator, shape)
        return np.where(is_fault, wrong, right)

    def scalars(self) -> tuple[Scalar, ...]:
        wrong = (True,) if self.fault is None else self.fault.scalars()
        return (*self.source.scalars(), *wrong)


@dataclass(frozen=True, slots=True)
class Limited(Drawable):
    """A sensor's range: what is outside reads as its end."""

    source: Drawable
    min: float | None = None
    max: float | None = None

    def draw(self, generator: np.random.Generator, shape: Shape) -> Numbers:
        return np.clip(self.source.draw(generator, shape), self.min, self.max)

    def scalars(self) -> tuple[Scalar, ...]:
        return self.source.scalars()


@dataclass(frozen=True, slots=True)
class ByMode(ValueSource):
    """A source for each mode of the factory, which decides about all its attributes together."""

    parts: tuple[tuple[str, Drawable], ...]

    def draw_in(self, generator: np.random.Generator, modes: Numbers, names: Names) -> Numbers:
        """The readings of a factory whose modes, by their numbers, are known."""
        drawn = [(names.index(n), s.draw(generator, modes.shape)) for n, s in self.parts]
        return np.select([modes == mode for mode, _ in drawn], [found for _, found in drawn])

    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(value for _, part in self.parts for value in part.scalars())


def _array(values: tuple[Scalar, ...]) -> Numbers:
    is_text = any(isinstance(value, str) for value in values)
    return np.array(values, dtype=object if is_text else None)


def _places(chance: Numbers, weights: tuple[float, ...]) -> Numbers:
    """Which of several things happens, by numbers between 0 and 1."""
    return np.searchsorted(np.cumsum(weights)[:-1], chance, side="right")
