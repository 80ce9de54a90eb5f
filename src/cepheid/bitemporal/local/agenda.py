"""When an event has to be looked at again although nothing is learnt of it.

A condition changes its value with time only where an occurrence, shifted by some period, lies at or
before the round. Statements that wait for an edge, as most do, hold in the one round in which it
comes: at the occurrence for ONTIME, after it for LATE, unless that was dealt with. Others are asked in
the round after each change, and as long as they hold in every round.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.bitemporal.repository import Row
from cepheid.bitemporal.rounds import Number, Rounds
from cepheid.core.time import Instant
from cepheid.program.resolved import ResolvedClass
from cepheid.sql.atoms import atoms, is_edged


class Agenda:
    """The times of one class's events."""

    def __init__(self, resolved: ResolvedClass, rounds: Rounds) -> None:
        conditions = [reaction.condition for reaction in resolved.reactions]
        self._rounds = rounds
        self._is_edged = all(map(is_edged, conditions))
        self._atoms = {atom for condition in conditions for atom in atoms(condition)}
        self._crossings = {
            (crossing.attribute, crossing.offset)
            for condition in conditions
            for crossing in condition.crossings
        }
        names = [attribute.name for attribute in resolved.declared.attributes]
        self._places = {name: place for place, name in enumerate(names)}

    def due(self, row: Row | None, now: Number, *, fired: bool, is_steady: bool) -> Number | None:
        """The next round that matters, or a number before it."""
        if row is None:
            return None
        if self._is_edged:
            found = self._edges(row, fired=fired)
        elif not is_steady:
            return now + 1
        else:
            found = self._crossed(row)
        return min((number for number in found if number > now), default=None)

    def _edges(self, row: Row, *, fired: bool) -> Iterator[Number]:
        for name, bounds in self._atoms:
            if name == "ONTIME":
                yield self._rounds.number(row.occ)
            elif name == "LATE" and not fired:
                yield self._rounds.number(row.occ + (bounds[0] if bounds else 0)) + 1

    def _crossed(self, row: Row) -> Iterator[Number]:
        for attribute, offset in self._crossings:
            instant = self._instant(row, attribute)
            if instant is not None:
                number = self._rounds.number(instant + offset)
                yield from (number, number + 1)

    def _instant(self, row: Row, attribute: str) -> Instant | None:
        if attribute in ("occ", "det"):
            return row.occ if attribute == "occ" else row.det
        value = row.values[self._places[attribute]]
        return value if isinstance(value, int) else None
