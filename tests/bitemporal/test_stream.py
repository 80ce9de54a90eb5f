"""Rounds over batches give what one run over all records gives, cut and cut off anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.bitemporal.detections import Detection
from cepheid.bitemporal.stream.arrivals import UNORDERED, Arrival, in_order
from cepheid.bitemporal.stream.disk import Disk
from cepheid.errors import CepheidError
from tests.bitemporal.comparing import first_of
from tests.bitemporal.generator import case
from tests.bitemporal.streams import Record, Stream, arriving, cut
from tests.effort import IS_QUICK, examples

SEEDS = st.integers(0, 10**9)
WINDOWS = st.sampled_from(("buffering", "buffering", "sliding", "sliding-actions"))


class World:
    """A generated case in a folder of its own."""

    def __init__(self, seed: int, folder: str, **options: str) -> None:
        rng = self.rng = Random(seed)
        self.stream = Stream(case(rng), Path(folder) / "rounds", options)
        self.records: Sequence[Record] = arriving(self.stream.case, rng)
        self.batches = cut(self.records, rng)

    def check(self) -> None:
        assert self.stream.found() == self.stream.expected(self.records)

    def ends(self, failure: CepheidError) -> None:
        """The reference ends for the same reason."""
        assert self.stream.failure(self.records) == first_of(failure).code


@examples(30)
@given(SEEDS, WINDOWS)
def test_batches_cut_anywhere_give_what_one_run_gives(seed: int, window: str) -> None:
    with TemporaryDirectory() as folder:
        world = World(seed, folder, window=window)
        sink = world.stream.sink()
        try:
            for number, arrivals in enumerate(world.batches):
                sink.take(number, arrivals)
        except CepheidError as failure:
            world.ends(failure)
        else:
            world.check()


@examples(12)
@given(SEEDS, WINDOWS)
def test_a_restart_after_every_batch_changes_nothing(seed: int, window: str) -> None:
    with TemporaryDirectory() as folder:
        world = World(seed, folder, window=window)
        try:
            for number, arrivals in enumerate(world.batches):
                world.stream.sink().take(number, arrivals)
                assert world.stream.sink().take(number, arrivals) is None
        except CepheidError as failure:
            world.ends(failure)
        else:
            world.check()


def test_what_nothing_orders_is_ordered_by_what_it_says() -> None:
    """As in frames of Spark: by detection, versions first, then by occurrence and values, nulls first."""

    def detection(det: int, occ: int | None, *values: int | None) -> Detection:
        said = None if occ is None else (1, *values)
        return Detection("A", (1,), said, occ, det, det, UNORDERED)

    expected = [
        detection(1, 9, 9),
        detection(2, 3, None),
        detection(2, 3, 9),
        detection(2, 3, 10),
        detection(2, 20, 1),
        detection(2, None),
    ]
    for seed in range(5):
        shuffled = Random(seed).sample(expected, len(expected))
        found = in_order(shuffled)
        assert [each._replace(sequence=UNORDERED) for each in found] == expected
        assert [each.sequence for each in found] == list(range(len(expected)))


# Crashes --------------------------------------------------------------------------------------


# The operations in which a batch crashes, one after the other; in a hurry, some of them.
STEPS = range(1, 1_000, 7 if IS_QUICK else 1)


class Crash(BaseException):
    """The process is gone."""


class Fragile(Disk):
    """A disk that crashes in one of its operations, after a part of it is done."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def _step(self) -> bool:
        self.left -= 1
        return self.left == 0

    def write(self, path: Path, content: bytes) -> None:
        if self._step():
            super().write(path, content[: len(content) // 2])
            raise Crash
        super().write(path, content)

    def rename(self, draft: Path, target: Path) -> None:
        if self._step():
            raise Crash
        super().rename(draft, target)

    def sync(self, folder: Path) -> None:
        if self._step():
            raise Crash
        super().sync(folder)

    def remove(self, paths: Iterable[Path]) -> None:
        for path in paths:
            if self._step():
                raise Crash
            super().remove([path])


@examples(2)
@given(SEEDS, WINDOWS)
def test_a_crash_in_any_operation_loses_and_doubles_nothing(seed: int, window: str) -> None:
    with TemporaryDirectory() as folder:
        world = World(seed, folder, window=window)
        try:
            for number, arrivals in enumerate(world.batches):
                crashes(world.stream, number, arrivals)
        except CepheidError as failure:
            world.ends(failure)
        else:
            world.check()


def crashes(stream: Stream, number: int, arrivals: list[Arrival]) -> None:
    """A batch that crashes in its first operation, is tried again and crashes in the second, ..."""
    for step in STEPS:
        before = files_in(stream.folder)
        try:
            stream.sink(Fragile(step)).take(number, arrivals)
        except Crash:
            after = files_in(stream.folder)
            assert all(after[path] == before[path] for path in before.keys() & after.keys())
        else:
            return


def files_in(folder: Path) -> dict[Path, bytes]:
    """What readers see: files that are not hidden."""
    found = (path for path in folder.glob("*/*") if not path.name.startswith("."))
    return {path: path.read_bytes() for path in found}


@pytest.mark.parametrize("seed", range(3))
def test_every_batch_may_fail_within_a_process_that_goes_on(seed: int, tmp_path: Path) -> None:
    world = World(seed, str(tmp_path))
    assert world.stream.failure(world.records) is None
    for number, arrivals in enumerate(world.batches):
        disk = Fragile(2)  # a batch of nothing has three operations
        sink = world.stream.sink(disk)
        with pytest.raises(Crash):
            sink.take(number, arrivals)
        sink.take(number, arrivals)
    world.check()
