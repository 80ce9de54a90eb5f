"""Expressions of each kind over what is in sight."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from cepheid.core.types import (
    BOOLEAN,
    STRING,
    ArrayType,
    DataType,
    EventRef,
    EventType,
    is_calendar,
    is_numeric,
)

T = TypeVar("T")

COMPARISONS = ("=", "<", "<=", ">", ">=", "!=", "is", "is not")
NUMBERS = ("1", "0", "2", "1L", "0.5", "1.5f")
TEXTS = ("'x'", "'y'", "'b'", "''")
TIMES = ("cast('2026-03-29T01:30:00Z', timestamp)", "cast('1970-01-01', date)")


@dataclass(frozen=True)
class Names:
    """What an expression may name, by kind."""

    numbers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    truths: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    times: tuple[str, ...] = ()

    def __add__(self, other: Names) -> Names:
        return Names(
            self.numbers + other.numbers,
            self.texts + other.texts,
            self.truths + other.truths,
            self.events + other.events,
            self.times + other.times,
        )

    @property
    def values(self) -> tuple[str, ...]:
        return self.numbers + self.texts + self.truths + self.times


def names_of(prefix: str, type: EventType, types: Mapping[str, EventType], deep: int = 2) -> Names:
    """The attributes of a type, and those of the events and records that it holds."""
    found = Names()
    for attribute in type.attributes:
        found += _names_at(f"{prefix}{attribute.name}", attribute.type, types, deep)
    return found


def _names_at(path: str, type: DataType, types: Mapping[str, EventType], deep: int) -> Names:
    if isinstance(type, ArrayType):
        return _names_at(f"{path}[0]", type.element, types, deep)
    if isinstance(type, EventRef):
        inner = names_of(f"{path}.", types[type.name], types, deep - 1) if deep else Names()
        return Names(events=(path,)) + inner
    if type == STRING:
        return Names(texts=(path,))
    if type == BOOLEAN:
        return Names(truths=(path,))
    if is_calendar(type):
        return Names(times=(path,))
    return Names(numbers=(path,)) if is_numeric(type) else Names()


# Forms of each kind; <kind> stands for any expression of that kind, @ for a comparison.
FORMS = {
    "number": (
        "(<number> + <number>)",
        "coalesce(<number>, -1)",
        "(<number> * <number>)",
        "(<number> - <number>)",
        "(<number> / <number>)",
        "(<number> % <number>)",
        "abs(<number>)",
        "length(<text>)",
        "case when <truth> then <number> else <number> end",
        "max(<number>, <number>)",
        "-<number>",
        "nullif(<number>, <number>)",
        "instr(<text>, 'x')",
        "current_timestamp()",
        "extract('hour', <time>)",
        "date_diff('day', <time>, <time>)",
        "round(<number>, 1)",
        "cast(<number>, decimal(7, 1))",
        "date_diff('minute', <time>, <time>)",
        "py_half(<number>)",
        "py_shift(length(<text>), py_one())",
    ),
    "time": (
        "date_trunc('day', <time>)",
        "date_add('month', 1, <time>)",
        "coalesce(<time>, <time>)",
        "case when <truth> then <time> else <time> end",
        "max(<time>, <time>)",
        "nullif(<time>, <time>)",
        "date_trunc('week', <time>, 'Europe/Berlin')",
        "cast(<time>, date)",
        "cast(<time>, timestamp)",
    ),
    "text": (
        "(<text> || <text>)",
        "coalesce(<text>, 'z')",
        "upper(<text>)",
        "lower(<text>)",
        "substring(<text>, 1, 1)",
        "replace(<text>, 'x', 'y')",
        "case when <truth> then <text> else <text> end",
        "cast(<number>, string)",
        "min(<text>, <text>)",
        "cast(<time>, string)",
        "date_format(<time>, 'yyyy-MM-dd HH:mm', 'America/New_York')",
        "py_mark(<text>)",
    ),
    "truth": (
        *("<number> @ <number>", "<text> @ <text>") * 6,
        "<number> is null",
        "<number> in (1, <number>)",
        "<number> in [0:2)",
        "<number> not between 1 and <number>",
        "<text> is not null",
        "<text> like 'x%'",
        "<text> in ('x', <text>)",
        "<text> regexp '[a-x]+'",
        "startswith(<text>, <text>)",
        "<text> between 'a' and <text>",
        *("<time> @ <time>", "<time> > '2026-03-29T00:30:00Z'") * 2,
        "<time> in ('2026-03-29', <time>)",
        "<time> between '1970-01-01' and <time>",
        "(<truth> and <truth>)",
        "(<truth> or <truth>)",
        "not (<truth>)",
        "py_both(<truth>, <truth>)",
    ),
    "aggregate": (
        "count(*)",
        "sum(<number>)",
        "count(<value>)",
        "count(distinct <value>)",
        "first(<value>)",
        "last(<value>)",
        "min(<text>)",
        "max(<number>)",
        "min(<number>)",
        "max(<text>)",
        "avg(<number>)",
        "sum(distinct <number>)",
        "median(<number>)",
        "stddev(<number>)",
        "avedev(<number>)",
        "nth(<value>, 1)",
        "sum(all <number>)",
        "max(<time>)",
        "min(<time>)",
    ),
}


@cache
def below(count: int) -> SearchStrategy[int]:
    return st.integers(0, count - 1)


class Expressions:
    """Draws expressions of each kind over some names."""

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw

    def pick(self, *options: T) -> T:
        return options[self._draw(below(len(options)))] if len(options) > 1 else options[0]

    def happens(self, one_in: int) -> bool:
        return self._draw(below(one_in)) == one_in - 1

    def expression(self, kind: str, names: Names, deep: int = 1) -> str:
        """One of a kind; where it may not go deeper, a name or a constant."""
        makers = {
            "number": self.number,
            "text": self.text,
            "truth": self.truth,
            "time": self.time,
        }
        return makers[kind](names, deep) if kind in makers else self.pick(*names.values, "1")

    def formed(self, form: str, names: Names, deep: int) -> str:
        """A form with everything that it stands for."""
        form = form.replace("@", self.pick(*COMPARISONS)) if "@" in form else form
        return re.sub("<([a-z]+)>", lambda kind: self.expression(kind[1], names, deep), form)

    def forms(self, kind: str, names: Names) -> tuple[str, ...]:
        """Those that the names can fill."""
        return tuple(f for f in FORMS[kind] if names.times or "<time>" not in f)

    def time(self, names: Names, deep: int = 1) -> str:
        if deep and self.happens(4):
            return self.formed(self.pick(*FORMS["time"]), names, deep - 1)
        return self.pick(*names.times * 2, *TIMES[:1])

    def number(self, names: Names, deep: int = 1) -> str:
        if deep and self.happens(4):
            return self.formed(self.pick(*self.forms("number", names)), names, deep - 1)
        return self.pick(*(names.numbers * 2 or NUMBERS), *NUMBERS[:1])

    def text(self, names: Names, deep: int = 1) -> str:
        if deep and self.happens(4):
            return self.formed(self.pick(*self.forms("text", names)), names, deep - 1)
        return self.pick(*(names.texts * 2 or TEXTS), *TEXTS[:1])

    def truth(self, names: Names, deep: int = 1) -> str:
        if names.truths and self.happens(4):
            return self.pick(*names.truths, f"not {names.truths[0]}")
        forms = self.forms("truth", names) if deep else FORMS["truth"][:2]
        return self.formed(self.pick(*forms), names, max(deep - 1, 0))

    def aggregate(self, names: Names) -> str:
        return self.formed(self.pick(*self.forms("aggregate", names)), names, 1)
