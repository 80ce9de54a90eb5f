"""BiCEPL, as the rest of Cepheid sees it."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.errors import Edit, UsageError, error
from cepheid.expr.printing import print_expr
from cepheid.lang.bicepl.formatter import format_text
from cepheid.lang.bicepl.notation import print_name, tokens_of
from cepheid.lang.bicepl.parser import PHRASES, parse
from cepheid.lang.bicepl.printer import print_class
from cepheid.lang.editable import Editable
from cepheid.lang.language import Language
from cepheid.pattern.tree import Pattern
from cepheid.program.classes import USUAL_TYPES, AnyClass, ComplexClass, SubscribedClass
from cepheid.program.tree import Declaration, ProgramTree


def _print_program(tree: ProgramTree) -> str:
    return "\n".join(print_class(_class(declaration)) for declaration in tree.declarations)


def _print_declaration(declaration: Declaration) -> str:
    return print_class(_class(declaration))


def _class(declaration: Declaration) -> AnyClass:
    if not isinstance(declaration, SubscribedClass | ComplexClass):
        raise _no_words(declaration)
    return declaration


def _print_pattern(pattern: Pattern) -> str:
    raise _no_words(pattern)


def _no_words(node: object) -> UsageError:
    return UsageError(
        error("unsupported", f"BiCEPL has no words for a {type(node).__name__.lower()}")
    )


def _with_priorities(text: str, file: str | None, priorities: Sequence[int]) -> tuple[Edit, ...]:
    del text, file, priorities  # classes are no statements
    return ()


BICEPL = Language(
    name="bicepl",
    title="BiCEPL",
    extensions=(".bicepl",),
    parse=parse,
    print_program=_print_program,
    print_declaration=_print_declaration,
    print_pattern=_print_pattern,
    print_expression=print_expr,
    excess=lambda pattern: None,  # noqa: ARG005
    format_text=format_text,
    with_priorities=_with_priorities,
    editable=Editable(
        parse=parse,
        tokens=tokens_of,
        print_element=lambda element, read: _print_declaration(*element),  # noqa: ARG005
        end_mark=";",
        phrases=PHRASES,
        types=USUAL_TYPES,
        print_name=print_name,
    ),
    owns=lambda declaration, tree: isinstance(declaration, SubscribedClass | ComplexClass),  # noqa: ARG005
)
