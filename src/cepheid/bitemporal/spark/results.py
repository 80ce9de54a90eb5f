"""What rounds on Spark give, as frames that users see: times are timestamps, and actions have a cause.

Rows of one type have '@time', the round, and their values as columns. In a frame of several types each
type is a struct under its name, and '@type' says which one a row is of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cepheid.bitemporal.repository import Refusal
from cepheid.bitemporal.rounds import Rounds
from cepheid.bitemporal.rows import CAUSE, action_types
from cepheid.bitemporal.spark.batch import Histories
from cepheid.bitemporal.spark.frames import TIME, TYPE, column_type
from cepheid.bitemporal.spark.reactions import actions_of, argument_name, changes_of
from cepheid.bitemporal.spark.subscribed import refused_of
from cepheid.core.types import TIMESTAMP, DataType, EventType, RecordType
from cepheid.engines.spark.codec.event_frames import named
from cepheid.engines.spark.codec.instants import iso_text
from cepheid.engines.spark.codec.sql_columns import field
from cepheid.program.classes import EventClass, SubscribedClass
from cepheid.program.resolved import ResolvedClass


@dataclass(frozen=True, slots=True)
class Results:
    """The frames of a program over histories."""

    classes: Sequence[ResolvedClass]
    rounds: Rounds
    histories: Histories

    def all_actions(self) -> DataFrame:
        names = list(self._action_types)
        rows = self._calls(names)
        return rows.select(named(TYPE), named(TIME), *map(named, names))

    def actions(self, name: str) -> DataFrame:
        """The actions of one name."""
        members = [attribute.name for attribute in self._action_types[name].attributes]
        values = [named(name).getField(member).alias(member) for member in members]
        return self._calls([name]).select(named(TIME), *values)

    def changes(self, declared: EventClass) -> DataFrame:
        """What became known of a class, and in which round."""
        times = {a.name for a in declared.attributes if a.type == TIMESTAMP} | {"occ", "det"}
        names = [*(attribute.name for attribute in declared.attributes), "occ", "det"]
        values = [
            (F.timestamp_micros(named(name)) if name in times else named(name)).alias(name)
            for name in names
        ]
        rows = self.histories.table(changes_of(declared.name))
        return rows.select(self._round.alias(TIME), *values, named("kind"), named("fired"))

    def refused(self) -> DataFrame:
        """How many detections of a class did not count, and why not."""
        names = [
            each.declared.name
            for each in self.classes
            if isinstance(each.declared, SubscribedClass)
        ]
        reason = F.coalesce(
            *(F.when(named("reason") == each.name, F.lit(each.value)) for each in Refusal)
        )
        columns = (reason.alias("reason"), named("count"))
        frames = (
            self.histories.table(refused_of(name)).select(F.lit(name).alias(TYPE), *columns)
            for name in names
        )
        return reduce(DataFrame.unionAll, frames)

    @property
    def _action_types(self) -> dict[str, EventType]:
        return action_types(self.classes, shown=lambda each: each)

    @property
    def _round(self) -> Column:
        return F.timestamp_micros(named("@round") * F.lit(self.rounds.chronon).cast("bigint"))

    def _calls(self, names: Sequence[str]) -> DataFrame:
        """The calls of these actions, each with its values in a struct under its name."""
        frames = [
            calls for each in self.classes if (calls := self._calls_of(each, names)) is not None
        ]
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)

    def _calls_of(self, each: ResolvedClass, names: Sequence[str]) -> DataFrame | None:
        statements: dict[str, list[int]] = {}
        for number, reaction in enumerate(each.reactions):
            if reaction.declared.action in names:
                statements.setdefault(reaction.declared.action, []).append(number)
        if not statements:
            return None
        rows = self.histories.table(actions_of(each.declared.name))
        is_of = {name: named("@statement").isin(*own) for name, own in statements.items()}
        type = F.coalesce(*(F.when(test, F.lit(name)) for name, test in is_of.items()))
        calls = [
            self._call(each, self._action_types[name], own, is_of[name]).alias(name)
            for name, own in statements.items()
        ]
        columns = (type.alias(TYPE), self._round.alias(TIME), *calls)
        if sum(map(len, statements.values())) == len(each.reactions):
            return rows.select(*columns)
        # No filter, as everywhere above the statements of a class.
        return rows.select(F.inline(F.when(type.isNotNull(), F.array(F.struct(*columns)))))

    def _call(
        self, each: ResolvedClass, type: EventType, statements: Sequence[int], is_called: Column
    ) -> Column:
        """Where it is called; all members may be null, or Arrow could not hold rows of others."""
        cause, *arguments = type.attributes
        assert isinstance(cause.type, RecordType)
        reason = _cause(each.declared, cause.type, is_called)
        values = [F.when(is_called, reason).alias(CAUSE)]
        for place, argument in enumerate(arguments, start=1):
            found = [
                _shown(argument_name(n, place), given[place - 1].type, argument.type)
                for n in statements
                if len(given := each.reactions[n].arguments) >= place
            ]
            value = F.coalesce(*found) if found else _nothing(argument.type)
            values.append(value.alias(argument.name))
        return F.when(is_called, F.struct(*values))


def _cause(declared: EventClass, type: RecordType, is_called: Column) -> Column:
    """The class and the key; parts that only other classes have are null."""
    types = {attribute.name: attribute.type for attribute in declared.attributes}
    parts = [F.when(is_called, F.lit(declared.name)).alias(TYPE)]
    for part in type.attributes[1:]:
        is_own = part.name in declared.key
        value = _shown(part.name, types[part.name], part.type) if is_own else None
        parts.append((_nothing(part.type) if value is None else value).alias(part.name))
    return F.struct(*parts)


def _nothing(type: DataType) -> Column:
    return F.lit(None).cast(column_type(type))


def _shown(name: str, type: DataType, shown: DataType) -> Column:
    """A column of one type as one of a wider one."""
    value = named(name)
    if type == TIMESTAMP:
        return F.timestamp_micros(value) if shown == TIMESTAMP else iso_text(field(name)).spark
    return value if type == shown else value.cast(column_type(shown))
