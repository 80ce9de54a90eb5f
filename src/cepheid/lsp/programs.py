"""Which texts form one program: those that a list says, of the folder at hand; else each is one by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cepheid.core.program_file import read_program_text
from cepheid.editing.fixing import with_fixes
from cepheid.editing.workspace import Workspace
from cepheid.errors import CepheidError, Diagnostic, UsageError
from cepheid.lang import LANGUAGES, language_of
from cepheid.lang.language import Language, Text
from cepheid.verbs import Program


@dataclass(slots=True)
class Programs:
    """The open texts, by their files, and the groups of files that form a program."""

    groups: list[tuple[str, ...]] = field(default_factory=list)
    open: dict[str, Text] = field(default_factory=dict)
    last: tuple[tuple[Text, ...], Workspace] = ((), Workspace(()))  # of which something was asked

    def group(self, folder: Path, given: object) -> None:
        """Groups as a client names them: lists of files in a folder. Whatever else it says is no group."""
        for files in given if isinstance(given, list) else ():
            if isinstance(files, list) and all(isinstance(file, str) for file in files):
                self.groups.append(tuple(str(folder / file) for file in files))

    def update(self, file: str, text: str, language_name: str) -> Text | None:
        """A text as it is now; None where it is in no language that is known."""
        language = language_named(file, language_name)
        if language is None:
            return None
        self.open[file] = Text(file, text, language)
        return self.open[file]

    def close(self, file: str) -> None:
        self.open.pop(file, None)

    def texts_with(self, file: str) -> tuple[Text, ...]:
        """The program that a text is part of."""
        group = next((group for group in self.groups if file in group), (file,))
        return tuple(text for each in group if (text := self._text(each)) is not None)

    def _text(self, file: str) -> Text | None:
        if file in self.open:
            return self.open[file]
        try:
            return Text(file, read_program_text(file), language_of(file))
        except UsageError:  # a file of a group that is not there yet
            return None

    def workspace_with(self, file: str) -> Workspace:
        texts = self.texts_with(file)
        if texts != self.last[0]:
            self.last = (texts, Workspace(texts))
        return self.last[1]


def language_named(file: str, name: str) -> Language | None:
    """By what the client calls it, else by the extension of the file."""
    if name in LANGUAGES:
        return LANGUAGES[name]
    try:
        return language_of(file) if Path(file).suffix else None
    except UsageError:
        return None


def quick_findings(texts: Sequence[Text]) -> Sequence[Diagnostic]:
    """What is wrong with syntax, names and types."""
    return _findings(texts, lambda program: (*program.warnings, *program.resolve().problems))


def all_findings(texts: Sequence[Text]) -> Sequence[Diagnostic]:
    """What `cepheid check` says."""
    return _findings(texts, Program.check)


def _findings(
    texts: Sequence[Text], find: Callable[[Program], Iterable[Diagnostic]]
) -> Sequence[Diagnostic]:
    try:
        return with_fixes(find(Program.of_texts(texts)), texts)
    except CepheidError as problem:
        return problem.diagnostics
