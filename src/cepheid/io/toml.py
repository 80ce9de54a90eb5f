"""TOML files, with the places of their errors."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from cepheid.errors import InputError, Span, UsageError, error, reason_of

_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")


def read_toml(path: str | Path, code: str) -> dict[str, object]:
    """What a file says; UsageError where it cannot be read, InputError with a code where it is wrong."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(error("bad-file", f"'{path}' is not UTF-8")) from None
    except OSError as problem:
        missing = isinstance(problem, FileNotFoundError)
        fact = f"cannot read '{path}': {reason_of(problem)}"
        raise UsageError(error("missing-file" if missing else "bad-file", fact)) from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        message = str(problem)
        fact = f"this is not TOML: {_PLACE.sub('', message)}"
        raise InputError(error(code, fact, _span(message, str(path)))) from None


def _span(message: str, file: str) -> Span:
    found = _PLACE.search(message)
    line, column = (int(found[1]), int(found[2])) if found else (1, 1)
    return Span(line, column, line, column + 1, file)
