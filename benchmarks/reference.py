"""What nets and Maude are measured on, and compared with: a program, and its rows by the reference."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from runpy import run_path

from cepheid.core.event import Event
from cepheid.engines.common.intake import take_in
from cepheid.io import fail, records_of
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics.machine import Machine
from cepheid.verbs import load

READINGS = 1_000


def two_pollutants() -> tuple[ResolvedProgram, list[Event]]:
    """The statements of the air quality about two of its pollutants, and a thousand readings."""
    folder = Path(__file__).parents[1] / "examples" / "airquality"
    whole = load(folder / "airquality_fixed.epl").resolve()
    wanted = ("PM25", "NO2", "AirQualityLevel")
    program = whole.part([s.name for s in whole.statements if s.name.startswith(wanted)])
    measurements = run_path(str(folder / "generate.py"))["measurements"]
    readings = list(islice(measurements(4, 48, 1), READINGS))
    return program, take_in(program, records_of(readings, on_problem=fail), fail).events


def by_reference(program: ResolvedProgram, events: Sequence[Event]) -> list[Event]:
    machine = Machine(program)
    machine.start(events[0].instant)
    return [row for event in events for row in machine.take(event)]


def are_equal(rows: Sequence[Event], others: Sequence[Event]) -> bool:
    """In what they say, when, and in their order."""
    return list(map(_shown, rows)) == list(map(_shown, others))


def _shown(row: Event) -> tuple[object, ...]:
    return row.instant, row.statement, row.type, row.is_old, tuple(row.items())
