"""`keep`: a run as a case for `cepheid test`: the program, its events, and the rows that must come out."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cepheid.errors import UsageError, error
from cepheid.io.encode import encode, to_json, trace_records
from cepheid.jobs.record import copies
from cepheid.studio.room import Given, Room, Verb
from cepheid.studio.runs import run_of

CASES = "cases"
_NAME = re.compile(r"\w[\w .-]*")


def keep(room: Room, given: Given) -> object:
    """Where the case is; a case of that name stays as it is."""
    kept, name = run_of(room, given), given.text("name").strip()
    if not _NAME.fullmatch(name):
        hint = "use letters, digits, spaces, '_', '-' and '.'"
        raise UsageError(error("usage", f"'{name[:80]}' is no name for a case", hint=hint))
    if kept.left_out:
        fact = f"this run is without {', '.join(kept.left_out)}, and a case runs all of a program"
        raise UsageError(error("usage", fact, hint="run all statements"))
    folder = f"{CASES}/{name}"
    if room.folder.path(folder).exists():
        fact = f"there is a case '{name}' already"
        raise UsageError(error("usage", fact, hint="choose another name"))
    events = trace_records(kept.events, kept.first, kept.last)
    names = copies([text.file for text in kept.texts])
    for name, text in zip(names, kept.texts, strict=True):
        room.folder.write(f"{folder}/{name}", text.text)
    room.folder.write(f"{folder}/events.jsonl", _lines(events))
    room.folder.write(f"{folder}/expected.jsonl", _lines(map(encode, kept.rows)))
    return {"folder": folder, "rows": len(kept.rows)}


def _lines(records: Iterable[object]) -> str:
    return "".join(f"{to_json(record)}\n" for record in records)


KEEP = Verb("keep", keep, "run")
