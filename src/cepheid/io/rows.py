"""Rows as tables: how they become events again, and those of which events are made only for those
who look at one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from cepheid.core.event import Event, Value
from cepheid.core.numbers import NOT_FINITE
from cepheid.core.time import parse_instant, to_instant
from cepheid.core.types import (
    DOUBLE,
    FLOAT,
    STRING,
    ArrayType,
    Attribute,
    DataType,
    EventRef,
    EventType,
    RecordType,
    is_scalar,
)
from cepheid.core.values import coerce, parse_json

if TYPE_CHECKING:
    import pyarrow as pa

# Where the key of a row that nothing else was derived from has the rank of its statement.
_RANK = 4
RANK = "@rank"


@dataclass(frozen=True, slots=True)
class RowColumns:
    """What the rows of a statement hold."""

    statement: str
    target: str
    columns: Mapping[str, DataType]
    marks: tuple[str, ...] = ()  # such as '@old', that a row may have


@dataclass(frozen=True, slots=True)
class RowDecoder:
    """Makes values of what columns of rows hold.

    An event is a struct with its type and time in front. A record that is no event, though its static
    type is one, has neither. What no Arrow type holds is its JSON.
    """

    types: Mapping[str, EventType]

    def values(
        self, stored: Mapping[str, Any], columns: Mapping[str, DataType]
    ) -> dict[str, Value]:
        """The attributes of a row, each of a static type."""
        return {name: self.value(stored[name], type) for name, type in columns.items()}

    def value(self, stored: Any, type: DataType) -> Value:
        if stored is None:
            return None
        match type:
            case EventRef(name):
                return self._event(_parsed(stored), name)
            case ArrayType(element):
                return [self.value(item, element) for item in _parsed(stored)]
            case RecordType(attributes):
                return self._members(_parsed(stored), attributes)
        if isinstance(stored, str) and type in (FLOAT, DOUBLE):  # in JSON
            return NOT_FINITE[stored]
        if isinstance(stored, str) and type != STRING and is_scalar(type):
            return coerce(stored, type, {})
        if isinstance(stored, datetime):
            return stored.astimezone(UTC)  # Arrow has a UTC of its own
        found: Value = stored
        return found

    def _event(self, stored: Mapping[str, Any], name: str) -> Value:
        actual = stored.get("@type")
        if actual is None:
            return self._record(stored, name)
        time = stored["@time"]
        instant = to_instant(time) if isinstance(time, datetime) else parse_instant(time)
        return Event(actual, instant, self._members(stored, self.types[actual].attributes))

    def _record(self, stored: Mapping[str, Any], name: str) -> Value:
        """Attributes of descendants have columns in every struct; a record need not have them."""
        own = self._members(stored, self.types[name].attributes)
        kinds = (kind for kind in self.types.values() if name in kind.ancestors)
        more = {a for kind in kinds for a in kind.attributes if stored.get(a.name) is not None}
        return {**self._members(stored, more), **own}

    def _members(
        self, stored: Mapping[str, Any], attributes: Iterable[Attribute]
    ) -> dict[str, Value]:
        return {a.name: self.value(stored.get(a.name), a.type) for a in attributes}


def _parsed(stored: Any) -> Any:
    """No nested value is a text; one that came as JSON and goes as JSON is one twice."""
    while isinstance(stored, str):
        stored = parse_json(stored)
    return stored


@dataclass(frozen=True, slots=True)
class RowPart:
    """Rows of one statement with one mark, and their places among some rows; None: they are all."""

    shape: RowColumns
    places: Any | None  # whole numbers of NumPy
    times: Any
    columns: Sequence[Any]  # in the order of the shape
    mark: str | None = None


class ColumnarRows(Sequence[Event]):
    """Rows in columns, of which events are made as soon as someone looks at one."""

    decoder: RowDecoder

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        return self.events[index]

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    @property
    @abstractmethod
    def events(self) -> list[Event]:
        """All rows as events."""

    @property
    @abstractmethod
    def shapes(self) -> Collection[RowColumns]:
        """What the rows of each statement hold."""

    @property
    def targets(self) -> set[str]:
        """The types that rows may have."""
        return {shape.target for shape in self.shapes}

    @abstractmethod
    def counts(self) -> dict[str, int]:
        """How many rows each type has, in the order in which types first occur."""

    @abstractmethod
    def names(self) -> Any:
        """The types of all rows."""

    @abstractmethod
    def times(self) -> Any:
        """The times of all rows."""

    @abstractmethod
    def member(self, name: str, type: pa.DataType) -> Any:
        """An attribute of all rows; None where it is not of that Arrow type throughout."""

    @abstractmethod
    def has_null(self, type: str, name: str) -> bool:
        """Whether an attribute is null in some event of a type."""

    @abstractmethod
    def only(self, targets: Collection[str]) -> ColumnarRows:
        """The rows of some types."""

    @abstractmethod
    def parts(self, size: int) -> Iterator[list[RowPart]]:
        """All rows in columns, at most so many together."""

    @abstractmethod
    def marked(self, mark: str) -> Any:
        """Which rows have a mark, such as '@old'; None where there is none."""


def of_types(rows: Sequence[Event], targets: Collection[str]) -> Sequence[Event]:
    """The rows of some types, in columns where they are."""
    if isinstance(rows, ColumnarRows):
        return rows.only(targets)
    return [row for row in rows if row.type in targets]


class RowTable(ColumnarRows):
    """Rows in the columns of the matcher's operators, with the statements by rank.

    Their keys need not be among them: `keys` finds these as a column, when events are made. They say
    which statement a row comes from, unless a column '@rank' does.
    """

    def __init__(
        self,
        table: pa.Table,
        shapes: Mapping[int, RowColumns],
        types: Mapping[str, EventType],
        keys: Callable[[], Any],
    ) -> None:
        self.table = table
        self._shapes = shapes
        self.decoder = RowDecoder(types)
        self._keys = keys

    def __len__(self) -> int:
        return self.table.num_rows

    @property
    def shapes(self) -> Collection[RowColumns]:
        return self._shapes.values()

    def counts(self) -> dict[str, int]:
        found: Any = self.table["@type"].value_counts()
        return {entry["values"]: entry["counts"] for entry in found.to_pylist()}

    def names(self) -> Any:
        return self.table["@type"]

    def times(self) -> Any:
        return self.table["@time"]

    def member(self, name: str, type: pa.DataType) -> Any:
        import pyarrow.compute as pc

        owners = {s.target for s in self._shapes.values() if name in s.columns}
        arrays = [pc.struct_field(self.table[owner], name) for owner in sorted(owners)]
        if not arrays or any(array.type != type for array in arrays):
            return None
        return arrays[0] if len(arrays) == 1 else pc.coalesce(*arrays)

    def has_null(self, type: str, name: str) -> bool:
        import pyarrow as pa
        import pyarrow.compute as pc

        is_match: Any = pc.equal(self.table["@kind"], pa.scalar("match"))
        is_own = pc.and_(is_match, pc.equal(self.table["@type"], pa.scalar(type)))
        own = self.table.filter(is_own)
        return bool(pc.struct_field(own[type], name).null_count)

    def marked(self, mark: str) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not any(mark in shape.marks for shape in self._shapes.values()):
            return None
        kinds: Any = self.table["@kind"]
        found: Any = pc.equal(kinds, pa.scalar(mark.removeprefix("@")))
        return found if pc.any(found).as_py() else None

    def only(self, targets: Collection[str]) -> RowTable:
        import pyarrow as pa
        import pyarrow.compute as pc

        is_own: Any = pc.is_in(self.table["@type"], pa.array([*targets], pa.string()))
        shapes = {rank: s for rank, s in self._shapes.items() if s.target in targets}
        found = self.table.filter(is_own)
        return RowTable(found, shapes, self.decoder.types, lambda: self._keys().filter(is_own))

    def parts(self, size: int) -> Iterator[list[RowPart]]:
        ranks = self._ranks
        for begin in range(0, len(self), size):
            rows = self.table.slice(begin, size).combine_chunks()
            yield list(self._parts(rows, None if ranks is None else ranks[begin : begin + size]))

    def _parts(self, rows: pa.Table, ranks: Any) -> Iterator[RowPart]:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        heads = [rows["@type"].to_pylist(), rows["@kind"].to_pylist()]
        heads.append([None] * len(rows) if ranks is None else ranks.tolist())
        places: dict[tuple[str, str, int | None], list[int]] = {}
        for place, head in enumerate(zip(*heads, strict=True)):
            places.setdefault(head, []).append(place)
        for (type, kind, rank), own in places.items():
            shape = self._shapes[rank] if rank is not None else self._by_columns[type]
            found = rows.take(pa.array(own, pa.int64()))
            columns = [
                pc.struct_field(found[type].combine_chunks(), name) for name in shape.columns
            ]
            times: Any = found["@time"].combine_chunks()
            mark = f"@{kind}" if kind in ("old", "timeout") else None
            yield RowPart(shape, np.array(own), times, columns, mark)

    @cached_property
    def _by_columns(self) -> dict[str, RowColumns]:
        """The shapes of types whose rows hold the same, whatever statement derives them."""
        found: dict[str, list[RowColumns]] = {}
        for shape in self._shapes.values():
            found.setdefault(shape.target, []).append(shape)
        held = {t: {tuple(s.columns.items()) for s in shapes} for t, shapes in found.items()}
        return {target: shapes[0] for target, shapes in found.items() if len(held[target]) == 1}

    @cached_property
    def _ranks(self) -> Any:
        """The ranks of the statements of all rows; None where types say what these hold."""
        import pyarrow.compute as pc

        if self.targets <= self._by_columns.keys():
            return None
        has_ranks = RANK in self.table.column_names
        ranks: Any = self.table[RANK] if has_ranks else pc.list_element(self._keys(), _RANK)
        return ranks.to_numpy()

    # -- events --

    @cached_property
    def events(self) -> list[Event]:
        names = ("@type", "@time", "@kind")
        heads: list[list[Any]] = [self.table[name].to_pylist() for name in names]
        heads.append(self._keys().to_pylist())
        # A type without attributes has no column.
        targets = {shape.target for shape in self._shapes.values() if shape.columns}
        columns: dict[str, list[Any]] = {t: self.table[t].to_pylist() for t in targets}
        nothing: list[Any] = [{}] * len(self)
        has_ranks = RANK in self.table.column_names
        ranks: Sequence[Any] = self.table[RANK].to_pylist() if has_ranks else ()
        found: list[Event] = []
        for place, (type, time, kind, key) in enumerate(zip(*heads, strict=True)):
            shape = self._by_target.get(type)
            if shape is None:
                shape = self._shapes[ranks[place] if has_ranks else key[_RANK]]
            stored = columns.get(type, nothing)[place]
            found.append(self._event(shape, type, to_instant(time), kind, tuple(key), stored))
        return found

    def _event(
        self,
        shape: RowColumns,
        type: str,
        instant: int,
        kind: str,
        key: tuple[int, ...],
        stored: dict[str, Any],
    ) -> Event:
        return Event(
            type,
            instant,
            self.decoder.values(stored, shape.columns),
            statement=shape.statement,
            is_old=kind == "old",
            is_timeout=kind == "timeout",
            key=key,
        )

    @cached_property
    def _by_target(self) -> dict[str, RowColumns]:
        """The shapes of types that only one statement derives."""
        targets = [shape.target for shape in self._shapes.values()]
        return {s.target: s for s in self._shapes.values() if targets.count(s.target) == 1}
