"""How time and state grow with events, keys, patterns, the length of a window, matches and delay."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmarks import streaming
from benchmarks.floor import found_in, write
from benchmarks.inputs import Rides
from benchmarks.measure import Sizes, in_turn
from benchmarks.programs import SPEEDS, crash, crashes
from benchmarks.report import Figure, Goal
from cepheid.engines.spark.session.spark_session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

X = TypeVar("X", int, float)
BATCHES = 20  # of a stream whose state is weighed


def run(sizes: Sizes) -> Iterator[Figure]:
    spark = session()
    grow = Growth(spark, sizes)
    yield from grow.events()
    yield from grow.keys()
    yield from grow.patterns()
    yield from grow.windows()
    yield from grow.matches()
    yield from states(spark, sizes)


class Growth:
    """Crash over Parquet on Spark; each series is relative to one of its members."""

    def __init__(self, spark: SparkSession, sizes: Sizes) -> None:
        self._spark = spark
        self._sizes = sizes
        self._usual = sizes.events(10_000_000)
        write(self._found(Rides(events=sizes.events(1_000_000))))  # warm

    def events(self) -> Iterator[Figure]:
        counts = self._sizes.choose((1_000_000, 10_000_000), (1_000_000, 10_000_000, 50_000_000))
        sizes = [self._sizes.events(count) for count in counts]
        goals = {sizes[-1]: 6.0} if self._sizes.full else {}
        yield from self._series("events", sizes, sizes[1], self._of_events, goals)

    def keys(self) -> Iterator[Figure]:
        keys = self._sizes.choose(
            (10, 1_000, 1_000_000), (10, 100, 1_000, 10_000, 100_000, 1_000_000)
        )
        yield from self._series("keys", keys, 1_000, self._of_keys, {1_000_000: 1.5})

    def patterns(self) -> Iterator[Figure]:
        counts = self._sizes.choose((1, 5, 20), (1, 2, 5, 10, 20, 50))
        yield from self._series("patterns", counts, 1, self._of_patterns, {20: 8.0})

    def windows(self) -> Iterator[Figure]:
        lengths = self._sizes.choose((3, 60, 600), (1, 3, 10, 60, 600, 3_600))
        yield from self._series("seconds of a window", lengths, 3, self._of_window, {})

    def matches(self) -> Iterator[Figure]:
        stops = (0.0001, 0.01, 0.1, 0.5)
        yield from self._series("share of stops", stops, 0.01, self._of_stops, {})

    def _of_events(self, count: int) -> DataFrame:
        return self._found(Rides(events=count))

    def _of_keys(self, count: int) -> DataFrame:
        return self._found(Rides(events=self._usual, bikes=count))

    def _of_patterns(self, count: int) -> DataFrame:
        return found_in(crashes(count), self._read(Rides(events=self._usual)), output=None)

    def _of_window(self, length: int) -> DataFrame:
        return found_in(crash(SPEEDS, within=length), self._read(Rides(events=self._usual)))

    def _of_stops(self, share: float) -> DataFrame:
        return self._found(Rides(events=self._usual, stops=share))

    def _found(self, rides: Rides) -> DataFrame:
        return found_in(crash(SPEEDS), self._read(rides))

    def _read(self, rides: Rides) -> DataFrame:
        return self._spark.read.parquet(str(rides.parquet()))

    def _series(
        self,
        what: str,
        members: Sequence[X],
        base: X,
        frame_of: Callable[[X], DataFrame],
        goals: dict[X, float],
    ) -> Iterator[Figure]:
        jobs = {str(member): partial(write, frame_of(member)) for member in members}
        taken = in_turn(jobs, times=2)
        for member in members:
            if member != base:
                yield Figure(
                    name=f"{member:,} {what}, beside {base:,}",
                    ratio=taken[str(member)] / taken[str(base)],
                    goal=Goal("at most", goals[member]) if member in goals else None,
                    of={"seconds": taken[str(member)], "beside": taken[str(base)]},
                )


def states(spark: SparkSession, sizes: Sizes) -> Iterator[Figure]:
    """Bytes of state that a micro-batch writes, beside those of the events it reads.

    However many bikes there are, a thousand events happen in a second: the period grows with them.
    """
    for keys in (1_000, 1_000_000):
        count = max(sizes.events(2_000_000), keys)
        folder = Rides(events=count, bikes=keys, period=keys).parquet(count // BATCHES)
        for delay in ("1 second", "60 seconds"):
            written, batches = _written(streaming.stream(spark, folder), delay)
            read = sum(file.stat().st_size for file in folder.iterdir()) / batches
            yield Figure(
                name=f"state at {keys:,} keys, delay of {delay}",
                ratio=written / batches / read,
                of={"bytes of a micro-batch": written / batches, "its file": read},
            )


def _written(events: DataFrame, delay: str) -> tuple[int, int]:
    """Bytes of state that a stream leaves in its checkpoint, where nothing is removed so soon."""
    rows = streaming.found_in(crash(SPEEDS), events, delay)
    with tempfile.TemporaryDirectory() as checkpoint:
        batches = len(streaming.run_to_end(rows, Path(checkpoint)))
        files = (Path(checkpoint) / "state").rglob("*")
        return sum(file.stat().st_size for file in files if file.is_file()), batches
