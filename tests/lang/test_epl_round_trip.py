"""What the printer writes, the parser reads back."""

from __future__ import annotations

from hypothesis import given

from cepheid.errors import Severity
from cepheid.expr.notation import nesting
from cepheid.expr.tree import Expr
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.lexer import Token, tokenize
from cepheid.lang.epl.formatter import format_text
from cepheid.lang.epl.parser import parse
from cepheid.lang.epl.patterns import pattern as parse_pattern
from cepheid.lang.epl.print_patterns import levels_in
from cepheid.lang.epl.printer import print_declaration, print_expr, print_pattern, print_program
from cepheid.pattern.tree import Every, Pattern, While
from cepheid.program.tree import (
    PatternSource,
    ProgramTree,
    SelectExpr,
    Statement,
    StreamSource,
)
from tests.effort import examples
from tests.strategies import expressions, patterns, program_trees, statements


def errors_of(text: str) -> list[str]:
    return [str(p) for p in parse(text).problems if p.severity is Severity.ERROR]


@examples(400)
@given(expressions())
def test_an_expression_reads_back_as_printed(expr: Expr) -> None:
    text = f"select {print_expr(expr)} as x from A"
    assert errors_of(text) == []
    wanted = Statement(select=(SelectExpr(expr, "x"),), source=StreamSource("A"))
    assert parse(text).tree == ProgramTree((wanted,))


@examples(400)
@given(patterns())
def test_a_pattern_reads_back_as_printed(pattern: Pattern) -> None:
    text = f"select 1 as x from pattern [{print_pattern(pattern)}]"
    assert errors_of(text) == []
    statement = parse(text).tree.statements[0]
    assert statement.source == PatternSource(pattern)


@examples(150)
@given(statements())
def test_a_statement_reads_back_as_printed(statement: Statement) -> None:
    text = print_declaration(statement)
    assert errors_of(text) == []
    assert parse(text).tree.declarations == (statement,)


@examples(150)
@given(program_trees())
def test_a_program_reads_back_as_printed_and_is_in_canonical_form(tree: ProgramTree) -> None:
    text = print_program(tree)
    assert errors_of(text) == []
    assert parse(text).tree == tree
    assert format_text(text) == text


class Diver(Cursor):
    """Remembers how deep the parser went."""

    deepest = 0

    def enter(self, opened: Token, what: str) -> None:
        super().enter(opened, what)
        self.deepest = max(self.deepest, self.nesting)


@examples(300)
@given(patterns(), expressions())
def test_the_depth_of_a_text_is_known_without_reading_it(pattern: Pattern, expr: Expr) -> None:
    inside = While(Every(pattern), expr)
    cursor = Diver(tokenize(print_pattern(inside)).tokens)
    assert parse_pattern(cursor) == inside
    root: Pattern | Expr = inside
    assert cursor.deepest == nesting(root, levels_in)
