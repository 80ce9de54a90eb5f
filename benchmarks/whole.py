"""Whole programs as users run them: in this process from Arrow to Arrow, from a file to a file, event by event.

Two of the examples are beside the rates that Esper had with them, scaled as in `oracle`. What a program costs
more than its parts is its time beside the sum of its statements' own, each run alone over what it takes.
Generated programs have many filters on one type, a chain and a fan of derivation. Rows are counted by type,
where their numbers are known and in any case in the whole and in its parts.
"""

from __future__ import annotations

import statistics
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias

import cepheid as cep
from benchmarks import whole_programs
from benchmarks.measure import Sizes, calibrate, cpu_seconds, keep_memory
from benchmarks.pairs import LEAST, Measure, paired
from benchmarks.push import slowest
from benchmarks.report import Figure, Goal
from benchmarks.whole_programs import BIKES, DEPTH, WIDTH, Whole, alone, counts, differs
from cepheid.io import write_file

MOTORBIKE, AIR = "motorbike, 7 statements", "air quality, 43 statements"
FILES = f"{AIR}, JSON Lines to JSON Lines"
ESPER = {MOTORBIKE: 297_428, AIR: 31_671}  # events/s of version 9.0.0
FILTERS = {10: None, 100: None, 1_000: Goal("at most", 20)}
TOGETHER = Goal("at most", 1.3)
SOON = 1_000.0  # microseconds

Make: TypeAlias = Callable[[], Whole]  # once: what it makes is kept


def run(sizes: Sizes) -> Iterator[Figure]:
    pace = calibrate()
    for name, make in _examples(sizes).items():
        yield beside_esper(f"{name}, Arrow to Arrow", make(), ESPER[name], pace)
    yield from_file_to_file(_examples(sizes)[AIR](), pace)
    keep_memory()
    for name, make in _examples(sizes).items():
        yield beside_its_statements(name, make, TOGETHER)
    for count, goal in FILTERS.items():
        yield beside_one(_filters(sizes, count)(), _filters(sizes, 1)(), goal)
    for name, make in _others(sizes).items():
        yield beside_its_statements(name, make, TOGETHER)
    yield latency(_pushed(sizes), pace)


def measures(sizes: Sizes) -> Mapping[str, Measure]:
    filters = {f"{count:,} filters": _filters(sizes, count) for count in FILTERS}
    programs = _examples(sizes) | filters | _others(sizes)
    wholes: dict[str, Measure] = {name: partial(_whole, make) for name, make in programs.items()}
    parts = {f"{n}, each alone": partial(_parts, make) for n, make in _examples(sizes).items()}
    air = _examples(sizes)[AIR]
    return {
        **wholes,
        **parts,
        FILES: lambda: _files_seconds(air()),
        "99th percentile of a push, air quality": lambda: slow_push(_pushed(sizes)),
    }


def _examples(sizes: Sizes) -> dict[str, Make]:
    return {
        MOTORBIKE: partial(whole_programs.motorbike, _bikes(sizes)),
        AIR: partial(whole_programs.air_quality, sizes.events(43_200)),
    }


def _others(sizes: Sizes) -> dict[str, Make]:
    many, some, few = (sizes.events(count) for count in (1_000_000, 100_000, 20_000))
    return {
        f"a chain of {DEPTH}": partial(whole_programs.chain, many),
        f"a fan of {WIDTH}": partial(whole_programs.fan_out, many),
        "motorbike as in the paper": partial(whole_programs.motorbike, _bikes(sizes), "motorbike"),
        # Each long contraction waits for ever for one that is close enough, and few find one.
        "pregnancy": partial(whole_programs.pregnancy, few),
        "comfort": partial(whole_programs.comfort, some),
    }


def _bikes(sizes: Sizes) -> int:
    return sizes.events(1_000 * BIKES) // 1_000


def _filters(sizes: Sizes, count: int) -> Make:
    return partial(whole_programs.filters, count, sizes.events(1_000_000))


def _pushed(sizes: Sizes) -> Whole:
    return whole_programs.air_quality(sizes.events(10_000))


# Beside Esper ---------------------------------------------------------------------------------


def beside_esper(name: str, whole: Whole, esper: int, pace: float) -> Figure:
    problem = differs(counts(whole.run()), whole.rows)
    rate = len(whole.events) / _median(whole.measure)
    return _checked(_scaled(name, rate, esper, pace, Goal("at least", 10)), whole, problem)


def from_file_to_file(whole: Whole, pace: float) -> Figure:
    problem = _written_wrong(whole)
    rate = len(whole.events) / _median(partial(_files_seconds, whole))
    return _checked(_scaled(FILES, rate, ESPER[AIR], pace, Goal("at least", 1)), whole, problem)


def _scaled(name: str, rate: float, esper: int, pace: float, goal: Goal) -> Figure:
    of = {"events/s": rate, "scaled": rate * pace, "Esper": float(esper)}
    return Figure(name=name, ratio=rate * pace / esper, goal=goal, of=of)


def _median(measure: Measure) -> float:
    return statistics.median(measure() for _ in range(LEAST))


def _whole(make: Make) -> float:
    return make().measure()


def _files_seconds(whole: Whole) -> float:
    source = whole_programs.measurements(whole.events)
    with tempfile.TemporaryDirectory() as folder:
        return cpu_seconds(partial(_copy, whole, source, Path(folder) / "rows.jsonl"))


def _copy(whole: Whole, source: Path, target: Path) -> cep.Result:
    """What the command does: it runs the program over a path, and writes all rows."""
    result = cep.run(whole.program, source)
    write_file(result.events, target, "jsonl", result.types)
    return result


def _written_wrong(whole: Whole) -> str | None:
    """What is wrong with the file of rows; a first run, which gets things warm."""
    source = whole_programs.measurements(whole.events)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "rows.jsonl"
        result = _copy(whole, source, target)
        with target.open("rb") as lines:
            written = sum(1 for _ in lines)
    if written != len(result):
        return f"{written:,} lines of {len(result):,} rows"
    return differs(result.counts(), whole.rows)


def _checked(figure: Figure, whole: Whole, problem: str | None) -> Figure:
    known = "" if whole.rows is None else f"{sum(whole.rows.values()):,} rows"
    return replace(figure, note=problem or known, is_wrong=problem is not None)


# Beside parts ---------------------------------------------------------------------------------


def beside_its_statements(name: str, make: Make, goal: Goal | None) -> Figure:
    """The time of a program, beside the sum of its statements' own."""
    whole = make()
    problem = _rows_differ(whole, _alone(make))
    figure = _beside(f"{name}, beside each statement alone", whole, partial(_parts, make), goal)
    return _checked(figure, whole, problem)


def beside_one(whole: Whole, one: Whole, goal: Goal | None) -> Figure:
    problems = [differs(counts(each.run()), each.rows) for each in (whole, one)]
    count = len(whole.program.tree.statements)
    figure = _beside(f"{count:,} filters on one type, beside one", whole, one.measure, goal)
    return _checked(figure, whole, next(filter(None, problems), None))


def _beside(name: str, whole: Whole, other: Measure, goal: Goal | None) -> Figure:
    figure = Figure.of_pairs(name, paired(whole.measure, other), goal)
    return replace(figure, of=figure.of | {"events/s": len(whole.events) / figure.of["seconds"]})


@cache
def _alone(make: Make) -> Sequence[Whole]:
    return alone(make())


def _parts(make: Make) -> float:
    """All rows are kept until the last statement has run, as a program keeps them: new memory takes time."""
    parts = _alone(make)
    return cpu_seconds(lambda: [part.run() for part in parts])


def _rows_differ(whole: Whole, parts: Sequence[Whole]) -> str | None:
    """What is wrong with the rows of the whole, or with those of its parts together."""
    found = counts(whole.run())
    together: Counter[str] = Counter()
    for part in parts:
        together.update(counts(part.run()))
    return differs(found, whole.rows) or differs(together, found)


# Event by event -------------------------------------------------------------------------------


def latency(whole: Whole, pace: float) -> Figure:
    slow = statistics.median(slow_push(whole) for _ in range(LEAST))
    return Figure(
        name=f"99th percentile of a push, {AIR}, scaled, beside 1 ms",
        ratio=slow / pace / SOON,
        goal=Goal("at most", 1),
        of={"microseconds": slow, "scaled": slow / pace},
    )


def slow_push(whole: Whole) -> float:
    """The 99th percentile of the times of pushes, in microseconds."""
    events: list[dict[str, object]] = whole.events.to_pylist()
    pushes = [(str(event.pop("@type")), event, None) for event in events]
    return slowest(cep.open(whole.program), pushes)
