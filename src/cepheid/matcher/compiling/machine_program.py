"""The machine form of a program: tables of numbers, and what the numbers stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepheid.core.types import DataType
from cepheid.matcher.columns.interning import Pool
from cepheid.matcher.compiling.bytecode import Site
from cepheid.pattern.schedule import Schedule
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement


@dataclass(frozen=True, slots=True)
class MachineProgram:
    """What the machine needs to know of a program; nothing of it changes in a run."""

    program: ResolvedProgram
    statements: tuple[ResolvedStatement, ...]  # in the order of their ranks
    types: tuple[str, ...]
    slots: Mapping[tuple[str, DataType], int]
    tables: Mapping[int, tuple[tuple[int, ...], ...]]  # region -> rows
    code: tuple[int, ...]
    sites: tuple[Site, ...]
    schedules: tuple[Schedule, ...]
    pool: Pool
    constants: int  # how many values of the pool the code refers to: the first ones
    depth: int  # of the stack that expressions need
    most_tags: int
    most_keys: int
    most_aggregates: int
    most_ordered: int
    # For each statement the events and timers of its pattern, from left to right: the node of each
    # and which of its words counts how often it was reached.
    steps: tuple[tuple[tuple[int, int], ...], ...]
