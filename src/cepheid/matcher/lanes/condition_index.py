"""Conditions of many filters, found together: what they compare an attribute with is searched, not tried.

Of `x > 3`, `x > 5` and `x > 8`, ordered by their constants, those up to some place are true of a value; of `x = 3`,
`x = 5` and `x = 5` those between two places. Conditions of any other form are true of an event, or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cepheid.core.types import BOOLEAN
from cepheid.expr.compare import OPERATORS
from cepheid.expr.tree import Binary, Expr
from cepheid.matcher.columns.interning import Words
from cepheid.matcher.lanes.predicates import (
    LEAST,
    Bits,
    Comparison,
    Known,
    NumberOf,
    Values,
    comparison_in,
    exact,
    is_bound,
    stored_as,
)


class Ranges(NamedTuple):
    """Events, and of each the places of the first filter of an index that it passes, and behind the last one."""

    events: Words
    lows: Words
    highs: Words


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Filters that compare one attribute by the same sign, in the order of their constants."""

    known: Known
    sign: str
    constants: NDArray[Any]  # strings are numbers
    filters: Words

    def ranges(self, values: Values, of_type: Bits) -> Ranges:
        """Which filters take each event, if any does."""
        words = exact(values.words)
        true = of_type if values.nulls is None else of_type & ~values.nulls
        if self.sign == "=":
            events = np.flatnonzero(true)
            lows = np.searchsorted(self.constants, words[events], "left")
            highs = np.searchsorted(self.constants, words[events], "right")
            some = lows < highs
            return Ranges(events[some], lows[some], highs[some])
        easiest = self.constants[0 if self.sign in LEAST else -1]
        events = np.flatnonzero(true & OPERATORS[self.sign](words, easiest))
        places = self._places(words[events])
        if self.sign in LEAST:
            return Ranges(events, np.zeros(len(events), np.int64), places)
        return Ranges(events, places, np.full(len(events), len(self.constants)))

    def _places(self, words: NDArray[Any]) -> Words:
        """Where the constants end that are less than values, or at most these."""
        if self.sign in (">", "<="):
            return np.searchsorted(self.constants, words, "left")
        return np.searchsorted(self.constants, words, "right")


def searched_by(tests: Sequence[Expr]) -> Comparison | None:
    """The condition of a filter by which it is found among others; None where it has another form, or several."""
    if len(tests) != 1 or not isinstance(tests[0], Binary):
        return None
    found = comparison_in(tests[0])
    if found is None or found.known.type == BOOLEAN:
        return None
    return found if found.sign == "=" or is_bound(found) else None


def comparisons(found: Sequence[tuple[int, Comparison]], number_of: NumberOf) -> Comparisons:
    """Some filters that compare one attribute by the same sign."""
    _, (known, sign, _) = found[0]
    words = [number_of(c) if isinstance(c, str) else c for _, (_, _, c) in found]
    is_whole = np.issubdtype(stored_as(known.type), np.integer)
    constants = np.array(words, dtype=np.int64 if is_whole else np.float64)
    order = np.argsort(constants, kind="stable")
    return Comparisons(known, sign, constants[order], np.array([n for n, _ in found])[order])
