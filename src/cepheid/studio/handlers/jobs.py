"""Jobs: what a new one could be, how those are that there are, and what can be done with one.

`job-offer` says what the open program can be started with, `job-preview` what would be started, `job-start`
starts it; `jobs` lists all, and tells more of one that is watched. They outlive the studio.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import fields

from cepheid.errors import CepheidError, UsageError, error, suggest
from cepheid.jobs import Job, Jobs
from cepheid.lang.language import Text
from cepheid.program.action_annotations import declared_actions
from cepheid.studio.commands import COMMANDS, Command, expect_allowed
from cepheid.studio.deploying import (
    afresh,
    event_folders,
    expect_own,
    free_name,
    inspect,
    job_in,
    job_json,
    jobs_in,
    list_jobs,
    log_tail,
    places_of,
    rows_json,
    shown_start,
    start,
    unsaved,
)
from cepheid.studio.folder import is_events
from cepheid.studio.programs import texts_of
from cepheid.studio.room import Given, Room, Verb, finding_json
from cepheid.verbs.program import Program

_MOST = 500  # files that are offered


def offer(room: Room, given: Given) -> object:
    texts = texts_of(given)
    name = free_name(room.folder, texts[0].file)
    types, actions = _said_of(texts)
    return {
        "name": name,
        "unsaved": _unsaved(room, texts),
        "folders": event_folders(room.folder),
        "events": [each.name for each in room.folder.files() if is_events(each.name)][:_MOST],
        "types": types,
        "actions": actions,
        "places": places_of(name),
    }


def _said_of(texts: Sequence[Text]) -> tuple[list[str], list[str]]:
    """What the program derives, and the actions that it wants; nothing of one that cannot be read."""
    try:
        program = Program.of_texts(list(texts)).resolve()
    except CepheidError:
        return [], []
    declared = declared_actions(program.tree.statements)
    actions = dict.fromkeys(each.name for some in declared.values() for each in some)
    return list(dict.fromkeys(each.target for each in program.statements)), list(actions)


def _unsaved(room: Room, texts: Sequence[Text]) -> list[str]:
    return unsaved(room.folder, {text.file: text.text for text in texts})


def preview(room: Room, given: Given) -> object:
    """The command, and why it would be refused, as far as that can be said at once."""
    command = _command(given)
    problems = []
    try:
        expect_allowed(room.folder, command)
    except CepheidError as refused:
        problems = [finding_json(problem) for problem in refused.diagnostics]
    return {"command": shown_start(given.text("name"), command), "problems": problems}


def start_job(room: Room, given: Given) -> object:
    """From the program as it is saved: what is only in the editor is refused."""
    waiting = _unsaved(room, texts_of(given))
    if waiting:
        fact = f"{', '.join(waiting)}: what the editor shows is not saved"
        raise UsageError(error("usage", fact, hint="a job runs what is saved: Ctrl+S"))
    return {"name": start(room.folder, given.text("name"), _command(given)).name}


def _command(given: Given) -> Command:
    """What a form says; programs are those that are open."""
    name = given.text("command")
    declared = COMMANDS.get(name)
    if declared is None:
        raise UsageError(error("usage", f"no job '{name[:40]}'", hint=suggest(name, COMMANDS)))
    values: dict[str, object] = {
        each.name: given.flag(each.name)
        if each.metadata["kind"] == "flag"
        else given.text_if_any(each.name) or None
        for each in fields(declared)[1:]
    }
    programs = tuple(text.file for text in texts_of(given))
    return declared(programs=programs, **values)  # type: ignore[arg-type]


def jobs(room: Room, given: Given) -> object:
    listing = list_jobs(room.folder)
    watched = given.text_if_any("watched")
    seen = next((job for job in listing.jobs if job.name == watched), None)
    return {
        "jobs": [job_json(room.folder, job) for job in reversed(listing.jobs)],
        "problems": [finding_json(problem) for problem in listing.problems],
        "watched": None
        if seen is None
        else {"name": seen.name, "rows": rows_json(seen), "log": log_tail(seen)},
    }


def _of_one(act: Callable[[Room, Jobs, Job], str]) -> Callable[[Room, Given], object]:
    """A verb about the job that a page names."""

    def handle(room: Room, given: Given) -> object:
        job = job_in(room.folder, given.text("name"))
        return {"name": act(room, jobs_in(room.folder), job)}

    return handle


def _stop(room: Room, known: Jobs, job: Job) -> str:
    return known.stop(job.name).name


def _restart(room: Room, known: Jobs, job: Job) -> str:
    expect_own(room.folder, job)
    return known.restart(job.name).name


def _afresh(room: Room, known: Jobs, job: Job) -> str:
    return start(room.folder, *afresh(room.folder, job)).name


def _remove(room: Room, known: Jobs, job: Job) -> str:
    known.remove(job.name)
    return job.name


def inspect_job(room: Room, given: Given) -> object:
    """What a stream keeps; a Spark of its own reads it, and ends."""
    began = time.monotonic()
    found = inspect(room.folder, job_in(room.folder, given.text("name")))
    return {**found, "seconds": time.monotonic() - began}


JOB_VERBS = (
    Verb("job-offer", offer, "quick"),
    Verb("job-preview", preview),
    Verb("job-start", start_job, "jobs"),
    Verb("jobs", jobs),
    Verb("job-stop", _of_one(_stop), "jobs"),
    Verb("job-restart", _of_one(_restart), "jobs"),
    Verb("job-afresh", _of_one(_afresh), "jobs"),
    Verb("job-remove", _of_one(_remove), "jobs"),
    Verb("job-inspect", inspect_job, "state"),
)
