"""Stop-watches, and what must be known of a machine to read its figures."""

from __future__ import annotations

import ctypes
import os
import platform
import statistics
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import numpy as np

T = TypeVar("T")
Job = Callable[[], object]
_PACKAGES = ("cepheid", "numba", "numpy", "pyarrow", "pyspark")
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # as the C library numbers them


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large inputs are: usual or full, and all of them scaled to try things out."""

    full: bool = False
    scale: float = 1.0

    def events(self, count: int) -> int:
        return max(int(count * self.scale), 10_000)

    def choose(self, usual: tuple[int, ...], full: tuple[int, ...]) -> tuple[int, ...]:
        return full if self.full else usual


def calibrate() -> float:
    """Seconds that one core takes for a fixed load: compression, sorting, plain Python."""
    rng = np.random.default_rng(0)
    text = rng.integers(0, 64, 24_000_000, dtype=np.uint8).tobytes()
    numbers = rng.integers(0, 1 << 62, 6_000_000, dtype=np.int64)

    def load() -> None:
        zlib.compress(text, 6)
        np.sort(numbers)
        total = 0
        for number in range(3_000_000):
            total += number & 7

    return statistics.median(cpu_seconds(load) for _ in range(7))


def cpu_seconds(job: Job) -> float:
    """Of this process: what others do on the machine does not count."""
    begin = time.process_time()
    job()
    return time.process_time() - begin


def seconds(job: Job) -> float:
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


def keep_memory() -> None:
    """Makes the C library keep what is freed, for this process.

    Whether it gives memory back between two runs, and gets it anew page by page, depends on the sizes of all
    that was freed before: of two programs that need the same, one pays for it, and the other does not.
    """
    with suppress(OSError, AttributeError):  # other C libraries have no such knob
        adjust = ctypes.CDLL(None).mallopt
        adjust(_M_MMAP_THRESHOLD, 1 << 30)
        adjust(_M_TRIM_THRESHOLD, (1 << 31) - 1)


def stolen_seconds() -> float:
    """What other guests of the host have taken of this machine's processors; 0 where nothing tells."""
    told = Path("/proc/stat")
    if not told.exists():
        return 0.0
    total = told.read_text().partition("\n")[0].split()
    return int(total[8]) / os.sysconf("SC_CLK_TCK")


def quietest(job: Callable[[], T], share: float, tries: int) -> tuple[T, int]:
    """What a job gives while the host takes at most a share of its time, and how often it was begun anew.

    Where the host is never that quiet, the least disturbed of all tries counts.
    """
    tried: list[tuple[float, T]] = []
    while not tried or (tried[-1][0] > share and len(tried) < tries):
        begin, stolen = time.perf_counter(), stolen_seconds()
        found = job()
        taken = stolen_seconds() - stolen
        tried.append((taken / (time.perf_counter() - begin), found))
    return min(tried, key=lambda each: each[0])[1], len(tried) - 1


def timed(job: Job) -> Callable[[], float]:
    """A measure of a job."""
    return partial(seconds, job)


def in_turn(jobs: Mapping[str, Job], times: int = 3) -> dict[str, float]:
    """The median seconds of each; they take turns, so that all see the same machine."""
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(times):
        for name, job in jobs.items():
            found[name].append(seconds(job))
    return {name: statistics.median(taken) for name, taken in found.items()}


def machine() -> dict[str, object]:
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load": os.getloadavg()[0],
        "calibration_seconds": round(calibrate(), 3),
        "system": platform.platform(),
        "versions": {"python": platform.python_version(), **{n: version(n) for n in _PACKAGES}},
    }


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
