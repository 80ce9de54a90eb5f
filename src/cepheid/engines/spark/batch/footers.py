"""The first and the last time of a frame, where the footers of its files tell it: then no job has to look.

That is so for a frame that is all of some Parquet files at hand, whose time is a column of whole numbers as it
stands. In any other case nothing is known, and nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError

from cepheid.core.time import FIRST_INSTANT, LAST_INSTANT, Instant
from cepheid.engines.spark.codec.event_frames import EventFrame
from cepheid.engines.spark.codec.input_columns import plain_time
from cepheid.engines.spark.session.spark_session import is_connect
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MOST_FILES = 256  # more take as long as a job


def ends_in_footers(source: EventFrame, program: ResolvedProgram) -> tuple[Instant, Instant] | None:
    """The smallest and the largest time of all rows; None where they are not told, or there is no row."""
    column = plain_time(source, program)
    if column is None or not _is_all_of_files(source.frame):
        return None
    name, unit = column
    try:
        found = [end * unit for path in _paths(source.frame) for end in _ends_of(path, name)]
    except (_Untold, OSError, pa.ArrowException):
        return None
    first, last = min(found, default=0), max(found, default=-1)
    is_told = FIRST_INSTANT <= first <= last <= LAST_INSTANT
    return (first, last) if is_told else None


class _Untold(Exception):
    """A footer does not say what a column holds."""


def _is_all_of_files(frame: DataFrame) -> bool:
    """Whether a frame is what Spark's own reader of Parquet gives, and all of that."""
    if is_connect(frame.sparkSession):
        return False
    try:
        plan = frame._jdf.queryExecution().analyzed()  # which has no public name in Python
        if plan.nodeName() != "LogicalRelation":
            return False
        relation = plan.relation()
        parts = (relation.fileFormat(), relation.location())
        kinds = [part.getClass().getSimpleName() for part in parts]
    except Py4JError:  # a relation of another kind
        return False
    return kinds == ["ParquetFileFormat", "InMemoryFileIndex"]


def _paths(frame: DataFrame) -> Iterator[str]:
    files = frame.inputFiles()
    if len(files) > _MOST_FILES:
        raise _Untold
    for file in files:
        parts = urlparse(file)
        if parts.scheme != "file":
            raise _Untold
        yield unquote(parts.path)


def _ends_of(path: str, name: str) -> Iterator[int]:
    """The smallest and the largest value of a column, in each part of a file that has rows."""
    footer = pq.read_metadata(path)
    places = [n for n in range(footer.num_columns) if footer.schema.column(n).path == name]
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        if not group.num_rows:
            continue
        told = group.column(places[0]).statistics if places else None
        if told is None or not told.has_min_max or told.null_count != 0:
            raise _Untold
        for end in (told.min, told.max):
            if not isinstance(end, int):
                raise _Untold
            yield end
