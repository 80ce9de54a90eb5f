"""Queries of complex classes: names, types and shapes that every engine computes equally."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from cepheid.core.types import BOOLEAN, DOUBLE, LONG, TIMESTAMP, DataType, is_open
from cepheid.errors import Diagnostic, ProgramError, Span, error, suggest
from cepheid.sql.dialect import parse_select, parse_time, too_deep
from cepheid.sql.latest import latest
from cepheid.sql.names import (
    Attribute,
    Names,
    Source,
    branches,
    common_type,
    has_aggregate,
    recast,
)
from cepheid.sql.nodes import (
    PERIOD,
    all_of,
    both,
    column,
    name,
    projected,
    type_of,
    typed,
    whole,
    words,
    wrapped,
)
from cepheid.sql.places import Places, at_place_of
from cepheid.sql.tables import Table
from cepheid.sql.text import Sql
from cepheid.sql.typer import Typer, seconds

_UNNAMED = "@"  # no name of a user begins with it
_OCCURRING = "@occ"
_ORIGINS = "origins"  # what a projection knows of itself
_IN_FROM = "FROM has classes and (SELECT ...) AS name, joined by commas or JOIN"
_PARTS = frozenset(
    {"expressions", "from_", "joins", "where", "group", "having", "distinct", "with_"}
)
_UNION_PARTS = frozenset({"this", "expression", "distinct", "with_"})
_ORDERS = {
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
}


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedQuery:
    """A query whose names are resolved and whose types fit.

    Every column has the alias of its source, every node its type; the projections are the target's
    attributes in their order, then `occ`. `reads` are the classes, in the order of the text.
    `named` are the attributes of classes that stand in the text, each with its first place; `handed_on`
    says which attributes a `*` makes attributes of the target, by the names of these.
    """

    tree: exp.Query
    reads: tuple[str, ...]
    named: Mapping[Attribute, Span]
    handed_on: Mapping[str, tuple[Attribute, ...]]


def resolve_query(
    select: Sql, occurring: Sql, tables: Mapping[str, Table], target: Table
) -> tuple[ResolvedQuery | None, list[Diagnostic]]:
    """The query of a complex class, or all that is wrong with it."""
    try:
        query, time = parse_select(select), parse_time(occurring)
        resolver = _Resolver(select, occurring, tables)
        tree = resolver.top(query, time, target)
    except ProgramError as problem:
        return None, list(problem.diagnostics)
    except RecursionError:
        return None, [too_deep(Places(select))]
    problems = list(dict.fromkeys(resolver.problems))
    if problems:
        return None, problems
    handed_on = resolver.handed_on
    return ResolvedQuery(tree, tuple(resolver.reads), resolver.named, handed_on), []


def with_latest(query: ResolvedQuery, columns: Sequence[str]) -> exp.Query:
    """The query with further columns: of each of these hidden ones the latest over FROM.

    In grouped queries that is over all rows of the group. Rows that DISTINCT or UNION make one have
    the latest of them.
    """
    return latest(query.tree.copy(), columns)


class _Resolver:
    """All queries of one text."""

    def __init__(self, select: Sql, occurring: Sql, tables: Mapping[str, Table]) -> None:
        self.places = Places(select)
        self.time_places = Places(occurring)
        self.tables = {table.name.lower(): table for table in tables.values()}
        self.problems: list[Diagnostic] = []
        self.reads: dict[str, None] = {}
        self.withs: dict[str, exp.Expr] = {}
        self.named: dict[Attribute, Span] = {}
        self.handed_on: Mapping[str, tuple[Attribute, ...]] = {}

    def top(self, query: exp.Query, time: exp.Expr, target: Table) -> exp.Query:
        found = self.query(query, None, time)
        self.check_labels(found)
        if not self.problems:
            low = {label.lower(): origins for label, origins in _starred(found).items()}
            self.handed_on = {label: low.get(label.lower(), ()) for label in target.attributes}
            _Fit(self, target).fit(found)
        return found

    def check_labels(self, query: exp.Query) -> None:
        """Columns that others name need names of their own."""
        typer, labels = self.typer(Names(self)), set[str]()
        for projection in next(branches(query)).selects:
            label = projection.alias.lower()
            if label in labels:
                fact = f"'{projection.alias}' is selected twice"
                typer.report("duplicate-name", fact, projection, "rename one with AS")
            elif label.startswith(_UNNAMED) and label != _OCCURRING:
                typer.report("syntax", "this column needs a name", projection, "write ... AS name")
            labels.add(label)

    def inner(self, query: exp.Query, outer: Names, *, asks_rows_only: bool) -> exp.Query:
        return self.query(query, outer, asks_rows_only=asks_rows_only)

    def typer(self, names: Names) -> Typer:
        return Typer(self.places, names, self.problems)

    def query(
        self,
        query: exp.Query,
        outer: Names | None,
        time: exp.Expr | None = None,
        *,
        asks_rows_only: bool = False,
    ) -> exp.Query:
        """A SELECT, or UNIONs of them; only those of the outermost query have a time."""
        typer = self.typer(Names(self, outer))
        bare = query.unnest()
        around = dict(self.withs)
        self._read_with(bare, typer)
        found: exp.Query
        if isinstance(bare, exp.Select):
            found = _Selecting(self, bare, outer).resolve(time, asks_rows_only=asks_rows_only)
        elif isinstance(bare, exp.Union):
            sides = [
                self.query(side, outer, time, asks_rows_only=asks_rows_only)
                for side in (bare.this, bare.expression)
            ]
            found = self._union(bare, sides[0], sides[1], typer)
        else:
            hint = "write NOT EXISTS" if isinstance(bare, exp.Except) else None
            typer.refuse(f"'{bare.key.upper()}'", bare, hint)
            found = exp.Select()
        self.withs = around
        return found

    def _read_with(self, query: exp.Expr, typer: Typer) -> None:
        """WITH: its queries stand where their names do."""
        clause = query.args.get("with_")
        if clause is None:
            return
        if clause.args.get("recursive"):
            typer.refuse("WITH RECURSIVE", clause)
        for part in clause.expressions:
            if part.args["alias"].args.get("columns"):
                typer.refuse("a list of columns after WITH", part, "name them in its SELECT")
            self.withs[part.alias.lower()] = part.this

    def _union(self, node: exp.Union, left: exp.Query, right: exp.Query, typer: Typer) -> exp.Query:
        refuse_order(node, typer)
        typer.knows_parts(node, _UNION_PARTS | _ORDERS.keys())
        sizes = [len([p for p in side.selects if p.alias != _OCCURRING]) for side in (left, right)]
        if sizes[0] != sizes[1]:
            fact = f"one side of UNION has {sizes[0]} columns, the other {sizes[1]}"
            typer.report("wrong-arguments", fact, node.expression)
            return left
        for place, (one, other) in enumerate(zip(left.selects, right.selects, strict=True)):
            a, b = type_of(one), type_of(other)
            common = common_type(a, b)
            if common is None:
                fact = f"'{one.alias}' is {words(a)} on one side of UNION, on the other {words(b)}"
                typer.report("type-mismatch", fact, node.expression)
                continue
            for side in (left, right):
                recast(side, place, common)
            for select in branches(right):
                select.selects[place].set("alias", name(one.alias))
        return exp.Union(this=left, expression=right, distinct=bool(node.args.get("distinct")))


def refuse_order(query: exp.Expr, typer: Typer) -> None:
    for part, words_ in _ORDERS.items():
        if query.args.get(part):
            typer.refuse(words_, query.args[part], "the events of a class have no order")


def _require_rows(select: exp.Select) -> None:
    """An aggregate of no rows is made of nothing, and is no event."""
    count = typed(exp.Count(this=exp.Star()), LONG)
    are_any = both(count, whole(0), exp.GT, BOOLEAN)
    having = select.args.get("having")
    found = are_any if having is None else all_of(wrapped(having.this), are_any)
    select.set("having", exp.Having(this=found))


class _Fit:
    """Gives the query the columns of its class."""

    def __init__(self, resolver: _Resolver, target: Table) -> None:
        self.places = resolver.places
        self.problems = resolver.problems
        self.target = target

    def fit(self, tree: exp.Query) -> None:
        """Orders and names the projections; reports what is missing, too much, or of a wrong type."""
        columns = [p for p in tree.selects if p.alias != _OCCURRING]
        wanted = {label.lower() for label in self.target.attributes}
        extra = [p for p in columns if p.alias.lower() not in wanted]
        for column_ in extra:
            fact = f"'{self.target.name}' has no attribute '{column_.alias}'"
            hint = suggest(column_.alias, self.target.attributes)
            self._report("unknown-attribute", fact, column_, hint)
        if self._misses(columns) or extra:
            return
        for select in branches(tree):
            self._fit(select)

    def _misses(self, columns: list[exp.Expr]) -> bool:
        labels = [p.alias for p in columns]
        low = {label.lower() for label in labels}
        missing = [f"'{label}'" for label in self.target.attributes if label.lower() not in low]
        if missing:
            fact = f"the query does not select {', '.join(missing)} of '{self.target.name}'"
            hint = f"it selects {', '.join(labels)}" if labels else None
            place = columns[0] if columns else exp.Select()
            self._report("missing-column", fact, place, hint)
        return bool(missing)

    def _fit(self, select: exp.Select) -> None:
        found = {p.alias.lower(): (place, p) for place, p in enumerate(select.selects)}
        columns = []
        for attribute, wanted in self.target.attributes.items():
            place, projection = found[attribute.lower()]
            if self._fits(projection, attribute, wanted):
                recast(select, place, wanted)
                columns.append(projected(projection.this, attribute, wanted))
        columns.append(projected(select.selects[-1].this, "occ", TIMESTAMP))
        select.set("expressions", columns)

    def _fits(self, projection: exp.Expr, attribute: str, wanted: DataType) -> bool:
        found = type_of(projection)
        if is_open(found) or found == wanted or (found, wanted) == (LONG, DOUBLE):
            return True
        fact = f"'{attribute}' is {words(wanted)} in '{self.target.name}', not {words(found)}"
        is_whole = (found, wanted) == (DOUBLE, LONG)
        hint = "write CAST(... AS INTEGER), or floor(...)" if is_whole else None
        self._report("type-mismatch", fact, projection, hint)
        return False

    def _report(self, code: str, fact: str, node: exp.Expr, hint: str | None) -> None:
        self.problems.append(error(code, fact, self.places.of(node), hint))


class _Selecting:
    """One SELECT."""

    def __init__(self, resolver: _Resolver, select: exp.Select, outer: Names | None) -> None:
        self.resolver = resolver
        self.select = select
        self.names = Names(resolver, outer, is_grouped=self.is_grouped)
        self.typer = resolver.typer(self.names)

    def resolve(self, time: exp.Expr | None, *, asks_rows_only: bool) -> exp.Select:
        refuse_order(self.select, self.typer)
        self.typer.knows_parts(self.select, _PARTS | _ORDERS.keys())
        found = exp.Select()
        self._from(found)
        self._filter("where", exp.Where, found)
        groups = self._groups(found)
        columns = self._rows_only() if asks_rows_only else self._projections()
        self._distinct(found)
        self._filter("having", exp.Having, found)
        is_grouped = self.is_grouped
        if time is not None:
            columns.append(self._occurring(time, is_grouped=is_grouped))
            if is_grouped and not self.select.args.get("group"):
                _require_rows(found)
        found.set("expressions", columns)
        if is_grouped and not self.resolver.problems:
            self._check_groups(found, groups)
        return found

    @property
    def is_grouped(self) -> bool:
        has_clause = bool(self.select.args.get("group") or self.select.args.get("having"))
        return has_clause or any(map(has_aggregate, self.select.expressions))

    # FROM

    def _from(self, found: exp.Select) -> None:
        clause = self.select.args.get("from_")
        if clause is None:
            self._stop("unsupported-sql", "SELECT without FROM is not supported", self.select)
        found.set("from_", exp.From(this=self._source(clause.this)))
        joins = [
            *(clause.this.args.get("joins") or ()),
            *(self.select.args.get("joins") or ()),
        ]
        for join in joins:
            found.append("joins", self._join(join))

    def _join(self, join: exp.Expr) -> exp.Join:
        """A comma is a CROSS JOIN: so all joins are read from left to right, by all engines."""
        method, side, kind = (str(join.args.get(part) or "") for part in ("method", "side", "kind"))
        if method or side not in ("", "LEFT") or kind not in ("", "INNER", "CROSS", "OUTER"):
            said = " ".join(filter(None, (method, side, kind)))
            self.typer.refuse(f"{said} JOIN", join.this, "joins: JOIN, LEFT JOIN, CROSS JOIN")
        parts = frozenset({"this", "on", "method", "side", "kind"})
        self.typer.knows_parts(join, parts)
        source, on = self._source(join.this), join.args.get("on")
        if on is None:
            if side == "LEFT":
                self.typer.report("syntax", "LEFT JOIN needs ON", join.this)
            return exp.Join(this=source, kind="CROSS")
        self.names.clause = "ON"
        test = self.typer.condition(on)
        if side:
            return exp.Join(this=source, on=test, side="LEFT")
        return exp.Join(this=source, on=test, kind="INNER")

    def _source(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            self.typer.knows_parts(node, frozenset({"this", "alias", "joins"}))
            if query := self.resolver.withs.get(node.name.lower()):
                return self._derived(query, node.alias_or_name, node)
            return self._class(node)
        if isinstance(node, exp.Subquery):
            self.typer.knows_parts(node, frozenset({"this", "alias", "joins"}))
            return self._derived(node.this, node.alias, node)
        return self._stop("unsupported-sql", "this is not supported in FROM", node, _IN_FROM)

    def _stop(self, code: str, fact: str, node: exp.Expr, hint: str | None = None) -> NoReturn:
        """Without its sources nothing more can be said of a query."""
        found = error(code, fact, self.typer.places.of(node), hint)
        raise ProgramError(*dict.fromkeys([*self.resolver.problems, found]))

    def _class(self, node: exp.Table) -> exp.Expr:
        table = self.resolver.tables.get(node.name.lower())
        if table is None:
            hint = suggest(node.name, [t.name for t in self.resolver.tables.values()])
            self._stop("unknown-class", f"no class is called '{node.name}'", node.this, hint)
        self.resolver.reads.setdefault(table.name)
        alias = node.alias or table.name
        origins = {label: ((table.name, label),) for label in table.attributes}
        self._add(Source(alias, table.held, tuple(table.attributes), origins), node)
        return exp.Table(this=name(table.name), alias=exp.TableAlias(this=name(alias)))

    def _derived(self, query: exp.Expr, alias: str, node: exp.Expr) -> exp.Expr:
        bare = query.unnest()
        if not isinstance(bare, exp.Query):
            self._stop("unsupported-sql", "this is not supported in FROM", node, _IN_FROM)
        if not alias:
            self._stop("syntax", "a derived table needs a name", node, "write (SELECT ...) AS name")
        found = self.resolver.query(bare, self.names.outer)
        self.resolver.check_labels(found)
        columns = {p.alias: type_of(p) for p in found.selects}
        self._add(Source(alias, columns, tuple(columns), _starred(found)), node)
        source = exp.Subquery(this=found, alias=exp.TableAlias(this=name(alias)))
        at_place_of(source, node)
        return source

    def _add(self, source: Source, node: exp.Expr) -> None:
        alias = node.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            self.typer.refuse("a list of columns after a name", node)
        if self.names.source(source.alias):
            fact = f"'{source.alias}' stands twice in FROM"
            self.typer.report("duplicate-name", fact, node, "give each its own name with AS")
        self.names.sources.append(source)

    # The other clauses

    def _filter(self, part: str, kind: type[exp.Expr], found: exp.Select) -> None:
        if clause := self.select.args.get(part):
            self.names.clause = part.upper()
            found.set(part, kind(this=self.typer.condition(clause.this)))

    def _distinct(self, found: exp.Select) -> None:
        if clause := self.select.args.get("distinct"):
            self.typer.knows_parts(clause, frozenset())
            found.set("distinct", exp.Distinct())

    def _groups(self, found: exp.Select) -> list[exp.Expr]:
        clause = self.select.args.get("group")
        if clause is None:
            return []
        self.typer.knows_parts(clause, frozenset({"expressions"}))
        self.names.clause = "GROUP BY"
        groups = []
        for node in clause.expressions:
            if isinstance(node, exp.Literal):
                self.typer.refuse("a constant in GROUP BY", node, "name the column")
            else:
                groups.append(self.typer.read(self._by_label(node))[0])
        found.set("group", exp.Group(expressions=groups))
        return groups

    def _by_label(self, node: exp.Expr) -> exp.Expr:
        """A group may be named as the column that shows it, where no source has that name."""
        if isinstance(node, exp.Column) and not node.table and not self.names.knows(node):
            for projection in self.select.expressions:
                is_it = projection.alias.lower() == node.name.lower()
                if isinstance(projection, exp.Alias) and is_it:
                    shown: exp.Expr = projection.this
                    return shown
        return node

    def _rows_only(self) -> list[exp.Expr]:
        """EXISTS asks whether there are rows, whatever they show."""
        if self.is_grouped:
            self.typer.refuse("an aggregate, or groups, in EXISTS", self.select)
        self.names.clause = "SELECT"
        for node in self.select.expressions:
            if not _is_star(node):
                self.typer.read(node.unalias())
        return [projected(exp.Literal(this="1", is_string=False), "one", LONG)]

    def _projections(self) -> list[exp.Expr]:
        self.names.clause = "SELECT"
        found: list[exp.Expr] = []
        for node in self.select.expressions:
            columns = self._star(node) if _is_star(node) else [self._projection(node, len(found))]
            for projection in columns:
                at_place_of(projection, node)
                found.append(projection)
        return found

    def _projection(self, node: exp.Expr, place: int) -> exp.Expr:
        inner = node.unalias()
        found, type_ = self.typer.read(inner)
        label = node.alias if isinstance(node, exp.Alias) else ""
        if not label and isinstance(inner, exp.Column):
            label = inner.name
        if type_ == PERIOD:
            found, type_ = seconds(found), DOUBLE
        return projected(found, label or f"{_UNNAMED}{place}", type_)

    def _star(self, node: exp.Expr) -> Iterator[exp.Expr]:
        """All attributes: the implicit times are named where they are wanted."""
        star = node.this if isinstance(node, exp.Column) else node
        self.typer.knows_parts(star, frozenset())
        alias = node.args.get("table")
        if alias is not None and not self.names.source(alias.name):
            self.names.unknown_source(self.typer, alias)
        for source in self.names.sources:
            if alias is None or source.alias.lower() == alias.name.lower():
                for label in source.starred:
                    type_: DataType = source.columns[label]
                    found = projected(column(label, type_, source.alias), label, type_)
                    found.meta[_ORIGINS] = source.origins.get(label, ())
                    yield found

    def _occurring(self, time: exp.Expr, *, is_grouped: bool) -> exp.Expr:
        self.names.clause = "OCCURRING AT"
        typer = Typer(self.resolver.time_places, self.names, self.resolver.problems)
        found, type_ = typer.read(time if is_grouped else time.copy().transform(_of_one_row))
        typer.expect(type_, (TIMESTAMP,), time)
        return projected(found, _OCCURRING, TIMESTAMP)

    # Groups

    def _check_groups(self, found: exp.Select, groups: list[exp.Expr]) -> None:
        keys = {key.unnest() for key in groups}
        aliases = {source.alias for source in self.names.sources}
        having = found.args.get("having")
        for part in (*found.selects, *([having.this] if having else ())):
            for node in _ungrouped(part, keys, aliases):
                fact = f"'{node.table}.{node.name}' may have several values in a group"
                hint = "add it to GROUP BY, or use an aggregate such as max(...)"
                place = self._place(node, is_time=part.alias == _OCCURRING)
                self.resolver.problems.append(error("not-grouped", fact, place, hint))

    def _place(self, node: exp.Column, *, is_time: bool) -> Span:
        """Where a resolved column was written."""
        if is_time:
            return self.resolver.time_places.whole
        parts = [*self.select.expressions, self.select.args.get("having")]
        for part in filter(None, parts):
            for written in part.find_all(exp.Column):
                is_it = written.name.lower() in (node.name.lower(), node.table.lower())
                if is_it and written.table.lower() in ("", node.table.lower()):
                    return self.typer.places.of(written)
        return self.typer.places.of(self.select)


def _of_one_row(node: exp.Expr) -> exp.Expr:
    """MAX(fa) of a single row is its own value."""
    if isinstance(node, (exp.Max, exp.Min)) and not node.expressions:
        return exp.Paren(this=node.this)
    return node


def _starred(query: exp.Query) -> dict[str, tuple[Attribute, ...]]:
    """The columns of a query that a `*` stands for, each with the attributes that it shows."""
    found: dict[str, tuple[Attribute, ...]] = {}
    for select in branches(query):
        for projection in select.selects:
            origins = projection.meta.get(_ORIGINS, ())
            found[projection.alias] = (*found.get(projection.alias, ()), *origins)
    return found


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (
        isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    )


def _ungrouped(node: exp.Expr, keys: set[exp.Expr], aliases: set[str]) -> Iterator[exp.Column]:
    """Columns outside of aggregates and groups."""
    if node.unnest() in keys or isinstance(node, exp.AggFunc):
        return
    if isinstance(node, exp.Column):
        if node.table in aliases:
            yield node
        return
    for part in node.iter_expressions():
        yield from _ungrouped(part, keys, aliases)
