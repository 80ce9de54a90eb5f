"""Writes events.jsonl: a minute and a half of reactor temperatures, one reading a second.

The curve drifts around 90 degrees and has four episodes, given below reading by reading.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 1, 1, tzinfo=UTC)
SECONDS = 91  # the reading at second 90 closes the ninth batch of ten seconds
EPISODES: dict[int, tuple[float, ...]] = {
    # second: readings from then on
    20: (120.0, 135.5, 150.0, 190.5),  # a spike: 190.5 is more than 1.5 times 120
    35: (120.0, 150.0, 140.0, 200.0),  # higher in the end, but with a dip: no spike
    50: (401.0, 399.0, 410.0, 380.0),  # above 400 twice, never two in a row
    70: (300.0, 402.5, 431.0, 455.5, 420.0),  # above 400 four times in a row
}


def curve(seed: int) -> Iterator[float]:
    noise = random.Random(seed)
    scripted = {
        second + step: value
        for second, values in EPISODES.items()
        for step, value in enumerate(values)
    }
    for second in range(SECONDS):
        calm = 90 + noise.randrange(-10, 11) / 2
        yield scripted.get(second, calm)


def events(seed: int) -> Iterator[dict[str, object]]:
    for second, value in enumerate(curve(seed)):
        moment = START + timedelta(seconds=second)
        time = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        yield {"@type": "Temperature", "@time": time, "value": value}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("events.jsonl"))
    options = parser.parse_args()
    lines = (json.dumps(event) + "\n" for event in events(options.seed))
    options.out.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
