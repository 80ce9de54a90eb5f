"""Rewrites VEPL text in canonical form: tokens and comments stay, the space between them does not.

Every event begins a paragraph, its body is indented, and a comment stands where it stood: at the end of
its line, or on one of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.errors import ProgramError, Severity
from cepheid.expr.notation import RESERVED
from cepheid.lang.common.lexer import Comment, Kind, Token, tokenize
from cepheid.lang.vepl.parser import parse

_HEADINGS = ("package", "import", "context")
_ELEMENTS = ("atomicEvent", "queryEvent", "complexEvent", "rule", "fix")
_RULES = ("rule", "fix")
_STEPS = ("set", "create", "delete", "move", "emit", "call", "if")
# After which such a word is a name, or goes on with what stands before it.
_BEFORE_NAMES = (*_STEPS, ".", "else", "as", "in", "to", "=", ",")
_WORDS = (
    "OR",
    "AND",
    "NOT",
    "as",
    "check",
    "if",
    "=",
)  # after which a bracket is no list of arguments
_TIGHT_BEFORE = frozenset(",;:.)]}")
_TIGHT_AFTER = frozenset("([.@")
_INDENT = "    "


def format_text(text: str, file: str | None = None) -> str:
    """The canonical form of a text; ProgramError if the text has errors."""
    errors = [p for p in parse(text, file).problems if p.severity is Severity.ERROR]
    if errors:
        raise ProgramError(*errors)
    found = tokenize(text, file)
    pieces: list[Token | Comment] = [*found.tokens[:-1], *found.comments]
    writer = _Writer()
    for piece in sorted(pieces, key=lambda p: (p.span.line, p.span.column)):
        if isinstance(piece, Comment):
            writer.comment(piece)
        else:
            writer.token(piece)
    return writer.text()


@dataclass(slots=True)
class _Writer:
    lines: list[str] = field(default_factory=list)
    line: str = ""
    depth: int = 0  # of bodies
    brackets: list[str] = field(default_factory=list)
    previous: Token | None = None
    last_line: int = 0  # of the text that was read
    is_lead: bool = False  # whether comments lead to what follows
    is_sign: bool = False  # whether a minus belongs to what follows
    element: str = ""  # the one that is being written
    step: str = ""  # of a rule

    def text(self) -> str:
        self._end_line()
        return "\n".join(self.lines).strip("\n") + "\n" * bool(self.lines)

    def comment(self, comment: Comment) -> None:
        if comment.span.line == self.last_line and (self.line or self.lines):
            if not self.line:
                self.line = self.lines.pop()
            self.line = f"{self.line}  {comment.text}"
            self._end_line()
            return
        self._end_line()
        if not self.depth and not self.is_lead:
            self._paragraph()
        self.line = _INDENT * self.depth + comment.text
        self._end_line()
        self.is_lead = not self.depth
        self.last_line = comment.span.end_line

    def token(self, token: Token) -> None:
        if self._begins(token):
            is_noted = self.line.startswith("@")
            self._end_line()
            is_heading = token.text in _HEADINGS and not self.depth
            is_next = is_heading and self.previous is not None and not self.is_lead
            if not (self.is_lead or self.depth or is_next or is_noted):
                self._paragraph()
        if token.text == "}" and not self._is_count_end():
            self.depth -= 1
            self._end_line()
        if token.text == "else" and not self.line and self.lines[-1].endswith("}"):
            self.line = self.lines.pop()
        self._write(token)
        self.is_sign = token.text == "-" and self._is_sign()
        self._track(token)
        self.is_lead = False
        self.previous, self.last_line = token, token.span.end_line

    def _begins(self, token: Token) -> bool:
        """Whether a token begins a line."""
        if self.brackets and self.brackets[-1] != "body":
            return False
        if self.depth and self.element in _RULES:
            return self._begins_step(token)
        if token.text == "context":
            return True
        after_note = bool(self.previous) and self.line.lstrip().startswith("@")
        is_start = token.text in (*_HEADINGS, *_ELEMENTS) or token.is_symbol("@")
        return not self.depth and is_start and not (after_note and token.is_symbol("@"))

    def _begins_step(self, token: Token) -> bool:
        before = self.previous.text if self.previous is not None else ""
        return token.text in _STEPS and before not in _BEFORE_NAMES

    def _write(self, token: Token) -> None:
        if not self.line:
            self.line = _INDENT * self.depth + token.text
        else:
            self.line += ("" if self._is_tight(token) else " ") + token.text

    def _is_tight(self, token: Token) -> bool:
        before = self.previous
        assert before is not None
        if self.is_sign or (token.text == "=" and before.text in ("+", "-")):
            return True
        if self.line.startswith("import") and "-" in (before.text, token.text):
            return True  # import-queries
        if token.text == "else" or (token.text == "}" and self._is_count_end()):
            return bool(self.brackets) and self.brackets[-1] == "count"
        in_count = bool(self.brackets) and self.brackets[-1] == "count"
        if in_count or before.text in _TIGHT_AFTER or token.text in _TIGHT_BEFORE:
            return token.text != "}" or in_count
        if token.text == "(":
            return before.kind in (Kind.WORD, Kind.QUOTED) and before.text not in _WORDS
        return token.text == "[" or self._is_count(token)

    def _is_sign(self) -> bool:
        """Whether a minus stands where a value begins."""
        before = self.previous
        is_value = before is not None and before.kind not in (Kind.SYMBOL, Kind.WORD)
        is_name = before is not None and before.kind is Kind.WORD and before.text not in RESERVED
        return not (is_value or is_name or (before is not None and before.text in ")]"))

    def _is_count(self, token: Token) -> bool:
        """A brace that follows an event or a group, inside of a body, begins a multiplicity."""
        before = self.previous
        if self.element in _RULES:
            return False
        if token.text != "{" or not self.depth or before is None or before.text == "check":
            return False
        return before.text == ")" or before.kind in (Kind.WORD, Kind.QUOTED)

    def _is_count_end(self) -> bool:
        return bool(self.brackets) and self.brackets[-1] in ("count", "check", "values")

    def _track(self, token: Token) -> None:
        if token.text == "{":
            if self._is_count(token):
                self.brackets.append("count")
            elif self.previous is not None and self.previous.text == "check":
                self.brackets.append("check")
            elif self.depth and self.element in _RULES and self.step == "create":
                self.brackets.append("values")
            else:
                self.brackets.append("body")
                self.depth += 1
                self._end_line()
        elif token.text in ("(", "["):
            self.brackets.append(token.text)
        elif token.text in (")", "]", "}") and self.brackets and self.brackets.pop() == "body":
            self._end_line()
        if not self.depth and token.text in _ELEMENTS:
            self.element = token.text
        if token.text in _STEPS and self._begins_step(token):
            self.step = token.text

    def _paragraph(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def _end_line(self) -> None:
        if self.line.strip():
            self.lines.append(self.line.rstrip())
        self.line = ""
