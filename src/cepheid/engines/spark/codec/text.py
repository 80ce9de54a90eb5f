"""Texts into events and rows into texts, inside Spark, by the rules of event files.

The same reader, decoder and encoder as everywhere else run on Arrow batches in the workers, so
that a text means the same in a file, a message and a stream. What cannot be read is kept: its row
has no event, its text in `@reject` and what is wrong with it in `@problem`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant
from cepheid.core.types import EventType
from cepheid.engines.spark.codec.event_layout import KIND
from cepheid.engines.spark.codec.input_columns import PROBLEM, REJECT, ROW_TEXT
from cepheid.engines.spark.codec.packed_program import PackedProgram
from cepheid.engines.spark.codec.rejects import LATE_KIND, REJECT_KIND
from cepheid.engines.spark.codec.rows import decode_rows
from cepheid.engines.spark.codec.schemas import with_schema
from cepheid.engines.spark.session.tasks import current_task, text_of
from cepheid.errors import Diagnostic, InputError, UsageError, error
from cepheid.io.arrow import attribute_types, to_arrow
from cepheid.io.columns.exact import refuse
from cepheid.io.encode import encode, to_json
from cepheid.io.jsonl import line_records
from cepheid.io.records import Decoder, Record
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


VALUE = "value"  # the column of a text
SEQUENCE_FIELD = pa.field("@sequence", pa.int64())
_ROW_BITS, _TASK_BITS = 28, 40  # for the rows of a task, and for the tasks of a micro-batch
_LINES = ("key", VALUE, KIND, PROBLEM, ROW_TEXT)  # columns of texts that go to a sink


# Texts into events ----------------------------------------------------------------------------


def read_lines(frame: DataFrame, program: ResolvedProgram) -> DataFrame:
    """The events in the column `value`, one JSON object in each row.

    They travel as bytes: of some of them Arrow would make no text.
    """
    lines = frame.select(frame[VALUE].cast("binary").alias(VALUE))
    return read_events(lines, program, _take_lines)


Batches: TypeAlias = "Iterator[pa.RecordBatch]"
Take: TypeAlias = "Callable[[TextBatch, pa.RecordBatch], None]"


def read_events(frame: DataFrame, program: ResolvedProgram, take: Take) -> DataFrame:
    """The events that `take` finds in the batches of a frame, with `@type`, `@time`, attributes,
    `@reject`, `@problem` and `@sequence`: the order in which they came."""
    columns = EventColumns.of(program)
    schema = from_arrow_schema(columns.schema.append(SEQUENCE_FIELD), prefer_timestamp_ntz=False)
    return frame.mapInArrow(partial(_taken, columns, take), schema)


def _taken(columns: EventColumns, take: Take, batches: Batches) -> Batches:
    return numbered(_intakes(columns, take, batches))


def _intakes(columns: EventColumns, take: Take, batches: Batches) -> Batches:
    decoder = Decoder(columns.types)
    for batch in batches:
        intake = TextBatch(columns, decoder)
        take(intake, batch)
        yield from intake.batches()


def numbered(batches: Batches) -> Batches:
    """Rows with a `@sequence`: by micro-batch, then by task, then as they come."""
    task = current_task()
    place = (task.batch << _TASK_BITS) + (task.partition << _ROW_BITS)
    for batch in batches:
        places: Any = pa.array(np.arange(place, place + batch.num_rows))
        yield batch.append_column(SEQUENCE_FIELD, places)
        place += batch.num_rows


def _take_lines(intake: TextBatch, batch: pa.RecordBatch) -> None:
    for line in batch.column(VALUE).to_pylist():
        if line is not None:
            _take_line(intake, text_of(line) or "")


def _take_line(intake: TextBatch, text: str) -> None:
    def on_problem(problem: Diagnostic) -> None:
        intake.refuse(text, problem)

    for record in line_records([text], "<stream>", on_problem):
        intake.take(record, lambda: text)


@dataclass(frozen=True, slots=True)
class EventColumns:
    """The types that come from outside, and the columns that hold their events."""

    types: Mapping[str, EventType]
    inputs: tuple[str, ...]
    schema: pa.Schema

    @classmethod
    def of(cls, program: ResolvedProgram) -> EventColumns:
        inputs = program.input_types
        types = dict(program.types)
        for name, type in attribute_types((), types, inputs).items():
            if type is None:
                fact = f"attribute '{name}' has types that one column cannot hold"
                hint = "in a stream, an attribute of several types has one type"
                raise UsageError(error("type-mismatch", fact, hint=hint))
        schema = to_arrow((), types, inputs).schema
        for name in (REJECT, PROBLEM):
            schema = schema.append(pa.field(name, pa.string()))
        return cls(types, inputs, schema)


@dataclass(slots=True)
class TextBatch:
    """What came out of one batch of texts."""

    columns: EventColumns
    decoder: Decoder
    events: list[Event] = field(default_factory=list)
    instants: list[Instant] = field(default_factory=list)
    rejects: list[tuple[str, str]] = field(default_factory=list)
    tables: list[pa.Table] = field(default_factory=list)  # of events that were read in columns

    def take_columns(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Takes all events of a text; NeedsRecords, and none is taken, where one needs a closer look."""
        self.tables += [self._fitted(batch) for batch in batches]

    def _fitted(self, batch: pa.RecordBatch) -> pa.Table:
        names: Any = batch["@type"].unique().drop_null().to_pylist()
        if not set(names) <= set(self.columns.inputs):
            refuse("events that are derived, not read")
        schema = self.columns.schema
        known = [name for name in schema.names if name in batch.schema.names]
        table = pa.table({name: batch[name].cast(schema.field(name).type) for name in known})
        is_event = pc.is_valid(table["@type"])  # the others let time pass, and that is all
        pauses = table.filter(pc.invert(is_event)).select(["@time"])
        return pa.concat_tables([table.filter(is_event), pauses], promote_options="default")

    def take(self, record: Record, text: Callable[[], str]) -> None:
        try:
            event = self.decoder.decode(record, 0)
        except InputError as refused:
            self.refuse(text(), *refused.diagnostics)
            return
        if not isinstance(event, Event):
            self.instants.append(event)
        elif event.is_old or event.is_timeout:  # no event; it lets time pass
            self.instants.append(event.instant)
        elif event.type not in self.columns.inputs:
            fact = f"events of type '{event.type}' are derived, not read"
            self.refuse(text(), error("unknown-type", fact))
        else:
            self.events.append(event)

    def refuse(self, text: str, *problems: Diagnostic) -> None:
        self.rejects.append((text, "; ".join(problem.message for problem in problems)))

    def batches(self) -> Batches:
        instant = self.columns.schema.field("@time").type
        parts = [
            to_arrow(self.events, self.columns.types, self.columns.inputs),
            pa.table({"@time": pa.array(self.instants, instant)}),
            pa.table(
                {
                    REJECT: pa.array([text for text, _ in self.rejects], pa.string()),
                    PROBLEM: pa.array([problem for _, problem in self.rejects], pa.string()),
                }
            ),
        ]
        whole = pa.concat_tables(
            [self.columns.schema.empty_table(), *parts, *self.tables], promote_options="default"
        )
        yield from whole.combine_chunks().to_batches()


# Rows into texts ------------------------------------------------------------------------------


def write_lines(
    frame: DataFrame, program: ResolvedProgram, output: str | None, key: str | None = None
) -> DataFrame:
    """The rows of a program, of the type `output` or of all, as JSON objects in a column `value`.

    The column `key` holds the value of the attribute of that name, as text. Late events and rejects
    among the rows keep their columns.
    """
    encode_batches = partial(_encoded, PackedProgram.of(program), output, key)
    return frame.mapInArrow(encode_batches, ", ".join(f"`{name}` string" for name in _LINES))


def _encoded(
    packed: PackedProgram, output: str | None, key: str | None, batches: Batches
) -> Batches:
    program = packed.open()
    schema = pa.schema([pa.field(name, pa.string()) for name in _LINES])
    for batch in batches:
        is_told: Any = pc.is_in(batch[KIND], pa.array([LATE_KIND, REJECT_KIND]))
        events = list(decode_rows(batch.filter(pc.invert(is_told)), program, output))
        keys = [None if key is None else _key_text(event.get(key)) for event in events]
        values = [to_json(encode(event)) for event in events]
        lines: dict[str, Any] = {
            "key": pa.array(keys, pa.string()),
            VALUE: pa.array(values, pa.string()),
            KIND: pa.array(["match"] * len(events), pa.string()),
        }
        yield from with_schema(pa.table(lines), schema).to_batches()
        told = pa.Table.from_batches([batch.filter(is_told)])
        if told.num_rows:
            yield from with_schema(told.select([KIND, PROBLEM, ROW_TEXT]), schema).to_batches()


def _key_text(value: Value) -> str | None:
    return value if value is None or isinstance(value, str) else to_json(value)
