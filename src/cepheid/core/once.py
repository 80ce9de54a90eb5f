"""What is found out about an object once, and known as long as it lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import ref

S = TypeVar("S")
T = TypeVar("T")


def once(function: Callable[[S], T]) -> Callable[[S], T]:
    """For functions of one object that never changes, whose results do not refer to it.

    Objects are told apart by identity: to compare them, as a cache by value does, takes as long as
    what is saved.
    """
    known: dict[int, tuple[ref[S], T]] = {}

    @wraps(function)
    def found(subject: S) -> T:
        place = id(subject)
        entry = known.get(place)
        if entry is None or entry[0]() is not subject:
            forget = ref(subject, lambda _: known.pop(place, None))
            entry = known[place] = forget, function(subject)
        return entry[1]

    return found
