"""`run`: a program over events; what it gave is kept for questions about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from cepheid.core.event import Event
from cepheid.engines.common.judging import rules_for
from cepheid.engines.common.request import RunRequest
from cepheid.errors import Diagnostic, InputError, UsageError, error
from cepheid.studio.folder import is_events
from cepheid.studio.programs import left_out_of, program_to_run, texts_of
from cepheid.studio.room import Given, Room, Verb, finding_json
from cepheid.studio.runs import Run, keep_run
from cepheid.verbs.program import Program
from cepheid.verbs.running import run as run_program

MOST_DRAWN = 500_000  # events and rows on the timeline
_TOLD = 200  # findings about lines
_SCENARIO = ".toml"
_BY_CHANCE = 1_000  # events, where a scenario does not say how long a run lasts


def run(room: Room, given: Given) -> object:
    """`events` names a file of the folder, `files` several, or `lines` are what someone typed, as JSON Lines.

    A scenario is such a file, too: of it, one run by chance is taken, as the `seed` says.
    """
    program = program_to_run(room, given)
    if program.tree.classes:
        fact = "this program has classes of events, which go in rounds"
        raise UsageError(
            error("unsupported", fact, hint="`cepheid run` and `cepheid replay` run it")
        )
    sources = sources_of(room, given, program)
    skipped: list[Diagnostic] = []
    request = RunRequest(
        program=program.resolve(),
        sources=sources,
        rules=rules_for(program.resolve()),
        on_problem=skipped.append,
        progress=room.progress,
    )
    with program.sources_told():
        taken = request.take_in()
    result = run_program(program, *sources, why=True, on_error="skip", progress=room.progress)
    kept = keep_run(room, program, texts_of(given), taken, result, left_out_of(given))
    return {
        "run": kept.number,
        **_timeline(kept),
        "statements": [statement.name for statement in program.resolve().statements],
        "without": kept.left_out,
        "taken": result.taken,
        "rows": len(result),
        "notes": [finding_json(each) for each in result.notes],
        "skipped": len(skipped),
        "problems": [finding_json(each) for each in skipped[:_TOLD]],
    }


def sources_of(room: Room, given: Given, program: Program) -> list[object]:
    """Events as a page names them: one or several files of the folder, a run of a scenario, or typed lines."""
    if "files" in given.values:
        return [_file(room, file) for file in given.texts("files")]
    file = given.text_if_any("events")
    if file is None:
        return [_typed(number, line) for number, line in enumerate(given.texts("lines"), start=1)]
    if file.lower().endswith(_SCENARIO):
        return [_by_chance(program, _plain(room, file), given.whole("seed"))]
    return [_file(room, file)]


def _file(room: Room, name: str) -> str:
    path = _plain(room, name)
    if not is_events(name):
        raise UsageError(error("bad-file", f"'{name}' is no file of events"))
    return str(path)


def _plain(room: Room, name: str) -> Path:
    path = room.folder.path(name)
    if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would be waited for
        raise UsageError(error("bad-file", f"'{name}' is no plain file"))
    return path


def _by_chance(program: Program, path: Path, seed: int) -> list[dict[str, object]]:
    from cepheid.simulation.scenario import scenario_of
    from cepheid.simulation.simulate import job_of, trace_of

    scenario = scenario_of(path)
    events = None if scenario.until is not None else _BY_CHANCE
    job = job_of(program.resolve(), scenario, until=None, events=events, seed=seed)
    return trace_of(job, 0).records()


def _typed(number: int, line: str) -> object:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(error("bad-line", f"event {number} cannot be read")) from None
    if not isinstance(found, dict):
        raise InputError(error("bad-line", f"event {number} is no object"))
    return cast("dict[str, object]", found)


def _timeline(kept: Run) -> dict[str, object]:
    """Lanes by type: what came in, then what was found, those made of others last."""
    first = min((e.instant for e in (*kept.events[:1], *kept.rows[:1])), default=0)
    room, lanes = MOST_DRAWN, []
    for kind, lane_of in (("in", kept.taken), ("out", kept.found)):
        for type, events in lane_of.items():
            drawn = events[:room]
            room -= len(drawn)
            lanes.append(
                {
                    "type": type,
                    "kind": kind,
                    "count": len(events),
                    "times": _times(drawn, first),
                    "columns": kept.columns(type),
                }
            )
    return {"start": first, "lanes": lanes}


def _times(events: Sequence[Event], first: int) -> list[int]:
    return [event.instant - first for event in events]


RUN = Verb("run", run, "run")
