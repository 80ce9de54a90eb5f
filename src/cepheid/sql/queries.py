"""Queries of complex classes: names, types and shape, and the latest detection time of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast as of_type

from sqlglot import exp

from cepheid.core.types import ANY, BOOLEAN, DOUBLE, LONG, NULL, TIMESTAMP, DataType, is_open
from cepheid.errors import Diagnostic, ProgramError, error, suggest
from cepheid.sql.dialect import parse_select, parse_time, too_deep
from cepheid.sql.nodes import PERIOD, cast, column, name, typed, words, wrapped
from cepheid.sql.places import Places
from cepheid.sql.tables import Table
from cepheid.sql.text import Sql
from cepheid.sql.typer import Typed, Typer, as_type, seconds

_SELECT_PARTS = frozenset(
    {"expressions", "from_", "joins", "where", "group", "having", "distinct", "with_"}
)
_UNION_PARTS = frozenset({"this", "expression", "distinct", "with_"})
_NO_ORDER = ("order", "limit", "offset", "sort", "cluster", "distribute", "fetch")


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedQuery:
    """A query whose names are resolved and whose types fit.

    Every column has the alias of its source, every node its type; the projections are the target's
    attributes in their order, then `occ`. What it reads is in the order of the text.
    """

    tree: exp.Query
    reads: tuple[str, ...]


def resolve_query(
    select: Sql, occurring: Sql, tables: Mapping[str, Table], target: Table
) -> tuple[ResolvedQuery | None, list[Diagnostic]]:
    """A complex class's query, or what is wrong with it."""
    problems: list[Diagnostic] = []
    try:
        query, time = parse_select(select), parse_time(occurring)
    except ProgramError as problem:
        return None, list(problem.diagnostics)
    resolver = _Resolver(select, occurring, tables, problems)
    try:
        tree = resolver.top(query, time, target)
    except RecursionError:
        return None, [too_deep(Places(select))]
    problems = list(dict.fromkeys(problems))
    return (None if problems else ResolvedQuery(tree, tuple(resolver.reads))), problems


@dataclass(slots=True)
class _Source:
    """What an alias in FROM stands for; a derived table's columns have no implicit ones."""

    alias: str
    columns: dict[str, DataType]
    starred: tuple[str, ...]  # what `*` stands for

    def find(self, wanted: str) -> tuple[str, DataType] | None:
        low = wanted.lower()
        return next(((n, t) for n, t in self.columns.items() if n.lower() == low), None)


@dataclass(slots=True)
class _Names:
    """The names that a SELECT sees: its sources, then those of the query around it.

    Where aggregates may stand it says so; `outer_used` notes columns that come from outside.
    """

    resolver: _Resolver
    sources: list[_Source] = field(default_factory=list)
    outer: _Names | None = None
    clause: str = "FROM"
    is_grouped: bool = True
    is_inside_aggregate: bool = False
    correlates: bool = False  # whether columns of the outer query may be named here

    def source(self, alias: str) -> _Source | None:
        return next((s for s in self.sources if s.alias.lower() == alias.lower()), None)

    def column(self, typer: Typer, node: exp.Column) -> Typed:
        table = node.args.get("table")
        if table is None:
            return self._bare(typer, node)
        if node.name == "*" or isinstance(node.this, exp.Star):
            return typer.report("syntax", "'*' stands for columns only after SELECT", node)
        source = self.source(table.name)
        if source is None:
            return self._from_outside(typer, node) or self._unknown_alias(typer, table)
        found = source.find(node.name)
        if found is None:
            fact = f"'{table.name}' has no attribute '{node.name}'"
            return typer.report(
                "unknown-attribute", fact, node.this, suggest(node.name, source.columns)
            )
        return column(found[0], found[1], source.alias), found[1]

    def _unknown_alias(self, typer: Typer, table: exp.Expr) -> Typed:
        known = [s.alias for s in self.sources]
        fact = f"nothing in FROM is called '{table.name}'"
        return typer.report("unknown-name", fact, table, suggest(table.name, known))

    def _bare(self, typer: Typer, node: exp.Column) -> Typed:
        """A column of one of the sources, or a source, which stands for its time."""
        if node.name.upper() == "NOW":
            hint = "conditions of statements may compare with NOW"
            return typer.report(
                "misplaced-now", "NOW cannot stand in a query of a class", node, hint
            )
        holders = [(s, found) for s in self.sources if (found := s.find(node.name))]
        source = self.source(node.name)
        if source and (time := source.find("occ")) and time[1] == TIMESTAMP:
            holders.append((source, time))
        if len(holders) > 1:
            names = " or ".join(_spelled(s, found[0]) for s, found in holders)
            return typer.report("ambiguous-name", f"'{node.name}' may be {names}", node)
        if not holders:
            return self._from_outside(typer, node) or self._unknown(typer, node)
        (found_in, (spelled, type)) = holders[0]
        return column(spelled, type, found_in.alias), type

    def _unknown(self, typer: Typer, node: exp.Column) -> Typed:
        known = [n for s in self.sources for n in (s.alias, *s.columns)]
        fact = f"nothing in FROM has or is '{node.name}'"
        return typer.report("unknown-name", fact, node, suggest(node.name, known))

    def _from_outside(self, typer: Typer, node: exp.Column) -> Typed | None:
        if self.outer is None or not self.outer.knows(node):
            return None
        if not self.correlates or self.clause != "WHERE":
            hint = "a subquery names columns of the query around it in its own WHERE"
            return typer.refuse("a column of the query around this one", node, hint)
        probe = Typer(typer.places, self.outer, typer.problems)
        return self.outer.column(probe, node)

    def knows(self, node: exp.Column) -> bool:
        """Whether a column of this query, or of those around it, has this name."""
        table = node.args.get("table")
        if table is not None:
            here = self.source(table.name) is not None
        else:
            here = self.source(node.name) is not None or any(
                s.find(node.name) for s in self.sources
            )
        return here or (self.outer is not None and self.outer.knows(node))

    def call(self, typer: Typer, node: exp.Anonymous) -> Typed | None:
        return None

    def format(self, typer: Typer, node: exp.Expr) -> Typed:
        return typer.refuse("format in a query", node, "arguments of actions may use it")

    def compare(self, typer: Typer, node: exp.Expr) -> Typed | None:
        return None

    def aggregate(self, typer: Typer, node: exp.Expr) -> bool:
        what = typer.places.word(node) or node.key.upper()
        if self.clause not in ("SELECT", "HAVING", "OCCURRING AT"):
            fact = f"'{what}' needs a group of rows; {self.clause} has single ones"
            typer.report("misplaced-aggregate", fact, node, "use HAVING, or a subquery")
            return False
        if any(
            isinstance(n, exp.AggFunc) for n in node.walk() if n is not node and not _is_scalar(n)
        ):
            typer.report("nested-aggregate", f"an aggregate inside of '{what}'", node)
            return False
        return True

    def subquery(self, typer: Typer, node: exp.Expr) -> Typed:
        return _Subqueries(self, typer).read(node)


def _spelled(source: _Source, found: str) -> str:
    return f"{source.alias}.{found}"


def _is_scalar(node: exp.Expr) -> bool:
    """MAX and MIN of several values are no aggregates."""
    return isinstance(node, (exp.Max, exp.Min)) and bool(node.expressions)


class _Subqueries:
    """EXISTS, IN and scalar subqueries, as far as all engines agree on them."""

    def __init__(self, names: _Names, typer: Typer) -> None:
        self.names = names
        self.typer = typer

    def read(self, node: exp.Expr) -> Typed:
        if isinstance(node, exp.Exists):
            return self._predicate(node, node.this)
        if isinstance(node, exp.In):
            return self._in(node)
        return self._scalar(node)

    def _inner(self, query: exp.Expr, *, any_columns: bool = False) -> exp.Query | None:
        bare = query.unnest()
        if not isinstance(bare, exp.Query):
            self.typer.refuse("this kind of subquery", query)
            return None
        found = self.names.resolver.query(
            bare, self.names, self.typer, correlates=True, any_columns=any_columns
        )
        return found.tree

    def _is_placed(self, node: exp.Expr, what: str) -> bool:
        if self.names.clause in ("WHERE", "HAVING"):
            return True
        self.typer.refuse(f"{what} in {self.names.clause}", node, "write it in WHERE")
        return False

    def _predicate(self, node: exp.Expr, query: exp.Expr) -> Typed:
        if not self._is_placed(node, "EXISTS"):
            return exp.Null(), ANY
        inner = self._inner(query, any_columns=True)
        return (exp.Exists(this=inner) if inner else exp.Null()), BOOLEAN

    def _in(self, node: exp.Expr) -> Typed:
        if not self._is_placed(node, "IN with a subquery"):
            return exp.Null(), ANY
        left, type_ = self.typer.read(node.this)
        inner = self._inner(node.args["query"])
        if inner is None:
            return exp.Null(), BOOLEAN
        found = _column_type(inner)
        if len(inner.selects) != 1:
            return self.typer.report(
                "wrong-arguments", "this subquery needs one column", node.args["query"]
            )
        common = _common(type_, found)
        if common is None:
            fact = f"{words(type_)} is not among {words(found)}s"
            return self.typer.report("type-mismatch", fact, node)
        for select in _branches(inner):
            _recast(select, 0, common)
        query = exp.Subquery(this=inner)
        return exp.In(this=wrapped(as_type(left, type_, common)), query=query), BOOLEAN

    def _scalar(self, node: exp.Expr) -> Typed:
        inner = self._inner(node.this)
        if inner is None:
            return exp.Null(), ANY
        if len(inner.selects) != 1:
            return self.typer.report("wrong-arguments", "this subquery needs one column", node)
        is_one_row = isinstance(inner, exp.Select) and not inner.args.get("group")
        if not is_one_row or not any(isinstance(n, exp.AggFunc) for n in inner.selects[0].walk()):
            hint = "select an aggregate without GROUP BY, such as max(...)"
            return self.typer.refuse("a subquery that may have several rows", node, hint)
        if inner.args.get("having"):
            return self.typer.refuse("HAVING in a subquery that stands for a value", node)
        return exp.Subquery(this=inner), _column_type(inner)


def _column_type(query: exp.Query) -> DataType:
    found = query.selects[0].meta.get("cepheid_type", ANY) if query.selects else ANY
    return of_type(DataType, found)


def _common(a: DataType, b: DataType) -> DataType | None:
    if a == b or is_open(b):
        return a
    if is_open(a):
        return b
    return DOUBLE if {a, b} <= {LONG, DOUBLE} else None


def _branches(query: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs of a chain of UNIONs, in the order of the text."""
    bare = query.unnest()
    if isinstance(bare, exp.SetOperation):
        yield from _branches(bare.this)
        yield from _branches(bare.expression)
    elif isinstance(bare, exp.Select):
        yield bare


def _recast(select: exp.Select, place: int, wanted: DataType) -> None:
    """Makes a projection one of a type that holds it."""
    projection = select.selects[place]
    found = of_type(DataType, projection.meta["cepheid_type"])
    inner = projection.this
    if found == NULL and not is_open(wanted):
        projection.set("this", cast(inner, wanted))
    else:
        projection.set("this", as_type(inner, found, wanted))
    projection.meta["cepheid_type"] = wanted


@dataclass(frozen=True, slots=True)
class _Found:
    """A resolved query with the columns that it gives to a query around it."""

    tree: exp.Query
    columns: dict[str, DataType]


class _Resolver:
    def __init__(
        self,
        select: Sql,
        occurring: Sql,
        tables: Mapping[str, Table],
        problems: list[Diagnostic],
    ) -> None:
        self.places = Places(select)
        self.time_places = Places(occurring)
        self.tables = {table.name.lower(): table for table in tables.values()}
        self.problems = problems
        self.reads: dict[str, None] = {}
        self.ctes: dict[str, exp.Query] = {}
        self.occurring: exp.Expr | None = None

    def top(self, query: exp.Query, time: exp.Expr, target: Table) -> exp.Query:
        self.occurring = time
        found = self.query(query, None, self._typer(None))
        if not self.problems:
            self._fit(query, found.tree, target)
        return found.tree

    def _typer(self, names: _Names | None) -> Typer:
        return Typer(self.places, names or _Names(self), self.problems)

    # Shapes of queries

    def query(
        self,
        query: exp.Query,
        outer: _Names | None,
        typer: Typer,
        *,
        correlates: bool = False,
        any_columns: bool = False,
    ) -> _Found:
        """A SELECT, or a UNION of them, anywhere; only the outermost one has a time."""
        time, self.occurring = self.occurring, None
        known = dict(self.ctes)
        self._read_ctes(query, typer)
        found = self._query(query, outer, typer, time, correlates, any_columns)
        self.ctes = known
        return found

    def _query(
        self,
        query: exp.Query,
        outer: _Names | None,
        typer: Typer,
        time: exp.Expr | None,
        correlates: bool,
        any_columns: bool,
    ) -> _Found:
        bare = query.unnest()
        if isinstance(bare, exp.Union):
            return self._union(bare, outer, typer, time, correlates, any_columns)
        if isinstance(bare, exp.Select):
            return _Selects(self, bare, outer, typer, correlates).resolve(
                time, any_columns=any_columns
            )
        what = bare.key.upper() if isinstance(bare, exp.SetOperation) else "this kind of query"
        hint = "write NOT EXISTS" if isinstance(bare, exp.Except) else None
        typer.refuse(what, query, hint)
        return _Found(exp.Select(), {})

    def _read_ctes(self, query: exp.Query, typer: Typer) -> None:
        """WITH: its queries stand where their names do."""
        with_ = query.args.get("with_")
        if with_ is None:
            return
        if with_.args.get("recursive"):
            typer.refuse("WITH RECURSIVE", with_)
        for part in with_.expressions:
            if part.args["alias"].args.get("columns"):
                typer.refuse("names of columns after WITH", part, "name them with AS in the SELECT")
            self.ctes[part.alias.lower()] = part.this

    def _union(
        self,
        query: exp.Union,
        outer: _Names | None,
        typer: Typer,
        time: exp.Expr | None,
        correlates: bool,
        any_columns: bool,
    ) -> _Found:
        refuse_order(query, typer)
        typer.knows_parts(query, _UNION_PARTS)
        sides = [
            self._query(side, outer, typer, time, correlates, any_columns)
            for side in (query.this, query.expression)
        ]
        left, right = sides
        if len(left.columns) != len(right.columns):
            fact = (
                f"one side of UNION has {len(left.columns)} columns, the other {len(right.columns)}"
            )
            typer.report("wrong-arguments", fact, query.expression)
            return left
        columns = self._unify(query, left, right, typer)
        tree = exp.Union(
            this=left.tree, expression=right.tree, distinct=bool(query.args.get("distinct"))
        )
        return _Found(tree, columns)

    def _unify(
        self, query: exp.Union, left: _Found, right: _Found, typer: Typer
    ) -> dict[str, DataType]:
        """Columns of both sides as types that hold both."""
        columns = dict(left.columns)
        pairs = zip(left.columns.items(), right.columns.values(), strict=True)
        for place, ((label, a), b) in enumerate(pairs):
            common = _common(a, b)
            if common is None:
                fact = (
                    f"column '{label}' is {words(a)} on one side of UNION, {words(b)} on the other"
                )
                typer.report("type-mismatch", fact, query.expression)
                continue
            for select in (*_branches(left.tree), *_branches(right.tree)):
                _recast(select, place, common)
            columns[label] = common
        return columns

    # The columns that the class wants

    def _fit(self, query: exp.Query, tree: exp.Query, target: Table) -> None:
        """Reorders the projections; reports those that are missing, that nobody asked for, or that do not fit."""
        names_ = [p.alias for p in tree.selects if p.alias != _OCCURRING]
        wanted = target.attributes
        place = self.places.of(query.selects[0]) if query.selects else self.places.whole
        low = [n.lower() for n in names_]
        missing = [n for n in wanted if n.lower() not in low]
        extra = [n for n in names_ if n.lower() not in {w.lower() for w in wanted}]
        if missing:
            hint = f"it selects {', '.join(names_)}" if names_ else None
            listed = ", ".join(f"'{n}'" for n in missing)
            self.problems.append(
                error(
                    "missing-column",
                    f"the query does not select {listed} of '{target.name}'",
                    place,
                    hint,
                )
            )
        for label in extra:
            node = self._projection(query, names_.index(label))
            fact = f"'{target.name}' has no attribute '{label}'"
            hint = suggest(label, wanted)
            self.problems.append(error("unknown-attribute", fact, self.places.of(node), hint))
        if missing or extra:
            return
        for branch, source in zip(_branches(tree), _branches(query), strict=True):
            self._fit_branch(branch, source, low, target)

    def _projection(self, query: exp.Query, place: int) -> exp.Expr:
        selects = next(_branches(query)).expressions
        return of_type(exp.Expr, selects[min(place, len(selects) - 1)])

    def _fit_branch(
        self, branch: exp.Select, source: exp.Select, low: list[str], target: Table
    ) -> None:
        projections = []
        for attribute, wanted in target.attributes.items():
            place = low.index(attribute.lower())
            projection = branch.selects[place]
            found = of_type(DataType, projection.meta["cepheid_type"])
            if not (
                is_open(found) or found == wanted or (found in (LONG, PERIOD) and wanted == DOUBLE)
            ):
                fact = f"'{attribute}' is {words(wanted)} in '{target.name}', not {words(found)}"
                hint = (
                    "write CAST(... AS INTEGER), or floor(...)"
                    if wanted == LONG and found == DOUBLE
                    else None
                )
                node = source.expressions[min(place, len(source.expressions) - 1)]
                self.problems.append(error("type-mismatch", fact, self.places.of(node), hint))
                continue
            _recast(branch, place, wanted)
            projections.append(_projected(projection.this, attribute, wanted))
        projections.append(_projected(branch.selects[-1].this, "occ", TIMESTAMP))
        branch.set("expressions", projections)


_OCCURRING = "@occ"


def _projected(node: exp.Expr, label: str, type: DataType) -> exp.Alias:
    found = typed(exp.Alias(this=node, alias=name(label)), type)
    found.meta["cepheid_type"] = type
    return found


def refuse_order(query: exp.Expr, typer: Typer) -> None:
    """Rows of a class have no order, so that nothing may depend on one."""
    for part in _NO_ORDER:
        if query.args.get(part):
            fact = f"{part.upper()}{' BY' if part == 'order' else ''}"
            typer.refuse(fact, query.args[part], "the events of a class have no order")


class _Selects:
    """One SELECT."""

    def __init__(
        self,
        resolver: _Resolver,
        select: exp.Select,
        outer: _Names | None,
        typer: Typer,
        correlates: bool,
    ) -> None:
        self.resolver = resolver
        self.select = select
        self.names = _Names(resolver, outer=outer, correlates=correlates)
        self.typer = typer.within(self.names)

    def resolve(self, time: exp.Expr | None, *, any_columns: bool) -> _Found:
        select, typer = self.select, self.typer
        refuse_order(select, typer)
        rest = {k: v for k, v in select.args.items() if k not in _NO_ORDER}
        typer.knows_parts(
            exp.Select(**{k: v for k, v in rest.items() if k not in _SELECT_PARTS}), frozenset()
        )
        found = exp.Select()
        self._from(found)
        self._clause("WHERE", found, "where", exp.Where)
        groups = self._groups(found)
        projections = self._projections(any_columns)
        if distinct := select.args.get("distinct"):
            if distinct.args.get("on"):
                typer.refuse("DISTINCT ON", distinct)
            found.set("distinct", exp.Distinct())
        self._clause("HAVING", found, "having", exp.Having)
        is_grouped = bool(groups) or self._has_aggregates()
        if time is not None:
            projections.append(self._occurring(time, is_grouped=is_grouped))
        found.set("expressions", projections)
        if is_grouped:
            self._check_groups(found, groups)
        columns = {p.alias: of_type(DataType, p.meta["cepheid_type"]) for p in projections}
        columns.pop(_OCCURRING, None)
        return _Found(found, columns)

    # FROM

    def _from(self, found: exp.Select) -> None:
        from_ = self.select.args.get("from_")
        if from_ is None:
            self.typer.refuse("SELECT without FROM", self.select)
            return
        found.set("from_", exp.From(this=self._source(from_.this)))
        for join in self._all_joins(from_.this):
            found.append("joins", self._join(join))

    def _all_joins(self, first: exp.Expr) -> list[exp.Expr]:
        return [*(first.args.get("joins") or ()), *(self.select.args.get("joins") or ())]

    def _join(self, join: exp.Expr) -> exp.Join:
        side, kind = str(join.args.get("side") or ""), str(join.args.get("kind") or "")
        is_known = side in ("", "LEFT") and kind in ("", "INNER", "CROSS", "OUTER")
        if not is_known or join.args.get("method"):
            words_ = " ".join(filter(None, (str(join.args.get("method") or ""), side, kind)))
            self.typer.refuse(f"{words_} JOIN", join.this, "joins: JOIN, LEFT JOIN, CROSS JOIN")
        self.typer.knows_parts(join, frozenset({"this", "on", "side", "kind", "method"}))
        source, on = self._source(join.this), join.args.get("on")
        if on is None:
            if side == "LEFT":
                self.typer.report("syntax", "LEFT JOIN needs ON", join.this)
            return exp.Join(this=source, kind="CROSS")
        self.names.clause = "ON"
        test = self.typer.condition(on)
        return exp.Join(this=source, on=test, **({"side": "LEFT"} if side else {"kind": "INNER"}))

    def _source(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Table):
            return self._table(node)
        if isinstance(node, exp.Subquery):
            self.typer.knows_parts(node, frozenset({"this", "alias"}))
            return self._derived(node.this, node.alias, node)
        self.typer.refuse(f"{node.key.upper()} in FROM", node)
        return exp.Table(this=name("?"))

    def _table(self, node: exp.Table) -> exp.Expr:
        self.typer.knows_parts(node, frozenset({"this", "alias", "joins"}))
        if not isinstance(node.this, exp.Identifier):
            self.typer.refuse(f"'{node.this.sql()}' in FROM", node)
            return exp.Table(this=name("?"))
        if (cte := self.resolver.ctes.get(node.name.lower())) is not None:
            return self._derived(cte, node.alias or node.name, node)
        table = self.resolver.tables.get(node.name.lower())
        if table is None:
            known = [t.name for t in self.resolver.tables.values()]
            self.typer.report(
                "unknown-class",
                f"no class is called '{node.name}'",
                node.this,
                suggest(node.name, known),
            )
            self._add(_Source(node.alias_or_name, {}, ()), node)
            return exp.Table(this=name("?"))
        self.resolver.reads.setdefault(table.name)
        alias = node.alias or table.name
        columns = {n: t for n, t in ((n, table.find(n)) for n in table.columns) if t}
        self._add(
            _Source(alias, {n: t[1] for n, t in columns.items()}, tuple(table.attributes)), node
        )
        return exp.Table(this=name(table.name), alias=exp.TableAlias(this=name(alias)))

    def _derived(self, query: exp.Expr, alias: str, node: exp.Expr) -> exp.Expr:
        if not alias:
            self.typer.report(
                "syntax", "a derived table needs a name", node, "write (SELECT ...) AS name"
            )
            return exp.Table(this=name("?"))
        bare = query.unnest()
        if not isinstance(bare, exp.Query):
            self.typer.refuse("this in FROM", node)
            return exp.Table(this=name("?"))
        # The sources beside it are not seen by a derived table; those around are refused by name.
        found = self.resolver.query(bare, self.names.outer, self.typer)
        self._add(_Source(alias, found.columns, tuple(found.columns)), node)
        return exp.Subquery(this=found.tree, alias=exp.TableAlias(this=name(alias)))

    def _add(self, source: _Source, node: exp.Expr) -> None:
        if self.names.source(source.alias):
            fact = f"'{source.alias}' stands twice in FROM"
            self.typer.report("duplicate-name", fact, node, "give each a name of its own")
        self.names.sources.append(source)

    # The other clauses

    def _clause(self, label: str, found: exp.Select, part: str, kind: type[exp.Expr]) -> None:
        if clause := self.select.args.get(part):
            self.names.clause = label
            found.set(part, kind(this=self.typer.condition(clause.this)))

    def _groups(self, found: exp.Select) -> list[exp.Expr]:
        group = self.select.args.get("group")
        if group is None:
            return []
        self.typer.knows_parts(group, frozenset({"expressions"}))
        self.names.clause = "GROUP BY"
        groups = []
        for node in group.expressions:
            if isinstance(node, exp.Literal):
                self.typer.refuse("a constant in GROUP BY", node, "name the column")
                continue
            groups.append(self.typer.read(self._by_alias(node))[0])
        found.set("group", exp.Group(expressions=groups))
        return groups

    def _by_alias(self, node: exp.Expr) -> exp.Expr:
        """A group may be named as the column that shows it, where no source has that name."""
        if not isinstance(node, exp.Column) or node.args.get("table") or self.names.knows(node):
            return node
        for projection in self.select.expressions:
            if isinstance(projection, exp.Alias) and projection.alias.lower() == node.name.lower():
                return of_type(exp.Expr, projection.this)
        return node

    def _projections(self, any_columns: bool) -> list[exp.Expr]:
        self.names.clause = "SELECT"
        if any_columns and not self._has_aggregates():
            for node in self.select.expressions:  # EXISTS asks for rows only
                if not _is_star(node):
                    self.typer.read(node.unalias())
            return [_projected(exp.Literal(this="1", is_string=False), "one", LONG)]
        found: dict[str, exp.Expr] = {}
        for node in self.select.expressions:
            for projection in self._projection(node):
                if projection.alias.lower() in (n.lower() for n in found):
                    fact = f"'{projection.alias}' is selected twice"
                    self.typer.report("duplicate-name", fact, node, "rename one with AS")
                found[projection.alias] = projection
        return list(found.values())

    def _projection(self, node: exp.Expr) -> Iterator[exp.Expr]:
        if _is_star(node):
            yield from self._star(node)
            return
        label = node.alias if isinstance(node, exp.Alias) else ""
        inner = node.unalias()
        found, type_ = self.typer.read(inner)
        if not label and isinstance(inner, exp.Column):
            label = inner.name
        if not label:
            self.typer.report("syntax", "this column needs a name", node, "write ... AS name")
            label = "?"
        if type_ == PERIOD:
            found, type_ = seconds(found), DOUBLE
        yield _projected(found, label, type_)

    def _star(self, node: exp.Expr) -> Iterator[exp.Expr]:
        star = node.this if isinstance(node, exp.Column) else node
        if not self.typer.knows_parts(star, frozenset()):
            return
        wanted = node.args["table"].name if isinstance(node, exp.Column) else None
        if wanted and not self.names.source(wanted):
            self.names._unknown_alias(self.typer, node.args["table"])
        for source in self.names.sources:
            if wanted is None or source.alias.lower() == wanted.lower():
                for label in source.starred:
                    type_ = source.columns[label]
                    yield _projected(column(label, type_, source.alias), label, type_)

    def _has_aggregates(self) -> bool:
        parts = [*self.select.expressions, self.select.args.get("having")]
        return bool(self.select.args.get("having")) or any(
            isinstance(n, exp.AggFunc) and not _is_scalar(n)
            for part in parts
            if part is not None
            for n in part.walk(prune=lambda n: isinstance(n, exp.Query))
        )

    def _occurring(self, time: exp.Expr, *, is_grouped: bool) -> exp.Expr:
        self.names.clause = "OCCURRING AT"
        typer = Typer(self.resolver.time_places, self.names, self.resolver.problems)
        wanted = time.copy()
        if not is_grouped:
            wanted = wanted.transform(_only_one)
        found, type_ = typer.read(wanted)
        typer.expect(type_, (TIMESTAMP,), time)
        return _projected(found, _OCCURRING, TIMESTAMP)

    # Groups

    def _check_groups(self, found: exp.Select, groups: list[exp.Expr]) -> None:
        keys = {key.unnest() for key in groups}
        own = {source.alias for source in self.names.sources}
        having = found.args.get("having")
        for part in (*found.selects, *([having.this] if having else ())):
            for node in _outside_of_groups(part, keys, own):
                fact = f"'{node.table}.{node.name}' has several values in a group"
                hint = "add it to GROUP BY, or use an aggregate such as max(...)"
                place = self._place_of(node)
                self.resolver.problems.append(error("not-grouped", fact, place, hint))

    def _place_of(self, node: exp.Column) -> object:
        for place, tree in (
            (self.typer.places, self.select),
            (self.resolver.time_places, None),
        ):
            if tree is None:
                return place.whole
            for part in (*tree.expressions, tree.args.get("having")):
                for written in part.find_all(exp.Column) if part is not None else ():
                    is_same = written.name.lower() == node.name.lower()
                    if is_same and written.table.lower() in ("", node.table.lower()):
                        return place.of(written)
        return None


def _only_one(node: exp.Expr) -> exp.Expr:
    """MAX(fa) of a single row is its own value."""
    if isinstance(node, (exp.Max, exp.Min)) and not node.expressions:
        return exp.Paren(this=node.this)
    return node


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (
        isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    )


def _outside_of_groups(node: exp.Expr, keys: set[exp.Expr], own: set[str]) -> Iterator[exp.Column]:
    """Columns that a row of a group has no single value of."""
    if node.unnest() in keys or isinstance(node, exp.AggFunc):
        return
    if isinstance(node, exp.Column):
        if node.table in own:
            yield node
        return
    for part in node.iter_expressions():
        yield from _outside_of_groups(part, keys, own)


def with_latest(query: ResolvedQuery, columns: Sequence[str]) -> exp.Query:
    """The query with further columns: of each of these hidden ones the latest over the rows of FROM."""
    return _latest(query.tree.copy(), {c: c for c in columns})


def _hidden(columns: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Inside of derived tables they have names that no column of a user has."""
    return {c: f"@{c}" for c in columns}


def _latest(query: exp.Query, labels: Mapping[str, str]) -> exp.Query:
    """Adds the columns under their labels."""
    if isinstance(query, exp.Union):
        return _latest_of_union(query, labels)
    assert isinstance(query, exp.Select)
    if query.args.get("distinct"):
        query.set("distinct", None)
        return _merged(_latest(query, labels), labels)
    sources = [query.args["from_"].this, *(j.this for j in query.args.get("joins") or ())]
    is_outer = [False, *(j.args.get("side") == "LEFT" for j in query.args.get("joins") or ())]
    for source in sources:
        if isinstance(source, exp.Subquery):
            source.set("this", _latest(source.this, _hidden(labels)))
    for plain, label in labels.items():
        found = _greatest(plain, sources, is_outer)
        if _is_group(query):
            found = typed(exp.Max(this=found), TIMESTAMP)
        query.append("expressions", typed(exp.Alias(this=found, alias=name(label)), TIMESTAMP))
    return query


def _is_group(query: exp.Select) -> bool:
    return bool(query.args.get("group") or query.args.get("having")) or any(
        isinstance(n, exp.AggFunc)
        for p in query.selects
        for n in p.walk(prune=lambda n: isinstance(n, exp.Query))
    )


def _greatest(plain: str, sources: list[exp.Expr], is_outer: list[bool]) -> exp.Expr:
    """Rows that an outer join does not find have no time; the first source always has one."""
    times: list[exp.Expr] = []
    for source, may_miss in zip(sources, is_outer, strict=True):
        label = f"@{plain}" if isinstance(source, exp.Subquery) else plain
        time: exp.Expr = column(label, TIMESTAMP, source.alias)
        if may_miss:
            time = typed(exp.Coalesce(this=time, expressions=[times[0].copy()]), TIMESTAMP)
        times.append(time)
    if len(times) == 1:
        return times[0]
    found = typed(exp.Greatest(this=times[0], expressions=times[1:], ignore_nulls=True), TIMESTAMP)
    found.meta["never_null"] = True
    return found


def _latest_of_union(query: exp.Union, labels: Mapping[str, str]) -> exp.Query:
    sides = {part: _latest(query.args[part].unnest(), labels) for part in ("this", "expression")}
    found = exp.Union(**sides, distinct=False)
    return _merged(found, labels) if query.args.get("distinct") else found


def _merged(query: exp.Query, labels: Mapping[str, str]) -> exp.Query:
    """Equal rows become one, with the latest of the added columns."""
    kept = [p for p in query.selects if p.alias not in labels.values()]
    keys = [_output(p) for p in kept]
    added = [p for p in query.selects if p.alias in labels.values()]
    projections = [
        *(typed(exp.Alias(this=k, alias=name(k.name)), ANY) for k in keys),
        *(
            typed(
                exp.Alias(this=typed(exp.Max(this=_output(p)), TIMESTAMP), alias=name(p.alias)),
                TIMESTAMP,
            )
            for p in added
        ),
    ]
    inner = exp.Subquery(this=query, alias=exp.TableAlias(this=name(_ROWS)))
    found = exp.Select(expressions=projections, from_=exp.From(this=inner))
    found.set("group", exp.Group(expressions=[k.copy() for k in keys]))
    return found


_ROWS = "@rows"


def _output(projection: exp.Expr) -> exp.Column:
    found = exp.Column(this=name(projection.alias), table=name(_ROWS))
    found.type = projection.type
    return found
