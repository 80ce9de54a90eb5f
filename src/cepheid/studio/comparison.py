"""Rows of two versions of a program side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cepheid.core.event import Event
from cepheid.io.encode import encode, to_json

Where: TypeAlias = Literal["both", "here", "there"]


@dataclass(frozen=True, slots=True)
class Compared:
    row: Event
    where: Where


def compare_rows(here: Sequence[Event], there: Sequence[Event]) -> list[Compared]:
    """All rows of both in the order of their times; what both have is one.

    Rows are the same where files would say the same of them; equal ones are counted.
    """
    left = Counter(map(_said, there))
    found: list[Compared] = []
    for row in here:
        said = _said(row)
        is_in_both = left[said] > 0
        left[said] -= is_in_both
        found.append(Compared(row, "both" if is_in_both else "here"))
    for row in there:
        said = _said(row)
        if left[said] > 0:
            left[said] -= 1
            found.append(Compared(row, "there"))
    found.sort(key=lambda each: (each.row.instant, each.row.type))
    return found


def _said(row: Event) -> str:
    return to_json(encode(row))
