"""One process at a time on a folder: a stream on its checkpoint, a job on its record."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cepheid.errors import RunError, error, reason_of

_LOCK = (
    "in-use"  # a file of the folder; the system ends the lock with the process, however that ends
)
_LONGEST = 200  # bytes of a name that are shown


@contextmanager
def held(folder: Path, owner: str, what: str = "checkpoint") -> Iterator[None]:
    """The folder is this process's as long as that lasts; RunError where it is another's."""
    if os.name != "posix":  # such a system has no locks of this kind
        yield
        return
    file = _locked(folder, owner, what)
    try:
        yield
    finally:
        os.close(file)


def _locked(folder: Path, owner: str, what: str) -> int:
    import fcntl

    file = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(file, 0)
        os.pwrite(file, owner.encode(), 0)
    except OSError as problem:
        other = "" if file is None else os.pread(file, _LONGEST, 0).decode(errors="replace")
        if file is not None:
            os.close(file)
        if isinstance(problem, BlockingIOError):
            fact = f"the {what} '{folder}' is in use by {other or 'another process'}"
            hint = "stop that first, or name another one"
            raise RunError(error("bad-job", fact, hint=hint)) from None
        fact = f"cannot write into '{folder}': {reason_of(problem)}"
        hint = f"the folder of a {what} must be one that can be written"
        raise RunError(error("bad-file", fact, hint=hint)) from None
    return file
