"""Every constellation of an event in a round: what was known, what is known, and where NOW lies.

The constellations of figure 4: the occurrence in the old and in the new view before, at or after NOW,
or missing; whether it changed; whether ONTIME or LATE was true of it before.
"""

from __future__ import annotations

from itertools import product

import pytest

import cepheid as cep
from cepheid.bitemporal.primitives import PRIMITIVES, Constellation, is_late_between
from cepheid.bitemporal.reference import constellation_of
from cepheid.bitemporal.repository import Row
from cepheid.bitemporal.rounds import Rounds
from cepheid.bitemporal.statements import Pair, Statements, StatementsSql
from cepheid.sql.sqlite import connect

NOW = 10
BEFORE, AT, AFTER = 7, 10, 12

# Old, new, whether it changed: what holds, where `late` and `retro` depend on the toggle.
EXPECTED: dict[tuple[int | None, int | None, bool], str] = {
    (None, BEFORE, False): "ANNOUNCEMENT late",
    (None, AT, False): "ANNOUNCEMENT ONTIME",
    (None, AFTER, False): "ANNOUNCEMENT FUTURE",
    (BEFORE, None, False): "CANCELLATION REVOCATION",
    (AT, None, False): "CANCELLATION",
    (AFTER, None, False): "CANCELLATION FUTURECANCEL",
    (BEFORE, BEFORE, True): "CHANGE late retro",
    (BEFORE, AT, True): "CHANGE ONTIME",
    (BEFORE, AFTER, True): "CHANGE POSTPONE",
    (AT, BEFORE, True): "CHANGE late",
    (AT, AT, True): "CHANGE ONTIME",
    (AT, AFTER, True): "CHANGE",
    (AFTER, BEFORE, True): "CHANGE late",
    (AFTER, AT, True): "CHANGE ONTIME",
    (AFTER, AFTER, True): "CHANGE FUTURE",
    (BEFORE, BEFORE, False): "late",
    (AT, AT, False): "ONTIME",
    (AFTER, AFTER, False): "",
}
CASES = [(*key, fired) for key, fired in product(EXPECTED, (False, True))]


def expected(old: int | None, new: int | None, changed: bool, fired: bool) -> set[str]:
    words = EXPECTED[old, new, changed].split()
    toggled = {"late": None if fired else "LATE", "retro": "RETROACTIVECHANGE" if fired else None}
    return {found for word in words if (found := toggled.get(word, word)) is not None}


@pytest.mark.parametrize(("old", "new", "changed", "fired"), CASES)
def test_each_constellation_has_its_primitives(
    old: int | None, new: int | None, changed: bool, fired: bool
) -> None:
    constellation = Constellation(NOW, old, new, changed, fired)
    held = {name for name, holds in PRIMITIVES.items() if holds(constellation)}
    assert held == expected(old, new, changed, fired)


def test_the_constellations_are_all_that_there_are() -> None:
    places = (None, BEFORE, AT, AFTER)
    possible = {
        (old, new, changed)
        for old, new, changed in product(places, places, (False, True))
        if (old is not None or new is not None)
        and (not changed or None not in (old, new))
        and (changed or None in (old, new) or old == new)
    }
    assert possible == EXPECTED.keys()


TEXT = (
    "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x INTEGER) ID (k) FREEZING TIME (1d)\n"
    + ",\n".join(f"ON {name} DO {name}()" for name in PRIMITIVES)
    + ";"
)


@pytest.mark.parametrize(("old", "new", "changed", "fired"), CASES)
def test_sql_says_the_same_of_each(
    old: int | None, new: int | None, changed: bool, fired: bool
) -> None:
    [resolved] = cep.parse(TEXT, "bicepl").resolve().classes
    rounds = Rounds(60, 0, 100)
    before, after = (
        None if occ is None else Row((1, side if changed else 0), occ * 60 + 13, 0)
        for side, occ in enumerate((old, new))
    )
    pair = Pair((1,), before, after, fired)
    connection = connect()
    found = Statements(connection, resolved, rounds).firings([pair], NOW)
    held = {firing.action for _, firing in found}
    assert held == expected(old, new, changed, fired)
    constellation = constellation_of(pair, NOW, rounds)
    assert constellation == Constellation(NOW, old, new, changed, fired)
    toggle = StatementsSql.of(resolved, rounds.chronon).toggle
    [remains] = connection.execute(f'SELECT {toggle} FROM "A@pairs"').fetchone()
    sets, clears = held & {"ONTIME", "LATE"}, held & {"CANCELLATION", "POSTPONE"}
    assert remains == (bool(sets) or (fired and not clears))


def test_late_between_leaves_out_its_beginning_and_has_its_end() -> None:
    held = [now for now in range(20) if is_late_between(now, 12, 15, fired=False)]
    assert held == [13, 14, 15]
    assert not any(is_late_between(now, 12, 15, fired=True) for now in range(20))
