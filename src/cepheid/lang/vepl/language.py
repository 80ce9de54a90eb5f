"""VEPL, as the rest of Cepheid sees it."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.errors import Edit
from cepheid.expr.printing import print_expr, print_name
from cepheid.lang.common.lexer import tokenize
from cepheid.lang.common.priorities import priority_edits
from cepheid.lang.editable import Editable, Read
from cepheid.lang.language import Language
from cepheid.lang.vepl.formatter import format_text
from cepheid.lang.vepl.parser import TYPES, Parsed, parse
from cepheid.lang.vepl.phrases import PHRASES
from cepheid.lang.vepl.printer import (
    excess,
    print_declaration,
    print_element,
    print_pattern,
    print_program,
)
from cepheid.pattern.policy import CHRONICLE
from cepheid.program.tree import (
    Declaration,
    ProgramTree,
    QuickFix,
    ReactiveRule,
    Schema,
    Statement,
)


def _with_priorities(text: str, file: str | None, priorities: Sequence[int]) -> tuple[Edit, ...]:
    return priority_edits(text, parse(text, file).tree.statements, priorities)


def _owns(declaration: Declaration, tree: ProgramTree) -> bool:
    if isinstance(declaration, ReactiveRule | QuickFix):
        return True
    if isinstance(declaration, Statement):
        return declaration.is_occurrence
    if not isinstance(declaration, Schema):
        return False
    derived = {s.insert_into for s in tree.statements if s.is_occurrence}
    return declaration.disturbs or declaration.name in derived


def _elements(tree: ProgramTree) -> tuple[tuple[Declaration, ...], ...]:
    """A complex event is a schema and, right behind it, the statement that derives it."""
    found: list[tuple[Declaration, ...]] = []
    for declaration in tree.declarations:
        before = found[-1][-1] if found else None
        derived = declaration.insert_into if isinstance(declaration, Statement) else None
        if derived and isinstance(before, Schema) and before.name == derived:
            found[-1] = (before, declaration)
        else:
            found.append((declaration,))
    return tuple(found)


def _print_element(element: tuple[Declaration, ...], read: Read) -> str:
    return print_element(element, read.context if isinstance(read, Parsed) else CHRONICLE)


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
    editable=Editable(
        parse=parse,
        tokens=tokenize,
        print_element=_print_element,
        elements=_elements,
        phrases=PHRASES,
        types=tuple(TYPES),
        print_name=print_name,
    ),
    owns=_owns,
)
