"""What is left of an example shows it, and nothing of it can be left out."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from cepheid.formal.shrink import shortest
from tests.effort import examples


@examples(100)
@given(st.lists(st.integers(0, 9), max_size=40), st.sets(st.integers(0, 9), max_size=3))
def test_what_is_needed_is_left(items: list[int], needed: set[int]) -> None:
    wanted = needed & set(items)

    def shows(some: Sequence[int]) -> bool:
        return wanted <= set(some)

    kept = shortest(items, shows)
    assert sorted(kept) == sorted(wanted)
    assert not any(shows(kept[:n] + kept[n + 1 :]) for n in range(len(kept)))
    rest = iter(items)
    assert all(item in rest for item in kept)  # in their order


def test_a_few_among_thousands_are_found_in_a_few_hundred_tries() -> None:
    tries = 0

    def shows(some: Sequence[int]) -> bool:
        nonlocal tries
        tries += 1
        return {17, 4_000, 7_777} <= set(some)

    assert shortest(range(10_000), shows) == (17, 4_000, 7_777)
    assert tries < 300
