"""The tokens of EPL: those of all languages, and the one word that has a hyphen."""

from __future__ import annotations

from cepheid.lang.common.lexer import Tokens, token_pattern
from cepheid.lang.common.lexer import tokenize as cut


def tokenize(text: str, file: str | None = None) -> Tokens:
    """All tokens; what is no token is reported and left out."""
    return cut(text, file, token_pattern(words=("every-distinct",)))
