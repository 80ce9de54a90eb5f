"""A stream in a process of its own, which can be killed at any point and started again."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.spark.brokers import wait_for

# A Java that starts soon rather than runs fast.
QUICK = "spark.driver.extraJavaOptions=-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
COMMAND = (sys.executable, "-m", "cepheid")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What the files of a stream say about how far it is."""

    query: Path  # the checkpoint of Spark
    sink: Path

    def planned(self, batch: int) -> bool:
        return (self.query / "offsets" / str(batch)).exists()

    def stateful(self, batch: int) -> bool:
        """Whether a task has stored the state after a micro-batch."""
        return any((self.query / "state" / "0").glob(f"[0-9]*/{batch + 1}.*"))

    def written(self, batch: int) -> bool:
        """Whether a task has begun to write rows, which no one sees yet."""
        return self.planned(batch) and any((self.sink / ".parts").glob("*/*"))

    def shown(self, batch: int) -> bool:
        return any(self.sink.glob(f"{batch:010}-*"))

    def done(self, batch: int) -> bool:
        return (self.query / "commits" / str(batch)).exists()

    @property
    def next(self) -> int:
        """The micro-batch that a stream begins with, or begins again."""
        numbers = [int(path.name) for path in self.query.glob("commits/[0-9]*")]
        return max(numbers, default=-1) + 1

    def is_cut(self) -> bool:
        """Whether a micro-batch has begun and not ended."""
        return self.planned(self.next)


STAGES: dict[str, Callable[[Checkpoint, int], bool]] = {
    "planned": Checkpoint.planned,
    "stateful": Checkpoint.stateful,
    "written": Checkpoint.written,
    "shown": Checkpoint.shown,
    "done": Checkpoint.done,
}


@dataclass(frozen=True, slots=True)
class Death:
    """When a process is killed: when a stage of a micro-batch is seen, the next one or a later."""

    stage: str
    ahead: int

    def is_due(self, checkpoint: Checkpoint, first: int) -> bool:
        """Not every micro-batch shows every stage; none goes on beyond its end."""
        batch = first + self.ahead
        return STAGES[self.stage](checkpoint, batch) or checkpoint.done(batch)


def deaths(count: int, seed: int) -> Iterator[Death]:
    """Each stage as often as the others, in any order."""
    chance = random.Random(seed)
    stages: list[str] = []
    for _ in range(count):
        stages = stages or chance.sample(list(STAGES), len(STAGES))
        yield Death(stages.pop(), chance.choice((0, 0, 1)))


def live(arguments: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    """The command in a group of its own with the Java that it starts."""
    with (folder / "log.txt").open("ab") as log:
        return subprocess.Popen(
            [*COMMAND, *arguments, "--master", "local[2]", "--conf", QUICK],
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def killed(arguments: Sequence[str], folder: Path, checkpoint: Checkpoint, death: Death) -> bool:
    """Starts a stream and kills it; whether it was in the middle of a micro-batch."""
    first = checkpoint.next
    with live(arguments, folder) as process:
        try:
            wait_for(
                lambda: process.poll() is not None or death.is_due(checkpoint, first),
                f"{death} after micro-batch {first}",
                process.pid,
            )
            assert process.poll() is None, (folder / "log.txt").read_text()
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    return checkpoint.is_cut()
