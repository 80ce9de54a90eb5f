"""Numbers spread over the workers of Spark, each answered by a line of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from cepheid.engines.spark.session.failures import failure_of
from cepheid.engines.spark.session.workers import check_other_machines
from cepheid.errors import CepheidError

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import SparkSession

Work = Callable[[Sequence[int]], list[list[int]]]


def parallel_map(
    session: SparkSession, work: Work, numbers: range, *, partitions: int, tries: int
) -> list[list[int]]:
    """What `work` answers for each number, in their order.

    A cluster does again what a dying worker leaves behind. Spark on one machine does not, so the
    whole is tried again.
    """
    check_other_machines(session)

    def answer(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            numbers: list[Any] = batch["id"].to_pylist()
            lines = pa.array(work(numbers), pa.list_(pa.int64()))
            yield pa.RecordBatch.from_arrays([batch["id"], lines], ["id", "line"])

    ids = session.range(numbers.start, numbers.stop, 1, min(partitions, len(numbers)))
    rows = ids.mapInArrow(answer, "id long, line array<long>")
    for left in reversed(range(tries)):
        try:
            table = rows.toArrow()
            break
        except (PySparkException, Py4JError) as problem:
            failure = failure_of(problem)
            if not left or not _is_death(failure):
                raise failure from None
    found = sorted(table.to_pylist(), key=lambda row: row["id"])
    return [row["line"] for row in found]


def _is_death(failure: CepheidError) -> bool:
    return any(problem.code == "bad-workers" for problem in failure.diagnostics)
