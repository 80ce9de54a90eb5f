"""How expressions are written: what binds tighter, how deep they go, which words are no names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar

T = TypeVar("T")
# The direct parts of a node, each with the levels that its text lies deeper.
Levels: TypeAlias = Callable[[T], Iterable[tuple[T, int]]]

# Loosest first.
OR, AND, NOT, COMPARISON, CONCAT, SUM, PRODUCT, SIGN = range(1, 9)
PRECEDENCE: dict[str, int] = {
    "or": OR,
    "and": AND,
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">=", "is", "is not"), COMPARISON),
    "||": CONCAT,
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "/", "%"), PRODUCT),
}

# Deeper nesting gives a clear message; it also bounds the stack that parsing needs.
MAX_NESTING = 100
# Comparing, printing and pickling a tree recurse; this height leaves them room.
MAX_HEIGHT = 200

# Words that cannot be names unless they stand in backquotes.
RESERVED_WORDS = """
    and as between case create distinct else every false from having in insert irstream is istream
    like not null or regexp rstream select then true until when where while
"""
RESERVED = frozenset(RESERVED_WORDS.split())
IDENTIFIER = re.compile(r"[^\W\d][\w$]*")


def is_plain_name(name: str) -> bool:
    """Whether a name needs no backquotes."""
    return IDENTIFIER.fullmatch(name) is not None and name.lower() not in RESERVED


def find_excess(root: T, levels: Levels[T], what: str) -> str | None:
    """The fact for which a tree, or the text of it, is refused.

    Python can share one part many times, so every part is looked at once.
    """
    if _is_too_high(root, levels):
        return f"{what} with more than {MAX_HEIGHT} operators inside one another"
    if nesting(root, levels) > MAX_NESTING:
        return f"{what} with a text nested deeper than {MAX_NESTING} levels"
    return None


def _is_too_high(root: T, levels: Levels[T]) -> bool:
    row = [root]
    for _ in range(MAX_HEIGHT):
        row = list({id(part): part for node in row for part, _ in levels(node)}.values())
        if not row:
            return False
    return True


def nesting(root: T, levels: Levels[T]) -> int:
    """The most levels from the root down; an explicit stack, as trees may be high."""
    known: dict[int, int] = {}
    pending = [root]
    while pending:
        node = pending[-1]
        parts = list(levels(node))
        missing = [part for part, _ in parts if id(part) not in known]
        if missing:
            pending += missing
        else:
            known[id(node)] = max((n + known[id(part)] for part, n in parts), default=0)
            pending.pop()
    return known[id(root)]
