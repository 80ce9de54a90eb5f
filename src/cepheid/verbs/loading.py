"""Programs from texts and files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cepheid.core.program_file import read_program_text
from cepheid.expr.python import PythonFunction
from cepheid.io.type_arguments import GivenTypes
from cepheid.lang import DEFAULT, LANGUAGES, language_of
from cepheid.lang.language import Text
from cepheid.verbs.arguments import choose, expect
from cepheid.verbs.program import Program


def parse(
    text: str,
    language: str = DEFAULT.name,
    *,
    file: str | None = None,
    types: GivenTypes | None = None,
    functions: Iterable[PythonFunction] = (),
) -> Program:
    """A program from text; ProgramError with all that is wrong where its syntax is.

    `functions` are those that `cep.function` makes of Python; the text calls them by name.
    """
    expect(text, str, "a program's text", "cep.load reads files")
    choose(language, LANGUAGES, "language")
    texts = [Text(file or "<text>", text, LANGUAGES[language])]
    return Program.of_texts(texts, types, functions)


def load(
    *paths: str | Path,
    types: GivenTypes | None = None,
    functions: Iterable[PythonFunction] = (),
) -> Program:
    """One program from one or several files, each in the language of its extension.

    A file without an extension is in the language that `parse` takes, too.
    """
    for path in paths:
        first, second = (f"{name}{DEFAULT.extensions[0]}" for name in "ab")
        expect(path, str | Path, "a path", f"cep.load('{first}', '{second}')")
    texts = [Text(str(path), read_program_text(path), language_of(path)) for path in paths]
    return Program.of_texts(texts, types, functions)
