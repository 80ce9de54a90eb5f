"""Every golden case gives its rows, on every engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.compare import agree
from tests.conformance.engines import ENGINES, REFERENCE
from tests.conformance.scenarios import FOLDER, Example, FileExample, outcome, read, write
from tests.effort import EFFORT, IS_QUICK
from tests.examples.test_golden import RUNS, Run

FILES = sorted(FOLDER.glob("*.txt"))
OTHERS = [name for name in ENGINES if name != REFERENCE.name]
# On each run some configurations take a sample: others that are much like them take everything.
# In a hurry only the engine that users run takes everything.
SAMPLED = (
    [name for name in OTHERS if name != "local, records"]
    if IS_QUICK
    else ["reference, restarted", "compiled", "lanes", "lanes, in batches"]
)
EVERY = (16 if IS_QUICK else 4) if EFFORT == 1 else 1
OVER_EXAMPLES = [name for name in OTHERS if EVERY == 1 or name not in SAMPLED]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_reference_gives_the_golden_rows(file: Path, rewrite: bool) -> None:
    scenarios = read(file)
    wrong = []
    for case in scenarios.cases:
        rows = outcome(case.text, scenarios.sequences[case.events], engine="reference")
        if rows != case.expected:
            wrong.append((case.name, case.text, case.expected, rows))
            case.expected = rows
    if rewrite:
        write(scenarios)
    else:
        assert not wrong


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("name", OTHERS)
def test_every_engine_gives_the_rows_of_the_reference(name: str, file: Path) -> None:
    scenarios = read(file)
    step = EVERY if name in SAMPLED else 1
    for case in scenarios.runnable[::step]:
        agree(ENGINES[name], Example(case.text, scenarios.sequences[case.events]))


@pytest.mark.parametrize("run", RUNS, ids=str)
@pytest.mark.parametrize("name", OVER_EXAMPLES)
def test_every_engine_gives_the_rows_of_an_example(name: str, run: Run) -> None:
    files = tuple(run.path / name for name in run.events)
    agree(ENGINES[name], FileExample.of(run.path / run.program, files))


def test_golden_files_are_written_as_they_are_read(tmp_path: Path) -> None:
    for file in FILES:
        scenarios = read(file)
        scenarios.path = tmp_path / file.name
        write(scenarios)
        assert scenarios.path.read_text() == file.read_text()
