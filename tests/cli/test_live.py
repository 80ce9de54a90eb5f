"""`cepheid live`: what it shows, saves and records, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cepheid as cep
from tests.cli.conftest import Run

FILES = Path(__file__).parents[1] / "live" / "files"
VQL = """
@Constraint(key = {host}, message = "$host.id$ is wrong", severity = "error")
pattern wrong(host : Host) {
    Host.availableCpu(host, free);
    Host.totalCpu(host, total);
    check(free > total);
}
"""
VEPL = """
import-queries q
queryEvent invalid(host: Host) as wrong(host) found
queryEvent valid(host: Host) as wrong(host) lost
complexEvent mended(host: Host) { as invalid(host) -> valid(host) }
rule mend on invalid(h) { set h.availableCpu = h.totalCpu }
"""
CHANGES = """\
{"@time": 1, "changes": [{"set": {"type": "Host", "id": "h2"}, "feature": "availableCpu", "value": 99}]}
{"@time": 2}
"""


@pytest.fixture
def given(folder: Path) -> list[str]:
    pytest.importorskip("pyecore")
    for name, text in (("p.vql", VQL), ("p.vepl", VEPL), ("c.jsonl", CHANGES)):
        (folder / name).write_text(text)
    model = ["--metamodel", str(FILES / "cps.ecore"), "--model", str(FILES / "plant.xmi")]
    return ["live", "p.vepl", "p.vql", *model]


def test_everything_is_shown_as_it_happens(cepheid: Run, given: list[str]) -> None:
    done = cepheid(*given, "--changes", "c.jsonl", "--why")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "1970-01-01T00:00:01Z"
    assert [line.split()[1] for line in lines[1:]] == [
        *("found", "event", "rule", "change", "lost", "event", "event"),  # what was wrong before
        *("change", "found", "event", "rule", "change", "lost", "event", "event"),
    ]
    assert lines[-1].endswith("<- #10, #14")
    assert "1 transaction, 6 events, 2 rules done" in done.err


def test_changes_come_from_standard_input_and_entries_can_be_json(
    cepheid: Run, given: list[str]
) -> None:
    done = cepheid(*given, "--changes", "-", "--json", stdin=CHANGES)
    kinds = [row["kind"] for row in done.rows[7:]]
    assert kinds == ["change", "found", "event", "rule", "change", "lost", "event", "event"]
    assert done.rows[8]["message"] == "h2 is wrong"
    assert done.rows[10]["causes"] == [10]


def test_the_model_is_saved_and_events_are_recorded(
    cepheid: Run, given: list[str], folder: Path
) -> None:
    cepheid(*given, "--changes", "c.jsonl", "--save", "after.xmi", "--record", "events.jsonl")
    metamodel = cep.live.load_metamodel(FILES / "cps.ecore")
    after = cep.live.load_model("after.xmi", metamodel)
    [host] = [one for one in after.objects("Host") if one["id"] == "h2"]
    assert host["availableCpu"] == host["totalCpu"]
    told = [
        json.loads(line).get("@type") for line in (folder / "events.jsonl").read_text().splitlines()
    ]
    assert told == [*["invalid", "valid"] * 2, None]
    again = cepheid("run", "p.vepl", "p.vql", "--events", "events.jsonl")
    assert [row["@type"] for row in again.rows] == ["mended"] * 2


def test_rules_call_the_functions_of_a_file(cepheid: Run, given: list[str], folder: Path) -> None:
    (folder / "p.vepl").write_text(VEPL + "rule say on mended(h) { call say(h.id) }")
    (folder / "f.py").write_text("def say(run, id): print('mended', id, len(run.model))")
    done = cepheid(*given, "--changes", "c.jsonl", "--functions", "f.py")
    assert "mended h2 5" in done.out


@pytest.mark.parametrize(
    ("file", "text", "fact"),
    [
        ("c.jsonl", '{"@time": 1, "changes": [{"delete": "x"}]}', "c.jsonl:1:1: error[unknown-object]"),
        ("c.jsonl", "{", "error[bad-line]"),
        ("p.vql", VQL.replace("totalCpu(", "totlCpu("), "p.vql:5:"),
        ("p.vepl", VEPL.replace("h.totalCpu", "h.ttalCpu"), "error[unknown-feature]"),
        ("p.vepl", VEPL + "rule r on invalid(h) { call f(h) }", "error[unknown-function]"),
        ("p.vepl", VEPL + "@Priority(9) rule r on invalid(h) { set h.id = null }", "rule 'r' on invalid: "),
        ("p.vepl", VEPL + "@Priority(1) rule r on valid(h), invalid(h) { set h.availableCpu = 99 }\n"
         "rule s on invalid(h) { set h.availableCpu = 0 }", "never-settles"),
        ("f.py", "def f(:", "'f.py' cannot be run: SyntaxError"),
        ("f.py", "raise OSError('no')", "'f.py' cannot be run: OSError: no"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place_and_nothing_is_saved(
    cepheid: Run, given: list[str], folder: Path, file: str, text: str, fact: str
) -> None:
    (folder / "f.py").write_text("")
    (folder / file).write_text(text)
    done = cepheid(*given, "--changes", "c.jsonl", "--functions", "f.py", "--save", "after.xmi")
    assert done.code in (1, 2)
    assert fact in done.err
    assert "Traceback" not in done.err
    assert not (folder / "after.xmi").exists()


@pytest.mark.parametrize("option", ["--changes", "--functions", "--model", "--metamodel"])
def test_a_file_that_is_not_there_is_named(cepheid: Run, given: list[str], option: str) -> None:
    done = cepheid(*given, "--changes", "c.jsonl", option, "none.txt")
    assert done.code == 2
    assert "none.txt" in done.err


def test_what_is_wrong_can_be_skipped_and_counted(
    cepheid: Run, given: list[str], folder: Path
) -> None:
    (folder / "c.jsonl").write_text(
        "{\n" + CHANGES + '{"@time": 3, "changes": [{"delete": "x"}]}\n'
    )
    done = cepheid(*given, "--changes", "c.jsonl", "--on-error", "skip")
    assert done.code == 0
    assert "error[bad-line]" in done.err
    assert "2 skipped" in done.err


def test_a_metamodel_tells_more_of_a_program(cepheid: Run, given: list[str], folder: Path) -> None:
    del given
    (folder / "p.vql").write_text(VQL.replace("totalCpu(", "totlCpu("))
    assert "error" not in cepheid("check", "p.vepl", "p.vql").out
    done = cepheid("check", "p.vepl", "p.vql", "--metamodel", str(FILES / "cps.ecore"))
    assert done.code == 1
    assert "p.vql:5:5: error[unknown-feature]" in done.out


@pytest.mark.parametrize("option", ["--save", "--record"])
@pytest.mark.parametrize("file", ["p.vepl", "p.vql", "c.jsonl", "f.py"])
def test_what_is_read_is_not_overwritten(
    cepheid: Run, given: list[str], folder: Path, option: str, file: str
) -> None:
    (folder / "f.py").write_text("")
    before = (folder / file).read_text()
    done = cepheid(*given, "--changes", "c.jsonl", "--functions", "f.py", option, f"./{file}")
    assert done.code == 2
    assert f"{option} would overwrite" in done.err
    assert (folder / file).read_text() == before


def test_a_model_that_cannot_be_written_leaves_the_file_as_it_was(
    cepheid: Run, given: list[str], folder: Path
) -> None:
    (folder / "after.xmi").write_text("precious")
    step = {"set": {"type": "Host", "id": "h2"}, "feature": "id", "value": "x\u0001"}
    (folder / "c.jsonl").write_text(json.dumps({"@time": 1, "changes": [step]}))
    done = cepheid(*given, "--changes", "c.jsonl", "--save", "after.xmi")
    assert done.code == 1
    assert "'after.xmi' cannot be written" in done.err
    assert (folder / "after.xmi").read_text() == "precious"
    assert [path.name for path in folder.glob("*.part")] == []


def test_rules_that_were_undone_do_not_count(cepheid: Run, given: list[str], folder: Path) -> None:
    (folder / "p.vepl").write_text(VEPL.replace("set h.availableCpu = h.totalCpu", "call fail()"))
    (folder / "f.py").write_text("def fail(run): raise ValueError('no')")
    options = ("--changes", "c.jsonl", "--functions", "f.py", "--on-error", "skip")
    done = cepheid(*given, *options)
    assert "0 rules done, 2 skipped" in done.err
    assert "mend on invalid: undone" in done.out


def test_who_is_interrupted_saves_what_there_is(
    cepheid: Run, given: list[str], folder: Path
) -> None:
    """As by Ctrl-C, which is how to end changes that come without end."""
    (folder / "p.vepl").write_text(VEPL + "rule stop on mended(h) { call stop() }")
    (folder / "f.py").write_text("def stop(run): raise KeyboardInterrupt")
    options = ("--functions", "f.py", "--save", "after.xmi", "--record", "events.jsonl")
    done = cepheid(*given, "--changes", "c.jsonl", *options)
    assert done.code == 130
    assert "0 transactions" in done.err
    assert "<hosts" in (folder / "after.xmi").read_text()
    lines = (folder / "events.jsonl").read_text().splitlines()
    assert [json.loads(line).get("@type") for line in lines] == ["invalid", "valid", None]


def test_the_model_may_be_saved_in_its_place_but_not_over_a_recording(
    cepheid: Run, given: list[str], folder: Path
) -> None:
    (folder / "m.xmi").write_text((FILES / "plant.xmi").read_text())
    own = [*given[:-1], "m.xmi", "--changes", "c.jsonl"]
    assert cepheid(*own, "--save", "m.xmi").code == 0
    assert cepheid(*own, "--record", "m.xmi").code == 2
    done = cepheid(*own, "--save", "x", "--record", "x")
    assert done.code == 2
    assert "the same file" in done.err
