"""The process that runs `onelist.maude`: events on standard input, seconds and counts on its output."""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path


def main() -> None:
    maude = import_module("maude")
    maude.init(advise=False)
    maude.input((Path(__file__).parent / "onelist.maude").read_text(encoding="utf-8"))
    module = maude.getModule("ONE-LIST")
    events, seekers = json.load(sys.stdin)
    world = module.parseTerm(f"[ {events} | {seekers} ]")
    begin = time.perf_counter()
    world.rewrite()
    seconds = time.perf_counter() - begin
    found = next(iter(world.arguments()))
    counts = [module.parseTerm(f"{name}({found})") for name in ("crashes", "ghosts", "lefts")]
    for count in counts:
        count.reduce()
    print(json.dumps([seconds, [int(count) for count in counts]]))


if __name__ == "__main__":
    main()
