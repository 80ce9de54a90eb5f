"""A table of nasty values, and expressions over it that all engines compute equally."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cepheid.core.time import FIRST_INSTANT, LAST_INSTANT
from cepheid.core.types import (
    BOOLEAN,
    DOUBLE,
    LONG,
    STRING,
    TIMESTAMP,
    Attribute,
    DataType,
)
from cepheid.sql.tables import Table, table

COLUMNS: dict[str, DataType] = {
    "s": STRING,
    "r": STRING,
    "i": LONG,
    "j": LONG,
    "d": DOUBLE,
    "e": DOUBLE,
    "b": BOOLEAN,
    "t": TIMESTAMP,
}
_TEXTS = (
    "",
    "a",
    "A",
    "ab",
    "b%",
    "a\nb",
    "ä",
    "ß",
    "\U0001f600x",
    " x ",
    "12",
    "-7",
    "1.5",
    "true",
    "it's",
    "\\",
    "${x}",
)
_WHOLE = (0, 1, -1, 7, -3, 2**53 + 1, 2**63 - 1, -(2**63))
_NUMBERS = (0.0, 0.5, -0.5, 2.675, 1.0, 1e16, -1e-5, 1e308, -1e308, 9007199254740992.0, 12345678.25)
VALUES: dict[str, tuple[object, ...]] = {
    "s": (None, *_TEXTS),
    "r": (*_TEXTS[3:], *_TEXTS[:3], None),
    "i": (None, *_WHOLE),
    "j": (*_WHOLE[4:], None, *_WHOLE[:4]),
    "d": (None, *_NUMBERS),
    "e": (*_NUMBERS[5:], None, *_NUMBERS[:5]),
    "b": (None, True, False),
    "t": (None, 0, -1, 1_767_225_600_000_001, FIRST_INSTANT, LAST_INSTANT, 59_999_999, -60_000_000),
}
TABLE: Table = table("V", [Attribute("k", LONG), *(Attribute(n, t) for n, t in COLUMNS.items())])


def rows() -> Iterator[dict[str, object]]:
    """All pairs of values of two columns of one type, beside many of the others."""
    for number in range(len(VALUES["s"]) * len(VALUES["r"])):
        row: dict[str, object] = {"k": number}
        for one, other in (("s", "r"), ("i", "j"), ("d", "e"), ("b", "t")):
            rest, place = divmod(number, len(VALUES[one]))
            row |= {one: VALUES[one][place], other: VALUES[other][rest % len(VALUES[other])]}
        yield {**row, "occ": number * 1_000_000, "det": number * 1_000_000 + 5}


ROWS: tuple[Mapping[str, object], ...] = tuple(rows())

# Each as an expression over one row; those that fail for some rows are apart, below.
EXPRESSIONS: tuple[str, ...] = (
    *(f"v.i {o} v.j" for o in ("=", "<>", "<", "<=", ">", ">=")),
    *(f"v.i {o} v.d" for o in ("=", "<", ">=")),
    *(f"v.d {o} v.e" for o in ("=", "<", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")),
    *(f"v.s {o} v.r" for o in ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM")),
    *(f"v.t {o} v.occ" for o in ("=", "<>", "<", "<=", ">", ">=")),
    "v.b = TRUE", "v.b <> FALSE", "v.b", "NOT v.b", "v.b AND v.i > 0", "v.b OR v.d > 0",
    "v.b IS NULL", "v.b IS TRUE", "v.b IS NOT TRUE", "v.b IS FALSE", "v.s IS NOT NULL",
    "v.i = NULL", "v.s <> NULL", "NULL = NULL", "v.b = NULL", "v.t < NULL",
    "v.i IN (1, 7)", "v.i NOT IN (1, 7, NULL)", "v.d IN (1, 0.5)", "v.i IN (0.5, 1)",
    "v.s IN ('a', \"it's\", v.r)", "v.t IN (v.occ, TIMESTAMP '1970-01-01T00:00:00Z')",
    "v.i BETWEEN 0 AND 7", "v.d NOT BETWEEN v.e AND 1", "v.s BETWEEN 'a' AND 'b'",
    "v.s LIKE 'a%'", "v.s NOT LIKE '%b'", "v.s LIKE '_'", "v.s LIKE 'a_b'", "v.s LIKE 'b\\%'",
    "v.s LIKE '\\\\\\\\'", "v.s LIKE ''", "v.s LIKE 'A'", "v.s LIKE '__'", "v.s LIKE '${x}'",
    "v.d + v.e", "v.d - v.e", "v.d * v.e", "v.d * 0", "-v.d", "v.i + v.d", "v.i * 0.5", "v.d * v.d - v.e * v.e",
    "v.d / 2", "v.i / 7", "v.i / 0.1", "v.i % 7", "v.i % -3", "mod(v.d, 7)", "v.d % 0.1",
    "(v.t + 1h) - v.occ", "v.t + 30m > v.occ - 1d", "(v.t - v.occ) * 2", "v.t - v.occ > 30m", "30m > 29",
    "v.t - 1d", "1h + v.t", "30m", "2 * 30m", "1h - 30m",
    "CASE WHEN v.b THEN v.i WHEN v.i > 0 THEN 0.5 ELSE NULL END", "CASE v.i WHEN 1 THEN 'x' WHEN 7 THEN v.s END",
    "CASE v.i WHEN 0.5 THEN 1 ELSE 2.5 END", "CASE WHEN v.b THEN v.t ELSE v.occ END",
    "coalesce(v.i, v.d)", "coalesce(v.s, v.r, 'x')", "coalesce(v.t, v.occ)", "nullif(v.i, 1)", "nullif(v.i, v.d)",
    "greatest(v.i, v.j)", "least(v.i, v.d, 3)", "greatest(v.s, v.r, 'b')", "max(v.t, v.occ) - 1h",
    "min(v.t, v.occ)", "least(v.d, v.e)",
    "abs(v.d)", "abs(v.j % 100)", "round(v.d)", "round(v.d, 2)", "round(v.i, 1)", "round(v.d, 15)", "floor(v.d % 1000)", "ceil(v.d % 1000)",
    "floor(v.i)", "ceil(v.j)", "sign(v.d)", "sign(v.i)",
    "length(v.s)", "lower(v.s)", "upper(v.s)", "trim(v.s)", "concat(v.s, v.r)", "v.s || '-' || v.r",
    *(f"substring(v.s, {start})" for start in (0, 1, 2, -1, -2, -9, 99)),
    *(f"substring(v.s, {start}, {length})" for start in (0, 1, -2, -9) for length in (0, 1, 3, -1, 99)),
    "substring(v.s, 2147483647, 2147483647)", "substring(v.s from 2 for 1)",
    "replace(v.s, 'a', 'bb')", "replace(v.s, '', 'x')", "replace(v.s, v.r, '')", "replace(v.s, 'a')",
    "CAST(v.i AS NUMBER)", "CAST(v.i AS TEXT)", "CAST(v.b AS INTEGER)", "CAST(v.b AS NUMBER)", "CAST(v.b AS TEXT)",
    "CAST(v.i AS BOOLEAN)", "CAST(v.d AS BOOLEAN)", "CAST('12' AS INTEGER)", "CAST(' +1.5e3 ' AS NUMBER)",
    "CAST('Infinity' AS NUMBER) - v.d", "CAST('yes' AS BOOLEAN)", "CAST(round(v.d % 1000) AS INTEGER)",
    "CAST('nan' AS NUMBER)", "CAST('-inf' AS NUMBER) * 0", "CAST(NULL AS INTEGER)", "-9223372036854775808",
    "'a\\nb' || \"c\\\"d\" || '\\u00e4'", "'''' || 'x\\\\y'", "1e308 * 10", "0.1 + 0.2", "1 / 3",
)  # fmt: skip

FAILING: tuple[str, ...] = (
    "v.i + v.j", "v.i - v.j", "v.i * v.j", "v.i + 1", "-v.i", "abs(v.i)", "v.d / v.e", "v.i / v.j", "v.i % v.j",
    "v.d % v.e", "CAST(v.s AS INTEGER)", "CAST(v.s AS NUMBER)", "CAST(v.s AS BOOLEAN)", "CAST(v.d AS INTEGER)",
    "v.s LIKE v.r", "floor(v.d)", "ceil(v.d)", "substring(v.s, v.i)", "substring(v.s, 1, v.j)",
)  # fmt: skip

AGGREGATES: tuple[str, ...] = (
    "count(*)", "count(v.i)", "count(DISTINCT v.s)", "count(DISTINCT v.i)", "min(v.s)", "max(v.s)", "min(v.i)", "max(v.d)",
    "min(v.b)", "max(v.t) - 1h", "sum(v.d)", "avg(v.d)", "sum(DISTINCT v.e)", "avg(DISTINCT v.e)", "sum(v.i % 1000)",
    "avg(v.i)", "avg(DISTINCT v.i)", "sum(v.d) / 3", "sum(v.i / 10)", "max(v.t) - min(v.occ)", "sum(v.t - v.occ)",
    "greatest(max(v.i), 5)", "sum(CASE WHEN v.b THEN 1 ELSE 0 END)", "sum(1h)",
)  # fmt: skip
