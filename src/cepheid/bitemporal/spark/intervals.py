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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias, cast

from sqlglot import exp

from cepheid.bitemporal.spark.chronons import Chronons
from cepheid.bitemporal.spark.join_order import tied_in_order
from cepheid.bitemporal.spark.steps import Step, listed, quoted
from cepheid.core.types import BOOLEAN, LONG
from cepheid.sql.nodes import all_of, any_of, column, is_time, name, not_, typed, whole, wrapped
from cepheid.sql.transpile import to_sql

FROM, TO = "@from", "@to"
_DONE = "cepheid_intervals"  # marks a table or query whose rows have intervals of their own


# The inner and the outer side of what ties a subquery to the query around it, and how they compare.
_Tie: TypeAlias = tuple[exp.Expr, exp.Expr, type[exp.Expr]]


class Unrewritable(Exception):
    """Why a query cannot be worked out for all rounds at once."""


@dataclass(slots=True)
class Intervals:
    """Rewrites the queries of one class; parts that need their own steps are in `steps`."""

    owner: str
    chronons: Chronons
    steps: list[Step] = field(default_factory=list)
    _count: int = 0

    def query(self, tree: exp.Query) -> exp.Query:
        """The query with two more columns, `@from` and `@to`."""
        if isinstance(tree, exp.Subquery):
            return self.query(tree.this)
        if isinstance(tree, exp.Union):
            if tree.args.get("distinct"):
                united = exp.Union(this=tree.this, expression=tree.expression, distinct=False)
                return self._grouped(_distinct(united))
            sides = (self.query(tree.this), self.query(tree.expression))
            return exp.Union(this=sides[0], expression=sides[1], distinct=False)
        if not isinstance(tree, exp.Select):
            raise Unrewritable(f"{tree.key.upper()} is not followed through rounds")
        if tree.args.get("distinct"):
            plain = tree.copy()
            plain.set("distinct", None)
            return self._grouped(_distinct(plain))
        return self._grouped(tree) if _is_grouped(tree) else self._single(tree)

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
        select = _crossed(select)
        outer = next((j for j in select.args.get("joins") or () if j.args.get("side")), None)
        if outer is not None:
            found, missing = _parted(select, outer)
            sides = (self._single(found), self._single(missing))
            return exp.Union(this=sides[0], expression=sides[1], distinct=False)
        where = select.args.get("where")
        conditions = [_memberless(c) for c in conjuncts(where.this if where else None)]
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
        kept += [c for pair in combinations(aliases, 2) for c in overlapping(*pair)]
        if kept:
            found.set("where", exp.Where(this=all_of(*kept)))
        aliases += [join.this.alias_or_name for join in lookups.joins]
        found.set("expressions", [*projections, *_shared(aliases)])
        return found

    def _sources(self, select: exp.Select) -> list[exp.Expr]:
        return [self._source(each) for each in sources_of(select)]

    def _source(self, source: exp.Expr) -> exp.Expr:
        if isinstance(source, exp.Subquery) and not source.meta.get(_DONE):
            return exp.Subquery(this=self.query(source.this), alias=source.args["alias"].copy())
        return source.copy()

    # Groups -----------------------------------------------------------------------------------

    def _grouped(self, select: exp.Select) -> exp.Query:
        """Aggregates by pieces in which the rows of a group are the same."""
        group = select.args.get("group")
        keys = list(group.expressions) if group else []
        aggregates = _aggregates(select)
        arguments = [_argument(a) for a in aggregates]
        rows = select.copy()
        for part in ("group", "having"):
            rows.set(part, None)
        columns = [_named(k, f"@g{n}") for n, k in enumerate(keys)]
        columns += [_named(a, f"@a{n}") for n, a in enumerate(arguments) if a is not None]
        rows.set("expressions", columns or [_named(whole(1), "@g")])
        labels = [f"@g{n}" for n in range(len(keys))]
        source = self.table(self.query(rows))
        values = [
            (_over(aggregate, f"@a{n}", "r"), f"@v{n}") for n, aggregate in enumerate(aggregates)
        ]
        pieces = self._pieces(source, labels, values, is_whole=not keys)
        outer = _replaced_groups(select, keys, aggregates)
        outer.set("from_", exp.From(this=_aliased(pieces, "@p")))
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
        columns = [_named(k, label) for k, label in zip(keys, labels, strict=True)]
        arguments = [_argument(value) for value in values]
        columns += [_named(a, f"@a{n}") for n, a in enumerate(arguments) if a is not None]
        rows.set("expressions", columns or [_named(whole(1), "@g")])
        source = self.table(self.query(rows))
        if all(isinstance(v, exp.Count) and not isinstance(v.this, exp.Distinct) for v in values):
            return self._counts(source, labels, [a is None for a in arguments])
        said = [(_over(value, f"@a{n}", "r"), f"@v{n}") for n, value in enumerate(values)]
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
        if isinstance(node, exp.In) and node.args.get("query"):
            return self.replaced(_member_value(node))
        if isinstance(node, (exp.Subquery, exp.Query)):
            return self._value(node)
        found = node.copy()
        for part in list(_queries_in(found)):
            part.replace(self.replaced(part))
        return found

    def _exists(self, query: exp.Expr) -> exp.Expr:
        branches = list(branches_of(query))
        found = [self._exists_in(branch) for branch in branches]
        return any_of(*found)

    def _exists_in(self, select: exp.Select) -> exp.Expr:
        if _is_grouped(select):
            select = _ungrouped(select)
        [count] = self._looked_up(select, [typed(exp.Count(this=exp.Star()), LONG)])
        return typed(exp.GT(this=count, expression=whole(0)), BOOLEAN)

    def _value(self, query: exp.Expr) -> exp.Expr:
        select = query.unnest()
        if not isinstance(select, exp.Select) or len(select.expressions) != 1:
            raise Unrewritable("a subquery that stands for a value of several queries")
        value = select.expressions[0].unalias()
        aggregates = _aggregates(select)
        if not aggregates or select.args.get("group") or select.args.get("having"):
            raise Unrewritable("a subquery that stands for a value has groups")
        found = self._looked_up(select, aggregates)
        by_text = dict(zip(aggregates, found, strict=True))

        def put(node: exp.Expr) -> exp.Expr:
            return by_text[node].copy() if node in by_text else node

        return wrapped(value.copy().transform(put))

    def _looked_up(self, select: exp.Select, values: list[exp.Expr]) -> list[exp.Expr]:
        """The values of aggregates over a subquery, as columns of a joined timeline."""
        select = _crossed(select)
        if any(join.args.get("side") for join in select.args.get("joins") or ()):
            select, values = _inlined(select, values)
        own = {source.alias_or_name for source in sources_of(select)}
        where = select.args.get("where")
        conditions = list(conjuncts(where.this if where else None))
        tied = [c for c in conditions if free_columns(c, own)]
        pairs = [_tie(c, own) for c in tied]
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
            inner = _with_conditions(select, local)
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
            raise Unrewritable("a subquery names columns of a query that is not the next around it")
        self._intervals._count += 1
        alias = f"@asked{self._intervals._count}"
        labels: dict[exp.Expr, str] = {c: f"@c{n}" for n, c in enumerate(columns)}
        asked = exp.Select(
            expressions=[
                *(_named(c.copy(), label) for c, label in labels.items()),
                _named(_number(self._intervals.chronons.first), FROM),
                _named(_number(self._intervals.chronons.never), TO),
            ],
            distinct=exp.Distinct(),
            from_=exp.From(this=self._sources[0].copy()),
        )
        for source in self._sources[1:]:
            asked.append("joins", exp.Join(this=source.copy(), kind="CROSS"))
        if self._conditions:
            asked.set("where", exp.Where(this=all_of(*(c.copy() for c in self._conditions))))
        source = _aliased(self._intervals.table(asked), alias)

        inner = select.copy()
        inner.set("where", None)
        if conditions:
            inner.set("where", exp.Where(this=all_of(*(c.copy() for c in conditions))))
        inner = cast("exp.Select", _put(inner, labels, alias))
        inner.append("joins", exp.Join(this=source, kind="CROSS"))
        ties: list[_Tie] = [(_put(c, labels, alias), c, exp.NullSafeEQ) for c in columns]
        return inner, [_put(value, labels, alias) for value in values], ties

    def _joined(
        self,
        select: exp.Select,
        ties: Sequence[_Tie],
        values: list[exp.Expr],
    ) -> list[exp.Expr]:
        label = self._intervals.timeline(select, [key for key, _, _ in ties], values)
        self._intervals._count += 1
        alias = f"@lookup{self._intervals._count}"
        conditions = []
        for n, (key, outer, operator) in enumerate(ties):
            mine = exp.Column(this=name(f"@k{n}"), table=name(alias))
            mine.type = key.type
            conditions.append(typed(operator(this=mine, expression=wrapped(outer.copy())), BOOLEAN))
        for source in self._sources:
            conditions += overlapping(source.alias_or_name, alias)
        for join in self.joins:
            other = join.this.alias_or_name
            missing = typed(exp.Is(this=_bound(FROM, other), expression=exp.Null()), BOOLEAN)
            conditions.append(any_of(missing, all_of(*overlapping(other, alias))))
        self.joins.append(
            exp.Join(this=_aliased(label, alias), side="LEFT", on=all_of(*conditions))
        )
        found: list[exp.Expr] = []
        for n, value in enumerate(values):
            said: exp.Expr = exp.Column(this=name(f"@v{n}"), table=name(alias))
            said.type = value.type
            if isinstance(value, exp.Count):
                said = typed(exp.Coalesce(this=typed(said, LONG), expressions=[whole(0)]), LONG)
            found.append(said)
        return found


# Parts of queries -----------------------------------------------------------------------------


def sources_of(select: exp.Select) -> list[exp.Expr]:
    begin = select.args.get("from_")
    joins = select.args.get("joins") or ()
    return [*([begin.this] if begin else []), *(join.this for join in joins)]


def conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    if isinstance(condition, exp.Paren):
        yield from conjuncts(condition.this)
    elif isinstance(condition, exp.And):
        yield from conjuncts(condition.this)
        yield from conjuncts(condition.expression)
    elif condition is not None:
        yield condition


def branches_of(query: exp.Expr) -> Iterator[exp.Select]:
    bare = query.unnest()
    if isinstance(bare, exp.SetOperation):
        yield from branches_of(bare.this)
        yield from branches_of(bare.expression)
    elif isinstance(bare, exp.Select):
        yield bare
    else:
        raise Unrewritable("this kind of subquery is not followed through rounds")


def has_query(node: exp.Expr) -> bool:
    return node.find(exp.Query) is not None


def _queries_in(node: exp.Expr) -> Iterator[exp.Expr]:
    """The outermost subqueries in an expression."""
    is_member = isinstance(node, exp.In) and node.args.get("query")
    if is_member or isinstance(node, (exp.Exists, exp.Query)):
        yield node
    else:
        for part in node.iter_expressions():
            yield from _queries_in(part)


def free_columns(node: exp.Expr, own: set[str]) -> list[exp.Column]:
    """Columns of queries around the one whose sources are given."""
    if isinstance(node, exp.Column):
        return [node] if node.table not in own else []
    known = own
    if isinstance(node, exp.Select):
        known = own | {source.alias_or_name for source in sources_of(node)}
    return [c for part in node.iter_expressions() for c in free_columns(part, known)]


def _tie(condition: exp.Expr, own: set[str]) -> tuple[exp.Expr, exp.Expr] | None:
    """The inner and the outer side of an equality between both."""
    if not isinstance(condition, exp.EQ) or has_query(condition):
        return None
    for inner, outer in (
        (condition.this, condition.expression),
        (condition.expression, condition.this),
    ):
        is_inner = not free_columns(inner, own) and inner.find(exp.Column)
        if is_inner and all(c.table not in own for c in outer.find_all(exp.Column)):
            return inner, outer
    return None


def overlapping(one: str, other: str) -> list[exp.Expr]:
    """Intervals that all overlap each other have a round in common."""
    return [
        typed(exp.LT(this=_bound(FROM, one), expression=_bound(TO, other)), BOOLEAN),
        typed(exp.LT(this=_bound(FROM, other), expression=_bound(TO, one)), BOOLEAN),
    ]


def _bound(which: str, alias: str) -> exp.Expr:
    return column(which, LONG, alias)


def _shared(aliases: Sequence[str]) -> Iterator[exp.Expr]:
    """The rounds that all intervals share; those of lookups that find nothing are null."""
    for which, function in ((FROM, exp.Greatest), (TO, exp.Least)):
        bounds = [_bound(which, alias) for alias in aliases]
        shared = bounds[0]
        if len(bounds) > 1:
            shared = typed(
                function(this=bounds[0], expressions=bounds[1:], ignore_nulls=True), LONG
            )
        yield _named(shared, which)


def _named(node: exp.Expr, label: str) -> exp.Expr:
    found = exp.Alias(this=node.unalias().copy(), alias=name(label))
    found.type = node.type
    return found


def _number(text: str) -> exp.Expr:
    return whole(int(text.rstrip("L")))


def _aliased(table: str, alias: str) -> exp.Table:
    found = exp.Table(this=name(table), alias=exp.TableAlias(this=name(alias)))
    found.meta[_DONE] = True
    return found


def _crossed(select: exp.Select) -> exp.Select:
    """What inner joins ask for stands in WHERE."""
    found = select.copy()
    conditions = []
    for join in found.args.get("joins") or ():
        on = join.args.get("on")
        if on is not None and not join.args.get("side"):
            conditions.append(on.copy())
            join.set("on", None)
            join.set("kind", "CROSS")
    if conditions:
        where = found.args.get("where")
        found.set("where", exp.Where(this=all_of(*([where.this] if where else []), *conditions)))
    return found


def _parted(select: exp.Select, outer: exp.Join) -> tuple[exp.Select, exp.Select]:
    """A left join as two queries: of rows that find something, and of those that do not."""
    alias = outer.this.alias_or_name
    place = (select.args.get("joins") or []).index(outer)
    found, missing = select.copy(), select.copy()
    join = found.args["joins"][place]
    condition = join.args["on"]
    join.set("side", None)
    join.set("kind", "INNER")
    del missing.args["joins"][place]

    def without(node: exp.Expr) -> exp.Expr:
        return _null(node) if isinstance(node, exp.Column) and node.table == alias else node

    missing = cast("exp.Select", missing.transform(without))
    inner = exp.Select(
        expressions=[_named(whole(1), "one")],
        from_=exp.From(this=outer.this.copy()),
        where=exp.Where(this=condition.copy()),
    )
    absent = not_(typed(exp.Exists(this=inner), BOOLEAN))
    where = missing.args.get("where")
    missing.set("where", exp.Where(this=all_of(*([where.this] if where else []), absent)))
    return _crossed(found), missing


def _null(node: exp.Expr) -> exp.Expr:
    if node.type is None:
        return exp.Null()
    to = exp.DataType(this=exp.DataType.Type.BIGINT) if is_time(node) else node.type.copy()
    found = exp.Cast(this=exp.Null(), to=to)
    found.type = node.type
    return found


def _with_conditions(select: exp.Select, conditions: Iterable[exp.Expr]) -> exp.Select:
    found = select.copy()
    kept = [c.copy() for c in conditions]
    found.set("where", exp.Where(this=all_of(*kept)) if kept else None)
    return found


def _inlined(select: exp.Select, values: list[exp.Expr]) -> tuple[exp.Select, list[exp.Expr]]:
    """Joins as a table of their own, beside what is asked of its rows."""
    where = select.args.get("where")
    asked = [*([where.this] if where else []), *values]
    own = {source.alias_or_name for source in sources_of(select)}
    read = dict.fromkeys(c for e in asked for c in e.find_all(exp.Column) if c.table in own)
    labels: dict[exp.Expr, str] = {found: f"@j{n}" for n, found in enumerate(read)}
    inner = select.copy()
    inner.set("where", None)
    inner.set("expressions", [_named(c, label) for c, label in labels.items()] or [_one()])
    source = exp.Subquery(this=inner, alias=exp.TableAlias(this=name("@joined")))
    outer = exp.Select(expressions=[_one()], from_=exp.From(this=source))
    if where is not None:
        outer.set("where", exp.Where(this=_put(where.this, labels, "@joined")))
    return outer, [_put(value, labels, "@joined") for value in values]


def _one() -> exp.Expr:
    return _named(whole(1), "@one")


def _put(tree: exp.Expr, labels: Mapping[exp.Expr, str], alias: str) -> exp.Expr:
    """An expression in which columns of a table stand for some of its parts."""

    def put(node: exp.Expr) -> exp.Expr:
        label = None if isinstance(node, exp.Alias) else labels.get(node.unnest())
        if label is None:
            return node
        found = exp.Column(this=name(label), table=name(alias))
        found.type = node.type
        return found

    return tree.copy().transform(put)


# Groups ---------------------------------------------------------------------------------------


def _is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.AggFunc) and not (
        isinstance(node, (exp.Max, exp.Min)) and node.expressions
    )


def _aggregates(select: exp.Select) -> list[exp.Expr]:
    """The aggregates of a query, each once."""
    having = select.args.get("having")
    found: dict[exp.Expr, None] = {}
    for part in (*select.expressions, *([having.this] if having else [])):
        for node in part.walk(prune=lambda n: isinstance(n, exp.Query)):
            if _is_aggregate(node):
                found[node] = None
    return list(found)


def _is_grouped(select: exp.Select) -> bool:
    return bool(select.args.get("group") or select.args.get("having") or _aggregates(select))


def _argument(aggregate: exp.Expr) -> exp.Expr | None:
    """What an aggregate is of; None: of rows."""
    inner = cast("exp.Expr", aggregate.this)
    if isinstance(inner, exp.Distinct):
        if len(inner.expressions) != 1:
            raise Unrewritable("an aggregate of several columns")
        return cast("exp.Expr", inner.expressions[0])
    return None if isinstance(inner, exp.Star) else inner


def _over(aggregate: exp.Expr, label: str, alias: str) -> exp.Expr:
    """The aggregate over a column; one of rows leaves out those of an outer join without any."""
    found = aggregate.copy()
    argument = _argument(found)
    if argument is None:
        found.set("this", _bound(FROM, alias))
        return found
    value = exp.Column(this=name(label), table=name(alias))
    value.type = argument.type
    argument.replace(value)
    return found


def _replaced_groups(
    select: exp.Select, keys: Sequence[exp.Expr], aggregates: Sequence[exp.Expr]
) -> exp.Select:
    """The rest of a grouped query: over its keys and aggregates as columns of `@p`."""
    labels: dict[exp.Expr, str] = {key.unnest(): f"@g{n}" for n, key in enumerate(keys)}
    labels |= {aggregate: f"@v{n}" for n, aggregate in enumerate(aggregates)}

    found = exp.Select(expressions=[_put(p, labels, "@p") for p in select.expressions])
    having = select.args.get("having")
    if having is not None:
        found.set("where", exp.Where(this=_put(having.this, labels, "@p")))
    return found


def _distinct(query: exp.Query) -> exp.Select:
    """A query whose equal rows are one, as groups."""
    columns = []
    for projection in query.selects:
        found = exp.Column(this=name(projection.alias_or_name), table=name("@d"))
        found.type = projection.type
        columns.append(found)
    source = exp.Subquery(this=query.copy(), alias=exp.TableAlias(this=name("@d")))
    return exp.Select(
        expressions=[_named(c, c.name) for c in columns],
        from_=exp.From(this=source),
        group=exp.Group(expressions=[c.copy() for c in columns]),
    )


def _ungrouped(select: exp.Select) -> exp.Select:
    """Groups of a subquery that EXISTS looks into: a group is there if it has rows."""
    if select.args.get("having") or not select.args.get("group"):
        raise Unrewritable("EXISTS over aggregates")
    found = select.copy()
    found.set("group", None)
    return found


# IN -------------------------------------------------------------------------------------------


def _memberless(condition: exp.Expr) -> exp.Expr:
    """IN as a condition by itself asks for an equal row; null is as good as false there."""
    if isinstance(condition, exp.In) and condition.args.get("query"):
        return _member_exists(condition)
    return condition


def _member_exists(node: exp.In) -> exp.Expr:
    found = [
        typed(exp.Exists(this=_equal_rows(node, branch)), BOOLEAN)
        for branch in branches_of(node.args["query"])
    ]
    return any_of(*found)


def _plain(select: exp.Select) -> exp.Select:
    """A branch of IN with a column whose rows are not grouped."""
    if _is_grouped(select):
        raise Unrewritable("IN over aggregates")
    return select


def _equal_rows(node: exp.In, branch: exp.Select) -> exp.Select:
    select = _plain(branch).copy()
    select.set("distinct", None)
    value = select.expressions[0].unalias()
    equal = typed(exp.EQ(this=wrapped(value.copy()), expression=wrapped(node.this.copy())), BOOLEAN)
    where = select.args.get("where")
    select.set("where", exp.Where(this=all_of(*([where.this] if where else []), equal)))
    select.set("expressions", [_named(whole(1), "one")])
    return select


def _member_value(node: exp.In) -> exp.Expr:
    """IN as a value of three: true, false, or null where a null might be equal."""
    exists = _member_exists(node)
    counts = []
    nulls: list[exp.Expr] = []
    for branch in branches_of(node.args["query"]):
        value = _plain(branch).expressions[0].unalias()
        rows = typed(exp.Count(this=exp.Star()), LONG)
        counts.append(_counting(branch, rows))
        nulls.append(_counting(branch, typed(exp.Count(this=value.copy()), LONG)))
    is_null = typed(exp.Is(this=wrapped(node.this.copy()), expression=exp.Null()), BOOLEAN)
    empty = [typed(exp.EQ(this=count, expression=whole(0)), BOOLEAN) for count in counts]
    unknown = [
        typed(exp.NEQ(this=count.copy(), expression=some), BOOLEAN)
        for count, some in zip(counts, nulls, strict=True)
    ]
    case = exp.Case(
        ifs=[
            exp.If(this=exists, true=exp.true()),
            exp.If(this=all_of(*empty), true=exp.false()),
            exp.If(this=any_of(is_null, *unknown), true=_unknown()),
        ],
        default=exp.false(),
    )
    return typed(case, BOOLEAN)


def _unknown() -> exp.Expr:
    found = exp.Cast(this=exp.Null(), to=exp.DataType(this=exp.DataType.Type.BOOLEAN))
    return typed(found, BOOLEAN)


def _counting(branch: exp.Select, count: exp.Expr) -> exp.Expr:
    select = branch.copy()
    select.set("distinct", None)
    select.set("expressions", [_named(count, "n")])
    found = exp.Subquery(this=select)
    return typed(found, LONG)
