"""The motorbike day as the paper encodes it, in the real Maude: run as a process of its own.

`python -m benchmarks.paper FILE` reads readings, one JSON list per line, and prints the seconds that
Maude takes to derive everything from them.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

MODULE = Path(__file__).with_name("paper_motorbike.maude")
KINDS = ("blowOut", "crash", "leftSeat", "ghost", "accident")


def initial(readings: Iterable[Sequence[object]], bikes: Iterable[int]) -> str:
    """The state before the first rule is applied."""
    events = " ; ".join(
        f"reading({ts}, {bike}, {speed}, {str(seat).lower()}, {front}, {rear})"
        for ts, bike, speed, seat, front, rear in readings
    )
    factories = " ".join(f"factory({kind}, {bike}, 0, 0)" for bike in bikes for kind in KINDS)
    return f"{{ clock(0) reporter(86400) stream({events}) {factories} }}"


def main(file: str) -> None:
    import maude

    readings = [json.loads(line) for line in Path(file).read_text().splitlines()]
    maude.init(advise=False)
    maude.load(str(MODULE))
    module = maude.getModule("PAPER-MOTORBIKE")
    bikes = sorted({reading[1] for reading in readings})
    term = module.parseTerm(initial(readings, bikes))
    begin = time.perf_counter()
    term.rewrite()
    taken = time.perf_counter() - begin
    print(json.dumps({"seconds": taken, "derived": str(term).count("derived(")}))


if __name__ == "__main__":
    main(sys.argv[1])
