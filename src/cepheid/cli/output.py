"""Where the rows of a run go, and in which form."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast
from urllib.parse import quote

from cepheid.cli.tables import print_tables, print_trees
from cepheid.cli.why import encode_with_causes
from cepheid.core.event import Event
from cepheid.core.types import EventType
from cepheid.errors import UsageError, error
from cepheid.io import Format, encode, write_csv, write_file
from cepheid.io.encode import to_json

STANDARD_OUTPUT = "-"

AnyFormat: TypeAlias = Literal["jsonl", "csv", "parquet", "table"]
_SUFFIXES: dict[str, AnyFormat] = {".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}


@dataclass(frozen=True, slots=True)
class Output:
    """What `--out`, `--format` and `--why` ask for, together."""

    path: str
    format: AnyFormat
    why: bool

    @property
    def is_folder(self) -> bool:
        return self.path.endswith(("/", os.sep)) or os.path.isdir(self.path)

    @property
    def streams(self) -> bool:
        """Whether each row can be printed when it comes."""
        return self.path == STANDARD_OUTPUT and self.format == "jsonl"


def output_of(path: str, format: AnyFormat | None, *, why: bool, is_stream: bool) -> Output:
    """The output that the options ask for; UsageError where they contradict each other."""
    output = Output(path, format or _default_format(path, is_stream=is_stream), why)
    if output.format == "parquet" and path == STANDARD_OUTPUT:
        raise _refused("Parquet is no text", "name a file: --out rows.parquet")
    if output.format == "table" and path != STANDARD_OUTPUT:
        raise _refused("a table is for reading, not for a file", "choose jsonl, csv or parquet")
    if why and output.format in ("csv", "parquet"):
        raise _refused(f"{output.format} has no place for causes", "--why goes with jsonl or table")
    return output


def _default_format(path: str, *, is_stream: bool) -> AnyFormat:
    if path != STANDARD_OUTPUT:
        return _SUFFIXES.get(Path(path).suffix.lower(), "jsonl")
    return "table" if sys.stdout.isatty() and not is_stream else "jsonl"


def _refused(fact: str, hint: str) -> UsageError:
    return UsageError(error("usage", fact, hint=hint))


def write(
    rows: Sequence[Event], chosen: Sequence[str], types: Mapping[str, EventType], output: Output
) -> None:
    """All rows; `chosen` are the derived types in the order of the program."""
    if output.is_folder:
        _write_folder(rows, chosen, types, output)
    elif output.path != STANDARD_OUTPUT:
        _write_path(rows, Path(output.path), types, output)
    elif output.format == "table":
        _print_table(rows, chosen, output)
    elif output.format == "csv":
        write_csv(rows, sys.stdout)
    else:
        print_lines(rows, output)


def print_lines(rows: Iterable[Event], output: Output) -> None:
    """JSON Lines on standard output."""
    for row in rows:
        sys.stdout.write(line_of(row, output) + "\n")


def line_of(row: Event, output: Output) -> str:
    return to_json(encode_with_causes(row) if output.why else encode(row))


def _print_table(rows: Sequence[Event], chosen: Sequence[str], output: Output) -> None:
    from cepheid.cli.console import out

    if output.why:
        print_trees(rows, out())
    else:
        print_tables(rows, chosen, out())


def _write_folder(
    rows: Sequence[Event], chosen: Sequence[str], types: Mapping[str, EventType], output: Output
) -> None:
    """One file per type, an empty one where nothing was found: no rows of an older run stay."""
    folder = Path(output.path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise _unwritable(folder, problem) from None
    for type in chosen:
        file = folder / f"{quote(type, safe=' ')}.{output.format}"
        _write_path([row for row in rows if row.type == type], file, types, output)


def _write_path(
    rows: Sequence[Event], path: Path, types: Mapping[str, EventType], output: Output
) -> None:
    if not output.why:
        write_file(rows, path, cast("Format", output.format), types)
        return
    try:
        with path.open("w", encoding="utf-8") as stream:
            stream.writelines(line_of(row, output) + "\n" for row in rows)
    except OSError as problem:
        raise _unwritable(path, problem) from None


def _unwritable(path: Path, problem: OSError) -> UsageError:
    fact = f"cannot write '{path}': {(problem.strerror or str(problem)).lower()}"
    return UsageError(error("bad-file", fact))
