"""A program as if some of its statements were not in it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from cepheid.program.statements import name_at, statement_names
from cepheid.program.tree import Annotation, Declaration, ProgramTree, Statement


def without_statements(tree: ProgramTree, left_out: Collection[str]) -> ProgramTree:
    """All others keep their names, also those that have them from their places."""
    names = iter(statement_names(tree.statements))
    kept: list[Declaration] = []
    place = 0
    for declared in tree.declarations:
        if not isinstance(declared, Statement):
            kept.append(declared)
        elif (name := next(names)) not in left_out:
            place += 1
            kept.append(_named(declared, name, place))
    return replace(tree, declarations=tuple(kept))


def _named(statement: Statement, name: str, place: int) -> Statement:
    """Says its name where its place among the others does not."""
    if statement.annotation("Name") is not None or name == name_at(place):
        return statement
    said = Annotation("Name", ((None, name),))
    return replace(statement, annotations=(*statement.annotations, said))
