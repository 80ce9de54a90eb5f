"""The one generator of programs and streams, as text: a small grammar with weights.

A program has up to four statements over the input types A, B and C, some of which hold records and
arrays, the declared type D and what earlier statements derive. Everything is small: few values, many equal instants, few rows. Options of
a choice stand with the simplest first, as failures shrink towards it; what stands twice is likelier.

What an expression may name is asked of the program so far, which is resolved before each statement:
so all that is drawn is well typed, and no rule of typing is written down here again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TypeAlias, TypeVar

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import cepheid as cep
from cepheid.core.types import (
    BOOLEAN,
    STRING,
    ArrayType,
    DataType,
    EventRef,
    EventType,
    is_calendar,
    is_integral,
    is_numeric,
)
from cepheid.errors import Severity
from tests import effort
from tests.conformance.scenarios import FUNCTIONS, Example

T = TypeVar("T")

SCHEMAS = {
    "A": "create schema A (id string, k string, v int, s string, w double, z timestamp, d date,"
    " c decimal(6, 2));",
    "B": "create schema B (id string, k string, v int, n long, t boolean, r R, i int[],"
    " z timestamp, c decimal(8, 3));",
    "C": "create schema C (id string, k string, v int, f float, m M);",
    "D": "create schema D (id string, k string, v long, w double);",
}
CHILD = "create schema C (f float, m M) inherits A;"  # in some programs, C is also an A
# What they hold: the names of the inner attributes are nobody else's, or those of others.
RECORDS = {
    "B": "create schema R (q int, p string);",
    "C": "create schema M (r R, v long, u double);",
}
COUNTED = re.compile(r", ?(z timestamp|d date|c decimal\(\d, \d\))")
HELD = re.compile(r", (r R|i int\[\]|m M)")
INPUTS = ("A", "B", "C")

# Expressions ----------------------------------------------------------------------------------

COMPARISONS = ("=", "<", "<=", ">", ">=", "!=", "is", "is not")
NUMBERS = ("1", "0", "2", "1L", "0.5", "1.5f")
TEXTS = ("'x'", "'y'", "'b'", "''")
TIMES = ("cast('2026-03-29T01:30:00Z', timestamp)", "cast('1970-01-01', date)")
SCHEDULES = (
    *(
        f"timer:at(*, *, *, *, *, {s})"
        for s in ("*/2", "3", "[0, 5, 7]", "*/2, 500", "*, '+01:00'")
    ),
    "timer:at(*, *, [1 weekday, last], *, [2, 4 last], */3)",
)
PERIODS = ("1 sec", "2 sec", "3 sec", "500 msec")


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


# Patterns -------------------------------------------------------------------------------------


@dataclass
class Bound:
    """The tags of a pattern so far, with their types; a repeated one holds several events."""

    tags: dict[str, str] = field(default_factory=dict)
    repeated: frozenset[str] = frozenset()
    everies: int = 2  # how many more there may be: each multiplies the matches
    # All tags, those out of sight too, and the types of their events.
    used: list[str] = field(default_factory=list)
    read: set[str] = field(default_factory=set)

    def aside(self, everies: int | None = None) -> Bound:
        """The same place, where what is bound later is not seen."""
        rest = self.everies if everies is None else min(everies, self.everies)
        return Bound(dict(self.tags), self.repeated, rest, self.used, self.read)


Maker: TypeAlias = Callable[[Bound, int], str]


class Patterns(Expressions):
    """Draws patterns over some types. Each method adds what it binds to the given tags."""

    def __init__(
        self, draw: DrawFn, number: int, types: Mapping[str, EventType], among: tuple[str, ...]
    ) -> None:
        super().__init__(draw)
        self.place, self.types, self.among = number, types, among

    def pattern(self) -> tuple[str, Bound]:
        bound = Bound()
        top = self.pick(self.every_atom_then, self.every, self.every_then, self.any)
        return top(bound, self.pick(1, 0, 2, 1, 0, 3)), bound

    def names(self, bound: Bound) -> Names:
        found = Names()
        for tag, type in bound.tags.items():
            path = f"{tag}[0]" if tag in bound.repeated else tag
            found += Names(events=(tag,)) + names_of(f"{path}.", self.types[type], self.types)
        return found

    def any(self, bound: Bound, deep: int) -> str:
        if deep == 0 or self.happens(6):
            return self.leaf(bound)
        kinds = [self.then, self.then, self.either, self.both, self.absence, self.within]
        kinds += [self.times, self.until, self.while_, self.unless, self.then, self.either]
        kinds += [self.every, self.every, self.distinct] if bound.everies else []
        return self.pick(*kinds)(bound, deep - 1)

    def leaf(self, bound: Bound) -> str:
        if len(bound.used) < 12 and not self.happens(8):
            return self.atom(bound)
        return self.timer(bound)

    def timer(self, bound: Bound) -> str:
        told = [name for name in self.names(bound).numbers if self.happens(2)]
        if told and self.happens(4):
            return f"timer:interval({self.pick(*told)} {self.pick('sec', 'msec')})"
        return self.pick(*(f"timer:interval({p})" for p in (*PERIODS, "0 sec")), *SCHEDULES)

    def atom(self, bound: Bound) -> str:
        type = self.pick(*self.among)
        condition = ""
        if self.pick(False, False, True):
            own = names_of("", self.types[type], self.types, deep=1)
            condition = f"({self.truth(own + own + self.names(bound))})"
        bound.read.add(type)
        if self.happens(3):
            return f"{type}{condition}"
        # No attribute of an earlier statement is called so.
        tag = f"{'abcdefghijkl'[len(bound.used)]}{self.place}"
        bound.used.append(tag)
        bound.tags[tag] = type
        return f"{tag}={type}{condition}"

    def every_atom_then(self, bound: Bound, deep: int) -> str:
        first = f"every {self.atom(bound)}"
        bound.everies -= 1
        return f"({first} -> {self.any(bound, deep)})"

    def every_then(self, bound: Bound, deep: int) -> str:
        """Many instances that wait for the same events, begun by this or that."""
        first = self.every(bound, 0, self.pick(self.either, self.both, self.any))
        last = self.pick(self.every, self.any)
        return f"({first} -> {last(bound, max(deep - 1, 0))})"

    def then(self, bound: Bound, deep: int) -> str:
        return f"({self.any(bound, deep)} -> {self.any(bound, deep)})"

    def _sides(self, bound: Bound, deep: int) -> tuple[str, str]:
        """Two patterns that start together: neither sees what the other binds."""
        sides = bound.aside(1), bound.aside(1)
        left, right = (self.any(side, deep) for side in sides)
        for side in sides:
            bound.tags |= side.tags
            bound.repeated |= side.repeated
        bound.everies = min(side.everies for side in sides)
        return left, right

    def either(self, bound: Bound, deep: int) -> str:
        left, right = self._sides(bound, deep)
        return f"({left} or {right})"

    def both(self, bound: Bound, deep: int) -> str:
        left, right = self._sides(bound, deep)
        return f"({left} and {right})"

    def unless(self, bound: Bound, deep: int) -> str:
        absent = self.any(bound.aside(), deep)
        present = self.any(bound, deep)
        return self.pick(f"({present} and not ({absent}))", f"(not ({absent}) and {present})")

    def absence(self, bound: Bound, deep: int) -> str:
        absent = self.any(bound.aside(), min(deep, 1))
        return f"({self.timer(bound)} and not ({absent}))"

    def within(self, bound: Bound, deep: int) -> str:
        inner, period = self.any(bound, deep), self.pick(*PERIODS)
        most = self.pick("", "max")
        end = f"timer:withinmax({period}, {self.pick(1, 2)})" if most else f"timer:within({period})"
        return f"({inner} where {end})"

    def while_(self, bound: Bound, deep: int) -> str:
        inner = self.any(bound, deep)
        return f"({inner} while ({self.truth(self.names(bound))}))"

    def _repeated(self, bound: Bound, deep: int) -> str:
        inside = bound.aside()
        inner = self.any(inside, deep)
        bound.repeated |= inside.tags.keys() - bound.tags.keys()
        bound.tags |= inside.tags
        bound.everies = inside.everies
        return inner

    def times(self, bound: Bound, deep: int) -> str:
        return f"([{self.pick(2, 1, 3)}] {self._repeated(bound, deep)})"

    def until(self, bound: Bound, deep: int) -> str:
        end = bound.aside(0)
        inner = self._repeated(bound, deep)
        last = self.leaf(end)
        bound.tags |= end.tags
        times = self.pick("", "", "[2:] ", "[:2] ", "[1:3] ", "[2] ")
        return f"({times}{inner} until {last})"

    def every(self, bound: Bound, deep: int, make: Maker | None = None) -> str:
        return f"every {self._in_every(bound, deep, make or self.any)}"

    def distinct(self, bound: Bound, deep: int) -> str:
        before = self.names(bound).values
        inner = self._in_every(bound, deep, self.any)
        keys = [name for name in self.names(bound).values if name not in before] or ["1"]
        period = self.pick("", *(f", {p}" for p in PERIODS))
        return f"every-distinct({self.pick(*keys)}{period}) {inner}"

    def _in_every(self, bound: Bound, deep: int, make: Maker) -> str:
        """Every in every doubles with each match, so there is none inside."""
        rest, bound.everies = bound.everies - 1, 0
        inner = make(bound, deep)
        bound.everies = max(rest, 0)
        return inner if inner.startswith("(") else f"({inner})"


# Statements -----------------------------------------------------------------------------------

FLAGS = ("FORCE_UPDATE", "START_EAGER", "FORCE_UPDATE, START_EAGER")
STREAMS = ("", "", "irstream ", "rstream ", "istream ")


@dataclass
class Clauses:
    """The pieces of a statement, in the order of the text."""

    head: str
    select: str
    source: str
    rest: str

    def __str__(self) -> str:
        return f"{self.head}select {self.select} from {self.source}{self.rest};"


class Statements(Patterns):
    """Draws statements over some types."""

    def source(self) -> tuple[str, Names, tuple[str, ...]]:
        """A source, what its rows have, and the types that it reads."""
        if self.pick(True, True, False):
            text, bound = self.pattern()
            return f"pattern [{text}]", self.names(bound), tuple(sorted(bound.read))
        type = self.pick(*self.among)
        own = names_of("", self.types[type], self.types)
        condition = f"({self.truth(own)})" if self.happens(3) else ""
        return f"{type}{condition}", own, (type,)

    def window(self) -> str:
        period, size = self.pick(*PERIODS), self.pick(2, 1, 3)
        batch = f"{period}{self.pick('', ', 0L', ', 500L')}"
        flags = self.pick("", *(f", '{f}'" for f in FLAGS))
        timed = f"#time({period})", f"#time_batch({batch}{flags})"
        return self.pick(f"#length({size})", *timed, f"#length_batch({size})", "#keepall")

    def item(self, names: Names) -> str:
        kinds = [
            "value",
            "value",
            "text",
            "number",
            "truth",
            *(["event"] * 2 if names.events else []),
        ]
        kind = self.pick(*kinds)
        return self.pick(*names.events) if kind == "event" else self.expression(kind, names)

    def columns(self, names: Names, *, aggregated: bool) -> str:
        """A select list; one name may be of different types in two derived types."""
        if not aggregated and self.happens(2 if names.events else 4):
            return "*"
        items = [self.item(names) for _ in range(self.pick(2, 1, 3))]
        if aggregated:
            items = [self.aggregate(names), *items[: self.pick(0, 1)]]
        place = self.pick(self.place, "")
        return ", ".join(f"{item} as {n}{place}" for n, item in zip("xyz", items, strict=False))

    def into_declared(self, names: Names) -> str:
        """Columns of the declared type D, or some of them."""
        whole = tuple(n for n in names.numbers if self.is_whole(n))
        v = self.pick(*whole, "count(*)") if whole else "count(*)"
        some = f"{self.text(names)} as k, {v} as v"
        return self.pick(some, f"{some}, 0.5 as w", f"{v} as v")

    def is_whole(self, name: str) -> bool:
        attribute = name.rsplit(".", maxsplit=1)[-1]
        kinds = {a.type for t in self.types.values() for a in t.attributes if a.name == attribute}
        return all(map(is_integral, kinds))

    def output(self) -> str:
        every = f"every {self.pick('2 events', '3 events', '1 events', *PERIODS)}"
        mode = self.pick("", "first ", "last ", "all ", "snapshot ")
        after = self.pick("", "", "", "after 1 events ", "after 1 sec ")
        rates = f"{after}{mode}{every}", f"{after}{mode}{every}", "after 2 events", "after 2 sec"
        return self.pick(*rates, "when count_insert >= 2", "when count_insert_total % 2 = 1")

    def rest(self, names: Names) -> str:
        """All that comes after the window."""
        by = self.pick(*names.values) if names.values else None
        parts = []
        if self.happens(5):
            parts.append(f" where {self.truth(names)}")
        if by and self.happens(3):
            parts.append(f" group by {by}")
        if self.happens(7):
            having = self.pick("count(*) > 1", "count(*) < 3", self.truth(names))
            parts.append(f" having {having}")
        if self.happens(3):
            parts.append(f" output {self.output()}")
        if by and self.happens(5):
            parts.append(f" order by {by}{self.pick('', ' desc')}")
        if self.happens(8):
            parts.append(f" limit {self.pick(1, 2)}{self.pick('', ' offset 1')}")
        return "".join(parts)

    contexts = 6  # one of so many statements that may have one has one

    def context(self, types: tuple[str, ...]) -> tuple[str, str]:
        """The declaration of a context whose keys are texts, and its use; maybe none."""
        keys = {
            t: [a.name for a in self.types[t].attributes if a.type == STRING and a.name != "id"]
            for t in types
        }
        if not (types and all(keys.values()) and self.happens(self.contexts)):
            return "", ""
        pairs = ", ".join(f"{names[0]} from {t}" for t, names in keys.items())
        return (
            f"create context Per{self.place} partition by {pairs};\n",
            f"context Per{self.place} ",
        )

    def statement(self, target: str | None) -> str:
        source, names, types = self.source()
        declaration, context = self.context(types)
        has_clauses = self.pick(False, True)
        window = self.window() if has_clauses and self.pick(True, False) else ""
        stream = self.pick(*STREAMS) if window else ""
        name, insert = f"@Name('Q{self.place}') ", ""
        if target is not None:
            kinds = ("", "rstream ", "irstream ") if stream == "irstream " else (stream,)
            name, insert = "", f"insert {self.pick(*kinds)}into {target} "
        aggregated = has_clauses and self.pick(False, True)
        declared = target == "D"
        columns = (
            self.into_declared(names) if declared else self.columns(names, aggregated=aggregated)
        )
        rest = self.rest(names) if has_clauses else ""
        distinct = "distinct " if has_clauses and self.happens(8) else ""
        priority = f"@Priority({self.pick(1, -1)}) " if self.happens(8) else ""
        head = f"{declaration}{priority}{name}{context}{insert}"
        return str(Clauses(head, f"{stream}{distinct}{columns}", f"{source}{window}", rest))


class PlainStatements(Statements):
    """Draws what people write most: chains of events, and aggregates over a window.

    In a row they take what others derive, too.
    """

    in_a_row = False

    def chain(self) -> tuple[str, Names, Bound]:
        """One event after the other, each perhaps tied to one before."""
        bound = Bound()
        atoms = [self.link(bound) for _ in range(self.pick(2, 2, 1, 3))]
        seen = self.names(bound)
        end = self.pick("", f" where timer:within({self.pick(*PERIODS)})")
        if self.happens(4):
            atoms.append(f"(timer:interval({self.pick(*PERIODS)}) and not {self.link(bound)})")
            end = ""
        chain = " -> ".join(atoms)
        return self.pick(f"every {chain}{end}", f"every ({chain}{end})"), seen, bound

    def link(self, bound: Bound) -> str:
        type = self.pick(*self.among)
        own = names_of("", self.types[type], self.types)
        tests = [self.truth(own, 0)] if self.pick(False, True) else []
        if self.pick(True, False) and bound.tags:
            earlier = self.pick(*bound.tags)
            before = bound.tags[earlier]
            shared = [a.name for a in self.types[before].attributes if a.name in "kv"]
            name = self.pick(*shared) if shared else None
            tests += [f"{name} = {earlier}.{name}"] if name and name in own.values else []
        tag = f"{'abcdefghijkl'[len(bound.used)]}{self.place}"
        bound.used.append(tag)
        bound.tags[tag] = type
        return f"{tag}={type}" + (f"({', '.join(tests)})" if tests else "")

    def single(self, head: str) -> str:
        """Rows about one event each; perhaps as two statements into one type."""
        type = self.pick(*self.among)
        names = names_of("", self.types[type], self.types)
        number, value = (
            self.pick(*(names.numbers or NUMBERS)),
            self.pick(*(names.values or NUMBERS)),
        )
        chosen = f"case when {self.truth(names, 0)} then 1 when {number} > 1 then 2{self.pick('', ' else 0')} end"
        shown = self.pick("'x'", "1", "current_timestamp()", chosen, "null", number)
        items = f"{shown} as x{self.place}, {value} as y{self.place}"
        conditions = [self.truth(names, 0)]
        if "insert" in head and self.happens(2):
            conditions.append(self.truth(names, 0))
        texts = (
            str(Clauses(self.priority() + head, items, f"{type}({condition})", ""))
            for condition in conditions
        )
        return "\n".join(texts)

    def priority(self) -> str:
        return f"@Priority({self.pick(1, -1)}) " if self.happens(4) else ""

    def statement(self, target: str | None) -> str:
        head = f"@Name('Q{self.place}') " if target is None else f"insert into {target} "
        if self.in_a_row and self.happens(2):
            return self.single(head)
        priority = self.priority() if self.in_a_row else ""
        if self.pick(True, False):
            pattern, names, bound = self.chain()
            types = tuple(dict.fromkeys(bound.tags.values())) if self.in_a_row else ()
            declaration, context = self.context(types)
            name, insert = ("", head) if target is not None else (head, "")
            head = f"{declaration}{priority}{name}{context}{insert}"
            shown = [self.pick(*(names.values or NUMBERS)) for _ in range(self.pick(1, 2))]
            items = ", ".join(f"{x} as {n}{self.place}" for n, x in zip("xyz", shown, strict=False))
            return str(Clauses(head, items, f"pattern [{pattern}]", ""))
        type = self.pick(*self.among)
        names = names_of("", self.types[type], self.types)
        condition = f"({self.truth(names, 0)})" if self.pick(False, True) else ""
        window = self.pick("", f"#time({self.pick(*PERIODS)})", f"#length({self.pick(2, 1, 3)})")
        keys = (*names.texts, *names.numbers[:1])
        by = self.pick(*keys) if self.pick(False, True) and keys else None
        number = self.pick(*names.numbers) if names.numbers else "1"
        items = self.pick("count(*)", f"sum({number})", f"avg({number})", f"min({number})")
        key = f", {by} as y{self.place}" if by else ""
        is_told_of_old = window and (not self.in_a_row or self.happens(8))
        stream = self.pick("", "irstream ") if is_told_of_old else ""
        head = priority + head
        rest = f" group by {by}" if by else ""
        columns = f"{stream}{items} as x{self.place}{key}"
        return str(Clauses(head, columns, f"{type}{condition}{window}", rest))


class StatementsInARow(PlainStatements):
    in_a_row = True
    contexts = 2

    def chain(self) -> tuple[str, Names, Bound]:
        """Often two events with what lanes know: a key, alternatives, a limit, a whole that repeats."""
        if self.happens(3):
            return super().chain()
        bound = Bound()
        first = self.link(bound)
        [(tag, type)] = bound.tags.items()
        second = self.pick(*self.among)
        own = names_of("", self.types[second], self.types)
        tests: list[str] = [self.truth(own)] if self.happens(2) else []
        keys: list[str] = [a.name for a in self.types[type].attributes if a.name in own.values]
        if keys and not self.happens(2):
            key = self.pick(*keys)
            tests.append(f"{key} = {tag}.{key}")
        if self.happens(2):
            tests.append(self.choice(names_of(f"{tag}.", self.types[type], self.types), own))
        last = f"b{self.place}={second}" + (f"({', '.join(tests)})" if tests else "")
        bound.tags[f"b{self.place}"] = second
        end = self.pick("", f" where timer:within({self.pick(*PERIODS)})")
        form = self.pick(f"every {first} -> {last}{end}", f"every ({first} -> {last})")
        return form, self.names(bound), bound

    def choice(self, before: Names, own: Names) -> str:
        """Alternatives, each of which asks something of an event before and of this one."""
        options = [f"({self.truth(before)}) and ({self.truth(own)})" for _ in range(2)]
        return "(" + " or ".join(options) + ")"

    def truth(self, names: Names, deep: int = 1) -> str:
        """Mostly what can be tested for whole batches: an attribute beside a constant."""
        known = [
            *(
                f"{n} {self.pick('>', '<=', '=', '!=')} {self.pick(*NUMBERS)}"
                for n in names.numbers
            ),
            *(f"{n} {self.pick('=', '!=')} {self.pick(*TEXTS)}" for n in names.texts),
            *names.truths,
        ]
        if not known or self.happens(12):
            return super().truth(names, deep)
        one = self.pick(*known)
        if self.happens(5):
            return f"{one} {self.pick('and', 'or')} {self.pick(*known)}"
        return f"not ({one})" if self.happens(8) else one


# Streams --------------------------------------------------------------------------------------


def _record(q: int | None, p: str | None) -> dict[str, object]:
    return {"q": q, "p": p}


VALUES: Mapping[str, tuple[object, ...]] = {
    "k": ("x", "y", "x", None, ""),
    "v": (1, 0, 2, 3, -1, None),
    "s": ("b", "a", "c", "B", None),
    "w": (0.5, 1.5, -2.0, 0.1, None, 1e16, float("nan"), float("inf")),
    "n": (1, 2, 0, 3_000_000_000, None),
    "t": (True, False, None),
    "f": (0.5, 1.5, 0.1, None),
    "z": (
        "2026-03-29T00:30:00Z",
        "1970-01-01T00:00:00Z",
        None,
        "2026-03-29T01:30:00.25Z",
        "1969-12-31T23:59:59.999999Z",
    ),
    "d": ("2026-03-29", "1970-01-01", None, "1969-12-31"),
    "c": ("1.50", "0.00", None, "-2.25", "9999.99"),
    "r": (_record(1, "x"), None, _record(2, None), _record(None, "y"), _record(1, "")),
    "i": ([1, 2], [], None, [0], [None, 1]),
    "m": (
        {"r": _record(1, "x"), "v": 1, "u": 0.5},
        None,
        {"r": None, "v": 2, "u": None},
        {"r": _record(2, "y"), "v": None, "u": 1.5},
    ),
}
ATTRIBUTES = {"A": "kvswzdc", "B": "kvntrizc", "C": "kvfm", "D": "kvw"}
GAPS = (1000, 0, 0, 0, 1000, 2000, 500, 3000)  # milliseconds between two events


def stream(
    choice: Expressions, types: tuple[str, ...], *, is_child: bool, nested: bool, counted: bool
) -> str:
    """Events in the order of their times, and some time after the last, so that timers speak."""
    clock, items = 0, []
    for number in range(1, choice.pick(4, 2, 6, 8, 10, 12) + 1):
        type = choice.pick(*types)
        clock += choice.pick(*GAPS)
        names = ATTRIBUTES[type] + (ATTRIBUTES["A"][2:] if is_child and type == "C" else "")
        left_out = ("" if nested else "rim") + ("" if counted else "zdc")
        names = names.translate({ord(name): "" for name in left_out})
        values = {name: choice.pick(*VALUES[name]) for name in names}
        given = ",".join(f"{n}={_json(v)}" for n, v in values.items() if v is not None)
        items.append(f"{type}{number}@{clock}" + (f"{{{given}}}" if given else ""))
    rest = choice.pick(6000, 0, 1000)
    return " ".join([*items, *([f"@{clock + rest}"] if rest else [])])


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


# Programs -------------------------------------------------------------------------------------

CYCLE = "insert into D select k, v + 1L as v from D(v < 3);"  # it ends


@st.composite
def examples(
    draw: DrawFn, *, plain: bool = False, in_a_row: bool = False, nested: bool = True
) -> Example:
    """A program and a stream for it; plain ones have statements side by side, which run in lanes, or
    `in_a_row`: they take what others derive, too.

    Nested are those whose events hold records and arrays. Events of some hold times and decimals.
    """
    plain = plain or in_a_row
    nested = nested and not plain
    choice = Expressions(draw)
    inputs = INPUTS[: choice.pick(2, 1, 3)]
    is_child = len(inputs) == 3 and choice.pick(False, True)
    has_declared = not plain and choice.happens(3)
    known = (*inputs, *(["D"] if has_declared else []))
    texts = [CHILD if name == "C" and is_child else SCHEMAS[name] for name in known]
    if nested:
        texts = [*(RECORDS[name] for name in inputs if name in RECORDS), *texts]
    else:
        texts = [HELD.sub("", text) for text in texts]
    counted = choice.happens(4)
    if not counted:
        texts = [COUNTED.sub("", text) for text in texts]
    derived: list[str] = []
    for number in range(1, choice.pick(1, 2, 2, 3, 4) + 1):
        types = _types("\n".join(texts))
        among = inputs if plain and not in_a_row else (*known, *derived * 3)
        target = choice.pick(f"O{number}", f"O{number}", None)
        if has_declared and choice.happens(3):
            target, among = "D", inputs
        is_plain = plain or (target != "D" and choice.happens(5))
        make = PlainStatements if is_plain else Statements
        if in_a_row:
            make = StatementsInARow
        texts.append(make(draw, number, types, among).statement(target))
        if target not in (None, "D"):
            derived.append(str(target))
    if has_declared and choice.happens(4):
        texts.append(CYCLE)
    events = stream(choice, (*inputs, *known), is_child=is_child, nested=nested, counted=counted)
    return Example("\n".join(texts), events)


@lru_cache(10_000)
def _types(text: str) -> Mapping[str, EventType]:
    program = cep.parse(text, functions=FUNCTIONS).resolve()
    wrong = [p for p in program.problems if p.severity is Severity.ERROR]
    assert not wrong, (text, wrong)
    return program.types


class EnoughExamples(Exception):
    """Ends the search, as Hypothesis has no other way."""


def different(count: int) -> tuple[Example, ...]:
    """So many examples, no two alike."""
    found: dict[Example, None] = {}

    @settings(effort.examples(1), max_examples=3 * count, database=None, phases=[Phase.generate])
    @given(examples())
    def collect(example: Example) -> None:
        if len(found) == count:
            raise EnoughExamples
        found[example] = None

    with suppress(EnoughExamples):
        collect()
    assert len(found) == count
    return tuple(found)
