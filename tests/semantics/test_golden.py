"""Every golden scenario gives its rows, also when it is restarted after every event."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.scenarios import FOLDER, outcome, read, write

ENGINES = ("reference", "local")
FILES = sorted(FOLDER.glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("engine", ENGINES)
def test_golden_scenarios_give_their_rows(engine: str, file: Path, rewrite: bool) -> None:
    scenarios = read(file)
    wrong = []
    for case in scenarios.cases:
        rows = outcome(case.text, scenarios.sequences[case.events], engine=engine)
        if rows != case.expected:
            wrong.append((case.name, case.text, case.expected, rows))
            case.expected = rows
    if rewrite:
        write(scenarios)
    else:
        assert not wrong


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("engine", ENGINES)
def test_restarting_after_every_event_changes_nothing(engine: str, file: Path) -> None:
    scenarios = read(file)
    for case in scenarios.cases:
        events = scenarios.sequences[case.events]
        rows = outcome(case.text, events, engine=engine, restart=True)
        assert rows == case.expected, (case.name, case.text)


def test_golden_files_are_written_as_they_are_read(tmp_path: Path) -> None:
    for file in FILES:
        scenarios = read(file)
        scenarios.path = tmp_path / file.name
        write(scenarios)
        assert scenarios.path.read_text() == file.read_text()
