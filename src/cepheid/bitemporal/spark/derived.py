"""From the rows of a rewritten query to the versions of a complex class: one for each key and round.

Rows of one key that differ in how they were learnt only are one, with the latest detection time; others
that are known in the same round end the run. Then adjacent rows that are equal become one version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.bitemporal.spark.chronons import Chronons
from cepheid.bitemporal.spark.intervals import Intervals
from cepheid.bitemporal.spark.parts import Unrewritable, sources_of
from cepheid.bitemporal.spark.steps import Step, listed, quoted
from cepheid.bitemporal.spark.subscribed import timeline_of
from cepheid.core.types import TIMESTAMP
from cepheid.program.resolved import ResolvedClass
from cepheid.sql.latest import may_be_of_no_rows
from cepheid.sql.queries import with_latest
from cepheid.sql.selects import branches


@dataclass(frozen=True, slots=True)
class Derived:
    """The steps from the versions of constituents to those of a class."""

    resolved: ResolvedClass
    chronons: Chronons

    def rewritten(self) -> tuple[list[Step], str]:
        """The steps of its query over all rounds, and the name of the last; may be Unrewritable."""
        assert self.resolved.query is not None
        for select in branches(self.resolved.query.tree):
            if all(map(may_be_of_no_rows, sources_of(select))):
                raise Unrewritable("all that it reads from may be of no rows", select)
        intervals = Intervals(self._name, self.chronons)
        rows = intervals.rewritten(with_latest(self.resolved.query, ("det",)))
        return intervals.steps, rows

    def steps(self, source: str) -> Iterator[Step]:
        """The steps from the rows of its query."""
        for label, sql in (
            ("beside", self._beside),
            ("checked", self._checked),
            ("single", self._single),
            ("begun", self._begun),
        ):
            yield Step(f"{self._name}@{label}", sql(quoted(source)), (source,))
            source = f"{self._name}@{label}"
        versions = f"{self._name}@versions"
        yield Step(versions, self._versions(quoted(source)), (source,))
        yield Step(timeline_of(self._name), self._timeline(quoted(versions)), (versions,))

    @property
    def _name(self) -> str:
        return self.resolved.declared.name

    @property
    def _values(self) -> list[str]:
        return [*(a.name for a in self.resolved.declared.attributes), "occ"]

    def _window(self, order: str = "`@from`, `@to`, det") -> str:
        return f"PARTITION BY {listed(self.resolved.declared.key)} ORDER BY {order}"

    def _same(self, columns: list[str], window: str) -> str:
        """Whether a row has the values of the one before."""
        key = self.resolved.declared.key
        parts = [
            f"({quoted(c)} <=> lag({quoted(c)}) OVER ({window}))" for c in columns if c not in key
        ]
        return " AND ".join(parts)

    def _beside(self, source: str) -> str:
        """Each row and what is known of its neighbours."""
        window = self._window()
        before = f"({window} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
        return (
            f"SELECT *, max(`@to`) OVER {before} AS `@reach`, "
            f"lead(`@from`) OVER ({window}) AS `@next`, "
            f"lag({self._shown()}) OVER ({window}) AS `@other`, "
            f"{self._same(self._values, window)} AS `@same` FROM {source}"
        )

    def _checked(self, source: str) -> str:
        """Ends the run where a key is not whole, or of two events."""
        missing = " OR ".join(f"{quoted(k)} IS NULL" for k in self.resolved.declared.key)
        name = _text(self._name)
        keyless = _failure(
            "missing-key", f"{name}, ' has an event without a whole key: ', {self._shown()}"
        )
        timeless = _failure(
            "missing-key", f"{name}, ' has an event without an occurrence time: ', {self._shown()}"
        )
        both = f"least(`@other`, {self._shown()}), ' and ', greatest(`@other`, {self._shown()})"
        double = _failure("ambiguous-key", f"{name}, ' has two events of one key: ', {both}")
        # One expression that looks at neighbours: no part of it can be asked of other rows. It is the
        # value of a column that everything needs; of a filter Spark would infer others without end.
        begin = (
            f"CASE WHEN ({missing}) AND `@from` < `@to` THEN {keyless} "
            f"WHEN occ IS NULL AND `@from` < `@to` THEN {timeless} "
            f"WHEN `@reach` > `@from` AND NOT `@same` THEN {double} ELSE `@from` END"
        )
        rest = [*self._values, "det", "@to", "@reach", "@next"]
        return f"SELECT {listed(rest)}, {begin} AS `@from` FROM {source}"

    def _shown(self) -> str:
        """A row as messages show it."""
        from cepheid.sql.transpile import spark_time_text

        parts = []
        types = {a.name: a.type for a in self.resolved.declared.attributes}
        for column in self._values:
            is_time = column == "occ" or types[column] == TIMESTAMP
            value = spark_time_text(quoted(column)) if is_time else quoted(column)
            parts.append(f"{value} AS {quoted(column)}")
        options = "map('ignoreNullFields', 'false')"
        return f"to_json(struct({', '.join(parts)}), {options})"

    def _single(self, source: str) -> str:
        """Equal rows that are known in the same rounds: pieces with the latest detection time."""
        overlaps = "(coalesce(`@reach` > `@from`, FALSE) OR coalesce(`@next` < greatest(`@reach`, `@to`), FALSE))"
        marked = f"SELECT *, {overlaps} AS `@crowded` FROM {source}"
        crowd = "collect_list(CASE WHEN `@crowded` THEN struct(`@from` AS `@f`, `@to` AS `@t`, det AS `@d`) END)"
        key = listed(self.resolved.declared.key)
        crowded = f"SELECT *, {crowd} OVER (PARTITION BY {key}) AS `@crowd` FROM ({marked})"
        bounds = "array_distinct(concat(transform(`@crowd`, x -> x.`@f`), transform(`@crowd`, x -> x.`@t`)))"
        bounded = f"SELECT *, CASE WHEN `@crowded` THEN {bounds} END AS `@bounds` FROM ({crowded})"
        latest = (
            "array_max(transform(filter(`@crowd`, x -> x.`@f` <= b AND x.`@t` > b), x -> x.`@d`))"
        )
        piece = (
            f"struct(b AS `@f`, array_min(filter(`@bounds`, c -> c > b)) AS `@t`, {latest} AS `@d`)"
        )
        pieces = f"transform(filter(`@bounds`, b -> b >= `@from` AND b < `@to`), b -> {piece})"
        own = "array(struct(`@from` AS `@f`, `@to` AS `@t`, det AS `@d`))"
        rows = f"inline(CASE WHEN `@crowded` THEN {pieces} ELSE {own} END)"
        return (
            f"SELECT {listed(self._values)}, `@d` AS det, `@f` AS `@from`, `@t` AS `@to` "
            f"FROM (SELECT {listed(self._values)}, {rows} FROM ({bounded}))"
        )

    def _begun(self, source: str) -> str:
        """The first of each row of equal neighbours, and where the one before it ended."""
        window = self._window("`@from`, `@to`")
        same = self._same([*self._values, "det"], window)
        before = f"lag(`@to`) OVER ({window})"
        end = f"max(`@to`) OVER (PARTITION BY {listed(self.resolved.declared.key)})"
        rows = (
            f"SELECT *, coalesce({same} AND {before} >= `@from`, FALSE) AS `@goes_on`, "
            f"{before} AS `@before`, {end} AS `@end` FROM {source}"
        )
        return f"SELECT * FROM ({rows}) WHERE NOT `@goes_on`"

    def _versions(self, source: str) -> str:
        window = self._window("`@from`")
        return (
            f"SELECT {listed(self._values)}, det, `@from`, "
            f"coalesce(lead(`@before`) OVER ({window}), `@end`) AS `@to` FROM {source}"
        )

    def _timeline(self, source: str) -> str:
        """Each version beside the one before it, and whether it ends in nothing."""
        columns = [*self._values, "det"]
        key = listed(self.resolved.declared.key)
        window = f"({self._window('`@from`')})"
        new = ", ".join(f"{quoted(c)} AS {quoted(f'new_{c}')}" for c in columns)
        old = ", ".join(f"lag({quoted(c)}) OVER {window} AS {quoted(f'old_{c}')}" for c in columns)
        rows = (
            f"SELECT {key}, {new}, {old}, `@from`, `@to`, "
            f"coalesce(lag(`@to`) OVER {window} = `@from`, FALSE) AS has_old, "
            f"(`@to` < {self.chronons.never} AND "
            f"NOT coalesce(lead(`@from`) OVER {window} = `@to`, FALSE)) AS `@gone` FROM {source}"
        )
        kept = ", ".join(
            f"CASE WHEN has_old THEN {quoted(f'old_{c}')} END AS {quoted(f'old_{c}')}"
            for c in columns
        )
        rest = f"{listed(columns, 'new_')}, {kept}, has_old, `@from`, `@to`, `@gone`"
        return f"SELECT {key}, {rest} FROM ({rows})"


def _text(text: str) -> str:
    escaped = text.replace("'", "\\'")
    return f"'{escaped}'"


def _failure(code: str, parts: str) -> str:
    """An error of ours, in the form in which Spark's failures are searched for it."""
    message = f"concat('cepheid.errors.RunError: error[{code}]: ', {parts})"
    return f"CAST(raise_error({message}) AS BIGINT)"
