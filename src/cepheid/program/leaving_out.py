"""A program as if some of its statements were not in it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from cepheid.program.statements import statement_names
from cepheid.program.tree import Annotation, Declaration, ProgramTree, Statement


def without_statements(tree: ProgramTree, left_out: Collection[str]) -> ProgramTree:
    """All others keep their names, also those that have them from their places."""
    names = iter(statement_names(tree.statements))
    kept: list[Declaration] = []
    for declared in tree.declarations:
        if not isinstance(declared, Statement):
            kept.append(declared)
        elif (name := next(names)) not in left_out:
            kept.append(_named(declared, name))
    return replace(tree, declarations=tuple(kept))


def _named(statement: Statement, name: str) -> Statement:
    if statement_names([statement]) == [name]:
        return statement
    said = Annotation("Name", ((None, name),))
    return replace(statement, annotations=(*statement.annotations, said))
