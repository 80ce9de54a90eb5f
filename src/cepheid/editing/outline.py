"""What a text declares, in its order, for lists beside an editor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.editing.workspace import Document
from cepheid.errors import Span
from cepheid.lang.common.names import Name, Role

_HEADS = {
    Role.STATEMENT: "statement",
    Role.NEW_TYPE: "event type",
    Role.NEW_CONTEXT: "context",
    Role.NEW_QUERY: "query",
    Role.RULE: "rule",
    Role.TARGET: "statement",
    Role.TYPE: "statement",
}


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    what: str
    span: Span  # of the whole
    place: Span  # of its name
    parts: tuple[Entry, ...] = ()


def outline(document: Document) -> tuple[Entry, ...]:
    """Of what can be read; statements without a name are called after what they take."""
    read = document.read
    extents = dict.fromkeys(read.extents) if read else ()
    return tuple(entry for extent in extents for entry in _entries(document, extent))


def _entries(document: Document, extent: Span) -> Iterator[Entry]:
    inside = [name for name in document.names if _is_in(name.span, extent)]
    for role, what in _HEADS.items():
        head = next((name for name in inside if name.role is role), None)
        if head is not None:
            shown = f"from {head.text}" if role is Role.TYPE else head.text
            yield Entry(shown, what, extent, head.span, tuple(_attributes(inside)))
            return


def _attributes(names: list[Name]) -> Iterator[Entry]:
    for name in names:
        if name.role in (Role.NEW_ATTRIBUTE, Role.COLUMN):
            yield Entry(name.text, "attribute", name.span, name.span)


def _is_in(inner: Span, outer: Span) -> bool:
    start, end = (outer.line, outer.column), (outer.end_line, outer.end_column)
    return start <= (inner.line, inner.column) and (inner.end_line, inner.end_column) <= end
