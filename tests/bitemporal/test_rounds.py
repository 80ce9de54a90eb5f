"""When rounds happen."""

from __future__ import annotations

from cepheid.bitemporal.rounds import Rounds, outage_numbers

ROUNDS = Rounds(10, 2, 12, ((4, 6), (9, 10), (12, 14)))


def test_rounds_happen_at_every_chronon_but_for_outages() -> None:
    assert list(ROUNDS) == [2, 3, 6, 7, 8, 10, 11]


def test_what_happens_in_an_outage_is_dealt_with_after_it() -> None:
    assert [ROUNDS.at_or_after(n) for n in (0, 3, 4, 5, 6, 9, 11, 12, 20)] == [
        *(2, 3, 6, 6, 6, 10, 11),
        *(None, None),
    ]


def test_the_round_before_lies_before_an_outage() -> None:
    assert [ROUNDS.before(n) for n in (2, 3, 6, 7, 10, 30)] == [None, 2, 3, 6, 8, 11]


def test_times_are_numbers_of_chronons_by_floor_also_before_the_epoch() -> None:
    assert [ROUNDS.number(instant) for instant in (-11, -10, -1, 0, 9, 10)] == [-2, -1, -1, 0, 0, 1]


def test_an_outage_takes_the_chronons_that_begin_in_it() -> None:
    assert outage_numbers([(15, 31), (40, 40), (25, 55), (70, 71)], 10) == ((2, 6), (7, 8))
