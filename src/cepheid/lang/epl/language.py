"""EPL, as the rest of Cepheid sees it."""

from __future__ import annotations

from cepheid.core.values import TYPE_NAMES
from cepheid.expr.printing import print_name
from cepheid.lang.common.lexer import tokenize
from cepheid.lang.editable import Editable
from cepheid.lang.epl.formatter import format_text
from cepheid.lang.epl.lower import WINDOWS
from cepheid.lang.epl.parser import parse
from cepheid.lang.epl.phrases import PHRASES
from cepheid.lang.epl.print_patterns import excess
from cepheid.lang.epl.printer import print_declaration, print_expr, print_pattern, print_program
from cepheid.lang.epl.priorities import with_priorities
from cepheid.lang.language import Language

EPL = Language(
    name="epl",
    title="EPL",
    extensions=(".epl",),
    parse=parse,
    print_program=print_program,
    print_declaration=print_declaration,
    print_pattern=print_pattern,
    print_expression=print_expr,
    excess=excess,
    format_text=format_text,
    with_priorities=with_priorities,
    editable=Editable(
        parse=parse,
        tokens=tokenize,
        print_element=lambda element, read: print_declaration(*element),  # noqa: ARG005
        end_mark=";",
        phrases=PHRASES,
        types=tuple(TYPE_NAMES),
        windows=tuple(WINDOWS),
        print_name=print_name,
    ),
)
