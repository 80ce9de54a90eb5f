"""The columns of rows, for Arrow and for Spark, and tables that are given other columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from cepheid.matcher.operator import rows_schema
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    import pyarrow as pa


def spark_schema(program: ResolvedProgram, *, why: bool = False) -> T.StructType:
    """The columns of the rows of a program."""
    return from_arrow_schema(rows_schema(program, why=why), prefer_timestamp_ntz=False)


def with_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with other columns: those that it lacks are null, and so are members of structs."""
    import pyarrow as pa

    columns = [
        _fitted(table[field.name].combine_chunks(), field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _fitted(array: Any, type: pa.DataType) -> Any:
    import pyarrow as pa

    if array.type == type:
        return array
    if not isinstance(type, pa.StructType):
        return array.cast(type)
    own = {field.name for field in array.type}
    members = [
        _fitted(array.field(field.name), field.type)
        if field.name in own
        else pa.nulls(len(array), field.type)
        for field in type
    ]
    return pa.StructArray.from_arrays(members, fields=list(type), mask=array.is_null())
