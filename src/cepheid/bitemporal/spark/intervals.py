"""Queries over versions: what they would give in each round, worked out for all rounds at once.

Every table has the rounds in which a row is known, from `@from` on and before `@to`; so does the result
of a rewritten query. In any one round the rows known are those that the query itself gives:

- a join has a row while all its parts are known: the rounds that their intervals share;
- an aggregate is worked out piece by piece: between two rounds in which a row of the group comes or
  goes, its rows are the same;
- a subquery becomes a *timeline*: for each value that it is tied to, pieces that cover all rounds,
  each with the subquery's value, and a left join finds the pieces of each row;
- a left join is an inner join, and the rows that it would find nothing for, beside nulls.

A subquery tied to the query around it by more than equalities is first joined with all values that
the query around it can ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from sqlglot import exp

from cepheid.bitemporal.spark.chronons import Chronons
from cepheid.bitemporal.spark.join_order import tied_in_order
from cepheid.bitemporal.spark.members import is_member, membership
from cepheid.bitemporal.spark.parts import (
    DONE,
    FROM,
    TO,
    Unrewritable,
    aggregates_of,
    aliased,
    argument_of,
    as_groups,
    crossed,
    free_columns,
    has_query,
    inlined,
    is_grouped,
    is_in,
    is_of_subquery,
    named,
    over,
    over_groups,
    parted,
    put_columns,
    queries_in,
    set_apart,
    shared,
    sources_of,
    tie_of,
    together,
    with_conditions,
)
from cepheid.bitemporal.spark.steps import Step, listed, quoted
from cepheid.bitemporal.spark.subscribed import known_of
from cepheid.core.types import BOOLEAN, LONG
from cepheid.sql.nodes import all_of, any_of, name, not_, typed, whole, wrapped
from cepheid.sql.selects import branches, conjuncts
from cepheid.sql.transpile import to_sql

# The inner and the outer side of what ties a subquery to the query around it, and how they compare.
_Tie: TypeAlias = tuple[exp.Expr, exp.Expr, type[exp.Expr]]


@dataclass(slots=True)
class Intervals:
    """Rewrites the queries of one class; parts that need their own steps are in `steps`."""

    owner: str
    chronons: Chronons
    steps: list[Step] = field(default_factory=list)
    _count: int = 0

    def rewritten(self, tree: exp.Query) -> str:
        """The step whose rows are those of the query, each with the rounds in which it gives them."""
        return self.table(self.query(set_apart(tree)))

    def query(self, tree: exp.Query) -> exp.Query:
        """The query with two more columns, `@from` and `@to`."""
        if isinstance(tree, exp.Subquery):
            return self.query(tree.this)
        if isinstance(tree, exp.Union):
            if tree.args.get("distinct"):
                united = exp.Union(this=tree.this, expression=tree.expression, distinct=False)
                return self._grouped(as_groups(united))
            sides = (self.query(tree.this), self.query(tree.expression))
            return exp.Union(this=sides[0], expression=sides[1], distinct=False)
        assert isinstance(tree, exp.Select)
        if tree.args.get("distinct"):
            plain = tree.copy()
            plain.set("distinct", None)
            return self._grouped(as_groups(plain))
        return self._grouped(tree) if is_grouped(tree) else self._single(tree)

    def alias(self, what: str) -> str:
        """A name for a source that no other one has."""
        self._count += 1
        return f"@{what}{self._count}"

    def step(self, sql: str, tree: exp.Expr | None = None, reads: Sequence[str] = ()) -> str:
        """A step of its own; the name under which it can be read."""
        self._count += 1
        label = f"{self.owner}@part{self._count}"
        tables = [] if tree is None else [t.name for t in tree.find_all(exp.Table)]
        self.steps.append(Step(label, sql, tuple(dict.fromkeys([*reads, *tables]))))
        return label

    def table(self, tree: exp.Query) -> str:
        """A step with the rows of a rewritten query."""
        return self.step(to_sql(tree, "spark"), tree)

    # Rows without groups ----------------------------------------------------------------------

    def _single(self, select: exp.Select) -> exp.Query:
        select = crossed(select)
        outer = next((j for j in select.args.get("joins") or () if j.args.get("side")), None)
        if outer is not None:
            found, missing = parted(select, outer)
            sides = (self._single(found), self._single(missing))
            return exp.Union(this=sides[0], expression=sides[1], distinct=False)
        where = select.args.get("where")
        conditions = [
            is_member(c) if is_in(c) else c for c in conjuncts(where.this if where else None)
        ]
        sources = tied_in_order(self._sources(select), conditions)
        found = exp.Select(from_=exp.From(this=sources[0]))
        for source in sources[1:]:
            found.append("joins", exp.Join(this=source, kind="CROSS"))
        lookups = _Lookups(self, sources, [c for c in conditions if not has_query(c)])
        projections = [lookups.replaced(p) for p in select.expressions]
        kept = [lookups.replaced(c) for c in conditions]
        for join in lookups.joins:
            found.append("joins", join)
        aliases = [source.alias_or_name for source in sources]
        # One condition for each join: Spark infers more from many than it can follow.
        kept += [together(aliases[:count]) for count in range(2, len(aliases) + 1)]
        if kept:
            found.set("where", exp.Where(this=all_of(*kept)))
        aliases += [join.this.alias_or_name for join in lookups.joins]
        found.set("expressions", [*projections, *shared(aliases)])
        return found

    def _sources(self, select: exp.Select) -> list[exp.Expr]:
        return [self._source(each) for each in sources_of(select)]

    def _source(self, source: exp.Expr) -> exp.Expr:
        if isinstance(source, exp.Subquery) and not source.meta.get(DONE):
            if free_columns(source.this, set()):
                reason = "FROM has a query that is tied to one around"
                raise Unrewritable(reason, source)
            return exp.Subquery(this=self.query(source.this), alias=source.args["alias"].copy())
        if source.meta.get(DONE):
            return source.copy()
        return aliased(known_of(source.name), source.alias_or_name)

    # Groups -----------------------------------------------------------------------------------

    def _grouped(self, select: exp.Select) -> exp.Query:
        """Aggregates by pieces in which the rows of a group are the same."""
        group = select.args.get("group")
        keys = list(group.expressions) if group else []
        aggregates = aggregates_of(select)
        arguments = [argument_of(a) for a in aggregates]
        rows = select.copy()
        for part in ("group", "having"):
            rows.set(part, None)
        columns = [named(k, f"@g{n}") for n, k in enumerate(keys)]
        columns += [named(a, f"@a{n}") for n, a in enumerate(arguments) if a is not None]
        rows.set("expressions", columns or [named(whole(1), "@g")])
        labels = [f"@g{n}" for n in range(len(keys))]
        source = self.table(self.query(rows))
        values = [
            (over(aggregate, f"@a{n}", "r"), f"@v{n}") for n, aggregate in enumerate(aggregates)
        ]
        pieces = self._pieces(source, labels, values, is_whole=not keys)
        outer = over_groups(select, keys, aggregates)
        outer.set("from_", exp.From(this=aliased(pieces, "@p")))
        return self._single(outer)

    def _pieces(
        self,
        source: str,
        keys: Sequence[str],
        values: Sequence[tuple[exp.Expr, str]],
        *,
        is_whole: bool,
    ) -> str:
        """The aggregates of each group in each of its pieces; with `is_whole` in all rounds."""
        rounds = [f"{quoted(FROM)}", quoted(TO), *([self.chronons.first] if is_whole else [])]
        keyed = f"{listed(keys)}, " if keys else ""
        points = (
            f"SELECT DISTINCT {keyed}explode(array({', '.join(rounds)})) AS t FROM {quoted(source)}"
        )
        if is_whole and not keys:
            points = f"SELECT {self.chronons.first} AS t UNION {points}"
        partition = f"PARTITION BY {listed(keys)} " if keys else ""
        end = f"lead(t, 1, {self.chronons.never}) OVER ({partition}ORDER BY t)"
        pieces = (
            f"SELECT {keyed}t AS `@f`, {end} AS `@t` "
            f"FROM ({points}) WHERE t < {self.chronons.never}"
        )
        same = "".join(f"p.{quoted(k)} <=> r.{quoted(k)} AND " for k in keys)
        own = "".join(f"p.{quoted(k)}, " for k in keys)
        said = "".join(f", {to_sql(value, 'spark')} AS {quoted(label)}" for value, label in values)
        join = "LEFT JOIN" if is_whole else "JOIN"
        sql = (
            f"SELECT {own}p.`@f` AS {quoted(FROM)}, p.`@t` AS {quoted(TO)}{said} "
            f"FROM ({pieces}) p {join} {quoted(source)} r "
            f"ON {same}r.{quoted(FROM)} <= p.`@f` AND p.`@f` < r.{quoted(TO)} "
            f"GROUP BY {own}p.`@f`, p.`@t`"
        )
        return self.step(sql, reads=[source])

    # Subqueries -------------------------------------------------------------------------------

    def timeline(self, select: exp.Select, keys: Sequence[exp.Expr], values: list[exp.Expr]) -> str:
        """For each value of the keys, pieces over all rounds with the aggregates of the rows."""
        labels = [f"@k{n}" for n in range(len(keys))]
        rows = select.copy()
        columns = [named(k, label) for k, label in zip(keys, labels, strict=True)]
        arguments = [argument_of(value) for value in values]
        columns += [named(a, f"@a{n}") for n, a in enumerate(arguments) if a is not None]
        rows.set("expressions", columns or [named(whole(1), "@g")])
        source = self.table(self.query(rows))
        if all(isinstance(v, exp.Count) and not isinstance(v.this, exp.Distinct) for v in values):
            return self._counts(source, labels, [a is None for a in arguments])
        said = [(over(value, f"@a{n}", "r"), f"@v{n}") for n, value in enumerate(values)]
        return self._pieces(source, labels, said, is_whole=True)

    def _counts(self, source: str, keys: Sequence[str], of_rows: Sequence[bool]) -> str:
        """Counts go up where a row comes and down where it goes."""
        ones = [
            "1L" if is_rows else f"CAST({quoted(f'@a{n}')} IS NOT NULL AS BIGINT)"
            for n, is_rows in enumerate(of_rows)
        ]
        keyed = f"{listed(keys)}, " if keys else ""
        first = ", ".join(f"0L AS d{n}" for n in range(len(ones)))
        comes = ", ".join(f"{one} AS d{n}" for n, one in enumerate(ones))
        goes = ", ".join(f"-{one} AS d{n}" for n, one in enumerate(ones))
        points = (
            f"SELECT {keyed}inline(array(struct({self.chronons.first} AS t, {first}), "
            f"struct({quoted(FROM)} AS t, {comes}), struct({quoted(TO)} AS t, {goes}))) "
            f"FROM {quoted(source)}"
        )
        totals = ", ".join(f"sum(d{n}) AS d{n}" for n in range(len(ones)))
        if not keys:
            points = f"SELECT {self.chronons.first} AS t, {first} UNION ALL {points}"
        summed = (
            f"SELECT {keyed}t, {totals} FROM ({points}) WHERE t < {self.chronons.never} "
            f"GROUP BY {keyed}t"
        )
        partition = f"PARTITION BY {listed(keys)} " if keys else ""
        window = f"({partition}ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        running = ", ".join(
            f"sum(d{n}) OVER {window} AS {quoted(f'@v{n}')}" for n in range(len(ones))
        )
        end = f"lead(t, 1, {self.chronons.never}) OVER ({partition}ORDER BY t)"
        sql = f"SELECT {keyed}t AS {quoted(FROM)}, {end} AS {quoted(TO)}, {running} FROM ({summed})"
        return self.step(sql, reads=[source])


class _Lookups:
    """The left joins by which the rows of a query find the values of its subqueries."""

    def __init__(
        self, intervals: Intervals, sources: list[exp.Expr], conditions: list[exp.Expr]
    ) -> None:
        self._intervals = intervals
        self._sources = sources
        self._conditions = conditions  # without subqueries
        self.joins: list[exp.Join] = []

    def replaced(self, node: exp.Expr) -> exp.Expr:
        """An expression in which joined columns stand for subqueries."""
        if isinstance(node, exp.Exists):
            return self._exists(node.this)
        if is_in(node):
            return self.replaced(membership(node))
        if isinstance(node, (exp.Subquery, exp.Query)):
            return self._value(node)
        found = node.copy()
        for part in list(queries_in(found)):
            part.replace(self.replaced(part))
        return found

    def _exists(self, query: exp.Expr) -> exp.Expr:
        return any_of(*map(self._exists_in, branches(query)))

    def _exists_in(self, select: exp.Select) -> exp.Expr:
        [count] = self._looked_up(select, [typed(exp.Count(this=exp.Star()), LONG)])
        return typed(exp.GT(this=count, expression=whole(0)), BOOLEAN)

    def _value(self, query: exp.Expr) -> exp.Expr:
        select = query.unnest()
        assert isinstance(select, exp.Select)
        [value] = select.expressions
        aggregates = aggregates_of(select)
        by_text = dict(zip(aggregates, self._looked_up(select, aggregates), strict=True))

        def put(node: exp.Expr) -> exp.Expr:
            found = None if is_of_subquery(node) else by_text.get(node)
            return node if found is None else found.copy()

        return self.replaced(wrapped(value.unalias().copy().transform(put)))

    def _looked_up(self, select: exp.Select, values: list[exp.Expr]) -> list[exp.Expr]:
        """The values of aggregates over a subquery, as columns of a joined timeline."""
        select = crossed(select)
        if any(join.args.get("side") for join in select.args.get("joins") or ()):
            select, values = inlined(select, values, self._intervals.alias("joined"))
        own = {source.alias_or_name for source in sources_of(select)}
        where = select.args.get("where")
        conditions = list(conjuncts(where.this if where else None))
        tied = [c for c in conditions if free_columns(c, own)]
        pairs = [tie_of(c, own) for c in tied]
        free = [c for value in values for c in free_columns(value, own)]
        if free or None in pairs:
            inner, values, ties = self._asked(select, conditions, values, own)
        else:
            local = [c for c in conditions if c not in tied]
            found = [pair for pair in pairs if pair is not None]
            local += [
                not_(typed(exp.Is(this=key.copy(), expression=exp.Null()), BOOLEAN))
                for key, _ in found
            ]
            inner = with_conditions(select, local)
            ties = [(key, outer, exp.EQ) for key, outer in found]
        return self._joined(inner, ties, values)

    def _asked(
        self,
        select: exp.Select,
        conditions: list[exp.Expr],
        values: list[exp.Expr],
        own: set[str],
    ) -> tuple[exp.Select, list[exp.Expr], list[_Tie]]:
        """The subquery joined with all that the query around it can ask for."""
        everything = [*conditions, *values]
        columns = list(dict.fromkeys(c for e in everything for c in free_columns(e, own)))
        known = {source.alias_or_name for source in self._sources}
        if any(c.table not in known for c in columns):
            reason = "a subquery is tied to a query that is not the next around it"
            raise Unrewritable(reason, select)
        alias = self._intervals.alias("asked")
        labels: dict[exp.Expr, str] = {c: f"@c{n}" for n, c in enumerate(columns)}
        asked = exp.Select(
            expressions=[
                *(named(c.copy(), label) for c, label in labels.items()),
                named(_number(self._intervals.chronons.first), FROM),
                named(_number(self._intervals.chronons.never), TO),
            ],
            distinct=exp.Distinct(),
            from_=exp.From(this=self._sources[0].copy()),
        )
        for source in self._sources[1:]:
            asked.append("joins", exp.Join(this=source.copy(), kind="CROSS"))
        if self._conditions:
            asked.set("where", exp.Where(this=all_of(*(c.copy() for c in self._conditions))))
        source = aliased(self._intervals.table(asked), alias)

        inner = select.copy()
        inner.set("where", None)
        if conditions:
            inner.set("where", exp.Where(this=all_of(*(c.copy() for c in conditions))))
        inner = cast("exp.Select", put_columns(inner, labels, alias))
        inner.append("joins", exp.Join(this=source, kind="CROSS"))
        ties: list[_Tie] = [(put_columns(c, labels, alias), c, exp.NullSafeEQ) for c in columns]
        return inner, [put_columns(value, labels, alias) for value in values], ties

    def _joined(
        self,
        select: exp.Select,
        ties: Sequence[_Tie],
        values: list[exp.Expr],
    ) -> list[exp.Expr]:
        label = self._intervals.timeline(select, [key for key, _, _ in ties], values)
        alias = self._intervals.alias("lookup")
        conditions = []
        for n, (key, outer, operator) in enumerate(ties):
            mine = exp.Column(this=name(f"@k{n}"), table=name(alias))
            mine.type = key.type
            conditions.append(typed(operator(this=mine, expression=wrapped(outer.copy())), BOOLEAN))
        others = (*self._sources, *(join.this for join in self.joins))
        conditions.append(together([*(other.alias_or_name for other in others), alias]))
        self.joins.append(exp.Join(this=aliased(label, alias), side="LEFT", on=all_of(*conditions)))
        found: list[exp.Expr] = []
        for n, value in enumerate(values):
            said: exp.Expr = exp.Column(this=name(f"@v{n}"), table=name(alias))
            said.type = value.type
            if isinstance(value, exp.Count):
                said = typed(exp.Coalesce(this=typed(said, LONG), expressions=[whole(0)]), LONG)
            found.append(said)
        return found


def _number(text: str) -> exp.Expr:
    return whole(int(text.rstrip("L")))
