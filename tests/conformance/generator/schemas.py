"""The types of events, and what events of them hold."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
