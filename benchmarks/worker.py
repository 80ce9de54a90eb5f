"""`python -m benchmarks.worker NAME SIZES`: measures for `compare`, in the process of one side.

The path decides which Cepheid it imports. It says which measures the benchmark has; then, for each line
with the name of one, how long that took. A measure runs once before it counts.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib import import_module

from benchmarks.measure import Sizes, keep_memory


def main(name: str, sizes: Sizes) -> None:
    keep_memory()
    warnings.simplefilter("ignore")  # readings of one time are of different bikes
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever else is printed is no answer
    measures = import_module(f"benchmarks.{name}").measures(sizes)
    print(json.dumps(list(measures)), file=answers, flush=True)
    warm: set[str] = set()
    for line in sys.stdin:
        chosen = line.rstrip("\n")
        if chosen not in warm:
            measures[chosen]()
            warm.add(chosen)
        print(json.dumps(measures[chosen]()), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Sizes(**json.loads(sys.argv[2])))
