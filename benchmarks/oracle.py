"""One core of this process, from Arrow to Arrow, beside the rates of Esper: what users call, and in it the
operator alone.

Both get a table as it comes: names of types are texts, times are whole milliseconds. What users call is
`cep.run(program, table).to_arrow()`; it has to find out what the table holds, and whether it is in order.
Rates travel badly between machines, so ours is scaled by the time of a fixed load, which was one second
where Esper was measured. Rows are compared with Esper's: their number, and where they are numbers of
events, their hash.
"""

from __future__ import annotations

import hashlib
import statistics
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import cepheid as cep
from benchmarks import inputs
from benchmarks.measure import Sizes, calibrate, cpu_seconds
from benchmarks.pairs import Measure, paired
from benchmarks.programs import SCHEMA
from benchmarks.report import Figure, Goal

if TYPE_CHECKING:
    from cepheid.matcher.operator import Operator
    from cepheid.program.resolved import ResolvedProgram

PREFIX = 20_000  # events of a program that the reference semantics runs
TIMED = "@EventTime(attribute='ts', unit='milliseconds')\n"
AROUND = Goal("at most", 1.25)  # of what users call, beside the operator in it

SCHEMAS = {
    "motorbike": SCHEMA,
    "forward": "".join(
        f"create schema {name}(id long, ts long, b int);\n"
        for name in (*inputs.ADVANCING, *inputs.RETURNING)
    ),
    "patient": "create schema Patient(id long, ts long, patientId int, contrDuration int);\n",
    "ab": "".join(f"create schema {n}(id long, ts long, k int, v double);\n" for n in "AB"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A statement, and what Esper made of it."""

    input: str
    epl: str
    rows: int
    rate: int
    sha256: str | None = None
    goal: float | None = None  # for the operator
    public: float | None = None  # for what users call

    @property
    def program(self) -> cep.Program:
        schemas = SCHEMAS[self.input].replace("create schema", f"{TIMED}create schema")
        return cep.parse(f"{schemas}{self.epl};")

    @property
    def by_reference(self) -> list[str]:
        """What the matcher leaves to the reference semantics, which takes fewer events."""
        try:
            from cepheid.matcher.gaps import left_to_reference
        except ImportError:  # commits before there were gaps
            from cepheid.matcher.operator import left_to_reference  # type: ignore[attr-defined]

        left = left_to_reference(self.program.resolve())
        return [reason for reasons in left.values() for reason in reasons]

    @property
    def count(self) -> int:
        return PREFIX if self.by_reference else len(events(self.input))


def cases() -> dict[str, Case]:
    text = Path(__file__).with_name("oracle.toml").read_text(encoding="utf-8")
    return {name: Case(**facts) for name, facts in tomllib.loads(text).items()}


def run(sizes: Sizes) -> Iterator[Figure]:  # noqa: ARG001 (the oracle knows one size only)
    pace = calibrate()
    for name, case in cases().items():
        yield from figures(name, case, pace)


def measures(sizes: Sizes) -> Mapping[str, Measure]:  # noqa: ARG001
    """The CPU time of each statement that has a goal."""
    found: dict[str, Measure] = {}
    for name, case in cases().items():
        if case.goal is not None:
            found[f"{name}, operator"] = InOperator(case).measure
            found[f"{name}, public path"] = Called(case).measure
    return found


def figures(name: str, case: Case, pace: float) -> Iterator[Figure]:
    sides = Called(case), InOperator(case)
    problem = next(filter(None, (differs(case, side.rows()) for side in sides)), None)
    found = paired(*(side.measure for side in sides))
    beside = partial(_beside_esper, case, pace, problem)
    yield beside(f"{name}, public path", found.ours, case.public)
    yield beside(f"{name}, inside the operator", found.theirs, case.goal)
    goal = None if case.goal is None else AROUND
    yield Figure.of_pairs(f"{name}, public path beside operator", found, goal)


def _beside_esper(
    case: Case,
    pace: float,
    problem: str | None,
    name: str,
    times: tuple[float, ...],
    goal: float | None,
) -> Figure:
    rate = case.count / statistics.median(times)
    reasons = case.by_reference
    by_reference = f"by the reference, {PREFIX:,} events: {', '.join(reasons)}" if reasons else ""
    return Figure(
        name=name,
        ratio=rate * pace / case.rate,
        goal=None if goal is None else Goal("at least", goal),
        of={"events/s": rate, "scaled": rate * pace, "Esper": case.rate},
        note=problem or by_reference or f"{case.rows:,} rows, all equal",
        is_wrong=problem is not None,
    )


class Called:
    """What users call."""

    def __init__(self, case: Case) -> None:
        self._program = case.program
        self._table = events(case.input).slice(0, case.count)

    def measure(self) -> float:
        return cpu_seconds(self.rows)

    def rows(self) -> pa.Table:
        return cep.run(self._program, self._table).to_arrow()


class InOperator:
    """The operator that does the work."""

    def __init__(self, case: Case) -> None:
        self._program = case.program.resolve()
        table = events(case.input).slice(0, case.count)
        self._events = table.append_column(
            "@time", pa.array(table["ts"].to_numpy() * 1_000)
        ).append_column("@sequence", table["id"])

    def measure(self) -> float:
        operator = _operator(self._program)
        return cpu_seconds(lambda: operator.take(self._events))

    def rows(self) -> pa.Table:
        table = _operator(self._program).take(self._events)
        (target,) = {statement.target for statement in self._program.statements}
        members: Any = table[target].combine_chunks()
        return pa.Table.from_arrays(members.flatten(), names=[f.name for f in members.type])


def _operator(program: ResolvedProgram) -> Operator:
    """What runs such a program, without the keys that only parts of a program need."""
    from cepheid.matcher.operator import open_operator

    try:
        return open_operator(program, keyed=False)
    except TypeError:  # a commit in which only its class could be told
        lanes: Any = import_module("cepheid.matcher.lanes")
        operator: Operator = lanes.Lanes(program, lanes.lanes_of(program), keyed=False)
        return operator


def differs(case: Case, rows: pa.Table) -> str | None:
    """What is wrong with the rows, if anything."""
    if case.by_reference:
        return None  # of a part of the events
    if len(rows) != case.rows:
        return f"{len(rows):,} rows instead of {case.rows:,}"
    if case.sha256 is not None and _hash(rows) != case.sha256:
        return "other rows than Esper's"
    return None


def _hash(rows: pa.Table) -> str:
    names = [name for name in rows.column_names if not name.startswith("@")]
    members = np.stack([rows[name].to_numpy() for name in names], axis=1)
    ordered = members[np.lexsort(members.T[::-1])]
    lines = "".join(",".join(map(str, row)) + "\n" for row in ordered.tolist())
    return hashlib.sha256(lines.encode()).hexdigest()


@cache
def events(name: str) -> pa.Table:
    """An input, with the names of types as texts."""
    table: pa.Table = getattr(inputs, name)()
    if "type" not in table.column_names:
        return table.append_column("@type", pa.repeat(name.capitalize(), len(table)))
    return table.rename_columns({"type": "@type"})
