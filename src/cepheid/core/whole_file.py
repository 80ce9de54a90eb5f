"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Where to write what takes the place of a file once all of it is written.

    Until then, and for good where writing fails, the old file stays as it is. What is no plain file,
    such as /dev/null or a pipe, is written as it is. OSError where the file cannot be written.
    """
    target = Path(os.path.realpath(path))  # a link keeps pointing to where it does
    if target.exists() and not target.is_file():
        yield target
        return
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(None, "permission denied")
    # A name for each thread of each process, with the extension that says what the file is.
    mine = threading.get_native_id()
    draft = target.with_name(f".{target.stem[:100]}.{mine}.part{target.suffix}")
    try:
        yield draft
        if target.exists():
            shutil.copymode(target, draft)
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
