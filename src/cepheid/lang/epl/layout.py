"""Arranges the pieces of a declaration, and the comments around them, in lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from cepheid.errors import Span

WIDTH = 100
_INDENT = "    "


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that stays on one line, and where its source starts.

    A led piece starts with an operator, whose source is the token before the start.
    """

    text: str
    start: Span | None = None
    led: bool = False
    closes: bool = False


Clause: TypeAlias = tuple[Piece, ...]


@dataclass(slots=True)
class Notes:
    """The comments on lines before a piece, and those after it on its line."""

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


def render(clauses: Sequence[Clause], notes: Sequence[Notes] | None = None) -> str:
    """The declaration with its `;`; there are as many notes as pieces."""
    pieces = [piece for clause in clauses for piece in clause]
    left = iter(notes or [Notes() for _ in pieces])
    lines: list[str] = []
    for position, clause in enumerate(clauses):
        end = ";" if position == len(clauses) - 1 else ""
        lines.extend(_clause(clause, [next(left) for _ in clause], end))
    return "\n".join(lines)


def _clause(clause: Clause, notes: list[Notes], end: str) -> Iterator[str]:
    """One line if the pieces fit and no comment stands between them, else a line for each."""
    line = _joined(clause) + end
    is_free = not any(n.before for n in notes[1:]) and not any(n.after for n in notes[:-1])
    if len(line) <= WIDTH and is_free:
        yield from notes[0].before
        yield _line(line, notes[-1])
        return
    for position, (piece, note) in enumerate(zip(clause, notes, strict=True)):
        inner = _INDENT if position else ""
        yield from (inner + comment if comment else "" for comment in note.before)
        indent = "" if piece.closes else inner
        text = piece.text + (end if position == len(clause) - 1 else "")
        yield indent + _line(text, note)


def _joined(clause: Clause) -> str:
    line = ""
    for piece in clause:
        tight = not line or line.endswith(("(", "[")) or piece.text.startswith((")", "]"))
        line += piece.text if tight else f" {piece.text}"
    return line


def _line(text: str, note: Notes) -> str:
    return " ".join([text, *note.after])
