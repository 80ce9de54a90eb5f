"""Whole programs with the events that they run over: those of the examples, and generated ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import cepheid as cep
from benchmarks.inputs import kept
from benchmarks.measure import cpu_seconds
from cepheid.io import fail, read_records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cepheid.program.resolved import ResolvedStatement

EXAMPLES = Path(__file__).parents[1] / "examples"
BIKES = 1_000  # of which the rows are known
IN_FLEET = {
    "BlowOutTire": 1_558,
    "Crash": 463,
    "DriverLeftSeat": 4_000,
    "GhostRider": 476,
    "Accident": 216,
    "AccidentsReport": 5,
    "DangerousLocation": 1,
}
POLLUTANTS = ("PM25", "PM10", "O3", "NO2", "SO2", "CO")
READING = (
    "@EventTime(attribute='ts', unit='milliseconds')\n"
    "create schema Reading(ts long, id long, level int, heat double, pressure double, flow double);\n"
)
WATCHED = ("heat", "pressure", "flow")
RARE = 0.0002  # of all events, what the most that passes a filter is
DEPTH, WIDTH = 10, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A program, its events in the order of time, and how many rows of each type that gives."""

    program: cep.Program
    events: pa.Table
    rows: Mapping[str, int] | None = None  # None: not known

    def run(self) -> pa.Table:
        return cep.run(self.program, self.events).to_arrow()

    def measure(self) -> float:
        return cpu_seconds(self.run)


def counts(rows: pa.Table) -> dict[str, int]:
    return dict(Counter(_types_of(rows)))


def _types_of(rows: pa.Table) -> list[str]:
    return [str(name) for name in rows["@type"].to_pylist()]


def differs(found: Mapping[str, int], known: Mapping[str, int] | None) -> str | None:
    """What is wrong with the numbers of rows, if anything."""
    if known is None:
        return None
    expected = {name: count for name, count in known.items() if count}
    wrong = sorted(n for n in {*found, *expected} if found.get(n, 0) != expected.get(n, 0))
    facts = (f"{found.get(n, 0):,} {n} instead of {expected.get(n, 0):,}" for n in wrong[:3])
    return ", ".join(facts) or None


# A program in parts ---------------------------------------------------------------------------


def alone(whole: Whole) -> list[Whole]:
    """Each statement as a program of its own, over the events, or the derived rows, that it takes."""
    rows = whole.run()
    given = set(_types_of(whole.events))
    return [
        Whole(
            program=_only(whole.program, statement),
            events=whole.events if given.issuperset(names) else _rows_of(whole, names, rows),
        )
        for statement in whole.program.resolve().statements
        for names in [set(statement.inputs)]
    ]


def _only(program: cep.Program, statement: ResolvedStatement) -> cep.Program:
    """What other statements derive is known by its type."""
    others = set(program.tree.statements) - {statement.tree}
    declarations = tuple(each for each in program.tree.declarations if each not in others)
    types = program.resolve().types
    derived = {each.target for each in program.resolve().statements} - {statement.target}
    tree = replace(program.tree, declarations=declarations)
    return cep.Program(tree, {name: types[name] for name in sorted(derived)})


def _rows_of(whole: Whole, names: Collection[str], rows: pa.Table) -> pa.Table:
    """The rows of some types, with the columns that these have."""
    types = whole.program.resolve().types
    columns = dict.fromkeys(a.name for each in sorted(names) for a in types[each].attributes)
    taken = rows.filter(pc.is_in(rows["@type"], pa.array(sorted(names))))
    return taken.select(["@type", "@time", *columns]).combine_chunks()


# Examples -------------------------------------------------------------------------------------


@cache
def motorbike(bikes: int, name: str = "motorbike_partitioned") -> Whole:
    """A fleet with a thousand readings of each bike; rows are known of one size, and by bike."""
    is_known = bikes == BIKES and name == "motorbike_partitioned"
    return Whole(
        program=cep.load(EXAMPLES / "motorbike" / f"{name}.epl"),
        events=fleet(bikes),
        rows=IN_FLEET if is_known else None,
    )


@cache
def fleet(bikes: int) -> pa.Table:
    """Readings in the order of time, and of one time in that of the table."""
    readings: pa.Table = run_path(str(EXAMPLES / "motorbike" / "fleet.py"))["readings"](bikes, 1)
    ordered = readings.take(np.argsort(readings["timestamp"].to_numpy(), kind="stable"))
    return ordered.append_column("@type", pa.repeat("Motorbike", len(ordered)))


@cache
def air_quality(count: int) -> Whole:
    """Each measurement gives six averages, the level of each, and for each of these one more level."""
    folder = EXAMPLES / "airquality"
    events = repeated(_lines(folder / "events.jsonl"), "timestamp", 3_600, count)
    averages = {f"{name}Average": len(events) for name in POLLUTANTS}
    levels = dict.fromkeys(("PollutantLevel", "AirQualityLevel"), len(events) * len(POLLUTANTS))
    return Whole(
        program=cep.load(folder / "airquality_fixed.epl"), events=events, rows=averages | levels
    )


def measurements(events: pa.Table) -> Path:
    """The same events as JSON Lines."""
    return kept(f"measurements-{len(events)}.jsonl", lambda file: _write_lines(events, file))


def _write_lines(events: pa.Table, file: Path) -> None:
    with file.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(event) + "\n" for event in events.to_pylist())


@cache
def pregnancy(count: int) -> Whole:
    folder = EXAMPLES / "pregnancy"
    events = repeated(_lines(folder / "events.jsonl"), "ts", 60, count)
    return Whole(program=cep.load(folder / "pregnancy.epl"), events=events)


@cache
def comfort(count: int) -> Whole:
    folder = EXAMPLES / "comfort"
    files = (folder / f"{name}.events" for name in ("th", "me"))
    records = (record for file in files for record in read_records(file, on_problem=fail))
    events: list[dict[str, Any]] = [
        {"@type": each.type, "@time": int(each.time.timestamp()), **each.values}
        for each in records
        if each.type is not None and isinstance(each.time, datetime)
    ]
    events.sort(key=lambda event: event["@time"])
    return Whole(
        program=cep.load(folder / "comfort.epl"), events=repeated(events, "@time", 3_600, count)
    )


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def repeated(events: Sequence[Mapping[str, Any]], time: str, gap: int, count: int) -> pa.Table:
    """So many events or a few less: again and again, each time a gap after the last of them."""
    names = dict.fromkeys(name for event in events for name in event)
    table = pa.table({name: [event.get(name) for event in events] for name in names})
    times = table[time].to_numpy()
    span = times.max() - times.min() + gap
    place = table.schema.get_field_index(time)
    turns = (
        table.set_column(place, time, pa.array(times + turn * span))
        for turn in range(count // len(events))
    )
    return pa.concat_tables(turns).combine_chunks()


# Generated ------------------------------------------------------------------------------------


@cache
def readings(count: int) -> pa.Table:
    rng = np.random.default_rng(5)
    columns: dict[str, Any] = {
        "@type": pa.repeat("Reading", count),
        "ts": 1_000 + 10 * np.arange(count),
        "id": np.arange(count),
        "level": rng.integers(0, 100, count).astype(np.int32),
    }
    return pa.table(columns | {name: rng.random(count) for name in WATCHED})


@cache
def filters(count: int, events: int) -> Whole:
    """Alerts: a threshold each, which few events pass."""
    thresholds = 1 - RARE * np.random.default_rng(6).random(count)
    watched = [WATCHED[number % len(WATCHED)] for number in range(count)]
    alerts = [
        (f"Alert{n}", *each)
        for n, each in enumerate(zip(watched, thresholds.tolist(), strict=True))
    ]
    table = readings(events)
    ordered = {name: np.sort(table[name].to_numpy()) for name in WATCHED}
    statements = (
        _forwards("Reading", alert, f"id, {name} as value", f"{name} > {threshold}")
        for alert, name, threshold in alerts
    )
    return Whole(
        program=cep.parse(READING + "".join(statements)),
        events=table,
        rows={alert: _above(ordered[name], threshold) for alert, name, threshold in alerts},
    )


def _above(ordered: NDArray[np.float64], threshold: float) -> int:
    return len(ordered) - int(np.searchsorted(ordered, threshold, side="right"))


@cache
def chain(events: int) -> Whole:
    """Each statement forwards most rows of the one before it."""
    names = ["Reading", *(f"Step{number}" for number in range(1, DEPTH + 1))]
    least = {name: 5 * number for number, name in enumerate(names)}
    statements = (
        _forwards(taken, target, "id, level", f"level >= {least[target]}")
        for taken, target in pairwise(names)
    )
    return _leveled(statements, {name: least[name] for name in names[1:]}, events)


@cache
def fan_out(events: int) -> Whole:
    """Many statements take what one derives."""
    least = {"High": 50} | {f"High{number}": 50 + number for number in range(WIDTH)}
    statements = (
        _forwards("Reading" if name == "High" else "High", name, "id, level", f"level >= {bound}")
        for name, bound in least.items()
    )
    return _leveled(statements, least, events)


def _leveled(statements: Iterable[str], least: Mapping[str, int], events: int) -> Whole:
    table = readings(events)
    level = table["level"].to_numpy()
    return Whole(
        program=cep.parse(READING + "".join(statements)),
        events=table,
        rows={name: int((level >= bound).sum()) for name, bound in least.items()},
    )


def _forwards(taken: str, target: str, select: str, condition: str) -> str:
    return f"@Name('{target}') insert into {target} select {select} from {taken}({condition});\n"
