"""Graph queries, as the rest of Cepheid sees them: declarations of a program over a live model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.errors import Diagnostic, Edit, Span, UsageError, error
from cepheid.expr.printing import print_expr, print_name
from cepheid.lang.common.lexer import Comment, Token
from cepheid.lang.common.names import Name
from cepheid.lang.editable import Editable
from cepheid.lang.language import Language
from cepheid.lang.queries.formatter import format_text
from cepheid.lang.queries.parser import PHRASES, parse, tokens_of
from cepheid.lang.queries.printer import print_queries, print_query
from cepheid.pattern.tree import Pattern
from cepheid.program.tree import Declaration, ProgramTree
from cepheid.query.tree import Query, QueryTree


@dataclass(frozen=True, slots=True)
class _Parsed:
    tree: ProgramTree
    problems: tuple[Diagnostic, ...]
    tokens: tuple[Token, ...]
    comments: tuple[Comment, ...]
    extents: tuple[Span, ...]
    names: tuple[Name, ...]
    begun: tuple[Span, ...]


def _parse(text: str, file: str | None) -> _Parsed:
    parsed = parse(text, file)
    tree = ProgramTree(parsed.tree.queries)
    return _Parsed(
        tree,
        parsed.problems,
        parsed.tokens,
        parsed.comments,
        parsed.extents,
        parsed.names,
        parsed.begun,
    )


def _print_program(tree: ProgramTree) -> str:
    for declaration in tree.declarations:
        _query(declaration)
    return print_queries(QueryTree(tree.queries))


def _print_declaration(declaration: Declaration) -> str:
    return print_query(_query(declaration))


def _query(declaration: Declaration) -> Query:
    if not isinstance(declaration, Query):
        fact = f"queries have no words for a {type(declaration).__name__.lower()}"
        raise UsageError(error("unsupported", fact))
    return declaration


def _print_pattern(pattern: Pattern) -> str:
    fact = f"queries have no words for a {type(pattern).__name__.lower()}"
    raise UsageError(error("unsupported", fact))


def _with_priorities(text: str, file: str | None, priorities: Sequence[int]) -> tuple[Edit, ...]:
    del text, file, priorities  # queries are no statements
    return ()


QUERIES = Language(
    name="vql",
    title="graph queries",
    extensions=(".vql",),
    parse=_parse,
    print_program=_print_program,
    print_declaration=_print_declaration,
    print_pattern=_print_pattern,
    print_expression=print_expr,
    excess=lambda pattern: None,  # noqa: ARG005
    format_text=format_text,
    with_priorities=_with_priorities,
    editable=Editable(
        parse=_parse,
        tokens=tokens_of,
        print_element=lambda element, read: _print_declaration(*element),  # noqa: ARG005
        phrases=PHRASES,
        print_name=print_name,
    ),
    owns=lambda declaration, tree: isinstance(declaration, Query),  # noqa: ARG005
)
