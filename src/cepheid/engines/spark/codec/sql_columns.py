"""Columns as texts of SQL, which Spark reads at once.

Every call that makes a part of one of Spark's own columns goes to another process and back, and what frames
mean takes thousands of them. These look the same, stay here until they are whole, and go there as one text.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import TypeAlias

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from cepheid.core.time import to_instant

Constant: TypeAlias = "str | bool | int | float | date | None"
_INTS = range(-(2**31), 2**31)
_PLAIN_TEXT = frozenset(map(chr, range(0x20, 0x7F))) - {"'", "\\"}


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """An expression; operators make larger ones of it, and it means what the same of Spark's means."""

    text: str

    @property
    def spark(self) -> SparkColumn:
        return F.expr(self.text)

    def named(self, name: str) -> str:
        """As an item of a select list."""
        return f"{self.text} AS {quoted(name)}"

    def cast(self, type: str | T.DataType) -> Column:
        return Column(f"CAST({self.text} AS {_type(type)})")

    def try_cast(self, type: str | T.DataType) -> Column:
        return Column(f"TRY_CAST({self.text} AS {_type(type)})")

    def is_null(self) -> Column:
        return Column(f"({self.text} IS NULL)")

    def is_not_null(self) -> Column:
        return Column(f"({self.text} IS NOT NULL)")

    def is_in(self, *values: Column | Constant) -> Column:
        return Column(f"({self.text} IN ({_listed(values)}))") if values else lit(value=False)

    def member(self, name: str) -> Column:
        """Of a struct."""
        return Column(f"({self.text}).{quoted(name)}")

    def between(self, low: Column, high: Column) -> Column:
        return (self >= low) & (self <= high)

    def is_same(self, other: Column) -> Column:
        """Equal, null to null."""
        return Column(f"({self.text} <=> {other.text})")

    def like(self, pattern: str) -> Column:
        return Column(f"({self.text} LIKE {_constant(pattern)})")

    def matches(self, pattern: str) -> Column:
        """A regular expression fits some part of a text."""
        return Column(f"({self.text} RLIKE {_constant(pattern)})")

    # -- operators --

    def _with(self, symbol: str, other: Column | Constant) -> Column:
        return Column(f"({self.text} {symbol} {_text(other)})")

    def __eq__(self, other: Column | Constant) -> Column:  # type: ignore[override]
        return self._with("=", other)

    def __hash__(self) -> int:
        return hash(self.text)

    def __ne__(self, other: Column | Constant) -> Column:  # type: ignore[override]
        return ~(self == other)

    def __lt__(self, other: Column | Constant) -> Column:
        return self._with("<", other)

    def __le__(self, other: Column | Constant) -> Column:
        return self._with("<=", other)

    def __gt__(self, other: Column | Constant) -> Column:
        return self._with(">", other)

    def __ge__(self, other: Column | Constant) -> Column:
        return self._with(">=", other)

    def __and__(self, other: Column) -> Column:
        return self._with("AND", other)

    def __or__(self, other: Column) -> Column:
        return self._with("OR", other)

    def __invert__(self) -> Column:
        return Column(f"(NOT {self.text})")

    def __add__(self, other: Column | Constant) -> Column:
        return self._with("+", other)

    def __sub__(self, other: Column | Constant) -> Column:
        return self._with("-", other)

    def __mul__(self, other: Column | Constant) -> Column:
        return self._with("*", other)

    def __truediv__(self, other: Column | Constant) -> Column:
        return self._with("/", other)

    def __mod__(self, other: Column | Constant) -> Column:
        return self._with("%", other)

    def __neg__(self) -> Column:
        return Column(f"(- {self.text})")


# What columns begin with ----------------------------------------------------------------------


def quoted(name: str) -> str:
    """A name, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def field(name: str) -> Column:
    """A column of the frame."""
    return Column(quoted(name))


def lit(value: Constant) -> Column:
    return Column(_constant(value))


def nothing(type: str | T.DataType) -> Column:
    """Null of a type."""
    return lit(None).cast(type)


def call(function: str, *arguments: Column | Constant) -> Column:
    """A function of Spark."""
    return Column(f"{function}({_listed(arguments)})")


def coalesce(*choices: Column) -> Column:
    """The first that is not null."""
    return call("COALESCE", *choices)


def concat(*parts: Column | str) -> Column:
    """Texts behind each other; null if one is."""
    return call("CONCAT", *parts)


def struct(**members: Column) -> Column:
    return Column(f"STRUCT({', '.join(c.named(n) for n, c in members.items())})")


def when(test: Column, value: Column) -> Cases:
    """The value where the test holds; else null, or what is said next."""
    return Cases(f"CASE WHEN {test.text} THEN {value.text} END", ((test, value),))


@dataclass(frozen=True, slots=True, eq=False)
class Cases(Column):
    """Values for the first test that holds."""

    pairs: tuple[tuple[Column, Column], ...]

    def when(self, test: Column, value: Column) -> Cases:
        pairs = (*self.pairs, (test, value))
        return Cases(_cases(pairs, None), pairs)

    def otherwise(self, value: Column) -> Column:
        return Column(_cases(self.pairs, value))


def _cases(pairs: tuple[tuple[Column, Column], ...], last: Column | None) -> str:
    tests = " ".join(f"WHEN {test.text} THEN {value.text}" for test, value in pairs)
    return f"CASE {tests} END" if last is None else f"CASE {tests} ELSE {last.text} END"


def each(values: Column, change: Callable[[Column], Column]) -> Column:
    """An array of what becomes of the elements of another."""
    # Deeper ones have other names, as their texts are part of those around them.
    inner = change(field("@item")).text
    name = f"@item{inner.count('->')}"
    return Column(f"TRANSFORM({values.text}, {quoted(name)} -> {change(field(name)).text})")


# Texts ----------------------------------------------------------------------------------------


def _listed(values: tuple[Column | Constant, ...]) -> str:
    return ", ".join(map(_text, values))


def _text(value: Column | Constant) -> str:
    return value.text if isinstance(value, Column) else _constant(value)


def _constant(value: Constant) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value) if value in _INTS else f"CAST('{value}' AS BIGINT)"
        case float():
            return f"{value!r}D" if math.isfinite(value) else f"CAST('{value}' AS DOUBLE)"
        case datetime():
            return f"TIMESTAMP_MICROS({_constant(to_instant(value))})"
        case date():
            return f"DATE'{value.isoformat()}'"
    if _PLAIN_TEXT.issuperset(value):
        return f"'{value}'"
    return f"CAST(X'{value.encode().hex()}' AS STRING)"  # however a session reads its escapes


def _type(type: str | T.DataType) -> str:
    """A type as SQL names it."""
    match type:
        case str():
            return type
        case T.ArrayType():
            return f"ARRAY<{_type(type.elementType)}>"
        case T.StructType():
            members = (f"{quoted(each.name)}: {_type(each.dataType)}" for each in type.fields)
            return f"STRUCT<{', '.join(members)}>"
    return type.simpleString()
