"""`cepheid run`, `check` and `act` with a pipeline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bitemporal.test_replay import HISTORY, PROGRAM
from tests.cli.conftest import EXAMPLES, Run
from tests.pipelines.test_in_step import lines

SECOND = """\
CREATE MUTABLE SUBSCRIBED EVENT CLASS D(k INTEGER) ID (k) FREEZING TIME (10d)
ON ANNOUNCEMENT DO heard(NEW.k);
"""
PIPELINE = """\
chronon = "1m"
[sources.s]
events = "h.jsonl"
[programs.first]
files = "a.bicepl"
reads = "s"
[programs.second]
files = "b.bicepl"
reads = "first.D"
"""
NAMES = ("seen", "changed", "gone", "now", "heard")
EXECUTORS = "".join(f'[executors.{name}]\nkind = "log"\ntext = "{name}!"\n' for name in NAMES)
Write = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def given(write: Write) -> None:
    write("a.bicepl", PROGRAM)
    write("b.bicepl", SECOND)
    write("h.jsonl", lines(HISTORY))
    write("cepheid.toml", PIPELINE)


ACTIONS = ["seen", "changed", "heard", "seen", "now", "gone"]


def test_a_pipeline_in_this_folder_runs_without_being_named(cepheid: Run) -> None:
    outcome = cepheid("run")
    assert (outcome.code, outcome.err) == (0, "")
    assert [row["@type"] for row in outcome.rows] == ACTIONS


def test_another_one_is_named(cepheid: Run, write: Write) -> None:
    Path("cepheid.toml").rename("other.toml")
    for option in ("--pipeline", "-p"):
        assert [row["@type"] for row in cepheid("run", option, "other.toml").rows] == ACTIONS
    for command in ("run", "check"):
        outcome = cepheid(command)
        assert outcome.code == 2
        assert "no program is named, and there is no pipeline, 'cepheid.toml'" in outcome.err
        assert "cannot read 'none.toml'" in cepheid(command, "-p", "none.toml").err


def test_engines_types_and_outputs_are_chosen_as_for_one_program(cepheid: Run) -> None:
    assert [row["@type"] for row in cepheid("run", "--engine", "reference").rows] == ACTIONS
    rows = cepheid("run", "--type", "heard", "D").rows
    assert [(row["@type"], row.get("kind")) for row in rows] == [
        ("D", "announcement"),
        ("heard", None),
    ]
    assert cepheid("run", "--out", "o.csv").code == 0
    assert len(Path("o.csv").read_text().splitlines()) == 1 + len(ACTIONS)
    assert "seen (2 rows)" in cepheid("run", "--format", "table").out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--type", "nothing"], "'nothing' is no value of --type"),
        (["--engine", "warp"], "'warp' is no value of --engine"),
        (["--on-error", "maybe"], "'maybe' is no value of --on-error"),
        (["--chronon", "1m"], "--chronon: a pipeline, here 'cepheid.toml', says that"),
        (["--events", "h.jsonl", "--window", "sliding"], "--events and --window: a pipeline"),
        (["-p", "cepheid.toml", "a.bicepl"], "PROGRAM: a pipeline"),
        (["--late", "drop"], "--late: a pipeline"),
        (["--out", "h.jsonl"], "--out would overwrite 'h.jsonl', which is read"),
        (["--out", "cepheid.toml", "--format", "jsonl"], "--out would overwrite 'cepheid.toml'"),
        (["--out", "a.bicepl", "--format", "jsonl"], "--out would overwrite 'a.bicepl'"),
    ],
)
def test_wrong_options_are_wrong_use(cepheid: Run, options: list[str], words: str) -> None:
    outcome = cepheid("run", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err


def test_what_is_skipped_and_refused_is_told(cepheid: Run, write: Write) -> None:
    late = {**HISTORY[0], "@detected": 9_000, "x": 5.0}
    write("h.jsonl", lines([*HISTORY, late, {"@type": "A"}]))
    assert cepheid("run").code == 1
    outcome = cepheid("run", "--on-error", "skip")
    assert outcome.code == 0
    assert "skipped 1 record that cannot be read" in outcome.err
    assert "refused 1 detection of A: after the freeze" in outcome.err


def test_a_missing_file_of_events_is_told_at_its_place(cepheid: Run, write: Write) -> None:
    write("cepheid.toml", PIPELINE.replace("h.jsonl", "i.jsonl"))
    outcome = cepheid("run")
    assert (outcome.code, outcome.out) == (2, "")
    assert "cepheid.toml:2:1: error[missing-file]: no file 'i.jsonl'" in outcome.err


def test_a_check_says_what_it_looked_at(cepheid: Run) -> None:
    outcome = cepheid("check")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[-1].endswith(": 1 source, 2 programs, 5 kinds of actions")


def test_a_check_finds_all_mistakes_with_their_lines(cepheid: Run, write: Write) -> None:
    write(
        "cepheid.toml",
        PIPELINE.replace('"s"', '"t"').replace("first.D", "first.E")
        + EXECUTORS.split("[executors.changed]")[0],
    )
    outcome = cepheid("check")
    assert outcome.code == 1
    assert "cepheid.toml:6:9: error[unknown-source]: no source 't'" in outcome.out
    assert 'reads = "t"' in outcome.out
    assert "error[unknown-class]: program 'first' has no class 'E'" in outcome.out
    found = cepheid("check", "--json").data
    assert {each["code"] for each in found} >= {"unknown-source", "unknown-class", "no-executor"}
    ran = cepheid("run")
    assert (ran.code, ran.out) == (1, "")
    assert "cepheid.toml:6:9: error[unknown-source]" in ran.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("chronon =", "cepheid.toml:1:10: error[bad-pipeline]: this is not TOML"),
        ("", "cepheid.toml:1:1: error[bad-pipeline]: a pipeline has programs"),
        (PIPELINE.replace("a.bicepl", "none.bicepl"), "cepheid.toml:5:1: error[missing-file]"),
        (
            PIPELINE.replace("1m", "1 week or so"),
            "cepheid.toml:1:1: error[bad-pipeline]: a chronon",
        ),
    ],
)
def test_a_file_that_makes_no_sense_fails_every_command(
    cepheid: Run, write: Write, text: str, words: str
) -> None:
    write("cepheid.toml", text)
    for command in ("run", "check", "act"):
        outcome = cepheid(command)
        assert outcome.code != 0
        assert words in outcome.out + outcome.err


def test_actions_go_into_the_outbox_of_the_pipeline_and_are_done(
    cepheid: Run, write: Write
) -> None:
    write("cepheid.toml", f'outbox = "box"\n{PIPELINE}{EXECUTORS}')
    ran = cepheid("run")
    assert (ran.code, ran.out) == (0, "")
    assert "put 6 actions into 'box'" in ran.err
    assert "put 0 actions into 'box', 6 were there" in cepheid("run").err
    planned = cepheid("act", "--dry-run")
    assert "6 actions would be done" in planned.err
    done = cepheid("act", "--json")
    assert done.code == 0
    assert {name: each["delivered"] for name, each in done.data.items()} == {
        **dict.fromkeys(NAMES, 1),
        "seen": 2,
    }
    assert sum(each["delivered"] for each in cepheid("act", "--json").data.values()) == 0


def test_what_the_pipeline_does_not_say_is_named(cepheid: Run, write: Write) -> None:
    assert "'cepheid.toml' names no outbox" in cepheid("act").err
    assert "'cepheid.toml' has no executors" in cepheid("act", "box").err
    write("x.toml", EXECUTORS)
    cepheid("run", "--outbox", "box")
    assert cepheid("act", "box", "-x", "x.toml", "--dry-run").code == 0
    both = cepheid("act", "box", "-x", "x.toml", "-p", "cepheid.toml")
    assert (both.code, "leave nothing to --pipeline" in both.err) == (2, True)
    Path("cepheid.toml").unlink()
    for args, missing in ((["box"], "--executors"), ([], "OUTBOX")):
        outcome = cepheid("act", *args)
        assert outcome.code == 2
        assert f"no {missing} is named, and there is no pipeline" in outcome.err


def test_business_travel_is_checked_and_run_from_anywhere(cepheid: Run) -> None:
    file = str(EXAMPLES / "travel" / "cepheid.toml")
    assert cepheid("check", "-p", file).code == 0
    expected = (EXAMPLES / "travel" / "expected.jsonl").read_text().splitlines()
    rows = cepheid("run", "-p", file).rows
    assert sorted(map(json.dumps, rows)) == sorted(json.dumps(json.loads(e)) for e in expected)
