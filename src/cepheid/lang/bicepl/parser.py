"""The entry: text into classes and everything that is wrong with the text.

A class is read clause by clause, and a mistake in one clause does not keep the next from being read. The SQL in it
is cut out of the text by words that are no names in SQL either: `OCCURRING`, `ON`, `DO`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from cepheid.core.time import Period
from cepheid.core.types import Attribute
from cepheid.errors import Diagnostic, ProgramError, Span
from cepheid.lang.bicepl.clauses import attribute, time
from cepheid.lang.bicepl.cursor import BiceplCursor
from cepheid.lang.bicepl.notation import tokens_of
from cepheid.lang.bicepl.sql_pieces import Pieces, lies_in
from cepheid.lang.common.expressions import name_text
from cepheid.lang.common.lexer import Comment, Kind, Token
from cepheid.lang.common.names import Name, Role
from cepheid.program.classes import AnyClass, ComplexClass, Reaction, SubscribedClass
from cepheid.program.tree import ProgramTree

_T = TypeVar("_T")
# Words of the grammar, as they follow each other.
PHRASES = (
    "CREATE MUTABLE SUBSCRIBED EVENT CLASS",
    "CREATE IMMUTABLE SUBSCRIBED EVENT CLASS",
    "CREATE COMPLEX EVENT CLASS",
    *("ID (", "FREEZING TIME (", "OBSERVATION SPAN (", "AS SELECT", "OCCURRING AT", "ON", "DO"),
)
_KINDS = ("mutable", "immutable", "complex")


@dataclass(frozen=True, slots=True)
class Parsed:
    """The classes as far as the text gives them."""

    tree: ProgramTree
    problems: tuple[Diagnostic, ...]
    comments: tuple[Comment, ...]
    tokens: tuple[Token, ...]
    names: tuple[Name, ...]
    begun: tuple[Span, ...]
    extents: tuple[Span, ...]  # of the classes, without their semicolons


def parse(text: str, file: str | None = None) -> Parsed:
    """All classes of a text and all its problems; one broken clause hides no other."""
    tokens = tokens_of(text, file)
    cursor = BiceplCursor(tokens.tokens)
    pieces = Pieces(cursor, text, tokens)
    classes: list[AnyClass] = []
    extents: list[Span] = []
    while cursor.token.kind is not Kind.END:
        if not cursor.take_symbol(";"):
            start = cursor.token
            cursor.begin()
            found = _ClassReader(cursor, pieces, tokens.problems).read()
            if found is not None:
                classes.append(found)
                extents.append(cursor.span_from(start))
    problems = sorted([*tokens.problems, *cursor.problems], key=_place)
    tree = ProgramTree(tuple(classes))
    return Parsed(
        tree,
        tuple(problems),
        tokens.comments,
        tokens.tokens,
        tuple(cursor.names),
        tuple(cursor.begun),
        tuple(extents),
    )


def _place(problem: Diagnostic) -> tuple[int, int]:
    return (problem.span.line, problem.span.column) if problem.span else (0, 0)


@dataclass(slots=True)
class _Head:
    """What both kinds of classes begin with."""

    name: str
    attributes: tuple[Attribute, ...]
    key: tuple[str, ...]
    places: tuple[Span, ...]
    span: Span


class _ClassReader:
    """Reads one class."""

    def __init__(self, cursor: BiceplCursor, pieces: Pieces, known: Sequence[Diagnostic]) -> None:
        self.cursor = cursor
        self.pieces = pieces
        self.known = known  # what is wrong with the tokens of the text
        self.failed = False  # whether something of the class could not be read

    def read(self) -> AnyClass | None:
        """The class, None where too little of it can be read; the cursor ends up behind it."""
        cursor = self.cursor
        begun = cursor.index
        found = self._attempt(self._class, cursor.at_end)
        if not (cursor.at_end() or self.failed):
            is_first = found is not None and not found.reactions
            statement = "'ON' and a statement" if is_first else "',' and another statement"
            self._complain(f"{statement}, or ';' at the end of the class")
        while not cursor.at_end() or cursor.index == begun:
            cursor.advance()
        if cursor.token.is_word("create") and not self.failed:
            self._complain("';' at the end of the class")
        return found

    def _class(self) -> AnyClass | None:
        cursor = self.cursor
        start = cursor.token
        if not cursor.take_word("create"):
            self._complain("'CREATE' at the start of a class", ("create",))
            if not cursor.next.is_word(*_KINDS):
                return None
            cursor.advance()
        kind = cursor.take_word(*_KINDS)
        if kind is None:
            is_open = cursor.token.is_word("subscribed")
            hint = "may its events change? CREATE MUTABLE SUBSCRIBED ..." if is_open else None
            cursor.unexpected("'MUTABLE', 'IMMUTABLE' or 'COMPLEX'", _KINDS, hint)
        if kind.value == "complex":
            return self._complex(start)
        return self._subscribed(start, is_mutable=kind.value == "mutable")

    def _subscribed(self, start: Token, *, is_mutable: bool) -> SubscribedClass | None:
        head = self._head(start, "subscribed", "event", "class")
        freezing = self._clause("FREEZING TIME", "how long its events may change", self._time)
        reactions = self._reactions()
        if head is None:
            return None
        return SubscribedClass(
            name=head.name,
            attributes=head.attributes,
            key=head.key,
            reactions=reactions,
            freezing=freezing or Period(),
            is_mutable=is_mutable,
            places=head.places,
            span=head.span,
        )

    def _complex(self, start: Token) -> ComplexClass | None:
        head = self._head(start, "event", "class")
        span = self._clause("OBSERVATION SPAN", "how far apart its events lie", self._time)
        select = self._clause("AS", "the query of the class", self.pieces.query)
        occurring = self._clause("OCCURRING AT", "when its events occur", self.pieces.time)
        reactions = self._reactions()
        if head is None or select is None or occurring is None:
            return None
        return ComplexClass(
            name=head.name,
            attributes=head.attributes,
            key=head.key,
            reactions=reactions,
            observation=span or Period(),
            select=select,
            occurring=occurring,
            places=head.places,
            span=head.span,
        )

    # Clauses.

    def _head(self, start: Token, *words: str) -> _Head | None:
        cursor = self.cursor
        name = self._attempt(lambda: self._name(words), lambda: cursor.token.is_symbol("("))
        span = cursor.span_from(start)
        typed = self._attempt(lambda: self._list("attributes", lambda: attribute(cursor)))
        key = self._clause(
            "ID", "the key of the class", lambda: self._list("key attributes", self._key_name)
        )
        if name is None or not typed or not key:
            return None
        places = tuple(place for _, place in [*typed, *key])
        attributes, names = tuple(a for a, _ in typed), tuple(n for n, _ in key)
        return _Head(name_text(name), attributes, names, places, span)

    def _name(self, words: Sequence[str]) -> Token:
        title = " ".join(words).upper()
        for word in words:
            self.cursor.expect_word(word, f" of '{title}'")
        return self.cursor.name("the name of the class", Role.NEW_TYPE)

    def _key_name(self) -> tuple[str, Span]:
        found = self.cursor.name("the name of an attribute", Role.ARGUMENT)
        return name_text(found), found.span

    def _list(self, what: str, read: Callable[[], _T]) -> list[_T] | None:
        """One or more in brackets, separated by commas; None where one of them is broken."""
        cursor = self.cursor
        opened = cursor.expect_symbol("(", f" and the {what} of the class")
        found = [self._attempt(read, self._at_next)]
        while cursor.take_symbol(","):
            found.append(self._attempt(read, self._at_next))
        cursor.close(")", opened, f"list of {what}", ())
        whole = [each for each in found if each is not None]
        return whole if len(whole) == len(found) else None

    def _at_next(self) -> bool:
        return self.cursor.token.is_symbol(",", ")") or self.cursor.at_clause()

    def _time(self) -> Period:
        return time(self.cursor)

    # Statements.

    def _reactions(self) -> tuple[Reaction, ...]:
        cursor = self.cursor
        found: list[Reaction | None] = []
        while cursor.token.is_word("on"):
            found.append(self._attempt(self._reaction, self._at_statement))
            if cursor.token.is_word("on") and found[-1] is not None:
                self._complain("',' between two statements")
            while cursor.take_symbol(",") and not cursor.token.is_word("on"):
                self._attempt(self._another, self._at_statement)
        return tuple(each for each in found if each is not None)

    def _another(self) -> None:
        self.cursor.unexpected("'ON' and another statement after ','", ("on",))

    def _at_statement(self) -> bool:
        token, following = self.cursor.token, self.cursor.next
        return token.is_word("on") or (token.is_symbol(",") and following.is_word("on"))

    def _reaction(self) -> Reaction:
        cursor = self.cursor
        start = cursor.expect_word("on")
        condition = self.pieces.condition()
        cursor.expect_word("do")
        name = cursor.name("the name of an action")
        opened = cursor.expect_symbol("(", " and the arguments of the action")
        arguments = self.pieces.arguments(opened)
        return Reaction(condition, name_text(name), arguments, span=cursor.span_from(start))

    # Mistakes.

    def _clause(self, title: str, purpose: str, read: Callable[[], _T | None]) -> _T | None:
        """What follows its words; nothing is missing where a mistake before it went on to the end."""

        def with_words() -> _T | None:
            for word in title.lower().split():
                if not self.cursor.take_word(word):
                    self.cursor.unexpected(f"'{title}' and {purpose}", (word,))
            return read()

        return None if self.failed and self.cursor.at_end() else self._attempt(with_words)

    def _attempt(
        self, read: Callable[[], _T], is_next: Callable[[], bool] | None = None
    ) -> _T | None:
        """What is read; after a mistake, on to where something else plainly begins."""
        cursor, is_next = self.cursor, is_next or self.cursor.at_clause
        begun = cursor.token
        try:
            return read()
        except ProgramError as refused:
            if not self._is_consequence(begun, cursor.token):
                cursor.problems.extend(refused.diagnostics)
            self.failed = True
            while not (cursor.at_end() or is_next()):
                cursor.advance()
            return None

    def _complain(self, expected: str, words: Collection[str] = ()) -> None:
        """Reports what is missing here, and stays."""
        self._attempt(lambda: self.cursor.unexpected(expected, words), lambda: True)

    def _is_consequence(self, begun: Token, reached: Token) -> bool:
        """Whether there is text between that is no token: reason enough to fail."""
        return any(lies_in(problem, begun.span.to(reached.span)) for problem in self.known)
