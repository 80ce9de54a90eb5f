"""What a language is to the rest: texts in, the trees of `program` out, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from cepheid.errors import Diagnostic, Edit
from cepheid.expr.tree import Expr
from cepheid.lang.editable import Editable
from cepheid.pattern.tree import Pattern
from cepheid.program.tree import Declaration, ProgramTree


class Parsed(Protocol):
    """A program as far as a text gives one, and everything that is wrong with the text."""

    @property
    def tree(self) -> ProgramTree: ...
    @property
    def problems(self) -> Sequence[Diagnostic]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language in which the files of a program are written.

    What it parses has the places of the text in its trees, so that findings point into the file.
    """

    name: str
    title: str  # as people write it
    extensions: tuple[str, ...]  # of its files, in lower case
    parse: Callable[[str, str | None], Parsed]  # text, file
    print_program: Callable[[ProgramTree], str]
    print_declaration: Callable[[Declaration], str]
    print_pattern: Callable[[Pattern], str]
    print_expression: Callable[[Expr], str]
    excess: Callable[[Pattern], str | None]  # what is too deep or too long to be written
    format_text: Callable[[str, str | None], str]
    # Edits of the text of a file that give each of its statements a priority.
    with_priorities: Callable[[str, str | None, Sequence[int]], tuple[Edit, ...]]
    editable: Editable | None = None  # None: editors show its findings, and format it
    # Whether a declaration of a program can be written in this language alone.
    owns: Callable[[Declaration, ProgramTree], bool] = lambda declaration, tree: False  # noqa: ARG005


@dataclass(frozen=True, slots=True)
class Text:
    """A part of a program as it is written."""

    file: str  # or what stands for one in findings
    text: str
    language: Language
