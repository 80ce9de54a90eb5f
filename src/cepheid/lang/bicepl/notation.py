"""How BiCEPL spells things: tokens, keywords, types, lengths of time, names."""

from __future__ import annotations

from collections.abc import Mapping

from cepheid.core.time import MICROSECONDS, Period, TimeUnit
from cepheid.core.types import DataType
from cepheid.errors import UsageError, error
from cepheid.expr.notation import IDENTIFIER
from cepheid.lang.common.lexer import Spelling, Tokens, tokenize
from cepheid.program.classes import TYPE_NAMES, USUAL_TYPES

# What a word means inside of SQL is the business of SQL; a quote doubled in a string is a quote.
_SPELLING = Spelling(
    symbols=("<=>", "==", "::", "||", "&", "|", "^", "~", "!", "?"),
    comment="--|//",
    suffix=r"[\w$]*",
    string=r"""'(?:[^'\\\n]|\\[^\n]|'')*'|"(?:[^"\\\n]|\\[^\n]|"")*\"""",
    escapes=False,
)


def tokens_of(text: str, file: str | None = None) -> Tokens:
    return tokenize(text, file, _SPELLING)


# Words that stand for themselves wherever they are, so that names like them need backquotes.
_OWN_WORDS = "create occurring on do"
_SQL_WORDS = """
    all and any as asc between by case cast cross desc distinct else end escape except exists false
    from full group having in inner intersect is join left like limit natural not null offset or
    order outer over partition right select semi anti then true union using when where with
"""
# Words that mean something where they stand, and are names elsewhere.
_PLACED_WORDS = """
    at class complex event freezing id immutable mutable observation span subscribed time
"""
RESERVED = frozenset(f"{_OWN_WORDS} {_SQL_WORDS}".split())
PRIMITIVES = frozenset(
    [
        "announcement",
        "cancellation",
        "change",
        "future",
        "futurecancel",
        "late",
        "ontime",
        "postpone",
        "retroactivechange",
        "revocation",
    ]
)
VERSIONS = frozenset({"new", "old", "now"})
KEYWORDS = RESERVED | frozenset(_PLACED_WORDS.split())

UNITS: Mapping[str, TimeUnit] = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def print_type(type: DataType) -> str:
    if type not in TYPE_NAMES:
        fact = f"an attribute of a class cannot be {type}"
        raise UsageError(error("unsupported", fact, hint=f"types: {', '.join(USUAL_TYPES)}"))
    return TYPE_NAMES[type][0]


def print_time(period: Period) -> str:
    """In the largest unit of which it is a whole number."""
    for letter, unit in UNITS.items():
        count, rest = divmod(period.microseconds, MICROSECONDS[unit])
        if not rest and not period.months and (count or letter == "s"):
            return f"{count}{letter}"
    fact = f"BiCEPL has no words for {period}: a time is a whole number of seconds"
    raise UsageError(error("unsupported", fact))


def print_name(name: str) -> str:
    is_plain = IDENTIFIER.fullmatch(name) is not None and name.lower() not in RESERVED
    return name if is_plain else f"`{name}`"
