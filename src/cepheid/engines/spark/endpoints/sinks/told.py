"""Rows into a sink, and beside it what came too late and what is no event, each into a folder.

One query does all of it: its rows have a kind, and each kind has a writer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

from cepheid.core.latest import LATEST, keep_latest
from cepheid.engines.spark.codec.event_layout import KIND
from cepheid.engines.spark.codec.input_columns import PROBLEM, REJECT, ROW_TEXT
from cepheid.engines.spark.codec.rejects import LATE_KIND, REJECT_KIND
from cepheid.engines.spark.codec.text import VALUE
from cepheid.engines.spark.endpoints.sinks.files import FileDataSink, FileWriter
from cepheid.engines.spark.endpoints.sinks.kafka import KafkaDataSink
from cepheid.engines.spark.endpoints.sinks.mqtt import MqttDataSink
from cepheid.engines.spark.endpoints.sinks.webhook import WebHookSink
from cepheid.io.encode import to_json

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

SINK = "cepheid.sink"  # options: the sink of the rows, and a folder for each kind
FOLDER = "cepheid.folder."
LATEST_ROWS = "cepheid.latest"  # a file, if anyone wants to see the latest rows
_SINKS = {sink.name(): sink for sink in (FileDataSink, KafkaDataSink, MqttDataSink, WebHookSink)}
_KINDS = (LATE_KIND, REJECT_KIND)
_TOLD = [PROBLEM, ROW_TEXT]


class TellingSink(DataSource):
    """Options: those of the sink of the rows, its name, and folders by kinds."""

    @classmethod
    def name(cls) -> str:
        return "cepheid-telling"

    def streamWriter(self, schema: StructType, overwrite: bool) -> TellingWriter:  # noqa: N802
        rows = _SINKS[self.options[SINK]](self.options).streamWriter(schema, overwrite)
        folders = {kind: self.options.get(FOLDER + kind) for kind in _KINDS}
        kinds = {k: FileWriter(Path(f), "jsonl") for k, f in folders.items() if f is not None}
        latest = self.options.get(LATEST_ROWS)
        return TellingWriter(rows, kinds, None if latest is None else Path(latest))


@dataclass
class Told(WriterCommitMessage):
    """What the writers of one task say."""

    rows: WriterCommitMessage | None = None
    kinds: dict[str, WriterCommitMessage] = field(default_factory=dict)
    latest: list[str] = field(default_factory=list)  # rows


class TellingWriter(DataSourceStreamArrowWriter):
    def __init__(
        self,
        rows: DataSourceStreamArrowWriter,
        kinds: Mapping[str, FileWriter],
        latest: Path | None = None,
    ) -> None:
        self._rows = rows
        self._kinds = dict(kinds)
        self._latest = latest

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]
        told: dict[str, list[str]] = {kind: [] for kind in self._kinds}
        latest: list[str] = []

        def rows() -> Iterator[pa.RecordBatch]:
            for batch in iterator:
                for kind in told:
                    told[kind] += problem_lines(batch, kind)
                alone = rows_alone(batch)
                if self._latest is not None:
                    latest[:] = [*latest, *_last(alone)][-LATEST:]
                yield alone

        message = self._rows.write(rows())
        written = {
            kind: self._kinds[kind].write(iter([_as_lines(lines)])) for kind, lines in told.items()
        }
        return Told(message, written, latest)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        self._rows.commit([told.rows for told in _told(messages)], batchId)
        for kind, writer in self._kinds.items():
            writer.commit([told.kinds[kind] for told in _told(messages)], batchId)
        if self._latest is not None:
            with suppress(OSError):  # whoever looks sees older ones; the stream goes on
                keep_latest(self._latest, [row for told in _told(messages) for row in told.latest])

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        self._rows.abort([told.rows for told in _told(messages)], batchId)
        for kind, writer in self._kinds.items():
            writer.abort([told.kinds.get(kind) for told in _told(messages)], batchId)


def _told(messages: Sequence[WriterCommitMessage | None]) -> list[Told]:
    return [message for message in messages if isinstance(message, Told)]


def _last(batch: pa.RecordBatch) -> list[str]:
    """The last rows of those that are texts."""
    texts: Any = batch.column(VALUE)
    found: list[str] = texts.slice(max(0, len(texts) - LATEST)).to_pylist()
    return found


def _as_lines(lines: Sequence[str]) -> pa.RecordBatch:
    values: Any = pa.array(lines, pa.string())
    return pa.RecordBatch.from_arrays([values], names=[VALUE])


Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)


def rows_alone(batch: Rows) -> Rows:
    """What the program found, without the columns that only the others have."""
    is_told: Any = pc.is_in(batch[KIND], pa.array(_KINDS))
    rows = batch.filter(pc.invert(is_told))
    return rows.drop_columns([name for name in _TOLD if name in rows.schema.names])


def problem_lines(batch: pa.RecordBatch | pa.Table, kind: str) -> Iterator[str]:
    """Late events and rejects as JSON: a late event as it was, a reject as a text with its problem."""
    is_told: Any = pc.equal(batch[KIND], pa.scalar(kind))
    told: Any = batch.filter(is_told)
    for row, problem in zip(told[ROW_TEXT].to_pylist(), told[PROBLEM].to_pylist(), strict=True):
        yield row if kind == LATE_KIND else to_json({REJECT: row, PROBLEM: problem})
