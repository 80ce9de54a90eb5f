"""How expressions are written: which operators bind tighter, and which words are no names."""

from __future__ import annotations

import re

from cepheid.core.types import BOOLEAN, SCALARS, DataType

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
TYPE_NAMES: dict[str, DataType] = {**SCALARS, "bool": BOOLEAN}

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
