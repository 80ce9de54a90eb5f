"""Where the rows of a run go, and in which form."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args
from urllib.parse import quote

from cepheid.cli.terminal.tables import print_tables, print_trees
from cepheid.core.event import Event
from cepheid.core.types import EventType
from cepheid.core.whole_file import whole_file
from cepheid.errors import UsageError, error, reason_of
from cepheid.io import Format, encode, write_csv, write_file, write_jsonl
from cepheid.io.causes import encode_with_causes
from cepheid.io.encode import to_json
from cepheid.io.rows import of_types

STANDARD_OUTPUT = "-"

AnyFormat: TypeAlias = Literal["jsonl", "csv", "parquet", "table"]
FORMATS: tuple[AnyFormat, ...] = get_args(AnyFormat)
_SUFFIXES: dict[str, AnyFormat] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
}


@dataclass(frozen=True, slots=True)
class Output:
    """What `--out`, `--format` and `--why` ask for, together."""

    path: str
    format: AnyFormat
    why: bool

    @property
    def is_folder(self) -> bool:
        return _is_folder(self.path)

    @property
    def streams(self) -> bool:
        """Whether each row can be printed when it comes."""
        return self.path == STANDARD_OUTPUT and self.format == "jsonl"

    @property
    def is_table(self) -> bool:
        return self.format == "table" and not self.why

    def files(self, chosen: Sequence[str]) -> list[Path]:
        """What is written, where these types are."""
        if self.path == STANDARD_OUTPUT:
            return []
        return [self.file_of(type) for type in chosen] if self.is_folder else [Path(self.path)]

    def file_of(self, type: str) -> Path:
        """The file of a type in the folder."""
        return Path(self.path) / f"{quote(type, safe=' ')}.{self.format}"


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


def _is_folder(path: str) -> bool:
    return path.endswith(("/", os.sep)) or os.path.isdir(path)


def _default_format(path: str, *, is_stream: bool) -> AnyFormat:
    if path == STANDARD_OUTPUT:
        return "table" if sys.stdout.isatty() and not is_stream else "jsonl"
    if _is_folder(path):
        return "jsonl"
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        fact = f"the name '{path}' does not say its format"
        hint = f"known suffixes: {', '.join(_SUFFIXES)}; or add --format, or '/' for a folder"
        raise _refused(fact, hint)
    return _SUFFIXES[suffix]


def spare_inputs(output: Output, chosen: Sequence[str], inputs: Iterable[str]) -> None:
    spare("--out", output.files(chosen), inputs)


def spare(option: str, files: Iterable[str | Path], inputs: Iterable[str]) -> None:
    """Refuses to write over a file that is read, by whatever name."""
    targets = {_identity(file) for file in files} - {None}
    for path in inputs:
        if _identity(path) in targets:
            fact = f"{option} would overwrite '{path}', which is read"
            raise _refused(fact, "choose another name")


def _identity(path: str | Path) -> tuple[int, int] | None:
    """The same for all names and links of a file; None where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


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
    elif output.why:
        sys.stdout.writelines(line_of(row, output) + "\n" for row in rows)
    else:
        write_jsonl(rows, sys.stdout)


def line_of(row: Event, output: Output) -> str:
    return to_json(encode_with_causes(row) if output.why else encode(row))


def _print_table(rows: Sequence[Event], chosen: Sequence[str], output: Output) -> None:
    from cepheid.cli.terminal.console import out

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
        _write_path(of_types(rows, [type]), output.file_of(type), types, output)


def _write_path(
    rows: Sequence[Event], path: Path, types: Mapping[str, EventType], output: Output
) -> None:
    if not output.why:
        write_file(rows, path, cast("Format", output.format), types)
        return
    try:
        with whole_file(path) as draft, draft.open("w", encoding="utf-8") as stream:
            stream.writelines(line_of(row, output) + "\n" for row in rows)
    except OSError as problem:
        raise _unwritable(path, problem) from None


def _unwritable(path: Path, problem: OSError) -> UsageError:
    fact = f"cannot write '{path}': {reason_of(problem)}"
    return UsageError(error("bad-file", fact))
