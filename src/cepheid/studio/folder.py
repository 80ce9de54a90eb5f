"""The folder that the studio is about: nothing outside of it is read or written, whatever links say.

A file has a version, the digest of its bytes: who saves names the version that was opened, so that what
someone else wrote meanwhile is not overwritten unseen.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from cepheid.core.whole_file import whole_file
from cepheid.errors import UsageError, error, reason_of
from cepheid.io import READERS
from cepheid.lang import extensions, is_program

MOST_FILES = 2_000  # that are listed
LARGEST = 4 * 2**20  # bytes of a text that is opened
_DEEPEST = 6  # folders in folders
_LONGEST, _LONGEST_PART = 1_000, 255  # bytes of a name, and of a part of one
_TOML = ".toml"
# The table by which a TOML file is known: others, such as settings, are nothing for the studio.
_TABLE = re.compile(
    r"^[ \t]*(?:\[\[[ \t]*(factory|input)[ \t]*\]\]|(factory|input)[ \t]*=)", re.MULTILINE
)

Kind: TypeAlias = Literal["program", "events", "scenario", "environment"]
_TABLES: dict[str, Kind] = {"factory": "scenario", "input": "environment"}


@dataclass(frozen=True, slots=True)
class Listed:
    """A file that the studio has a use for."""

    name: str
    size: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Opened:
    """A text as it is on disk."""

    text: str
    version: str


@dataclass(frozen=True, slots=True)
class Folder:
    """Files are known by their names from here, with '/' between the parts."""

    root: str  # a real path

    @classmethod
    def at(cls, path: str | Path) -> Folder:
        """UsageError where there is no such folder."""
        if not os.path.isdir(path):
            raise UsageError(error("missing-file", f"no folder '{path}'"))
        return cls(os.path.realpath(path))

    @property
    def name(self) -> str:
        return os.path.basename(self.root) or self.root

    def path(self, name: str) -> Path:
        """Where a file is; UsageError for all that is not in the folder, or hidden in it."""
        parts = PurePosixPath(name).parts
        is_plain = bool(parts) and name.isprintable() and not _is_too_long(name, parts)
        is_inside = not name.startswith("/") and not any(p.startswith(".") for p in parts)
        if not is_plain or not is_inside or "\\" in name:
            raise _outside(name)
        path = os.path.realpath(os.path.join(self.root, *parts))
        # What is outside of the folder begins with '..' from here.
        if any(part.startswith(".") for part in os.path.relpath(path, self.root).split(os.sep)):
            raise _outside(name)
        return Path(path)

    def files(self) -> Iterator[Listed]:
        """Programs, events, scenarios and environments, by name; links to folders are not followed."""
        yield from self._below(Path(self.root), 0)

    def _below(self, folder: Path, depth: int) -> Iterator[Listed]:
        try:
            entries = sorted(os.scandir(folder), key=lambda e: (e.is_dir(), e.name))
        except OSError:
            return  # one that may not be read has nothing to offer
        for entry in entries:
            if entry.name.startswith(".") or entry.name in ("node_modules", "__pycache__"):
                continue
            if entry.is_dir(follow_symlinks=False) and depth < _DEEPEST:
                yield from self._below(Path(entry.path), depth + 1)
            elif entry.is_file() and _may_be_known(entry.name):
                name = Path(entry.path).relative_to(self.root).as_posix()
                if self._is_ours(name):
                    with suppress(FileNotFoundError):  # someone removed it just now
                        size, kind = entry.stat().st_size, self._kind(name)
                        if kind is not None:
                            yield Listed(name, size, kind)

    def _kind(self, name: str) -> Kind | None:
        """What a file is: by its name, and a TOML file by what it says."""
        if not _is_toml(name):
            return _kind_of_name(name)
        try:
            return kind_of_toml(self.read(name).text)
        except UsageError:
            return None

    def _is_ours(self, name: str) -> bool:
        try:
            self.path(name)
        except UsageError:
            return False
        return True

    def read(self, name: str) -> Opened:
        """The text of a file and its version; UsageError where it cannot be opened."""
        path = self.path(name)
        try:
            if path.exists() and not path.is_file():  # a pipe would be waited for
                raise UsageError(error("bad-file", f"'{name}' is no plain file"))
            if path.stat().st_size > LARGEST:
                fact = f"'{name}' has more than {LARGEST // 2**20} MB, too much to be edited here"
                raise UsageError(error("bad-file", fact, hint="choose it as events of a run"))
            data = path.read_bytes()
            return Opened(data.decode(), version_of(data))
        except FileNotFoundError:
            raise UsageError(error("missing-file", f"no file '{name}'")) from None
        except UnicodeDecodeError:
            raise UsageError(error("bad-file", f"'{name}' is not UTF-8")) from None
        except OSError as problem:
            fact = f"cannot read '{name}': {reason_of(problem)}"
            raise UsageError(error("bad-file", fact)) from None

    def version(self, name: str) -> str | None:
        """None where the file is not there (any more)."""
        try:
            return self.read(name).version
        except UsageError:
            return None

    def write(self, name: str, text: str) -> str:
        """Writes a file of a kind that the studio knows as a whole, and gives the version."""
        path = self.path(name)
        if not _may_be_known(path.name) or not _may_be_known(name):
            known = ", ".join((*extensions(), *READERS, _TOML))
            hint = f"names end with {known}"
            raise UsageError(error("usage", f"'{name}' is no program and no events", hint=hint))
        if _is_toml(path.name):
            self._expect_known_toml(name, path, text)
        data = text.encode(errors="replace")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as draft:
                draft.write_bytes(data)
        except OSError as problem:
            fact = f"cannot write '{name}': {reason_of(problem)}"
            raise UsageError(error("bad-file", fact)) from None
        return version_of(data)

    def _expect_known_toml(self, name: str, path: Path, text: str) -> None:
        """UsageError where a TOML file is, or would become, neither a scenario nor an environment."""
        there = path.relative_to(self.root).as_posix()
        is_other = path.exists() and self._kind(there) is None
        if is_other or kind_of_toml(text) is None:
            fact = f"'{name}' is no scenario and no environment"
            hint = "one has [[factory]] tables, the other [[input]] tables"
            raise UsageError(error("usage", fact, hint=hint))


def version_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def is_events(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in READERS


def kind_of_toml(text: str) -> Kind | None:
    """None where it is neither a scenario nor an environment; mistakes elsewhere in it do not matter."""
    found = _TABLE.search(text)
    return None if found is None else _TABLES[found[1] or found[2]]


def _kind_of_name(name: str) -> Kind | None:
    return "program" if is_program(name) else "events" if is_events(name) else None


def _is_too_long(name: str, parts: Sequence[str]) -> bool:
    return max(map(_bytes, parts)) > _LONGEST_PART or _bytes(name) > _LONGEST


def _bytes(name: str) -> int:
    return len(name.encode())


def _is_toml(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() == _TOML


def _may_be_known(name: str) -> bool:
    return _is_toml(name) or _kind_of_name(name) is not None


def _outside(name: str) -> UsageError:
    fact = f"'{name[:80]}' is no file in this folder"
    return UsageError(
        error("usage", fact, hint="files outside of the folder, and hidden ones, stay closed")
    )
