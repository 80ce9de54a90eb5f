"""One set of parts where there are too many to try all: what is least to ask for stays."""

from __future__ import annotations

import pytest

from cepheid.absence.parts import Kind, Lifted, Part
from cepheid.absence.probe import Ran, Witness
from cepheid.absence.search import one_set

CONDITION, COUNT, TAKEN = (Part(kind) for kind in (Kind.CONDITION, Kind.COUNT, Kind.TAKEN))


@pytest.mark.parametrize("parts", [(CONDITION, COUNT, TAKEN), (TAKEN, COUNT, CONDITION)])
def test_what_is_worst_to_ask_for_is_spared_first(parts: tuple[Part, ...]) -> None:
    def attempt(lifted: Lifted) -> Ran:
        return Ran([Witness.__new__(Witness)] if lifted else [], [], [])

    lifted, _ = one_set(parts, attempt)
    assert lifted == {CONDITION}
