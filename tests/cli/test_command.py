"""The command as a whole: help, version, pipes, terminals, interrupts."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

import cepheid as cep
from cepheid.cli.main import main
from cepheid.cli.terminal.progress import ProgressBar
from tests.cli.conftest import EVENTS, Run

COMMAND = [sys.executable, "-m", "cepheid"]
AT_ONCE = ["--engine", "reference"]  # which starts soon, where the engine has no say
COMMANDS = ("run", "debug", "stream", "check", "format", "explain", "new", "test")


def test_the_version_is_that_of_the_package(cepheid: Run) -> None:
    assert cepheid("--version").out == f"cepheid {cep.__version__}\n"


def test_help_lists_the_commands(cepheid: Run) -> None:
    outcome = cepheid("--help")
    assert outcome.code == 0
    assert all(f" {command} " in outcome.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_has_an_example(cepheid: Run, command: str) -> None:
    outcome = cepheid(command, "--help")
    assert outcome.code == 0
    assert f"  cepheid {command} " in outcome.out


@pytest.mark.parametrize("columns", ["60", "80"])
@pytest.mark.parametrize("command", [[], *([command] for command in COMMANDS)])
def test_the_help_speaks_of_names_and_not_of_python_types(
    cepheid: Run, monkeypatch: pytest.MonkeyPatch, command: list[str], columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    out = cepheid(*command, "--help").out
    assert not re.search(r"[<>{}]|list\[|None|…|\.\.\.\w", out.replace("- < alarms.epl", ""))
    assert re.search(r"^  -h, --help +Show this message", out, re.MULTILINE)
    shell = re.compile(r" .*(cepheid|tail) .*")  # an example is one line
    prose = [line for line in out.splitlines() if not shell.fullmatch(line)]
    assert max(map(len, prose)) <= int(columns)


def test_the_help_tells_when_there_is_no_table(cepheid: Run) -> None:
    out = " ".join(cepheid("run", "--help").out.split())
    assert "a table on a terminal, JSON Lines elsewhere and while events stream in" in out


@pytest.mark.parametrize("args", [[], ["rum"], ["--nonsense"], ["check"]])
def test_wrong_use_has_its_exit_code(cepheid: Run, args: list[str]) -> None:
    assert cepheid(*args).code == 2


def test_help_loads_no_engine() -> None:
    code = (
        "import sys; from cepheid.cli.main import main; main(['--help'])\n"
        "heavy = ('cepheid.engines.', 'cepheid.semantics', 'cepheid.lang', 'pyarrow')\n"
        "light = 'cepheid.engines.registry'\n"
        "loaded = [m for m in sys.modules if m.startswith(heavy) and m != light]\n"
        "sys.exit(f'loaded: {loaded}' if loaded else 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


WRONG = """
run nosuch.epl --events e.jsonl
run p.epl --events nosuch.jsonl
run p.epl --events e.jsonl --nonsense
run p.epl --events e.jsonl --engine nosuch
run p.epl --events e.jsonl --zone Nowhere/Else
run p.epl --events e.jsonl --format doc
run p.epl --events e.jsonl --start nonsense
run p.epl --events e.jsonl --unit ages
run p.epl
stream nosuch.epl --source files:. --checkpoint state
stream p.epl --source nonsense --checkpoint state
stream p.epl --source files:nosuch --checkpoint state
stream p.epl --source files:. --checkpoint state --watermark nonsense
check nosuch.epl
explain nosuch.epl
format nosuch.epl
nosuch
"""


def test_wrong_arguments_are_told_before_parsers_and_engines_are_loaded(folder: Path) -> None:
    code = (
        "import sys; from cepheid.cli.main import main\n"
        "heavy = {'cepheid.lang', 'cepheid.semantics', 'numpy', 'numba', 'pyarrow', 'pandas', 'pyspark'}\n"
        "for line in sys.stdin:\n"
        "    code, loaded = main(line.split()), heavy & set(sys.modules)\n"
        "    if code != 2 or loaded:\n"
        "        sys.exit(f'{code} {loaded}: {line}')"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        input=WRONG.strip(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("form", ["jsonl", "csv", "table"])
def test_a_reader_that_leaves_early_hears_no_complaint(folder: Path, form: str) -> None:
    lines = (f'{{"@type": "A", "@time": {n}, "id": "k", "x": 500}}\n' for n in range(5000))
    (folder / "many.jsonl").write_text("".join(lines))
    args = ["run", "p.epl", "-e", "many.jsonl", "-t", "Big", "-f", form]
    # Unbuffered, Python itself does not tell that only a part of a text was written.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [*COMMAND, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141  # as of a process that SIGPIPE ends


needs_full_device = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no full device"
)
NO_SPACE = "error[bad-file]: cannot write the output: no space left on device\n"


@needs_full_device
@pytest.mark.parametrize(
    "command",
    [
        "run p.epl -e e.jsonl",
        "run p.epl -e e.jsonl -f csv",
        "run p.epl -e e.jsonl -f table",
        "run p.epl -e -",
        "check p.epl",
        "check p.epl --json",
        "explain p.epl",
        "format p.epl --stdout",
        "--help",
        "--version",
    ],
)
@pytest.mark.usefixtures("folder")
def test_an_output_that_is_full_is_told_and_fails(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open("/dev/full", "w") as full, open("e.jsonl") as events:
        monkeypatch.setattr(sys, "stdout", full)
        monkeypatch.setattr(sys, "stdin", events)
        assert main(command.split()) == 1
        assert capsys.readouterr().err == NO_SPACE


@needs_full_device
@pytest.mark.usefixtures("folder")
def test_an_output_that_is_full_is_told_once_by_the_process() -> None:
    """Python flushes at its end what could not be written, and would complain again."""
    with open("/dev/full", "w") as full:
        args = [*COMMAND, "run", "p.epl", "-e", "e.jsonl", *AT_ONCE]
        done = subprocess.run(args, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, NO_SPACE)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
@pytest.mark.usefixtures("folder")
def test_a_stream_may_be_closed(closed: str) -> None:
    command = f"{sys.executable} -m cepheid run p.epl -e - {' '.join(AT_ONCE)} {closed}"
    done = subprocess.run(
        command, shell=True, input=EVENTS, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


@pytest.mark.usefixtures("folder")
def test_rows_appear_while_events_arrive() -> None:
    with subprocess.Popen(
        [*COMMAND, "run", "p.epl", "-e", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(EVENTS.splitlines(keepends=True)[:2]))
        process.stdin.flush()
        assert '"second": 2' in process.stdout.readline()
        process.stdin.close()
        assert process.wait() == 0


class Interrupted(io.BytesIO):
    """Someone presses Ctrl-C while the command waits for events."""

    def readline(self, size: int | None = -1, /) -> bytes:
        raise KeyboardInterrupt

    def __next__(self) -> bytes:
        raise KeyboardInterrupt


@pytest.mark.usefixtures("folder")
def test_an_interrupt_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Interrupted()))
    assert main(["run", "p.epl", "-e", "-"]) == 130
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_long_input_shows_its_progress_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Terminal()
    monkeypatch.setattr(sys, "stderr", seen)
    with ProgressBar() as progress:
        progress(512, 1000)
        assert seen.getvalue() == ""
        progress(20_480, None)
        progress(2_000, 30_000)
    assert "reading" in seen.getvalue()
    assert "2000/30000" in seen.getvalue()


def test_nobody_else_sees_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", seen)
    with ProgressBar() as progress:
        progress(512, 30_000)
    assert seen.getvalue() == ""


@pytest.mark.usefixtures("folder")
def test_a_terminal_gets_tables() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "COLUMNS": "100"}
    args = [*COMMAND, "run", "p.epl", "-e", "e.jsonl", *AT_ONCE]
    process = subprocess.run(args, stdout=theirs, stderr=theirs, env=environment, check=False)
    text = b""
    while select.select([ours], [], [], 0)[0]:
        text += os.read(ours, 4096)
    os.close(theirs)
    os.close(ours)
    assert process.returncode == 0
    assert b"Pair (1 row)" in text
    assert b"@type" not in text
