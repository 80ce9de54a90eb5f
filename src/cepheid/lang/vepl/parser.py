"""The entry: VEPL text into a program tree and everything that is wrong with the text.

An atomic event is a schema. A complex event is a schema, of its parameters, and a statement that derives
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, STRING, Attribute, DataType
from cepheid.errors import Diagnostic, ProgramError, Span, error, suggest
from cepheid.expr.tree import Expr
from cepheid.lang.common.annotations import annotation_list
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.expressions import expression, name_text
from cepheid.lang.common.lexer import Comment, Kind, Token, tokenize
from cepheid.lang.vepl.forms import form
from cepheid.pattern.policy import CHRONICLE, CONTEXTS, Policy
from cepheid.program.occurrences import deriving
from cepheid.program.tree import Annotation, Declaration, ProgramTree, Schema

Notes: TypeAlias = tuple[Annotation, ...]

# What types are called in Java, where VEPL comes from, and here.
TYPES: Mapping[str, DataType] = {
    **dict.fromkeys(("string", "String"), STRING),
    **dict.fromkeys(("int", "Integer"), INT),
    **dict.fromkeys(("long", "Long"), LONG),
    **dict.fromkeys(("float", "Float"), FLOAT),
    **dict.fromkeys(("double", "Double"), DOUBLE),
    **dict.fromkeys(("boolean", "Boolean"), BOOLEAN),
}
_LATER = {
    "trait": "parameters can be repeated in each event instead",
    "queryEvent": "an atomic event that a query's matches are turned into",
    "rule": "the rows of a complex event say when it happens",
}


@dataclass(frozen=True, slots=True)
class Parsed:
    tree: ProgramTree
    problems: tuple[Diagnostic, ...]
    comments: tuple[Comment, ...]


def parse(text: str, file: str | None = None) -> Parsed:
    """The declarations of a text and all its problems; one broken declaration hides no other."""
    tokens = tokenize(text, file)
    reader = _Reader(Cursor(tokens.tokens))
    declarations: list[Declaration] = []
    reader.attempt(reader.heading)
    while reader.cursor.token.kind is not Kind.END:
        declarations += reader.attempt(reader.element) or ()
    problems = sorted([*tokens.problems, *reader.cursor.problems], key=_place)
    return Parsed(ProgramTree(tuple(declarations)), tuple(problems), tokens.comments)


def _place(problem: Diagnostic) -> tuple[int, int]:
    return (problem.span.line, problem.span.column) if problem.span else (0, 0)


class _Reader:
    """Reads a file; its context is that of all complex events that name none."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.context = CHRONICLE
        self.elements: Mapping[str, Callable[[Token, Notes], tuple[Declaration, ...]]] = {
            "atomicEvent": self.atomic_event,
            "complexEvent": self.complex_event,
        }

    def attempt(self, read: Callable[[], tuple[Declaration, ...]]) -> tuple[Declaration, ...]:
        """What is read; where that fails, the next element is looked for."""
        begun = self.cursor.index
        self.cursor.nesting = 0
        try:
            return read()
        except ProgramError as refused:
            self.cursor.problems.extend(refused.diagnostics)
            self._recover(begun)
            return ()

    def _recover(self, begun: int) -> None:
        while self.cursor.token.kind is not Kind.END:
            token = self.cursor.token
            is_start = _word(token) in {*self.elements, *_LATER} or token.is_symbol("@")
            if self.cursor.index > begun and is_start:
                return
            self.cursor.advance()

    # The heading.

    def heading(self) -> tuple[Declaration, ...]:
        """`package a.b`, imports, `context strict`: of these, only the context means anything here."""
        if self._take("package"):
            self._qualified_name("the name of the package")
        while self._take("import"):
            if self.cursor.take_symbol("-"):
                self.cursor.name("'queries'")
            self._qualified_name("what is imported")
        if self.cursor.token.is_word("context"):
            self.context = self._context()
        return ()

    def _qualified_name(self, what: str) -> None:
        self.cursor.name(what)
        while self.cursor.take_symbol("."):
            if not self.cursor.take_symbol("*"):
                self.cursor.name(what)
        self.cursor.take_symbol(";")

    def _context(self) -> Policy:
        self.cursor.advance()
        token = self.cursor.advance()
        name = str(token.value)
        is_global = self._take("global") is not None
        if (name, is_global) not in CONTEXTS:
            hint = suggest(name, (n for n, _ in CONTEXTS), "contexts")
            self.cursor.refuse(f"no context {token}", token.span, hint)
        return CONTEXTS[name, is_global]

    # Events.

    def element(self) -> tuple[Declaration, ...]:
        start = self.cursor.token
        notes = annotation_list(self.cursor)
        token = self.cursor.token
        word = _word(token)
        if word in _LATER:
            raise ProgramError(
                error("unsupported", f"'{word}' is not supported", token.span, _LATER[word])
            )
        if word not in self.elements:
            words = tuple(self.elements)
            hint = suggest(token.text, words, "what may stand here") if word else None
            fact = f"expected 'atomicEvent' or 'complexEvent', found {token}"
            self.cursor.refuse(fact, token.span, hint)
        self.cursor.advance()
        return self.elements[word](start, notes)

    def atomic_event(self, start: Token, notes: Notes) -> tuple[Declaration, ...]:
        name = self.cursor.name("the name of the event")
        attributes, places = self._parameters() if self.cursor.token.is_symbol("(") else ((), ())
        check: Expr | None = None
        opened = self.cursor.take_symbol("{")
        if opened:
            if self._take("check"):
                check = self._check()
            self.cursor.close("}", opened, "body of the event", ())
        span = self.cursor.span_from(start)
        return (
            Schema(
                name=name_text(name),
                attributes=attributes,
                annotations=notes,
                check=check,
                disturbs=True,
                places=places,
                span=span,
            ),
        )

    def _check(self) -> Expr:
        """`check { v > 1 }`, or without braces."""
        opened = self.cursor.take_symbol("{")
        found = expression(self.cursor)
        if opened:
            self.cursor.close("}", opened, "check", ())
        return found

    def complex_event(self, start: Token, notes: Notes) -> tuple[Declaration, ...]:
        name = self.cursor.name("the name of the complex event")
        if not self.cursor.token.is_symbol("("):
            self.cursor.unexpected("'(' and the parameters of the complex event, if any", ())
        attributes, places = self._parameters()
        opened = self.cursor.expect_symbol("{", " and the body of the complex event")
        if not self._take("as"):
            self.cursor.unexpected("'as' and what the complex event consists of", ("as",))
        begun = self.cursor.token
        found = form(self.cursor)
        source_span = self.cursor.span_from(begun)
        policy = self._context() if self.cursor.token.is_word("context") else self.context
        self.cursor.close("}", opened, "body of the complex event", ("context", "OR", "AND"))
        span = self.cursor.span_from(start)
        text = name_text(name)
        schema = Schema(name=text, attributes=attributes, places=places, span=span)
        return schema, deriving(schema, found, policy, notes, source_span)

    def _parameters(self) -> tuple[tuple[Attribute, ...], tuple[Span, ...]]:
        opened = self.cursor.advance()
        found: list[Attribute] = []
        places: list[Span] = []
        while not self.cursor.token.is_symbol(")"):
            if found:
                self.cursor.expect_symbol(",", " between parameters")
            name = self.cursor.name("the name of a parameter")
            if not self.cursor.take_symbol(":"):
                self.cursor.unexpected("':' and the type of the parameter", ())
            places.append(name.span)
            found.append(Attribute(name_text(name), self._type()))
        self.cursor.close(")", opened, "list of parameters", ())
        return tuple(found), tuple(places)

    def _type(self) -> DataType:
        token = self.cursor.name("the type of the parameter")
        if token.text not in TYPES:
            fact = f"no type '{token.text}' of parameters"
            hint = suggest(token.text, TYPES, "types")
            self.cursor.report("unknown-type", fact, token.span, hint)
        return TYPES.get(token.text, STRING)

    def _take(self, word: str) -> Token | None:
        """A word as it is written: names are told apart by their case."""
        return self.cursor.advance() if _word(self.cursor.token) == word else None


def _word(token: Token) -> str:
    return token.text if token.kind is Kind.WORD else ""
