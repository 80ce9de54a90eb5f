"""Frames of histories as tables of detections, a table for each class.

A frame has the form of a history: '@time', '@detected' and '@retracted', '@known' where detections count
later than they were made, and the attributes of its class. It stands under the name of its class, or
has a column '@type'; rows without a type let time pass. What a row cannot be ends the run where it is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from cepheid.bitemporal.detections import DETECTED, KNOWN, RETRACTED, History
from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, STRING, TIMESTAMP, DataType
from cepheid.engines.spark.codec.event_frames import PlainFrames, named
from cepheid.engines.spark.codec.input_columns import Value, convert, to_instant
from cepheid.engines.spark.codec.sql_columns import Column as SqlColumn
from cepheid.engines.spark.codec.sql_columns import call, concat, field, when
from cepheid.errors import InputError, UsageError, error, suggest
from cepheid.program.classes import SubscribedClass

TYPE, TIME = "@type", "@time"
_FAILURE = "cepheid.errors.InputError: error[{}]: "  # as Spark's failures are searched for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns hold the occurrence time and the sequence; numbers count time in a unit."""

    time: str = TIME
    unit: str = "seconds"
    sequence: str | None = None


@dataclass(frozen=True, slots=True)
class HistoryFrame:
    """A frame of one class, or where it has none of all those that '@type' names."""

    frame: DataFrame
    cls: str | None

    @property
    def fields(self) -> dict[str, T.DataType]:
        return {field.name: field.dataType for field in self.frame.schema.fields}

    def __str__(self) -> str:
        return f"the frame of {self.cls}" if self.cls else "the frame"


def sources_of(given: PlainFrames, classes: Sequence[SubscribedClass]) -> list[HistoryFrame]:
    """The frames that a call was given; UsageError where they make no sense for the classes."""
    names = [each.name for each in classes]
    frames = given.values() if isinstance(given, Mapping) else [given]
    if any(frame.isStreaming for frame in frames):
        rounds = "cep.spark.rounds runs a program with classes over a stream"
        raise UsageError(error("usage", "a history is no stream", hint=rounds))
    if not isinstance(given, Mapping):
        return [_single(given, names)]
    for name in given:
        if name not in names:
            close = suggest(name, names, "subscribed classes")
            raise UsageError(error("unknown-type", f"no subscribed class '{name}'", hint=close))
    missing = [name for name in names if name not in given]
    if missing:
        fact = f"no frame of {', '.join(missing)} is given"
        hint = "an empty frame says that nothing was detected"
        raise UsageError(error("missing-type", fact, hint=hint))
    return [HistoryFrame(frame, name) for name, frame in given.items()]


def _single(frame: DataFrame, names: Sequence[str]) -> HistoryFrame:
    if TYPE in frame.columns:
        return HistoryFrame(frame, None)
    if len(names) == 1:
        return HistoryFrame(frame, names[0])
    hint = f"add a column '{TYPE}', or give a frame per class: {{'{names[0]}': frame, ...}}"
    raise UsageError(
        error("missing-type", "the frame does not say the classes of its rows", hint=hint)
    )


class Detected:
    """The tables of detections that frames stand for."""

    def __init__(
        self, sources: Sequence[HistoryFrame], classes: Sequence[SubscribedClass], columns: Columns
    ) -> None:
        self._sources = sources
        self._classes = {each.name: each for each in classes}
        self._columns = columns
        self._first = classes[0].name

    def tables(self) -> dict[str, DataFrame]:
        """Attributes, `occ`, `det`, `@retracted`, `@known` and `@sequence` where they are given."""
        return {
            name: _ClassReader(source, self._classes[name], self._columns).table(
                self._own(source, name)
            )
            for source, name in self._pairs()
        }

    def _pairs(self) -> Iterator[tuple[HistoryFrame, str]]:
        """Each class with the frame that may have rows of it."""
        for source in self._sources:
            yield from ((source, name) for name in ([source.cls] if source.cls else self._classes))

    def columns(self) -> dict[str, Collection[str]]:
        """Of each class the columns of its frame."""
        return {name: source.fields for source, name in self._pairs()}

    def has_rows(self, name: str) -> bool:
        """Whether a class has any; a frame of its own speaks for itself."""
        [source] = [source for source, own in self._pairs() if own == name]
        return source.cls is not None or bool(source.frame.where(named(TYPE) == name).take(1))

    def span(self) -> History:
        """The first and the last time of all rows, which are looked through for this."""
        ends = [self._ends(source) for source in self._sources]
        found = reduce(DataFrame.unionAll, ends).agg(F.min("first"), F.max("last")).collect()
        return History(first=found[0][0], last=found[0][1])

    def _ends(self, source: HistoryFrame) -> DataFrame:
        known = _Times(source, self._columns).known.alias("known")
        times = source.frame.select(known)
        return times.agg(F.min("known").alias("first"), F.max("known").alias("last"))

    def _own(self, source: HistoryFrame, name: str) -> DataFrame:
        """The rows of a class; the first class looks for those of none."""
        frame = source.frame
        for mark in ("@old", "@timeout"):  # rows that are no events
            if mark in source.fields:
                frame = frame.where(~F.coalesce(named(mark), F.expr("FALSE")))
        if source.cls is not None:
            return frame
        type = named(TYPE).cast("string")
        if name != self._first:
            return frame.where(type == name)
        prefix = _FAILURE.format("unknown-type") + "no subscribed class '"
        unknown = _raised(F.concat(F.lit(prefix), type, F.lit("'")))
        is_known = type.isin(*self._classes)
        is_own = F.when(type.isNull() | is_known, type.eqNullSafe(name))
        return frame.where(is_own.otherwise(unknown))


class _Times:
    """When the rows of a frame occur, were detected, and count."""

    def __init__(self, source: HistoryFrame, columns: Columns) -> None:
        self._source = source
        self.misfits: list[Column] = []
        if columns.time not in source.fields:
            hint = "name it with time=, or call it '@time'"
            fact = f"{source} has no column '{columns.time}', which says when events occur"
            raise UsageError(error("missing-time", fact, hint=hint))
        self.occ = self._instant(columns.time, columns.unit)
        self.det = self._given(DETECTED, self.occ)
        self.known = self._given(KNOWN, self.det)

    def _given(self, name: str, default: Column) -> Column:
        if name not in self._source.fields:
            return default
        return F.coalesce(self._instant(name, "seconds"), default)

    def _instant(self, name: str, unit: str) -> Column:
        value = to_instant(field(name), self._source.fields[name], unit)
        if value is None:
            stored = self._source.fields[name].simpleString()
            fact = f"column '{name}' of {self._source} is {stored}, not a time"
            hint = "times are timestamps, dates, numbers of seconds, or ISO 8601 texts"
            raise InputError(error("bad-time", fact, hint=hint))
        if value.misfit is not None:
            prefix = _FAILURE.format("bad-time") + f"'{name}': "
            self.misfits.append(concat(prefix, value.misfit).spark)
        return value.column.spark


class _ClassReader:
    """The rows of one class."""

    def __init__(self, source: HistoryFrame, declared: SubscribedClass, columns: Columns) -> None:
        self._source = source
        self._class = declared
        self._columns = columns
        self._times = _Times(source, columns)
        self._misfits: list[Column] = []
        self._check_names()

    def table(self, rows: DataFrame) -> DataFrame:
        times = self._times
        values = [self._value(a.name, a.type).alias(a.name) for a in self._class.attributes]
        marks = {"occ": times.occ, "det": self._det, RETRACTED: self._is_retracted}
        if KNOWN in self._source.fields:
            marks[KNOWN] = times.known
        if self._columns.sequence is not None:
            marks["@sequence"] = self._sequence(self._columns.sequence)
        # What is wrong is found by a column that everything needs and that no filter works with: of a
        # filter Spark would infer others without end.
        problem = F.coalesce(*times.misfits, *self._misfits, *self._missing())
        wrong = _raised(problem)
        marks[RETRACTED] = F.when(problem.isNotNull(), wrong).otherwise(marks[RETRACTED])
        return rows.select(*values, *(column.alias(name) for name, column in marks.items()))

    @property
    def _is_retracted(self) -> Column:
        stored = self._source.fields.get(RETRACTED)
        if stored is None:
            return F.expr("FALSE")
        if not isinstance(stored, T.BooleanType):
            fact = f"column '{RETRACTED}' of {self._source} is {stored.simpleString()}, not boolean"
            raise InputError(error("bad-value", fact))
        return F.coalesce(named(RETRACTED), F.expr("FALSE"))

    @property
    def _det(self) -> Column:
        """Rows are chosen by it, so that one that has none has to be told at once."""
        name = self._class.name
        code = _FAILURE.format("missing-time")
        kind = F.when(self._is_retracted, f"{code}a retraction of {name} without a time").otherwise(
            f"{code}a version of {name} without an occurrence time"
        )
        missing = F.raise_error(F.coalesce(*self._times.misfits, kind))
        return F.coalesce(self._times.det, missing.cast("bigint"))

    def _missing(self) -> Iterator[Column]:
        """What every version needs."""
        name = self._class.name
        for part in self._class.key:
            fact = f"a version of {name} without its key: {part} is null"
            yield self._complaint(named(part).isNull(), "missing-key", fact)
        fact = f"a version of {name} without an occurrence time"
        is_timeless = self._times.occ.isNull() & ~self._is_retracted
        yield self._complaint(is_timeless, "missing-time", fact)

    def _complaint(self, test: Column, code: str, fact: str) -> Column:
        return F.when(test, F.lit(_FAILURE.format(code) + fact))

    def _value(self, name: str, type: DataType) -> Column:
        stored = self._source.fields.get(name)
        if stored is None:  # it may be missing
            return F.lit(None).cast(column_type(type))
        value = _converted(field(name), stored, type)
        if value is None:
            fact = (
                f"column '{name}' of {self._source} is {stored.simpleString()},"
                f" but attribute '{name}' of {self._class.name} is {type}"
            )
            raise InputError(error("bad-value", fact, hint="cast the column, or change the class"))
        if value.misfit is not None:
            prefix = _FAILURE.format("bad-value") + f"attribute '{name}' of {self._class.name}: "
            self._misfits.append(concat(prefix, value.misfit).spark)
        return value.column.spark

    def _sequence(self, name: str) -> Column:
        stored = self._source.fields.get(name)
        if not isinstance(stored, T.IntegralType):
            shown = "missing" if stored is None else stored.simpleString()
            fact = f"column '{name}' of {self._source} is {shown}; a sequence is whole numbers"
            raise UsageError(error("usage", fact))
        fact = f"a version of {self._class.name} without a sequence"
        self._misfits.append(self._complaint(named(name).isNull(), "bad-value", fact))
        return named(name).cast("bigint")

    def _check_names(self) -> None:
        """The key has its columns, and no two have one name; others may be there."""
        fields = self._source.fields
        columns = self._source.frame.columns
        if len(fields) < len(columns):
            double = next(name for name in columns if columns.count(name) > 1)
            raise InputError(error("bad-value", f"two columns are named '{double}'"))
        missing = [name for name in self._class.key if name not in fields]
        if not missing:
            return
        fact = f"no column '{missing[0]}' in {self._source}, the key of {self._class.name}"
        slip = suggest(missing[0], fields, "columns")
        raise InputError(error("unknown-attribute", fact, hint=slip))


def _converted(raw: SqlColumn, stored: T.DataType, type: DataType) -> Value | None:
    if type == TIMESTAMP:
        return to_instant(raw, stored, "seconds")
    value = convert(raw, stored, column_type(type))
    if value is not None and type in (DOUBLE, FLOAT):  # NaN is null and -0 is 0, as everywhere
        value = Value(when(~call("ISNAN", value.column), value.column + 0.0), value.misfit)
    if value is None or value.misfit is None:
        return value
    return Value(value.column, concat(value.misfit, f" is not a {type}"))


def column_type(type: DataType) -> T.DataType:
    """Whole numbers have 64 bits."""
    if type == TIMESTAMP:
        return T.TimestampType()
    if type == STRING:
        return T.StringType()
    if type == BOOLEAN:
        return T.BooleanType()
    return T.DoubleType() if type in (DOUBLE, FLOAT) else T.LongType()


def _raised(problem: Column) -> Column:
    return F.raise_error(problem).cast("boolean")
