"""What engines leave out: one list, with reasons.

An engine may refuse a program only for what is listed here. Each gap has a program that shows it:
once an engine runs that, the gap has closed, a test fails, and the line goes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.conformance.scenarios import Example

_OPERATORS = ("compiled", "compiled, in batches", "lanes", "lanes, in batches")


@dataclass(frozen=True, slots=True)
class Gap:
    """What some engines refuse, in words of theirs, why, and a program that has it."""

    engines: tuple[str, ...]
    fact: str  # a regular expression
    why: str
    text: str

    @property
    def example(self) -> Example:
        return Example(self.text, "A1@0 @1000")

    def explains(self, engine: str, fact: str) -> bool:
        return engine in self.engines and re.fullmatch(self.fact, fact) is not None


_MATCHER = "the matcher leaves such statements to the reference semantics, which `local` runs then"

GAPS = (
    Gap(_OPERATORS, "order by strings and nested values", _MATCHER, "select k from A order by k;"),
    Gap(_OPERATORS, "min and max of strings", _MATCHER, "select max(k) as k from A;"),
    Gap(
        ("lanes", "lanes, in batches"),
        "a statement takes events one at a time",
        "lanes are for chains and windows side by side; everything else runs event by event",
        "select * from pattern [every (a=A or b=B)];",
    ),
)


def listed(engine: str, fact: str) -> bool:
    return any(gap.explains(engine, fact) for gap in GAPS)
