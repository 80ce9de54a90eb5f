"""Columns of events as values of the attributes' types, whatever Arrow types they have."""

from __future__ import annotations

from typing import Any, TypeAlias

from cepheid.core.event import Value
from cepheid.core.types import TIMESTAMP, DataType
from cepheid.core.values import Coercions
from cepheid.errors import InputError, error
from cepheid.io.arrow import arrow_type, to_column
from cepheid.matcher.operator import Column
from cepheid.program.resolved import ResolvedProgram

Array: TypeAlias = Any  # of Arrow, whose stubs know less than it does


class TypedColumns:
    """What a program expects of the columns that it is given."""

    def __init__(self, program: ResolvedProgram) -> None:
        self._types = program.types
        self._coercions = Coercions(program.types)

    def is_exact(self, array: Array, type: DataType) -> bool:
        """Whether Arrow's values are already as expressions expect them."""
        import pyarrow as pa

        stored = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        return not pa.types.is_nested(stored) and stored == arrow_type(type, self._types)

    def exact(self, array: Array, column: Column) -> Array:
        """A column of scalars as an array of the attribute's type."""
        if self.is_exact(array, column.data_type):
            return array
        if column.data_type == TIMESTAMP and _is_instant(array.type):
            return array.cast(arrow_type(TIMESTAMP, self._types))  # in another zone
        values = self.values(array, column, column.types[0])
        return to_column(values, column.data_type, self._types)

    def values(self, array: Array, column: Column, name: str) -> list[Value]:
        """The values of one attribute of events of a type."""
        values: list[Value] = array.to_pylist()
        if self.is_exact(array, column.data_type) and column.data_type != TIMESTAMP:
            return values  # Arrow has a UTC of its own
        try:
            return list(map(self._coercions.of(column.data_type), values))
        except ValueError as problem:
            fact = f"attribute '{column.attribute}' of {name}: {problem}"
            raise InputError(error("bad-value", fact)) from None


def _is_instant(type: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_timestamp(type) and type.unit == "us" and type.tz is not None


def in_one_piece(column: Array) -> Array:
    """The array of a column; Arrow's `combine_chunks` copies it even if there is but one."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def missing(column: Column, name: str) -> InputError:
    fact = f"no column '{column.name}' beside events of type {name}"
    hint = "every attribute that the program looks at needs its column"
    return InputError(error("unknown-attribute", fact, hint=hint))
