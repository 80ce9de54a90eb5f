"""A folder of jobs whose processes end with the test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cepheid.jobs import Jobs
from cepheid.jobs.process import kill_all, marked
from cepheid.jobs.record import MARK
from tests.cli.conftest import EVENTS, PROGRAM

RUN = ("run", "p.epl", "--engine", "reference", "--events")
BATCH = (*RUN, "e.jsonl")
ENDLESS = (*RUN, "pipe.jsonl")  # a pipe that no one writes into


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.epl").write_text(PROGRAM)
    (tmp_path / "e.jsonl").write_text(EVENTS)
    os.mkfifo(tmp_path / "pipe.jsonl")
    jobs = Jobs(tmp_path / "jobs")
    yield jobs
    folders = [str(folder) for folder in jobs.folder.glob("*")] if jobs.folder.is_dir() else []
    assert kill_all(lambda: [p for folder in folders for p in marked(MARK, folder)], 10)
