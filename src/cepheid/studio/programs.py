"""The program that a page is about: the texts as they are in the editor, saved or not."""

from __future__ import annotations

import runpy
from pathlib import PurePosixPath

from cepheid.errors import UsageError, error
from cepheid.expr.python import PythonFunction
from cepheid.lang import language_of
from cepheid.lang.language import Text
from cepheid.studio.room import Given, Room
from cepheid.verbs.program import Program

FUNCTIONS = "functions.py"  # beside a program, with what `cep.function` made


def texts_of(given: Given) -> list[Text]:
    """The files of a program with what they say now; findings name the files."""
    texts = [
        Text(file := each.text("file"), each.text("text"), language_of(file))
        for each in given.each("texts")
    ]
    if not texts:
        raise UsageError(error("usage", "no program is open"))
    return texts


def program_of(room: Room, given: Given) -> Program:
    """ProgramError with all that is wrong where syntax is."""
    texts = texts_of(given)
    return Program.of_texts(texts, functions=_functions(room, texts))


def program_to_run(room: Room, given: Given) -> Program:
    """The program but for the statements that are left out of runs, which stay in the text."""
    program, left_out = program_of(room, given), left_out_of(given)
    return program.without(*left_out) if left_out else program


def left_out_of(given: Given) -> list[str]:
    return given.texts("without") if given.values.get("without") is not None else []


def _functions(room: Room, texts: list[Text]) -> list[PythonFunction]:
    """What programs may call of the folder's own Python: nothing, unless the user trusts it."""
    if not room.is_trusted:
        return []
    folders = dict.fromkeys(PurePosixPath(text.file).parent for text in texts)
    found: dict[str, PythonFunction] = {}
    for folder in folders:
        name = str(folder / FUNCTIONS)
        path = room.folder.path(name)
        if not path.is_file():
            continue
        try:
            names = runpy.run_path(str(path))
        except Exception as problem:  # whatever the user's file raises
            fact = f"'{name}' cannot be run: {type(problem).__name__}: {problem}"
            raise UsageError(error("bad-file", fact)) from None
        found |= {f.name: f for f in names.values() if isinstance(f, PythonFunction)}
    return list(found.values())
