"""What all tests of reading share: a few types and a way to collect problems."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cepheid.errors import Diagnostic
from cepheid.io import Record, read_records

Read = Callable[[str, bytes | str], tuple[list[Record], list[Diagnostic]]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Writes the content into a file of that name and reads it."""

    def run(name: str, content: bytes | str) -> tuple[list[Record], list[Diagnostic]]:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        problems: list[Diagnostic] = []
        return list(read_records(path, on_problem=problems.append)), problems

    return run
