"""What a stream keeps: the state that it committed last, read from its checkpoint and decoded.

Spark's own reader of state gives the bytes of every bucket; an operator of the same program then says what
is in them. The stream may run meanwhile: what a micro-batch has committed stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from cepheid.core.time import Instant, format_instant
from cepheid.engines.spark.plan.passes import pipelines_of
from cepheid.engines.spark.shuffle.partition_labels import number_of
from cepheid.engines.spark.stream.state import Bucket, Buckets
from cepheid.errors import RunError, error
from cepheid.matcher.contents import Contents, joined
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.seal import program_digest, program_of_state

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST = 50  # matches, timers, rows of a window that are told
_OF_SEVERAL = "transformWithState"  # how the names of operators begin that follow each other
Saved: TypeAlias = "tuple[int, bytes]"  # the label of a bucket, and its bytes


@dataclass(frozen=True, slots=True)
class WaitingEvents:
    """Events of a type that wait until the watermark passes them."""

    type: str
    count: int
    first: Instant
    last: Instant

    def to_json(self) -> dict[str, object]:
        return {
            "type": self.type,
            "count": self.count,
            "first": format_instant(self.first),
            "last": format_instant(self.last),
        }


@dataclass(frozen=True, slots=True)
class BucketState:
    """What one bucket of keys keeps for the statements that share it."""

    number: int
    statements: tuple[str, ...]
    happened: Instant | None  # everything up to here has
    waiting: tuple[WaitingEvents, ...]
    contents: Contents
    bytes: int

    def to_json(self) -> dict[str, object]:
        return {
            "number": self.number,
            "statements": list(self.statements),
            "happened": None if self.happened is None else format_instant(self.happened),
            "waiting": [each.to_json() for each in self.waiting],
            **self.contents.to_json(),
            "bytes": self.bytes,
        }


@dataclass(frozen=True, slots=True)
class StreamState:
    """The state of a stream after a micro-batch."""

    batch: int
    buckets: tuple[BucketState, ...]

    @property
    def happened(self) -> Instant | None:
        """Up to where everything has happened, in the bucket that is furthest."""
        return max((b.happened for b in self.buckets if b.happened is not None), default=None)

    @property
    def contents(self) -> Contents:
        """What all buckets keep together."""
        return joined((bucket.contents for bucket in self.buckets), MOST)

    @property
    def waiting(self) -> tuple[WaitingEvents, ...]:
        by_type: dict[str, list[WaitingEvents]] = {}
        for bucket in self.buckets:
            for each in bucket.waiting:
                by_type.setdefault(each.type, []).append(each)
        return tuple(
            WaitingEvents(
                type,
                sum(e.count for e in some),
                min(e.first for e in some),
                max(e.last for e in some),
            )
            for type, some in by_type.items()
        )

    def to_json(self) -> dict[str, object]:
        return {"batch": self.batch, "buckets": [bucket.to_json() for bucket in self.buckets]}


def state_of(
    spark: SparkSession, program: ResolvedProgram, checkpoint: Path, most: int = MOST
) -> StreamState:
    """RunError where there is none, or where it is another program's."""
    query = checkpoint / "query"
    batch = _last_batch(query)
    return StreamState(batch, tuple(decoded(program, _saved(spark, query, batch), most)))


def _last_batch(query: Path) -> int:
    """The micro-batch that was committed last."""
    commits = [int(file.name) for file in query.glob("commits/*") if file.name.isdigit()]
    if not commits:
        fact = f"'{query.parent}' has no state yet: no micro-batch has ended"
        raise RunError(error("bad-state", fact, hint="try again when it has taken events"))
    return max(commits)


def _saved(spark: SparkSession, query: Path, batch: int) -> list[Saved]:
    place = str(query.absolute())
    operators = spark.read.format("state-metadata").load(place).collect()
    return [
        (int(row["label"]), bytes(row["saved"]))
        for operator in operators
        for row in _buckets(spark, place, batch, operator.asDict()).collect()
    ]


def _buckets(
    spark: SparkSession, place: str, batch: int, operator: Mapping[str, object]
) -> DataFrame:
    is_one_of_several = str(operator["operatorName"]).startswith(_OF_SEVERAL)
    reader = spark.read.format("statestore").option("operatorId", str(operator["operatorId"]))
    reader = reader.option("batchId", batch)
    if is_one_of_several:
        reader = reader.option("stateVarName", "bucket")
    value = "value.bucket" if is_one_of_several else "value.groupState.bucket"
    frame = reader.load(place)
    return frame.selectExpr("key.bucket as label", f"{value} as saved").where("saved is not null")


def decoded(
    program: ResolvedProgram, saved: Iterable[Saved], most: int = MOST
) -> Iterator[BucketState]:
    """The buckets of a program, in their order."""
    passes = _passes(program)
    opened: dict[str, Opened] = {}
    for label, content in sorted(saved):
        digest = program_of_state(content)
        if digest not in passes:
            fact = "the checkpoint is that of another program"
            raise RunError(error("bad-state", fact, hint="name the program that it was made by"))
        if digest not in opened:
            opened[digest] = Opened(*passes[digest])
        yield opened[digest].state(number_of(label), content, most)


def _passes(program: ResolvedProgram) -> dict[str, tuple[ResolvedProgram, bool]]:
    """The parts of a program that may share buckets, by the digests that their states have; and
    whether others derive what they take."""
    found: dict[str, tuple[ResolvedProgram, bool]] = {}
    for obstacle in (None, "all in one"):  # which of the two it was is not written down
        for pipeline in pipelines_of(program, obstacle=obstacle):
            derived: set[str] = set()
            for one in pipeline:
                is_fed = not derived.isdisjoint(one.program.consumed_types)
                found.setdefault(program_digest(one.program), (one.program, is_fed))
                derived |= {statement.target for statement in one.program.statements}
    return found


class Opened:
    """An operator, which takes up one bucket after the other."""

    def __init__(self, program: ResolvedProgram, is_fed: bool) -> None:
        self._buckets = Buckets(program, None, is_fed=is_fed)
        self._shared = self._buckets.shared_operator()

    def state(self, number: int, content: bytes, most: int) -> BucketState:
        bucket = Bucket(self._buckets, self._shared, content)
        kept = bucket.kept(most)
        return BucketState(
            number,
            tuple(statement.name for statement in self._buckets.program.statements),
            kept.happened,
            tuple(_waiting(kept.waiting)),
            kept.contents,
            len(content),
        )


def _waiting(events: Sequence[tuple[str | None, Instant]]) -> Iterator[WaitingEvents]:
    counts = Counter(type for type, _ in events if type is not None)
    for type, count in counts.items():
        times = [instant for name, instant in events if name == type]
        yield WaitingEvents(type, count, min(times), max(times))
