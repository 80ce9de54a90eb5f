"""The folder that the studio is about: nothing outside of it is read or written, whatever links say.

A file has a version, the digest of its bytes: who saves names the version that was opened, so that what
someone else wrote meanwhile is not overwritten unseen.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cepheid.core.whole_file import whole_file
from cepheid.errors import UsageError, error, reason_of
from cepheid.io import READERS
from cepheid.lang import extensions, is_program

MOST_FILES = 2_000  # that are listed
LARGEST = 4 * 2**20  # bytes of a text that is opened
_DEEPEST = 6  # folders in folders
_LONGEST = 1_000  # characters of a name
_KEPT = (".cepheid", "studio.json")


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
        is_plain = bool(parts) and len(name) <= _LONGEST and name.isprintable()
        is_inside = not name.startswith("/") and not any(p.startswith(".") for p in parts)
        if not is_plain or not is_inside or "\\" in name:
            raise _outside(name)
        path = os.path.realpath(os.path.join(self.root, *parts))
        # What is outside of the folder begins with '..' from here.
        if any(part.startswith(".") for part in os.path.relpath(path, self.root).split(os.sep)):
            raise _outside(name)
        return Path(path)

    def files(self) -> Iterator[tuple[str, int]]:
        """Programs and events with their sizes, by name; links to folders are not followed."""
        yield from self._below(Path(self.root), 0)

    def _below(self, folder: Path, depth: int) -> Iterator[tuple[str, int]]:
        try:
            entries = sorted(os.scandir(folder), key=lambda e: (e.is_dir(), e.name))
        except OSError:
            return  # one that may not be read has nothing to offer
        for entry in entries:
            if entry.name.startswith(".") or entry.name in ("node_modules", "__pycache__"):
                continue
            if entry.is_dir(follow_symlinks=False) and depth < _DEEPEST:
                yield from self._below(Path(entry.path), depth + 1)
            elif entry.is_file() and _is_known(entry.name):
                name = Path(entry.path).relative_to(self.root).as_posix()
                if self._is_ours(name):
                    with suppress(FileNotFoundError):  # someone removed it just now
                        yield name, entry.stat().st_size

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
        """Writes a program or events as a whole, and gives the version."""
        path = self.path(name)
        if not _is_known(path.name) or not _is_known(name):
            known = ", ".join((*extensions(), *READERS))
            hint = f"names end with {known}"
            raise UsageError(error("usage", f"'{name}' is no program and no events", hint=hint))
        data = text.encode(errors="replace")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as draft:
                draft.write_bytes(data)
        except OSError as problem:
            fact = f"cannot write '{name}': {reason_of(problem)}"
            raise UsageError(error("bad-file", fact)) from None
        return version_of(data)

    # Where the user put what is drawn: the one hidden file that is ours.

    def _kept(self) -> Path:
        """UsageError where links lead elsewhere."""
        path = os.path.join(self.root, *_KEPT)
        if os.path.realpath(path) != path:
            raise UsageError(error("bad-file", f"'{'/'.join(_KEPT)}' is a link to elsewhere"))
        return Path(path)

    def read_kept(self) -> dict[str, object]:
        """Empty where nothing was kept yet; UsageError where it is not what the studio wrote."""
        path = self._kept()
        try:
            if not path.exists():
                return {}
            if not path.is_file() or path.stat().st_size > LARGEST:
                raise ValueError
            found = json.loads(path.read_bytes())
            if not isinstance(found, dict):
                raise ValueError
            return found
        except (OSError, ValueError, RecursionError):
            fact = f"'{'/'.join(_KEPT)}' is not what the studio wrote"
            raise UsageError(error("bad-file", fact, hint="remove it")) from None

    def write_kept(self, kept: Mapping[str, object]) -> None:
        path = self._kept()
        try:
            path.parent.mkdir(exist_ok=True)
            with whole_file(path) as draft:
                draft.write_text(
                    json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8"
                )
        except OSError as problem:
            fact = f"cannot write '{'/'.join(_KEPT)}': {reason_of(problem)}"
            raise UsageError(error("bad-file", fact)) from None


def version_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def is_events(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in READERS


def _is_known(name: str) -> bool:
    return is_program(name) or is_events(name)


def _outside(name: str) -> UsageError:
    fact = f"'{name[:80]}' is no file in this folder"
    return UsageError(
        error("usage", fact, hint="files outside of the folder, and hidden ones, stay closed")
    )
