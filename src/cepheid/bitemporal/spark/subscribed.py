"""Which detections of a subscribed class count, and in which rounds, for all of its events at once.

A class's input is a table of its attributes, `occ`, `det` and `@retracted`, with `@known` where detections
may count later than they were made, and `@sequence` where they have one. All steps partition by the key
and order by when a detection counts, then by its sequence, or without one by what it says: Spark exchanges
and sorts once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.bitemporal.repository import AfterFreeze, Refusal
from cepheid.bitemporal.spark.chronons import Chronons
from cepheid.bitemporal.spark.steps import Step, listed, quoted
from cepheid.program.classes import SubscribedClass


def input_of(name: str) -> str:
    """The table of the detections of a class."""
    return f"{name}@detections"


def refused_of(name: str) -> str:
    """The table of the reasons for which detections of a class do not count: `reason`, `count`."""
    return f"{name}@refused"


def known_of(name: str) -> str:
    """The table of the versions of a class that queries read."""
    return f"{name}@known"


def timeline_of(name: str) -> str:
    """The table of the versions of a class, each beside the one that it replaces."""
    return f"{name}@timeline"


@dataclass(frozen=True, slots=True)
class Subscribed:
    """The steps from detections to versions."""

    declared: SubscribedClass
    chronons: Chronons
    given: frozenset[str]  # the columns of its input
    after_freeze: AfterFreeze = "refuse"

    @property
    def _has_known(self) -> bool:
        return "@known" in self.given

    @property
    def _has_sequence(self) -> bool:
        return "@sequence" in self.given

    @property
    def _name(self) -> str:
        return self.declared.name

    @property
    def _columns(self) -> list[str]:
        return [*(a.name for a in self.declared.attributes), "occ", "det"]

    @property
    def _window(self) -> str:
        order = ["@sequence"] if self._has_sequence else ["det", "@retracted", "occ", *self._values]
        key = listed(self.declared.key)
        return f"PARTITION BY {key} ORDER BY `@from`, {self._known}, {listed(order)}"

    @property
    def _values(self) -> list[str]:
        """What differs between versions of one event."""
        return [a.name for a in self.declared.attributes if a.name not in self.declared.key]

    @property
    def _known(self) -> str:
        """When a detection counts."""
        return "`@known`" if self._has_known else "det"

    def steps(self) -> Iterator[Step]:
        source = input_of(self._name)
        for label, sql in (
            ("arriving", self._arriving),
            ("first", self._first),
            ("admitted", self._admitted),
            ("counting", self._counting),
        ):
            yield Step(f"{self._name}@{label}", sql(quoted(source)), (source,))
            source = f"{self._name}@{label}"
        yield Step(timeline_of(self._name), self._timeline(quoted(source)), (source,))
        first = f"{self._name}@first"
        yield Step(refused_of(self._name), self._refused(quoted(first)), (first,))

    def _arriving(self, source: str) -> str:
        """The round in which each counts; what is known after all rounds never does."""
        found = f"SELECT *, {self.chronons.number(self._known)} AS `@number` FROM {source}"
        marks = ["@retracted"]
        marks += ["@sequence"] if self._has_sequence else []
        marks += ["@known"] if self._has_known else []
        columns = listed([*self._columns, *marks])
        begin = self.chronons.at_or_after("`@number`")
        rows = f"SELECT {columns}, {begin} AS `@from` FROM ({found})"
        return f"SELECT * FROM ({rows}) WHERE `@from` < {self.chronons.never}"

    def _first(self, source: str) -> str:
        """The occurrence time of the first version, and how many versions there were so far."""
        so_far = f"({self._window} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        occ = "CASE WHEN NOT `@retracted` THEN occ END"
        return (
            f"SELECT *, first_value({occ}) IGNORE NULLS OVER {so_far} AS `@incept`, "
            f"count({occ}) OVER {so_far} AS `@count` FROM {source}"
        )

    def _admitted(self, source: str) -> str:
        return f"SELECT * FROM {source} WHERE {self._is_admitted()}"

    def _is_admitted(self) -> str:
        """Versions and retractions of what is known, and may still change."""
        is_first = "(`@count` = 1 AND NOT `@retracted`)"
        if not self.declared.is_mutable:
            return is_first
        if self.after_freeze == "take":
            return "`@count` > 0"
        frozen = f"(`@incept` + {self.declared.freezing.microseconds}L)"
        number = self.chronons.number
        return f"(`@count` > 0 AND ({is_first} OR {number('det')} <= {number(frozen)}))"

    def _counting(self, source: str) -> str:
        """The last detection of each round."""
        rows = f"SELECT *, lead(`@from`) OVER ({self._window}) AS `@next` FROM {source}"
        last = f"SELECT * FROM ({rows}) WHERE `@next` IS NULL OR `@next` > `@from`"
        if not self._has_known:
            return last
        columns = [*self._columns, "@retracted"]
        same = " AND ".join(
            f"({quoted(c)} <=> lag({quoted(c)}) OVER ({self._window}))" for c in columns
        )
        same = f"coalesce({same}, FALSE)"
        return f"SELECT * FROM (SELECT *, {same} AS `@same` FROM ({last})) WHERE NOT `@same`"

    def _timeline(self, source: str) -> str:
        """Each version beside the one before, until when it holds, and whether it ends in nothing."""
        window = f"({self._window})"
        new = ", ".join(f"{quoted(c)} AS {quoted(f'new_{c}')}" for c in self._columns)
        old = ", ".join(
            f"lag({quoted(c)}) OVER {window} AS {quoted(f'old_{c}')}" for c in self._columns
        )
        key = listed(self.declared.key)
        rows = (
            f"SELECT {key}, {new}, {old}, `@from`, `@retracted`, "
            f"lead(`@from`, 1, {self.chronons.never}) OVER {window} AS `@to`, "
            f"NOT lag(`@retracted`, 1, TRUE) OVER {window} AS has_old, "
            f"lead(`@retracted`, 1, FALSE) OVER {window} AS `@gone` FROM {source}"
        )
        empty = ", ".join(
            f"CASE WHEN has_old THEN {quoted(f'old_{c}')} END AS {quoted(f'old_{c}')}"
            for c in self._columns
        )
        rest = f"{listed(self._columns, 'new_')}, {empty}, has_old, `@from`, `@to`, `@gone`"
        return f"SELECT {key}, {rest} FROM ({rows}) WHERE NOT `@retracted`"

    # What does not count ----------------------------------------------------------------------

    def _refused(self, source: str) -> str:
        before = f"({self._window} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
        rows = f"SELECT *, {self._is_admitted()} AS `@admitted` FROM {source}"
        values = [c for c in self._columns if c != "det"]
        version = f"struct(`@retracted`, {listed(values)})"
        counting = f"CASE WHEN `@admitted` THEN {version} END"
        last = f"last_value({counting}) IGNORE NULLS OVER {before}"
        beside = f"SELECT *, {last} AS `@last` FROM ({rows})"
        same = " AND ".join(f"{quoted(c)} <=> `@last`.{quoted(c)}" for c in values)
        said_again = f"NOT `@retracted` AND NOT `@last`.`@retracted` AND {same}"
        change = Refusal.FROZEN if self.declared.is_mutable else Refusal.IMMUTABLE
        reason = (
            f"CASE WHEN `@count` = 0 THEN '{Refusal.UNKNOWN.name}' "
            f"WHEN `@last` IS NULL THEN NULL "
            f"WHEN `@retracted` AND `@last`.`@retracted` THEN '{Refusal.UNKNOWN.name}' "
            f"WHEN `@admitted` THEN NULL "
            f"WHEN {said_again} THEN '{Refusal.CONFIRMED.name}' ELSE '{change.name}' END"
        )
        reasons = f"SELECT {reason} AS reason FROM ({beside})"
        return f"SELECT reason, count(*) AS count FROM ({reasons}) WHERE reason IS NOT NULL GROUP BY reason"
