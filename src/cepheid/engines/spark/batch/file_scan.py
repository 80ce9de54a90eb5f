"""Files of events that the workers of Spark read themselves, in columns, piece by piece.

That takes a fraction of the time that Spark needs for the same files, and every event has its place among
all others: '@sequence' is the order of the files, then of the lines.

    numbers of pieces --read--> events in the columns of a frame
    numbers of pieces --read, choose, pack--> packs for the shuffle, where that is all a pass needs
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from cepheid.core.types import STRING
from cepheid.engines.common.judging import input_keys, null_key
from cepheid.engines.spark.batch.shuffle import PACKS, Packer, labels_of, pack, shuffled
from cepheid.engines.spark.codec.event_frames import EventFiles, EventFrame
from cepheid.engines.spark.codec.event_layout import SEQUENCE, TIME, TYPE, travelling
from cepheid.engines.spark.codec.packed_program import PackedProgram
from cepheid.engines.spark.plan.plan import PlannedPass
from cepheid.engines.spark.session.workers import keep_loaded
from cepheid.engines.spark.shuffle.blocks import BUCKET
from cepheid.engines.spark.shuffle.partitioner import Partitioner, partitioner_of
from cepheid.errors import Diagnostic, InputError, UsageError, error
from cepheid.expr.tree import Column, Expr, walk
from cepheid.io.arrow import attribute_types, to_arrow
from cepheid.io.columns.exact import Array, NeedsRecords, refuse
from cepheid.io.columns.reading import Piece, pieces_of, read_piece
from cepheid.io.encode import MARKS
from cepheid.io.read import expand
from cepheid.matcher.lanes.predicates import Bits, Known, Values, can_test, truth_of
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PLACES = 1 << 40  # for the events of a piece


# For callers ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Files:
    """CSV and Parquet files, folders and globs, for `detect`: workers must see them."""

    paths: tuple[str, ...]

    def source(self, program: ResolvedProgram, session: SparkSession) -> EventFrame:
        try:
            return source_of(pieces_in(expand(self.paths)), program, session)
        except NeedsRecords as reason:
            fact = f"these files cannot be read in columns: {reason}"
            hint = "`cep.run(program, ..., engine='spark')` reads them line by line"
            raise UsageError(error("bad-file", fact, hint=hint)) from None


def files(*paths: str) -> Files:
    """Files of events, which `detect` takes in place of a frame."""
    return Files(paths)


# Frames ---------------------------------------------------------------------------------------


def pieces_in(paths: Iterable[str]) -> tuple[Piece, ...]:
    """The pieces of files; NeedsRecords where there is no way to cut them."""
    return tuple(chain.from_iterable(map(pieces_of, paths)))


def source_of(
    pieces: Sequence[Piece], program: ResolvedProgram, session: SparkSession
) -> EventFrame:
    """The events of files; NeedsRecords where they do not fit into the columns of one frame."""
    only = _only_type(pieces)
    columns: dict[str | None, frozenset[str]] = {}
    for piece in {piece.path: piece for piece in pieces}.values():
        names = frozenset(_columns_in(piece))
        owner = None if TYPE in names else piece.type
        columns[owner] = columns.get(owner, frozenset()) | names
    packed = PackedProgram.of(program)
    given = EventFiles(tuple(pieces), packed, _schema(program, only), tuple(columns.items()))
    schema = from_arrow_schema(given.schema, prefer_timestamp_ntz=False)
    frame = _numbers(given, session).mapInArrow(partial(_read, given), schema)
    return EventFrame(frame, only, given)


def _only_type(pieces: Iterable[Piece]) -> str | None:
    """The type of all events, where that can be told without reading them."""
    one_of_each = {piece.path: piece for piece in pieces}.values()
    if any({TYPE, *MARKS} & set(_columns_in(piece)) for piece in one_of_each):
        return None
    types = {piece.type for piece in one_of_each}
    return types.pop() if len(types) == 1 else None


def _columns_in(piece: Piece) -> Sequence[str]:
    return piece.header or pq.read_schema(piece.path).names


def _schema(program: ResolvedProgram, only: str | None) -> pa.Schema:
    types = dict(program.types)
    names = program.input_types if only is None else (only,)
    for name in names:
        if name not in types or types[name].is_open:
            refuse(f"no schema of {name}")
    if None in attribute_types((), types, names).values():
        refuse("attributes of several types")
    schema = to_arrow((), types, names).schema.append(pa.field(SEQUENCE, pa.int64()))
    return schema if only is None else schema.remove(schema.get_field_index(TYPE))


def _numbers(given: EventFiles, session: SparkSession) -> DataFrame:
    return session.range(0, len(given.pieces), 1, max(len(given.pieces), 1))


# Packs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FileScan:
    """How the events of files become packs for the tasks of a pass."""

    files: EventFiles
    consumed: tuple[str, ...]  # the types, by their numbers
    columns: Mapping[str, str]  # the attributes that travel, by the names under which they do
    names: Mapping[str, str]  # how the operator calls the attributes
    tests: Mapping[str, Expr]  # what an event of a type satisfies if any statement takes it
    partitioner: Partitioner
    packer: Packer


def files_in_packs(source: EventFrame, one: PlannedPass) -> DataFrame:
    """The events of files as packs of a pass that has a key, sorted as its tasks take them."""
    assert source.files is not None
    encoder = one.encoder
    session = source.frame.sparkSession
    labels = labels_of(session, encoder)
    attributes = {
        travelling(place): column.attribute for place, column in enumerate(encoder.columns)
    }
    scan = FileScan(
        files=source.files,
        consumed=encoder.consumed,
        columns={n: a for n, a in attributes.items() if n not in encoder.time_columns},
        names={column.attribute: column.name for column in encoder.columns},
        tests={t: test for t, test in encoder.conditions.items() if test and _is_quick(test)},
        partitioner=partitioner_of(one.logical, len(labels)),
        packer=Packer(labels),
    )
    numbers = _numbers(source.files, session)
    return shuffled(numbers.mapInArrow(partial(scan_files, scan), PACKS), encoder)


def _is_quick(test: Expr) -> bool:
    """Whether columns of numbers show what satisfies a condition."""
    columns = (node for node in walk(test) if isinstance(node, Column))
    return can_test(test) and all(column.type != STRING for column in columns)


# In workers -----------------------------------------------------------------------------------


def _read(given: EventFiles, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    keep_loaded("files")
    for events in _events(given, batches):
        yield _fitted(events, given.schema)


def scan_files(scan: FileScan, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The events that a pass takes, packed."""
    events = _events(scan.files, batches)
    return pack(scan.packer, (_encoded(scan, batch) for batch in events))


def _events(given: EventFiles, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The events of the pieces whose numbers are given, with their sequence."""
    program = given.program.open()
    numbers: Any = (batch["id"].to_pylist() for batch in batches)
    for number in chain.from_iterable(numbers):
        piece = given.pieces[number]
        try:
            for events in read_piece(piece, program.types):
                problem = key_problem(events, program)
                if problem is not None:
                    raise InputError(replace(problem, message=f"{piece.path}: {problem.message}"))
                places: Any = events["@place"].to_numpy()
                order: Any = pa.array(places + np.int64(number) * _PLACES)
                yield events.append_column(SEQUENCE, order)
        except NeedsRecords as reason:
            fact = f"'{piece.path}' cannot be read in columns: {reason}"
            raise InputError(error("bad-file", fact)) from None


def key_problem(events: pa.RecordBatch, program: ResolvedProgram) -> Diagnostic | None:
    """What is wrong with the keys of some events, if anything is."""
    for type, uses in input_keys(program).items():
        is_type: Any = pc.equal(events[TYPE].cast(pa.string()), pa.scalar(type))
        for name, use in uses.items():
            is_there = name in events.schema.names
            nulls: Any = events[name].is_null() if is_there else is_type
            if pc.any(pc.and_kleene(is_type, nulls)).as_py():
                return null_key(type, name, use, None)
    return None


def _fitted(events: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    found = {name: events[name] for name in events.schema.names}
    columns = [
        found[field.name].cast(field.type)
        if field.name in found
        else pa.nulls(len(events), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _encoded(scan: FileScan, events: pa.RecordBatch) -> pa.RecordBatch:
    """The columns that a frame would send, of the events that it would, each with its bucket."""
    types = _numbers_of_types(events[TYPE], scan.consumed)
    is_wanted = types >= 0
    for name, test in scan.tests.items():
        others = types != scan.consumed.index(name)
        is_wanted &= others | _truth(test, events)
    if not is_wanted.all():
        events, types = events.filter(pa.array(is_wanted)), types[is_wanted]
    sent: dict[str, Any] = {TIME: events[TIME], SEQUENCE: events[SEQUENCE]}
    if len(scan.consumed) > 1:
        sent[TYPE] = pa.array(types)
    sent |= {name: _attribute(scan, events, a) for name, a in scan.columns.items()}
    return pa.RecordBatch.from_pydict({**sent, BUCKET: pa.array(_buckets(scan, events))})


def _numbers_of_types(column: Array, consumed: Sequence[str]) -> np.ndarray:
    """The numbers of types; none is below zero where a pass takes the event."""
    known = [consumed.index(n) if n in consumed else -1 for n in column.dictionary.to_pylist()]
    places = column.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
    found: np.ndarray = np.array([*known, -1], np.int16)[places]
    return found


def _truth(test: Expr, events: pa.RecordBatch) -> Bits:
    def values_of(column: Known) -> Values:
        assert isinstance(column, Column)
        name = column.path[0].name
        if name not in events.schema.names:
            return Values(np.zeros(len(events), np.int64), np.ones(len(events), bool))
        array: Array = events[name]
        nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
        filled = array if nulls is None else array.fill_null(array.type.to_pandas_dtype()(0))
        return Values(filled.to_numpy(zero_copy_only=False), nulls)

    return truth_of(test, values_of, hash).true  # `hash` is not called: no text is compared


def _attribute(scan: FileScan, events: pa.RecordBatch, name: str) -> Array:
    if name in events.schema.names:
        return events[name]
    return pa.nulls(len(events), scan.files.schema.field(name).type)


def _buckets(scan: FileScan, events: pa.RecordBatch) -> np.ndarray:
    attributes = {name: _attribute(scan, events, a) for a, name in scan.names.items()}
    columns: dict[str, Any] = {TYPE: events[TYPE], TIME: events[TIME], **attributes}
    return scan.partitioner.numbers(pa.table(columns)).astype(np.int32)
