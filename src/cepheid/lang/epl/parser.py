"""The entry: EPL text into a program tree and everything that is wrong with the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepheid.errors import Diagnostic, Edit, Fix, ProgramError, Span, error
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.lexer import Comment, Kind, Token, tokenize
from cepheid.lang.common.names import Name
from cepheid.lang.epl.statements import STARTERS, declaration
from cepheid.program.tree import Declaration, ProgramTree


@dataclass(frozen=True, slots=True)
class Parsed:
    """A program as far as the text gives one.

    For each declaration, `starts` has the places where its clauses start; with the comments that
    is what rewriting the text needs besides the tree.
    """

    tree: ProgramTree
    problems: tuple[Diagnostic, ...]
    comments: tuple[Comment, ...]
    starts: tuple[Mapping[str, Span], ...]
    tokens: tuple[Token, ...]
    names: tuple[Name, ...]
    begun: tuple[Span, ...]

    @property
    def extents(self) -> tuple[Span, ...]:
        return tuple(declaration.span for declaration in self.tree.declarations if declaration.span)


def parse(text: str, file: str | None = None) -> Parsed:
    """The declarations of a text and all its problems; one broken declaration hides no other."""
    tokens = tokenize(text, file)
    cursor = Cursor(tokens.tokens)
    declarations: list[Declaration] = []
    starts: list[Mapping[str, Span]] = []
    while _skip_semicolons(cursor):
        begun = cursor.index
        cursor.begin()
        try:
            declarations.append(declaration(cursor))
            starts.append(cursor.starts)
            _expect_end(cursor)
        except ProgramError as refused:
            if not _is_consequence(cursor, begun, tokens.problems):
                cursor.problems.extend(refused.diagnostics)
            _recover(cursor, begun)
    problems = sorted([*tokens.problems, *cursor.problems], key=_place)
    tree = ProgramTree(tuple(declarations))
    return Parsed(
        tree,
        tuple(problems),
        tokens.comments,
        tuple(starts),
        tokens.tokens,
        tuple(cursor.names),
        tuple(cursor.begun),
    )


def _is_consequence(cursor: Cursor, begun: int, problems: tuple[Diagnostic, ...]) -> bool:
    """Whether the declaration, up to here, has text that is no token: reason enough to fail."""
    first, last = cursor.tokens[begun].span, cursor.token.span
    start, end = (first.line, first.column), (last.line, last.column)
    return any(start <= _place(problem) <= end for problem in problems)


def _skip_semicolons(cursor: Cursor) -> bool:
    """Whether another declaration follows."""
    while cursor.take_symbol(";"):
        pass
    return cursor.token.kind is not Kind.END


def _expect_end(cursor: Cursor) -> None:
    token = cursor.token
    if token.kind is Kind.END or token.is_symbol(";"):
        return
    if token.is_word(*STARTERS) or token.is_symbol("@"):
        cursor.refuse_habit()
        message = f"expected ';' before the declaration that starts with {token}"
        fixes = (_closing(cursor.previous),) if cursor.previous else ()
        hint = "declarations end with ';'"
        cursor.problems.append(error("syntax", message, token.span, hint, fixes))
        return
    cursor.unexpected("';' or another clause")


def _closing(last: Token) -> Fix:
    return Fix("write ';' before it", (Edit(last.span.end, ";"),))


def _recover(cursor: Cursor, begun: int) -> None:
    """To the next place where a declaration plainly starts."""
    while cursor.token.kind is not Kind.END and not cursor.token.is_symbol(";"):
        if cursor.index > begun and _starts_declaration(cursor):
            return
        cursor.advance()


def _starts_declaration(cursor: Cursor) -> bool:
    """Words that stand nowhere else, at the start of a line."""
    token, previous = cursor.token, cursor.previous
    if previous and previous.span.end_line == token.span.line:
        return False
    is_insert = token.is_word("insert") and cursor.next.is_word("into")
    return is_insert or token.is_word("create") or token.is_symbol("@")


def _place(problem: Diagnostic) -> tuple[int, int]:
    return (problem.span.line, problem.span.column) if problem.span else (0, 0)
