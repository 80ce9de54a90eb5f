"""Rows of a run that are a table: events are made of them only for those who look at one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from cepheid.core.event import Event, Value
from cepheid.core.time import to_instant
from cepheid.core.types import ArrayType, DataType, EventRef, EventType, RecordType

if TYPE_CHECKING:
    import pyarrow as pa

# Where the key of a row that nothing else was derived from has the rank of its statement.
_RANK = 4


@dataclass(frozen=True, slots=True)
class Shape:
    """What the rows of a statement hold."""

    statement: str
    target: str
    columns: Mapping[str, DataType]
    marks: tuple[str, ...] = ()  # such as '@old', that a row may have


class RowTable(Sequence[Event]):
    """Rows in the columns of the matcher's operators, with the statements by rank.

    Their keys are not among them: `keys` finds these as a column, when events are made.
    """

    def __init__(
        self,
        table: pa.Table,
        shapes: Mapping[int, Shape],
        types: Mapping[str, EventType],
        keys: Callable[[], Any],
    ) -> None:
        self.table = table
        self._shapes = shapes
        self._types = types
        self._keys = keys

    def __len__(self) -> int:
        return self.table.num_rows

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        return self._events[index]

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    @property
    def targets(self) -> set[str]:
        """The types that rows may have."""
        return {shape.target for shape in self._shapes.values()}

    def counts(self) -> dict[str, int]:
        """How many rows each type has, in the order in which types first occur."""
        found: Any = self.table["@type"].value_counts()
        return {entry["values"]: entry["counts"] for entry in found.to_pylist()}

    def member(self, name: str, type: pa.DataType) -> Any:
        """An attribute of all rows; None where it is not of that Arrow type throughout."""
        import pyarrow.compute as pc

        owners = {s.target for s in self._shapes.values() if name in s.columns}
        arrays = [pc.struct_field(self.table[owner], name) for owner in sorted(owners)]
        if not arrays or any(array.type != type for array in arrays):
            return None
        return arrays[0] if len(arrays) == 1 else pc.coalesce(*arrays)

    def marked(self, mark: str) -> Any:
        """Which rows have a mark, such as '@old'; None where there is none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not any(mark in shape.marks for shape in self._shapes.values()):
            return None
        kinds: Any = self.table["@kind"]
        found: Any = pc.equal(kinds, pa.scalar(mark.removeprefix("@")))
        return found if pc.any(found).as_py() else None

    # -- events --

    @cached_property
    def _events(self) -> list[Event]:
        names = ("@type", "@time", "@kind")
        heads: list[list[Any]] = [self.table[name].to_pylist() for name in names]
        heads.append(self._keys().to_pylist())
        # A type without attributes has no column.
        targets = {shape.target for shape in self._shapes.values() if shape.columns}
        columns: dict[str, list[Any]] = {t: self.table[t].to_pylist() for t in targets}
        nothing: list[Any] = [{}] * len(self)
        return [
            self._event(type, to_instant(time), kind, tuple(key), columns.get(type, nothing)[place])
            for place, (type, time, kind, key) in enumerate(zip(*heads, strict=True))
        ]

    def _event(
        self, type: str, instant: int, kind: str, key: tuple[int, ...], stored: dict[str, Any]
    ) -> Event:
        shape = self._by_target.get(type) or self._shapes[key[_RANK]]
        return Event(
            type,
            instant,
            {name: self._value(stored[name], t) for name, t in shape.columns.items()},
            statement=shape.statement,
            is_old=kind == "old",
            is_timeout=kind == "timeout",
            key=key,
        )

    @cached_property
    def _by_target(self) -> dict[str, Shape]:
        """The shapes of types that only one statement derives."""
        targets = [shape.target for shape in self._shapes.values()]
        return {s.target: s for s in self._shapes.values() if targets.count(s.target) == 1}

    def _value(self, stored: Any, type: DataType) -> Value:
        """Events come as structs with their type and time in front."""
        if stored is None:
            return None
        match type:
            case EventRef():
                actual = self._types[stored["@type"]]
                values = {a.name: self._value(stored[a.name], a.type) for a in actual.attributes}
                return Event(actual.name, to_instant(stored["@time"]), values)
            case ArrayType(element):
                return [self._value(item, element) for item in stored]
            case RecordType(attributes):
                return {a.name: self._value(stored[a.name], a.type) for a in attributes}
        found: Value = stored
        return found
