"""Query events, rules and fixes: what can be said of them without the model that they are about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cepheid.core.types import EventType
from cepheid.errors import Diagnostic, Span, declared_twice, error, suggest
from cepheid.expr.tree import Expr, Ref
from cepheid.expr.tree import walk as walk_expr
from cepheid.program.actions import (
    Action,
    CallFunction,
    Choice,
    CreateObject,
    DeleteObject,
    EmitEvent,
    MoveObject,
    SetFeature,
    steps,
)
from cepheid.program.statements import statement_names, target_of
from cepheid.program.tree import (
    Annotation,
    ProgramTree,
    QueryChange,
    QuickFix,
    ReactiveRule,
    Schema,
    Trigger,
)
from cepheid.query.tree import Query


def names_of(arguments: Sequence[str | None] | None, formal: Sequence[str]) -> dict[str, str]:
    """What is called how: names, each with the attribute or the parameter that it stands for."""
    given = formal if arguments is None else arguments
    pairs = zip(given, formal, strict=False)
    return {name: parameter for name, parameter in pairs if name is not None}


def happening_by_themselves(tree: ProgramTree) -> frozenset[str]:
    """The types whose events statements derive, matches make or classes tell of: nobody else's."""
    named = zip(statement_names(tree.statements), tree.statements, strict=True)
    made = (schema.name for schema in tree.schemas if schema.query is not None)
    classes = (declared.name for declared in tree.classes)
    return frozenset((*(target_of(*each) for each in named), *made, *classes))


def reaction_problems(tree: ProgramTree, types: Mapping[str, EventType]) -> Iterator[Diagnostic]:
    """Everything that is wrong with the query events, rules and fixes of a program."""
    queries = {query.name: query for query in tree.queries}
    for schema in tree.schemas:
        if schema.query is not None:
            yield from _wrong_query_event(schema, schema.query, queries)
    yield from _twins("rule", tree.rules)
    yield from _twins("fix", tree.fixes)
    told = happening_by_themselves(tree)
    for rule in tree.rules:
        yield from _wrong_annotations(rule.annotations)
        for trigger in rule.triggers:
            yield from _wrong_trigger(trigger, types)
        yield from _wrong_body(rule.body, _known_in(rule, types), types, told)
    for fix in tree.fixes:
        yield from _wrong_annotations(fix.annotations)
        yield from _wrong_fix(fix, queries, types, told)


def _twins(what: str, named: Iterable[ReactiveRule | QuickFix]) -> Iterator[Diagnostic]:
    first: dict[str, Span | None] = {}
    for one in named:
        if one.name in first:
            yield declared_twice(f"{what} '{one.name}'", one.span, first[one.name])
        first.setdefault(one.name, one.span)


def _wrong_annotations(annotations: Iterable[Annotation]) -> Iterator[Diagnostic]:
    for annotation in annotations:
        name, value = annotation.name.lower(), annotation.value()
        if name == "priority" and type(value) is not int:
            fact = "@Priority needs a whole number"
            yield error("bad-annotation", fact, annotation.span, "@Priority(5)")
        if name == "cost" and (type(value) not in (int, float) or value < 0):  # type: ignore[operator]
            fact = "@Cost needs a number that is not below zero"
            yield error("bad-annotation", fact, annotation.span, "@Cost(2)")


def _wrong_query_event(
    schema: Schema, change: QueryChange, queries: Mapping[str, Query]
) -> Iterator[Diagnostic]:
    own = [attribute.name for attribute in schema.attributes]
    for name in (n for n in change.arguments if n is not None and n not in own):
        fact = f"'{name}' is no parameter of {schema.name}"
        hint = suggest(name, own, "parameters") or "write `_` for what is not needed"
        yield error("unknown-name", fact, change.span, hint)
    for name in (n for n in own if n not in change.arguments):
        fact = f"no argument of {change.query} gives '{name}' of {schema.name} its value"
        hint = f"write {change.query}({', '.join(own)}), with `_` for what is not needed"
        yield error("unbound-tag", fact, change.span, hint)
    yield from _wrong_query(change.query, change.arguments, queries, change.span)


def _wrong_query(
    name: str,
    arguments: Sequence[str | None] | None,
    queries: Mapping[str, Query],
    span: Span | None,
) -> Iterator[Diagnostic]:
    """A pattern that is not there, unless it may be a class or a feature of one."""
    query = queries.get(name)
    if query is None:
        is_class = "." in name or name[:1].isupper()
        if not is_class and queries:
            hint = suggest(name, queries, "patterns")
            yield error("unknown-query", f"no pattern '{name}'", span, hint)
        return
    formal = [parameter.name for parameter in query.parameters]
    if query.is_private:
        fact, hint = (
            f"pattern '{name}' is private: only other patterns use it",
            "leave out `private`",
        )
        yield error("unknown-query", fact, span, hint)
    if arguments is not None and len(arguments) != len(formal):
        yield _wrong_count(name, formal, len(arguments), span)


def _wrong_count(name: str, formal: Sequence[str], given: int, span: Span | None) -> Diagnostic:
    fact = f"{name} has {len(formal)} parameter{'' if len(formal) == 1 else 's'}, not {given}"
    hint = f"write {name}({', '.join(formal)}), with `_` for what is not needed"
    return error("wrong-arguments", fact, span, hint)


def _wrong_trigger(trigger: Trigger, types: Mapping[str, EventType]) -> Iterator[Diagnostic]:
    known = types.get(trigger.event_type)
    if known is None:
        hint = suggest(trigger.event_type, types, "events")
        yield error("unknown-type", f"no event '{trigger.event_type}'", trigger.span, hint)
        return
    formal = [attribute.name for attribute in known.attributes]
    if trigger.arguments is not None and len(trigger.arguments) != len(formal):
        yield _wrong_count(trigger.event_type, formal, len(trigger.arguments), trigger.span)


def _known_in(rule: ReactiveRule, types: Mapping[str, EventType]) -> frozenset[str] | None:
    """The names that all events of a rule give; None where one of them is unknown."""
    found: list[frozenset[str]] = []
    for trigger in rule.triggers:
        type = types.get(trigger.event_type)
        if type is None:
            return None
        formal = [attribute.name for attribute in type.attributes]
        found.append(frozenset(names_of(trigger.arguments, formal)))
    return frozenset.intersection(*found)


def _wrong_fix(
    fix: QuickFix,
    queries: Mapping[str, Query],
    types: Mapping[str, EventType],
    told: frozenset[str],
) -> Iterator[Diagnostic]:
    yield from _wrong_query(fix.query, fix.arguments, queries, fix.span)
    query = queries.get(fix.query)
    known: frozenset[str] | None = None
    if query is not None or fix.arguments is not None:
        formal = [p.name for p in query.parameters] if query is not None else []
        known = frozenset(names_of(fix.arguments, formal or [n or "" for n in fix.arguments or ()]))
    yield from _wrong_body(fix.body, known, types, told)
    for action in steps(fix.body):
        if isinstance(action, EmitEvent | CallFunction):
            fact = "a fix changes the model and does nothing else"
            hint = "let a rule tell of it, on a query that the fix finds or loses"
            yield error("unsupported", fact, action.span, hint)


def _wrong_body(
    body: Sequence[Action],
    known: frozenset[str] | None,
    types: Mapping[str, EventType],
    told: frozenset[str],
) -> Iterator[Diagnostic]:
    """Names that nothing binds, and events that a rule cannot make happen."""
    bound = None if known is None else set(known)
    for action in body:
        if bound is not None:
            for ref in _refs(action):
                name = ref.parts[0].name
                if name not in bound:
                    hint = suggest(name, bound, "names")
                    fact = f"'{name}' is not known here"
                    yield error("unknown-name", fact, ref.span or action.span, hint)
        if isinstance(action, CreateObject) and action.name is not None and bound is not None:
            if action.name in bound:
                fact = f"'{action.name}' has a meaning already"
                yield error("duplicate-name", fact, action.span, "choose another name")
            bound.add(action.name)
        if isinstance(action, EmitEvent):
            yield from _wrong_event(action, types, told)
        if isinstance(action, Choice):
            inner = None if bound is None else frozenset(bound)
            yield from _wrong_body(action.then, inner, types, told)
            yield from _wrong_body(action.otherwise, inner, types, told)


def _wrong_event(
    action: EmitEvent, types: Mapping[str, EventType], told: frozenset[str]
) -> Iterator[Diagnostic]:
    type = types.get(action.event_type)
    if type is None:
        hint = suggest(action.event_type, types, "events")
        yield error("unknown-type", f"no event '{action.event_type}'", action.span, hint)
        return
    if action.event_type in told:
        fact = f"'{action.event_type}' happens by itself: a rule cannot make it happen"
        hint = "declare an atomicEvent for what the rule tells"
        yield error("unsupported", fact, action.span, hint)
    if len(action.arguments) != len(type.attributes):
        formal = [attribute.name for attribute in type.attributes]
        yield _wrong_count(action.event_type, formal, len(action.arguments), action.span)


def _refs(action: Action) -> Iterator[Ref]:
    """The paths of a step, not of those inside of it."""
    for expr in expressions_of(action):
        yield from (node for node in walk_expr(expr) if isinstance(node, Ref))


def expressions_of(action: Action) -> Iterator[Expr]:
    match action:
        case SetFeature(target, value):
            yield from (target, value)
        case CreateObject(_, _, container, values):
            yield from () if container is None else (container,)
            yield from (value.value for value in values)
        case DeleteObject(found):
            yield found
        case MoveObject(found, container):
            yield from (found, container)
        case EmitEvent(_, arguments) | CallFunction(_, arguments):
            yield from arguments
        case Choice(condition):
            yield condition
