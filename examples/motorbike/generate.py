"""Writes events.jsonl: one minute of a small fleet, then a day that passes.

Each bike reports once a second. What happens to it is a script of a few lines below; the noise on
speeds and pressures comes from a seeded generator, so the file is the same every time.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

START = 1_488_362_400  # 2017-03-01T10:00:00Z
SECONDS = 60
DAY = 86_400
DERBY_BIKES = range(101, 111)
# Standstill, a run-up with two readings of at least 50 km/h, and the next wall.
DERBY_SPEEDS = (0, 20, 40, 55, 60)
DERBY_CRASHES = 5


@dataclass(frozen=True, slots=True)
class State:
    """What the sensors of one bike would read without noise; a tyre of 0 bar stays at 0."""

    speed: int
    front: float = 2.4
    rear: float = 2.4
    seat: bool = True


Script = Callable[[int], State]


def accident_at(second: int, speed: int) -> Script:
    """The rear tyre bursts, a second later the bike lies still, another later the driver is off."""

    def script(now: int) -> State:
        rear = 2.4 if now < second else 0.4
        return State(speed if now <= second else 0, rear=rear, seat=now < second + 2)

    return script


def lost_rider(now: int) -> State:
    """The driver falls off at second 30 and the bike rolls on for four seconds."""
    coasting = {30: 35, 31: 25, 32: 15, 33: 5}
    return State(45 if now < 30 else coasting.get(now, 0), seat=now < 30)


def flat_tyre(now: int) -> State:
    """A nail at second 15; the driver brakes gently and stays on the seat."""
    return State(70 if now < 15 else max(0, 70 - 7 * (now - 15)), front=2.3 if now < 15 else 0.8)


def slow_leak(now: int) -> State:
    """From 2.5 to below 1.0 bar, but over a minute."""
    return State(60, rear=2.5 - 0.027 * now)


def hard_braking(now: int) -> State:
    """From 60 km/h to a standstill in exactly three seconds: one too many for a crash."""
    braking = {25: 40, 26: 20}
    return State(60 if now < 25 else braking.get(now, 0))


def errand(now: int) -> State:
    """Parked, then someone gets on, warms up the engine and gets off again: nothing moves."""
    return State(0, seat=20 <= now < 35)


def derby(first: int) -> Script:
    """Into the wall again and again; these drivers are strapped to their seats."""

    def script(now: int) -> State:
        run, step = divmod(now - first, len(DERBY_SPEEDS))
        return State(DERBY_SPEEDS[step] if 0 <= run < DERBY_CRASHES else 0)

    return script


FLEET: dict[int, tuple[str, Script]] = {
    1: ("Cadiz", accident_at(20, speed=90)),
    2: ("Malaga", lost_rider),
    3: ("Sevilla", flat_tyre),
    4: ("Granada", slow_leak),
    5: ("Malaga", accident_at(40, speed=80)),
    6: ("Cordoba", hard_braking),
    7: ("Huelva", errand),
    **{bike: ("Cadiz", derby(bike % 10)) for bike in DERBY_BIKES},
}


def reading(
    now: int, bike: int, location: str, state: State, noise: random.Random
) -> dict[str, object]:
    """A reading as the sensors send it; a bike that stands, stands exactly."""
    wobble = noise.randrange(3) if state.speed >= 50 else 0
    return {
        "@type": "Motorbike",
        "timestamp": START + now,
        "motorbikeId": bike,
        "location": location,
        "speed": state.speed + wobble,
        "tirePressure1": round(state.front + noise.uniform(-0.04, 0.04), 2),
        "tirePressure2": round(state.rear + noise.uniform(-0.04, 0.04), 2),
        "seat": state.seat,
    }


def is_reporting(now: int, bike: int) -> bool:
    """The derby sends nothing before the first run-up and after the last wall."""
    if bike not in DERBY_BIKES:
        return True
    return 0 <= now - bike % 10 <= len(DERBY_SPEEDS) * DERBY_CRASHES


def events(seed: int) -> Iterator[dict[str, object]]:
    noise = random.Random(seed)
    for now in range(SECONDS):
        for bike, (location, script) in FLEET.items():
            if is_reporting(now, bike):
                yield reading(now, bike, location, script(now), noise)
    # No event any more, but the day of the first accident ends.
    yield {"@time": START + SECONDS + DAY}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("events.jsonl"))
    options = parser.parse_args()
    lines = (json.dumps(event) + "\n" for event in events(options.seed))
    options.out.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
