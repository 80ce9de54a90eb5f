"""The way of a job into a process of its own, and how it answers whoever starts it.

    starter --Popen--> process that forks and ends
                          '--> the job, in a session of its own --one line, or none--> starter

The answer comes through a pipe: that the command was accepted, or why it was refused. A job that ends
before it has answered closes the pipe, so that no one waits for ever.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cepheid.errors import Diagnostic, RunError, UsageError, error, reason_of
from cepheid.jobs.process import kill_all, marked
from cepheid.jobs.record import LOG, MARK, problem_of

_MAIN = "cepheid.cli.jobs.process"  # by name: what it starts is above this room
_FORCE = 5.0  # seconds
_TAIL = 2_000  # bytes


def launch(folder: Path, home: str, command: Sequence[str]) -> None:
    """Returns when the command was accepted; RunError where it was refused, and says why."""
    if not os.path.isdir(home):
        raise UsageError(error("missing-file", f"no folder '{home}', in which the job would run"))
    reading, writing = os.pipe()
    with open(reading, "rb") as answer:
        try:
            with (folder / LOG).open("ab") as log:
                # Else files of the folder that the command runs in would be taken for modules: here, and
                # by the Python workers of Spark, which inherit the variable.
                process = subprocess.Popen(
                    [sys.executable, "-P", "-m", _MAIN, str(folder), str(writing), *command],
                    cwd=home,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[writing],
                    env={**os.environ, "PYTHONSAFEPATH": "1", MARK: str(folder)},
                )
        finally:
            os.close(writing)
        try:
            process.wait()
            told = answer.read()
        except BaseException:  # whoever waits has given up
            kill_all(lambda: marked(MARK, str(folder)), _FORCE)
            process.wait()
            raise
    _expect_accepted(told, folder)


def _expect_accepted(told: bytes, folder: Path) -> None:
    if not told:
        fact = f"the process of the job ended before it began: {_last_line(folder / LOG)}"
        raise RunError(error("bad-job", fact))
    refused = tuple(problem_of(each) for each in json.loads(told))
    if refused:
        raise RunError(*refused)


def _last_line(log: Path) -> str:
    try:
        text = log.read_bytes()[-_TAIL:].decode(errors="replace")
    except OSError as problem:
        return reason_of(problem)
    return next((line for line in text.split("\n")[::-1] if line), "without a word")


class Answer:
    """The other end of the pipe, in the process of the job; it answers once."""

    def __init__(self, file: int) -> None:
        # Java must not inherit it, and keep it open.
        self._file: int | None = os.dup(file)
        os.close(file)

    def accept(self) -> None:
        self._say([])

    def refuse(self, problems: Sequence[Diagnostic]) -> None:
        self._say([problem.to_json() for problem in problems])

    def _say(self, refused: Sequence[object]) -> None:
        if self._file is None:
            return
        with open(self._file, "wb") as pipe, suppress(BrokenPipeError):
            pipe.write(f"{json.dumps(refused)}\n".encode())
            pipe.flush()
        self._file = None


def detach() -> None:
    """Leaves whoever started this process: its terminal, its group, and its duty to bury the dead."""
    if os.fork():
        os._exit(0)
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
