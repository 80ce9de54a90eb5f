"""What the columns of a query's rows determine: by equalities, and because a key has one event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

from cepheid.program.resolved import ResolvedClass
from cepheid.sql.selects import Source, conditions, sources

Name = tuple[str, str]  # an alias and a column


class Determined:
    """The columns of a SELECT that follow from some of them."""

    def __init__(
        self,
        select: exp.Select,
        classes: Mapping[str, ResolvedClass],
        start: Iterable[exp.Expr],
    ) -> None:
        self._select = select
        self._classes = classes
        self._sources = sources(select)
        self.known: set[Name] = set()
        for expression in start:
            if (name := name_of(expression)) is not None:
                self.known.add(name)
        equal = [_equal(condition) for condition in conditions(select)]
        self._equal = [pair for pair in equal if pair is not None]
        self._follow()

    def _follow(self) -> None:
        size = -1
        while size != len(self.known):
            size = len(self.known)
            for one, other in self._equal:
                for left, right in ((one, other), (other, one)):
                    name = name_of(left)
                    if name is not None and self.has(right):
                        self.known.add(name)
            for source in self._sources:
                if self.is_whole(source):
                    self.known |= {(source.alias, name) for name in self._columns(source)}

    def _columns(self, source: Source) -> Iterable[str]:
        found = self._classes.get(source.table or "")
        return found.table.columns if found is not None else ()

    def is_whole(self, source: Source) -> bool:
        """Whether one event of it is determined: its key is."""
        found = self._classes.get(source.table or "")
        if found is None:
            return False
        return all((source.alias, name) in self.known for name in found.declared.key)

    def has(self, expression: exp.Expr) -> bool:
        """Whether all columns of an expression are determined."""
        if expression.find(exp.Query):
            return False
        return all((c.table, c.name) in self.known for c in expression.find_all(exp.Column))

    def open_source(self, expression: exp.Expr) -> str | None:
        """The alias of an event that gives a value, and is not determined."""
        if expression.find(exp.Query):
            return None
        whole = [exp.column(n, table=s.alias) for s in self._whole for n in self._columns(s)]
        known = Determined(self._select, self._classes, whole).known
        columns = expression.find_all(exp.Column)
        return next((c.table for c in columns if (c.table, c.name) not in known), None)

    @property
    def _whole(self) -> list[Source]:
        return [source for source in self._sources if self.is_whole(source)]

    @property
    def open_sources(self) -> list[str]:
        return [source.alias for source in self._sources if not self.is_whole(source)]


def name_of(expression: exp.Expr) -> Name | None:
    """The column that an expression is, perhaps in another type that holds it."""
    bare = expression.unalias()
    while isinstance(bare, exp.Paren | exp.Cast):
        bare = bare.this
    return (bare.table, bare.name) if isinstance(bare, exp.Column) else None


def _equal(condition: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    is_equality = isinstance(condition, exp.EQ) and not condition.find(exp.Query)
    return (condition.this, condition.expression) if is_equality else None
