"""Commands over models: whatever is wrong with a file is a finding with its place, never a traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome, Run

pytest.importorskip("pyecore")

FILES = Path(__file__).parents[1] / "live" / "files"
QUERIES = "pattern busy(h : Host) {\n    Host.availableCpu(h, n);\n    check(n > 90);\n}\n"
CHANGES = '{"@time": 1, "changes": [{"create": "Host", "as": "h", "values": {"id": "h9"}}]}\n'


@pytest.fixture
def live(cepheid: Run, folder: Path, write: Callable[[str, str], Path]) -> Callable[..., Outcome]:
    """Runs queries over a model; each file may be damaged before, by replacing a text."""

    def run(file: str = "", before: str = "", after: str = "") -> Outcome:
        texts = {
            "m.ecore": (FILES / "cps.ecore").read_text(),
            "m.xmi": (FILES / "plant.xmi").read_text(),
            "q.vql": QUERIES,
            "c.jsonl": CHANGES,
        }
        if file:
            assert before in texts[file]
            texts[file] = texts[file].replace(before, after, 1)
        for name, text in texts.items():
            write(name, text)
        options = ("--metamodel", "m.ecore", "--model", "m.xmi", "--changes", "c.jsonl")
        return cepheid("live", "q.vql", *options, "--save", "after.xmi")

    return run


DAMAGES = {
    "a broken XMI": ("m.xmi", "</cps:System>", "", "m.xmi:11:1: error[bad-model]"),
    "an unknown class": ("m.xmi", "org/cps", "org/csp", "m.xmi:2:1: error[bad-model]"),
    "an unknown feature": ("m.xmi", "load=", "lod=", "m.xmi:3:1: error[unknown-feature]"),
    "a dangling reference": ("m.xmi", "@hosts.1", "@hosts.9", "m.xmi:3:1: error[unknown-object]"),
    "a value of the wrong type": ("m.xmi", '"0.5"', '"high"', "m.xmi:3:1: error[bad-value]"),
    "a multiplicity that is violated": ("m.xmi", ' id="h2"', "", "m.xmi:4:1: error[bad-model]"),
    "a truncated metamodel": ("m.ecore", "</ecore:EPackage>", "", "m.ecore:28:1: error[bad-model]"),
    "a type that is not supported": ("m.ecore", "EDouble", "EDate", "m.ecore:18:1: error[unsupported]"),
    "a class that is not there": ("q.vql", "h : Host", "h : Hots", "q.vql:1:14: error[unknown-class]"),
    "a feature that is not there": ("q.vql", "availableCpu", "cpu", "q.vql:2:5: error[unknown-feature]"),
    "an unbound variable": ("q.vql", "n > 90", "m > 90", "q.vql:3:11: error[unbound-variable]"),
    "types that never fit": ("q.vql", "n > 90", "n > 'a'", "q.vql:3:11: error[type-mismatch]"),
    "syntax": ("q.vql", "(h, n)", "(h n)", "q.vql:2:25: error[syntax]"),
    "a change of an unknown class": ("c.jsonl", '"Host"', '"Hots"', "error[unknown-class]"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_a_finding_with_its_place(
    damage: str, live: Callable[..., Outcome]
) -> None:
    file, before, after, said = DAMAGES[damage]
    outcome = live(file, before, after)
    assert outcome.code == 1
    assert said in outcome.err
    assert "Traceback" not in outcome.err
    assert not Path("after.xmi").exists()


def test_without_damage_the_model_is_saved(live: Callable[..., Outcome]) -> None:
    outcome = live()
    assert (outcome.code, outcome.err.count("error")) == (0, 0)
    assert 'id="h9"' in Path("after.xmi").read_text()
