"""The statements of a class over all rounds: they are asked where their answers can change.

A version is compared with the one before it in the round from which on it is known. In the rounds
after that, old and new are the same, and a condition changes only when NOW passes one of the event's
times or when the toggle is set, which happens once. In the round in which a version ends in nothing it
is the old one. These rounds are the *candidates*. Between two of them nothing changes, so a condition
that holds in a candidate holds up to the next one.

Whether an event has fired is what the last atom said that spoke of it. With LATE taken without its own
look at the toggle, each version says so by itself, and one window over the versions tells it to all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from cepheid.bitemporal.spark.chronons import Chronons
from cepheid.bitemporal.spark.steps import Step, listed, quoted
from cepheid.bitemporal.spark.subscribed import known_of, timeline_of
from cepheid.core.types import BOOLEAN, LONG
from cepheid.program.resolved import ResolvedClass
from cepheid.sql.conditions import (
    argument_tree,
    clears_toggle_tree,
    condition_tree,
    differs_tree,
    sets_toggle_tree,
)
from cepheid.sql.nodes import Primitive, column, typed
from cepheid.sql.tables import Table, table
from cepheid.sql.transpile import to_sql

_LASTING = ("ONTIME", "LATE")  # the only atoms that can hold where old and new are the same


def actions_of(name: str) -> str:
    """The table of the actions of a class: key, `@round`, `@statement`, an argument per column."""
    return f"{name}@actions"


def fired_of(name: str) -> str:
    """The table of all that is known of a class, from which the others are made."""
    return f"{name}@fired"


def changes_of(name: str) -> str:
    return f"{name}@changes"


def toggles_of(name: str) -> str:
    return f"{name}@toggles"


def argument_name(statement: int, place: int) -> str:
    return f"p{statement}_{place}"


@dataclass(frozen=True, slots=True)
class Reacting:
    """The steps from versions to actions, changes and toggles."""

    resolved: ResolvedClass
    chronons: Chronons

    def steps(self) -> Iterator[Step]:
        name = self._name
        source = timeline_of(name)
        yield Step(known_of(name), self._versions(quoted(source)), (source,))
        for label, sql in (
            ("instants", self._instants),
            ("bounds", self._bounds),
            ("effects", self._effects),
        ):
            yield Step(f"{name}@{label}", sql(quoted(source)), (source,))
            source = f"{name}@{label}"
        yield Step(fired_of(name), self._fired(quoted(source)), (source,))
        source = fired_of(name)
        yield Step(changes_of(name), self._changes(quoted(source)), (source,))
        yield Step(toggles_of(name), self._toggles(quoted(source)), (source,))
        if self.resolved.reactions:
            yield Step(f"{name}@candidates", self._candidates(quoted(source)), (source,))
            source = f"{name}@candidates"
            yield Step(f"{name}@relation", self._relation(quoted(source)), (source,))
            source = f"{name}@relation"
            yield Step(actions_of(name), self._actions(quoted(source)), (source,))

    # What a class's statements are made of ----------------------------------------------------

    @property
    def _name(self) -> str:
        return self.resolved.declared.name

    @property
    def _table(self) -> Table:
        return table(self._name, self.resolved.declared.attributes)

    @property
    def _columns(self) -> list[str]:
        return [*(a.name for a in self.resolved.declared.attributes), "occ", "det"]

    @property
    def _key(self) -> str:
        return listed(self.resolved.declared.key)

    @property
    def _chronon(self) -> int:
        return self.chronons.rounds.chronon

    @property
    def _crossings(self) -> list[tuple[str, int]]:
        """Times of the event that NOW passes; old and new are the same where that matters."""
        conditions = [reaction.condition for reaction in self.resolved.reactions]
        found = (crossing for condition in conditions for crossing in condition.crossings)
        return sorted({(crossing.attribute, crossing.offset) for crossing in found})

    @property
    def _is_edged(self) -> bool:
        """Whether no statement can hold for longer than a round while nothing is learnt."""
        return all(_is_edged(reaction.condition.tree) for reaction in self.resolved.reactions)

    def _toggling(self) -> tuple[exp.Expr | None, exp.Expr | None]:
        conditions = [reaction.condition for reaction in self.resolved.reactions]
        sets = sets_toggle_tree(conditions, self._chronon)
        return sets, clears_toggle_tree(conditions, self._chronon)

    # Where answers can change -----------------------------------------------------------------

    def _instants(self, source: str) -> str:
        """The numbers of the times that NOW passes."""
        found = [f"`@from` + 1 AS {quoted('@n')}"]
        for place, (attribute, offset) in enumerate(self._crossings):
            time = quoted(f"new_{attribute}")
            shifted = f"({time} + ({offset}L))" if offset else time
            found.append(f"{self.chronons.number(shifted)} AS {quoted(f'@n{place}')}")
        return f"SELECT *, {', '.join(found)} FROM {source}"

    def _bounds(self, source: str) -> str:
        """The first rounds after the first one of a version, at those times and past them."""
        found = [f"{self.chronons.at_or_after('`@n`')} AS `@steady`"]
        for place in range(len(self._crossings)):
            number = quoted(f"@n{place}")
            for label, asked in (("at", number), ("past", f"({number} + 1)")):
                begin = self.chronons.at_or_after(asked)
                found.append(f"{begin} AS {quoted(f'@{label}{place}')}")
        differs = to_sql(differs_tree(self._table, self._chronon), "spark")
        rows = f"SELECT *, (has_old AND {differs}) AS differs, {', '.join(found)} FROM {source}"
        steady = ", ".join(
            f"CASE WHEN {column} > `@from` AND {column} < `@to` THEN {column} END AS {column}"
            for column in self._steady_columns
        )
        rest = f"{self._key}, {listed(self._columns, 'new_')}, {listed(self._columns, 'old_')}"
        return f"SELECT {rest}, has_old, differs, `@from`, `@to`, `@gone`, {steady} FROM ({rows})"

    @property
    def _steady_columns(self) -> list[str]:
        """Rounds at which something may change though nothing is learnt."""
        crossed = (
            quoted(f"@{label}{place}")
            for place in range(len(self._crossings))
            for label in ("at", "past")
        )
        return ["`@steady`", *crossed]

    def _effects(self, source: str) -> str:
        """What each version says of the toggle: at once, later on, and when it ends in nothing."""
        sets, clears = self._toggling()
        at_once = [
            *([f"WHEN {_said(sets, self._beginning)} THEN TRUE"] if sets else []),
            *([f"WHEN {_said(clears, self._beginning)} THEN FALSE"] if clears else []),
        ]
        at_once_ = f"CASE {' '.join(at_once)} END" if at_once else "CAST(NULL AS BOOLEAN)"
        later = "CAST(NULL AS BIGINT)"
        if sets is not None:
            rounds = [
                f"CASE WHEN {column} IS NOT NULL AND {_said(sets, self._going_on(column))} "
                f"THEN {column} END"
                for column in self._steady_columns
            ]
            later = rounds[0] if len(rounds) == 1 else f"least({', '.join(rounds)})"
        at_end = "CAST(NULL AS BOOLEAN)"
        if clears is not None:
            at_end = f"CASE WHEN `@gone` AND {_said(clears, self._ending)} THEN FALSE END"
        return (
            f"SELECT *, {at_once_} AS `@at_once`, {later} AS `@later`, {at_end} AS `@at_end` "
            f"FROM {source}"
        )

    @property
    def _beginning(self) -> dict[str, exp.Expr]:
        return {"has_new": exp.true(), "now": _column("@from")}

    def _going_on(self, round: str) -> dict[str, exp.Expr]:
        same = {f"old_{name}": _column(f"new_{name}") for name in self._columns}
        truths = {"has_new": exp.true(), "has_old": exp.true(), "differs": exp.false()}
        return {**same, **truths, "now": _column(round.strip("`"))}

    @property
    def _ending(self) -> dict[str, exp.Expr]:
        old = {f"old_{name}": _column(f"new_{name}") for name in self._columns}
        new = {f"new_{name}": exp.Null() for name in self._columns}
        truths = {"has_new": exp.false(), "has_old": exp.true(), "differs": exp.false()}
        return {**old, **new, **truths, "now": _column("@to")}

    def _fired(self, source: str) -> str:
        """The toggle at the beginning of each version."""
        sets, _ = self._toggling()
        if sets is None:
            return f"SELECT *, FALSE AS `@fired` FROM {source}"
        said = "coalesce(`@at_end`, CASE WHEN `@later` IS NOT NULL THEN TRUE END, `@at_once`)"
        before = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
        window = f"(PARTITION BY {self._key} ORDER BY `@from` {before})"
        last = f"last_value({said}) IGNORE NULLS OVER {window}"
        return f"SELECT *, coalesce({last}, FALSE) AS `@fired` FROM {source}"

    # Actions ----------------------------------------------------------------------------------

    def _candidates(self, source: str) -> str:
        """A row for each candidate, `@now`, and the next one, `@until`."""
        ending = "CASE WHEN `@gone` THEN `@to` END"
        if self._is_edged:
            found = ["`@from`", *self._edges(), ending]
            return f"SELECT *, {_each(found)} AS `@now` FROM {source}"
        after = self.chronons.at_or_after("(`@later` + 1)")
        changed = f"CASE WHEN {after} < `@to` THEN {after} END"
        found = [f"coalesce({c}, `@from`)" for c in (*self._steady_columns, changed, ending)]
        rounds = f"sort_array(array_distinct(array(`@from`, {', '.join(found)})))"
        until = (
            "CASE WHEN place + 1 < size(rounds) THEN rounds[place + 1] "
            "ELSE greatest(`@to`, now + 1) END"
        )
        pairs = f"transform(rounds, (now, place) -> struct(now AS `@now`, {until} AS `@until`))"
        # A function of one array gives it a name.
        named = f"flatten(transform(array({rounds}), rounds -> {pairs}))"
        return f"SELECT *, inline({named}) FROM {source}"

    def _edges(self) -> Iterator[str]:
        """Where statements that wait for an edge can hold: on time, and when it is late at first."""
        primitives = {p for r in self.resolved.reactions for p in r.condition.primitives}
        is_on_time = "ONTIME" in primitives
        if is_on_time:
            place = self._crossings.index(("occ", 0))
            yield quoted(f"@at{place}")
        if primitives & {"LATE", "LATE()"}:
            other = f"NOT (`@later` <=> {quoted(f'@at{place}')})" if is_on_time else "TRUE"
            yield f"CASE WHEN {other} THEN `@later` END"

    def _relation(self, source: str) -> str:
        """What statements see in each candidate."""
        begins, ends = "`@now` = `@from`", "`@now` >= `@to`"
        new = ", ".join(
            f"CASE WHEN {ends} THEN NULL ELSE {quoted(f'new_{c}')} END AS {quoted(f'new_{c}')}"
            for c in self._columns
        )
        old = ", ".join(
            f"CASE WHEN {begins} THEN {quoted(f'old_{c}')} ELSE {quoted(f'new_{c}')} END "
            f"AS {quoted(f'old_{c}')}"
            for c in self._columns
        )
        later = "coalesce(`@at_once`, `@fired`)"
        fired = (
            f"CASE WHEN {begins} THEN `@fired` WHEN `@now` > `@later` THEN TRUE ELSE {later} END"
        )
        until = "" if self._is_edged else ", `@until`"
        return (
            f"SELECT {self._key}, {new}, {old}, NOT ({ends}) AS has_new, "
            f"(has_old OR NOT ({begins})) AS has_old, (differs AND {begins}) AS differs, "
            f"{fired} AS fired, `@now` AS now{until} FROM {source}"
        )

    def _actions(self, source: str) -> str:
        reactions = self.resolved.reactions
        conditions = [
            to_sql(condition_tree(reaction.condition, self._chronon), "spark")
            for reaction in reactions
        ]
        holding = [
            f"CASE WHEN {condition} THEN {number} END"
            for number, condition in enumerate(conditions)
        ]
        rows = f"SELECT *, {_each(holding)} AS `@statement` FROM {source}"
        if not self._is_edged:
            rounds = "sequence(now, greatest(now, `@until` - 1))"
            names = [f"{s}_{c}" for s in ("new", "old") for c in self._columns]
            rest = f"{self._key}, {listed(names)}, `@statement`"
            own = f"filter({rounds}, r -> {self.chronons.is_round('r')})"
            rows = f"SELECT {rest}, explode({own}) AS now FROM ({rows})"
        arguments = "".join(
            f", CASE WHEN `@statement` = {number} THEN "
            f"{to_sql(argument_tree(argument, self._chronon), 'spark')} END "
            f"AS {quoted(argument_name(number, place))}"
            for number, reaction in enumerate(reactions)
            for place, argument in enumerate(reaction.arguments, start=1)
        )
        return f"SELECT {self._key}, now AS `@round`, `@statement`{arguments} FROM ({rows})"

    # Versions, changes and toggles ----------------------------------------------------------------------

    def _versions(self, source: str) -> str:
        """The table that queries read."""
        values = ", ".join(f"{quoted(f'new_{c}')} AS {quoted(c)}" for c in self._columns)
        return f"SELECT {values}, `@from`, `@to` FROM {source}"

    def _changes(self, source: str) -> str:
        """Announcements, changes and cancellations, each with the toggle at its round's beginning."""
        kind = "CASE WHEN has_old THEN 'change' ELSE 'announcement' END"
        begin = f"struct({kind} AS kind, `@from` AS `@round`, `@fired` AS fired)"
        fired = "coalesce(CASE WHEN `@later` IS NOT NULL THEN TRUE END, `@at_once`, `@fired`)"
        end = f"struct('cancellation' AS kind, `@to` AS `@round`, {fired} AS fired)"
        found = [
            f"CASE WHEN NOT has_old OR differs THEN {begin} END",
            f"CASE WHEN `@gone` THEN {end} END",
        ]
        values = ", ".join(f"{quoted(f'new_{c}')} AS {quoted(c)}" for c in self._columns)
        return f"SELECT {values}, {_each(found, 'inline')} FROM {source}"

    def _toggles(self, source: str) -> str:
        """From which round on the toggle of an event is set, and until when."""
        points = (
            "inline(array(struct(`@from` AS `@round`, `@at_once` AS `@set`), "
            "struct(`@later` AS `@round`, TRUE AS `@set`), "
            "struct(`@to` AS `@round`, `@at_end` AS `@set`)))"
        )
        said = f"SELECT {self._key}, {points} FROM {source}"
        said = f"SELECT * FROM ({said}) WHERE `@set` IS NOT NULL AND `@round` IS NOT NULL"
        window = f"(PARTITION BY {self._key} ORDER BY `@round`)"
        changed = f"SELECT *, lag(`@set`, 1, FALSE) OVER {window} AS `@was` FROM ({said})"
        changed = f"SELECT * FROM ({changed}) WHERE `@set` <> `@was`"
        pairs = f"SELECT *, lead(`@round`) OVER {window} AS `@cleared` FROM ({changed})"
        return (
            f"SELECT {self._key}, `@round` AS `@set_in`, `@cleared` AS `@cleared_in` "
            f"FROM ({pairs}) WHERE `@set`"
        )


def _each(values: Sequence[str], function: str = "explode") -> str:
    """A row for each value that is not null.

    Not a filter: for each one Spark works out what else must hold of all expressions below it, which
    takes longer than the query itself, and for large programs has no end.
    """
    return f"{function}(array_compact(array({', '.join(values)})))"


def _column(name: str) -> exp.Expr:
    return column(name, LONG)


def _said(tree: exp.Expr, known: Mapping[str, exp.Expr]) -> str:
    """An expression over the relation, where some of its columns stand for something else."""

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in known:
            found = known[node.name].copy()
            found.type = node.type
            return found
        return node

    return to_sql(typed(exp.Paren(this=tree.copy().transform(replaced)), BOOLEAN), "spark")


def _is_edged(tree: exp.Expr) -> bool:
    """Whether a condition holds only in the round of a change, on time, or late for once."""
    match tree:
        case exp.Paren():
            return _is_edged(tree.this)
        case exp.And():
            return _is_edged(tree.this) or _is_edged(tree.expression)
        case exp.Or():
            return _is_edged(tree.this) and _is_edged(tree.expression)
    return isinstance(tree, Primitive)
