"""SQL as it is written: where its parts stand, and how they are spelled."""

from __future__ import annotations

import re

from sqlglot import exp

from cepheid.core.time import MICROSECONDS
from cepheid.errors import Span
from cepheid.sql.places import Places

# Words that sqlglot has no place for, before what they belong to.
_BEFORE = re.compile(r"(?:\bNOT\s+)?(?:\bEXISTS\s*\(\s*SELECT\b[^()]*)?$", re.IGNORECASE)


def text_of(places: Places, node: exp.Expr) -> str:
    """A part of some SQL as its author spells it, on one line."""
    return " ".join(places.text[slice(*_ends(places, node))].split())


def span_of(places: Places, node: exp.Expr) -> Span:
    return places.span(*_ends(places, node))


def _ends(places: Places, node: exp.Expr) -> tuple[int, int]:
    metas = [m for n in node.walk() if (m := n.meta).get("start") is not None]
    if not metas:
        return 0, len(places.text)
    start, end = min(m["start"] for m in metas), max(m["end"] for m in metas) + 1
    if isinstance(node, exp.Not | exp.Exists):
        found = _BEFORE.search(places.text[:start])
        start = found.start() if found else start
    # Parentheses are no nodes: those that are opened inside are closed there, too.
    inside = places.text[start:end]
    for _ in range(inside.count("(") - inside.count(")")):
        end = places.text.find(")", end) + 1 or len(places.text)
    return start, end


def listed(names: list[str]) -> str:
    """`'a', 'b' and 'c'`."""
    quoted = [f"'{name}'" for name in names]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))


def short(microseconds: int) -> str:
    """A length of time as a time literal."""
    for unit in ("days", "hours", "minutes"):
        if microseconds % MICROSECONDS[unit] == 0:
            return f"{microseconds // MICROSECONDS[unit]}{unit[0]}"
    return f"{microseconds // MICROSECONDS['seconds']}s"
