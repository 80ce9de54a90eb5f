"""The case study of the cyber-physical system: violations that are tolerated for a while, quick fixes, and
a deployment that is kept in step.

`pytest tests/examples --rewrite` writes the files that lie beside the example anew.
"""

from __future__ import annotations

import runpy
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import cepheid as cep
from cepheid import live
from cepheid.cli.main import main
from cepheid.io import fail, read_records
from cepheid.live.change_files import ChangeReader

FOLDER = Path(__file__).parents[2] / "examples" / "cps"
MODEL = ("--metamodel", "cps.ecore", "--model", "infrastructure.xmi")
TOLERANCE = ("tolerance.vepl", "fixes.vepl", "constraints.vql")
DEPLOYMENT = ("deployment.vepl", "deployment.vql")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyecore")
    monkeypatch.chdir(FOLDER)


@pytest.fixture(scope="module")
def functions() -> Mapping[str, Any]:
    return runpy.run_path(str(FOLDER / "functions.py"))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("file", "arguments"),
    [
        (
            "figure13.txt",
            (*TOLERANCE, "--changes", "figure13.jsonl", "--functions", "functions.py"),
        ),
        ("monday.txt", (*DEPLOYMENT, "--changes", "monday.jsonl", "--why")),
    ],
)
def test_the_terminal_shows_what_happens(
    capsys: pytest.CaptureFixture[str], rewrite: bool, file: str, arguments: tuple[str, ...]
) -> None:
    assert main(("live", *arguments, *MODEL)) == 0
    shown = capsys.readouterr().out
    if rewrite:
        (FOLDER / file).write_text(shown)
    assert shown == (FOLDER / file).read_text()


@pytest.mark.usefixtures("here")
def test_events_are_recorded_for_other_engines(tmp_path: Path, rewrite: bool) -> None:
    recorded = tmp_path / "recorded.jsonl"
    options = ("--changes", "figure13.jsonl", "--functions", "functions.py")
    assert main(("live", *TOLERANCE, *MODEL, *options, "--record", str(recorded))) == 0
    if rewrite:
        (FOLDER / "recorded.jsonl").write_text(recorded.read_text())
    assert recorded.read_text() == (FOLDER / "recorded.jsonl").read_text()


@pytest.mark.usefixtures("here")
def test_figure_13_step_by_step() -> None:
    offered: list[live.Fixes] = []

    def offer(run: live.Run, host: live.Object) -> None:
        offered.append(run.fixes())
        assert host["id"] == "10.0.0.1"

    program = cep.load(*TOLERANCE)
    run = live.open(
        program, "infrastructure.xmi", metamodel="cps.ecore", functions={"offerFixes": offer}
    )
    reader = ChangeReader(run)
    told: list[list[str]] = []
    for record in read_records("figure13.jsonl", on_problem=fail):
        reader.feed(record)
        told.append([e.event.type for e in run.entries if isinstance(e, live.Happened)])
    # A host has more available than in all; it changes further; another host is no third time.
    assert told == [["invalid"], ["stillInvalid"], [], ["stillInvalid", "tolerance"]]
    [fixes] = offered
    assert [str(solution) for solution in fixes.solutions] == [
        "lowerAvailableCpu(HostInstance#4)",
        "raiseTotalCpu(HostInstance#4)",
    ]
    assert [solution.diff() for solution in fixes.solutions] == [
        ("HostInstance#4.availableCpu: 10 -> 8",),
        ("HostInstance#4.totalCpu: 8 -> 10",),
    ]
    assert [violation.key for violation in run.violations()] == [(run.model[4],)]
    fixes.solutions[0].apply(run)
    assert not run.violations()
    told.append([e.event.type for e in run.entries if isinstance(e, live.Happened)])
    assert told[-1] == ["valid"]


def ids(held: object) -> set[object]:
    assert isinstance(held, tuple)
    return {one["id"] for one in held}


@pytest.mark.usefixtures("here")
def test_the_deployment_is_kept_in_step(tmp_path: Path) -> None:
    saved = tmp_path / "after.xmi"
    arguments = (*DEPLOYMENT, *MODEL, "--changes", "monday.jsonl", "--save", str(saved))
    assert main(("live", *arguments)) == 0
    model = live.load_model(saved, live.load_metamodel("cps.ecore"))
    sources = {host["id"]: ids(host["runs"]) for host in model.objects("HostInstance")}
    deployed = {host["ip"]: ids(host["applications"]) for host in model.objects("DeploymentHost")}
    assert sources == deployed == {"10.0.0.1": set(), "10.0.0.9": {"blog"}}


@pytest.mark.usefixtures("here")
def test_the_large_model_breaks_ten_rules_twice_and_twenty_steps_mend_it() -> None:
    program = cep.load("fixes.vepl", "constraints.vql")
    run = live.open(program, "large.xmi", metamodel="cps.ecore")
    broken = Counter(violation.match.query for violation in run.violations())
    assert set(broken.values()) == {2}
    assert len(broken) == 10
    best = run.fixes(states=50).solutions[0]
    assert len(best.steps) == 20
    assert best.found_after <= 21
    best.apply(run)
    assert not run.violations()


@pytest.mark.usefixtures("here")
def test_the_generator_writes_the_large_model(tmp_path: Path) -> None:
    generate = runpy.run_path("generate.py", run_name="generate")
    live.save_model(generate["model"](), tmp_path / "large.xmi")
    assert (tmp_path / "large.xmi").read_text() == (FOLDER / "large.xmi").read_text()


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("files", [TOLERANCE, DEPLOYMENT, ("fixes.vepl", "constraints.vql")])
def test_the_programs_fit_the_metamodel(files: tuple[str, ...]) -> None:
    from cepheid.live.programs import live_problems

    assert not live_problems(cep.load(*files).resolve(), live.load_metamodel("cps.ecore"))


def test_the_functions_are_those_that_rules_call(functions: Mapping[str, Any]) -> None:
    assert callable(functions["offerFixes"])
