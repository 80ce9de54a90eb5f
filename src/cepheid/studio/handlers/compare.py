"""`compare`: the rows of a kept run beside those of another version of its program, over the same events."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from cepheid.core.time import format_instant
from cepheid.studio.comparison import Compared, compare_rows
from cepheid.studio.handlers.run import sources_of
from cepheid.studio.programs import program_to_run
from cepheid.studio.room import Given, Room, Verb
from cepheid.studio.runs import cell, run_of
from cepheid.verbs.running import run as run_program

_MOST = 1_000  # rows that are told; those that differ first


def compare(room: Room, given: Given) -> object:
    """`texts` and `without` are those of the other version."""
    kept, other = run_of(room, given), program_to_run(room, given)
    sources = sources_of(room, given, other)
    result = run_program(other, *sources, on_error="skip", progress=room.progress)
    found = compare_rows(kept.rows, list(result))
    counts = Counter((each.row.type, each.where) for each in found)
    return {
        "counts": [
            {"type": type, **{where: counts[type, where] for where in ("both", "here", "there")}}
            for type in sorted({*kept.found, *result.derived})
        ],
        "rows": [_told(each) for each in _chosen(found)],
        "of": len(found),
    }


def _chosen(found: list[Compared]) -> list[Compared]:
    by_interest = sorted(range(len(found)), key=lambda place: found[place].where == "both")
    return [found[place] for place in sorted(islice(by_interest, _MOST))]


def _told(each: Compared) -> dict[str, object]:
    row = each.row
    return {
        "where": each.where,
        "type": row.type,
        "time": format_instant(row.instant),
        "values": [[name, cell(value)] for name, value in row.items() if value is not None],
    }


COMPARE = Verb("compare", compare, "run")
