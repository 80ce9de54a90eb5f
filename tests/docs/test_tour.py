"""The tour shows the pictures that its script takes."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location

from tests.docs.pages import ROOT


def test_the_tour_shows_a_picture_of_each_step() -> None:
    spec = spec_from_file_location("tour", ROOT / "scripts" / "tour.py")
    assert spec is not None
    assert spec.loader is not None
    tour = module_from_spec(spec)
    spec.loader.exec_module(tour)
    shown = re.findall(r"\(tour/(.+?)\)", (ROOT / "docs" / "tour.md").read_text(encoding="utf-8"))
    assert shown == [tour.picture_of(number, step) for number, step in enumerate(tour.STEPS, 1)]
    assert sorted(path.name for path in (ROOT / "docs" / "tour").iterdir()) == shown
