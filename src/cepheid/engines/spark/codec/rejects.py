"""Rows that are no events, and events that came too late: how they stand beside what a program finds.

They are rows of the kinds 'reject' and 'late'. '@row' has what was given, as JSON or as the text that
it was, and '@problem' what is wrong with it.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from cepheid.core.time import format_instant, to_instant
from cepheid.engines.spark.codec.event_encoder import union
from cepheid.engines.spark.codec.event_layout import KIND, TIME, TYPE
from cepheid.engines.spark.codec.input_columns import PROBLEM, ROW_TEXT, Reading, read
from cepheid.engines.spark.codec.schemas import with_schema
from cepheid.engines.spark.codec.sql_columns import Column, call, field, lit
from cepheid.io.encode import to_json
from cepheid.matcher.operator import columns_of, rows_schema
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.engines.spark.plan.request import SparkRequest

LATE_KIND, REJECT_KIND = "late", "reject"


def rejected(request: SparkRequest) -> DataFrame:
    """Rows that are no events of the program: '@type', '@time', why ('@problem'), '@row' as JSON."""
    frames = []
    for source in request.sources:
        columns = reject_columns(read(source, request.program, request.options))
        frames.append(source.frame.selectExpr(*(c.named(n) for n, c in columns.items())))
    return reduce(union, frames).where(field(PROBLEM).is_not_null().text)


def reject_columns(reading: Reading) -> dict[str, Column]:
    return {
        TYPE: reading.type,
        TIME: call("TIMESTAMP_MICROS", reading.time),
        PROBLEM: reading.problem,
        ROW_TEXT: reading.row,
    }


def with_rejects(rows: DataFrame, rejects: DataFrame) -> DataFrame:
    """Rows of a program, and rejects among them."""
    return union(rows, rejects.withColumn(KIND, lit(REJECT_KIND).spark))


# In workers -----------------------------------------------------------------------------------


def everything_schema(program: ResolvedProgram) -> pa.Schema:
    """The columns of rows, late events and rejects together."""
    import pyarrow as pa

    fields = [pa.field(PROBLEM, pa.string()), pa.field(ROW_TEXT, pa.string())]
    return pa.schema([*rows_schema(program), *fields])


def rejects_among(table: pa.Table, schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    kinds: Any = pa.array([REJECT_KIND] * table.num_rows, pa.string())
    return with_schema(table.append_column(KIND, kinds), schema)


def late_among(table: pa.Table, program: ResolvedProgram, schema: pa.Schema) -> pa.Table:
    """Late events with the attributes that the program looks at, as JSON."""
    import pyarrow as pa

    columns = columns_of(program)
    texts = []
    for row in table.to_pylist():
        values = {c.attribute: row[c.name] for c in columns if row[TYPE] in c.types}
        time = format_instant(to_instant(row[TIME]))
        texts.append(to_json({TYPE: row[TYPE], TIME: time, **values}))
    count = table.num_rows
    told: dict[str, Any] = {
        TYPE: table[TYPE],
        TIME: table[TIME],
        KIND: pa.array([LATE_KIND] * count, pa.string()),
        PROBLEM: pa.array(["the watermark had passed it"] * count, pa.string()),
        ROW_TEXT: pa.array(texts, pa.string()),
    }
    return with_schema(pa.table(told), schema)
