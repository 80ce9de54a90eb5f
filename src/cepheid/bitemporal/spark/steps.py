"""A computation as named queries, each over those before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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

    def needed(self, *names: str) -> list[Step]:
        """The steps behind some of them, each after those that it reads."""
        found: dict[str, Step] = {}
        for name in names:
            self._collect(name, found)
        return list(found.values())

    def _collect(self, name: str, found: dict[str, Step]) -> None:
        step = self._steps.get(name)
        if step is not None and name not in found:
            for read in step.reads:
                self._collect(read, found)
            found[name] = step

    def inputs(self, *names: str) -> list[str]:
        """The inputs behind some steps."""
        read = (each for step in self.needed(*names) for each in step.reads)
        return list(dict.fromkeys(name for name in read if name not in self))


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def listed(names: Iterable[str], side: str = "") -> str:
    """Columns, one after the other."""
    return ", ".join(quoted(f"{side}{name}") for name in names)


def with_clause(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        yield f"{quoted(step.name)} AS (\n{step.sql}\n)"
