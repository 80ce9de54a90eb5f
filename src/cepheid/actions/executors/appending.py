"""Lines at the end of a file of the user, each once."""

from __future__ import annotations

import os
from pathlib import Path

from cepheid.actions.disk import write_durably


def append_once(path: Path, line: bytes) -> None:
    """Appends a line, which says whose it is: where the file ends with it, it is there already.

    What is left of the same line after a crash is cut off. Whatever else stands there stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        size = os.fstat(file).st_size
        start = max(0, size - len(line))
        tail = os.pread(file, size - start, start)
        if tail == line:
            return
        torn = next((n for n in range(len(line) - 1, 0, -1) if _ends_torn(tail, line[:n])), 0)
        if torn:
            os.ftruncate(file, size - torn)
        elif tail and not tail.endswith(b"\n"):
            line = b"\n" + line
        write_durably(file, line)
    finally:
        os.close(file)


def _ends_torn(tail: bytes, part: bytes) -> bool:
    """Whether a file ends with a part of a line, on a line of its own."""
    if not tail.endswith(part):
        return False
    before = tail[: -len(part)]
    return not before or before.endswith(b"\n")
