"""Functions of many rows, kept up to date as rows enter and leave; one rule for all engines.

- Nulls do not count, except for `count(*)`, `first`, `last` and `nth`.
- Of no rows, `count` is 0 and everything else null; `stddev` is null for fewer than two values.
- `sum` has the type of its argument and wraps around or rounds as `+` does. Doubles are added on
  entry and subtracted on leaving, in the order of the rows, by plain floating-point addition; when
  the last value leaves, the sum is exactly zero again. An infinity that has left leaves NaN behind
  until then.
- A sum of decimals is exact. One that has more than 18 digits is null, until the last value leaves.
- `avg` divides a running sum of doubles by the count.
- `min`, `max` and `median` use the order of `values.sort_key` and know only one zero. `median` of
  an even number of values is half the sum of the two middle ones.
- `stddev` is the sample standard deviation (n - 1) in two passes over the values in the order of
  their entry, by plain addition: first the mean, then the squared differences.
- `avedev` is the mean of the distances from the mean, in two passes like `stddev`.
- `nth(x, n)` is the value that entered n places before the last; `nth(x, 0)` is `last(x)`.
- `distinct` lets a value in with its first occurrence and out with its last.

State is explicit: `save` gives JSON that `load` takes back.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from decimal import Decimal
from typing import Any, Protocol, cast

from cepheid.core.event import Value
from cepheid.core.types import (
    ANY,
    DOUBLE,
    FLOAT,
    LONG,
    MOST_DIGITS,
    DataType,
    DecimalType,
)
from cepheid.expr.functions import AGGREGATES, Kind
from cepheid.expr.jsonvalue import JSON, decode_value, encode_value
from cepheid.expr.tree import Aggregate
from cepheid.expr.values import (
    Number,
    SortKey,
    group_key,
    is_number,
    rounding,
    same,
    sort_key,
)


class Aggregator(Protocol):
    """One aggregate over the rows that have entered and not left."""

    def enter(self, value: Value) -> None: ...

    def leave(self, value: Value) -> None:
        """Take back a value that entered."""
        ...

    def result(self) -> Value: ...

    def save(self) -> JSON: ...

    def load(self, state: JSON) -> None: ...


def make_aggregator(node: Aggregate, *, rows_leave: bool = True) -> Aggregator:
    """A fresh aggregator for a resolved aggregate.

    Where rows never leave, `min`, `max`, `first` and `last` need to keep one value only.
    """
    argument = LONG if node.argument is None else node.argument.type
    aggregator: Aggregator
    if node.index is not None:
        aggregator = _Nth(node.index, rows_leave=rows_leave)
    elif not rows_leave and node.function in _REPLACES:
        aggregator = _Kept(_REPLACES[node.function], _SHOWS.get(node.function, _same))
    else:
        aggregator = _MAKERS[node.function](argument)
    if argument == ANY and AGGREGATES[node.function].parameter is Kind.NUMBER:
        aggregator = _NumbersOnly(aggregator)
    return _Distinct(aggregator) if node.distinct else aggregator


class _Count:
    """How many values are not null."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def enter(self, value: Value) -> None:
        self.count += value is not None

    def leave(self, value: Value) -> None:
        self.count -= value is not None

    def result(self) -> Value:
        return self.count

    def save(self) -> JSON:
        return self.count

    def load(self, state: JSON) -> None:
        self.count = cast("int", state)


class _Sum:
    """A running sum that is rounded to its type after every step."""

    __slots__ = ("count", "fit", "total", "zero")

    def __init__(self, type: DataType) -> None:
        self.fit: Callable[..., Any] = rounding(type)
        self.zero: Any = 0.0 if type in (FLOAT, DOUBLE) else 0
        self.total: Any = self.zero
        self.count = 0

    def enter(self, value: Value) -> None:
        if value is not None:
            self.total = self.fit(self.total + value)
            self.count += 1

    def leave(self, value: Value) -> None:
        if value is None:
            return
        self.count -= 1
        # Starting over from exactly zero keeps rounding errors from outliving their rows.
        self.total = self.fit(self.total - value) if self.count else self.zero

    def result(self) -> Value:
        return self.total if self.count else None

    def save(self) -> JSON:
        return [self.count, encode_value(self.total)]

    def load(self, state: JSON) -> None:
        count, total = cast("list[JSON]", state)
        self.count, self.total = cast("int", count), decode_value(total)


class _DecimalSum(_Sum):
    """A running sum, null from where it has too many digits until it begins again."""

    __slots__ = ()

    def __init__(self, type: DecimalType) -> None:
        super().__init__(DecimalType(MOST_DIGITS, type.scale))
        self.total = self.zero = Decimal(0)

    def enter(self, value: Value) -> None:
        if value is not None:
            self._move(cast("Decimal", value))
            self.count += 1

    def leave(self, value: Value) -> None:
        if value is not None:
            self.count -= 1
            self._move(-cast("Decimal", value))
        if not self.count:
            self.total = self.zero

    def _move(self, change: Decimal) -> None:
        if self.total is not None:  # which a sum of other numbers never is
            self.total = self.fit(self.total + change)


class _Average(_Sum):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(DOUBLE)

    def result(self) -> Value:
        return self.total / self.count if self.count else None


class _Sorted:
    """The values in order; the root of what asks for their ends or their middle."""

    __slots__ = ("keys", "values")

    def __init__(self) -> None:
        self.keys: list[SortKey] = []
        self.values: list[Value] = []

    def enter(self, value: Value) -> None:
        if value is None:
            return
        key = sort_key(value)
        place = bisect_right(self.keys, key)
        self.keys.insert(place, key)
        # Equal values must not differ: of the two zeros only the positive one is kept.
        self.values.insert(place, value + 0.0 if isinstance(value, float) else value)

    def leave(self, value: Value) -> None:
        if value is None:
            return
        place = bisect_left(self.keys, sort_key(value))
        del self.keys[place]
        del self.values[place]

    def save(self) -> JSON:
        return [encode_value(value) for value in self.values]

    def load(self, state: JSON) -> None:
        self.values = [decode_value(value) for value in cast("list[JSON]", state)]
        self.keys = [sort_key(value) for value in self.values]


class _Least(_Sorted):
    __slots__ = ()

    def result(self) -> Value:
        return self.values[0] if self.values else None


class _Greatest(_Sorted):
    __slots__ = ()

    def result(self) -> Value:
        return self.values[-1] if self.values else None


class _Median(_Sorted):
    __slots__ = ()

    def result(self) -> Value:
        values = cast("list[Number]", self.values)
        middle, is_odd = divmod(len(values), 2)
        if is_odd:
            return float(values[middle])
        return (float(values[middle - 1]) + float(values[middle])) / 2 if values else None


class _InOrder:
    """The values in the order of their entry; the root of what depends on it."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: deque[Value] = deque()

    def enter(self, value: Value) -> None:
        self.values.append(value)

    def leave(self, value: Value) -> None:
        """Take out the oldest such value: at the front, where rows leave in order."""
        for place, held in enumerate(self.values):
            if same(held, value):
                del self.values[place]
                return

    def save(self) -> JSON:
        return [encode_value(value) for value in self.values]

    def load(self, state: JSON) -> None:
        self.values = deque(decode_value(value) for value in cast("list[JSON]", state))


class _First(_InOrder):
    __slots__ = ()

    def result(self) -> Value:
        return self.values[0] if self.values else None


class _Last(_InOrder):
    __slots__ = ()

    def result(self) -> Value:
        return self.values[-1] if self.values else None


class _Nth(_InOrder):
    """The value so many places before the last."""

    __slots__ = ("index",)

    def __init__(self, index: int, *, rows_leave: bool) -> None:
        super().__init__()
        self.index = index
        self.values = deque(maxlen=None if rows_leave else index + 1)

    def result(self) -> Value:
        return self.values[-1 - self.index] if self.index < len(self.values) else None

    def load(self, state: JSON) -> None:
        self.values.extend(decode_value(value) for value in cast("list[JSON]", state))


class _Doubles(_InOrder):
    """The values that are not null, as doubles; the root of what goes over them twice."""

    __slots__ = ()

    def enter(self, value: Value) -> None:
        if value is not None:
            super().enter(float(cast("Number", value)))

    def leave(self, value: Value) -> None:
        if value is not None:
            super().leave(float(cast("Number", value)))


class _MeanDeviation(_Doubles):
    __slots__ = ()

    def result(self) -> Value:
        values = cast("deque[float]", self.values)
        if not values:
            return None
        mean = _plain_sum(values) / len(values)
        return _plain_sum(abs(value - mean) for value in values) / len(values)


class _Deviation(_Doubles):
    __slots__ = ()

    def result(self) -> Value:
        values = cast("deque[float]", self.values)
        if len(values) < 2:
            return None
        mean = _plain_sum(values) / len(values)
        squares = _plain_sum((value - mean) * (value - mean) for value in values)
        return math.sqrt(squares / (len(values) - 1))


def _plain_sum(values: Iterable[float]) -> float:
    """From left to right; the built-in `sum` compensates errors in some versions of Python."""
    total = 0.0
    for value in values:
        total += value
    return total


class _Kept:
    """The one value that counts among rows that never leave."""

    __slots__ = ("is_set", "replaces", "shows", "value")

    def __init__(
        self, replaces: Callable[[Value, Value], bool], shows: Callable[[Value], Value]
    ) -> None:
        self.replaces = replaces
        self.shows = shows
        self.is_set = False
        self.value: Value = None

    def enter(self, value: Value) -> None:
        if not self.is_set or self.replaces(value, self.value):
            self.value = value
            self.is_set = True

    def leave(self, value: Value) -> None:
        raise TypeError(f"{value!r} cannot leave: the aggregator was made for rows that stay")

    def result(self) -> Value:
        return self.shows(self.value)

    def save(self) -> JSON:
        return [encode_value(self.value)] if self.is_set else []

    def load(self, state: JSON) -> None:
        values = cast("list[JSON]", state)
        self.is_set = bool(values)
        self.value = decode_value(values[0]) if values else None


class _NumbersOnly:
    """Takes values without a static type; what is not a number counts as null."""

    __slots__ = ("inner",)

    def __init__(self, inner: Aggregator) -> None:
        self.inner = inner

    def enter(self, value: Value) -> None:
        self.inner.enter(value if is_number(value) else None)

    def leave(self, value: Value) -> None:
        self.inner.leave(value if is_number(value) else None)

    def result(self) -> Value:
        return self.inner.result()

    def save(self) -> JSON:
        return self.inner.save()

    def load(self, state: JSON) -> None:
        self.inner.load(state)


class _Distinct:
    """Lets every value in once, however often it occurs."""

    __slots__ = ("counts", "inner", "values")

    def __init__(self, inner: Aggregator) -> None:
        self.inner = inner
        self.counts: dict[Hashable, int] = {}
        self.values: dict[Hashable, Value] = {}  # the very value that entered, and must leave

    def enter(self, value: Value) -> None:
        key = group_key(value)
        count = self.counts.get(key, 0)
        if not count:
            self.values[key] = value
            self.inner.enter(value)
        self.counts[key] = count + 1

    def leave(self, value: Value) -> None:
        key = group_key(value)
        self.counts[key] -= 1
        if not self.counts[key]:
            del self.counts[key]
            self.inner.leave(self.values.pop(key))

    def result(self) -> Value:
        return self.inner.result()

    def save(self) -> JSON:
        held: list[JSON] = [
            [encode_value(self.values[key]), count] for key, count in self.counts.items()
        ]
        return {"held": held, "inner": self.inner.save()}

    def load(self, state: JSON) -> None:
        saved = cast("dict[str, JSON]", state)
        self.counts, self.values = {}, {}
        for encoded, count in cast("list[tuple[JSON, int]]", saved["held"]):
            value = decode_value(encoded)
            self.counts[group_key(value)] = count
            self.values[group_key(value)] = value
        self.inner.load(saved["inner"])


_MAKERS: dict[str, Callable[[DataType], Aggregator]] = {
    "count": lambda _: _Count(),
    "sum": lambda of: _DecimalSum(of) if isinstance(of, DecimalType) else _Sum(of),
    "avg": lambda _: _Average(),
    "min": lambda _: _Least(),
    "max": lambda _: _Greatest(),
    "median": lambda _: _Median(),
    "avedev": lambda _: _MeanDeviation(),
    "stddev": lambda _: _Deviation(),
    "first": lambda _: _First(),
    "last": lambda _: _Last(),
}
# Whether a value takes the place of the one kept so far, where rows never leave.
_REPLACES: dict[str, Callable[[Value, Value], bool]] = {
    "min": lambda new, kept: new is not None and (kept is None or sort_key(new) < sort_key(kept)),
    "max": lambda new, kept: new is not None and (kept is None or sort_key(new) > sort_key(kept)),
    "first": lambda _new, _kept: False,
    "last": lambda _new, _kept: True,
}


def _same(value: Value) -> Value:
    return value


def _one_zero(value: Value) -> Value:
    """The order of values knows only one zero."""
    return 0.0 if isinstance(value, float) and value == 0 else value


_SHOWS: dict[str, Callable[[Value], Value]] = {"min": _one_zero, "max": _one_zero}
