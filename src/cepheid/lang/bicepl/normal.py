"""The normal spelling of a piece of SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cepheid.lang.bicepl.notation import PRIMITIVES, RESERVED, VERSIONS, tokens_of
from cepheid.lang.bicepl.spacing import spaced
from cepheid.lang.common.lexer import Kind, Token


def normal_text(written: str) -> str:
    tokens = [t for t in tokens_of(written).tokens if t.kind is not Kind.END]
    return spaced(list(_normal(tokens)))


def _normal(tokens: Sequence[Token]) -> Sequence[Token]:
    found: list[Token] = []
    for token in tokens:
        if found and token.is_word("cancel") and found[-1].is_word("future"):
            found[-1] = replace(found[-1], text="FUTURECANCEL", value="futurecancel")
        elif token.kind is Kind.WORD and token.value in RESERVED | PRIMITIVES | VERSIONS:
            after_dot = bool(found) and found[-1].is_symbol(".")
            found.append(token if after_dot else replace(token, text=token.text.upper()))
        else:
            found.append(token)
    return found
