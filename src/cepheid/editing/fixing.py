"""Findings with what one may do about them, as edits of the texts that they are about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cepheid.errors import Diagnostic, Edit, Fix, Slip, Span
from cepheid.lang.common.lexer import Kind, Token
from cepheid.lang.language import Text


def with_fixes(findings: Iterable[Diagnostic], texts: Sequence[Text]) -> list[Diagnostic]:
    """The findings; those about misspelled names say what to write in their place."""
    sources = {each.file: each for each in texts}
    return [_fixed(finding, sources.get(_file(finding.span))) for finding in findings]


def with_priorities(findings: Iterable[Diagnostic], edits: Sequence[Edit]) -> list[Diagnostic]:
    """The findings; races end where the statements have priorities, which edits write."""
    fix = Fix("write priorities", tuple(edits))
    return [replace(each, fixes=(fix,)) if each.code == "race" else each for each in findings]


def _file(span: Span | None) -> str:
    return (span.file or "<text>") if span else ""


def _fixed(finding: Diagnostic, source: Text | None) -> Diagnostic:
    hint, span = finding.hint, finding.span
    editable = source.language.editable if source else None
    if finding.fixes or not isinstance(hint, Slip) or span is None or not (editable and source):
        return finding
    tokens = editable.tokens(source.text, span.file).tokens
    inside = [token for token in tokens if _lies_in(token.span, span)]
    behind = [token for token in tokens if _is_behind(token.span, span)][:2]  # types of attributes
    names = [token for token in inside if _says(token, hint.name)]
    names = names or [token for token in behind if _says(token, hint.name)]
    if len(names) != 1:  # it is not plain which one is meant
        return finding
    (name,) = names
    meant = hint.meant
    if name.kind is Kind.STRING:
        written = f"{name.text[0]}{meant}{name.text[0]}"
    else:
        written = meant if _is_type(meant) else editable.print_name(meant)
    return replace(finding, fixes=(Fix.writing(written, name.span),))


def _says(token: Token, name: str) -> bool:
    text = str(token.value) if token.kind in (Kind.QUOTED, Kind.STRING) else token.text
    return text == name or (token.kind is Kind.WORD and text.lower() == name.lower())


def _is_type(meant: str) -> bool:
    """A type with brackets, such as `decimal(12, 2)`, is no name."""
    return "(" in meant


def _is_behind(place: Span, other: Span) -> bool:
    return (place.line, place.column) >= (other.end_line, other.end_column)


def _lies_in(inner: Span, outer: Span) -> bool:
    start, end = (outer.line, outer.column), (outer.end_line, outer.end_column)
    return start <= (inner.line, inner.column) and (inner.end_line, inner.end_column) <= end
