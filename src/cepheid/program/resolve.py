"""A program with every name resolved and every expression typed: what all engines start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from cepheid.core.types import EventType
from cepheid.errors import Diagnostic, Severity, declared_twice, error, warning
from cepheid.program.action_annotations import action_problems, misplaced_actions
from cepheid.program.allowances import allowance_problems
from cepheid.program.class_resolution import (
    class_types,
    recursions,
    resolve_classes,
    wrongly_told,
)
from cepheid.program.contexts import declared_contexts
from cepheid.program.derive import Named, derive_types
from cepheid.program.functions import bound, twice_named
from cepheid.program.occurrences import checked_types, occurrence_forms
from cepheid.program.properties import property_problem
from cepheid.program.reactions import reaction_problems
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.schemas import declared_types
from cepheid.program.statements import (
    StatementResolver,
    conform,
    source_types,
    statement_names,
)
from cepheid.program.tree import ProgramTree, Statement


def resolve_program(
    tree: ProgramTree, given: Mapping[str, EventType] = MappingProxyType({})
) -> ResolvedProgram:
    """Resolves a program; `given` are the types known from files or frames."""
    problems: list[Diagnostic] = twice_named(tree.functions)
    named = list(zip(statement_names(tree.statements), tree.statements, strict=True))
    schemas = tree.schemas
    if tree.functions:
        functions = {function.name: function for function in tree.functions}
        named = [(name, bound(statement, functions, name)) for name, statement in named]
        schemas = bound(schemas, functions)
    declared = declared_types(schemas, given, problems)
    classes = resolve_classes(tree, problems)
    known = {**given, **class_types(tree.classes), **declared}
    _check_names(named, known, problems)
    types = derive_types(named, known, problems)
    contexts = declared_contexts(tree.contexts, types, problems)
    resolver = StatementResolver(
        types,
        contexts,
        problems,
        occurrence_forms(named),
        checked_types(schemas, types, problems),
        tuple(schema.name for schema in schemas if schema.disturbs),
    )
    statements = tuple(resolver.resolve(name, statement) for name, statement in named)
    problems += reaction_problems(tree, types)
    problems += wrongly_told(statements, tree.classes)
    conformed = tuple(
        replace(conform(s, types, s.target in known, problems), tree=written)
        for s, written in zip(statements, tree.statements, strict=True)
    )
    problems += recursions(conformed, classes, types)
    problems += misplaced_actions(tree)
    problems += allowance_problems(tree)
    is_sound = all(problem.severity is not Severity.ERROR for problem in problems)
    are_known = is_sound and not any(type.is_open for type in types.values())
    problems += action_problems(conformed, are_columns_known=are_known)
    found = tuple(dict.fromkeys(problems))
    return ResolvedProgram(tree, types, _ranked(conformed), found, given, classes)


def _ranked(statements: Sequence[ResolvedStatement]) -> tuple[ResolvedStatement, ...]:
    """Each with its place in the order in which they take an event: `@Priority`, then the text."""
    places = sorted(range(len(statements)), key=lambda place: -statements[place].tree.priority)
    ranks = {place: rank for rank, place in enumerate(places)}
    return tuple(replace(s, rank=ranks[place]) for place, s in enumerate(statements))


def _check_names(
    named: Sequence[Named], known: Mapping[str, EventType], problems: list[Diagnostic]
) -> None:
    seen: dict[str, Statement] = {}
    existing = {*known, *(s.insert_into for _, s in named)}
    for name, statement in named:
        _check_annotations(statement, problems)
        if name in seen:
            first = seen[name].span
            problems.append(declared_twice(f"statement '{name}'", statement.span, first))
        elif statement.insert_into is None and name in {*existing, *source_types(statement)}:
            fact = f"statement '{name}' would derive the type '{name}', which exists"
            hint = f"write `insert into {name}`, or give the statement another @Name"
            if name in source_types(statement):
                fact = f"statement '{name}' would derive the type '{name}', which it takes"
                hint = "give the statement another @Name"
            problems.append(error("duplicate-name", fact, statement.span, hint))
        seen.setdefault(name, statement)


def _check_annotations(statement: Statement, problems: list[Diagnostic]) -> None:
    """The annotations that mean something must mean it; the others are kept as they are."""
    for annotation in statement.annotations:
        span = annotation.span or statement.span
        name, value = annotation.name.lower(), annotation.value()
        if name == "name" and not isinstance(value, str):
            problems.append(error("bad-annotation", "@Name needs a string", span, "@Name('Crash')"))
        elif name == "priority" and (not isinstance(value, int) or isinstance(value, bool)):
            fact = "@Priority needs a whole number"
            problems.append(error("bad-annotation", fact, span, "@Priority(5)"))
        elif name == "property" and (problem := property_problem(statement)) is not None:
            problems.append(problem)
        elif name == "drop":
            fact = "@Drop has no effect: every statement takes every event"
            problems.append(warning("unsupported", fact, span))
