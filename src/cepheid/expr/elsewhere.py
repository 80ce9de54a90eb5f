"""Functions that other languages have, and what does the same here: for the hints of findings."""

from __future__ import annotations

_BEFORE = "a pattern has the event before: from pattern [every a=A -> b=A], with a.v beside b.v"
_CLOCK = "write current_timestamp, the time of the event in milliseconds"

INSTEAD: dict[str, str] = {
    "now": _CLOCK,
    "getdate": _CLOCK,
    "sysdate": _CLOCK,
    "current_time": _CLOCK,
    "unix_timestamp": _CLOCK,
    "lag": _BEFORE,
    "lead": _BEFORE,
    "row_number": "count(*) numbers the rows of a window, or of all time without one",
    "first_value": "write first(...), over a window",
    "last_value": "write last(...), over a window",
    "ifnull": "write coalesce(x, y)",
    "isnull": "write `x is null`, or coalesce(x, y)",
    "nvl": "write coalesce(x, y)",
    "iff": "write `case when c then x else y end`",
    "iif": "write `case when c then x else y end`",
    "if": "write `case when c then x else y end`",
    "len": "write length(text)",
    "char_length": "write length(text)",
    "substr": "write substring(text, start, count)",
    "ucase": "write upper(text)",
    "lcase": "write lower(text)",
    "mean": "write avg(...)",
    "average": "write avg(...)",
    "std": "write stddev(...)",
    "regexp_like": "write `text regexp 'pattern'`",
    "convert": "write cast(x, int)",
    "to_number": "write cast(x, double)",
}
