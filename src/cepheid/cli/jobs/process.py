"""What runs in the process of a job: a command of ours, whose words are written down.

`python -m cepheid.cli.jobs.process FOLDER PIPE COMMAND...`, which only `cepheid.jobs` calls.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from cepheid.errors import RunError, error
from cepheid.jobs.holding import held
from cepheid.jobs.jobs import now
from cepheid.jobs.process import Process
from cepheid.jobs.record import Job, State, Status, read_job
from cepheid.jobs.reporting import Recorder, heard_by
from cepheid.jobs.starting import Answer, detach

if TYPE_CHECKING:
    from cepheid.verbs.program import Program


def main() -> int:
    folder, pipe, *command = sys.argv[1:]
    detach()
    return work(Path(folder), Answer(int(pipe)), command)


def work(folder: Path, answer: Answer, command: Sequence[str]) -> int:
    """Runs the command and writes down how it ends; refused, it leaves no record."""
    from cepheid.cli.main import main as run

    def make(program: Program, checkpoint: Path | None) -> Job:
        return job_of(folder, command, program, checkpoint)

    recorder = Recorder(
        folder.name, make, now, answer.accept, lambda text: print(text, file=sys.stderr)
    )
    _end_when_asked(recorder)
    with heard_by(recorder):
        try:
            with held(folder, f"process {os.getpid()}", "record"):
                code = run(command)
        except RunError as held_by_another:
            recorder.failed(held_by_another.diagnostics)
            code = 1
        except Exception as problem:
            with suppress(OSError):  # the log may be on a full disk, and be the reason
                traceback.print_exc()
            fact = f"it ended with an error that is none of ours: {type(problem).__name__}"
            recorder.failed([error("bad-job", fact, hint="its log has the details")])
            code = 1
        recorder.ended(code)
    if not recorder.is_accepted:
        fact = f"the command ended with exit code {code} before anything began"
        answer.refuse(recorder.problems or [error("bad-job", fact)])
    return code


def job_of(folder: Path, command: Sequence[str], program: Program, checkpoint: Path | None) -> Job:
    """The record of a job that begins in this process."""
    from cepheid import __version__
    from cepheid.engines.common.intake import runnable
    from cepheid.program.seal import program_digest

    process = Process.found(os.getpid())
    assert process is not None
    began = now()
    return Job(
        folder=folder,
        command=tuple(command),
        home=os.getcwd(),
        program=tuple(program.sources),
        digest=program_digest(runnable(program.resolve())),
        checkpoint=None if checkpoint is None else str(checkpoint.absolute()),
        cepheid=__version__,
        begun=began,
        runs=_runs_before(folder) + 1,
        process=process,
        status=Status(State.STARTING, began, began),
    )


def _runs_before(folder: Path) -> int:
    try:
        return read_job(folder).runs
    except RunError:
        return 0


def _end_when_asked(recorder: Recorder) -> None:
    """A polite kill ends whatever the command is in the middle of, as Ctrl-C would; streams hear it themselves."""

    def hear(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        recorder.stopped()
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, hear)


if __name__ == "__main__":
    sys.exit(main())
