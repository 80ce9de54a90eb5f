"""Matches of queries over a live model, and what each transaction did to them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.core.event import Value
from cepheid.errors import Severity, UsageError, error, suggest
from cepheid.expr.values import sort_key
from cepheid.live.changes import ChangeKind, Commit, Held
from cepheid.live.matching.network import Network
from cepheid.live.matching.relations import Row
from cepheid.live.metamodel import Feature
from cepheid.live.model import Model, Object
from cepheid.live.queries.resolved import ObjectType, Queries


@dataclass(frozen=True, slots=True)
class Match:
    """The objects and values for which a query holds, in the order of its parameters."""

    query: str
    row: tuple[Held, ...]

    def __repr__(self) -> str:
        return f"{self.query}({', '.join(map(repr, self.row))})"


@dataclass(frozen=True, slots=True)
class Violation:
    """A match of a query that says what must not be: of which objects, in which words, how bad."""

    match: Match
    key: tuple[Held, ...]
    message: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class Delta:
    """What a transaction did to the matches.

    Updated are those that stay while a feature of one of their objects changed. Each list is in
    the order of the queries in the text, then by the identities and values of the matches.
    """

    commit: Commit
    found: tuple[Match, ...] = ()
    lost: tuple[Match, ...] = ()
    updated: tuple[Match, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.found or self.lost or self.updated)


Listener: TypeAlias = Callable[[Delta], None]


class Matcher:
    """Keeps the matches of queries while transactions change the model.

    It takes part in every transaction of the model from when it is made until it is closed.
    `delta` is what the last one did; listeners are told of each.
    """

    def __init__(self, model: Model, queries: Queries) -> None:
        if queries.metamodel is not model.metamodel and queries.metamodel != model.metamodel:
            fact = f"the queries are about {queries.metamodel.name}, the model is of {model.metamodel.name}"
            raise UsageError(error("usage", fact))
        model.need_quiet("a matcher cannot start")
        self.model = model
        self.queries = queries
        self.delta: Delta | None = None
        self.listeners: list[Listener] = []
        self._network = Network(model, queries)
        self._public = [query for query in queries.queries if not query.tree.is_private]
        self._matches_of = self._by_class()
        model.listeners.append(self._take)

    def close(self) -> None:
        """From now on the matches stay as they are."""
        if self._take in self.model.listeners:
            self.model.listeners.remove(self._take)

    def matches(self, query: str) -> tuple[Match, ...]:
        """All matches of a query, by their identities and values."""
        return _matches(query, self._rows(query))

    def _rows(self, query: str) -> Collection[Row]:
        found = self._network.results.get(query)
        if found is None:
            hint = suggest(query, self._network.results, "patterns")
            raise UsageError(error("unknown-query", f"no pattern '{query}'", hint=hint))
        return found.support

    def has(self, match: Match) -> bool:
        """Whether a match is one now."""
        return match.row in self._rows(match.query)

    def count(self, query: str) -> int:
        """How many matches a query has."""
        return len(self._rows(query))

    def violations(self) -> tuple[Violation, ...]:
        """The matches of all queries that are rules, in the order of the queries."""
        return tuple(
            self.violation(match)
            for query in self.queries.queries
            if query.tree.rule is not None
            for match in self.matches(query.name)
        )

    def violation(self, match: Match) -> Violation:
        """What a match of a query with a rule breaks."""
        query = self.queries.by_name[match.query]
        rule = query.tree.rule
        if rule is None:
            hint = "a rule is a pattern with @Constraint"
            raise UsageError(error("usage", f"pattern '{match.query}' is no rule", hint=hint))
        key = tuple(match.row[query.parameters.index(name)] for name in rule.key)
        return Violation(match, key, query.message(match.row), rule.severity)

    def _by_class(self) -> dict[str, list[tuple[str, Callable[[Row], Iterable[Row]]]]]:
        """For the objects of a class: the queries that may have matches with them, and those."""
        schema = self.model.schema
        found: dict[str, list[tuple[str, Callable[[Row], Iterable[Row]]]]] = {}
        for query in self._public:
            for column, type in enumerate(query.types):
                if isinstance(type, ObjectType):
                    index = self._network.results[query.name].find((column,))
                    for kind in self.model.extents:
                        if not type.classes or not schema.are_disjoint(kind, *type.classes):
                            found.setdefault(kind, []).append((query.name, index))
        return found

    def _take(self, commit: Commit) -> None:
        network = self._network
        network.take(commit)
        updated = self._updated(commit)
        found: list[Match] = []
        lost: list[Match] = []
        stayed: list[Match] = []
        for query in self._public:
            delta = network.results[query.name].delta
            if delta:
                found += _matches(query.name, (row for row, weight in delta.items() if weight > 0))
                lost += _matches(query.name, (row for row, weight in delta.items() if weight < 0))
            if query.name in updated:
                rows = (row for row in updated[query.name] if row not in delta)
                stayed += _matches(query.name, rows)
        network.forget()
        self.delta = Delta(commit, tuple(found), tuple(lost), tuple(stayed))
        for listener in list(self.listeners):
            listener(self.delta)

    def _updated(self, commit: Commit) -> dict[str, dict[Row, None]]:
        """The matches, by query, that have an object of which a feature changed."""
        found: dict[str, dict[Row, None]] = {}
        for one in changed_objects(commit, self._matches_of):
            for name, index in self._matches_of.get(one.kind.name, ()):
                rows = index((one,))
                if rows:
                    found.setdefault(name, {}).update(dict.fromkeys(rows))
        return found


def changed_objects(commit: Commit, kinds: Container[str]) -> Iterable[Object]:
    """The objects of some classes of which a feature is another than before the transaction."""
    before: dict[tuple[Object, Feature], Held] = {}
    counts: dict[tuple[Object, Feature, Held], int] = {}
    for kind, one, feature, old, new in commit.changes:
        if feature is None or one.kind.name not in kinds:
            continue
        if kind is ChangeKind.SET:
            before.setdefault((one, feature), old)
        else:
            value, weight = (new, 1) if kind is ChangeKind.ADD else (old, -1)
            counts[one, feature, value] = counts.get((one, feature, value), 0) + weight
    changed = {
        one: None for (one, f), old in before.items() if not _is_equal(old, one.values.get(f))
    }
    changed |= {one: None for (one, _, _), count in counts.items() if count}
    return changed


def _is_equal(one: object, other: object) -> bool:
    return one is other or one == other


def _matches(query: str, rows: Iterable[Row]) -> tuple[Match, ...]:
    return tuple(Match(query, row) for row in sorted(rows, key=row_order))


def row_order(row: Row) -> tuple[object, ...]:
    """By the identities of objects, and by values."""
    return tuple(map(_rank, row))


def _rank(value: Object | Value) -> object:
    return (0, value.id) if isinstance(value, Object) else (1, sort_key(value))
