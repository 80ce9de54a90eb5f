"""A computation as named queries, each over those before it.

Names of steps and inputs have an `@` in them, and stand in the texts of queries in backquotes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """A query, its name, and the names of the steps and inputs that it reads."""

    name: str
    sql: str
    reads: tuple[str, ...]


class Plan:
    """Steps by name; what is no step is an input."""

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._steps: dict[str, Step] = {}
        self.add(steps)

    def add(self, steps: Iterable[Step]) -> None:
        self._steps |= {step.name: step for step in steps}

    def __contains__(self, name: str) -> bool:
        return name in self._steps

    def needed(self, name: str, given: Callable[[str], bool]) -> dict[str, Step]:
        """A step and those behind it, each after what it reads; some are given and left out."""
        found: dict[str, Step] = {}
        self._collect(name, given, found)
        return found

    def _collect(self, name: str, given: Callable[[str], bool], found: dict[str, Step]) -> None:
        if name not in found:
            for read in self._steps[name].reads:
                if read in self._steps and not given(read):
                    self._collect(read, given, found)
            found[name] = self._steps[name]


def read_often(steps: Iterable[Step]) -> set[str]:
    """What steps read in more than one place."""
    found: Counter[str] = Counter()
    for step in steps:
        for read in step.reads:
            found[read] += step.sql.count(quoted(read))
    return {name for name, count in found.items() if count > 1}


def nested(name: str, steps: Mapping[str, Step], given: Mapping[str, str]) -> str:
    """The text of a step, with those that it reads in their places, or what stands for given ones."""
    step = steps[name]
    text = step.sql.replace("{", "{{").replace("}", "}}")  # given ones stand in braces
    for read in step.reads:
        inner = f"({nested(read, steps, given)})" if read in steps else given[read]
        text = text.replace(quoted(read), inner)
    return text


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def listed(names: Iterable[str], side: str = "") -> str:
    """Columns, one after the other."""
    return ", ".join(quoted(f"{side}{name}") for name in names)
