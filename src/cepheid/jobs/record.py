"""What is written down of a job: one file in its folder, always whole.

Only the process of the job writes it; when that is gone, whoever ended it may. What is read is checked:
a folder may hold anything.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from cepheid.core.credentials import without_credentials
from cepheid.core.latest import latest_rows
from cepheid.core.whole_file import whole_file
from cepheid.errors import CATALOGUE, Diagnostic, RunError, Severity, Span, error, reason_of
from cepheid.jobs.process import Process

RECORD, LATEST, LOG, PROGRAM = "job.json", "latest.jsonl", "log.txt", "program"
MARK = "CEPHEID_JOB"  # an environment variable: the folder of the job whose process this is
_LARGEST = 10 * 2**20  # bytes of a file of a record


Text = TypeVar("Text", str, "str | None")


class State(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    FINISHED = "finished"  # by itself
    FAILED = "failed"
    STOPPED = "stopped"  # because someone wanted it
    LOST = "lost"  # the process is gone without a word


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is; what is not known of it, or not yet, is None."""

    events: int | None = None
    events_per_second: float | None = None  # of the last micro-batch that had any
    rows: int | None = None
    late: int | None = None
    rejected: int | None = None
    watermark: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """What the process of a job said last."""

    state: State
    since: str  # when the state began
    told: str  # when this was said
    progress: Progress = Progress()
    errors: tuple[Diagnostic, ...] = ()
    by_force: bool = False  # how it was stopped


@dataclass(frozen=True, slots=True)
class Job:
    """A stream or a batch in a process of its own, as its record says."""

    folder: Path
    command: tuple[str, ...]
    home: str  # the folder in which the command runs
    program: tuple[str, ...]  # its files; copies are in the folder `program`
    digest: str
    checkpoint: str | None
    cepheid: str  # the version
    begun: str
    runs: int  # how often it was started
    process: Process
    status: Status

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def state(self) -> State:
        """What the process says of itself, unless it is gone."""
        is_over = self.status.state not in (State.STARTING, State.RUNNING)
        return self.status.state if is_over or self.process.is_alive else State.LOST

    @property
    def shown_command(self) -> tuple[str, ...]:
        """The command as everyone may see it."""
        return tuple(map(without_credentials, self.command))

    @property
    def is_alive(self) -> bool:
        return self.state in (State.STARTING, State.RUNNING)

    @property
    def latest(self) -> list[str]:
        """The latest rows, each a JSON object in one line, the oldest first."""
        return latest_rows(self.folder / LATEST)

    @property
    def texts(self) -> dict[str, str]:
        """The program as it ran, by the names of its files; what is gone of it is left out."""
        found = {}
        for file, name in zip(self.program, copies(self.program), strict=True):
            with suppress(OSError, UnicodeDecodeError):
                found[file] = (self.folder / PROGRAM / name).read_text(encoding="utf-8")
        return found

    def to_json(self) -> dict[str, object]:
        """All of it, for other programs."""
        return {
            "name": self.name,
            **_written(self),
            "command": self.shown_command,
            "state": self.state,
            "folder": str(self.folder),
            "latest": [json.loads(row) for row in self.latest],
        }

    def ended(self, state: State, now: str, *, by_force: bool = False) -> Job:
        status = replace(self.status, state=state, since=now, told=now, by_force=by_force)
        return replace(self, status=status)


def copies(program: Sequence[str]) -> list[str]:
    """What the copies of the files of a program are called."""
    names = [Path(file).name for file in program]
    return [
        name if names.count(name) == 1 else f"{number}-{name}"
        for number, name in enumerate(names, 1)
    ]


def write_job(job: Job) -> None:
    """OSError where that fails, and what was written before stays."""
    with whole_file(job.folder / RECORD) as draft:
        text = json.dumps(_written(job), indent=2)
        draft.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def _written(job: Job) -> dict[str, object]:
    status = job.status
    return {
        "state": status.state,
        "since": status.since,
        "told": status.told,
        "by_force": status.by_force,
        **asdict(status.progress),
        "errors": [problem.to_json() for problem in status.errors],
        "command": job.command,
        "home": job.home,
        "program": job.program,
        "digest": job.digest,
        "checkpoint": job.checkpoint,
        "cepheid": job.cepheid,
        "begun": job.begun,
        "runs": job.runs,
        "process": asdict(job.process),
    }


def read_job(folder: Path) -> Job:
    """RunError where the record is damaged, or none."""
    try:
        kept = _object_in(folder / RECORD)
        process = _field(kept, "process", dict)
        return Job(
            folder=folder,
            command=_texts(kept, "command"),
            home=_known_to_the_system(_field(kept, "home", str)),
            program=_texts(kept, "program"),
            digest=_field(kept, "digest", str),
            checkpoint=_known_to_the_system(_field(kept, "checkpoint", str | None)),
            cepheid=_field(kept, "cepheid", str),
            begun=_field(kept, "begun", str),
            runs=_field(kept, "runs", int),
            process=Process(_field(process, "number", int), _field(process, "began", str)),
            status=_status(kept),
        )
    except (ValueError, RecursionError) as problem:
        fact = f"the record of job '{folder.name}' is damaged: {problem}"
        hint = f"delete '{folder}'; a checkpoint is not in it"
        raise RunError(error("bad-job", fact, hint=hint)) from None


# Reading ------------------------------------------------------------------------------------------


def _object_in(file: Path) -> dict[str, Any]:
    try:
        if file.stat().st_size > _LARGEST:
            raise ValueError(f"{file.name} is far too large")
        content = json.loads(file.read_bytes())
    except OSError as problem:
        raise ValueError(f"{file.name}: {reason_of(problem)}") from None
    except ValueError as problem:
        raise ValueError(f"{file.name}: {problem}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{file.name} is no object")
    return content


def _field(content: Mapping[str, Any], name: str, kind: Any) -> Any:
    value = content.get(name)
    is_wrong_number = isinstance(value, bool) and kind is not bool
    if not isinstance(value, kind) or is_wrong_number:
        raise ValueError(f"'{name}' is {json.dumps(value)[:40]}")
    return value


def _texts(content: Mapping[str, Any], name: str) -> tuple[str, ...]:
    texts = _field(content, name, list)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"'{name}' has other things than texts")
    return tuple(map(_known_to_the_system, texts))


def _known_to_the_system(text: Text) -> Text:
    """ValueError where it can be neither a path nor an argument."""
    if text is not None and b"\0" in os.fsencode(text):
        raise ValueError("a name has a character of number zero")
    return text


def _status(told: Mapping[str, Any]) -> Status:
    return Status(
        state=State(_field(told, "state", str)),
        since=_field(told, "since", str),
        told=_field(told, "told", str),
        progress=Progress(
            events=_field(told, "events", int | None),
            events_per_second=_field(told, "events_per_second", float | int | None),
            rows=_field(told, "rows", int | None),
            late=_field(told, "late", int | None),
            rejected=_field(told, "rejected", int | None),
            watermark=_field(told, "watermark", str | None),
        ),
        errors=tuple(map(problem_of, _field(told, "errors", list))),
        by_force=_field(told, "by_force", bool),
    )


def problem_of(told: object) -> Diagnostic:
    """What `Diagnostic.to_json` wrote; it does not say where the place ends."""
    if not isinstance(told, dict) or _field(told, "code", str) not in CATALOGUE:
        raise ValueError("an error is none")
    span = None
    if told.get("line") is not None:
        line, column = _field(told, "line", int), _field(told, "column", int)
        span = Span(line, column, line, column, _field(told, "file", str | None))
    return Diagnostic(
        told["code"],
        Severity(_field(told, "severity", str)),
        _field(told, "message", str),
        span,
        _field(told, "hint", str | None),
    )
