"""The list of gaps is true: what it says is refused, and for no other reason."""

from __future__ import annotations

import pytest

from tests.conformance.engines import ENGINES, Refused
from tests.conformance.gaps import GAPS, Gap


@pytest.mark.parametrize(
    ("name", "gap"), [(name, gap) for gap in GAPS for name in gap.engines], ids=str
)
def test_an_engine_refuses_what_is_listed(name: str, gap: Gap) -> None:
    with pytest.raises(Refused) as refusal:
        ENGINES[name].rows(gap.example)
    assert all(gap.explains(name, fact) for fact in refusal.value.args)
