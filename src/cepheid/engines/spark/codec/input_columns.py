"""Frames of events as the operator takes them: typed columns, instants, an order.

`Reading` says what each column of a frame stands for, and what is wrong with a row; nothing here looks
at one, so it serves batches and streams alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_type

from cepheid.core.time import FAR_TIME, FIRST_INSTANT, LAST_INSTANT, MICROSECONDS, Instant
from cepheid.core.types import (
    DATE,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
    EventTime,
    is_integral,
    is_open,
)
from cepheid.engines.common.judging import input_keys, null_key
from cepheid.engines.spark.codec.event_frames import EventFrame
from cepheid.engines.spark.codec.instants import EXACT, iso_text, micros, micros_of_text
from cepheid.engines.spark.codec.sql_columns import (
    Column,
    call,
    coalesce,
    concat,
    each,
    field,
    lit,
    nothing,
    struct,
    when,
)
from cepheid.errors import InputError, UsageError, error, suggest
from cepheid.io.arrow import arrow_type
from cepheid.io.source import TIME, TYPE
from cepheid.matcher import operator
from cepheid.matcher.operator import columns_of
from cepheid.program.resolved import ResolvedProgram

REJECT = "@reject"  # a text that is no event
PROBLEM = "@problem"  # what is wrong with a row
ROW_TEXT = "@row"  # the row

# How it is read -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Which column orders events of one time, and between which instants all of them must lie."""

    sequence: str | None = None
    start: Instant | None = None
    end: Instant | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """A converted column, null where the stored one is null or does not fit; `misfit` says how."""

    column: Column
    misfit: Column | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What the rows of a source mean to a program.

    `columns` are those of `columns_of`, in their order. A row without a type only lets time pass.
    `problem` is null for rows that can be taken; `misfit` is what of it a known time does not rule
    out. `sort_keys` order the events of one instant where there is no sequence: places in `columns`, and
    columns that serve for nothing else. `time_columns` are places in `columns` that only hold the time of
    the event, as a whole number of some microseconds.
    """

    source: EventFrame
    type: Column
    time: Column
    sequence: Column | None
    columns: tuple[Column, ...]
    misfit: Column | None
    problem: Column
    sort_keys: tuple[int | Column, ...]
    time_columns: Mapping[int, int]
    seen: tuple[str, ...]  # the columns of the frame behind all this

    @property
    def is_fine(self) -> Column:
        """Whether there is a time and no problem: known sooner than what the problem is."""
        has_time = self.time.is_not_null()
        return has_time if self.misfit is None else has_time & self.misfit.is_null()

    @property
    def row(self) -> Column:
        """The row as it was given: a text that is no event, else JSON."""
        whole = call("TO_JSON", struct(**{name: field(name) for name in self.source.frame.columns}))
        return coalesce(field(REJECT), whole) if REJECT in self.source.fields else whole

    def checked(self, time: Column) -> Column:
        """The time of a row that can be taken; Spark stops at any other, and says which one it is.

        Of that it shows the columns that are read anyway.
        """
        row = call("TO_JSON", struct(**{name: field(name) for name in self.seen}))
        words = concat(self.problem, lit(f" ({self.source}: "), row, lit(")"))
        return when(self.is_fine, time).otherwise(call("RAISE_ERROR", words).cast("bigint"))


def read(source: EventFrame, program: ResolvedProgram, options: Options) -> Reading:
    """How the rows of a source become events of a program whose types are known."""
    return _Reader(source, program, options).reading()


def time_columns(source: EventFrame, program: ResolvedProgram) -> tuple[str, ...]:
    """The columns that may hold the time of a row."""
    if source.time_attribute is not None:
        return (source.time_attribute, TIME)
    own = source.event_type
    rules = (t.time for n, t in program.types.items() if own in (None, n))
    names = dict.fromkeys([TIME, *(rule.attribute for rule in rules if rule)])
    return tuple(name for name in names if name in source.fields)


def time_of(source: EventFrame, program: ResolvedProgram, options: Options) -> Column:
    """The time of every row, be it an event of the program or not."""
    return _Reader(source, program, options).time()


def plain_time(source: EventFrame, program: ResolvedProgram) -> tuple[str, int] | None:
    """The column of whole numbers that is the time of all rows, and the microseconds that it counts.

    None where there is no such column, or another one may stand in for it.
    """
    own = source.event_type
    rule = None if own is None else program.types[own].time
    if rule is None or source.placement:
        return None
    is_whole = isinstance(source.fields.get(rule.attribute), T.IntegralType)
    return (rule.attribute, MICROSECONDS[rule.unit]) if is_whole else None  # type: ignore[index]


def zoneless_columns(source: EventFrame, program: ResolvedProgram) -> list[str]:
    """The columns of a frame that are used as times and name no zone."""
    own = source.event_type
    types = [t for n, t in program.types.items() if own in (None, n)]
    times = {TIME} | {t.time.attribute for t in types if t.time is not None}
    stamps = {a.name for t in types for a in t.attributes if a.type == TIMESTAMP}
    is_used = times | stamps
    found = [n for n, stored in source.fields.items() if n in is_used and is_zoneless(stored)]
    return [(source.placement.time if n == TIME else None) or n for n in found]


class _Reader:
    def __init__(self, source: EventFrame, program: ResolvedProgram, options: Options) -> None:
        self.source = source
        self.program = program
        self.options = options
        self.fields = source.fields
        self.type = self._type()
        consumed = program.consumed_types
        own = source.event_type
        self.types = tuple(t for t in consumed if own is None or t == own)
        self.misfits: list[Column] = []
        self.bad_times: list[Column] = []

    def reading(self) -> Reading:
        time = self.time()
        wanted = columns_of(self.program)
        columns = tuple(self._column(c.attribute, c.data_type, c.types, time) for c in wanted)
        sequence = self._sequence()
        self.misfits += [
            *self._read_already(),
            *self._unknown_types(wanted),
            *self._null_keys(),
            *self._outside(time),
        ]
        missing = when(time.is_null(), lit(f"error[missing-time]: {self._without_time()}"))
        return Reading(
            self.source,
            self.type,
            time,
            sequence,
            columns,
            coalesce(*self.misfits) if self.misfits else None,
            coalesce(*self.bad_times, *self.misfits, missing),
            () if sequence is not None else tuple(self._sort_keys(wanted)),
            {n: unit for n, c in enumerate(wanted) if (unit := self._time_unit(c)) is not None},
            self._seen(wanted),
        )

    def _seen(self, wanted: Sequence[operator.Column]) -> tuple[str, ...]:
        names = {TYPE, self.options.sequence, *time_columns(self.source, self.program)}
        names |= {column.attribute for column in wanted}
        return tuple(name for name in self.fields if name in names)

    # Types.

    def _type(self) -> Column:
        """The type of a row; null for those that stand for no event, as '@kind' and others say."""
        own = self.source.event_type
        type = lit(own) if own else field("@type").cast("string")
        marks = [mark for mark in ("@old", "@timeout") if mark in self.fields]
        tests = [field(mark).is_null() | ~field(mark) for mark in marks]
        if "@kind" in self.fields:
            tests.append(field("@kind").is_null() | (field("@kind") == "match"))
        return reduce(lambda found, test: when(test, found), tests, type)

    def _is_of(self, types: Sequence[str]) -> Column | None:
        """Whether a row is of one of the types; None if all are."""
        return None if self.source.event_type in types else self.type.is_in(*types)

    def _where(self, types: Sequence[str], column: Column) -> Column:
        test = self._is_of(types)
        return column if test is None else when(test, column)

    def _complaint(self, test: Column, fact: str) -> list[Column]:
        """What is wrong with an event of a type that the program takes, if it takes any."""
        return [self._where(self.types, when(test, lit(fact)))] if self.types else []

    # What all doors refuse.

    def _read_already(self) -> Iterator[Column]:
        """Whoever made rows of texts has said which of them are none."""
        if {REJECT, PROBLEM} <= self.fields.keys():
            yield when(field(REJECT).is_not_null(), field(PROBLEM))

    def _unknown_types(self, wanted: Sequence[operator.Column]) -> Iterator[Column]:
        if self.source.event_type is None:
            words = concat(lit("error[unknown-type]: no event type '"), self.type, lit("'"))
            yield when(~self.type.is_in(*self.program.types), words)
            names = dict.fromkeys(c.attribute for c in wanted if c.attribute in self.fields)
            values = [field(name).is_not_null() for name in names]
            if values:  # a row that has a time alone lets time pass
                untyped = field(TYPE).is_null() & reduce(lambda a, b: a | b, values)
                yield when(untyped, lit("error[missing-type]: an event without a type"))

    def _null_keys(self) -> Iterator[Column]:
        for type, uses in input_keys(self.program).items():
            for name, use in uses.items() if self.source.event_type in (None, type) else ():
                test = field(name).is_null() if name in self.fields else lit(value=True)
                words = lit(f"error[null-key]: {null_key(type, name, use, None).message}")
                yield self._where((type,), when(test, words))

    def _outside(self, time: Column) -> Iterator[Column]:
        """Events before the start or after the end."""
        start, end = self.options.start, self.options.end
        words = concat(lit("error[late-event]: an event at "), iso_text(time))
        if start is not None:
            yield when(time < start, concat(words, lit(" is before the start")))
        if end is not None:
            yield when(time > end, concat(words, lit(" is after the end")))

    def _without_time(self) -> str:
        own, column = self.source.event_type, self.source.placement.time
        event = f"an event of type {own}" if own else "a row"
        need = f"'{column}' holds the time" if column else "give '@time'"
        return f"{event} without a time ({need})"

    # Times.

    def time(self) -> Column:
        base = self._stated_time()
        cases = [
            (type, rule)
            for type in self.program.types
            if self.source.event_type in (None, type)
            and (rule := self.program.types[type].time)
            and rule.attribute in self.fields
            and self.source.placement.time is None
        ]
        time = base
        for type, rule in cases:
            time_of = self._instant(rule.attribute, rule.unit, type)
            is_given = field(rule.attribute).is_not_null()
            found = time_of if base is None else when(is_given, time_of).otherwise(base)
            test = self._is_of((type,))
            if test is None:
                time = found
            else:
                time = when(test, found) if time is None else when(test, found).otherwise(time)
        if time is None:
            hint = "name it with time= (--time), or call it '@time'"
            fact = f"{self.source} has no column that holds the time"
            raise UsageError(error("missing-time", fact, hint=hint))
        return time

    def _stated_time(self) -> Column | None:
        """What '@time', where the column that was named instead is, says."""
        if TIME not in self.fields:
            return None
        return self._instant(TIME, self._unit(self.source.event_type), None)

    def _unit(self, type: str | None) -> str:
        """What numbers count that are no attribute's."""
        rule = None if type is None else self.program.types[type].time
        return self.source.placement.unit_of_time(rule)

    def _instant(self, name: str, unit: str, type: str | None) -> Column:
        zone = self.source.placement.zone
        converted = to_instant(field(name), self.fields[name], unit, zone)
        given = (self.source.placement.time if name == TIME else None) or name
        if converted is None:
            stored = _shown(self.fields[name])
            fact = f"column '{given}' of {self.source} is {stored}, not a time"
            hint = "times are timestamps, dates, numbers with a unit, or ISO 8601 texts"
            raise InputError(error("bad-time", fact, hint=hint))
        if converted.misfit is not None:
            words = concat(lit(f"error[bad-time]: '{given}': "), converted.misfit)
            self.bad_times.append(words if type is None else self._where((type,), words))
        return converted.column

    def _time_unit(self, column: operator.Column) -> int | None:
        """The microseconds that an attribute counts, if it holds the time of all events here."""
        own = self.source.event_type
        is_long = isinstance(self.fields.get(column.attribute), T.LongType)
        if own is None or not is_long or column.data_type != LONG:
            return None
        rule = self.program.types[own].time
        if self.source.time_attribute is not None:
            rule = EventTime(self.source.time_attribute, self._unit(own))
        if rule is None or rule.attribute not in self.fields:
            return None
        is_time = rule.attribute == column.attribute
        return MICROSECONDS[rule.unit] if is_time else None  # type: ignore[index]

    # Attributes.

    def _column(self, name: str, type: DataType, types: tuple[str, ...], time: Column) -> Column:
        stored = self.fields.get(name)
        target = spark_type(type, self.program)
        mine = [t for t in types if t in self.types]
        rules = {self.program.types[t].time for t in mine}
        rule = next((r for r in rules if r is not None and r.attribute == name), None)
        if not mine or (stored is None and rule is None):
            return nothing(target)
        column = nothing(target)
        if stored is not None:
            column = self._converted(name, stored, type, target, mine)
        if rule is not None:  # '@time' stands in for the attribute that should hold the time
            column = coalesce(column, _time_attribute(time, rule, type).cast(target))
        return self._where(mine, column)

    def _converted(
        self, name: str, stored: T.DataType, type: DataType, target: T.DataType, types: list[str]
    ) -> Column:
        value = convert(field(name), stored, target, self.source.placement.zone)
        if value is None:
            owner = types[0] if len(types) == 1 else "events"
            fact = (
                f"column '{name}' of {self.source} is {_shown(stored)},"
                f" but attribute '{name}' of {owner} is {type}"
            )
            raise InputError(error("bad-value", fact, hint="cast the column, or change the schema"))
        if value.misfit is not None:
            start = lit(f"error[bad-value]: attribute '{name}': ")
            misfit = concat(start, value.misfit, lit(f" is not {type}"))
            self.misfits.append(self._where(types, misfit))
        return value.column

    # Order.

    def _sequence(self) -> Column | None:
        name = self.options.sequence
        if name is None:
            return None
        stored = self.fields.get(name)
        column = self.source.placement.sequence or name
        if stored is None:
            hint = suggest(column, self.fields, "columns")
            raise UsageError(error("usage", f"no column '{column}' in {self.source}", hint=hint))
        if not isinstance(stored, T.IntegralType):
            fact = f"column '{column}' of {self.source} is {_shown(stored)}; a sequence is whole"
            raise UsageError(error("usage", fact))
        fact = f"error[bad-value]: '{column}' orders events by whole numbers, not by null"
        self.misfits += self._complaint(field(name).is_null(), fact)
        return field(name).cast("bigint")

    def _sort_keys(self, wanted: Sequence[operator.Column]) -> Iterator[int | Column]:
        """Attributes in the order of the frame, up to the last that the program looks at.

        Events that agree in all of these are the same to the program, in whatever order. What it
        looks at for some types only is null for all others, and does not order those.
        """
        owners = {n: {t for t in self.types if self.program.types[t].find(n)} for n in self.fields}
        names = [n for n, t in self.source.attributes.items() if owners[n] and _is_ordered(t)]
        seen = {column.attribute for column in wanted}
        last = max((place for place, name in enumerate(names) if name in seen), default=-1)
        for name in names[: last + 1]:
            places = [place for place, column in enumerate(wanted) if column.attribute == name]
            if owners[name] <= {type for place in places for type in wanted[place].types}:
                yield from places
            else:
                yield field(name)


def _is_ordered(type: T.DataType) -> bool:
    if isinstance(type, T.ArrayType):
        return _is_ordered(type.elementType)
    if isinstance(type, T.StructType):
        return all(_is_ordered(field.dataType) for field in type.fields)
    return not isinstance(type, T.MapType | T.VariantType)


def _shown(type: T.DataType) -> str:
    return type.simpleString()


# Values ---------------------------------------------------------------------------------------


def spark_type(type: DataType, program: ResolvedProgram) -> T.DataType:
    if is_open(type):
        return T.StringType()
    return from_arrow_type(arrow_type(type, program.types), prefer_timestamp_ntz=False)


def convert(
    raw: Column, stored: T.DataType, target: T.DataType, zone: str | None = None
) -> Value | None:
    """A column as values of a type, as files and Python values become them; None if they cannot.

    Timestamps that name no zone are of the given one.
    """
    if stored == target:
        return Value(raw)
    if isinstance(stored, T.NullType):
        return Value(raw.cast(target))
    if isinstance(target, T.StringType):
        return _to_text(raw, stored)
    if isinstance(target, T.ArrayType) and isinstance(stored, T.ArrayType):
        return _to_array(raw, stored, target)
    if isinstance(target, T.StructType) and isinstance(stored, T.StructType):
        return _to_struct(raw, stored, target)
    if isinstance(target, T.TimestampType) and isinstance(stored, T.TimestampNTZType | T.DateType):
        return Value(call("TIMESTAMP_MICROS", micros(raw, stored, zone)))
    if isinstance(target, T.TimestampType) and isinstance(stored, T.StringType):
        found = micros_of_text(raw, zone)
        return _checked(raw, call("TIMESTAMP_MICROS", when(_is_in_calendar(found), found)))
    if isinstance(target, T.DateType):
        return _to_date(raw, stored)
    if isinstance(target, T.DecimalType) and isinstance(stored, T.NumericType | T.StringType):
        return _to_decimal(raw, stored, target)
    if isinstance(stored, T.NumericType) and isinstance(target, T.NumericType):
        return _to_number(raw, stored, target)
    return None


def _to_number(raw: Column, stored: T.NumericType, target: T.NumericType) -> Value:
    """Whole numbers where they fit, fractions as the nearest; nothing that loses a fraction."""
    if isinstance(target, T.DoubleType):
        return Value(raw.cast("double"))
    if isinstance(target, T.FloatType):
        near = raw.cast("double").cast("float")
        if isinstance(stored, T.IntegralType):
            return Value(near)
        is_infinite = call("ABS", near) == float("inf")
        was_infinite = call("ABS", raw.cast("double")) == float("inf")
        fits = ~is_infinite | was_infinite
        return _checked(raw, when(fits, near))
    fitting = raw.try_cast(target)
    if isinstance(stored, T.IntegralType):
        is_wide = stored.jsonValue() == "long" and isinstance(target, T.IntegerType)
        return _checked(raw, fitting) if is_wide else Value(raw.cast(target))
    is_whole = raw % 1 == 0 if isinstance(stored, T.DecimalType) else raw == call("RINT", raw)
    return _checked(raw, when(is_whole, fitting))


def _to_date(raw: Column, stored: T.DataType) -> Value | None:
    """A day that a text writes, or that a time is the first moment of."""
    if isinstance(stored, T.StringType):
        text = call("TRIM", raw)
        return _checked(raw, when(text.matches(r"^\d{4}-\d{2}-\d{2}$"), text.try_cast("date")))
    if not isinstance(stored, T.TimestampType | T.TimestampNTZType):
        return None
    instant, day = micros(raw, stored), lit(MICROSECONDS["days"]).cast("bigint")
    found = call("DATE_FROM_UNIX_DATE", call("FLOOR", instant.cast(EXACT) / day).cast("int"))
    return _checked(raw, when(instant % day == 0, found))


def _to_decimal(raw: Column, stored: T.DataType, target: T.DecimalType) -> Value:
    """Numbers whose digits all have a place, as texts write them."""
    written = raw if isinstance(stored, T.DecimalType) else call("TRIM", raw.cast("string"))
    exact = written.try_cast("decimal(38,18)")
    fitting = exact.try_cast(target)
    return _checked(raw, when(fitting == exact, fitting))


def _checked(raw: Column, value: Column) -> Value:
    return Value(value, when(raw.is_not_null() & value.is_null(), raw.cast("string")))


def _to_text(raw: Column, stored: T.DataType) -> Value | None:
    if isinstance(stored, T.StringType):
        return Value(raw.cast("string"))
    if isinstance(stored, T.TimestampType | T.TimestampNTZType):
        return Value(iso_text(micros(raw, stored)))
    if isinstance(stored, T.DateType):
        return Value(raw.cast("string"))
    if isinstance(stored, T.StructType | T.ArrayType):  # of a type that contains itself
        return Value(call("TO_JSON", raw))
    return None


def _to_array(raw: Column, stored: T.ArrayType, target: T.ArrayType) -> Value | None:
    sample = convert(lit(None), stored.elementType, target.elementType)
    if sample is None:
        return None

    def element(item: Column) -> Value:
        converted = convert(item, stored.elementType, target.elementType)
        assert converted is not None
        return converted

    def misfit(item: Column) -> Column:
        found = element(item).misfit
        assert found is not None
        return found

    column = each(raw, lambda item: element(item).column)
    if sample.misfit is None:
        return Value(column)
    misfits = each(raw, misfit)
    return Value(column, call("GET", call("ARRAY_COMPACT", misfits), 0))


def _to_struct(raw: Column, stored: T.StructType, target: T.StructType) -> Value | None:
    """By the names of the members; those that are missing are null."""
    kept = {member.name: member.dataType for member in stored.fields}
    members: dict[str, Column] = {}
    misfits: list[Column] = []
    for member in target.fields:
        if member.name in kept:
            value = convert(raw.member(member.name), kept[member.name], member.dataType)
        else:
            value = Value(nothing(member.dataType))
        if value is None:
            return None
        members[member.name] = value.column
        if value.misfit is not None:
            misfits.append(value.misfit)
    column = when(raw.is_not_null(), struct(**members))
    return Value(column, coalesce(*misfits) if misfits else None)


# Times ----------------------------------------------------------------------------------------


def to_instant(raw: Column, stored: T.DataType, unit: str, zone: str | None = None) -> Value | None:
    """A column of times as microseconds since the epoch; None where it holds none."""
    shown, is_time = raw.cast("string"), None
    if isinstance(stored, T.IntegralType):
        found = _counted(raw.cast("bigint"), unit)
    elif isinstance(stored, T.NumericType):
        number = raw.cast("double")
        is_time = ~call("ISNAN", number) & (call("ABS", number) != float("inf"))
        found = call("RINT", number * float(MICROSECONDS[unit])).try_cast("bigint")  # type: ignore[index]
    elif isinstance(stored, T.StringType):
        found = micros_of_text(raw, zone)
        shown, is_time = (
            concat(lit("'"), raw, lit("'")),
            found.is_not_null() | raw.matches(FAR_TIME),
        )
    elif isinstance(stored, T.TimestampType | T.TimestampNTZType | T.DateType):
        found = micros(raw, stored, zone)
    else:
        return None
    instant = when(_is_in_calendar(found), found)
    words = concat(lit("time "), shown, lit(" is outside the years 1 to 9999"))
    if isinstance(stored, T.IntegralType) and unit == "seconds":
        words = concat(words, coalesce(_hint_at_milliseconds(raw), lit("")))
    if is_time is not None:
        what = "an ISO 8601 time" if isinstance(stored, T.StringType) else "a time"
        words = when(is_time, words).otherwise(concat(shown, lit(f" is not {what}")))
    return Value(instant, when(raw.is_not_null() & instant.is_null(), words))


def _counted(whole: Column, unit: str) -> Column:
    """Numbers of units are compared before they are multiplied: then none of them is too large."""
    factor = MICROSECONDS[unit]  # type: ignore[index]
    fits = whole.between(lit(-(-FIRST_INSTANT // factor)), lit(LAST_INSTANT // factor))
    return when(fits, whole * lit(factor).cast("bigint"))


def _hint_at_milliseconds(raw: Column) -> Column:
    """Null where they would be outside the calendar, too."""
    start = " (numbers count seconds: unit='milliseconds' reads it as "
    instant = _counted(raw.cast("bigint"), "milliseconds")
    return concat(lit(start), iso_text(instant), lit(")"))


def _is_in_calendar(instant: Column) -> Column:
    return instant.between(lit(FIRST_INSTANT), lit(LAST_INSTANT))


def is_zoneless(stored: T.DataType) -> bool:
    """Whether times in such a column may name no zone."""
    return isinstance(stored, T.TimestampNTZType | T.DateType | T.StringType)


def _time_attribute(time: Column, rule: EventTime, type: DataType) -> Column:
    """What the attribute that holds the time would have said."""
    if type == STRING:
        return iso_text(time)
    if type == TIMESTAMP:
        return call("TIMESTAMP_MICROS", time)
    if type == DATE:
        days = call("FLOOR", time.cast(EXACT) / lit(MICROSECONDS["days"]).cast(EXACT))
        return call("DATE_FROM_UNIX_DATE", days.cast("int"))
    unit = lit(MICROSECONDS[rule.unit]).cast(EXACT)  # type: ignore[index]
    return (
        call("FLOOR", time.cast(EXACT) / unit) if is_integral(type) else time / unit.cast("double")
    )
