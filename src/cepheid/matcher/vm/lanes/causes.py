"""Puts rows in the order of small numbers, each of which many rows share."""

from __future__ import annotations

from typing import Any

from numba import types

from cepheid.matcher.vm.jit import COLUMN, WORDS, entry


@entry(types.boolean(COLUMN, COLUMN, WORDS, WORDS, WORDS, WORDS))
def sort_by_cause(
    causes: Any, sources: Any, owners: Any, ends: Any, order: Any, places: Any
) -> Any:
    """Counts how many rows each cause has, so that each row is put where it belongs: `order` has the rows as
    they come then, `places` of each row its place.

    Rows of one cause stay in their order; true if some of them come from several sources, which end where
    `sources` says. `ends` and `owners` have a zero for each cause, and one more.
    """
    is_mixed, row = False, 0
    for source in range(len(sources)):
        while row < sources[source]:
            cause = causes[row]
            ends[cause + 1] += 1
            if not is_mixed and owners[cause] != source + 1:
                is_mixed = owners[cause] != 0
                owners[cause] = source + 1
            row += 1
    for cause in range(1, len(ends)):
        ends[cause] += ends[cause - 1]
    for row in range(len(causes)):
        cause = causes[row]
        order[ends[cause]], places[row] = row, ends[cause]
        ends[cause] += 1
    return is_mixed
