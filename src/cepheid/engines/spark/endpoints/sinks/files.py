"""Rows into a folder, one file per micro-batch, each row exactly once whoever reads the folder.

Tasks write into a hidden folder. When all are done, their parts become one file, which appears
under its name at once: the number of the micro-batch and the query. A micro-batch that is run again
replaces its own file, and never another. Driver and workers must see the same folder.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

from cepheid.engines.spark.session.tasks import current_task
from cepheid.errors import RunError, error, reason_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_PARTS = ".parts"  # hidden: Spark and shells leave it out


class FileDataSink(DataSource):
    """Options: `folder` and `format`; `jsonl` takes texts in a column `value`."""

    @classmethod
    def name(cls) -> str:
        return "cepheid-files"

    def streamWriter(self, schema: StructType, overwrite: bool) -> FileWriter:  # noqa: N802
        return FileWriter(Path(self.options["folder"]), self.options["format"])


@dataclass
class Part(WriterCommitMessage):
    """What one task wrote."""

    path: str
    query: str


class FileWriter(DataSourceStreamArrowWriter):
    def __init__(self, folder: Path, format: str) -> None:
        self._folder = folder
        self._format = format

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]
        query = current_task().query
        path = self._folder / _PARTS / query / f"{uuid.uuid4()}.{self._format}"
        with _explained(self._folder):
            path.parent.mkdir(parents=True, exist_ok=True)
            count = _WRITE[self._format](iterator, path)
            if count == 0:
                path.unlink()
        return Part(str(path) if count else "", query)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        parts = _parts(messages)
        written = [Path(part.path) for part in parts if part.path]
        if not written:
            return
        query = parts[0].query
        target = self._folder / f"{batchId:010}-{query[:8]}.{self._format}"
        with _explained(self._folder):
            _replace(target, written, self._format)
            shutil.rmtree(self._folder / _PARTS / query)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        for part in _parts(messages):
            if part.path:
                Path(part.path).unlink(missing_ok=True)


def write_whole(folder: Path, batch: int, lines: Sequence[str]) -> None:
    """The lines of a micro-batch that the driver has; run again, it replaces its own file."""
    if lines:
        with _explained(folder):
            (folder / _PARTS).mkdir(parents=True, exist_ok=True)
            part = folder / _PARTS / f"{uuid.uuid4()}.jsonl"
            part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            _replace(folder / f"{batch:010}.jsonl", [part], "jsonl")
            shutil.rmtree(folder / _PARTS)


class _explained:  # noqa: N801
    """Says what is wrong with the folder: full, read-only, gone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, failure: BaseException | None, trace: object) -> None:
        if isinstance(failure, OSError):
            fact = f"cannot write into '{self._folder}': {reason_of(failure)}"
            hint = "mend that and start again with the same checkpoint: nothing is lost"
            raise RunError(error("bad-file", fact, hint=hint)) from None


def _parts(messages: Iterable[WriterCommitMessage | None]) -> list[Part]:
    return [message for message in messages if isinstance(message, Part)]


def _replace(target: Path, parts: Sequence[Path], format: str) -> None:
    """The parts as one file that is there as a whole or not at all, even if power fails."""
    draft = parts[0].with_suffix(".whole")
    _JOIN[format](sorted(parts), draft)
    with draft.open("rb") as stream:
        os.fsync(stream.fileno())
    os.replace(draft, target)


def _write_lines(batches: Iterator[pa.RecordBatch], path: Path) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as stream:
        for batch in batches:
            stream.writelines(f"{value}\n" for value in batch.column("value").to_pylist())
            count += batch.num_rows
    return count


def _join_lines(parts: Sequence[Path], target: Path) -> None:
    with target.open("wb") as whole:
        for part in parts:
            with part.open("rb") as stream:
                shutil.copyfileobj(stream, whole)


def _write_parquet(batches: Iterator[pa.RecordBatch], path: Path) -> int:
    import pyarrow.parquet as pq

    path.touch()
    writer: pq.ParquetWriter | None = None
    count = 0
    try:
        for batch in batches:
            if batch.num_rows:
                writer = writer or pq.ParquetWriter(path, batch.schema)
                writer.write_batch(batch)
                count += batch.num_rows
    finally:
        if writer is not None:
            writer.close()
    return count


def _join_parquet(parts: Sequence[Path], target: Path) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(target, pq.read_schema(parts[0])) as whole:
        for part in parts:
            with pq.ParquetFile(part) as file:
                for batch in file.iter_batches():
                    whole.write_batch(batch)


_WRITE = {"jsonl": _write_lines, "parquet": _write_parquet}
_JOIN = {"jsonl": _join_lines, "parquet": _join_parquet}
