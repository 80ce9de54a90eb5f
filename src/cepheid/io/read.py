"""Files, folders, globs and streams of events as records."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from cepheid.errors import Diagnostic, InputError, error, reason_of, suggest
from cepheid.io.arrow import parquet_records
from cepheid.io.csv_records import cell_records
from cepheid.io.jsonl import BYTE_ORDER_MARK, OnProblem, array_records, line_records
from cepheid.io.records import Record
from cepheid.io.scenario import scenario_records
from cepheid.io.source import NOWHERE, Placement

STANDARD_INPUT = "-"


def fail(problem: Diagnostic) -> None:
    """The `on_problem` of readers that accept no broken line."""
    raise InputError(problem) from None  # who found it says nothing more


def read_records(
    path: str | Path, *, on_problem: OnProblem, placement: Placement = NOWHERE
) -> Iterator[Record]:
    """The records of a file, by its suffix; `-` is standard input.

    A line that cannot be read goes to `on_problem` and reading goes on. A file that is not there
    or cannot be read at all raises InputError, at the latest when the first record is asked for.
    """
    if path == STANDARD_INPUT:
        return read_stream(sys.stdin, "<stdin>", on_problem, placement)
    path = Path(path)
    if not os.path.exists(path):  # unlike Path.exists, no name is too odd for it
        raise _missing(path)
    if path.is_dir():
        raise InputError(error("bad-file", f"{str(path)!r} is a folder, not a file of events"))
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        fact = f"{str(path)!r} has no suffix of an event file"
        raise InputError(error("bad-file", fact, hint=f"known suffixes: {', '.join(READERS)}"))
    return _reporting(path, reader(path, on_problem, placement))


def read_stream(
    stream: Iterable[str] | Iterable[bytes],
    name: str,
    on_problem: OnProblem,
    placement: Placement = NOWHERE,
) -> Iterator[Record]:
    """JSON Lines as they arrive."""
    # The bytes under a text stream, so that one bad byte spoils one line only.
    return line_records(getattr(stream, "buffer", stream), name, on_problem, placement)


def expand(paths: Iterable[str]) -> list[str]:
    """The files that the arguments name: files, `-`, folders (by name) and globs (sorted)."""
    return [file for path in paths for file in _expanded(path)]


def _expanded(path: str) -> list[str]:
    if os.path.isdir(path):
        return _in_folder(Path(path))
    if path == STANDARD_INPUT or os.path.exists(path):
        return [path]
    files = sorted(hit for hit in glob.glob(path, recursive=True) if os.path.isfile(hit))
    if not files:
        raise _missing(Path(path))
    return files


def _in_folder(folder: Path) -> list[str]:
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    except OSError as problem:
        raise _unreadable(folder, problem) from None
    files = [str(e) for e in entries if _is_event_file(e)]
    if not files:
        fact = f"no event files in {str(folder)!r}"
        raise InputError(error("missing-file", fact, hint=f"known suffixes: {', '.join(READERS)}"))
    return files


def _is_event_file(path: Path) -> bool:
    is_hidden = path.name.startswith(".")
    return not is_hidden and path.suffix.lower() in READERS and path.is_file()


def _missing(path: Path) -> InputError:
    fact = f"no file {str(path)!r}"
    return InputError(error("missing-file", fact, hint=_neighbours(path)))


def _neighbours(path: Path) -> str | None:
    if any(sign in path.name for sign in "*?["):
        return None  # it names no single file that another may be like
    try:
        names = [entry.name for entry in path.parent.iterdir() if _is_event_file(entry)]
    except OSError:
        return None
    return suggest(path.name, names, "event files there")


def _unreadable(path: Path, problem: OSError) -> InputError:
    reason = reason_of(problem)
    fact = f"cannot read {str(path)!r}: {reason}"
    return InputError(error("bad-file", fact))


def _reporting(path: Path, records: Iterator[Record]) -> Iterator[Record]:
    try:
        yield from records
    except OSError as problem:
        raise _unreadable(path, problem) from None


def _read_lines(path: Path, on_problem: OnProblem, placement: Placement) -> Iterator[Record]:
    with path.open("rb") as stream:
        yield from line_records(stream, str(path), on_problem, placement)


def _read_json(path: Path, on_problem: OnProblem, placement: Placement) -> Iterator[Record]:
    """JSON Lines, or one array of events."""
    with path.open("rb") as stream:
        if not _starts_array(stream):
            yield from line_records(stream, str(path), on_problem, placement)
            return
        try:
            text = stream.read().decode().removeprefix(BYTE_ORDER_MARK)
        except UnicodeDecodeError as problem:
            line = problem.object.count(b"\n", 0, problem.start) + 1
            fact = f"{str(path)!r} is not UTF-8 on line {line}"
            raise InputError(error("bad-file", fact)) from None
        yield from array_records(text, str(path), on_problem, placement)


def _starts_array(stream: IO[bytes]) -> bool:
    first = stream.read(4096).removeprefix(BYTE_ORDER_MARK.encode()).lstrip()
    stream.seek(0)
    return first.startswith(b"[")


def _read_cells(path: Path, on_problem: OnProblem, placement: Placement) -> Iterator[Record]:
    with path.open("rb") as stream:
        yield from cell_records(stream, str(path), path.stem, on_problem, placement)


def _read_scenario(path: Path, on_problem: OnProblem, _: Placement) -> Iterator[Record]:
    with path.open("rb") as stream:
        yield from scenario_records(stream, str(path), on_problem)


def _read_parquet(path: Path, on_problem: OnProblem, placement: Placement) -> Iterator[Record]:
    return parquet_records(path, path.stem, on_problem, placement)


READERS = {
    ".jsonl": _read_lines,
    ".ndjson": _read_lines,
    ".json": _read_json,
    ".csv": _read_cells,
    ".parquet": _read_parquet,
    ".events": _read_scenario,
    ".txt": _read_scenario,
}
# Of these, the files that can also be read in columns: those that have some, and those of one object a line.
COLUMNAR = (".csv", ".parquet")
LINES = (".jsonl", ".ndjson", ".json")
