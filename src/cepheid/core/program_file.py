"""The text of a program file; what is wrong with the file is known before any parser is loaded."""

from __future__ import annotations

from pathlib import Path

from cepheid.errors import UsageError, error, reason_of


def read_program_text(path: str | Path) -> str:
    """The text of a program file; UsageError where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        line = problem.object[: problem.start].count(b"\n") + 1
        fact = f"'{path}' is not UTF-8 on line {line}"
        raise UsageError(error("bad-file", fact)) from None
    except OSError as problem:
        code = "missing-file" if isinstance(problem, FileNotFoundError) else "bad-file"
        fact = f"cannot read '{path}': {reason_of(problem)}"
        raise UsageError(error(code, fact)) from None
