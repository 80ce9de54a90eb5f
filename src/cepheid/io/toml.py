"""TOML files, with the places of their errors and of what they say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from cepheid.errors import InputError, Span, UsageError, error, reason_of

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


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
    return parse_toml(text, str(path), code)


def parse_toml(text: str, file: str, code: str) -> dict[str, object]:
    """What a text says, which is called a file in findings; InputError with a code where it is wrong."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(error("too-deep", f"'{file}' nests its values too deep")) from None
    except ValueError as problem:  # not all are TOMLDecodeErrors: numbers can be too long
        message = str(problem)
        fact = f"this is not TOML: {_PLACE.sub('', message)}"
        raise InputError(error(code, fact, _span(message, text, file))) from None


def _span(message: str, text: str, file: str) -> Span:
    found = _PLACE.search(message)
    if found is not None and found[1]:
        line, column = int(found[1]), int(found[2])
    else:  # the end
        lines = text.splitlines() or [""]
        line, column = len(lines), len(lines[-1]) + 1
    return Span(line, column, line, column + 1, file)


_HEADER = re.compile(r"\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?")


class Places:
    """Where tables and values stand, as far as the lines of a file tell; else where the file begins."""

    def __init__(self, file: str | Path) -> None:
        self._file = str(file)
        self._lines = Path(file).read_text(encoding="utf-8").splitlines()

    def table(self, *names: str) -> Span:
        """The header of a table, `[sources.calendar]`; else of the first one in it."""
        for number, line in self._table(names):
            return Span(number, 1, number, len(line) + 1, self._file)
        for number, line, parts in self._headers() if names else ():
            if parts[: len(names)] == names:
                return Span(number, 1, number, len(line) + 1, self._file)
        return Span(1, 1, 1, 1, self._file)

    def setting(self, table: tuple[str, ...], name: str, value: str | None = None) -> Span:
        """A setting of a table, or a text in its value; else the table."""
        begin = re.compile(rf"\s*([\"']?){re.escape(name)}\1\s*=")
        lines = self._table(table)
        for number, line in lines:
            found = begin.match(line)
            if found is None:
                continue
            start = len(line) - len(line.lstrip())
            span = Span(number, start + 1, number, found.end(), self._file)
            return self._text(value, number, line, lines) or span if value is not None else span
        return self.table(*table)

    def _text(
        self, value: str, number: int, line: str, lines: Iterator[tuple[int, str]]
    ) -> Span | None:
        while True:
            for quote in "\"'":
                column = line.find(f"{quote}{value}{quote}")
                if column >= 0:
                    end = column + len(value) + 2
                    return Span(number, column + 1, number, end + 1, self._file)
            following = next(lines, None)
            if following is None:
                return None
            number, line = following

    def _table(self, names: tuple[str, ...]) -> Iterator[tuple[int, str]]:
        """The lines of a table, its header first; without names, those before all headers."""
        begins = {number: parts == names for number, _, parts in self._headers()}
        is_inside = not names
        for number, line in enumerate(self._lines, 1):
            is_inside = begins.get(number, is_inside)
            if is_inside:
                yield number, line

    def _headers(self) -> Iterator[tuple[int, str, tuple[str, ...]]]:
        for number, line in enumerate(self._lines, 1):
            header = _HEADER.fullmatch(line)
            if header is not None:
                names = (part.strip().strip("\"'") for part in header[1].split("."))
                yield number, line, tuple(names)
