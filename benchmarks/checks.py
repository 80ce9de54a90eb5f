"""`cepheid check` of many statements on one type, from the command to its findings."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from benchmarks.measure import Sizes, seconds, timed
from benchmarks.pairs import Measure
from benchmarks.report import Figure, Goal

STATEMENTS = 1_000
SOON = 20.0  # seconds
_WRONG = 2  # the exit code of a command that failed
SCHEMA = "create schema T (k string, v int, w double);\n"
# Thresholds, keys, sequences and totals, as an alarm program has them.
KINDS: tuple[Callable[[int], str], ...] = (
    lambda n: f"select k, v from T(v > {n})",
    lambda n: f"select k, v from T(k = 'key{n}' and w > 0.5)",
    lambda n: f"select a.k as k from pattern [every a=T(v > {n}) -> b=T(k = a.k and v > a.v)]",
    lambda n: f"select k, count(*) as n from T(w > {n})#time(10 sec) group by k",
)


def run(sizes: Sizes) -> Iterator[Figure]:
    count = max(int(STATEMENTS * sizes.scale), 10)
    with tempfile.TemporaryDirectory() as folder:
        thresholds, mixed = _file(folder, count, KINDS[:1]), _file(folder, count, KINDS)
        for name, file in (("thresholds", thresholds), ("statements of four kinds", mixed)):
            took = seconds(partial(_check, file))
            yield Figure(
                name=f"check of {count} {name} on one type, beside twenty seconds",
                ratio=took / SOON,
                goal=Goal("at most", 1),
                of={"seconds": took},
            )
        half = seconds(lambda: _check(_file(folder, count // 2, KINDS)))
        whole = seconds(lambda: _check(mixed))
        name = f"check of {count} statements, beside {count // 2}"
        yield Figure(name=name, ratio=whole / half, goal=Goal("at most", 2.5))


def measures(sizes: Sizes) -> Mapping[str, Measure]:
    folder = tempfile.mkdtemp()
    file = _file(folder, max(int(50 * sizes.scale), 10), KINDS)
    return {"check of 50 statements": timed(lambda: _check(file))}


def _file(folder: str, count: int, kinds: tuple[Callable[[int], str], ...]) -> str:
    statements = (f"@Name('S{n}') {kinds[n % len(kinds)](n)};\n" for n in range(count))
    file = Path(folder) / f"{count}_{len(kinds)}.epl"
    file.write_text(SCHEMA + "".join(statements))
    return str(file)


def _check(file: str) -> None:
    command = [sys.executable, "-m", "cepheid", "check", file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode >= _WRONG:
        raise RuntimeError(done.stderr)
