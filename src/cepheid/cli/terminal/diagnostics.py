"""Diagnostics as people read them: the place, the fact, the line with a caret, the hint."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice

from rich.console import Console
from rich.text import Text

from cepheid.core.credentials import without_credentials
from cepheid.core.words import visible
from cepheid.errors import Diagnostic, Severity, Span, excerpt

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
_INDENT = "    "


def show(diagnostics: Iterable[Diagnostic], console: Console) -> None:
    for diagnostic in diagnostics:
        for line in _lines(diagnostic):
            console.print(line, soft_wrap=True)


def _lines(diagnostic: Diagnostic) -> Iterator[Text]:
    span, style = diagnostic.span, _STYLES[diagnostic.severity]
    place = f"{span.file or '<text>'}:{span.line}:{span.column}: " if span else ""
    kind = f"{diagnostic.severity}[{diagnostic.code}]"
    yield Text.assemble(
        (one_line(place), "bold"), (kind, style), ": ", one_line(diagnostic.message)
    )
    excerpt = _excerpt(span) if span else None
    if excerpt is not None:
        line, caret = excerpt
        yield Text(_INDENT + line)
        yield Text(_INDENT + caret, style)
    if diagnostic.hint:
        yield Text.assemble((f"{_INDENT}hint: ", "bold"), one_line(diagnostic.hint))
    if diagnostic.combined:
        yield Text(f"{_INDENT}only in this combination of files: each may be right alone", "dim")


def _excerpt(span: Span) -> tuple[str, str] | None:
    line = _source_line(span)
    return None if line is None else excerpt(line, span)


def _source_line(span: Span) -> str | None:
    """The line of a text file; None where there is nothing to show."""
    file = span.file or ""
    if file.endswith(".parquet") or not os.path.isfile(file):
        return None
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            line = next(islice(stream, span.line - 1, None), None)
    except OSError:
        return None
    return line and without_credentials(line)


def one_line(text: str) -> str:
    """The text without what would move a terminal's cursor or change its colours."""
    return visible(text, plain="")
