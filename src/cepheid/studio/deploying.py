"""Jobs of the folder that the studio is about: what a new one could be, and how those are that there are."""

from __future__ import annotations

import json
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from cepheid.core.time import format_instant
from cepheid.errors import UsageError, error, reason_of
from cepheid.jobs import Job, Jobs, Listing
from cepheid.jobs.jobs import DEFAULT_FOLDER
from cepheid.studio.commands import (
    FORMATS,
    BatchCommand,
    Command,
    StreamCommand,
    command_of,
    expect_allowed,
    source_in,
    words_of,
)
from cepheid.studio.folder import Folder, version_of
from cepheid.studio.room import finding_json
from cepheid.studio.runs import cell

if TYPE_CHECKING:
    from cepheid.core.event import Value
    from cepheid.engines.spark.stream.inspection import StreamState
    from cepheid.matcher.contents import KeptEvent

STATE, OUT, OUTBOXES = "state", "out", "actions"  # folders of what jobs write
_TAIL = 16_000  # bytes of a log
_MOST = 100  # events behind a row
_LONGEST = 400  # characters of a value
_LONGEST_STEM = 80  # characters of the name of a job, without its number


def jobs_in(folder: Folder) -> Jobs:
    """Those whose records lie in the folder, and not where a link leads."""
    path = os.path.realpath(os.path.join(folder.root, DEFAULT_FOLDER))
    if os.path.commonpath([path, folder.root]) != folder.root:
        raise UsageError(error("bad-file", f"'{DEFAULT_FOLDER}' leads out of this folder"))
    return Jobs(path)


def list_jobs(folder: Folder) -> Listing:
    """All that can be shown; of the others, why not."""
    known = jobs_in(folder).list()
    jobs, problems = list[Job](), list(known.problems)
    for job in known.jobs:
        try:
            _expect_no_links(job)
            jobs.append(job)
        except UsageError as refused:
            problems += refused.diagnostics
    return Listing(tuple(jobs), tuple(problems))


def job_in(folder: Folder, name: str) -> Job:
    job = jobs_in(folder).job(name)
    _expect_no_links(job)
    return job


def _expect_no_links(job: Job) -> None:
    """Cepheid puts none into a record, and no pipes; others might show here what lies outside of the
    folder, or have it waited for."""
    hint = "`cepheid jobs list` shows it"
    for top, folders, files in os.walk(job.folder):
        paths = [Path(top, each) for each in (".", *folders, *files)]
        if any(path.is_symlink() for path in (Path(top), *paths)):
            fact = f"the record of job '{job.name}' has a link to elsewhere"
            raise UsageError(error("bad-job", fact, hint=hint))
        if not all(path.is_file() or path.is_dir() for path in paths):
            fact = f"the record of job '{job.name}' has what is no plain file"
            raise UsageError(error("bad-job", fact, hint=hint))


# A new one.


def free_name(folder: Folder, program: str) -> str:
    """The name of a program and a number that neither a job has nor what one has written."""
    stem = "".join(c if c.isalnum() or c in "_-" else "_" for c in PurePosixPath(program).stem)
    stem = stem[:_LONGEST_STEM]
    tops = [jobs_in(folder).folder, *(Path(folder.root, top) for top in (STATE, OUT, OUTBOXES))]
    number = 1
    while any((top / f"{stem}-{number}").exists() for top in tops):
        number += 1
    return f"{stem}-{number}"


def places_of(name: str) -> dict[str, str]:
    """Where a job of a name writes, unless it is told otherwise."""
    return {
        "checkpoint": f"{STATE}/{name}",
        "sink": f"{OUT}/{name}",
        "out": f"{OUT}/{name}.{FORMATS[0]}",
        "outbox": f"{OUTBOXES}/{name}",
    }


def event_folders(folder: Folder) -> list[dict[str, object]]:
    """Folders that a stream could read, those with most files first."""
    found: dict[str, Counter[str]] = {}
    for each in folder.files():
        path = PurePosixPath(each.name)
        is_written = path.parts[0] in (STATE, OUT, OUTBOXES)
        if path.suffix[1:] in FORMATS and len(path.parts) > 1 and not is_written:
            found.setdefault(str(path.parent), Counter())[path.suffix[1:]] += 1
    for entry in os.scandir(folder.root):  # one that is empty still waits for its events
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            with suppress(OSError):
                if not os.listdir(entry.path):
                    found.setdefault(entry.name, Counter())
    ordered = sorted(found.items(), key=lambda item: (-item[1].total(), item[0]))
    return [
        {
            "name": name,
            "files": counts.total(),
            "source": source_in(name, counts.most_common(1)[0][0] if counts else FORMATS[0]),
        }
        for name, counts in ordered
    ]


def unsaved(folder: Folder, texts: Mapping[str, str]) -> list[str]:
    """The files whose text is not that on the disk."""
    return [
        name
        for name, text in texts.items()
        if folder.version(name) != version_of(text.encode(errors="replace"))
    ]


def shown_start(name: str, command: Command) -> str:
    return shlex.join(["cepheid", "jobs", "start", "--name", name, *words_of(command)])


def start(folder: Folder, name: str, command: Command) -> Job:
    """Starts it, so that it goes on when the studio ends; CepheidError where that is refused."""
    expect_allowed(folder, command)
    if isinstance(command, BatchCommand) and command.out:
        _make_room(folder, command.out)
    return jobs_in(folder).start(words_of(command), name=name, home=folder.root)


def _make_room(folder: Folder, name: str) -> None:
    """For a file of rows, which must not be there yet."""
    path = folder.path(name)
    if path.exists():
        hint = "name one that is not there yet"
        raise UsageError(error("usage", f"'{name}' is there already", hint=hint))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        fact = f"cannot write '{name}': {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None


# Those that there are.


def own_command(folder: Folder, job: Job) -> Command | None:
    """What a job runs, if the studio might have started it."""
    command = command_of(job.command) if job.home == folder.root else None
    if command is None:
        return None
    try:
        expect_allowed(folder, command)
    except UsageError:
        return None
    return command


def expect_own(folder: Folder, job: Job) -> Command:
    command = own_command(folder, job)
    if command is None:
        fact = f"job '{job.name}' was not started here, or with what the studio does not start"
        raise UsageError(error("bad-job", fact, hint=f"`cepheid jobs restart {job.name}`"))
    return command


def afresh(folder: Folder, job: Job) -> tuple[str, Command]:
    """The same command under a name of its own, with a new checkpoint and a new folder for rows.

    What the old one wrote stays where it is: a new stream begins with the first event again.
    """
    command = expect_own(folder, job)
    name = free_name(folder, command.programs[0])
    places = places_of(name)
    if isinstance(command, StreamCommand):
        sink = command.sink and places["sink"]
        return name, replace(command, checkpoint=places["checkpoint"], sink=sink)
    out, outbox = command.out and places["out"], command.outbox and places["outbox"]
    return name, replace(command, out=out, outbox=outbox)


def job_json(folder: Folder, job: Job) -> dict[str, object]:
    command = own_command(folder, job)
    told = job.status.progress
    return {
        "name": job.name,
        "kind": job.command[0] if job.command else "",
        "state": job.state,
        "alive": job.is_alive,
        "by_force": job.status.by_force,
        "since": job.status.since,
        "runs": job.runs,
        "events": told.events,
        "rate": told.events_per_second,
        "rows": told.rows,
        "late": told.late,
        "rejected": told.rejected,
        "watermark": told.watermark,
        "errors": [finding_json(problem) for problem in job.status.errors],
        "command": shlex.join(["cepheid", *job.shown_command]),
        "program": list(job.program),
        "digest": job.digest,
        "checkpoint": job.checkpoint,
        "own": command is not None,
        "changed": unsaved(folder, job.texts) if job.home == folder.root else [],
        "outbox": command.outbox if isinstance(command, BatchCommand) else None,
    }


def rows_json(job: Job) -> list[object]:
    """The latest rows, the newest first, with what is behind them where they say it."""
    return [_row(json.loads(row), iter(range(_MOST))) for row in reversed(job.latest)]


def _row(row: Mapping[str, object], room: Iterator[int]) -> dict[str, object]:
    behind = row.get("@why")
    causes: Sequence[object] = behind if isinstance(behind, list) else ()
    return {
        "type": str(row.get("@type", "")),
        "time": str(row.get("@time", "")),
        "values": [[name, _value(v)] for name, v in row.items() if not name.startswith("@")],
        "why": [
            _row(each, room) for each in causes if isinstance(each, dict) and next(room, -1) >= 0
        ],
    }


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def inspect(folder: Folder, job: Job) -> dict[str, object]:
    """What a stream keeps in a checkpoint of the folder."""
    place = os.path.realpath(job.checkpoint or folder.root)
    if os.path.commonpath([place, folder.root]) != folder.root:
        fact = f"the checkpoint of job '{job.name}' is not in this folder"
        hint = f"`cepheid jobs inspect {job.name}`"
        raise UsageError(error("bad-job", fact, hint=hint))
    return _state_json(jobs_in(folder).inspect(job.name))


def _state_json(found: StreamState) -> dict[str, object]:
    """What a stream keeps, all its buckets together."""
    kept, happened = found.contents, found.happened
    return {
        "batch": found.batch,
        "buckets": len(found.buckets),
        "bytes": sum(bucket.bytes for bucket in found.buckets),
        "happened": None if happened is None else format_instant(happened),
        "matches": [
            {
                "statement": match.statement,
                "key": [cell(value) for value in match.key],
                "events": [_event(event) for event in match.events],
                "awaits": match.awaits,
                "ends": None if match.ends is None else format_instant(match.ends),
            }
            for match in kept.matches
        ],
        "matched": kept.matched,
        "windows": [
            {
                "statement": window.statement,
                "text": window.text,
                "count": window.count,
                "rows": [
                    {
                        "leaves": None if row.leaves is None else format_instant(row.leaves),
                        "values": _values(row.values),
                    }
                    for row in window.rows
                ],
            }
            for window in kept.windows
        ],
        "timers": [timer.to_json() for timer in kept.timers],
        "waiting": [each.to_json() for each in found.waiting],
        "words": kept.words,
    }


def _event(event: KeptEvent) -> dict[str, object]:
    time = None if event.instant is None else format_instant(event.instant)
    values = _values(event.values)
    return {"tag": event.tag or "", "type": event.type, "time": time, "values": values}


def _values(values: Mapping[str, Value]) -> list[object]:
    return [[name, cell(value)] for name, value in values.items()]


def log_tail(job: Job) -> str:
    """The end of what it printed, from the beginning of a line."""
    from cepheid.jobs.record import LOG

    try:
        with (job.folder / LOG).open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - _TAIL))
            text = log.read(_TAIL).decode(errors="replace")
    except OSError:
        return ""
    return text if size <= _TAIL else text.partition("\n")[2]
