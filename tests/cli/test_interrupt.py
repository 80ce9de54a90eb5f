"""Ctrl-C ends every command soon, with its exit code and without a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import pytest

from cepheid.cli.interrupt import INTERRUPTED

SOON = 20  # seconds: two are promised, on a machine that has nothing else to do
BUSY = 1.0  # seconds of the processor, beside those in which a command is loaded
TICKS = """create schema A (x int);
@Name('Seen') insert into Seen select x from A;
@Name('Tick') insert into Tick select rstream a.x as n
from pattern [a=A -> every timer:interval(1 msec)];
@Name('Count') insert into Count select count(*) as n from Tick#length(3) output last every 1 day;
"""
SCENARIO = """[[factory]]
type = "A"
every = {distribution = "exponential", mean = 1}
attributes.x = {value = 1}
"""
HARD = """
from cepheid.cli.interrupt import end_when_interrupted
end_when_interrupted()
import z3
holes, solver = 12, z3.Solver()
solver.set(ctrl_c=False)
sits = [[z3.Bool(f"{p} {h}") for h in range(holes)] for p in range(holes + 1)]
solver.add([z3.Or(own) for own in sits])
solver.add([z3.Not(z3.And(a[h], b[h])) for a in sits for b in sits if a is not b for h in range(holes)])
print("begun", flush=True)
solver.check()
"""
HIDDEN = """
import signal
import sys
from cepheid import __main__
from cepheid.cli import main

def hide() -> int:
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise TypeError("argument 2: KeyboardInterrupt") from None

main.main = hide
sys.exit(__main__.start())
"""


def seconds_of(process: int) -> float:
    """How long it and its children have been running on a processor."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return own + sum(map(seconds_of, map(int, children)))


class Start(Protocol):
    def __call__(self, code: str, *arguments: str) -> subprocess.Popen[str]: ...


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts commands, which end with the test at the latest.

    Where this process does not hear Ctrl-C, as in the background of a shell, they would not, either.
    """
    running = []

    def begin(code: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, *(("-c", code) if code else ("-m", "cepheid")), *arguments],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield begin
    finally:
        signal.signal(signal.SIGINT, before)
        for process in running:
            process.kill()
            process.communicate()


def interrupt(process: subprocess.Popen[str], busy: float = 0.0) -> None:
    """While it works; what it says and how it ends is as promised."""
    while process.poll() is None and seconds_of(process.pid) < busy:
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=SOON)
    assert process.returncode == INTERRUPTED, said
    assert "Traceback" not in said


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_a_run_is_interrupted_between_two_events(engine: str, tmp_path: Path, start: Start) -> None:
    (tmp_path / "p.epl").write_text(TICKS)
    process = start("", "run", "p.epl", "--events", "-", "--engine", engine, "--type", "Seen")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write('{"@type": "A", "@time": 0, "x": 1}\n')
    process.stdin.flush()
    assert "Seen" in process.stdout.readline()
    loaded = seconds_of(process.pid)
    process.stdin.write('{"@type": "A", "@time": "9000-01-01T00:00:00Z", "x": 1}\n')
    process.stdin.flush()
    interrupt(process, loaded + BUSY)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_runs_by_chance_are_interrupted(workers: str, tmp_path: Path, start: Start) -> None:
    (tmp_path / "p.epl").write_text("create schema A (x int); @Name('S') select x from A;")
    (tmp_path / "s.toml").write_text(SCENARIO)
    asked = ("--scenario", "s.toml", "--until", "1 day", "--runs", "1000000", "--workers", workers)
    interrupt(start("", "simulate", "p.epl", *asked), 4.0)


def test_a_command_is_interrupted_while_it_waits_for_events(tmp_path: Path, start: Start) -> None:
    (tmp_path / "p.epl").write_text(TICKS)
    process = start("", "run", "p.epl", "--events", "-")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write('{"@type": "A", "@time": 0, "x": 1}\n')
    process.stdin.flush()
    assert process.stdout.readline()
    interrupt(process)


def test_a_solver_is_interrupted(start: Start) -> None:
    process = start(HARD)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    interrupt(process, seconds_of(process.pid) + BUSY)


def test_a_library_may_make_another_error_of_an_interrupt(start: Start) -> None:
    """As ctypes does, where an argument for Z3 is made."""
    process = start(HIDDEN)
    _, said = process.communicate(timeout=SOON)
    assert (process.returncode, said) == (INTERRUPTED, "")
