"""From the trees of queries to what a matcher takes; everything that is wrong with them at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from cepheid.core.types import BOOLEAN, PLAIN_SCALARS, DataType, wider
from cepheid.errors import (
    Diagnostic,
    ProgramError,
    Severity,
    UsageError,
    declared_twice,
    error,
    reason_of,
    suggest,
)
from cepheid.lang.queries.parser import parse
from cepheid.live.metamodel import Metamodel, Schema
from cepheid.live.queries.bodies import resolve_body
from cepheid.live.queries.resolved import (
    PLACEHOLDER,
    ObjectType,
    Queries,
    ResolvedBody,
    ResolvedQuery,
    VariableType,
)
from cepheid.query.tree import Find, Query, QueryTree, found_by

_TYPES: dict[str, DataType] = {**PLAIN_SCALARS, "bool": BOOLEAN}


def load_queries(path: str | Path, metamodel: Metamodel) -> Queries:
    """The queries of a file; ProgramError with all that is wrong with it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(error("missing-file", f"no file '{path}'")) from None
    except (OSError, UnicodeDecodeError) as problem:
        reason = reason_of(problem) if isinstance(problem, OSError) else "it is not UTF-8"
        raise UsageError(error("bad-file", f"'{path}' cannot be read: {reason}")) from None
    return parse_queries(text, metamodel, str(path))


def parse_queries(text: str, metamodel: Metamodel, file: str | None = None) -> Queries:
    """The queries of a text; ProgramError with all that is wrong with it."""
    queries, problems = check_queries(text, metamodel, file)
    errors = [p for p in problems if p.severity is Severity.ERROR]
    if errors:
        raise ProgramError(*errors)
    return queries


def check_queries(
    text: str, metamodel: Metamodel, file: str | None = None
) -> tuple[Queries, tuple[Diagnostic, ...]]:
    """The queries of a text as far as they make sense, and everything that is wrong with it."""
    parsed = parse(text, file)
    queries, problems = resolve_queries(parsed.tree, metamodel, parsed.broken)
    return queries, tuple(sorted([*parsed.problems, *problems], key=_place))


def resolve_queries(
    tree: QueryTree, metamodel: Metamodel, broken: Collection[str] = ()
) -> tuple[Queries, tuple[Diagnostic, ...]]:
    """The queries of a tree; broken are the names of those of which parts could not be read."""
    resolver = _Resolver(tree, metamodel.schema, broken)
    order = resolver.run()
    problems = tuple(sorted(resolver.problems, key=_place))
    found = tuple(resolver.done[q.name] for q in resolver.trees.values() if q.name in resolver.done)
    warnings = tuple(p for p in problems if p.severity is not Severity.ERROR)
    return Queries(metamodel, found, order, warnings), problems


def _place(problem: Diagnostic) -> tuple[int, int]:
    return (problem.span.line, problem.span.column) if problem.span else (0, 0)


def _file(query: Query) -> str | None:
    return query.span.file if query.span else None


class _Resolver:
    def __init__(self, tree: QueryTree, schema: Schema, broken: Collection[str]) -> None:
        self.broken = broken
        self.trees: dict[str, Query] = {}
        self.problems: list[Diagnostic] = []
        for query in tree.queries:
            first = self.trees.setdefault(query.name, query)
            if _file(query) != _file(first):  # those of one file are reported by its parser
                twice = declared_twice(f"pattern '{query.name}'", query.span, first.span)
                self.problems.append(twice)
        self.schema = schema
        self.done: dict[str, ResolvedQuery] = {}

    def run(self) -> tuple[str, ...]:
        order = tuple(_callees_first(self.trees))
        for name in order:
            self.done[name] = self.query(self.trees[name])
        for cycle in _cycles(self.trees):
            self.problems.append(cycle)
        return order

    def query(self, query: Query) -> ResolvedQuery:
        declared = tuple(self.declared_type(p.type, p) for p in query.parameters)
        resolved: list[ResolvedBody] = []
        found: list[tuple[VariableType | None, ...]] = []
        for body in query.bodies:
            one, types = resolve_body(
                query,
                body,
                declared,
                self.schema,
                self.done,
                self.trees,
                self.problems,
                is_whole=query.name not in self.broken,
            )
            resolved.append(one)
            found.append(types)
        common = (_common(known, [row[i] for row in found]) for i, known in enumerate(declared))
        made = ResolvedQuery(query, tuple(common), tuple(resolved))
        self.rule(made)
        return made

    def declared_type(self, name: str | None, place: object) -> VariableType | None:
        if name is None:
            return None
        if name in self.schema.kinds:
            return ObjectType(frozenset({name}))
        if name.lower() in _TYPES:
            return _TYPES[name.lower()]
        hint = self.schema.suggest(name, _TYPES, "classes and types")
        span = getattr(place, "span", None)
        self.problems.append(error("unknown-class", f"no class '{name}'", span, hint))
        return None

    def rule(self, query: ResolvedQuery) -> None:
        """The key and the message of a rule name parameters, and features that these have."""
        rule = query.tree.rule
        if rule is None:
            return
        types = dict(zip(query.parameters, query.types, strict=True))
        for name in rule.key:
            if name not in types:
                hint = suggest(name, types, "parameters")
                fact = f"the key '{name}' is no parameter of '{query.name}'"
                self.problems.append(error("bad-annotation", fact, rule.span, hint))
        for text in PLACEHOLDER.findall(rule.message):
            fault = self.placeholder(text, types)
            if fault:
                fact = f"the message has '${text}$', but {fault[0]}"
                self.problems.append(error("bad-annotation", fact, rule.span, fault[1]))

    def placeholder(
        self, text: str, types: Mapping[str, VariableType]
    ) -> tuple[str, str | None] | None:
        """What is wrong with a placeholder, and a hint."""
        name, *path = text.split(".")
        if name not in types:
            return f"'{name}' is no parameter", suggest(name, types, "parameters")
        type: VariableType | None = types[name]
        for step in path:
            if not isinstance(type, ObjectType):
                return f"'{step}' is asked of a value", None
            features = {
                n: f for c in type.classes for n, f in self.schema.kinds[c].features.items()
            }
            if step not in features:
                return f"{type} has no '{step}'", suggest(step, features, "features")
            feature = features[step]
            type = feature.type or ObjectType(frozenset({feature.target}))
        return None


def _common(declared: VariableType | None, found: list[VariableType | None]) -> VariableType:
    """The type of a parameter, of all bodies together."""
    if declared is not None:
        return declared
    known = [type for type in found if type is not None]
    if not known or any(isinstance(type, ObjectType) for type in known):
        alike = bool(known) and all(type == known[0] for type in known)
        return known[0] if alike else ObjectType()
    common: DataType | None = None
    for type in known:
        assert not isinstance(type, ObjectType)
        common = type if common is None else wider(common, type) or common
    assert common is not None
    return common


# Which query asks for which.


def _calls(query: Query) -> Iterator[Find]:
    for body in query.bodies:
        for constraint in body.constraints:
            find = found_by(constraint)
            if find is not None:
                yield find


def _callees_first(trees: Mapping[str, Query]) -> Iterator[str]:
    """All queries; where they go round in circles, in some order."""
    seen: set[str] = set()
    for root in trees:
        pending: list[tuple[str, bool]] = [(root, False)]
        while pending:
            name, is_done = pending.pop()
            if is_done:
                yield name
            elif name in trees and name not in seen:
                seen.add(name)
                pending.append((name, True))
                pending += [(find.query, False) for find in reversed(list(_calls(trees[name])))]


def _cycles(trees: Mapping[str, Query]) -> Iterator[Diagnostic]:
    """Each call by which a query asks for itself, at once or through others."""
    callees = {
        name: {f.query for f in _calls(query)} & trees.keys() for name, query in trees.items()
    }
    reached = {name: _reachable(name, callees) for name in trees}
    for name, query in trees.items():
        for find in _calls(query):
            if find.query == name or name in reached.get(find.query, ()):
                through = "" if find.query == name else f" through '{find.query}'"
                fact = f"pattern '{name}' asks for itself{through}"
                hint = "declare one step as a pattern of its own, and find it transitively: find step+(a, b)"
                yield error("recursive-query", fact, find.span, hint)


def _reachable(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    pending = [start]
    while pending:
        for other in edges[pending.pop()]:
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return seen
