"""Statements that nothing feeds, types that nothing takes, and results that nothing uses.

- A statement can never derive anything if every match needs an event of a type that only such
  statements derive: a cycle that no event ever enters. A type that is declared, or read and never
  derived, may always come from outside.
- A declared type that no statement and no rule takes, and none derives, is probably left over.
- What no statement takes is a result of the program, and good for that; but where some statements
  have an `@Action`, a result without one is used by nobody.

What is not seen: that a source never sends a type, conditions that exclude all events, and what
reads the rows of a run.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.analysis.keys import surely_taken
from cepheid.core.types import lineage
from cepheid.errors import Diagnostic, note, warning
from cepheid.program.actions import EmitEvent, steps
from cepheid.program.graph import Graph
from cepheid.program.normal import normalize_statement
from cepheid.program.properties import kind_of
from cepheid.program.resolved import ResolvedStatement
from cepheid.program.statements import span_of_type
from cepheid.program.tree import ProgramTree


def find(graph: Graph) -> Iterator[Diagnostic]:
    yield from _never_derived(graph)
    yield from _unused_types(graph)
    yield from _unused_results(graph)


def _never_derived(graph: Graph) -> Iterator[Diagnostic]:
    produced = _produced(graph)
    for statement in graph.statements:
        missing = next((n for n in needed_types(statement) if n not in produced), None)
        if missing is not None:
            fact = f"'{statement.name}' never derives anything: nothing produces '{missing}'"
            hint = f"create schema {missing} (...) if it comes from outside"
            span = span_of_type(statement.tree, missing) or statement.tree.span
            yield warning("never-derived", fact, span, hint)


def _produced(graph: Graph) -> set[str]:
    """The types of which there may be events."""
    program = graph.program
    outside = {*program.input_types, *program.given, *(s.name for s in program.tree.schemas)}
    produced = {a for name in outside for a in lineage(name, program.types)}
    size = -1
    while size != len(produced):
        size = len(produced)
        for statement in graph.statements:
            if produced.issuperset(needed_types(statement)):
                produced |= lineage(statement.target, program.types)
    return produced


def needed_types(statement: ResolvedStatement) -> list[str]:
    """The types of which every match has an event."""
    return [event.event_type for event in surely_taken(normalize_statement(statement).source)]


def _unused_types(graph: Graph) -> Iterator[Diagnostic]:
    types = graph.program.types
    derived = {s.target for s in graph.statements}
    taken = {name for s in graph.statements for name in s.inputs}
    # A type is also there for those that inherit from it, and as the type of an attribute.
    mentioned = {str(a.type).rstrip("[]") for t in types.values() for a in t.attributes}
    used = taken | derived | mentioned | {a for n in types for a in types[n].ancestors}
    used |= _of_rules(graph.program.tree)
    for schema in graph.program.tree.schemas:
        if graph.statements and not used & lineage(schema.name, types):
            fact = f"no statement takes events of type '{schema.name}'"
            yield note("unused-type", fact, schema.span)


def _of_rules(tree: ProgramTree) -> set[str]:
    """The types whose events rules wait for, or tell."""
    waited = {trigger.event_type for rule in tree.rules for trigger in rule.triggers}
    done = (action for rule in tree.rules for action in steps(rule.body))
    return waited | {action.event_type for action in done if isinstance(action, EmitEvent)}


def _unused_results(graph: Graph) -> Iterator[Diagnostic]:
    if not any(s.tree.annotation("Action") for s in graph.statements):
        return
    used = {maker for maker, _ in graph.pairs}
    for number, statement in enumerate(graph.statements):
        is_meant = statement.tree.annotation("Action") or kind_of(statement.tree)
        if number not in used and not is_meant:
            fact = f"nothing uses the results of '{statement.name}'"
            hint = "other statements have an @Action, or another statement that takes them"
            yield note("unused-result", fact, statement.tree.span, hint)
