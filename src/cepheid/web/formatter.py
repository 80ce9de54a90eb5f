"""The layout of wrappers: a line for each way to a page and for each predicate that extracts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheid.errors import ProgramError
from cepheid.lang.common.commented_lines import INDENT, Line, join_lines
from cepheid.lang.common.lexer import Kind, Token
from cepheid.web.parser import parse
from cepheid.web.tree import OPERATORS, UNION

_OPERATORS = {UNION, *(operator for level in OPERATORS for operator in level)}
_BEFORE_OPERAND = {"[", "(", ",", "/", "//", "::", "@", "{", "|", "?", ":<", "$"}


def format_wrapper(text: str, file: str | None = None) -> str:
    """The same tokens with other blanks; comments stay where they are. ProgramError where it is none."""
    parsed = parse(text, file)
    if parsed.tree is None:
        raise ProgramError(*parsed.problems)
    tokens = [token for token in parsed.tokens if token.kind is not Kind.END]
    lines: list[Line] = []
    depth = 0  # of the path; predicates that extract stand below it
    for number, each in enumerate(_lines(tokens)):
        is_inner = each[0].is_symbol("[")
        depth = depth if is_inner else min(number, 1)
        shown, end = "".join(_spaced(each)), each[-1].span.end_line
        lines.append(Line(each, shown, INDENT * (depth + is_inner), last_line=end))
    return join_lines(lines, parsed.comments)


def _lines(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """A line ends behind the address, behind an absolute action, and before a predicate that extracts."""
    line: list[Token] = []
    depth = 0
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else None
        opens_row = token.is_symbol("[") and depth == 0 and _extracts(tokens, place)
        if line and depth == 0 and (opens_row or _follows_page(tokens, place, before)):
            yield line
            line = []
        line.append(token)
        depth += token.is_symbol("[", "(", "{") - token.is_symbol("]", ")", "}")
    if line:
        yield line


def _follows_page(tokens: Sequence[Token], place: int, before: Token | None) -> bool:
    if before is None or not tokens[place].is_symbol("/", "//"):
        return False
    is_address = before.is_symbol(")") and tokens[0].is_word("doc") and place == 4
    is_variable = before.is_symbol(")") and tokens[0].is_word("doc") and place == 5
    ends_action = before.is_symbol("}") and tokens[place - 2].is_symbol("/")
    ends_star = before.is_symbol("*", "}") and _closes_star(tokens, place - 1)
    return is_address or (is_variable and tokens[2].is_symbol("$")) or ends_action or ends_star


def _closes_star(tokens: Sequence[Token], place: int) -> bool:
    """Whether a star, or its bounds, ends here."""
    while place and not tokens[place].is_symbol("*", "{"):
        place -= 1
    star = place if tokens[place].is_symbol("*") else place - 1
    return star > 0 and tokens[star].is_symbol("*") and tokens[star - 1].is_symbol(")")


def _extracts(tokens: Sequence[Token], place: int) -> bool:
    """Whether there is a marker in the predicate that opens here."""
    depth = 0
    for token in tokens[place:]:
        depth += token.is_symbol("[") - token.is_symbol("]")
        if token.is_symbol(":<"):
            return True
        if not depth:
            break
    return False


def _spaced(tokens: Sequence[Token]) -> Iterator[str]:
    """Blanks around operators, and where words would run together."""
    open_: list[str] = []  # brackets, and markers that a > ends
    is_operand_next = True
    before: Token | None = None
    for place, token in enumerate(tokens):
        is_end = token.is_symbol(">") and open_[-1:] == [":<"]
        is_star = token.is_symbol("*") and before is not None and _repeats(before, open_)
        is_equals = token.is_symbol("=") and place > 1 and tokens[place - 2].is_symbol(":<")
        is_apart = is_end or is_star or is_equals
        is_binary = token.text in _OPERATORS and not is_operand_next and not is_apart
        if token.text in (")", "]", "}") or is_end:
            open_ = open_[:-1]
        if is_binary:
            yield f" {token.text} "
        else:
            ends_action = token.is_symbol("/") and _is_closed(tokens, place)
            yield (" " if ends_action else _between(before, token, open_)) + token.text
        if token.text in ("(", "[", "{", ":<"):
            open_ = [*open_, token.text]
        is_operand_next = is_binary or is_equals or token.text in _BEFORE_OPERAND
        is_operand_next = is_operand_next or (token.is_symbol("-") and not is_binary)
        before = None if is_binary else token


def _is_closed(tokens: Sequence[Token], place: int) -> bool:
    """Whether an action ends right behind this place."""
    return place + 1 < len(tokens) and tokens[place + 1].is_symbol("}")


def _repeats(before: Token, open_: Sequence[str]) -> bool:
    """Whether a * behind this repeats a group: outside of predicates and markers, nothing multiplies."""
    return before.is_symbol(")") and not {"[", ":<"} & set(open_)


def _between(before: Token | None, token: Token, open_: Sequence[str]) -> str:
    if before is None:
        return ""
    if before.is_symbol(",", "?"):
        return "" if open_[-1:] == ["{"] else " "
    words = (Kind.WORD, Kind.NUMBER, Kind.STRING)
    # `{press enter}`, `{select "x"}`, `{wait 2 s}`
    if before.kind in words and token.kind in words:
        return " "
    return " " if before.kind is Kind.WORD and token.is_symbol("$") else ""
