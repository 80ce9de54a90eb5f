"""`cepheid jobs`: what it says, and its exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from cepheid.jobs import Jobs
from cepheid.jobs.process import all_end, kill_all, marked
from cepheid.jobs.record import LATEST, MARK, RECORD
from tests.cli.conftest import Run

BATCH = ("run", "p.epl", "--events", "e.jsonl", "--engine", "reference")


@pytest.fixture
def place(folder: Path) -> Iterator[Path]:
    """Where the records are; no process stays."""
    place = folder / ".cepheid" / "jobs"
    yield place
    folders = [str(job) for job in place.glob("*")]
    assert kill_all(lambda: [p for each in folders for p in marked(MARK, each)], 10)


def wait_for_the_end(place: Path, name: str) -> None:
    process = Jobs(place).job(name).process
    assert all_end(lambda: [process] if process.is_alive else [], 30)


def test_a_batch_is_started_listed_and_read(cepheid: Run, place: Path) -> None:
    started = cepheid("jobs", "start", *BATCH)
    assert (started.code, started.out) == (0, "started p-1\n")
    wait_for_the_end(place, "p-1")
    listed = cepheid("jobs", "list")
    assert listed.out.splitlines()[0].split() == ["job", "state", "since", "events", "rows"]
    first, state, _, *counts = listed.out.splitlines()[2].split()
    assert (first, state, counts) == ("p-1", "finished", ["3", "2"])
    shown = cepheid("jobs", "list", "p-1").out
    assert "cepheid run p.epl --events e.jsonl" in shown
    assert '"@type": "Big"' in shown
    (told,) = cepheid("jobs", "list", "--json").data
    assert (told["state"], told["rows"], len(told["latest"])) == ("finished", 2, 2)
    assert [
        json.loads(row) for row in cepheid("jobs", "log", "p-1", "-f").out.splitlines()
    ] == told["latest"]
    assert cepheid("jobs", "restart", "p-1").out == "started p-1 again\n"
    wait_for_the_end(place, "p-1")
    assert cepheid("jobs", "remove", "p-1").out == "removed p-1\n"
    assert cepheid("jobs", "list").out == "no jobs in .cepheid/jobs\n"


def test_options_before_the_command_are_those_of_start(cepheid: Run, place: Path) -> None:
    os.mkfifo("pipe.jsonl")
    other = str(place)
    command = ("run", "p.epl", "--events", "pipe.jsonl", "--engine", "reference")
    assert cepheid("jobs", "start", "--name", "x", "--folder", other, *command).code == 0
    os.kill(Jobs(other).job("x").process.number, signal.SIGSTOP)
    stopped = cepheid("jobs", "stop", "x", "--within", "100ms")
    assert stopped.out == "x is stopped by force\n"


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("stop", "x"), 1, "error[bad-job]: no job 'x'"),
        (("restart", "x"), 1, "error[bad-job]: no job 'x'"),
        (("remove", "x"), 1, "error[bad-job]: no job 'x'"),
        (("log", "x"), 1, "error[bad-job]: no job 'x'"),
        (("list", "x"), 1, "error[bad-job]: no job 'x'"),
        (("inspect", "x"), 1, "error[bad-job]: no job 'x'"),
        (("stop", "x", "--within", "soon"), 2, "--within: 'soon' is not a time period"),
        (("start", "check", "p.epl"), 2, "'check' is no job"),
        (("start", "run", "nowhere.epl"), 2, "cannot read 'nowhere.epl'"),
        (("start", "run", "p.epl", "--events", "e.jsonl", "--engine", "x"), 2, "'x' is no value"),
        (("start", "--name", "a/b", *BATCH), 2, "'a/b' cannot be the name of a job"),
        (("start", "--folder", "p.epl", *BATCH), 1, "error[bad-file]"),
        (("list", "--folder", "p.epl"), 1, "error[bad-file]"),
        (("start", "run", "--pipeline", "x.toml"), 2, "a pipeline does not run as a job"),
    ],
)
def test_what_is_wrong_is_said(
    cepheid: Run, place: Path, args: tuple[str, ...], code: int, said: str
) -> None:
    outcome = cepheid("jobs", *args)
    assert said in outcome.err
    assert outcome.code == code
    assert not list(place.glob("*"))


def test_a_batch_keeps_nothing(cepheid: Run, place: Path) -> None:
    assert cepheid("jobs", "start", *BATCH).code == 0
    wait_for_the_end(place, "p-1")
    refused = cepheid("jobs", "inspect", "p-1")
    assert (refused.code, "'p-1' keeps nothing: it is no stream" in refused.err) == (1, True)


def test_a_disk_that_is_full_refuses_the_start_and_nothing_stays(place: Path) -> None:
    """As a file system without room for a single byte."""
    command = f"ulimit -f 0; exec {sys.executable} -m cepheid jobs start {' '.join(BATCH)} 2>&1"
    started = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "error[bad-file]: cannot write into" in started.stdout
    assert started.returncode == 1
    assert not list(place.glob("*"))


ODD = "\x1b[31m\x9b2J\u202e[bold]<b>x</b>"


def test_no_record_rules_the_terminal(cepheid: Run, place: Path) -> None:
    """Names, values, messages and rows with escape sequences are shown with escapes."""
    assert cepheid("jobs", "start", *BATCH).code == 0
    wait_for_the_end(place, "p-1")
    record = json.loads((place / "p-1" / RECORD).read_text())
    problem = {"code": "bad-value", "severity": "error", "message": ODD, "hint": ODD, "line": None}
    record |= {"state": "failed", "errors": [problem], "since": ODD, "watermark": ODD, "begun": ODD}
    record |= {"command": ["run", ODD], "program": [ODD], "home": ODD, "checkpoint": ODD}
    odd = place / f"x{ODD.replace('/', '')}"
    for folder in (odd, place / "y"):
        folder.mkdir()
        (folder / RECORD).write_text(json.dumps(record))
        (folder / LATEST).write_text(json.dumps({"x": ODD}, ensure_ascii=False))
    (place / "z").mkdir()
    (place / "z" / RECORD).write_text(json.dumps({**record, "runs": ODD}))
    for args in (["list"], ["list", "y"], ["list", odd.name]):
        outcome = cepheid("jobs", *args)
        assert "[bold]<b>x</b>" in outcome.out
        text = outcome.out + outcome.err
        assert {unicodedata.category(c) for c in text if c != "\n"}.isdisjoint({"Cc", "Cf"})


def test_passwords_in_addresses_are_not_shown(cepheid: Run, place: Path) -> None:
    assert cepheid("jobs", "start", *BATCH).code == 0
    wait_for_the_end(place, "p-1")
    file = place / "p-1" / RECORD
    command = ["stream", "p.epl", "--source", "mqtt://me:secret@host/t"]
    file.write_text(json.dumps({**json.loads(file.read_text()), "command": command}))
    for args in (["list", "p-1"], ["list", "--json"]):
        outcome = cepheid("jobs", *args)
        assert "@host" in outcome.out
        assert "secret" not in outcome.out
    assert (place / "p-1").stat().st_mode & 0o077 == 0
