"""The matcher in this process, on one core, from Arrow to Arrow, beside the rates of Esper.

Rates travel badly between machines, so ours is scaled by the time of a fixed load, which was one second
where Esper was measured. Rows are compared with Esper's: their number, and where they are numbers of
events, their hash.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import inputs
from benchmarks.measure import Sizes, calibrate, cpu_seconds
from benchmarks.programs import SCHEMA
from benchmarks.report import Figure, Goal
from cepheid.matcher.gaps import left_to_reference
from cepheid.matcher.lanes.operator import LanesOperator, lanes_of
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.operator import Operator, open_operator
from cepheid.program.resolved import ResolvedProgram
from cepheid.verbs import parse

REPEATS = 3
PREFIX = 20_000  # events of a program that the reference semantics runs
_METADATA = 4  # columns before that of the derived type

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
    goal: float | None = None

    def program(self) -> ResolvedProgram:
        return parse(f"{SCHEMAS[self.input]}{self.epl};").resolve()


def cases() -> dict[str, Case]:
    text = Path(__file__).with_name("oracle.toml").read_text(encoding="utf-8")
    return {name: Case(**facts) for name, facts in tomllib.loads(text).items()}


def run(sizes: Sizes) -> Iterator[Figure]:  # noqa: ARG001 (the oracle knows one size only)
    pace = calibrate()
    for name, case in cases().items():
        yield figure(name, case, pace)


def figure(name: str, case: Case, pace: float) -> Figure:
    program = case.program()
    reasons = [reason for found in left_to_reference(program).values() for reason in found]
    given = events(case.input)
    if reasons:
        given = given.slice(0, PREFIX)
    times = []
    for _ in range(REPEATS):
        operator = _operator(program, is_compiled=not reasons)
        found: list[pa.Table] = []
        times.append(cpu_seconds(lambda o=operator, f=found: f.append(o.take(given))))  # type: ignore[misc]
    rate = len(given) / min(times)
    problem = None if reasons else differs(case, found[0])
    by_reference = f"by the reference, {PREFIX:,} events: {', '.join(reasons)}" if reasons else ""
    return Figure(
        name=name,
        ratio=rate * pace / case.rate,
        goal=None if case.goal is None else Goal("at least", case.goal),
        of={"events/s": rate, "scaled": rate * pace, "Esper": case.rate},
        note=problem or by_reference or f"{case.rows:,} rows, all equal",
        is_wrong=problem is not None,
    )


def _operator(program: ResolvedProgram, *, is_compiled: bool) -> Operator:
    """What opens such a program, without the keys that only parts of a program need."""
    plans = lanes_of(program)
    if plans is not None:
        return LanesOperator(program, plans, keyed=False)
    return MachineOperator(program, keyed=False) if is_compiled else open_operator(program)


def differs(case: Case, rows: pa.Table) -> str | None:
    """What is wrong with the rows, if anything."""
    if len(rows) != case.rows:
        return f"{len(rows):,} rows instead of {case.rows:,}"
    if case.sha256 is not None and _hash(rows) != case.sha256:
        return "other rows than Esper's"
    return None


def _hash(rows: pa.Table) -> str:
    derived: Any = rows.column(_METADATA).combine_chunks()
    members = np.stack([member.to_numpy() for member in derived.flatten()], axis=1)
    ordered = members[np.lexsort(members.T[::-1])]
    lines = "".join(",".join(map(str, row)) + "\n" for row in ordered.tolist())
    return hashlib.sha256(lines.encode()).hexdigest()


@cache
def events(name: str) -> pa.Table:
    """An input as the operator takes it."""
    table: pa.Table = getattr(inputs, name)()
    head: dict[str, Any] = {
        "@type": _types(name, table),
        "@time": pa.array(table["ts"].to_numpy() * 1_000),
        "@sequence": table["id"],
    }
    attributes = {n: table[n] for n in table.column_names if n != "type"}
    return pa.table(head | attributes).combine_chunks()


def _types(name: str, table: pa.Table) -> Any:
    if "type" in table.column_names:
        return table["type"].combine_chunks().dictionary_encode()
    everything = np.zeros(len(table), dtype=np.int32)
    return pa.DictionaryArray.from_arrays(everything, pa.array([name.capitalize()]))
