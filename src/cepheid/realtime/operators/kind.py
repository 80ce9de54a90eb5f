"""A kind of operator: what it takes, what it gives, and how it works."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from sys import float_info
from typing import Any, TypeAlias

from cepheid.realtime.machine import Sample
from cepheid.realtime.payload import LARGEST, Payload

Array: TypeAlias = Any  # a NumPy array of one dimension
State: TypeAlias = Any  # whatever an operator remembers from one run to the next
Inputs: TypeAlias = tuple[Sample[Array], ...]
Made: TypeAlias = tuple[State, Sequence[Array]]  # the state after a run, and the events it made
Parameters: TypeAlias = Mapping[str, Any]


class KindError(ValueError):
    """Parameters or inputs that an operator cannot work with; says what is wrong, and perhaps a way out."""

    def __init__(self, fact: str, hint: str | None = None, parameter: str | None = None) -> None:
        super().__init__(fact)
        self.fact = fact
        self.hint = hint
        self.parameter = parameter  # the one that it is about


@dataclass(frozen=True, slots=True)
class Work:
    """An operator at work. State is passed in and comes back: an operator keeps nothing itself.

    No run changes the state that it was given, so that one that is broken off leaves it as it was. The
    sessions of statements alone go on in place: to copy one at each event would take too long.
    """

    step: Callable[[State, Inputs], Made]
    begin: Callable[[], State] = lambda: None
    # The same run in so many steps: None after each but the last.
    in_steps: Callable[[State, Inputs, int], Iterator[Made | None]] | None = None
    releases_gil: bool = False
    # A state as something that can be pickled, and back.
    freeze: Callable[[State], Any] = lambda state: state
    thaw: Callable[[Any], State] = lambda saved: saved


@dataclass(frozen=True, slots=True)
class Parameter:
    """`of` turns what was written into a value; ValueError says why it cannot."""

    of: Callable[[Any], Any]
    default: Any = None
    is_needed: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    says: str  # what it does, in a line
    make: Callable[[Parameters, tuple[Payload, ...]], tuple[Payload, Work]]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    inputs: tuple[int, int | None] = (1, 1)  # the least, the most
    is_stateful: bool = False


def number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("is a number")
    if not abs(value) <= float_info.max:  # as it is of none that is no number, either
        raise ValueError("is a finite number")
    return float(value)


def count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST:
        raise ValueError(f"is a whole number from 1 to {LARGEST}")
    return value


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("is a text")
    return value


def need_real(inputs: Sequence[Payload]) -> None:
    for each in inputs:
        if not each.is_real:
            raise KindError(f"it takes real numbers, not {each}")


def need_numbers(inputs: Sequence[Payload]) -> None:
    for each in inputs:
        if not each.is_number:
            raise KindError("it takes numbers, and not all attributes of these events are some")


def need_equal(inputs: Sequence[Payload]) -> None:
    first = inputs[0]
    for each in inputs[1:]:
        if (each.dtype, each.size) != (first.dtype, first.size):
            raise KindError(f"its inputs are of one type and size, not {first} and {each}")


def parts(size: int, steps: int) -> list[slice]:
    """So many slices of a size, none empty unless there is too little."""
    ends = [size * n // steps for n in range(steps + 1)]
    return [slice(*each) for each in pairwise(ends)]
