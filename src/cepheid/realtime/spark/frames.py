"""Graphs over DataFrames: what a frame must have, and what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_type

from cepheid.core.time import Period
from cepheid.engines.spark.codec.event_frames import named
from cepheid.engines.spark.codec.input_columns import to_instant
from cepheid.engines.spark.codec.sql_columns import call, concat, field, when
from cepheid.engines.spark.plan.request import required_delay
from cepheid.engines.spark.session.workers import check_other_machines
from cepheid.engines.spark.stream.query import BUCKETS
from cepheid.engines.spark.stream.watermarks import Watermarks
from cepheid.errors import InputError, UsageError, error, suggest
from cepheid.realtime.checking import Checked, checked
from cepheid.realtime.graph import Graph, Supplier
from cepheid.realtime.spark.batch import batch_rows
from cepheid.realtime.spark.events import HASH, SEQUENCE, TIME, TYPE, Task
from cepheid.realtime.spark.instances import RESULTS
from cepheid.realtime.spark.stream import stream_rows

_FAILURE = (
    "cepheid.errors.InputError: error[bad-time]: '@time': "  # as failures are searched for it
)
_KEYS = (
    *(T.IntegralType, T.DecimalType, T.StringType, T.BinaryType, T.BooleanType),
    *(T.DateType, T.TimestampType, T.TimestampNTZType),
)


def on_spark(
    graph: Graph | Checked,
    frame: DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    sequence: str | None = None,
    watermark: str | Period | None = None,
) -> DataFrame:
    """What the consumers of a graph get of recorded events, where nothing takes any time.

    A frame has the columns '@type' (the supplier; it may be missing where there is but one), '@time'
    (timestamps, dates, ISO 8601 texts, numbers of seconds), and what events carry: `value`, `values`, or
    the names of its elements. For each value of the columns `by` the graph is there once. Events of one
    time are ordered by `sequence`; without it by their suppliers, as the graph has them, and by what they
    carry, element by element. What is wrong with a row ends the run. A row without a type only lets time
    pass.

    Rows have the columns `by`, `consumer`, '@type' (the source), '@time' (when it was delivered), `begin` and
    `end` of its validity, `number` among those of its source, `late`, `payload` (the bytes of the array; JSON
    where not all elements are numbers) and `values` (doubles; null where elements are no real numbers).

    A stream needs a `watermark`, the time that an event may come after later ones. What comes later still
    reaches no consumer: it is a row without one, and without a number.
    """
    whole = graph.graph if isinstance(graph, Checked) else checked(graph).graph
    reader = _Reader(frame, whole, _names(by), sequence)
    columns = reader.columns()
    session = frame.sparkSession
    check_other_machines(session)
    task = Task(
        graph=cloudpickle.dumps(replace(whole)),  # type: ignore[no-untyped-call]
        by=reader.by,
        key_types=reader.key_types,
        attributes=reader.attributes,
        has_sequence=sequence is not None,
        buckets=BUCKETS,
        is_stream=frame.isStreaming,
    )
    rows = frame.select(*(column.alias(name) for name, column in columns.items()))
    schema = reader.schema()
    if frame.isStreaming:
        return stream_rows(task, rows, schema, Watermarks.of(required_delay(watermark)))
    tasks = int(session.conf.get("spark.sql.shuffle.partitions") or 1)
    buckets = tasks * -(-BUCKETS // tasks)  # as many for each task
    return batch_rows(replace(task, buckets=buckets), rows, schema, tasks)


def _names(by: str | Sequence[str] | None) -> tuple[str, ...]:
    if by is None:
        return ()
    names = (by,) if isinstance(by, str) else tuple(by)
    for name in names:
        if names.count(name) > 1:
            raise UsageError(error("usage", f"'{name}' stands twice in by="))
    return names


class _Reader:
    """What the columns of a frame stand for; UsageError where some are missing."""

    def __init__(
        self, frame: DataFrame, graph: Graph, by: tuple[str, ...], sequence: str | None
    ) -> None:
        self.by = by
        self.attributes = tuple(
            dict.fromkeys(name for each in graph.suppliers for name in each.payload.attributes)
        )
        self._suppliers = graph.suppliers
        self._sequence = sequence
        self._names = frame.columns
        self._types = {field.name: field.dataType for field in frame.schema.fields}

    def columns(self) -> dict[str, Column]:
        """The columns that go to workers, under the names by which these know them."""
        keys = {f"@key{place}": self._key(name) for place, name in enumerate(self.by)}
        found = {**keys, TYPE: self._type(), TIME: self._time()}
        if self._sequence is not None:
            found[SEQUENCE] = self._sequence_of(self._sequence)
        found[HASH] = F.xxhash64(*map(named, self.by)) if self.by else F.lit(0).cast("bigint")
        for supplier in self._suppliers:
            for name in supplier.payload.attributes:
                found[name] = self._attribute(name, supplier)
        return found

    @property
    def key_types(self) -> tuple[str, ...]:
        return tuple(self._types[name].simpleString() for name in self.by)

    def schema(self) -> T.StructType:
        """The columns of rows."""
        keys = [T.StructField(name, self._types[name]) for name in self.by]
        rest = [
            T.StructField(name, from_arrow_type(type, prefer_timestamp_ntz=False))
            for name, type in RESULTS.items()
        ]
        return T.StructType([*keys, *rest])

    def _stored(self, name: str, what: str, code: str = "usage") -> T.DataType:
        if name not in self._types:
            fact = f"the frame has no column '{name}', {what}"
            raise UsageError(error(code, fact, hint=suggest(name, self._types, "columns")))
        if self._names.count(name) > 1:
            raise UsageError(error("usage", f"two columns of the frame are named '{name}'"))
        return self._types[name]

    def _type(self) -> Column:
        if TYPE not in self._types and len(self._suppliers) == 1:
            return F.lit(self._suppliers[0].name)
        stored = self._stored(TYPE, "which says whose events they are", "missing-type")
        if not isinstance(stored, T.StringType):
            fact = f"column '{TYPE}' of the frame is {stored.simpleString()}, not the name of a supplier"
            raise InputError(error("bad-value", fact))
        return named(TYPE)

    def _time(self) -> Column:
        stored = self._stored(TIME, "which says when events come", "missing-time")
        value = to_instant(field(TIME), stored, "seconds")
        if value is None:
            fact = f"column '{TIME}' of the frame is {stored.simpleString()}, not a time"
            hint = "times are timestamps, dates, numbers of seconds, or ISO 8601 texts"
            raise InputError(error("bad-time", fact, hint=hint))
        if value.misfit is None:
            return value.column.spark
        wrong = call("RAISE_ERROR", concat(_FAILURE, value.misfit)).cast("bigint")
        return when(value.misfit.is_not_null(), wrong).otherwise(value.column).spark

    def _key(self, name: str) -> Column:
        stored = self._stored(name, "which says whose graph an event is for")
        if name in RESULTS:
            fact = f"rows have a column '{name}' of their own"
            raise UsageError(error("usage", fact, hint="rename the key with withColumnRenamed"))
        if not isinstance(stored, _KEYS):
            fact = f"column '{name}' of the frame is {stored.simpleString()}, which is no key"
            hint = "keys are whole numbers, decimals, texts, bytes, booleans, dates or times"
            raise UsageError(error("usage", fact, hint=hint))
        return named(name)

    def _sequence_of(self, name: str) -> Column:
        stored = self._stored(name, "to order events of one time by")
        if not isinstance(stored, T.IntegralType):
            fact = f"column '{name}' of the frame is {stored.simpleString()}; a sequence is whole"
            raise UsageError(error("usage", fact))
        return named(name).cast("bigint")

    def _attribute(self, name: str, supplier: Supplier) -> Column:
        payload = supplier.payload
        what = f"an attribute of the events of '{supplier.name}'"
        stored = self._stored(name, what, "unknown-attribute")
        is_array = not payload.fields and payload.size > 1
        element = stored.elementType if isinstance(stored, T.ArrayType) and is_array else stored
        wanted = T.BooleanType if payload.dtype == "bool" else T.NumericType
        if isinstance(stored, T.ArrayType) != is_array or not isinstance(element, wanted):
            fact = (
                f"column '{name}' of the frame is {stored.simpleString()},"
                f" but the events of '{supplier.name}' carry {payload}"
            )
            raise InputError(error("bad-value", fact, hint="cast the column, or change the graph"))
        if isinstance(element, T.DecimalType):
            return named(name).cast("array<double>" if is_array else "double")
        return named(name)
