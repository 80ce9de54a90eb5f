"""The texts of a program as editors see them: each may be broken, and the rest is known nevertheless."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from cepheid.core.types import EventType
from cepheid.editing.origins import Origins
from cepheid.editing.places import Lines
from cepheid.editing.symbols import Occurrence, Symbol, occurrences
from cepheid.errors import Diagnostic, Severity, Span
from cepheid.lang.common.lexer import Kind
from cepheid.lang.common.names import Name
from cepheid.lang.editable import Editable, Read
from cepheid.lang.language import Language, Text
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import ProgramTree


class Document:
    """One text, read once."""

    def __init__(self, source: Text) -> None:
        self.file = source.file
        self.text = source.text
        self.language: Language = source.language
        self.lines = Lines(source.text, source.file)

    @cached_property
    def editable(self) -> Editable | None:
        return self.language.editable

    @cached_property
    def read(self) -> Read | None:
        """None for a language that tells nothing about its texts."""
        return self.editable.parse(self.text, self.file) if self.editable else None

    @cached_property
    def tree(self) -> ProgramTree:
        return self.read.tree if self.read else self.language.parse(self.text, self.file).tree

    @property
    def names(self) -> Sequence[Name]:
        return self.read.names if self.read else ()

    def unread(self) -> Iterator[Span]:
        """The tokens of broken declarations of which it is not known what they are for."""
        if self.read is None:
            return
        whole = {(span.line, span.column) for span in self.read.extents}
        noted = {(name.span.line, name.span.column) for name in self.read.names}
        begun = [(span.line, span.column) for span in self.read.begun]
        for token in self.read.tokens[:-1]:
            place = (token.span.line, token.span.column)
            before = bisect_right(begun, place)
            is_read = place in noted or (before > 0 and begun[before - 1] in whole)
            if not is_read and token.kind in (Kind.WORD, Kind.QUOTED):
                yield token.span

    def range(self, span: Span) -> tuple[int, int]:
        return self.lines.range(span)


class Workspace:
    """The texts that form one program. It never changes; an edit makes another one."""

    def __init__(
        self, texts: Sequence[Text], given: Mapping[str, EventType] = MappingProxyType({})
    ) -> None:
        self.documents = {each.file: Document(each) for each in texts}
        self.given = given

    @cached_property
    def tree(self) -> ProgramTree:
        return sum((each.tree for each in self.documents.values()), ProgramTree())

    @cached_property
    def program(self) -> ResolvedProgram:
        return resolve_program(self.tree, self.given)

    @cached_property
    def problems(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the texts, and with what they say."""
        read = [
            p for each in self.documents.values() for p in (each.read.problems if each.read else ())
        ]
        return (*read, *self.program.problems)

    @cached_property
    def occurrences(self) -> tuple[Occurrence, ...]:
        origins = Origins.of(self.tree)
        return tuple(
            each
            for document in self.documents.values()
            for each in occurrences(document.names, self.program.types, origins)
        )

    def at(self, file: str, offset: int) -> Occurrence | None:
        """What stands at a place, or ends there."""
        document = self.documents[file]
        for each in self.occurrences:
            if each.span.file == file and not each.is_implied:
                start, end = document.range(each.span)
                if start <= offset <= end:
                    return each
        return None

    def of(self, symbol: Symbol) -> Iterator[Occurrence]:
        return (each for each in self.occurrences if each.symbol == symbol)

    def definition(self, file: str, offset: int) -> tuple[Span, ...]:
        """Where what stands at a place is declared; empty where no text declares it."""
        found = self.at(file, offset)
        return tuple(each.span for each in self.of(found.symbol) if each.declares) if found else ()

    def references(self, file: str, offset: int) -> tuple[Span, ...]:
        """All places that mean the same, declarations among them, in the order of the texts."""
        found = self.at(file, offset)
        return tuple(dict.fromkeys(each.span for each in self.of(found.symbol))) if found else ()


def is_error(diagnostic: Diagnostic) -> bool:
    return diagnostic.severity is Severity.ERROR
