"""A place in a list of tokens, with the moves, the limits and the error messages of all parsers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import NoReturn, ParamSpec, TypeVar

from cepheid.core.numbers import fits_long
from cepheid.errors import Diagnostic, Fix, ProgramError, Span, error
from cepheid.expr.notation import MAX_NESTING, RESERVED
from cepheid.lang.common.habits import HABITS, TAKEN_FOR_NAMES
from cepheid.lang.common.lexer import Kind, Token
from cepheid.lang.common.names import Name, Role

_T = TypeVar("_T")
_P = ParamSpec("_P")
_OTHER_KEYWORDS = (
    "by context desc escape group inherits into limit offset order output partition pattern schema"
)
_BEFORE_NAMES = ("as", "context", "from", "into", "schema")
_KEYWORDS = sorted({*RESERVED, *_OTHER_KEYWORDS.split()})


class Cursor:
    """Moves over tokens; a syntax error raises, other findings are collected."""

    keywords: Collection[str] = _KEYWORDS  # that may be misspelled
    has_sql_habits = True  # whether words of SQL are answered with forms of EPL

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self.tokens = tokens
        self.index = 0
        self.nesting = 0
        self.problems: list[Diagnostic] = []
        self.names: list[Name] = []
        self.begun: list[Span] = []  # the first words of declarations
        self.event_type: str | None = None  # inside of whose brackets the next token stands
        self.starts: dict[str, Span] = {}  # where the clauses of the current declaration start

    def shown(self, word: str) -> str:
        """A keyword as people write it."""
        return word

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    @property
    def next(self) -> Token:
        return self._ahead(1)

    @property
    def after_next(self) -> Token:
        return self._ahead(2)

    def _ahead(self, count: int) -> Token:
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    @property
    def previous(self) -> Token | None:
        return self.tokens[self.index - 1] if self.index else None

    def advance(self) -> Token:
        token = self.token
        if token.kind is not Kind.END:
            self.index += 1
        return token

    def span_from(self, start: Token | Span) -> Span:
        """From there to the end of the last token taken."""
        first = start.span if isinstance(start, Token) else start
        return first.to(self.tokens[max(self.index - 1, 0)].span)

    # Taking what may or must come next.

    def take_word(self, *words: str) -> Token | None:
        return self.advance() if self.token.is_word(*words) else None

    def take_symbol(self, *symbols: str) -> Token | None:
        return self.advance() if self.token.is_symbol(*symbols) else None

    def expect_word(self, word: str, where: str = "") -> Token:
        shown = self.shown(word)
        return self.take_word(word) or self.unexpected(f"'{shown}'{where}", (word,))

    def expect_symbol(self, symbol: str, where: str = "") -> Token:
        return self.take_symbol(symbol) or self.unexpected(f"'{symbol}'{where}")

    def close(
        self, symbol: str, opened: Token, what: str, words: Collection[str] | None = None
    ) -> Token:
        """The bracket that ends what another one began; the words are those it could hold."""
        if self.token.is_symbol(symbol):
            return self.advance()
        line = opened.span.line
        return self.unexpected(f"'{symbol}' to close the {what} that starts at line {line}", words)

    def begin(self) -> None:
        """Another declaration starts here."""
        self.nesting, self.starts, self.event_type = 0, {}, None
        self.begun.append(self.token.span)

    def note(self, token: Token, role: Role) -> Token:
        """A name, or a string that holds one, and what it is for."""
        text = token.text if token.kind is Kind.WORD else str(token.value)
        declaration = len(self.begun) - 1
        self.names.append(Name(text, role, token.span, declaration, self.event_type))
        return token

    def name(self, what: str, role: Role = Role.OTHER) -> Token:
        """A name that is not a reserved word."""
        if self.at_name():
            return self.note(self.advance(), role)
        hint: str | None = None
        fixes: tuple[Fix, ...] = ()
        if self.token.kind is Kind.WORD:
            quoted = f"`{self.token.text}`"
            hint = f"'{self.token.text}' is a reserved word; write {quoted}"
            fixes = (Fix.writing(quoted, self.token.span),)
        elif self.token.kind is Kind.STRING:
            hint = "strings stand in quotes, names in backquotes or in none"
        return self.unexpected(what, hint=hint, fixes=fixes)

    def at_name(self) -> bool:
        token = self.token
        if token.kind is Kind.WORD:
            return token.value not in RESERVED and "-" not in token.text
        return token.kind is Kind.QUOTED

    def whole_number(self, what: str) -> int:
        """A number without fraction or suffix, negative ones included."""
        minus = self.take_symbol("-")
        token = self.token
        if token.kind is not Kind.NUMBER or not token.text.isdecimal():
            self.unexpected(what)
        self.advance()
        value = token.value
        if not isinstance(value, int) or not fits_long(value):
            raise ProgramError(error("bad-number", f"{token} does not fit long", token.span))
        return -value if minus else value

    # Limits.

    def enter(self, opened: Token, what: str) -> None:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            message = f"{what} nested deeper than {MAX_NESTING} levels"
            raise ProgramError(error("too-deep", message, opened.span))

    def leave(self) -> None:
        self.nesting -= 1

    def skip_group(self) -> None:
        """Past a group in brackets, if one starts here."""
        if not self.token.is_symbol("("):
            return
        depth = 0
        while self.token.kind is not Kind.END and not self.token.is_symbol(";"):
            token = self.advance()
            depth += token.is_symbol("(", "[", "{") - token.is_symbol(")", "]", "}")
            if not depth:
                return

    # Findings.

    def report(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        self.problems.append(error(code, message, span, hint))

    def lowered(self, build: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T | None:
        """What `build` makes; its findings do not stop the parser."""
        try:
            return build(*args, **kwargs)
        except ProgramError as refused:
            self.problems.extend(refused.diagnostics)
            return None

    def unsupported(self, what: str, span: Span, hint: str | None = None) -> NoReturn:
        raise ProgramError(error("unsupported", f"{what} not supported", span, hint))

    def refuse(
        self, message: str, span: Span, hint: str | None = None, fixes: tuple[Fix, ...] = ()
    ) -> NoReturn:
        raise ProgramError(error("syntax", message, span, hint, fixes))

    def unexpected(
        self,
        expected: str,
        words: Collection[str] | None = None,
        hint: str | None = None,
        fixes: tuple[Fix, ...] = (),
    ) -> NoReturn:
        self.refuse_window()
        self.refuse_habit()
        found = self.token
        if self.has_sql_habits and self._at_dashes():
            comment = "a comment begins with // and ends with its line, or stands between /* and */"
            self.refuse(f"expected {expected}, found '--'", found.span.to(self.next.span), comment)
        habit = HABITS.get(str(found.value)) if self.has_sql_habits else None
        slip = self._spelling(self.keywords if words is None else words)
        if slip is not None and not (habit or hint):
            hint, fix = slip
            fixes = (fix,)
        self.refuse(f"expected {expected}, found {found}", found.span, habit or hint, fixes)

    def refuse_habit(self) -> None:
        """A word of SQL that cannot stand here, or was taken for a name just before."""
        for place in (self.index - 1, self.index):
            token, before = self.tokens[max(place, 0)], self.tokens[max(place - 1, 0)]
            is_name = before.is_word(*_BEFORE_NAMES) or before.is_symbol(".")
            if self.has_sql_habits and token.is_word(*TAKEN_FOR_NAMES) and not is_name:
                hint = HABITS.get(str(self.token.value)) or TAKEN_FOR_NAMES[str(token.value)]
                self.unsupported(f"'{token.text}' is", token.span, hint)

    def _at_dashes(self) -> bool:
        """`--`, with which comments begin elsewhere; in front of a number it is two signs."""
        one, other = self.token, self.next
        is_double = one.is_symbol("-") and other.is_symbol("-")
        return is_double and one.span.end_column == other.span.column

    def refuse_window(self) -> None:
        """Where no data window can stand, one that does."""
        if self._at_window():
            hint = "it follows the source: from A#length(5), from pattern [...]#length(5)"
            before = self.previous
            begins_line = before is None or before.span.end_line < self.token.span.line
            if self.token.is_symbol("#") and begins_line:
                hint = f"a comment begins with //; a data window {hint[3:]}"
            fact = "a data window cannot stand here"
            raise ProgramError(error("misplaced-window", fact, self.token.span, hint))

    def _at_window(self) -> bool:
        """`#time(`, `.win:time(`; or, where a name took the first half for its own, `:time(`."""
        if self.token.is_symbol("."):
            return self.next.kind is Kind.WORD and self.after_next.is_symbol(":", "(")
        after_namespace = self.previous is not None and self.previous.is_word("win")
        return self.token.is_symbol("#") or (after_namespace and self.token.is_symbol(":"))

    def _spelling(self, words: Collection[str]) -> tuple[str, Fix] | None:
        """A hint, and a fix: the keyword that this token, or the one before it, may have been meant to be.

        A misspelled keyword is often taken for a name, so that the error shows one token later.
        """
        for token in (self.token, self.previous):
            if token is None or token.kind is not Kind.WORD or len(token.text) < 3:
                continue
            if token.value in words or token.value in self.keywords:
                continue
            close = get_close_matches(str(token.value), words, n=1, cutoff=0.65)
            if close:
                meant = self.shown(close[0])
                hint = f"did you mean '{meant}' instead of '{token.text}'?"
                return hint, Fix.writing(meant, token.span)
        return None
