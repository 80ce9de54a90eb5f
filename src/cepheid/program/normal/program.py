"""Programs in normal form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from cepheid.pattern.policy import Policy
from cepheid.pattern.tree import Atom, Every, Pattern
from cepheid.program.normal.embedding import EMBEDDING_VERSION, embed, joined
from cepheid.program.normal.nodes import Awaited, Node, events, walk
from cepheid.program.normal.rewrites import REWRITES
from cepheid.program.normal.rewrites.rewrite import Rewrite
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement


@dataclass(frozen=True, slots=True)
class NormalStatement:
    """Where its matches come from, in normal form; what it does with them is as resolved."""

    resolved: ResolvedStatement
    source: Node

    @property
    def policy(self) -> Policy:
        return self.resolved.policy

    @property
    def stream(self) -> Awaited | None:
        """The events of a statement that reads a stream: its clauses name them by no tag."""
        if self.resolved.pattern is not None:
            return None
        return next(events(self.source))


@dataclass(frozen=True, slots=True)
class NormalProgram:
    """The statements in the order of the text; types and ranks are as resolved."""

    resolved: ResolvedProgram
    statements: tuple[NormalStatement, ...]


def normalize(program: ResolvedProgram) -> NormalProgram:
    return NormalProgram(program, tuple(map(normalize_statement, program.statements)))


def normalize_statement(statement: ResolvedStatement) -> NormalStatement:
    statement = _asked_at_once(statement)
    node = embed(_pattern(statement))
    kinds = set(map(type, walk(node)))  # few, and no rewrite adds one that others change
    for rewrite in REWRITES:
        if rewrite.kind in kinds:
            node = rewrite(node)
    return NormalStatement(statement, node)


def _asked_at_once(statement: ResolvedStatement) -> ResolvedStatement:
    """What a stream asks in `where` is a condition of its events, unless something counts or keeps these before.

    Why no row changes: without a window and a rate, an event that does not pass `where` is nothing to any clause.
    """
    tree, where = statement.tree, statement.where
    if where is None or statement.pattern is not None or tree.window or tree.output:
        return statement
    given = () if statement.condition is None else (statement.condition,)
    return replace(statement, condition=joined((*given, where)), where=None)


def _pattern(statement: ResolvedStatement) -> Pattern:
    """A stream is the pattern `every` event of its type that satisfies its condition.

    Why no row changes: `every` begins to wait anew with each event that it takes, so it takes all of
    them, at once and in their order, and each is a match; the same events are the rows of a stream.
    """
    if statement.pattern is not None:
        return statement.pattern
    assert statement.event_type is not None
    return Every(Atom(statement.event_type, None, statement.condition))


def digest(rewrites: Sequence[Rewrite[Any]] = REWRITES) -> str:
    """Changes with the list of rewrites, their order and their versions."""
    listed = [f"{rewrite.name}:{rewrite.version}" for rewrite in rewrites]
    return sha256(",".join([f"embed:{EMBEDDING_VERSION}", *listed]).encode()).hexdigest()
