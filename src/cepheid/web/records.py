"""Records while they are extracted, and as they come out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from cepheid.web.tree import AttributeMarker
from cepheid.web.values import Value, to_text

Scalar: TypeAlias = str | int | float | bool | None


@dataclass(slots=True, eq=False)
class Record:
    """What a node became; `values` has its attributes, and lists of the records in it."""

    type: str
    parent: Record | None
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Emission:
    """A record that begins (without a marker), or an attribute of one."""

    record: Record
    marker: AttributeMarker | None = None
    value: Value = ""


@dataclass(slots=True)
class Collector:
    """Takes what markers found; the records that lie in no other are the result."""

    records: list[Record] = field(default_factory=list)
    again: Counter[AttributeMarker] = field(default_factory=Counter)  # attributes that were there
    unreadable: Counter[AttributeMarker] = field(default_factory=Counter)  # neither number nor time

    def take(self, emissions: Iterable[Emission]) -> None:
        for each in emissions:
            if each.marker is not None:
                self._set(each.record, each.marker, each.value)
            elif each.record.parent is None:
                self.records.append(each.record)
            else:
                each.record.parent.values.setdefault(each.record.type, []).append(
                    each.record.values
                )

    def _set(self, record: Record, marker: AttributeMarker, value: Value) -> None:
        if marker.name in record.values:
            self.again[marker] += 1
            return
        scalar = _scalar(value)
        if scalar is None and isinstance(value, float):
            self.unreadable[marker] += 1
        record.values[marker.name] = scalar


def _scalar(value: Value) -> Scalar:
    """Nodes as the text of the first; what is no number, and no nodes, as null."""
    if isinstance(value, list):
        return to_text(value) if value else None
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value
