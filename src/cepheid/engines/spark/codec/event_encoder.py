"""The frame that travels to the tasks of a pass: which rows, which columns, by which key, in order.

It has the columns '@type' (a number, which travels faster than a name), '@time' (microseconds),
'@sequence' where there is one, and the columns that the operator asks for under the names c0, c1, ...
Where other passes forward what they found, there are two columns more: '@row' is a row of theirs, and
if that is an event for this pass, '@key' has its place in the order. `event_layout` reads all that.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial, reduce

from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812

from cepheid.engines.spark.codec.event_frames import EventFrame
from cepheid.engines.spark.codec.event_layout import (
    KEY,
    KIND,
    ROW,
    SEQUENCE,
    TIES,
    TIME,
    TYPE,
    EventLayout,
    travelling,
)
from cepheid.engines.spark.codec.expression_columns import SPARK_TYPES, Untranslatable, necessary
from cepheid.engines.spark.codec.input_columns import Options, Reading, read, spark_type
from cepheid.engines.spark.codec.sql_columns import (
    Column,
    call,
    coalesce,
    field,
    lit,
    nothing,
    quoted,
    struct,
    when,
)
from cepheid.engines.spark.plan.passes import Pass, events_among_rows
from cepheid.expr import tree as expr_tree
from cepheid.matcher.operator import columns_of
from cepheid.program.resolved import ResolvedProgram

_IS_FINE = "@fine"


class EventEncoder:
    """What a pass sends to its tasks.

    `readings` are what frames mean to the pass, `judgements` what they mean to the whole program: that
    says which rows are no events.
    """

    def __init__(
        self,
        one: Pass,
        sources: tuple[EventFrame, ...],
        options: Options,
        whole: ResolvedProgram,
    ) -> None:
        self.key = one.key
        self.key_types = one.key_types
        self.program = one.program
        self.columns = columns_of(one.program)
        # Numbers in the order of names: events of one time are ordered by either.
        self.consumed = tuple(sorted(one.program.consumed_types, key=str.encode))
        self.has_sequence = options.sequence is not None
        self.conditions = one.conditions(self.consumed)
        self.readings = tuple(
            read(source, one.program, options)
            for source in sources
            if source.event_type is None or source.event_type in self.consumed
        )
        self.judgements = tuple(read(r.source, whole, options) for r in self.readings)

    @property
    def layout(self) -> EventLayout:
        """What workers must know of the columns."""
        return EventLayout(
            types=self.consumed,
            names=tuple(column.name for column in self.columns),
            time_columns=tuple(self.time_columns.items()),
            sort_keys=self.sort_keys,
            has_sequence=self.has_sequence,
        )

    # Rows and columns.

    def frame(self) -> DataFrame | None:
        """The events that some statement can take; None where no source has any."""
        frames = [self._selected(place, reading) for place, reading in enumerate(self.readings)]
        return reduce(union, frames) if frames else None

    def _selected(self, number: int, reading: Reading) -> DataFrame:
        """The events that are wanted, and what is no event, at which Spark stops."""
        judgement = self.judgements[number]
        columns = self.columns_from(number, reading) | {TIME: judgement.checked(reading.time)}
        frame = reading.source.frame.selectExpr("*", judgement.is_fine.named(_IS_FINE))
        items = (column.named(name) for name, column in columns.items())
        selected = frame.selectExpr(*items, quoted(_IS_FINE))
        is_asked = self.is_wanted(reading.source) | ~field(_IS_FINE)
        return selected.where(is_asked.text).drop(_IS_FINE)

    def columns_from(self, number: int, reading: Reading) -> dict[str, Column]:
        """What travels, from the columns of one of the sources, by its number."""
        columns = {TYPE: self._code_of(reading.type), TIME: reading.time}
        if reading.sequence is not None:
            columns[SEQUENCE] = reading.sequence
        columns |= {travelling(place): column for place, column in enumerate(reading.columns)}
        return columns | dict(_sort_keys_alone(number, reading))

    def _code_of(self, type: Column) -> Column:
        """The number of a type among those that the pass takes; null for all others."""
        codes = (when(type == name, self._code(name)) for name in self.consumed)
        return coalesce(*codes, nothing("smallint"))

    def _code(self, type: str) -> Column:
        return lit(self.consumed.index(type)).cast("smallint")

    def _is_one_of(self, types: Sequence[str]) -> Column:
        return field(TYPE).is_in(*map(self._code, types))

    def is_wanted(self, source: EventFrame) -> Column:
        """Whether some statement can take an event."""
        tests = {t: self._condition(t) for t in self.consumed if source.event_type in (None, t)}
        choices = [self._is_one_of([t]) & test for t, test in tests.items() if test is not None]
        always = [t for t, test in tests.items() if test is None]
        return reduce(operator.or_, choices, self._is_one_of(always))

    def _condition(self, type: str) -> Column | None:
        condition = self.conditions[type]
        return None if condition is None else necessary(condition, partial(self._attribute, type))

    def _attribute(self, type: str, column: expr_tree.Column) -> Column:
        """An attribute of events of a type, as it travels."""
        first, *rest = column.path
        found = field(travelling(self._place(type, first.name)))
        if first.index is not None:
            found = call("GET", found, first.index)
        for step in rest:
            found = found.member(step.name)
            if step.index is not None:
                found = call("GET", found, step.index)
        return found

    def _place(self, type: str, attribute: str) -> int:
        for place, column in enumerate(self.columns):
            if column.attribute == attribute and type in column.types:
                return place
        raise Untranslatable

    # What others found.

    def taken_from(self, others: ResolvedProgram) -> dict[str, tuple[str, ...]]:
        """The types of events that other statements derive for it, and the kinds of their rows."""
        derived = {statement.target for statement in others.statements}
        return {t: events_among_rows(others, t) or () for t in self.consumed if t in derived}

    def forwarded(self, rows: DataFrame, taken: Mapping[str, tuple[str, ...]]) -> DataFrame:
        """The rows of other passes, each with the event that it is, if this one takes it."""
        tests = ((field(TYPE) == t) & field(KIND).is_in(*kinds) for t, kinds in taken.items())
        columns = {
            TYPE: when(reduce(operator.or_, tests, lit(value=False)), self._code_of(field(TYPE))),
            TIME: call("UNIX_MICROS", field(TIME)),
            SEQUENCE: lit(0).cast("bigint"),
            **{
                travelling(n): self._derived(n, taken, rows.schema)
                for n in range(len(self.columns))
            },
            KEY: field(KEY),
            ROW: struct(**{name: field(name) for name in rows.columns if name != TIES}),
        }
        if TIES in rows.columns:
            columns[TIES] = field(TIES)
        return rows.selectExpr(*(column.named(name) for name, column in columns.items()))

    def _derived(self, place: int, types: Collection[str], rows: T.StructType) -> Column:
        """What a column holds for derived events; a type is null in the rows of others."""
        column = self.columns[place]
        found = [
            field(type).member(column.attribute)
            for type in column.types
            if type in types and column.attribute in rows[type].dataType.names  # type: ignore[attr-defined]
        ]
        return coalesce(*found, nothing(spark_type(column.data_type, self.program)))

    # What tasks know without being told.

    @property
    def time_columns(self) -> dict[str, int]:
        """Columns that only hold the time, as a number of some microseconds."""
        if len(self.readings) != 1:
            return {}
        keyed = {self._place(t, path[0]) for t, paths in (self.key or {}).items() for path in paths}
        time_columns = self.readings[0].time_columns
        return {
            travelling(place): unit for place, unit in time_columns.items() if place not in keyed
        }

    def without_implied(self, events: DataFrame) -> DataFrame:
        """Events of the input without what their times say, and without types if there is one."""
        types = (TYPE,) if len(self.consumed) == 1 else ()
        return events.drop(*(field(name).spark for name in (*types, *self.time_columns)))

    # Where they go.

    def shuffled(self, frame: DataFrame) -> DataFrame:
        """Events and what was forwarded, in their tasks.

        Rows that are only passed on go anywhere; all others are together where there is no key.
        """
        if self.key == {}:
            return frame
        columns = () if self.key is None else self.key_columns()
        is_passed = field(TYPE).is_null() & field(ROW).is_not_null()
        places = (*columns, when(is_passed, field(TIME)), is_passed)
        return frame.repartition(*(column.spark for column in places))

    def key_columns(self) -> tuple[Column, ...]:
        """What is hashed; events that no key ties to others go anywhere."""
        assert self.key
        keyed = [type for type in self.consumed if type in self.key]
        columns = [self._key_column(place, keyed) for place in range(len(self.key_types))]
        if len(keyed) < len(self.consumed):
            columns.append(when(~self._is_one_of(keyed), field(TIME)))
        return tuple(columns)

    def _key_column(self, number: int, keyed: list[str]) -> Column:
        """One attribute of the key of every type, cast so that equal values hash alike."""
        assert self.key
        common = self.key_types[number]
        found: dict[tuple[int, tuple[str, ...]], list[str]] = {}
        for type in keyed:
            first, *rest = self.key[type][number]
            found.setdefault((self._place(type, first), tuple(rest)), []).append(type)
        values = [
            (
                types,
                reduce(Column.member, rest, field(travelling(place))).cast(SPARK_TYPES[common]),
            )
            for (place, rest), types in found.items()
        ]
        if len(values) == 1:
            return values[0][1]
        return coalesce(*(when(self._is_one_of(types), value) for types, value in values))

    # In which order.

    def ordered(self, frame: DataFrame) -> DataFrame:
        """By time; where nothing was forwarded, the tasks order events of one time."""
        if ROW not in frame.columns:
            return frame.sortWithinPartitions(quoted(TIME))
        if TIES in frame.columns:
            return frame.sortWithinPartitions(*map(quoted, (TIME, TIES, KEY)))
        numbers = field(TIME), lit(1).cast("bigint"), field(SEQUENCE), lit(0).cast("bigint")
        place = coalesce(field(KEY), call("ARRAY", *numbers))
        return frame.sortWithinPartitions(quoted(TIME), place.spark)

    @property
    def sort_keys(self) -> tuple[str, ...]:
        """What orders events of one time: a sequence, else the type and all attributes."""
        if self.has_sequence:
            return (SEQUENCE,)
        types = (TYPE,) if len(self.consumed) > 1 else ()
        names = (n for number, r in enumerate(self.readings) for n in _sort_key_names(number, r))
        return (*types, *(name for name in dict.fromkeys(names) if name not in self.time_columns))

    @property
    def has_plain_order(self) -> bool:
        """Whether numbers can stand for all values that order events of one time."""
        stored = (type for r in self.readings for type in r.source.attributes.values())
        types = {column.data_type for column in self.columns}
        return all(isinstance(type, _PLAIN) for type in stored) and types <= SPARK_TYPES.keys()


_PLAIN = T.IntegralType | T.BooleanType | T.FloatType | T.DoubleType | T.StringType


def union(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.unionByName(right, allowMissingColumns=True)


def _sort_keys_alone(number: int, reading: Reading) -> Iterator[tuple[str, Column]]:
    """The columns that travel only to order events."""
    for name, sort_key in zip(_sort_key_names(number, reading), reading.sort_keys, strict=True):
        if not isinstance(sort_key, int):
            yield name, sort_key


def _sort_key_names(number: int, reading: Reading) -> Iterator[str]:
    for place, sort_key in enumerate(reading.sort_keys):
        yield travelling(sort_key) if isinstance(sort_key, int) else f"@sort{number}_{place}"
