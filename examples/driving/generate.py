"""Writes the drive: a car that comes close twice, once hard, as three sensors see it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random

HERE = Path(__file__).parent
RATE, SECONDS = 50, 12
NOISE = {"radar": 0.5, "lidar": 0.2, "camera": 0.9}


def distance(time: float) -> float:
    """Metres to the car ahead: it slows down to 13 before second 4, and brakes hard, to 8, before second 9."""
    softly = 22 * math.exp(-(((time - 4) / 1.6) ** 2))
    hard = 27 * math.exp(-(((time - 9) / 0.8) ** 2))
    return 35 - softly - hard


def main() -> None:
    rng = Random(7)
    with (HERE / "drive.jsonl").open("w") as out:
        for number in range(RATE * SECONDS):
            time = number / RATE
            for sensor, noise in NOISE.items():
                seen = round(distance(time) + rng.gauss(0, noise), 3)
                stamp = f"2026-01-01T00:00:{time:06.3f}Z"
                print(json.dumps({"@type": sensor, "@time": stamp, "distance": seen}), file=out)


if __name__ == "__main__":
    main()
