"""The commands that the studio starts as jobs, and how they are written.

A page never gives a command: it fills in a form, and all that can stand in one is declared here. Files and
folders are those of the folder that the studio is about, and nothing in a form can run commands or Python. What
was started elsewhere is read back by the same declarations, so that only such jobs are started again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

from cepheid.errors import UsageError, error
from cepheid.lang import is_program
from cepheid.studio.folder import Folder, is_events

Kind: TypeAlias = Literal["words", "source", "sink", "folder", "flag"]
FORMATS = ("jsonl", "csv", "parquet")
_FILES = "files:"
_PLAIN = re.compile(r"[^\W_][\w :.]*")  # of periods and names of types
_ODD = frozenset("?#%*[]{}:,\\\"'$`&|;<>")  # what sources, globs and shells read as something else


def _option(name: str, kind: Kind = "words", default: object = None) -> str | None:
    return field(default=default, metadata={"option": name, "kind": kind})  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCommand:
    """`cepheid stream` from a folder of events to another one."""

    programs: tuple[str, ...]
    source: str | None = _option("--source", "source")
    checkpoint: str | None = _option("--checkpoint", "folder")
    sink: str | None = _option("--sink", "sink")  # else rows are printed into the log
    watermark: str | None = _option("--watermark")
    output: str | None = _option("--output")
    trigger: str | None = _option("--trigger")
    late: str | None = _option("--late", "folder")
    rejects: str | None = _option("--rejects", "folder")
    once: bool = field(default=False, metadata={"option": "--once", "kind": "flag"})

    name = "stream"
    needed = ("source", "checkpoint")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCommand:
    """`cepheid run` over a file or a folder of events."""

    programs: tuple[str, ...]
    events: str | None = _option("--events", "folder")
    out: str | None = _option("--out", "folder")
    outbox: str | None = _option("--outbox", "folder")
    type: str | None = _option("--type")
    why: bool = field(default=False, metadata={"option": "--why", "kind": "flag"})

    name = "run"
    needed = ("events",)


Command: TypeAlias = StreamCommand | BatchCommand
COMMANDS: dict[str, type[StreamCommand] | type[BatchCommand]] = {
    each.name: each for each in (StreamCommand, BatchCommand)
}


def words_of(command: Command) -> list[str]:
    """As they stand on a command line behind `cepheid`."""
    return [command.name, *command.programs, *_options(command)]


def _options(command: Command) -> Iterator[str]:
    for each in fields(command)[1:]:
        value = getattr(command, each.name)
        if value:
            yield each.metadata["option"]
            if each.metadata["kind"] != "flag":
                yield _written(value, each.metadata["kind"])


def _written(value: str, kind: Kind) -> str:
    return f"{_FILES}{value}" if kind in ("source", "sink") else value


def command_of(words: Sequence[str]) -> Command | None:
    """What `words_of` wrote; None for everything else that may be a job."""
    declared = COMMANDS.get(words[0]) if words else None
    if declared is None:
        return None
    end = next((n for n, word in enumerate(words) if word.startswith("-")), len(words))
    by_option = {each.metadata["option"]: each for each in fields(declared)[1:]}
    found: dict[str, object] = {}
    rest = list(words[end:])
    while rest:
        each = by_option.get(rest.pop(0))
        if each is None:
            return None
        is_flag = each.metadata["kind"] == "flag"
        if not is_flag and not rest:
            return None
        found[each.name] = True if is_flag else _read(rest.pop(0), each.metadata["kind"])
    command = declared(programs=tuple(words[1:end]), **found)  # type: ignore[arg-type]
    return command if words_of(command) == list(words) else None


def _read(word: str, kind: Kind) -> str:
    return word.removeprefix(_FILES) if kind in ("source", "sink") else word


# What may stand in one.


def expect_allowed(folder: Folder, command: Command) -> None:
    """UsageError for what the studio does not start."""
    if not command.programs:
        raise UsageError(error("usage", "no program is named"))
    for name in command.programs:
        if not is_program(name) or not folder.path(_plain(name)).is_file():
            raise UsageError(error("usage", f"'{name[:80]}' is no program of this folder"))
    for each in fields(command)[1:]:
        value, kind = getattr(command, each.name), each.metadata["kind"]
        if not value and each.name in command.needed:
            fact = f"{each.metadata['option']} is missing"
            raise UsageError(error("usage", fact, hint="a job has to know it"))
        if value and kind == "words" and not _PLAIN.fullmatch(value):
            raise UsageError(error("usage", f"{each.metadata['option']} cannot be '{value[:80]}'"))
        if value and kind in ("source", "sink", "folder"):
            folder.path(_plain(_folder_in(value) if kind == "source" else value))
    if isinstance(command, StreamCommand):
        _expect_own_events(folder, _folder_in(command.source or ""))
    else:
        _expect_own_file(folder, command.events or "")
        if command.out is not None and not is_events(command.out):
            fact = f"'{command.out[:80]}' is no file of events"
            raise UsageError(
                error("usage", fact, hint="end its name with .jsonl, .csv or .parquet")
            )


def _folder_in(source: str) -> str:
    """The folder of a source, which may say the format of its files."""
    folder, mark, format = source.partition("?format=")
    if mark and format not in FORMATS:
        raise UsageError(error("usage", f"no format '{format[:40]}'"))
    return folder


def source_in(folder: str, format: str) -> str:
    return folder if format == FORMATS[0] else f"{folder}?format={format}"


def _plain(name: str) -> str:
    """A name that says the same to the studio, to Cepheid, to Spark and to a shell."""
    parts = PurePosixPath(name).parts
    if _ODD.intersection(name) or any(part.startswith(("-", "~")) for part in parts):
        fact = f"'{name[:80]}' has characters that mean something else in commands"
        raise UsageError(error("usage", fact, hint="use letters, digits, spaces, '_', '-' and '.'"))
    return name


def _expect_own_events(folder: Folder, name: str) -> None:
    """A stream reads all files of its folder: none of them may be a link to elsewhere."""
    path = folder.path(name)
    if not path.is_dir():
        hint = "a stream reads a folder, to which files of events are added"
        raise UsageError(error("missing-file", f"no folder '{name}' here", hint=hint))
    for top, folders, files in os.walk(path):  # Spark reads folders such as `day=1`, too
        for each in (*folders, *files):
            if os.path.islink(os.path.join(top, each)):
                folder.path(PurePosixPath(top, each).relative_to(folder.root).as_posix())


def _expect_own_file(folder: Folder, name: str) -> None:
    path = folder.path(name)
    if path.is_dir():
        _expect_own_events(folder, name)
    elif not (path.is_file() and is_events(name)):
        raise UsageError(error("missing-file", f"no file of events '{name[:80]}' here"))
