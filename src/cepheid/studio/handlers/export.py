"""`export`: rows or events of a kept run as a file; `report`: the page of `cepheid report`."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath
from typing import TextIO

from cepheid.core.event import Event
from cepheid.errors import UsageError, error, suggest
from cepheid.io.write import write_csv, write_jsonl
from cepheid.reports import report as report_of
from cepheid.studio.handlers.run import sources_of
from cepheid.studio.programs import program_to_run, texts_of
from cepheid.studio.room import Given, Room, Verb
from cepheid.studio.runs import run_of

MOST = 200_000  # rows; the browser has all of the file in its memory
_WRITERS: Mapping[str, Callable[[Iterable[Event], TextIO], None]] = {
    "jsonl": write_jsonl,
    "csv": write_csv,
}


def export(room: Room, given: Given) -> object:
    """All rows, or the events of a `kind` and `type`, of which `where` may say what is in them."""
    kept, format = run_of(room, given), given.text("format")
    if format not in _WRITERS:
        raise UsageError(
            error("usage", f"no format '{format[:40]}'", hint=suggest(format, _WRITERS, "formats"))
        )
    type, wanted = given.text_if_any("type"), given.text_if_any("where")
    if type is None:
        events = kept.rows
    else:
        kind = given.text("kind")
        events = kept.lane(kind, type)
        if wanted:
            events = [events[place] for place in kept.search(wanted)[kind, type]]
    if len(events) > MOST:
        fact = f"these are {len(events):,} rows; up to {MOST:,} are saved from here"
        raise UsageError(error("usage", fact, hint="`cepheid run --out FILE` writes them all"))
    written = io.StringIO()
    _WRITERS[format](events, written)
    return {"name": f"{type or 'rows'}.{format}", "text": written.getvalue()}


def report(room: Room, given: Given) -> object:
    program = program_to_run(room, given)
    sources = sources_of(room, given, program)
    name = PurePosixPath(texts_of(given)[0].file).stem
    is_typed = "lines" in given.values
    page = report_of(program, *([sources] if is_typed else sources), on_error="skip")
    return {"name": f"{name}.html", "text": str(page)}


EXPORT = Verb("export", export, "run")
REPORT = Verb("report", report, "run")
