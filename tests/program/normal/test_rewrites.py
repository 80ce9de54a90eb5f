"""Rewrites change no row: the reference semantics runs the pattern as written and as rewritten."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import assume, given, note

import cepheid as cep
from cepheid.core.event import Event
from cepheid.expr.tree import Column
from cepheid.pattern.tree import Pattern
from cepheid.program.normal import REWRITES, normalize_statement
from cepheid.program.normal.embedding import denormalize, embed
from cepheid.program.normal.rewrites.rewrite import Rewrite
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.tree import ProgramTree
from tests.effort import examples
from tests.program.normal.shapes import SHAPES, patterns_with, rows_of
from tests.semantics.drive import resolved
from tests.semantics.generators import programs, select_everything, streams


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.name)
def test_a_rewrite_changes_no_row(rewrite: Rewrite[Any]) -> None:
    @examples(150)
    @given(patterns_with(SHAPES[rewrite.name]), streams())
    def rewritten_rows_are_the_rows(pattern: Pattern, stream: list[Event]) -> None:
        tree = select_everything(pattern)
        program = resolve_program(tree)
        assume(not any(p.severity.name == "ERROR" for p in program.problems))
        note(cep.Program(tree).to_text())
        [statement] = program.statements
        assert statement.pattern is not None
        node = embed(statement.pattern)
        assert denormalize(node) == statement.pattern
        for earlier in REWRITES[: REWRITES.index(rewrite)]:
            node = earlier(node)
        changed = rewrite(node)
        assert changed != node
        after = replace(statement, pattern=denormalize(changed))
        assert rows_of(replace(program, statements=(after,)), stream) == rows_of(program, stream)

    rewritten_rows_are_the_rows()


def test_every_rewrite_has_patterns_in_which_it_finds_something_to_do() -> None:
    assert [rewrite.name for rewrite in REWRITES] == list(SHAPES)


@examples(150)
@given(programs(), streams())
def test_the_normal_form_of_a_program_has_its_rows(tree: ProgramTree, stream: list[Event]) -> None:
    """All rewrites together, and streams as patterns."""
    note(cep.Program(tree).to_text())
    program = resolved(tree)
    expected = rows_of(program, stream)
    assert rows_of(as_normal_patterns(program), stream) == expected


def as_normal_patterns(program: ResolvedProgram) -> ResolvedProgram:
    return replace(program, statements=tuple(map(_as_pattern, program.statements)))


def _as_pattern(statement: ResolvedStatement) -> ResolvedStatement:
    pattern = denormalize(normalize_statement(statement).source)
    if statement.pattern is not None:
        return replace(statement, pattern=pattern)
    named = replace(pattern, child=replace(pattern.child, tag=TAG))  # type: ignore[attr-defined, call-arg]
    clauses = ("columns", "where", "group_by", "having", "order_by")
    changed = {name: tagged(getattr(statement, name)) for name in clauses}
    return replace(statement, pattern=named, event_type=None, condition=None, **changed)


TAG = "at_hand"


def tagged(value: Any) -> Any:
    """The same with a tag for the event at hand."""
    if isinstance(value, tuple):
        return tuple(map(tagged, value))
    if isinstance(value, Column):
        return replace(value, tag=TAG)
    if is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in fields(value) if f.name not in ("type", "span", "target")]
        return replace(value, **{name: tagged(getattr(value, name)) for name in names})
    return value
