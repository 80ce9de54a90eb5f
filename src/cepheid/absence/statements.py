"""Statements without some of their parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cepheid.absence import forms, patterns
from cepheid.absence.parts import Kind, Lifted, Part, parts_of_condition, parts_of_pattern
from cepheid.absence.patterns import ASKED, without
from cepheid.pattern.algebra import Occurrence
from cepheid.program.resolved import ResolvedStatement
from cepheid.program.tree import PatternSource


def parts_of(statement: ResolvedStatement) -> tuple[Part, ...]:
    """All parts that could stand in the way of a row, in about the order of the text."""
    return (*_source_parts(statement), *_clause_parts(statement))


def _source_parts(statement: ResolvedStatement) -> Iterator[Part]:
    if isinstance(statement.pattern, Occurrence):
        yield from forms.parts_of_form(statement.pattern, statement.policy)
    elif statement.pattern is not None:
        yield from parts_of_pattern(statement.pattern)
    else:
        yield from parts_of_condition(statement.condition, Kind.CONDITION)
        yield Part(Kind.MISSING, span=statement.tree.source.span)


def _clause_parts(statement: ResolvedStatement) -> Iterator[Part]:
    tree = statement.tree
    yield from parts_of_condition(statement.where, Kind.WHERE)
    yield from parts_of_condition(statement.having, Kind.HAVING)
    if statement.context is not None:
        yield Part(Kind.KEY, span=statement.context.span)
    if tree.window is not None:
        yield Part(Kind.WINDOW, span=tree.window.span)
    if tree.output is not None:
        yield Part(Kind.OUTPUT, span=tree.output.span)
    if tree.limit is not None:
        yield Part(Kind.LIMIT, span=tree.limit.span)
    if tree.stream == "rstream" or tree.insert_stream == "rstream":
        yield Part(Kind.STREAM, span=tree.span)


def lift(statement: ResolvedStatement, lifted: Lifted) -> ResolvedStatement:
    """What is left of a statement."""
    kinds = {part.kind for part in lifted}
    left, gone = _lift_source(statement, lifted)
    tree = left.tree
    if Kind.WINDOW in kinds:
        tree = replace(tree, window=None)
    if Kind.OUTPUT in kinds:
        tree = replace(tree, output=None)
    if Kind.LIMIT in kinds:
        tree = replace(tree, limit=None)
    if Kind.STREAM in kinds:
        tree = replace(tree, stream="istream", insert_stream="istream")
    return replace(
        left,
        tree=tree,
        where=without(statement.where, Kind.WHERE, (), lifted, gone),
        having=without(statement.having, Kind.HAVING, (), lifted, gone),
        output_when=statement.output_when if tree.output is not None else None,
        context=None if Kind.KEY in kinds else statement.context,
    )


def _lift_source(
    statement: ResolvedStatement, lifted: Lifted
) -> tuple[ResolvedStatement, frozenset[str | None]]:
    """The source that is left, and whose attributes are not known any more; None is the event at hand."""
    nothing: frozenset[str | None] = frozenset()
    source = statement.tree.source
    if isinstance(statement.pattern, Occurrence):
        assert isinstance(source, PatternSource)
        policy = forms.lift_policy(source.policy, lifted)
        tree = replace(statement.tree, source=replace(source, policy=policy))
        pattern = forms.lift_form(statement.pattern, lifted)
        return replace(statement, tree=tree, pattern=pattern), nothing
    if statement.pattern is not None:
        left, gone = patterns.lift_pattern(statement.pattern, lifted)
        return replace(statement, pattern=left), gone
    if Part(Kind.MISSING) in lifted:
        return replace(statement, event_type=ASKED, condition=None), frozenset({None})
    condition = without(statement.condition, Kind.CONDITION, (), lifted, nothing)
    return replace(statement, condition=condition), nothing
