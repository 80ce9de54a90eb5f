"""EPL, as the rest of Cepheid sees it."""

from __future__ import annotations

from cepheid.lang.epl.formatter import format_text
from cepheid.lang.epl.parser import parse
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
)
