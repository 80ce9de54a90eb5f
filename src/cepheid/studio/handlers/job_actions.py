"""`actions-rehearse` says what would be done with the actions that a job has put into its outbox, `actions-do`
does that, and nothing else: it names what the rehearsal said.

Executors are those of a file of the folder. What could run commands or Python of it needs `--trust`, and files
that executors write lie in the folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass, fields
from pathlib import PurePosixPath

from cepheid.actions import Delivery, drain, read_deliveries, rehearse
from cepheid.errors import CepheidError, Diagnostic, UsageError, error
from cepheid.io.toml import read_toml
from cepheid.pipelines import FILE
from cepheid.studio.commands import BatchCommand
from cepheid.studio.deploying import expect_own, job_in
from cepheid.studio.room import Given, Room, Verb, finding_json

EXECUTORS = ("executors.toml", FILE)  # beside the program or in the folder, the first that is there
_RUNS = ("command", "function")  # kinds that run commands or Python
_WRITES = ("file", "table")  # kinds that write to a path
_MOST = 200  # actions that are told


@dataclass(frozen=True, slots=True)
class _Rehearsal:
    outbox: str
    executors: str | None  # the name of their file
    planned: tuple[tuple[str, str], ...] = ()  # what an action is called, and what would be done
    problems: tuple[Diagnostic, ...] = ()
    refused: tuple[str, ...] = ()  # why the studio does not do them
    digest: str = ""


def rehearse_actions(room: Room, given: Given) -> object:
    """A dry run: no secret is needed, and nothing is done."""
    with chdir(room.folder.root):
        found = _rehearsed(room, given)
    return {
        "executors": found.executors,
        "planned": [{"action": name, "would": said} for name, said in found.planned[:_MOST]],
        "count": len(found.planned),
        "problems": [finding_json(problem) for problem in found.problems],
        "refused": found.refused,
        "digest": found.digest,
    }


def do_actions(room: Room, given: Given) -> object:
    """Only what the dry run has shown; what fails is left for the next time."""
    with chdir(room.folder.root):
        found = _rehearsed(room, given)
        if found.refused or found.executors is None:
            fact = "; ".join(found.refused) or "there are no executors"
            raise UsageError(error("usage", fact, hint="`cepheid act` on the command line"))
        if given.text("digest") != found.digest:
            fact = "what would be done is not what the dry run has shown"
            raise UsageError(error("usage", fact, hint="look at a dry run again"))
        done = drain(found.outbox, read_deliveries(found.executors), once=True)
    return {
        "tallies": [
            {"name": name, **{f.name: getattr(tally, f.name) for f in fields(tally)}}
            for name, tally in sorted(done.tallies.items())
        ],
        "problems": [finding_json(problem) for problem in done.problems],
    }


def _rehearsed(room: Room, given: Given) -> _Rehearsal:
    job = job_in(room.folder, given.text("name"))
    command = expect_own(room.folder, job)
    if not isinstance(command, BatchCommand) or command.outbox is None:
        raise UsageError(error("usage", f"job '{job.name}' puts no actions into an outbox"))
    if job.is_alive:
        raise UsageError(error("usage", f"job '{job.name}' is {job.state}", hint="let it end"))
    file = _file_of(room, command.programs[0])
    if file is None:
        return _Rehearsal(command.outbox, None)
    refused = tuple(_refused(room, file))
    if refused:  # to read the executors would load their Python
        return _Rehearsal(command.outbox, file, refused=refused)
    deliveries = read_deliveries(file, with_secrets=False)
    planned, problems = rehearse(command.outbox, deliveries)
    told = tuple((action.name, said) for action, said in planned)
    keys = [action.key for action, _ in planned]
    digest = _digest(room, file, keys, told, deliveries)
    return _Rehearsal(command.outbox, file, told, tuple(problems), digest=digest)


def _digest(
    room: Room,
    file: str,
    keys: list[str],
    told: tuple[tuple[str, str], ...],
    deliveries: Mapping[str, Delivery],
) -> str:
    """Of all that a dry run has looked at; the page gives it back to have just that done."""
    settings = room.folder.path(file).read_bytes()
    said = repr((file, settings, keys, told, sorted(deliveries)))
    return hashlib.sha256(said.encode(errors="replace")).hexdigest()


def _file_of(room: Room, program: str) -> str | None:
    folders = dict.fromkeys((str(PurePosixPath(program).parent), "."))
    for folder in folders:
        for name in EXECUTORS:
            file = str(PurePosixPath(folder) / name)
            if room.folder.path(file).is_file() and _has_executors(file):
                return file
    return None


def _has_executors(file: str) -> bool:
    return bool(read_toml(file, "bad-executor").get("executors"))


def _refused(room: Room, file: str) -> Iterator[str]:
    """Why executors are not for the studio."""
    tables = read_toml(file, "bad-executor").get("executors")
    for name, table in tables.items() if isinstance(tables, Mapping) else ():
        kind = table.get("kind") if isinstance(table, Mapping) else None
        if kind in _RUNS and not room.is_trusted:
            yield f"'{name}' runs a {kind}: start the studio with --trust, or use `cepheid act`"
        if kind in _WRITES and not _is_inside(room, table.get("path")):
            yield f"'{name}' writes outside of this folder: `cepheid act` does that"


def _is_inside(room: Room, path: object) -> bool:
    try:
        return isinstance(path, str) and not os.path.isdir(room.folder.path(path))
    except CepheidError:
        return False


ACTION_VERBS = (
    Verb("actions-rehearse", rehearse_actions, "jobs"),
    Verb("actions-do", do_actions, "jobs"),
)
