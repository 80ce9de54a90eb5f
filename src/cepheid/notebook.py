"""Cepheid in notebooks: `%load_ext cepheid` gives cells that are programs.

    %%epl alarms
    create schema Reading (sensor string, value double);
    @Name('Hot') insert into Hot select * from Reading(value > 30);

parses the cell, shows it with its findings, and leaves the program in `alarms`, else in `program`. It
may call the functions of `cep.function` that the notebook has. Where it cannot be parsed, the mistakes
are shown, and no program is left that could be taken for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cepheid.core.html import Html, together
from cepheid.drawing.shown import Findings
from cepheid.errors import ProgramError, UsageError, error
from cepheid.expr.python import PythonFunction
from cepheid.lang import LANGUAGES
from cepheid.verbs.loading import parse
from cepheid.verbs.program import Program

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class Shown:
    """A program and what is to be said of it."""

    def __init__(self, program: Program, findings: Findings) -> None:
        self.program = program
        self.findings = findings

    def __repr__(self) -> str:
        return f"{self.program!r}\n{self.findings!r}"

    def _repr_html_(self) -> str:
        parts = [Html(self.program._repr_html_())]
        return together([*parts, Html(self.findings._repr_html_())] if self.findings else parts)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Cells of every language: `%%epl`, `%%vepl`, ..."""
    for language in LANGUAGES:

        def cell(line: str, text: str, language: str = language) -> Shown | Findings:
            return program_cell(shell, language, line, text)

        shell.register_magic_function(cell, "cell", language)  # type: ignore[arg-type]


def program_cell(shell: InteractiveShell, language: str, line: str, text: str) -> Shown | Findings:
    """What a cell shows; its program goes into the notebook."""
    name = line.strip() or "program"
    if not name.isidentifier():
        hint = f"write %%{language} alarms"
        raise UsageError(error("usage", f"'{name}' cannot be a name in Python", hint=hint))
    shell.user_ns.pop(name, None)  # what stood there before is not this program
    known = {id(v): v for v in shell.user_ns.values() if isinstance(v, PythonFunction)}
    try:
        program = parse(text, language, file="<cell>", functions=known.values())
    except ProgramError as problem:
        return Findings(problem.diagnostics, problem.sources)
    shell.user_ns[name] = program
    return Shown(program, Findings(program.check(), program.sources))
