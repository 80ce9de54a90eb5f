"""Twenty motorbikes, one reading a second each, through the partitioned motorbike program.

    make bench            or            .venv/bin/python benchmarks/motorbike.py [--events N]

Prints how long the reference semantics takes and how much memory the process holds half-way and at
the end: live state is bounded, so the second half must add next to nothing. Events are pushed one at
a time and rows are dropped, so that neither input nor output is counted.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import cepheid as cep

PROGRAM = Path(__file__).parents[1] / "examples" / "motorbike" / "motorbike_partitioned.epl"
BIKES = 20
CITIES = ("Cadiz", "Malaga", "Sevilla", "Granada")
START = 1_488_326_400


def readings(count: int, seed: int = 1) -> Iterator[dict[str, object]]:
    """Rides with now and then a flat tyre, a full stop or an empty seat, and now and then all three."""
    rng = random.Random(seed)
    crashed: dict[int, int] = {}
    for number in range(count):
        second, bike = divmod(number, BIKES)
        if rng.random() < 0.002:
            crashed[bike] = second + 3
        is_down = crashed.get(bike, -1) >= second
        yield {
            "timestamp": START + second,
            "motorbikeId": bike,
            "location": CITIES[bike % len(CITIES)],
            "speed": 0 if is_down and rng.random() < 0.7 else rng.randrange(30, 130),
            "tirePressure1": 1.0 if is_down else round(rng.uniform(2.1, 3.2), 2),
            "tirePressure2": round(rng.uniform(2.1, 3.2), 2),
            "seat": not is_down or rng.random() < 0.3,
        }


def resident_megabytes() -> float:
    gc.collect()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("resident memory is read from /proc, which this system does not have")


def measure(count: int) -> dict[str, object]:
    session = cep.open(cep.load(PROGRAM))
    found: Counter[str] = Counter()
    half = 0.0
    paused = 0.0
    begin = time.perf_counter()
    for number, reading in enumerate(readings(count), start=1):
        for row in session.send("Motorbike", reading):
            found[row.type] += 1
        if number == count // 2:
            pause = time.perf_counter()
            half = resident_megabytes()
            paused = time.perf_counter() - pause
    seconds = time.perf_counter() - begin - paused
    full = resident_megabytes()
    return {
        "events": count,
        "seconds": round(seconds, 2),
        "events_per_second": round(count / seconds),
        "resident_mb_half": round(half, 1),
        "resident_mb_end": round(full, 1),
        "resident_ratio": round(full / half, 3),
        "state_bytes": len(session.save()),
        "rows": dict(sorted(found.items())),
        "machine": {"python": platform.python_version(), "system": platform.platform()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    figures = measure(arguments.events)
    if arguments.json:
        print(json.dumps(figures, indent=2))
        return
    print(f"{figures['events']:,} events in {figures['seconds']} s", end="")
    print(f" ({figures['events_per_second']:,} a second)")
    print(
        f"resident: {figures['resident_mb_half']} MB half-way, {figures['resident_mb_end']} MB at",
        end="",
    )
    print(f" the end, ratio {figures['resident_ratio']}; state: {figures['state_bytes']:,} bytes")
    print("rows:", ", ".join(f"{n} {t}" for t, n in figures["rows"].items()))  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
