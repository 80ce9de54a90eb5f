"""`cepheid debug`: what its commands show, in the golden file beside, and how it takes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import cepheid as cep
from cepheid.cli.debug_commands import COMMANDS, Commands
from cepheid.semantics import limits
from tests.cli.conftest import Run

GOLDEN = Path(__file__).parent / "debug.txt"
RUN = ("debug", "p.epl", "--events", "e.jsonl")


def test_commands_show_what_the_golden_file_says(
    folder: Path, capsys: pytest.CaptureFixture[str], pytestconfig: pytest.Config
) -> None:
    """Each command after a `>`, with what it prints on either stream."""
    commands = Commands(cep.debug(cep.load("p.epl"), "e.jsonl"))
    golden = GOLDEN.read_text()
    shown = []
    for line in golden.splitlines():
        if line.startswith("> "):
            commands.done(line.removeprefix("> "))
            printed = capsys.readouterr()
            shown.append(f"{line}\n{printed.out}{printed.err}")
    if pytestconfig.getoption("--rewrite"):
        GOLDEN.write_text("".join(shown))
    assert golden == "".join(shown) or pytestconfig.getoption("--rewrite")


def test_commands_come_from_standard_input_up_to_quit(cepheid: Run, folder: Path) -> None:
    outcome = cepheid(*RUN, stdin="# the first\n\n  step\nq\nstep\n")
    assert (outcome.code, outcome.err) == (0, "")
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["0+0", "0+1", '{"@type":']


def test_commands_come_from_a_file(cepheid: Run, write: Callable[[str, str], Path]) -> None:
    write("c.txt", "continue\nrows 1")
    by_file = cepheid(*RUN, "--commands", "c.txt")
    assert by_file.code == 0
    assert by_file.out == cepheid(*RUN, stdin="continue\nrows 1").out
    assert json.loads(by_file.out.splitlines()[-1])["@type"] == "Big"
    assert (
        cepheid("debug", "p.epl", "--events", "-", "-c", "c.txt", stdin='{"@type": "A"').code == 1
    )


def test_a_command_that_cannot_be_done_does_not_end_the_others(cepheid: Run, folder: Path) -> None:
    outcome = cepheid(*RUN, stdin="stop\ncontinue\n")
    assert outcome.code == 1
    assert outcome.out.splitlines()[-1].endswith("the end")
    assert "no command 'stop'" in outcome.err


def test_bytes_that_are_no_text_are_no_command(cepheid: Run, folder: Path) -> None:
    outcome = cepheid(*RUN, stdin=b"step\n\xff\xfe\x00 1\nuntil -7.5\n")
    assert outcome.code == 1
    assert "no command" in outcome.err
    assert outcome.out.endswith("begun\n")


def test_a_run_that_fails_says_why_and_stays(
    cepheid: Run, write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RUNAWAY", 100)
    write(
        "p.epl",
        "create schema A (x int); select abs(x) as y from A; insert into A select x from A;",
    )
    write("e.jsonl", '{"@type": "A", "@time": 1, "x": 1}')
    outcome = cepheid(*RUN, stdin="step\ncontinue\nwhere\n")
    assert outcome.code == 1
    assert "error[runaway]" in outcome.err
    assert outcome.out.splitlines()[-1].startswith("  ")


def test_inspect_prints_json(cepheid: Run, folder: Path) -> None:
    outcome = cepheid(*RUN, stdin="next\ninspect\n")
    kept = json.loads(outcome.out.splitlines()[-1])
    assert set(kept) == {"clock", "statements", "timers", "queue"}
    [pair] = [each for each in kept["statements"] if each["statement"] == "Pair"]
    assert [each["bound"]["a"][0]["id"] for each in pair["partial"] if each["bound"]] == ["k"]


def test_help_lists_all_commands(cepheid: Run, folder: Path) -> None:
    out = cepheid(*RUN, stdin="help\n").out
    assert all(f"\n{name}" in out for name in COMMANDS)


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        (["--events", "-"], "standard input has the commands"),
        (["--commands", "none.txt"], "cannot read 'none.txt': no such file"),
        (["--commands", "."], "cannot read '.': is a directory"),
        (["--events", "none.jsonl"], "none.jsonl"),
        (["--start", "noon"], "--start"),
        (["--extra", "keep"], "--extra"),
        (["--unit", "days and nights"], "days and nights"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    cepheid: Run, folder: Path, options: list[str], fact: str
) -> None:
    outcome = cepheid(*RUN, *options)
    assert outcome.code == 2
    assert fact in outcome.err


def test_complex_events_show_what_they_used(
    cepheid: Run, write: Callable[[str, str], Path]
) -> None:
    write(
        "p.vepl",
        "atomicEvent A(id: string, x: int)\natomicEvent B(id: string, x: int)\n"
        "complexEvent O(k: string) { as (A(k, _) -> NOT B(k, _) -> A(k, _))[within 9 seconds] context chronicle }\n",
    )
    outcome = cepheid("debug", "p.vepl", "--events", "e.jsonl", stdin="next\npartial\n")
    assert outcome.out.splitlines()[2:] == [
        "O, since 1970-01-01T00:00:01Z, ends 1970-01-01T00:00:10.000001Z",
        '  used {"@type": "A", "@time": "1970-01-01T00:00:01Z", "id": "k", "x": 1, "@sequence": 0}',
        '  k = "k"',
        "  awaits A(id = k)",
        "  forbids B(id = k)",
    ]
