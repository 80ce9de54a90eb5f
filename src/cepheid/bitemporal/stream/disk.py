"""Files that appear as a whole or not at all, also where power fails.

A file is written under a hidden name, forced to the disk, and then renamed; whoever lists a folder
sees only what is finished. The four operations are methods, so that tests can let each of them fail.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


class Disk:
    def publish(self, target: Path, content: bytes) -> None:
        """Puts a file in its place; one that is there already is replaced."""
        self._make(target.parent)
        draft = target.with_name(f".{target.name}.draft")
        self.write(draft, content)
        self.rename(draft, target)
        self.sync(target.parent)

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make(folder.parent)
            folder.mkdir(exist_ok=True)
            self.sync(folder.parent)

    def write(self, path: Path, content: bytes) -> None:
        with path.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())

    def rename(self, draft: Path, target: Path) -> None:
        os.replace(draft, target)

    def sync(self, folder: Path) -> None:
        """Makes sure that the names in a folder last."""
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def remove(self, paths: Iterable[Path]) -> None:
        for path in paths:
            path.unlink(missing_ok=True)


def parquet(table: pa.Table) -> bytes:
    """The content of a file: the same for the same table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()
