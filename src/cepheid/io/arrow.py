"""Arrow, Parquet and pandas: tables as records, events as tables.

pyarrow and pandas are imported where they are needed, so that text in and out never loads them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cepheid.core.event import Event, Value
from cepheid.core.time import FarTime
from cepheid.core.types import (
    ANY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    MOST_DIGITS,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    Attribute,
    DataType,
    DecimalType,
    EventRef,
    EventType,
    RecordType,
    is_open,
    wider,
)
from cepheid.core.values import is_null
from cepheid.errors import InputError, Span, UsageError, error
from cepheid.io.encode import MARKS, encode_value, to_cell
from cepheid.io.jsonl import OnProblem
from cepheid.io.records import Record, is_true, placed, type_name
from cepheid.io.rows import ColumnarRows
from cepheid.io.source import NOWHERE, SEQUENCE, TIME, Placement

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


# Tables as records ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Columns:
    """Some rows of a table, column by column."""

    values: dict[str, list[object]]
    types: dict[str, DataType]  # of the columns whose type the table states
    first_row: int


def parquet_records(
    path: Path, default_type: str, on_problem: OnProblem, placement: Placement = NOWHERE
) -> Iterator[Record]:
    """The rows of a Parquet file, read batch by batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            batches = file.iter_batches()
            yield from batch_records(batches, str(path), default_type, on_problem, placement)
    except (UnicodeDecodeError, pa.ArrowException) as problem:  # the former of names
        fact = f"{str(path)!r} is not a Parquet file that can be read"
        hint = "it is damaged, or of another format: its suffix says how it is read"
        raise InputError(error("bad-file", fact, hint=hint)) from problem


def batch_records(
    batches: Iterable[pa.RecordBatch],
    name: str,
    default_type: str | None,
    on_problem: OnProblem,
    placement: Placement = NOWHERE,
) -> Iterator[Record]:
    """The rows of Arrow batches; a span's line is the number of the row."""
    row = 1
    for batch in batches:
        columns = _batch_columns(batch, row, name)
        yield from _rows(columns, name, default_type, on_problem, placement)
        row += batch.num_rows


def frame_records(
    frame: pd.DataFrame,
    name: str,
    default_type: str | None,
    on_problem: OnProblem,
    placement: Placement = NOWHERE,
) -> Iterator[Record]:
    """The rows of a pandas frame. NaN is null here: pandas often has no other null."""
    frame = with_time_index(frame, placement)
    names = [str(column) for column in frame.columns]
    _check_names(names, name)
    values: dict[str, list[object]] = {}
    types: dict[str, DataType] = {}
    for position, column in enumerate(names):
        values[column], stated = _series(frame.iloc[:, position])
        if stated is not None:
            types[column] = stated
    yield from _rows(_Columns(values, types, 1), name, default_type, on_problem, placement)


def with_time_index(frame: pd.DataFrame, placement: Placement) -> pd.DataFrame:
    """The frame with its index among the columns, where that holds the time and no column does."""
    import pandas as pd

    name = placement.time or TIME
    is_named = placement.time is not None and frame.index.name == placement.time
    is_time = is_named or (placement.time is None and isinstance(frame.index, pd.DatetimeIndex))
    if name in frame.columns or not is_time:
        return frame
    return frame.assign(**{name: frame.index})


def _series(series: pd.Series[Any]) -> tuple[list[object], DataType | None]:
    array = series_array(series)
    if array is None:
        return [None if _is_missing(v) else v for v in series.tolist()], None
    return _python_values(array), data_type(array.type)


def series_array(series: pd.Series[Any]) -> Any:
    """A column of a frame as an array; None for objects that only their values describe."""
    import pyarrow as pa

    try:
        array: Any = pa.array(series, from_pandas=True)
    except (pa.ArrowException, OverflowError, ValueError):
        return None
    # Of what pandas alone knows, such as periods, only the values say what it means.
    return None if isinstance(array.type, pa.BaseExtensionType) else array


def _is_missing(value: object) -> bool:
    return is_null(value) or (isinstance(value, float) and math.isnan(value))


def _batch_columns(batch: pa.RecordBatch, first_row: int, name: str) -> _Columns:
    names = list(batch.schema.names)
    _check_names(names, name)
    stated = {field.name: data_type(field.type) for field in batch.schema}
    return _Columns(
        values={n: _python_values(c) for n, c in zip(names, batch.columns, strict=True)},
        types={n: t for n, t in stated.items() if t is not None},
        first_row=first_row,
    )


def _check_names(names: Sequence[str], source: str) -> None:
    for name in names:
        if names.count(name) > 1:
            place = Span(1, 1, 1, 1, source)
            raise InputError(error("bad-file", f"two columns are named {name!r}", place))


def _python_values(array: Any) -> list[object]:
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_timestamp(array.type):
        array = without_nanoseconds(array)
    try:
        values: list[object] = array.to_pylist()
    except (ValueError, OverflowError):
        return [_python_value(scalar) for scalar in array]
    return values


def without_nanoseconds(array: Any) -> Any:
    """Timestamps of microseconds at the finest: what is finer is cut off, downwards also before 1970.

    So a datetime of pandas and a text are cut; Arrow itself would cut towards 1970.
    """
    import pyarrow as pa

    if array.type.unit != "ns":
        return array
    nanoseconds = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    return pa.array(nanoseconds // 1_000, mask=nulls).cast(pa.timestamp("us", array.type.tz))


def _python_value(scalar: Any) -> object:
    """What Python cannot hold becomes what the decoder refuses: a far time is one, a text bytes."""
    import pyarrow as pa

    try:
        value: object = scalar.as_py()
    except (ValueError, OverflowError):
        if isinstance(scalar, pa.ListScalar):
            return _python_values(scalar.values)
        if isinstance(scalar, pa.StructScalar):
            return {name: _python_value(member) for name, member in scalar.items()}
        if isinstance(scalar, pa.BinaryScalar):
            return scalar.as_buffer().to_pybytes()
        text = f"{scalar.type} {scalar.value}"
        is_time = pa.types.is_timestamp(scalar.type) or pa.types.is_date(scalar.type)
        return FarTime(text) if is_time else text
    return value


def _rows(
    columns: _Columns,
    name: str,
    default_type: str | None,
    on_problem: OnProblem,
    placement: Placement,
) -> Iterator[Record]:
    found, stated = columns.values, columns.types
    given = tuple(found)
    count = len(next(iter(found.values()), []))
    if placement and count:  # a table without rows may have no columns either
        placement.check(found, Span(columns.first_row, 1, columns.first_row, 1, name))
        found, stated = placement.arranged(found), placement.arranged(stated)
    attributes = {n: v for n, v in found.items() if n not in _META}
    nothing: list[object] = [None] * count
    types, times, olds, timeouts = (found.get(n, nothing) for n in _META)
    has_types = "@type" in found
    names = [n for n in attributes if n != SEQUENCE] if has_types else None
    if attributes and count and default_type is None and not has_types:
        fact = "the table does not say the types of its rows"
        place = Span(columns.first_row, 1, columns.first_row, 1, name)
        raise InputError(error("missing-type", fact, place, _TYPES_HINT))
    rows = zip(*attributes.values(), strict=True) if attributes else iter([()] * count)
    meta = zip(types, times, olds, timeouts, rows, strict=True)
    for number, (type, time, old, timeout, row) in enumerate(meta, columns.first_row):
        span = Span(number, 1, number, 1, name)
        values: dict[str, object] = dict(zip(attributes, row, strict=True))
        if has_types:
            # Where a table holds several types, a null may belong to the others' columns.
            values = {key: value for key, value in values.items() if value is not None}
        try:
            actual = default_type if type is None and not has_types else _optional_name(type)
            is_old, is_timeout = is_true(old, "@old"), is_true(timeout, "@timeout")
            record = Record(
                actual,
                time,
                values,
                span,
                is_old=is_old,
                is_timeout=is_timeout,
                columns=stated,
                names=names,
            )
            yield placed(record, placement, given) if placement else record
        except ValueError as problem:
            on_problem(error("bad-line", str(problem), span))


_TYPES_HINT = "add a column '@type', name one with type=, or give a table per type: {'Type': table}"
_META = ("@type", "@time", *MARKS)


def _optional_name(type: object) -> str | None:
    return None if type is None else type_name(type)


# Types ----------------------------------------------------------------------------------------


def data_type(type: Any) -> DataType | None:
    """The static type of an Arrow column, None where only its values can say."""
    import pyarrow as pa

    is_ = pa.types
    if is_.is_dictionary(type):
        return data_type(type.value_type)
    if is_.is_list(type) or is_.is_large_list(type) or is_.is_fixed_size_list(type):
        element = data_type(type.value_type)
        return ArrayType(element) if element else None
    if is_.is_struct(type):
        return _record_type(type)
    if is_.is_decimal(type):  # with digits that a long does not hold, they are doubles
        is_held = type.precision <= MOST_DIGITS and 0 <= type.scale <= type.precision
        return DecimalType(type.precision, type.scale) if is_held else DOUBLE
    for test, result in (
        (is_.is_null, ANY),
        (is_.is_boolean, BOOLEAN),
        (is_.is_uint32, LONG),
        (is_.is_int64, LONG),
        (is_.is_uint64, LONG),
        (is_.is_integer, INT),
        (is_.is_float64, DOUBLE),
        (is_.is_floating, FLOAT),
        (is_.is_string, STRING),
        (is_.is_large_string, STRING),
        (is_.is_timestamp, TIMESTAMP),
        (is_.is_date, DATE),
        (is_.is_time, STRING),
    ):
        if test(type):
            return result
    return None


def _record_type(type: Any) -> DataType | None:
    members = []
    for field in type:
        member = data_type(field.type)
        if member is None:
            return None
        if not field.name.startswith("@"):
            members.append(Attribute(field.name, member))
    return RecordType(tuple(members))


def _instant_type() -> pa.DataType:
    import pyarrow as pa

    return pa.timestamp("us", "UTC")


@cache
def _scalars() -> Mapping[DataType, pa.DataType]:
    import pyarrow as pa

    return {
        STRING: pa.string(),
        BOOLEAN: pa.bool_(),
        INT: pa.int32(),
        LONG: pa.int64(),
        FLOAT: pa.float32(),
        DOUBLE: pa.float64(),
        TIMESTAMP: _instant_type(),
        DATE: pa.date32(),
        NULL: pa.string(),  # which others take it for where nothing is known
    }


class _ArrowTypes:
    """Static types as Arrow types; None for what no Arrow type holds, which is written as text."""

    def __init__(self, types: Mapping[str, EventType]) -> None:
        self._types = types
        self._inside: list[str] = []
        self._scalars = _scalars()

    def of(self, type: DataType) -> pa.DataType | None:
        import pyarrow as pa

        match type:
            case ArrayType(element):
                inner = self.of(element)
                return None if inner is None else pa.list_(inner)
            case RecordType(attributes):
                return self._struct([], attributes)
            case EventRef(name):
                return self._event(name)
            case DecimalType(precision, scale):
                return pa.decimal128(precision, scale)
        return self._scalars.get(type)

    def _event(self, name: str) -> pa.DataType | None:
        """With the attributes of its descendants, one of which the event may be."""
        import pyarrow as pa

        if name in self._inside:
            return None
        kinds = [t for n, t in self._types.items() if n == name or name in t.ancestors]
        if not kinds or any(kind.is_open for kind in kinds):
            return None
        members = {a.name: a for kind in kinds for a in kind.attributes}
        meta = [pa.field("@type", pa.string()), pa.field("@time", _instant_type())]
        self._inside.append(name)
        try:
            return self._struct(meta, members.values())
        finally:
            self._inside.pop()

    def _struct(
        self, meta: list[pa.Field[Any]], attributes: Iterable[Attribute]
    ) -> pa.DataType | None:
        import pyarrow as pa

        fields = list(meta)
        for attribute in attributes:
            type = self.of(attribute.type)
            if type is None:
                return None
            fields.append(pa.field(attribute.name, type))
        return pa.struct(fields) if fields else None


def arrow_type(type: DataType, types: Mapping[str, EventType]) -> pa.DataType:
    """The Arrow type of values of a static type; text where no other holds them."""
    import pyarrow as pa

    return _ArrowTypes(types).of(type) or pa.string()


def is_stored(type: DataType, types: Mapping[str, EventType]) -> bool:
    """Whether columns hold values of a static type as what they are, not as text."""
    return _ArrowTypes(types).of(type) is not None


# Events as tables -----------------------------------------------------------------------------


def to_column(values: list[Value], type: DataType, types: Mapping[str, EventType]) -> pa.Array[Any]:
    """Values as a column of their `arrow_type`; what becomes text is JSON."""
    import pyarrow as pa

    known = _ArrowTypes(types).of(type)
    return _json(values) if known is None else pa.array(list(map(_arrow_value, values)), known)


def to_arrow(
    events: Sequence[Event], types: Mapping[str, EventType], expected: Iterable[str] = ()
) -> pa.Table:
    """The events as a table: '@type', '@time', '@old' and '@timeout' where true of any, attributes.

    The attributes of the expected types are there even without an event. An attribute that has types with nothing in common becomes text as in a CSV cell; nested
    values that no Arrow type holds become JSON.
    """
    import pyarrow as pa

    if isinstance(events, ColumnarRows):
        table = _of_rows(events, types, expected)
        if table is not None:
            return table
    columns: dict[str, pa.Array[Any]] = {
        "@type": pa.array([event.type for event in events], pa.string()),
        "@time": pa.array([event.instant for event in events], _instant_type()),
    }
    for mark, is_marked in MARKS.items():
        if any(map(is_marked, events)):
            columns[mark] = pa.array([is_marked(event) for event in events], pa.bool_())
    arrow_types = _ArrowTypes(types)
    for name, type in attribute_types(events, types, expected).items():
        values = [event.values_.get(name) for event in events]
        columns[name] = _column(values, type, arrow_types)
    return pa.table(columns)


def _of_rows(
    rows: ColumnarRows, types: Mapping[str, EventType], expected: Iterable[str]
) -> pa.Table | None:
    """The same from columns; None where an attribute is to become text."""
    import pyarrow as pa

    columns: dict[str, Any] = {"@type": rows.names(), "@time": rows.times()}
    for mark in MARKS:
        marked = rows.marked(mark)
        if marked is not None:
            columns[mark] = marked
    arrow_types = _ArrowTypes(types)
    for name, type in attribute_types(rows, types, expected).items():
        if type == NULL:
            columns[name] = pa.nulls(len(rows))
            continue
        arrow_type = None if type is None else arrow_types.of(type)
        columns[name] = None if arrow_type is None else rows.member(name, arrow_type)
        if columns[name] is None:
            return None
    return pa.table(columns)


def to_pandas(
    events: Sequence[Event], types: Mapping[str, EventType], expected: Iterable[str] = ()
) -> pd.DataFrame:
    """As `to_arrow`, with the pandas types that keep whole numbers and booleans beside nulls."""
    try:
        import pandas as pd
    except ImportError:
        hint = "`pip install pandas`"
        raise UsageError(error("usage", "pandas is not installed", hint=hint)) from None
    import pyarrow as pa

    keeping: dict[Any, Any] = {
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    return to_arrow(events, types, expected).to_pandas(types_mapper=keeping.get)


def attribute_types(
    events: Iterable[Event], types: Mapping[str, EventType], expected: Iterable[str] = ()
) -> dict[str, DataType | None]:
    """The type of every attribute that the events have; None where they have no common one."""
    seen: dict[str, dict[str, Value]] = {name: {} for name in expected}
    if isinstance(events, ColumnarRows):  # whose types say all
        if not events.targets <= seen.keys():
            seen |= {name: {} for name in events.counts() if name not in seen}
    else:
        for event in events:  # an event of an open type may have attributes that no other has
            seen.setdefault(event.type, {}).update(event.values_)
    found: dict[str, DataType | None] = {}
    for name, samples in seen.items():
        declared = types.get(name) or EventType(name, (), is_open=True)
        for attribute in dict.fromkeys([*(a.name for a in declared.attributes), *samples]):
            type = declared.find(attribute) or ANY
            before = found.get(attribute, ANY)
            found[attribute] = wider(before, type) if before is not None else None
    return found


def _column(values: list[Value], type: DataType | None, arrow_types: _ArrowTypes) -> pa.Array[Any]:
    import pyarrow as pa

    if type is None:
        return _text(values)
    if is_open(type):
        return _untyped(values)
    arrow_type = arrow_types.of(type)
    if arrow_type is None:
        return _json(values)
    found = [_widened(value, type) for value in values]
    try:
        return pa.array(found, arrow_type)
    except pa.ArrowInvalid:
        return pa.array(found, _with_room(arrow_type))


def _with_room(stored: pa.DataType) -> pa.DataType:
    """The type with all digits that Arrow has: decimals of several types may need more together."""
    import pyarrow as pa

    if pa.types.is_list(stored):
        return pa.list_(_with_room(stored.value_type))
    return pa.decimal128(38, stored.scale) if pa.types.is_decimal(stored) else stored


def _widened(value: Value, type: DataType) -> object:
    """A value of the type, or of one that is narrower, in the form that Arrow takes of the type."""
    if isinstance(type, ArrayType) and isinstance(value, list):
        return [_widened(item, type.element) for item in value]
    if type in (FLOAT, DOUBLE) and isinstance(value, int | Decimal):
        return float(value)
    if type == TIMESTAMP and isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return _arrow_value(value)


def _untyped(values: list[Value]) -> pa.Array[Any]:
    """A column of which only the values tell what it holds."""
    import pyarrow as pa

    if any(isinstance(value, Event | dict | list) for value in values):
        return _json(values)
    try:
        return pa.array(values)
    except pa.ArrowException:
        return _text(values)


def _json(values: list[Value]) -> pa.Array[Any]:
    import pyarrow as pa

    texts = [None if v is None else json.dumps(encode_value(v)) for v in values]
    return pa.array(texts, pa.string())


def _text(values: list[Value]) -> pa.Array[Any]:
    import pyarrow as pa

    return pa.array([None if v is None else to_cell(v) for v in values], pa.string())


def _arrow_value(value: Value) -> object:
    if isinstance(value, Event):
        members = {name: _arrow_value(member) for name, member in value.items()}
        return {"@type": value.type, "@time": value.instant, **members}
    if isinstance(value, dict):
        return {name: _arrow_value(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_arrow_value(item) for item in value]
    return value
