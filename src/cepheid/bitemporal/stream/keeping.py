"""What the next batch needs, as tables: what is known of events, and detections that wait.

What a batch wants done is kept beside them until the batch is not repeated any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cepheid.bitemporal.detections import Detection, Key
from cepheid.bitemporal.local.store import Kept, Marks
from cepheid.bitemporal.outcome import Firing
from cepheid.bitemporal.repository import Row
from cepheid.core.event import Value
from cepheid.core.types import LONG, TIMESTAMP
from cepheid.io.arrow import to_column
from cepheid.program.classes import EventClass

if TYPE_CHECKING:
    import pyarrow as pa


def table_of(declared: EventClass, kept: Sequence[Kept]) -> pa.Table:
    """All that there is of events of a class, one in each row; of some nothing is left."""
    import pyarrow as pa

    rows = [_attributes(declared, each) for each in kept]
    columns: dict[str, pa.Array[Any]] = {}
    for attribute in declared.attributes:
        type = LONG if attribute.type == TIMESTAMP else attribute.type
        columns[attribute.name] = to_column([row.get(attribute.name) for row in rows], type, {})
    numbers = [_numbers(each) for each in kept]
    for place, name in enumerate(_NUMBERS):
        columns[name] = pa.array([row[place] for row in numbers], pa.int64())
    columns["@fired"] = pa.array([each.marks.fired for each in kept], pa.bool_())
    return pa.table(columns)


# Beside attributes, whose names never begin with an '@'.
_NUMBERS = (
    *("@occ", "@det", "@expires"),
    *("@incept", "@due", "@marks_expire"),
)


def _attributes(declared: EventClass, kept: Kept) -> dict[str, Value]:
    if kept.row is None:
        return dict(zip(declared.key, kept.key, strict=True))
    return dict(zip((a.name for a in declared.attributes), kept.row.values, strict=True))


def _numbers(kept: Kept) -> tuple[int | None, ...]:
    row, marks = kept.row, kept.marks
    return (
        *((row.occ, row.det, row.expires) if row else (None,) * 3),
        kept.incept,
        marks.due,
        marks.expires,
    )


def kept_in(declared: EventClass, table: pa.Table) -> Iterator[Kept]:
    """What `table_of` wrote."""
    names = [attribute.name for attribute in declared.attributes]
    for found in table.to_pylist():
        cells: dict[str, Any] = found
        occ, det, expires, incept, due, end = (cells[n] for n in _NUMBERS)
        key: Key = tuple(cells[name] for name in declared.key)
        row = None if occ is None else Row(tuple(cells[name] for name in names), occ, det, expires)
        yield Kept(key, row, incept, Marks(cells["@fired"], due, end))


def waiting_table(detections: Sequence[Detection]) -> pa.Table:
    """Detections of all classes; what they say is JSON, since classes differ in their types."""
    import pyarrow as pa

    return pa.table(
        {
            "@type": _texts(d.cls for d in detections),
            "key": _texts(json.dumps(d.key) for d in detections),
            "values": _texts(json.dumps(d.values) for d in detections),
            "occ": _whole(d.occ for d in detections),
            "det": _whole(d.det for d in detections),
            "known": _whole(d.known for d in detections),
            "sequence": _whole(d.sequence for d in detections),
        }
    )


def waiting_in(table: pa.Table) -> Iterator[Detection]:
    """What `waiting_table` wrote."""
    for found in table.to_pylist():
        cells: dict[str, Any] = found
        values = json.loads(cells["values"])
        yield Detection(
            cells["@type"],
            tuple(json.loads(cells["key"])),
            None if values is None else tuple(values),
            cells["occ"],
            cells["det"],
            cells["known"],
            cells["sequence"],
        )


def firings_table(firings: Sequence[Firing]) -> pa.Table:
    """Actions as they are: the columns that others read have the types that all of them fit in."""
    import pyarrow as pa

    return pa.table(
        {
            "@type": _texts(f.cls for f in firings),
            "key": _texts(json.dumps(f.key) for f in firings),
            "round": _whole(f.round for f in firings),
            "statement": _whole(f.statement for f in firings),
            "action": _texts(f.action for f in firings),
            "arguments": _texts(json.dumps(f.arguments) for f in firings),
        }
    )


def firings_in(table: pa.Table) -> Iterator[Firing]:
    """What `firings_table` wrote."""
    for found in table.to_pylist():
        cells: dict[str, Any] = found
        yield Firing(
            cells["round"],
            cells["@type"],
            tuple(json.loads(cells["key"])),
            cells["statement"],
            cells["action"],
            tuple(json.loads(cells["arguments"])),
        )


def _texts(texts: Iterable[str]) -> pa.Array[Any]:
    import pyarrow as pa

    return pa.array(list(texts), pa.string())


def _whole(numbers: Iterable[int | None]) -> pa.Array[Any]:
    import pyarrow as pa

    return pa.array(list(numbers), pa.int64())
