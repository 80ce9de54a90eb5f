"""Rewrites BiCEPL text in canonical form: tokens and comments stay, the space between them does not."""

from __future__ import annotations

from cepheid.errors import ProgramError, Severity
from cepheid.lang.bicepl.layout import lines_of
from cepheid.lang.bicepl.notation import tokens_of
from cepheid.lang.bicepl.parser import parse
from cepheid.lang.common.commented_lines import join_lines


def format_text(text: str, file: str | None = None) -> str:
    """The canonical form of a text; ProgramError if the text has errors."""
    errors = [p for p in parse(text, file).problems if p.severity is Severity.ERROR]
    if errors:
        raise ProgramError(*errors)
    found = tokens_of(text, file)
    return join_lines(list(lines_of(found.tokens[:-1])), found.comments)
