"""When an event has to be looked at again although nothing is learnt of it.

A condition changes its value with time only where an occurrence, shifted by some period, lies at or
before the round. Statements that wait for an edge, as most do, hold in the one round in which it
comes: at the occurrence for ONTIME, after it for LATE, unless that was dealt with. Others are asked in
the round after each change, and as long as they hold in every round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cepheid.bitemporal.tables import quoted
from cepheid.sql.atoms import atoms, is_edged
from cepheid.sql.conditions import ResolvedCondition

_NEVER = 2**63 - 1


def due_sql(
    conditions: Sequence[ResolvedCondition], chronon: int, *, fired: str, is_steady: str
) -> str:
    """The number of the next round that matters, or one before it, as SQL over pairs; or null.

    `fired` is the toggle after this round, and `is_steady` whether nothing at all happened in it.
    """
    if all(map(is_edged, conditions)):
        return f"CASE WHEN has_new THEN {_first(_edges(conditions, chronon, fired))} END"
    crossed = _first(_crossed(conditions, chronon))
    return f"CASE WHEN has_new THEN CASE WHEN {is_steady} THEN {crossed} ELSE now + 1 END END"


def _first(numbers: Iterable[str]) -> str:
    """The least of those after this round."""
    later = [f"CASE WHEN {number} > now THEN {number} ELSE {_NEVER} END" for number in numbers]
    return f"nullif(min({_NEVER}, {', '.join(later)}), {_NEVER})" if later else "NULL"


def _edges(conditions: Iterable[ResolvedCondition], chronon: int, fired: str) -> Iterator[str]:
    found = {atom for condition in conditions for atom in atoms(condition)}
    for name, bounds in sorted(found, key=repr):
        if name == "ONTIME":
            yield _number("new_occ", chronon)
        elif name == "LATE":
            after = f"{_number(f'new_occ + {bounds[0] if bounds else 0}', chronon)} + 1"
            yield f"CASE WHEN NOT {fired} THEN {after} END"


def _crossed(conditions: Iterable[ResolvedCondition], chronon: int) -> Iterator[str]:
    found = {(c.attribute, c.offset) for each in conditions for c in each.crossings}
    for attribute, offset in sorted(found):
        number = _number(f"{quoted(f'new_{attribute}')} + {offset}", chronon)
        yield number
        yield f"{number} + 1"


def _number(instant: str, chronon: int) -> str:
    """The number of the chronon of an instant, which may lie before the epoch."""
    time = f"({instant})"
    return f"(({time} - (({time} % {chronon}) + {chronon}) % {chronon}) / {chronon})"
