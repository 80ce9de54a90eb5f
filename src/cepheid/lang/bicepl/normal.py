"""SQL in its normal spelling, by which it is equal to others."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

from cepheid.errors import Diagnostic, ProgramError, Span
from cepheid.sql.text import Sql

Kind: TypeAlias = Literal["select", "condition", "value", "time"]


def normal(kind: Kind, written: str, span: Span) -> Sql:
    """A piece as it stands in a text; ProgramError with the places of what is wrong with it."""
    # Reads SQL with a library that takes time to load.
    from cepheid.sql.dialect import normal_text

    try:
        return Sql(normal_text(kind, written), written, span=span)
    except ProgramError as refused:
        raise ProgramError(*(_moved(problem, span) for problem in refused.diagnostics)) from None


def _moved(problem: Diagnostic, start: Span) -> Diagnostic:
    """From its place in the piece to that in the file."""
    place = problem.span
    if place is None:
        return replace(problem, span=start)
    return replace(
        problem,
        span=Span(
            *_place(place.line, place.column, start),
            *_place(place.end_line, place.end_column, start),
            start.file,
        ),
    )


def _place(line: int, column: int, start: Span) -> tuple[int, int]:
    return start.line + line - 1, column + (start.column - 1) * (line == 1)
