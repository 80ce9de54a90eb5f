"""Files and tables of events as columns, piece by piece: the quick way of reading.

What comes out are the events that records and the decoder make of the same input, without an object for
each. Whatever would be a problem there, or is in any way unusual, is `NeedsRecords` here; nothing that was
read of such input counts, and its records have to be read instead. A piece can be read anywhere where
its file can be seen.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cepheid.core.time import TimeUnit
from cepheid.core.types import BOOLEAN, LONG, DataType, EventTime, EventType
from cepheid.io.arrow import series_array, with_time_index
from cepheid.io.columns.csv import cell_columns, check_quotes, types_in
from cepheid.io.columns.exact import (
    Array,
    NeedsRecords,
    Words,
    attribute,
    instants,
    is_text,
    refuse,
)
from cepheid.io.encode import MARKS
from cepheid.io.jsonl import BYTE_ORDER_MARK
from cepheid.io.read import COLUMNAR
from cepheid.io.source import NOWHERE, SEQUENCE, TIME, TYPE, Placement, Renamings

Found = TypeVar("Found")
Encode: TypeAlias = Callable[[Array], Array]
PIECE = 1 << 24  # bytes of a file that are read together
_ROWS = 1 << 18  # rows of a file that are read together
META = ("@type", "@time", *MARKS)
_NO_TYPE = -1


# Pieces ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file: some of its lines, or some of its row groups."""

    path: str
    number: int
    begin: int  # of bytes in CSV and JSON Lines, of row groups in Parquet
    end: int
    header: tuple[str, ...] | None = None  # the columns of CSV
    placement: Placement = NOWHERE

    @property
    def type(self) -> str:
        """The type of events that name none."""
        return Path(self.path).stem


def pieces_of(path: str | Path, size: int = PIECE, placement: Placement = NOWHERE) -> list[Piece]:
    """A file in pieces of about so many bytes; they end where lines or row groups do."""
    suffix = Path(path).suffix.lower()
    if suffix not in COLUMNAR:
        refuse("files without columns")
    with reading():
        if suffix != ".csv":
            pieces = _row_groups(str(path), size)
        else:
            pieces = _lines(str(path), size) if os.path.getsize(path) else []
    return [replace(piece, placement=placement) for piece in pieces]


def read_piece(
    piece: Piece, types: Mapping[str, EventType], rules: ColumnRules | None = None
) -> Iterator[pa.RecordBatch]:
    """The events of a piece of the program's types, in the columns of `event_columns`."""
    with reading():
        rules = replace(rules or ColumnRules(), placement=piece.placement)
        if piece.header is None:
            batches = _read_groups(piece)
        else:
            rules.facts.renamings.see(piece.placement, piece.header)
            header = placed_header(piece.header, piece.placement, types)
            batches = _read_text(bytes_of(piece), header, piece.type, types, piece.placement)
            rules = replace(rules, placement=known_by_mark(piece.placement))
        yield from _numbered(batches, piece.type, types, rules)


def known_by_mark(placement: Placement) -> Placement:
    """The same of a table whose columns have the names that readers know."""
    return Placement(
        type=placement.type and TYPE,
        time=placement.time and TIME,
        sequence=placement.sequence and SEQUENCE,
    )


def placed_header(
    header: Sequence[str], placement: Placement, types: Mapping[str, EventType]
) -> tuple[str, ...]:
    """The header by the names that readers know, where no column stands for two things."""
    if not placement:
        return tuple(header)
    marks = {placement.type: TYPE, placement.time: TIME, placement.sequence: SEQUENCE}
    is_attribute = any(
        type.find(name) is not None for type in types.values() for name in placement.used
    )
    if not placement.used <= set(header) or is_attribute:
        refuse("columns that are missing, or attributes as well")
    names = [marks.get(name) or placement.columns.get(name, name) for name in header]
    return tuple(names) if len(set(names)) == len(names) else refuse("columns of one name")


def read_text(text: bytes, name: str, types: Mapping[str, EventType]) -> Iterator[pa.RecordBatch]:
    """The same of a whole CSV file that is at hand, and holds events of that name unless it says others."""
    with reading():
        file = BytesIO(text)
        header = _header(file)
        yield from _numbered(
            _read_text(file.read(), header, name, types), name, types, ColumnRules()
        )


def _numbered(
    batches: Iterable[pa.RecordBatch],
    name: str,
    types: Mapping[str, EventType],
    rules: ColumnRules,
) -> Iterator[pa.RecordBatch]:
    place = 0
    for batch in batches:
        yield event_columns(batch, name, types, place, rules=rules)
        place += len(batch)


def at_once(reads: Sequence[Callable[[], Found]]) -> Iterator[Found]:
    """What some functions give, in their order; several of them run at once."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            yield from pool.map(lambda read: read(), reads)
        finally:
            pool.shutdown(cancel_futures=True)  # nobody waits for the rest of what is not plain


@contextmanager
def reading() -> Iterator[None]:
    """What cannot be read is for the reader of records to report."""
    try:
        yield
    except (OSError, UnicodeDecodeError, pa.ArrowException) as problem:
        raise NeedsRecords(str(problem)) from None


def _lines(path: str, size: int) -> list[Piece]:
    """The lines after the header; a piece takes those that begin in its share of the file."""
    with open(path, "rb") as file:
        header = _header(file)
        begin = file.tell()
    return [replace(piece, header=header) for piece in whole_lines(path, begin, size)]


def whole_lines(path: str, begin: int, size: int) -> list[Piece]:
    """All lines from some byte on."""
    last = os.path.getsize(path)
    pieces: list[Piece] = []
    with open(path, "rb") as file:
        while begin < last:
            file.seek(min(begin + size, last) - 1)
            file.readline()
            end = file.tell()
            pieces.append(Piece(path, len(pieces), begin, end))
            begin = end
    return pieces


def _header(file: IO[bytes]) -> tuple[str, ...]:
    line = file.readline().removeprefix(BYTE_ORDER_MARK.encode())
    while not line.strip(b"\r\n"):
        line = file.readline() or refuse("no header")
    check_quotes(line)
    try:
        text = line.decode().rstrip("\r\n")
        names = next(csv.reader([text], strict=True))
    except (UnicodeDecodeError, csv.Error, StopIteration):
        refuse("a broken header")
    if not all(names) or len(set(names)) < len(names) or any(n != n.strip() for n in names):
        refuse("columns without names of their own")
    return tuple(names)


def _read_text(
    data: bytes,
    header: Sequence[str],
    name: str,
    types: Mapping[str, EventType],
    placement: Placement = NOWHERE,
) -> Iterator[pa.RecordBatch]:
    if data.lstrip(b"\r\n"):
        attributes = dict(_attributes(data, header, name, types))
        if placement.sequence is not None:
            attributes[SEQUENCE] = LONG
        unit = placement.unit or "seconds"
        yield from cell_columns(data, header, attributes, unit).to_batches()


def bytes_of(piece: Piece) -> bytes:
    with open(piece.path, "rb") as file:
        file.seek(piece.begin)
        return file.read(piece.end - piece.begin)


def _attributes(
    data: bytes, header: Sequence[str], name: str, types: Mapping[str, EventType]
) -> Mapping[str, DataType]:
    """What the columns of a text hold; only where types do not agree, it matters which occur."""
    if "@type" not in header:
        found = _common(header, [_known(name, types)])
    else:
        found = _common(header, types.values())
        if found is None:
            found = _common(header, [_known(n, types) for n in types_in(data, header)])
    return found if found is not None else refuse("attributes of several types")


def _common(names: Sequence[str], types: Iterable[EventType]) -> dict[str, DataType] | None:
    found: dict[str, DataType] = {}
    for type in types:
        for member in type.attributes:
            if member.name in names and found.setdefault(member.name, member.type) != member.type:
                return None
    return found


def _row_groups(path: str, size: int) -> list[Piece]:
    meta = pq.read_metadata(path)
    pieces: list[Piece] = []
    begin = held = 0
    for group in range(meta.num_row_groups):
        held += meta.row_group(group).total_byte_size
        if held >= size or group + 1 == meta.num_row_groups:
            pieces.append(Piece(path, len(pieces), begin, group + 1))
            begin, held = group + 1, 0
    return pieces


def _read_groups(piece: Piece) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(piece.path) as file:
        groups = range(piece.begin, piece.end)
        yield from file.iter_batches(_ROWS, row_groups=list(groups), use_threads=False)


# Tables ---------------------------------------------------------------------------------------


def batches_of(table: Any, placement: Placement = NOWHERE) -> list[pa.RecordBatch]:
    """The rows of a table of Arrow or of a pandas frame, in which NaN is null."""
    return arrow_table(table, placement).to_batches()


def arrow_table(table: Any, placement: Placement = NOWHERE) -> pa.Table:
    """A table, a batch or a frame as a table of Arrow."""
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if isinstance(table, pa.Table):
        return table
    table = with_time_index(table, placement)
    names = [str(name) for name in table.columns]
    if len(set(names)) < len(names):  # some of which pandas itself cannot read
        refuse("columns of one name")
    arrays = [series_array(table.iloc[:, place]) for place in range(table.shape[1])]
    if any(array is None for array in arrays):
        refuse("objects of several kinds")
    return pa.Table.from_arrays(arrays, names)


# Events ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class Facts:
    """What tables have beside events of each type: columns, and which are ignored or renamed."""

    names: dict[str, set[str]] = field(default_factory=dict)
    ignored: dict[str, dict[str, None]] = field(default_factory=dict)
    renamings: Renamings = field(default_factory=Renamings)

    def ignore(self, type: str, name: str, rules: ColumnRules) -> None:
        """Keeps in mind a column that a type does not have, where the rules let it be."""
        if rules.extra == "error":
            refuse(f"values of {name} beside types without it")
        self.ignored.setdefault(type, {})[name] = None

    def add(self, others: Facts) -> None:
        """What is known of the rows that come next."""
        for type, names in others.names.items():
            self.names.setdefault(type, set()).update(names)
        for type, ignored in others.ignored.items():
            self.ignored.setdefault(type, {}).update(ignored)
        self.renamings.add(others.renamings)


@dataclass(frozen=True, slots=True)
class ColumnRules:
    """What tables have where, what is null in no event, and whether columns may be ignored."""

    placement: Placement = NOWHERE
    keys: Mapping[str, Collection[str]] = field(default_factory=dict)  # by type
    extra: Literal["ignore", "error"] = "ignore"
    facts: Facts = field(default_factory=Facts)  # are added to


_PLAIN = ColumnRules()


def event_columns(
    batch: pa.RecordBatch,
    name: str | None,
    types: Mapping[str, EventType],
    place: int | None = None,
    encode: Encode = pc.dictionary_encode,
    rules: ColumnRules = _PLAIN,
) -> pa.RecordBatch:
    """The rows of a table as events, of the type that they name, else of the given one.

    The columns are '@type' (null where a row only lets time pass), '@time' (microseconds since the
    epoch), '@place' (numbers from `place` on, where that is asked for), '@sequence' where a column orders events, and the
    attributes that there are, each as `io.arrow.arrow_type` stores it, null in rows of types without
    it. `encode` is a quicker way to what Arrow's `dictionary_encode` gives, if there is one.
    """
    if len(set(batch.schema.names)) < batch.num_columns:
        refuse("columns of one name")
    with reading():
        sequence = rules.placement.sequence
        if len(batch):
            rules.facts.renamings.see(rules.placement, batch.schema.names)
        batch = _arranged(batch, rules.placement)
        rows = _Rows(batch, name, types, encode, rules)
        meta = META if sequence is None else (*META, SEQUENCE)
        found = {n: rows.attribute(n) for n in batch.schema.names if n not in meta}
        attributes = {n: array for n, array in found.items() if array is not None}
        columns = {
            "@type": rows.type_names(),
            "@time": pa.array(rows.instants(attributes)),
            **attributes,
        }
        if place is not None:
            columns["@place"] = pa.array(np.arange(place, place + len(batch)))
        if sequence is not None:
            columns[SEQUENCE] = _sequences(batch.column(SEQUENCE))
        rows.check_keys(attributes)
        rows.note_names()
        return pa.RecordBatch.from_pydict(columns)


def _arranged(batch: pa.RecordBatch, placement: Placement) -> pa.RecordBatch:
    if not placement:
        return batch
    names = batch.schema.names
    if not placement.used <= set(names):
        refuse("columns that are missing")
    try:
        found = placement.arranged(dict(zip(names, batch.columns, strict=True)))
    except ValueError as problem:
        refuse(str(problem))
    return pa.RecordBatch.from_arrays(list(found.values()), names=list(found))


def _sequences(array: Array) -> Array:
    if array.null_count:
        refuse("events without a place")
    return attribute(array, LONG)


class _Rows:
    """The rows of a batch, each with the number of its type's name."""

    def __init__(
        self,
        batch: pa.RecordBatch,
        name: str | None,
        types: Mapping[str, EventType],
        encode: Encode,
        rules: ColumnRules,
    ) -> None:
        self._batch = batch
        self._rules = rules
        self._has_types = "@type" in batch.schema.names
        self._encoded = self._encode(name, encode)
        names = self._encoded.dictionary.to_pylist()
        self._has_pauses = self._encoded.null_count > 0  # rows that only let time pass
        self._types = {code: _known(name, types) for code, name in enumerate(names)}

    def _encode(self, name: str | None, encode: Encode) -> Array:
        """The type of each row; all names that are in the dictionary occur."""
        if not self._has_types:
            if name is None:
                refuse("events of no type")
            codes: Array = pa.array(np.zeros(len(self._batch), dtype=np.int32))
            names = pa.array([name][: len(self._batch)], pa.string())
            return pa.DictionaryArray.from_arrays(codes, names)
        array: Array = self._batch.column("@type")
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if pa.types.is_null(array.type):
            array = array.cast(pa.string())
        if not is_text(array.type):
            refuse("types that are no text")
        return encode(array.cast(pa.string()))

    @cached_property
    def _codes(self) -> Words:
        codes: Words = self._encoded.indices.fill_null(_NO_TYPE).to_numpy(zero_copy_only=False)
        return codes

    def attribute(self, name: str) -> Array | None:
        """The values of a column; None where it is nobody's and has none."""
        array: Array = self._batch.column(name)
        found = {number: type.find(name) for number, type in self._types.items()}
        owners = [number for number, type in found.items() if type is not None]
        if (
            len(owners) < len(found) or self._has_pauses
        ) and name not in self._rules.placement.used:
            self._ignore(name, array, owners)
        kinds = {type for type in found.values() if type is not None}
        if len(kinds) > 1:
            refuse(f"attributes {name} of several types")
        return attribute(array, kinds.pop()) if kinds else None

    def _ignore(self, name: str, array: Array, owners: Sequence[int]) -> None:
        """A column that some types do not have; null beside them, it belongs to the others."""
        strangers = set(self._types) - set(owners)
        if self._has_types:
            given = self._codes[array.is_valid().to_numpy(zero_copy_only=False)]
            strangers = set(given[~np.isin(given, owners)].tolist())
        if _NO_TYPE in strangers:
            refuse(f"values of {name} beside no type")
        for number in sorted(strangers):
            self._rules.facts.ignore(self._types[number].name, name, self._rules)

    def check_keys(self, attributes: Mapping[str, Array]) -> None:
        """No event has a key that is null, or missing; other tables may have it."""
        for number, type in self._types.items():
            for name in self._rules.keys.get(type.name, ()):
                array = attributes.get(name)
                if array is None:
                    refuse(f"a table without the key {name}")
                if array.null_count:
                    nulls = array.is_null().to_numpy(zero_copy_only=False)
                    if not self._has_types or nulls[self._codes == number].any():
                        refuse(f"events without the key {name}")

    def note_names(self) -> None:
        """Keeps in mind which columns there are."""
        for type in self._types.values():
            self._rules.facts.names.setdefault(type.name, set()).update(self._batch.schema.names)

    def instants(self, attributes: Mapping[str, Array]) -> Words:
        """When each row happens: as an attribute says where a type has a rule for it, else '@time'."""
        placement = self._rules.placement
        rules: dict[EventTime | None, list[int]] = {None: [_NO_TYPE]} if self._has_pauses else {}
        for number, type in self._types.items():
            rule = type.time
            if placement.time is not None and rule is not None:
                given = attributes.get(rule.attribute)
                if given is None or given.null_count:
                    refuse("an attribute that the time has to fill")
                rule = (
                    None if placement.unit_of_time(rule) == placement.unit_of_time(None) else rule
                )
            rules.setdefault(rule, []).append(number)
        if len(rules) == 1:
            return self._by_rule(next(iter(rules)), attributes, None)
        found = np.zeros(len(self._batch), dtype=np.int64)
        for rule, numbers in rules.items():
            mine = np.isin(self._codes, numbers)
            found[mine] = self._by_rule(rule, attributes, pa.array(mine))
        return found

    def _by_rule(
        self, rule: EventTime | None, attributes: Mapping[str, Array], mine: Array | None
    ) -> Words:
        default = self._rules.placement.unit or "seconds"
        name, unit = ("@time", default) if rule is None else (rule.attribute, rule.unit)
        columns = self._batch.schema.names if rule is None else attributes
        if name not in columns:
            refuse("events without a time")
        array: Array = self._batch.column(name) if rule is None else attributes[name]
        return instants(array if mine is None else array.filter(mine), cast("TimeUnit", unit))

    def type_names(self) -> Array:
        """The types of events; rows that another program gave as ceased only let time pass."""
        found = self._encoded
        for mark in MARKS:
            if mark in self._batch.schema.names:
                marked = attribute(self._batch.column(mark), BOOLEAN)
                found = pc.if_else(marked.fill_null(fill_value=False), None, found)
        return found


def _known(name: str, types: Mapping[str, EventType]) -> EventType:
    if name not in types or types[name].is_open:
        refuse(f"no schema of {name}")
    return types[name]
