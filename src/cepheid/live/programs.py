"""A program over a metamodel: its queries, what their matches tell, and what rules do about it.

Beside patterns, `Class` and `Class.feature` are queries: their matches are all objects of a class, and all
values of a feature. So elementary changes are events, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepheid.core.types import ANY, EventRef, EventType, wider
from cepheid.errors import Diagnostic, ProgramError, Severity, Span, error, suggest
from cepheid.expr.evaluate import Frame, compile_condition
from cepheid.expr.scope import Scope
from cepheid.expr.typing import resolve_condition
from cepheid.live.actions import (
    Body,
    Events,
    NameType,
    ObjectOf,
    resolve_body,
)
from cepheid.live.metamodel import Metamodel
from cepheid.live.queries.resolve import resolve_queries
from cepheid.live.queries.resolved import ObjectType, Queries, ResolvedQuery, VariableType
from cepheid.program.reactions import happening_by_themselves, names_of
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import (
    ANY_OBJECT,
    MatchChange,
    ProgramTree,
    QuickFix,
    ReactiveRule,
    Schema,
)
from cepheid.query.tree import Body as QueryBody
from cepheid.query.tree import Constraint, Edge, IsA, Parameter, Query, QueryTree, Variable


@dataclass(frozen=True, slots=True)
class Telling:
    """Which matches are told as events of a type, and where the attributes are in their rows."""

    event_type: str
    query: str
    change: MatchChange
    columns: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Reaction:
    """A rule, on one of the events that it waits for."""

    rule: ReactiveRule
    place: int  # of the rule among all, in the order of the text
    names: Mapping[str, str]  # each with the attribute that it stands for
    objects: frozenset[str]  # names that stand for objects
    body: Body


@dataclass(frozen=True, slots=True)
class Repair:
    """A fix: what may be done to a match, where the values of its names are in the row."""

    fix: QuickFix
    columns: tuple[tuple[str, int], ...]
    body: Body


@dataclass(frozen=True, slots=True)
class LiveProgram:
    program: ResolvedProgram
    queries: Queries
    tellings: tuple[Telling, ...]
    reactions: Mapping[str, tuple[Reaction, ...]]  # by the type of the event
    repairs: tuple[Repair, ...]
    objects: Mapping[str, Mapping[str, str]]  # of each event type: attributes that name objects
    checks: Mapping[str, Callable[[Frame], bool]]  # without which an event does not exist for rules
    told: frozenset[str]  # events that matches make, or other events


def resolve_live(program: ResolvedProgram, metamodel: Metamodel) -> LiveProgram:
    """A program without errors over models of a metamodel; ProgramError with all that is wrong then."""
    found, problems = _resolve(program, metamodel)
    errors = dict.fromkeys(p for p in problems if p.severity is Severity.ERROR)
    if errors:
        raise ProgramError(*errors)
    return found


def live_problems(program: ResolvedProgram, metamodel: Metamodel) -> list[Diagnostic]:
    """What a metamodel tells of a program, beside what is known without one."""
    if any(p.severity is Severity.ERROR for p in program.problems):
        return []
    return list(dict.fromkeys(_resolve(program, metamodel)[1]))


def _resolve(
    program: ResolvedProgram, metamodel: Metamodel
) -> tuple[LiveProgram, list[Diagnostic]]:
    written = QueryTree(_all_queries(program.tree, metamodel))
    queries, found = resolve_queries(written, metamodel)
    problems = list(found)
    resolver = _Resolver(program, metamodel, queries, problems)
    resolver.check_classes()
    tellings = tuple(resolver.tellings())
    reactions = resolver.reactions()
    repairs = tuple(resolver.repairs())
    live = LiveProgram(
        program,
        queries,
        tellings,
        reactions,
        repairs,
        resolver.objects,
        dict(resolver.checks()),
        happening_by_themselves(program.tree),
    )
    return live, problems


def _all_queries(tree: ProgramTree, metamodel: Metamodel) -> tuple[Query, ...]:
    """Those of the text, and the elementary ones that events and fixes ask for."""
    known = {query.name: query for query in tree.queries}
    asked = [s.query.query for s in tree.schemas if s.query is not None]
    asked += [fix.query for fix in tree.fixes]
    elementary = (_elementary(n, metamodel) for n in dict.fromkeys(asked) if n not in known)
    return (*tree.queries, *(query for query in elementary if query is not None))


def _elementary(name: str, metamodel: Metamodel) -> Query | None:
    """`Class(x)`, or `Class.feature(x, value)`; None where there is no such class."""
    kinds = metamodel.schema.kinds
    owner, _, feature = name.rpartition(".")
    names: tuple[str, ...] = ("object",)
    constraint: Constraint
    if name in kinds:
        constraint = IsA(name, Variable("object"))
    elif owner in kinds and feature in kinds[owner].features:
        names = ("object", "value")
        constraint = Edge(owner, (feature,), Variable("object"), Variable("value"))
    else:
        return None
    return Query(name, tuple(map(Parameter, names)), (QueryBody((constraint,)),))


class _Resolver:
    def __init__(
        self,
        program: ResolvedProgram,
        metamodel: Metamodel,
        queries: Queries,
        problems: list[Diagnostic],
    ) -> None:
        self.program = program
        self.classes = metamodel.schema
        self.queries = queries
        self.problems = problems
        self.objects = {s.name: dict(s.objects) for s in program.tree.schemas}

    def check_classes(self) -> None:
        """Every class that a parameter names is one of the metamodel."""
        for schema in self.program.tree.schemas:
            for position, attribute in enumerate(schema.attributes):
                name = self.objects[schema.name].get(attribute.name, ANY_OBJECT)
                if name not in (ANY_OBJECT, *self.classes.kinds):
                    place = schema.places[position] if schema.places else schema.span
                    hint = self.classes.suggest(name)
                    self.report("unknown-class", f"no class '{name}'", place, hint)

    def type_of(self, event_type: str, attribute: str) -> NameType:
        """What an attribute of an event stands for."""
        name = self.objects.get(event_type, {}).get(attribute)
        if name is not None:
            return ObjectOf(self.classes.kind(name))
        type: EventType = self.program.types[event_type]
        return next((a.type for a in type.attributes if a.name == attribute), ANY)

    def checks(self) -> Iterator[tuple[str, Callable[[Frame], bool]]]:
        for schema in self.program.tree.schemas:
            if schema.check is not None:
                current = EventRef(schema.name)
                scope = Scope(types=self.program.types, tags={}, current=current)
                yield schema.name, compile_condition(resolve_condition(schema.check, scope, []))

    # Events of queries.

    def tellings(self) -> Iterator[Telling]:
        for schema in self.program.tree.schemas:
            if schema.query is None:
                continue
            query = self.query(schema.query.query, schema.query.span)
            if query is None:
                continue
            arguments = schema.query.arguments
            if len(arguments) != len(query.parameters):
                given = ", ".join(query.parameters)
                fact = f"{query.name} has {len(query.parameters)} parameters, not {len(arguments)}"
                self.report("wrong-arguments", fact, schema.query.span, f"write ({given})")
                continue
            columns = tuple((n, i) for i, n in enumerate(arguments) if n is not None)
            self.check_columns(schema, query, columns)
            yield Telling(schema.name, query.name, schema.query.change, columns)

    def query(self, name: str, span: Span | None) -> ResolvedQuery | None:
        found = self.queries.by_name.get(name)
        if found is None:
            known = [q.name for q in self.queries.queries]
            hint = suggest(name, (*known, *self.classes.kinds), "patterns and classes")
            fact = f"no pattern, class or feature '{name}'"
            self.report("unknown-query", fact, span, hint)
        return found

    def check_columns(
        self, schema: Schema, query: ResolvedQuery, columns: Sequence[tuple[str, int]]
    ) -> None:
        """An attribute can hold what the query has at its place."""
        for name, place in columns:
            ours, theirs = self.type_of(schema.name, name), query.types[place]
            if not self.fits(ours, theirs):
                fact = f"'{name}' of {schema.name} is {ours}, but {query.name} has {theirs} there"
                assert schema.query is not None
                self.report("type-mismatch", fact, schema.query.span)

    def fits(self, ours: NameType, theirs: VariableType) -> bool:
        if isinstance(ours, ObjectOf):
            if not isinstance(theirs, ObjectType):
                return False
            is_any = ours.kind is None or not theirs.classes
            return is_any or not self.classes.are_disjoint(ours.kind.name, *theirs.classes)  # type: ignore[union-attr]
        return not isinstance(theirs, ObjectType) and wider(ours, theirs) == ours

    # Rules.

    def reactions(self) -> dict[str, tuple[Reaction, ...]]:
        found: dict[str, tuple[Reaction, ...]] = {}
        events = self.events()
        for place, rule in enumerate(self.program.tree.rules):
            for trigger in rule.triggers:
                name = trigger.event_type
                formal = [a.name for a in self.program.types[name].attributes]
                names = names_of(trigger.arguments, formal)
                types = {own: self.type_of(name, attribute) for own, attribute in names.items()}
                body = resolve_body(rule.body, types, self.classes, self.problems, events)
                objects = frozenset(n for n, type in types.items() if isinstance(type, ObjectOf))
                reaction = Reaction(rule, place, names, objects, body)
                found[name] = (*found.get(name, ()), reaction)
        return found

    def events(self) -> Events:
        """What the attributes of all events stand for."""
        return {
            name: [(a.name, self.type_of(name, a.name)) for a in type.attributes]
            for name, type in self.program.types.items()
        }

    def repairs(self) -> Iterator[Repair]:
        for fix in self.program.tree.fixes:
            query = self.query(fix.query, fix.span)
            if query is None:
                continue
            names = names_of(fix.arguments, query.parameters)
            types: dict[str, NameType] = {}
            for name, parameter in names.items():
                type = query.types[query.parameters.index(parameter)]
                types[name] = self.object_of(type) if isinstance(type, ObjectType) else type
            body = resolve_body(fix.body, types, self.classes, self.problems)
            columns = tuple((n, query.parameters.index(p)) for n, p in names.items())
            yield Repair(fix, columns, body)

    def object_of(self, type: ObjectType) -> ObjectOf:
        """The class that an object is known to be of; of several, the first that has the others'
        features, too."""
        for name in sorted(type.classes):
            if all(other in self.classes.kinds[name].ancestors for other in type.classes):
                return ObjectOf(self.classes.kinds[name])
        return ObjectOf()

    def report(self, code: str, fact: str, span: Span | None, hint: str | None = None) -> None:
        self.problems.append(error(code, fact, span, hint))
