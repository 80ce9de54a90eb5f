"""A folder of jobs: start, stop, start again, look."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.core.time import MICROSECONDS, format_instant
from cepheid.errors import (
    CepheidError,
    Diagnostic,
    RunError,
    UsageError,
    error,
    reason_of,
    suggest,
)
from cepheid.jobs.process import Process, all_end, kill_all, marked
from cepheid.jobs.record import LOG, MARK, RECORD, Job, State, read_job, write_job
from cepheid.jobs.starting import launch

if TYPE_CHECKING:
    from cepheid.engines.spark.stream.inspection import StreamState

DEFAULT_FOLDER = ".cepheid/jobs"
COMMANDS = ("stream", "run")
WITHIN = 30.0  # seconds in which a job may end in order
_GRACE = 2.0  # seconds for what a job has started, when that has ended
_FORCE = 10.0  # seconds until even a process that is killed is gone
_NAME = re.compile(r"[\w][\w.-]{0,99}")


def now() -> str:
    return format_instant(int(time.time() * MICROSECONDS["seconds"]))


@dataclass(frozen=True, slots=True)
class Listing:
    """All jobs, and what is wrong with records that cannot be read."""

    jobs: tuple[Job, ...]
    problems: tuple[Diagnostic, ...] = ()


class Jobs:
    """The jobs whose records are in a folder."""

    def __init__(self, folder: str | os.PathLike[str] = DEFAULT_FOLDER) -> None:
        self.folder = Path(folder).absolute()

    def start(
        self,
        command: Sequence[str],
        *,
        name: str | None = None,
        home: str | os.PathLike[str] | None = None,
    ) -> Job:
        """Starts a command, `["stream", "alarms.epl", ...]`, in a process that outlives this one.

        It runs in the folder `home`, else in the current one. The job is returned when the command
        was accepted; RunError with what is wrong where it was not, and nothing stays of it.
        """
        _expect_command(command)
        folder = self._new_folder(name or _stem(command), is_free=name is None)
        try:
            launch(folder, os.path.abspath(home or os.curdir), command)
        except BaseException as problem:
            shutil.rmtree(folder, ignore_errors=True)
            _explain(problem)
            raise
        return read_job(folder)

    def restart(self, name: str) -> Job:
        """Starts a job that has ended again: a stream goes on from its checkpoint."""
        job = self.job(name)
        if job.is_alive:
            fact = f"job '{name}' is {job.state}"
            raise UsageError(error("bad-job", fact, hint=f"cepheid jobs stop {name}"))
        # One that has just said that it is over is not yet gone, and what was killed may leave others.
        all_end(partial(_own_process, job), _FORCE)
        if not kill_all(partial(_processes_of, job), _FORCE):
            raise RunError(_does_not_end(name))
        try:
            launch(job.folder, job.home, job.command)
        except OSError as problem:
            _explain(problem)
            raise
        return read_job(job.folder)

    def stop(self, name: str, *, within: float = WITHIN) -> Job:
        """Ends a job in order, and by force if that takes longer than so many seconds."""
        job = self.job(name)
        if not job.is_alive:
            fact = f"job '{name}' does not run: it is {job.state}"
            raise UsageError(error("bad-job", fact))
        job.process.signal(signal.SIGTERM)
        by_force = not all_end(partial(_own_process, job), within)
        # It has put everything away; what it leaves has nothing more to do, and a Java that was about
        # to start does not even hear that it is alone.
        all_end(partial(_processes_of, job), 0 if by_force else _GRACE)
        if not kill_all(partial(_processes_of, job), _FORCE):
            raise RunError(_does_not_end(name))
        job = self.job(name)
        if job.state is State.LOST:  # it could not say how it ended
            job = job.ended(State.STOPPED, now(), by_force=by_force)
            try:
                write_job(job)
            except OSError as problem:
                _explain(problem)
        return job

    def remove(self, name: str) -> None:
        """Forgets a job that has ended; its checkpoint and what it wrote stay."""
        folder = self._folder_of(name)
        job = self.job(name)
        if job.is_alive:
            fact = f"job '{name}' is {job.state}"
            raise UsageError(error("bad-job", fact, hint=f"cepheid jobs stop {name}"))
        try:
            shutil.rmtree(folder)
        except OSError as problem:
            _explain(problem)

    def list(self) -> Listing:
        """All jobs in the order in which they were begun, and what is wrong with other records."""
        jobs, problems = list[Job](), list[Diagnostic]()
        for folder in self._folders():
            try:
                jobs.append(read_job(folder))
            except RunError as damaged:
                problems += damaged.diagnostics
        return Listing(tuple(sorted(jobs, key=lambda job: (job.begun, job.name))), tuple(problems))

    def job(self, name: str) -> Job:
        """UsageError where there is none, RunError where its record is damaged."""
        return read_job(self._folder_of(name))

    def inspect(self, name: str) -> StreamState:
        """What a stream keeps: its last committed state, decoded. It takes a Spark, and so some ten seconds.

        The stream may run meanwhile. RunError where nothing is committed yet, or cannot be read.
        """
        from cepheid.jobs.inspecting import inspect

        return inspect(self.job(name))

    def log(self, name: str, *, follow: Callable[[], None] | None = None) -> Iterator[str]:
        """What a job printed, in pieces; with `follow`, which waits a little, until it has ended."""
        folder = self._folder_of(name)
        try:
            with (folder / LOG).open(encoding="utf-8", errors="replace", newline="") as log:
                is_over = False
                while not is_over:
                    is_over = follow is None or not read_job(folder).is_alive
                    while piece := log.read(1 << 16):
                        yield piece
                    if follow is not None and not is_over:
                        follow()
        except OSError as problem:
            fact = f"cannot read the log of job '{name}': {reason_of(problem)}"
            raise RunError(error("bad-file", fact)) from None

    def _folders(self) -> Sequence[Path]:
        """A folder without a record is one that is just being started."""
        try:
            return sorted(path for path in self.folder.iterdir() if (path / RECORD).is_file())
        except FileNotFoundError:
            return []
        except OSError as problem:
            fact = f"cannot read '{self.folder}': {reason_of(problem)}"
            raise UsageError(error("bad-file", fact)) from None

    def _folder_of(self, name: str) -> Path:
        folders = self._folders()
        for folder in folders:
            if folder.name == name:
                return folder
        hint = suggest(name, (folder.name for folder in folders), "jobs")
        fact = f"no job '{name}' in '{self.folder}'"
        raise UsageError(error("bad-job", fact, hint=hint))

    def _new_folder(self, name: str, *, is_free: bool) -> Path:
        """A folder that was not there; of two who ask at once, each gets one of its own."""
        if not _NAME.fullmatch(name):
            hint = "letters, digits, '_', '-' and '.'"
            raise UsageError(error("usage", f"'{name}' cannot be the name of a job", hint=hint))
        number = 1
        while True:
            folder = self.folder / (f"{name}-{number}" if is_free else name)
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                folder.mkdir(mode=0o700)  # commands may have passwords
            except FileExistsError:
                if not is_free and folder.is_dir():
                    hint = "choose another name, or `cepheid jobs restart`"
                    raise UsageError(
                        error("bad-job", f"there is a job '{name}'", hint=hint)
                    ) from None
                if self.folder.is_dir():
                    number += 1
                    continue
                raise UsageError(
                    error("bad-file", f"'{self.folder}' is a file, not a folder")
                ) from None
            except OSError as problem:
                _explain(problem)
            return folder


def _own_process(job: Job) -> list[Process]:
    return [job.process] if job.process.is_alive else []


def _processes_of(job: Job) -> list[Process]:
    """The process of a job, and those that it has started."""
    return _own_process(job) + [
        each for each in marked(MARK, str(job.folder)) if each != job.process
    ]


def _does_not_end(name: str) -> Diagnostic:
    fact = f"a process of job '{name}' does not end, although it was killed"
    return error("bad-job", fact, hint="the system is busy with it; try again later")


def _expect_command(command: Sequence[str]) -> None:
    if os.name != "posix":
        raise UsageError(error("usage", "jobs need a system with processes as those of Unix"))
    known = " or ".join(f"'{name}'" for name in COMMANDS)
    if not command or command[0] not in COMMANDS:
        said = f"'{command[0]}' is no job" if command else "no command was named"
        hint = f"{known}, with its arguments as on the command line"
        raise UsageError(error("usage", said, hint=hint))
    for word in command:
        if "\0" in word:
            raise UsageError(error("usage", "a command has no characters of number zero"))


def _stem(command: Sequence[str]) -> str:
    """The name of the first program, as far as it can be the name of a folder."""
    from cepheid.lang import is_program

    found = next((Path(word).stem for word in command[1:] if is_program(word)), "job")
    return re.sub(r"[^\w.-]+", "_", found).strip("._-")[:80] or "job"


def _explain(problem: BaseException) -> None:
    """What the system says about a folder, in our words; the rest is left as it is."""
    if isinstance(problem, OSError) and not isinstance(problem, CepheidError):
        fact = f"cannot write the record of a job: {reason_of(problem)}"
        hint = "name a folder that can be written: --folder DIR"
        raise UsageError(error("bad-file", fact, hint=hint)) from None
