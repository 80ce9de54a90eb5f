"""The generated files in the examples are what their generators write."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
GENERATED = {
    "airquality": ("airquality.epl", "airquality_fixed.epl", "events.jsonl"),
    "driving": ("drive.jsonl",),
    "gestures": ("frames.jsonl",),
    "homecare": ("history.jsonl",),
    "motorbike": ("events.jsonl",),
    "temperature": ("events.jsonl",),
    "travel": ("history.jsonl",),
}


@pytest.mark.parametrize("folder", GENERATED)
def test_a_generator_writes_the_files_that_lie_beside_it(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "generate.py"
    script.write_bytes((EXAMPLES / folder / "generate.py").read_bytes())
    monkeypatch.setattr(sys, "argv", [str(script)])
    runpy.run_path(str(script), run_name="__main__")
    for name in GENERATED[folder]:
        assert (tmp_path / name).read_text() == (EXAMPLES / folder / name).read_text(), name


def test_no_event_file_is_too_large_to_read() -> None:
    sizes = {path.name: path.stat().st_size for path in EXAMPLES.glob("*/*.jsonl")}
    assert sizes
    assert max(sizes.values()) < 300_000
