"""What names stand for in a SELECT: columns of its sources, the sources themselves, subqueries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from sqlglot import exp

from cepheid.core.types import ANY, BOOLEAN, DOUBLE, LONG, NULL, DataType, is_open
from cepheid.errors import Span, suggest
from cepheid.sql.nodes import cast, column, type_of, typed, words, wrapped
from cepheid.sql.places import at_place_of
from cepheid.sql.typer import Typed, Typer, as_type

# Where rows stand in groups, so that aggregates make sense.
_OF_GROUPS = ("SELECT", "HAVING", "OCCURRING AT")


Attribute: TypeAlias = tuple[str, str]  # a class, and the name of an attribute of it


class Queries(Protocol):
    """Resolves a query that stands inside of another one, and keeps in mind what is named."""

    named: dict[Attribute, Span]

    def inner(self, query: exp.Query, outer: Names, *, asks_rows_only: bool) -> exp.Query: ...


@dataclass(frozen=True, slots=True)
class Source:
    """What an alias in FROM stands for: a class, or a derived table."""

    alias: str
    columns: Mapping[str, DataType]
    starred: tuple[str, ...]  # what `*` stands for
    origins: Mapping[str, tuple[Attribute, ...]]  # of columns that no one has named before

    def find(self, wanted: str) -> tuple[str, DataType] | None:
        low = wanted.lower()
        return next(((n, t) for n, t in self.columns.items() if n.lower() == low), None)


@dataclass(slots=True)
class Names:
    """The names that a SELECT sees: its sources, then those of the query around it.

    `clause` is the one that is being read; `is_grouped` says that rows stand for groups.
    """

    queries: Queries
    outer: Names | None = None
    sources: list[Source] = field(default_factory=list)
    clause: str = "FROM"
    is_grouped: bool = False

    def source(self, alias: str) -> Source | None:
        return next((s for s in self.sources if s.alias.lower() == alias.lower()), None)

    def knows(self, node: exp.Column) -> bool:
        """Whether this query, or one around it, has what a column names."""
        alias = node.table or node.name
        here = self.source(alias) is not None
        here = here or (not node.table and any(s.find(node.name) for s in self.sources))
        return here or (self.outer is not None and self.outer.knows(node))

    # Columns

    def column(self, typer: Typer, node: exp.Column) -> Typed:
        if isinstance(node.this, exp.Star):
            return typer.report("syntax", "'*' stands for columns only after SELECT", node)
        if not node.table:
            return self._bare(typer, node)
        source = self.source(node.table)
        if source is None:
            return self._outside(typer, node) or self.unknown_source(typer, node.args["table"])
        found = source.find(node.name)
        if found is None:
            fact = f"'{node.table}' has no attribute '{node.name}'"
            hint = suggest(node.name, source.columns)
            return typer.report("unknown-attribute", fact, node.this, hint)
        return self._named(typer, node, source, *found)

    def _named(
        self, typer: Typer, node: exp.Column, source: Source, label: str, type: DataType
    ) -> Typed:
        for attribute in source.origins.get(label, ()):
            self.queries.named.setdefault(attribute, typer.places.of(node))
        return column(label, type, source.alias), type

    def unknown_source(self, typer: Typer, alias: exp.Expr) -> Typed:
        hint = suggest(alias.name, [s.alias for s in self.sources])
        return typer.report(
            "unknown-name", f"nothing in FROM is called '{alias.name}'", alias, hint
        )

    def _bare(self, typer: Typer, node: exp.Column) -> Typed:
        """A column of one of the sources, or a source, which stands for its time."""
        if node.name.upper() == "NOW":
            hint = "conditions of statements may compare with NOW"
            fact = "NOW cannot stand in the query of a class"
            return typer.report("misplaced-now", fact, node, hint)
        found = [(s, column_) for s in self.sources if (column_ := s.find(node.name))]
        source = self.source(node.name)
        if source and (time := source.find("occ")):
            found.append((source, time))
        if len(found) > 1:
            meanings = " or ".join(f"{s.alias}.{label}" for s, (label, _) in found)
            return typer.report("ambiguous-name", f"'{node.name}' may be {meanings}", node)
        if found:
            holder, (label, type_) = found[0]
            return self._named(typer, node, holder, label, type_)
        return self._outside(typer, node) or self._unknown(typer, node)

    def _unknown(self, typer: Typer, node: exp.Column) -> Typed:
        if self.source(node.name) is not None:
            fact = f"'{node.name}' is a query, which has no time of its own"
            how = f"select a time in it, and write {node.name} and a dot before its name"
            return typer.report("unknown-name", fact, node, how)
        known = [n for s in self.sources for n in (s.alias, *s.columns)]
        hint = suggest(node.name, known)
        return typer.report("unknown-name", f"nothing in FROM has '{node.name}'", node, hint)

    def _outside(self, typer: Typer, node: exp.Column) -> Typed | None:
        """A column of the query around this one; engines know them in WHERE, one level up."""
        if self.outer is None or not self.outer.knows(node):
            return None
        has_it = self.outer.without_outer().knows(node)
        if self.clause != "WHERE" or not has_it:
            hint = "a subquery names columns of the query directly around it, in its WHERE"
            return typer.refuse("a column of the query around this one", node, hint)
        return self.outer.column(typer.within(self.outer), node)

    def without_outer(self) -> Names:
        return Names(self.queries, None, self.sources, self.clause)

    # Everything else

    def call(self, typer: Typer, node: exp.Anonymous) -> Typed | None:
        return None

    def format(self, typer: Typer, node: exp.Expr) -> Typed:
        return typer.refuse("format in a query", node, "arguments of actions may use it")

    def compare(self, typer: Typer, node: exp.Expr) -> Typed | None:
        return None

    def aggregate(self, typer: Typer, node: exp.Expr) -> bool:
        what = typer.places.word(node) or node.key.upper()
        if self.clause not in _OF_GROUPS:
            fact = f"'{what}' needs a group of rows; {self.clause} has single ones"
            typer.report("misplaced-aggregate", fact, node, "use HAVING, or a subquery")
            return False
        if any(is_aggregate(n) for n in node.walk() if n is not node):
            typer.report("nested-aggregate", f"'{what}' has an aggregate inside", node)
            return False
        return True

    def subquery(self, typer: Typer, node: exp.Expr) -> Typed:
        found, type_ = self._subquery(typer, node)
        at_place_of(found, node)
        return found, type_

    def _subquery(self, typer: Typer, node: exp.Expr) -> Typed:
        if isinstance(node, exp.Exists):
            return self._exists(typer, node)
        if isinstance(node, exp.In):
            return self._in(typer, node)
        return self._scalar(typer, node)

    # Subqueries, as far as all engines agree on them

    def _inner(
        self, typer: Typer, node: exp.Expr, *, asks_rows_only: bool = False
    ) -> exp.Query | None:
        query = node.unnest()
        if not isinstance(query, exp.Query):
            typer.refuse("this kind of subquery", node)
            return None
        return self.queries.inner(query, self, asks_rows_only=asks_rows_only)

    def _is_filter(self, typer: Typer, node: exp.Expr, what: str) -> bool:
        if self.clause in ("WHERE", "HAVING"):
            return True
        typer.refuse(f"{what} in {self.clause}", node, "write it in WHERE")
        return False

    def _exists(self, typer: Typer, node: exp.Expr) -> Typed:
        if not self._is_filter(typer, node, "EXISTS"):
            return exp.Null(), ANY
        inner = self._inner(typer, node.this, asks_rows_only=True)
        return (exp.Exists(this=inner), BOOLEAN) if inner else (exp.Null(), ANY)

    def _in(self, typer: Typer, node: exp.Expr) -> Typed:
        query = node.args["query"]
        if not self._is_filter(typer, node, "IN with a subquery"):
            return exp.Null(), ANY
        value, type_ = typer.read(node.this)
        inner = self._inner(typer, query)
        if inner is None or not _has_one_column(typer, inner, query):
            return exp.Null(), ANY
        found = type_of(inner.selects[0])
        common = common_type(type_, found)
        if common is None:
            fact = f"{words(type_)} cannot be among values that are each {words(found)}"
            return typer.report("type-mismatch", fact, node)
        recast(inner, 0, common)
        value = wrapped(as_type(value, type_, common))
        return exp.In(this=value, query=exp.Subquery(this=inner)), BOOLEAN

    def _scalar(self, typer: Typer, node: exp.Expr) -> Typed:
        inner = self._inner(typer, node.this)
        if inner is None or not _has_one_column(typer, inner, node):
            return exp.Null(), ANY
        is_plain = isinstance(inner, exp.Select) and not (
            inner.args.get("group") or inner.args.get("having") or inner.args.get("distinct")
        )
        if not is_plain or not has_aggregate(inner.selects[0]):
            hint = "select one aggregate without GROUP BY, such as max(...)"
            return typer.refuse("a value from a subquery of several rows", node, hint)
        if self.clause in ("ON", "GROUP BY"):
            return typer.refuse(f"a subquery in {self.clause}", node, "write it in WHERE")
        if self.is_grouped and self.clause != "HAVING" and _is_correlated(inner):
            hint = "group in a derived table, and select from that"
            return typer.refuse("a subquery that names columns of a group", node, hint)
        return exp.Subquery(this=inner), type_of(inner.selects[0])


def _is_correlated(query: exp.Query) -> bool:
    """Whether a subquery names columns of the query around it."""
    own = {source.alias for source in query.find_all(exp.Table, exp.Subquery)}
    return any(node.table not in own for node in query.find_all(exp.Column))


def _has_one_column(typer: Typer, query: exp.Query, node: exp.Expr) -> bool:
    if len(query.selects) == 1:
        return True
    typer.report("wrong-arguments", "this subquery needs exactly one column", node)
    return False


def is_aggregate(node: exp.Expr) -> bool:
    """MAX and MIN of several values are none."""
    is_scalar = isinstance(node, (exp.Max, exp.Min)) and bool(node.expressions)
    return isinstance(node, exp.AggFunc) and not is_scalar


def has_aggregate(node: exp.Expr) -> bool:
    """Whether an aggregate of this query, and not of a subquery, stands in an expression."""
    return any(map(is_aggregate, node.walk(prune=lambda n: isinstance(n, exp.Query))))


def common_type(a: DataType, b: DataType) -> DataType | None:
    """The type of columns that hold values of both."""
    if a == b or is_open(b):
        return a
    if is_open(a):
        return b
    return DOUBLE if {a, b} == {LONG, DOUBLE} else None


def branches(query: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs of a chain of UNIONs, in the order of the text."""
    bare = query.unnest()
    if isinstance(bare, exp.SetOperation):
        yield from branches(bare.this)
        yield from branches(bare.expression)
    elif isinstance(bare, exp.Select):
        yield bare


def recast(query: exp.Query, place: int, wanted: DataType) -> None:
    """Makes a column of a query one of a type that holds it."""
    for select in branches(query):
        projection = select.selects[place]
        found = type_of(projection)
        if found == NULL and wanted != NULL:
            projection.set("this", cast(projection.this, wanted))
        else:
            projection.set("this", as_type(projection.this, found, wanted))
        typed(projection, wanted)
