"""VEPL, as the rest of Cepheid sees it."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.expr.printing import print_expr
from cepheid.lang.common.priorities import write_priorities
from cepheid.lang.language import Language
from cepheid.lang.vepl.formatter import format_text
from cepheid.lang.vepl.parser import parse
from cepheid.lang.vepl.printer import excess, print_declaration, print_pattern, print_program
from cepheid.program.tree import (
    Declaration,
    ProgramTree,
    QuickFix,
    ReactiveRule,
    Schema,
    Statement,
)


def _with_priorities(text: str, priorities: Sequence[int]) -> str:
    return write_priorities(text, parse(text).tree.statements, priorities)


def _owns(declaration: Declaration, tree: ProgramTree) -> bool:
    if isinstance(declaration, ReactiveRule | QuickFix):
        return True
    if isinstance(declaration, Statement):
        return declaration.is_occurrence
    if not isinstance(declaration, Schema):
        return False
    derived = {s.insert_into for s in tree.statements if s.is_occurrence}
    return declaration.disturbs or declaration.name in derived


VEPL = Language(
    name="vepl",
    title="VEPL",
    extensions=(".vepl",),
    parse=parse,
    print_program=print_program,
    print_declaration=print_declaration,
    print_pattern=print_pattern,
    print_expression=print_expr,
    excess=excess,
    format_text=format_text,
    with_priorities=_with_priorities,
    owns=_owns,
)
