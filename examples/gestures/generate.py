"""Writes frames.jsonl: what a sensor sees of bodies that turn an arm, as changes of a model.

A cycle has 12 frames, 25 a second. Every frame moves all 20 points of a body by their x and y. The arm that
acts goes round: out to its side, over the head, across the body, down. When it hangs again, the other arm is
stretched out for one frame, which means nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 1, 1, tzinfo=UTC)
FRAME = timedelta(milliseconds=40)
SIDES = ("left", "right")
UPPER, LOWER, PALM = 0.3, 0.25, 0.08  # lengths of an arm, in metres

# Degrees above the horizontal, frame by frame; beyond 90 the arm is across the body.
ROUND = (-90, -30, 0, 50, 90, 151, 180, 210, 250, 270, 270, 270)
ASIDE = (-90, -90, -90, -90, -90, -90, -90, -90, -90, 0, -90, -90)
# A hanging arm is bent.
BENT, STRETCHED = 45, 10

# Where the points of a standing body are: x of the right side, and y.
CENTRE = {"head": 1.65, "neck": 1.45, "spine": 1.2, "waist": 1.0}
LIMBS = {
    "Shoulder": (0.2, 1.4),
    "Hip": (0.12, 0.95),
    "Knee": (0.13, 0.5),
    "Ankle": (0.13, 0.08),
    "Foot": (0.15, 0.02),
}
ARM = ("Elbow", "Wrist", "Hand")
POINTS = (*CENTRE, *(side + part for side in SIDES for part in (*LIMBS, *ARM)))

Place = tuple[float, float]


def arm(degrees: float) -> Iterator[Place]:
    """Elbow, wrist and hand of the right arm."""
    bend = BENT if abs(math.sin(math.radians(degrees))) > 0.99 and degrees != 90 else STRETCHED
    x, y = LIMBS["Shoulder"]
    for length, angle in ((UPPER, degrees), (LOWER, degrees + bend), (PALM, degrees + bend)):
        x += length * math.cos(math.radians(angle))
        y += length * math.sin(math.radians(angle))
        yield x, y


def posture(step: int, acting: str) -> dict[str, Place]:
    """Where the points are in a step of the cycle."""
    found: dict[str, Place] = {name: (0.0, y) for name, y in CENTRE.items()}
    for side in SIDES:
        sign = 1 if side == "right" else -1
        degrees = (ROUND if side == acting else ASIDE)[step]
        parts = {**LIMBS, **dict(zip(ARM, arm(degrees), strict=True))}
        found |= {side + part: (sign * x, y) for part, (x, y) in parts.items()}
    return found


class Body:
    """A body at its place in the room, and what the sensor sees of it, to a millimetre or two."""

    def __init__(self, number: int, *, is_forward: bool) -> None:
        self.name = f"b{number}"
        self.acting = "right" if is_forward else "left"
        self._x = 2.0 * number
        self._noise = random.Random(number)
        self._seen: dict[tuple[str, str], float] = {}

    def moved(self, frame: int) -> Iterator[tuple[str, str, float]]:
        """The points of a frame: name, coordinate and value. None stays where it was."""
        for name, place in posture(frame % len(ROUND), self.acting).items():
            for axis, value in zip("xy", (self._x + place[0], place[1]), strict=True):
                yield name, axis, self._sense(name, axis, value)

    def _sense(self, name: str, axis: str, value: float) -> float:
        seen = last = self._seen.get((name, axis), math.nan)
        while seen == last or math.isnan(seen):
            seen = round(value + self._noise.randint(-2, 2) / 1000, 3)
        self._seen[name, axis] = seen
        return seen


def crowd(bodies: int) -> list[Body]:
    """Every second body goes backward."""
    return [Body(number, is_forward=number % 2 == 1) for number in range(1, bodies + 1)]


def room(bodies: Iterable[Body]) -> Iterator[dict[str, object]]:
    """The changes that make the room: all bodies but each third one have a presentation."""
    yield {"create": "Room", "as": "room"}
    for number, body in enumerate(bodies, 1):
        yield {
            "create": "Body",
            "as": body.name,
            "in": "room.bodies",
            "values": {"name": body.name},
        }
        for point in POINTS:
            yield {
                "create": kind_of(point),
                "as": f"{body.name}.{point}",
                "in": f"{body.name}.{point}",
            }
        if number % 3:
            talk = {
                "title": f"talk {number}",
                "slides": 10,
                "slide": number,
                "speakers": [body.name],
            }
            yield {"create": "Presentation", "in": "room.presentations", "values": talk}


def kind_of(point: str) -> str:
    """The class of a point, which is called like it."""
    return point[0].upper() + point[1:]


def transactions(bodies: int, cycles: int) -> Iterator[dict[str, object]]:
    """The room, then frame by frame."""
    people = crowd(bodies)
    yield {"@time": time_of(0), "changes": list(room(people))}
    for frame in range(cycles * len(ROUND)):
        changes = [
            {"set": f"{body.name}.{point}", "feature": axis, "value": value}
            for body in people
            for point, axis, value in body.moved(frame)
        ]
        yield {"@time": time_of(frame + 1), "changes": changes}


def time_of(frame: int) -> str:
    return (START + frame * FRAME).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bodies", type=int, default=3)
    parser.add_argument("--cycles", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("frames.jsonl"))
    options = parser.parse_args()
    lines = (json.dumps(one) + "\n" for one in transactions(options.bodies, options.cycles))
    options.out.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
