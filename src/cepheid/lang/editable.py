"""What editors need of a language, besides what `language` has: the seam for whoever edits texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from cepheid.errors import Diagnostic, Span
from cepheid.lang.common.lexer import Comment, Token, Tokens
from cepheid.lang.common.names import Name
from cepheid.program.tree import Declaration, ProgramTree


class Read(Protocol):
    """What a text says, and where its parts stand."""

    @property
    def tree(self) -> ProgramTree: ...
    @property
    def problems(self) -> Sequence[Diagnostic]: ...
    @property
    def tokens(self) -> Sequence[Token]: ...
    @property
    def comments(self) -> Sequence[Comment]: ...
    @property
    def extents(self) -> Sequence[Span]:
        """Where each declaration stands, from its first word to its last, without what ends it."""
        ...

    @property
    def names(self) -> Sequence[Name]: ...
    @property
    def begun(self) -> Sequence[Span]:
        """The first words of all declarations, of broken ones too."""
        ...


def each_alone(tree: ProgramTree) -> tuple[tuple[Declaration, ...], ...]:
    """Every declaration by itself."""
    return tuple((declaration,) for declaration in tree.declarations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Editable:
    """How texts of a language are read and changed in part."""

    parse: Callable[[str, str | None], Read]  # text, file
    tokens: Callable[[str, str | None], Tokens]
    # One element as it would stand in a text that was read.
    print_element: Callable[[tuple[Declaration, ...], Read], str]
    # The declarations of a program by the places at which they are written.
    elements: Callable[[ProgramTree], tuple[tuple[Declaration, ...], ...]] = each_alone
    end_mark: str = ""  # what follows each of them
    # Words of the grammar; what tells them from names, and is not to be written, stands behind "...".
    phrases: tuple[str, ...] = ()
    types: tuple[str, ...] = ()  # names of the types of attributes
    windows: tuple[str, ...] = ()  # names of data windows
    print_name: Callable[[str], str] = str  # a name as it is written
