"""Files that outlive a crash: what was written is there, and what was not whole is known as such."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from cepheid.errors import UsageError, error, reason_of

# One pass reads so many bytes at most to find the end of the last whole line.
_BLOCK = 1 << 16


class Appender:
    """Lines at the end of a file. A line that was left unfinished is cut off, never joined by another."""

    def __init__(self, path: Path) -> None:
        is_new = not path.exists()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        if is_new:
            sync_folder(path.parent)
        self._cut()

    def append(self, lines: bytes) -> None:
        """Durably. Where that fails, whole lines may be there, and are as good as those before them."""
        try:
            write_durably(self._file, lines)
        except OSError:
            self._cut()
            raise

    def _cut(self) -> None:
        end = _end_of_last_line(self._file)
        if end < os.fstat(self._file).st_size:
            os.ftruncate(self._file, end)

    def close(self) -> None:
        os.close(self._file)


def write_durably(file: int, data: bytes) -> None:
    """Writes all of it, and waits for the disk."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
    os.fsync(file)


def _end_of_last_line(file: int) -> int:
    """How many bytes whole lines take."""
    end = os.fstat(file).st_size
    while end > 0:
        start = max(0, end - _BLOCK)
        at = os.pread(file, end - start, start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def whole_lines(path: Path, offset: int = 0) -> Iterator[tuple[bytes, int]]:
    """Lines that end, each with the offset behind it; one that is being written is left out."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        file.seek(offset)
        for line in file:
            if not line.endswith(b"\n"):
                return
            offset += len(line)
            yield line, offset


def replace_file(path: Path, data: bytes) -> None:
    """A file as a whole: there is the old one or the new one, whatever happens."""
    other = path.with_name(path.name + ".new")
    file = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        write_durably(file, data)
    finally:
        os.close(file)
    other.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes the names of new files durable, too."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


class Lock:
    """One process at a time; the system ends the lock with the process, however that ends."""

    def __init__(self, path: Path, what: str) -> None:
        import fcntl  # systems without it have no outboxes

        file = None
        try:
            self._file = file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            if file is not None:
                os.close(file)
            if not isinstance(problem, BlockingIOError):
                raise UsageError(
                    error("bad-outbox", f"cannot lock '{path}': {reason_of(problem)}")
                ) from None
            fact, hint = f"another process {what} '{path.parent}'", "wait for it, or end it"
            raise UsageError(error("bad-outbox", fact, hint=hint)) from None

    def close(self) -> None:
        os.close(self._file)
