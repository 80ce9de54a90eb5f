"""Classes with their SQL resolved: keys that exist, queries over classes that exist, no class from itself.

To statements a class is an event type: the stream of its announcements, changes and cancellations, each with the
attributes of the version, its times in milliseconds, and what it is. A statement may also tell a subscribed class of
events. The libraries that read SQL are loaded only for programs that have classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cepheid.core.types import (
    LONG,
    STRING,
    TIMESTAMP,
    Attribute,
    DataType,
    EventType,
    bad_name,
    is_open,
    wider,
)
from cepheid.errors import Diagnostic, Span, declared_twice, error, suggest
from cepheid.program.classes import (
    IMPLICIT,
    RESERVED,
    TYPE_NAMES,
    USUAL_TYPES,
    AnyClass,
    ComplexClass,
    Reaction,
    SubscribedClass,
)
from cepheid.program.graph import flow_of, reachable, strong_components
from cepheid.program.resolved import (
    ResolvedClass,
    ResolvedReaction,
    ResolvedStatement,
)
from cepheid.program.tree import ProgramTree, Schema

if TYPE_CHECKING:
    from cepheid.sql.conditions import ResolvedArgument
    from cepheid.sql.queries import ResolvedQuery
    from cepheid.sql.tables import Table

KIND = "kind"  # announcement, change or cancellation
FOUND_OUT = (*IMPLICIT, KIND)  # of an event, not told with it


def class_types(classes: Iterable[AnyClass]) -> dict[str, EventType]:
    """What statements see of classes."""
    return {declared.name: _event_type(declared) for declared in classes}


def _event_type(declared: AnyClass) -> EventType:
    told = [
        Attribute(a.name, LONG if a.type == TIMESTAMP else a.type)
        for a in declared.attributes
        if a.name not in RESERVED
    ]
    times = [Attribute(name, LONG) for name in IMPLICIT]
    unique = {a.name: a for a in (*told, *times, Attribute(KIND, STRING))}
    return EventType(declared.name, tuple(unique.values()))


def resolve_classes(tree: ProgramTree, problems: list[Diagnostic]) -> tuple[ResolvedClass, ...]:
    """The classes of a program, each after those that it reads; what cannot be resolved is left out."""
    if not tree.classes:
        return ()
    classes = _first_of_each_name(tree, problems)
    for declared in classes:
        problems += _wrong_declaration(declared)
    tables = _tables(classes)
    resolved = [_resolved_class(each, tables, problems) for each in classes]
    problems += _wrong_actions(resolved)
    reads = flow_of((), resolved, {})
    return tuple(resolved[n] for component in strong_components(reads) for n in component)


def _first_of_each_name(tree: ProgramTree, problems: list[Diagnostic]) -> list[AnyClass]:
    """Names of classes are told apart as SQL does, whatever their case; schemas have theirs, too."""
    schemas = {schema.name: schema for schema in tree.schemas}
    first: dict[str, Schema | AnyClass] = {}
    found: list[AnyClass] = []
    for declared in tree.classes:
        known = first.setdefault(declared.name.lower(), schemas.get(declared.name, declared))
        if known is declared:
            found.append(declared)
        else:
            problems.append(declared_twice(f"'{declared.name}'", declared.span, known.span))
    return found


# Declarations.


def _wrong_declaration(declared: AnyClass) -> Iterator[Diagnostic]:
    places = dict(enumerate(declared.places))
    names: dict[str, Span | None] = {}
    for number, attribute in enumerate(declared.attributes):
        span = places.get(number, declared.span)
        yield from _wrong_attribute(declared, attribute, span)
        if attribute.name.lower() in names:
            first = names[attribute.name.lower()]
            yield declared_twice(f"attribute '{attribute.name}' of {declared.name}", span, first)
        names.setdefault(attribute.name.lower(), span)
    known = [attribute.name for attribute in declared.attributes]
    for number, name in enumerate(declared.key):
        span = places.get(len(known) + number, declared.span)
        if name not in known:
            fact = f"no attribute '{name}' in {declared.name}"
            yield error("unknown-attribute", fact, span, suggest(name, known, "attributes"))
        elif name in declared.key[:number]:
            fact = f"'{name}' is in the key of {declared.name} twice"
            yield error("duplicate-name", fact, span)


def _wrong_attribute(
    declared: AnyClass, attribute: Attribute, span: Span | None
) -> Iterator[Diagnostic]:
    if problem := bad_name(attribute.name, "an attribute", span):
        yield problem
    if attribute.name.lower() in RESERVED:
        fact = f"'{attribute.name}' cannot be the name of an attribute"
        hint = f"every event of a class has {', '.join(RESERVED)} already"
        yield error("bad-name", fact, span, hint)
    if attribute.type not in TYPE_NAMES:
        fact = f"attribute '{attribute.name}' of {declared.name} is {attribute.type}"
        hint = f"attributes of classes are {', '.join(USUAL_TYPES)}"
        yield error("unsupported", fact, span, hint)


# Actions.


def _wrong_actions(classes: Sequence[ResolvedClass]) -> Iterator[Diagnostic]:
    """Actions are event types, too: with names of their own, and attributes of one type each."""
    names = {each.declared.name for each in classes}
    first: dict[tuple[str, str], tuple[DataType, str]] = {}
    for each in classes:
        for reaction in each.reactions:
            action, span = reaction.declared.action, reaction.declared.span
            if action in names:
                fact = f"'{action}' cannot be the name of an action: a class is called so"
                yield error("bad-name", fact, span, "call one of them otherwise")
            for part, type, said in _parts(each, reaction):
                shown = STRING if type == TIMESTAMP else type
                known, by = first.setdefault((action, part), (shown, said))
                if wider(known, shown) is None:
                    fact = f"'{action}' is called with {said} here, and with {by} before"
                    hint = "write CAST(... AS TEXT), or call it otherwise"
                    yield error("mixed-arguments", fact, span, hint)


def _parts(
    declaring: ResolvedClass, reaction: ResolvedReaction
) -> Iterator[tuple[str, DataType, str]]:
    """What an action tells: its arguments, and the key of what caused it."""
    from cepheid.sql.nodes import words

    for place, argument in enumerate(reaction.arguments, start=1):
        if not is_open(argument.type):
            yield f"p{place}", argument.type, f"{words(argument.type)} as p{place}"
    declared = declaring.declared
    for attribute in declared.attributes:
        if attribute.name in declared.key and attribute.type in TYPE_NAMES:
            said = f"{words(attribute.type)} as the key {attribute.name} of {declared.name}"
            yield f"@cause {attribute.name}", attribute.type, said


# SQL.


def _tables(classes: Iterable[AnyClass]) -> dict[str, Table]:
    from cepheid.sql.tables import table

    return {declared.name: table(declared.name, declared.attributes) for declared in classes}


def _resolved_class(
    declared: AnyClass, tables: Mapping[str, Table], problems: list[Diagnostic]
) -> ResolvedClass:
    # Reads SQL with a library that programs without classes do without.
    from cepheid.sql.queries import resolve_query

    own = tables[declared.name]
    query: ResolvedQuery | None = None
    if isinstance(declared, ComplexClass):
        query, wrong = resolve_query(declared.select, declared.occurring, tables, own)
        # Of a class that is not there, nobody knows the attributes.
        unknown = [problem for problem in wrong if problem.code == "unknown-class"]
        problems += unknown or wrong
    reactions = (_resolved_reaction(each, own, problems) for each in declared.reactions)
    return ResolvedClass(declared, own, query, tuple(r for r in reactions if r is not None))


def _resolved_reaction(
    declared: Reaction, own: Table, problems: list[Diagnostic]
) -> ResolvedReaction | None:
    from cepheid.sql.conditions import resolve_argument, resolve_condition

    condition, wrong = resolve_condition(declared.condition, own)
    problems += wrong
    arguments: list[ResolvedArgument] = []
    for argument in declared.arguments:
        value, wrong = resolve_argument(argument, own)
        problems += wrong
        arguments += [] if value is None else [value]
    if condition is None or len(arguments) < len(declared.arguments):
        return None
    return ResolvedReaction(declared, condition, tuple(arguments))


# Between classes and statements.


def wrongly_told(
    statements: Iterable[ResolvedStatement], classes: Iterable[AnyClass]
) -> Iterator[Diagnostic]:
    """Statements that insert into classes which do not take what they have."""
    known = {declared.name: declared for declared in classes}
    open_names = [name for name, each in known.items() if isinstance(each, SubscribedClass)]
    for statement in statements:
        declared, span = known.get(statement.target), statement.tree.span
        if isinstance(declared, ComplexClass):
            fact = f"'{declared.name}' derives its events itself: no statement inserts into it"
            hint = f"subscribed classes: {', '.join(open_names)}" if open_names else None
            yield error("unsupported", fact, span, hint)
        elif declared is not None:
            columns = {column.name: column.expr.span for column in statement.columns}
            for name in (name for name in declared.key if name not in columns):
                fact = f"'{name}' is in the key of {declared.name}, and this statement lacks it"
                yield error("schema-conflict", fact, span, f"select a value as {name}")
            for name in (name for name in FOUND_OUT if name in columns):
                fact = f"'{name}' of {declared.name} cannot be inserted"
                hint = "an event that a statement derives occurs, and is detected, at its time"
                yield error("schema-conflict", fact, columns[name] or span, hint)


def _chains(
    statements: Sequence[ResolvedStatement],
    classes: Sequence[ResolvedClass],
    sources: Sequence[Sequence[int]],
) -> Iterator[Diagnostic]:
    """Statements that tell a class what they heard of another, which rounds do not wait for."""
    names = {each.name for each in classes}
    for place, statement in enumerate(statements):
        behind = reachable(place, sources)
        heard = [n - len(statements) for n in behind if n >= len(statements)]
        if statement.target in names and heard and place not in behind:  # else a recursion
            first = classes[min(heard)].name
            fact = f"'{statement.name}' tells {statement.target} what it hears of {first}"
            hint = "a query can derive one class from another; or chain two programs"
            yield error("unsupported", fact, statement.tree.span, hint)


def recursions(
    statements: Sequence[ResolvedStatement],
    classes: Sequence[ResolvedClass],
    types: Mapping[str, EventType],
) -> Iterator[Diagnostic]:
    """Classes whose events come from themselves, also by way of statements."""
    sources = flow_of(statements, classes, types)
    names = [*(s.name for s in statements), *(c.name for c in classes)]
    yield from _chains(statements, classes, sources)
    for component in strong_components(sources):
        members = [n for n in component if n >= len(statements)]
        if members and members[0] in reachable(members[0], sources):
            first = members[0]
            way = [names[n] for n in reversed(_way_back(first, sources))]
            shown = " -> ".join([names[first], *way])
            fact = f"'{names[first]}' derives its events from itself: {shown}"
            hint = "one of them must do without the others" if len(way) > 1 else None
            span = classes[first - len(statements)].declared.span
            yield error("recursive-class", fact, span, hint)


def _way_back(start: int, sources: Sequence[Sequence[int]]) -> list[int]:
    """The shortest way from a node back to itself."""
    waiting, seen = [[start]], set[int]()
    while True:
        way = waiting.pop(0)
        for following in sources[way[-1]]:
            if following == start:
                return way
            if following not in seen:
                seen.add(following)
                waiting.append([*way, following])
