"""The entry: VEPL text into a program tree and everything that is wrong with the text.

An atomic event is a schema, and so is a query event, with what makes its events. A complex event is a schema,
of its parameters, and a statement that derives it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, get_args

from cepheid.core.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    Attribute,
    DataType,
)
from cepheid.errors import Diagnostic, ProgramError, Span, error, is_slip, suggest
from cepheid.expr.tree import Expr
from cepheid.lang.common.annotations import annotation_list
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.expressions import decimal_type, expression, name_text
from cepheid.lang.common.lexer import Comment, Kind, Token, tokenize
from cepheid.lang.common.names import Name, Role
from cepheid.lang.vepl.actions import body
from cepheid.lang.vepl.forms import argument_names, form
from cepheid.pattern.policy import CHRONICLE, CONTEXTS, Policy
from cepheid.program.occurrences import deriving
from cepheid.program.tree import (
    ANY_OBJECT,
    Annotation,
    Declaration,
    MatchChange,
    ProgramTree,
    QueryChange,
    QuickFix,
    ReactiveRule,
    Schema,
    Trigger,
)

Notes: TypeAlias = tuple[Annotation, ...]

# What types are called in Java, where VEPL comes from, and here.
TYPES: Mapping[str, DataType] = {
    **dict.fromkeys(("string", "String"), STRING),
    **dict.fromkeys(("int", "Integer"), INT),
    **dict.fromkeys(("long", "Long"), LONG),
    **dict.fromkeys(("float", "Float"), FLOAT),
    **dict.fromkeys(("double", "Double"), DOUBLE),
    **dict.fromkeys(("boolean", "Boolean"), BOOLEAN),
    "timestamp": TIMESTAMP,
    "date": DATE,
}
_GAPS = {"trait": "parameters can be repeated in each event instead"}


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of an event."""

    attributes: tuple[Attribute, ...] = ()
    objects: tuple[tuple[str, str], ...] = ()  # those that name objects, with their class
    places: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Parsed:
    tree: ProgramTree
    problems: tuple[Diagnostic, ...]
    comments: tuple[Comment, ...]
    tokens: tuple[Token, ...]
    names: tuple[Name, ...]
    begun: tuple[Span, ...]
    context: Policy  # of complex events that name none

    @property
    def extents(self) -> tuple[Span, ...]:
        return tuple(declaration.span for declaration in self.tree.declarations if declaration.span)


def parse(text: str, file: str | None = None) -> Parsed:
    """The declarations of a text and all its problems; one broken declaration hides no other."""
    tokens = tokenize(text, file)
    reader = _Reader(Cursor(tokens.tokens))
    declarations: list[Declaration] = []
    reader.attempt(reader.heading)
    while reader.cursor.token.kind is not Kind.END:
        declarations += reader.attempt(reader.element) or ()
    problems = sorted([*tokens.problems, *reader.cursor.problems], key=_place)
    tree = ProgramTree(tuple(declarations))
    return Parsed(
        tree,
        tuple(problems),
        tokens.comments,
        tokens.tokens,
        tuple(reader.cursor.names),
        tuple(reader.cursor.begun),
        reader.context,
    )


def _place(problem: Diagnostic) -> tuple[int, int]:
    return (problem.span.line, problem.span.column) if problem.span else (0, 0)


class _Reader:
    """Reads a file; its context is that of all complex events that name none."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.context = CHRONICLE
        self.knows_classes = False  # whether types may be classes of a model
        self.elements: Mapping[str, Callable[[Token, Notes], tuple[Declaration, ...]]] = {
            "atomicEvent": self.atomic_event,
            "queryEvent": self.query_event,
            "complexEvent": self.complex_event,
            "rule": self.rule,
            "fix": self.fix,
        }

    def attempt(self, read: Callable[[], tuple[Declaration, ...]]) -> tuple[Declaration, ...]:
        """What is read; where that fails, the next element is looked for."""
        begun = self.cursor.index
        self.cursor.begin()
        try:
            return read()
        except ProgramError as refused:
            self.cursor.problems.extend(refused.diagnostics)
            self._recover(begun)
            return ()

    def _recover(self, begun: int) -> None:
        while self.cursor.token.kind is not Kind.END:
            token = self.cursor.token
            is_start = _word(token) in {*self.elements, *_GAPS} or token.is_symbol("@")
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
                self.knows_classes = True
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
        if word in _GAPS:
            raise ProgramError(
                error("unsupported", f"'{word}' is not supported", token.span, _GAPS[word])
            )
        if word not in self.elements:
            words = tuple(self.elements)
            hint = suggest(token.text, words, "what may stand here") if word else None
            listed = ", ".join(f"'{known}'" for known in words[:-1])
            fact = f"expected {listed} or '{words[-1]}', found {token}"
            self.cursor.refuse(fact, token.span, hint)
        self.cursor.advance()
        return self.elements[word](start, notes)

    def atomic_event(self, start: Token, notes: Notes) -> tuple[Declaration, ...]:
        name = self.cursor.name("the name of the event", Role.NEW_TYPE)
        signature = self._parameters() if self.cursor.token.is_symbol("(") else Signature()
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
                attributes=signature.attributes,
                annotations=notes,
                check=check,
                disturbs=True,
                objects=signature.objects,
                places=signature.places,
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
        name = self.cursor.name("the name of the complex event", Role.NEW_TYPE)
        if not self.cursor.token.is_symbol("("):
            self.cursor.unexpected("'(' and the parameters of the complex event, if any", ())
        signature = self._parameters()
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
        schema = Schema(
            name=text,
            attributes=signature.attributes,
            objects=signature.objects,
            places=signature.places,
            span=span,
        )
        return schema, deriving(schema, found, policy, notes, source_span)

    def query_event(self, start: Token, notes: Notes) -> tuple[Declaration, ...]:
        """`queryEvent name(params) as query(args) found`."""
        name = self.cursor.name("the name of the query event", Role.NEW_TYPE)
        self.knows_classes = True
        signature = self._parameters() if self.cursor.token.is_symbol("(") else Signature()
        if not self._take("as"):
            self.cursor.unexpected("'as' and a query", ("as",))
        schema = Schema(
            name=name_text(name),
            attributes=signature.attributes,
            annotations=notes,
            disturbs=True,
            query=self._query_change(),
            objects=signature.objects,
            places=signature.places,
            span=self.cursor.span_from(start),
        )
        return (schema,)

    def _query_change(self) -> QueryChange:
        begun = self.cursor.token
        query = self._qualified("the name of a query")
        arguments = argument_names(self.cursor) or ()
        changes: tuple[MatchChange, ...] = get_args(MatchChange)
        change = next((one for one in changes if self._take(one)), changes[0])
        return QueryChange(query, arguments, change, span=self.cursor.span_from(begun))

    # What happens then.

    def rule(self, start: Token, notes: Notes) -> tuple[Declaration, ...]:
        """`rule name on event(args), ... { ... }`."""
        name = self.cursor.name("the name of the rule", Role.RULE)
        if not self._take("on"):
            self.cursor.unexpected("'on' and an event", ("on",))
        triggers = [self._trigger()]
        while self.cursor.take_symbol(","):
            triggers.append(self._trigger())
        done = body(self.cursor, "rule")
        span = self.cursor.span_from(start)
        return (
            ReactiveRule(
                name=name_text(name),
                triggers=tuple(triggers),
                body=done,
                annotations=notes,
                span=span,
            ),
        )

    def _trigger(self) -> Trigger:
        name = self.cursor.name("the event that the rule waits for", Role.TYPE)
        arguments = argument_names(self.cursor)
        return Trigger(name_text(name), arguments, span=self.cursor.span_from(name))

    def fix(self, start: Token, notes: Notes) -> tuple[Declaration, ...]:
        """`fix name on query(args) { ... }`."""
        name = self.cursor.name("the name of the fix", Role.RULE)
        if not self._take("on"):
            self.cursor.unexpected("'on' and a query", ("on",))
        query = self._qualified("the name of a query")
        arguments = argument_names(self.cursor)
        done = body(self.cursor, "fix")
        span = self.cursor.span_from(start)
        return (
            QuickFix(
                name=name_text(name),
                query=query,
                arguments=arguments,
                body=done,
                annotations=notes,
                span=span,
            ),
        )

    def _qualified(self, what: str, role: Role = Role.QUERY) -> str:
        """`name`, `Class.feature`."""
        parts = [name_text(self.cursor.name(what, role))]
        while self.cursor.take_symbol("."):
            parts.append(name_text(self.cursor.name(what)))
        return ".".join(parts)

    # Parameters.

    def _parameters(self) -> Signature:
        opened = self.cursor.advance()
        found: list[Attribute] = []
        objects: list[tuple[str, str]] = []
        places: list[Span] = []
        while not self.cursor.token.is_symbol(")"):
            if found:
                self.cursor.expect_symbol(",", " between parameters")
            name = self.cursor.name("the name of a parameter", Role.NEW_ATTRIBUTE)
            if not self.cursor.take_symbol(":"):
                self.cursor.unexpected("':' and the type of the parameter", ())
            places.append(name.span)
            type = self._type()
            if isinstance(type, str):
                objects.append((name_text(name), type))
            found.append(Attribute(name_text(name), STRING if isinstance(type, str) else type))
        self.cursor.close(")", opened, "list of parameters", ())
        return Signature(tuple(found), tuple(objects), tuple(places))

    def _type(self) -> DataType | str:
        """A type, or the name of a class of a model, whose objects go by their names."""
        token = self.cursor.token
        if token.text == "decimal" and self.cursor.next.is_symbol("("):
            return decimal_type(self.cursor, self.cursor.advance())
        name = self._qualified("the type of the parameter", Role.DATA_TYPE)
        if name in TYPES:
            return TYPES[name]
        unknown = error(
            "unknown-type",
            f"no type '{name}' of parameters",
            token.span,
            suggest(name, (*TYPES, ANY_OBJECT), "types"),
        )
        if name[:1].isupper() and not self.knows_classes and not is_slip(unknown):
            hint = "classes of a model need a line `import-queries name` at the top of the file"
            unknown = replace(unknown, hint=hint)
        is_class = self.knows_classes and not (name[:1].islower() and is_slip(unknown))
        if name == ANY_OBJECT or is_class:
            return name
        self.cursor.problems.append(unknown)
        return STRING

    def _take(self, word: str) -> Token | None:
        """A word as it is written: names are told apart by their case."""
        return self.cursor.advance() if _word(self.cursor.token) == word else None


def _word(token: Token) -> str:
    return token.text if token.kind is Kind.WORD else ""
