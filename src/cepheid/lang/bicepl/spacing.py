"""Puts tokens beside each other with the spaces that people expect."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.lang.bicepl.notation import KEYWORDS, RESERVED
from cepheid.lang.common.lexer import Kind, Token

_TIGHT_BEFORE = (",", ")", "]", ".", ";", "::")
_TIGHT_AFTER = ("(", "[", ".", "::", "~")
_VALUES = frozenset({"true", "false", "null", "end"})  # words after which a minus is no sign
_CALLED = frozenset({"cast", "left", "right"})  # keywords that are functions, too


def spaced(tokens: Sequence[Token]) -> str:
    return "".join(f"{gap(tokens, index)}{token.text}" for index, token in enumerate(tokens))


def gap(tokens: Sequence[Token], index: int) -> str:
    """What stands before a token: a space, or nothing."""
    return "" if _is_tight(tokens, index) else " "


def _is_tight(tokens: Sequence[Token], index: int) -> bool:
    if index == 0:
        return True
    before, token = tokens[index - 1], tokens[index]
    if before.is_symbol("-") and token.is_symbol("-"):
        return False  # two of them begin a comment
    if token.is_symbol(*_TIGHT_BEFORE) or before.is_symbol(*_TIGHT_AFTER):
        return True
    if token.is_symbol("(", "["):
        return _is_called(before)
    return _is_sign(tokens, index - 1)


def _is_called(token: Token) -> bool:
    """Whether a bracket after it holds arguments."""
    is_plain = token.kind is Kind.WORD and (token.value not in KEYWORDS or token.value in _CALLED)
    return is_plain or token.kind is Kind.QUOTED or token.is_symbol("]")


def _is_sign(tokens: Sequence[Token], index: int) -> bool:
    """The minus of `-3`, not that of `x - 3`."""
    if not tokens[index].is_symbol("-", "+"):
        return False
    if index == 0:
        return True
    before = tokens[index - 1]
    if before.kind is Kind.SYMBOL:
        return not before.is_symbol(")", "]", "*")
    return before.kind is Kind.WORD and before.value in RESERVED - _VALUES
