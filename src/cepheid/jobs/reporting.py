"""What commands say of themselves while they run as jobs; outside of jobs no one listens."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.core.latest import LATEST as LATEST_ROWS
from cepheid.core.latest import keep_latest
from cepheid.errors import Diagnostic, RunError, error, reason_of
from cepheid.jobs.record import LATEST, PROGRAM, Job, Progress, State, Status, copies, write_job

if TYPE_CHECKING:
    from cepheid.core.event import Event
    from cepheid.verbs.program import Program


class Listener:
    """Hears nothing: that of commands that are no jobs."""

    is_job = False

    @property
    def who(self) -> str:
        """To whom a checkpoint belongs while it is in use."""
        return f"process {os.getpid()}"

    latest: Path | None = None  # where a sink keeps the latest rows, if anyone wants them

    def accepted(
        self, program: Program, checkpoint: Path | None = None, state: State = State.STARTING
    ) -> None:
        """The command makes sense, and its program can run; it is in this state now."""

    def running(self) -> None:
        """It has started what it needs."""

    def progressed(self, progress: Progress) -> None: ...

    def found(self, rows: Sequence[Event], *, why: bool = False) -> None:
        """Rows, of which the last are kept for whoever wants to look, perhaps with what is behind them."""

    def failed(self, problems: Sequence[Diagnostic]) -> None: ...

    def stopped(self) -> None:
        """It ends because someone wanted that."""


class Recorder(Listener):
    """Writes down what is said, into the record of a job.

    A disk that is full must not end a stream whose checkpoint is elsewhere: what cannot be written
    is left out, and said once.
    """

    is_job = True

    def __init__(
        self,
        name: str,
        make: Callable[[Program, Path | None], Job],
        now: Callable[[], str],
        accept: Callable[[], None],
        complain: Callable[[str], None],
    ) -> None:
        self._name, self._make, self._now = name, make, now
        self._accept, self._complain = accept, complain
        self._job: Job | None = None  # once it is accepted
        self._is_stopped = False
        self._has_complained = False
        self.problems: tuple[Diagnostic, ...] = ()

    @property
    def who(self) -> str:
        return f"job '{self._name}'"

    @property
    def is_accepted(self) -> bool:
        return self._job is not None

    def accepted(
        self, program: Program, checkpoint: Path | None = None, state: State = State.STARTING
    ) -> None:
        job = self._make(program, checkpoint)
        job = replace(job, status=replace(job.status, state=state))
        try:
            _copy(program, job.folder / PROGRAM)
            write_job(job)
        except OSError as problem:
            fact = f"cannot write into '{job.folder}': {reason_of(problem)}"
            raise RunError(error("bad-file", fact)) from None
        self._job, self.latest = job, job.folder / LATEST
        self._accept()

    def running(self) -> None:
        self._say(State.RUNNING)

    def progressed(self, progress: Progress) -> None:
        if self._job is not None:
            self._write(replace(self._job.status, progress=progress, told=self._now()))

    def found(self, rows: Sequence[Event], *, why: bool = False) -> None:
        from cepheid.io.causes import encode_with_causes
        from cepheid.io.encode import encode, to_json

        if self.latest is not None:
            encoded = encode_with_causes if why else encode
            with self._told_once():
                keep_latest(self.latest, [to_json(encoded(row)) for row in rows[-LATEST_ROWS:]])

    def failed(self, problems: Sequence[Diagnostic]) -> None:
        """What failed first is the reason; where that cannot be printed, more fails."""
        self.problems = self.problems or tuple(problems)

    def stopped(self) -> None:
        self._is_stopped = True

    def ended(self, code: int) -> None:
        """How it ended, from the exit code and from what was said before."""
        if self._is_stopped:
            self._say(State.STOPPED)
        elif code == 0:
            self._say(State.FINISHED)
        else:
            fact = f"it ended with exit code {code}; its log says more"
            self.problems = self.problems or (error("bad-job", fact),)
            self._say(State.FAILED)

    def _say(self, state: State) -> None:
        if self._job is not None:
            now = self._now()
            status = self._job.status
            self._write(replace(status, state=state, since=now, told=now, errors=self.problems))

    def _write(self, status: Status) -> None:
        if self._job is not None:
            self._job = replace(self._job, status=status)
            with self._told_once():
                write_job(self._job)

    @contextmanager
    def _told_once(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            if not self._has_complained:
                self._has_complained = True
                with suppress(OSError):  # the log may be on the same disk
                    self._complain(f"cannot write the record: {reason_of(problem)}")


def _copy(program: Program, folder: Path) -> None:
    """The texts of a program as they run, under the names of their files."""
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    for name, text in zip(copies(list(program.sources)), program.sources.values(), strict=True):
        (folder / name).write_text(text, encoding="utf-8")


_listeners: list[Listener] = [Listener()]


def listener() -> Listener:
    """Who hears what the command that runs in this process says."""
    return _listeners[-1]


@contextmanager
def heard_by(other: Listener) -> Iterator[None]:
    _listeners.append(other)
    try:
        yield
    finally:
        _listeners.pop()
