"""Events: typed records in time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias, Union

from cepheid.core.html import table
from cepheid.core.time import Instant, format_instant, to_datetime

# The place of an event in the order of all events and rows, however the input was split; see
# `semantics.machine`.
SortKey: TypeAlias = tuple[int, ...]
# What an attribute may hold: a scalar, null, a list (array), a mapping (record) or an event.
# A timestamp is a datetime in UTC, a decimal has the digits of its type after the point.
Scalar: TypeAlias = str | bool | int | float | datetime | date | Decimal
Value: TypeAlias = Union[Scalar, "list[Value]", "dict[str, Value]", "Event", None]


class Event(Mapping[str, Value]):
    """A mapping of attributes with a type and an instant; never changed once made.

    `statement` names what derived it (None for input), `causes` are the events behind it, `is_old`
    marks a row of the remove stream, `is_timeout` a partial match whose time ran out. `key` is its
    place in the order of a run. Events are equal if type, time, marks and attributes are; beside
    another mapping only attributes count.
    """

    __slots__ = (
        "causes",
        "instant",
        "is_old",
        "is_timeout",
        "key",
        "sequence",
        "statement",
        "type",
        "values_",
    )

    def __init__(
        self,
        type: str,
        instant: Instant,
        values: dict[str, Value],
        sequence: int = 0,
        statement: str | None = None,
        causes: tuple[Event, ...] = (),
        is_old: bool = False,
        is_timeout: bool = False,
        key: SortKey | None = None,
    ) -> None:
        self.type = type
        self.instant = instant
        self.values_ = values
        self.sequence = sequence
        self.statement = statement
        self.causes = causes
        self.is_old = is_old
        self.is_timeout = is_timeout
        self.key: SortKey = (instant, 1, sequence, 0) if key is None else key

    @property
    def time(self) -> datetime:
        return to_datetime(self.instant)

    def __getitem__(self, name: str) -> Value:
        return self.values_[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)

    def __contains__(self, name: object) -> bool:
        return name in self.values_

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Event):
            return self is other or (
                self._head() == other._head() and self.values_ == other.values_
            )
        return isinstance(other, Mapping) and self.values_ == dict(other)

    def __hash__(self) -> int:
        return hash(self._head())

    def _head(self) -> tuple[str, Instant, bool, bool]:
        return self.type, self.instant, self.is_old, self.is_timeout

    def _repr_html_(self) -> str:
        title = f"{self.type} {format_instant(self.instant)}{' (old)' if self.is_old else ''}"
        return table(title, list(self), [list(self.values_.values())])

    def __repr__(self) -> str:
        old = ", old" if self.is_old else ""
        return f"{self.type}({format_instant(self.instant)}{old}, {self.values_!r})"
