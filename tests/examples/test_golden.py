"""Every example gives the rows and the findings that lie beside it.

`pytest tests/examples --rewrite` writes them anew.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

import cepheid as cep
from cepheid.io import encode

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Run:
    """A program of an example over its events; `only` keeps a golden file readable."""

    folder: str
    program: str
    events: tuple[str, ...]
    expected: str = "expected.jsonl"
    only: str | None = None

    @property
    def path(self) -> Path:
        return EXAMPLES / self.folder

    def __str__(self) -> str:
        return f"{self.folder}/{self.expected.removesuffix('.jsonl')}"


RUNS = (
    Run("comfort", "comfort.epl", ("th.events", "me.events")),
    Run("pregnancy", "pregnancy.epl", ("events.jsonl",)),
    Run("pregnancy", "pregnancy.epl", ("scenario.events",)),
    Run("pregnancy", "counter_batch.epl", ("counter_batch.jsonl",), "expected_batch.jsonl"),
    Run("motorbike", "motorbike.epl", ("events.jsonl",)),
    Run("motorbike", "motorbike.epl", ("listing1.jsonl",), "expected_listing1.jsonl"),
    Run(
        "motorbike",
        "motorbike_partitioned.epl",
        ("events.jsonl",),
        "expected_partitioned.jsonl",
    ),
    Run("temperature", "temperature.epl", ("events.jsonl",)),
    Run("temperature", "temperature_next.epl", ("events.jsonl",)),
    Run("airquality", "airquality.epl", ("events.jsonl",), only="AirQualityLevel"),
    Run("airquality", "airquality_fixed.epl", ("events.jsonl",), only="AirQualityLevel"),
    Run("gestures", "gestures.vepl", ("recorded.jsonl",)),
    Run("cps", "tolerance.vepl", ("recorded.jsonl",)),
)
# Programs over live models have tests of their own, and are here only if events were recorded.
PROGRAMS = sorted({*EXAMPLES.glob("*/*.epl"), *(run.path / run.program for run in RUNS)})
IN_GRAPHS = {("driving", "warning.epl")}  # over what operators make: `test_driving.py` runs it


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_an_example_gives_its_rows(run: Run, rewrite: bool) -> None:
    """On the reference; `tests/conformance` compares all other engines with it."""
    files = (run.path / name for name in run.events)
    result = cep.run(cep.load(run.path / run.program), *files, engine="reference")
    rows = result.of(run.only) if run.only else list(result)
    text = "".join(json.dumps(encode(row), ensure_ascii=False) + "\n" for row in rows)
    golden = run.path / run.expected
    if rewrite:
        golden.write_text(text)
    assert text.splitlines() == golden.read_text().splitlines()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_an_example_has_its_findings(
    program: Path, rewrite: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `cepheid check --json` prints in the folder of the example."""
    monkeypatch.chdir(program.parent)
    findings = [f.to_json() for f in cep.load(program.name).check()]
    is_main = program.stem == program.parent.name
    golden = program.with_name("findings.json" if is_main else f"findings_{program.stem}.json")
    if rewrite:
        golden.write_text(json.dumps(findings, indent=2) + "\n")
    assert findings == json.loads(golden.read_text())


def test_every_program_of_an_example_is_run() -> None:
    derive = [p for p in PROGRAMS if cep.load(p).tree.statements]  # others are rules and fixes
    run = {(r.folder, r.program) for r in RUNS}
    assert {(p.parent.name, p.name) for p in derive} == run | IN_GRAPHS


def test_findings_do_not_depend_on_what_was_checked_before() -> None:
    """Z3 gives other examples, and so other witnesses, where it was asked other things before."""
    program = EXAMPLES / "airquality" / "airquality.epl"
    findings = cep.load(program).check()
    assert cep.load(program).check() == findings
