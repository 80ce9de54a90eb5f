"""Diagnostics as people read them: the place, the fact, the line with a caret, the hint."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from cepheid.cli.terminal.console import visible
from cepheid.errors import Diagnostic, Severity, Span

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
_INDENT = "    "
_WIDEST = 96  # of a source line; of longer ones, the part around the place is shown
# Of an address: who calls, which is not for everyone who reads a message.
_CREDENTIALS = re.compile(r"(?<=://)[^\s/@'\"]+(?=@)")
_BEFORE = 40  # of it, what stands before the place


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
    """The line of a place as far as it is worth showing, and the carets under it."""
    line = _source_line(span)
    if line is None or span.column > len(line) + 1:
        return None
    at = span.column - 1
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    start = max(0, at - _BEFORE) if len(line) > _WIDEST else 0
    stop = start + _WIDEST
    before, under = line[start:at], line[at : min(end, stop)]
    left, right = "…" if start else "", "…" if stop < len(line) else ""
    caret = " " * cell_len(left + before) + "^" * max(1, cell_len(under))
    return f"{left}{line[start:stop]}{right}".rstrip(), caret


def _source_line(span: Span) -> str | None:
    """The line of a text file, one cell per odd character; None where there is nothing to show."""
    file = span.file or ""
    if file.endswith(".parquet") or not os.path.isfile(file):
        return None
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            line = next(islice(stream, span.line - 1, None), None)
    except OSError:
        return None
    if line is None:
        return None
    known = _CREDENTIALS.sub(lambda found: "*" * len(found[0]), line.rstrip("\r\n"))
    return _printable(known, " ")


def _printable(text: str, substitute: str) -> str:
    return "".join(c if c.isprintable() else substitute for c in text)


def one_line(text: str) -> str:
    """The text without what would move a terminal's cursor or change its colours."""
    return visible(text, plain="")
