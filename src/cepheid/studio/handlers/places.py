"""`places`: where the user put boxes of graphs and blocks; `place`: one of them, which is kept in the folder.

They are kept by view, file and the key of what stands there: `{"graph": {"a.epl": {"type:A": [10, 20]}}}`.
"""

from __future__ import annotations

from typing import Any

from cepheid.errors import UsageError, error
from cepheid.studio.kept import read_kept, write_kept
from cepheid.studio.room import Given, Room, Verb

_VIEWS = ("graph", "blocks")
_MOST = 5_000  # of a file, and files of a view
_FARTHEST = 1_000_000


def places(room: Room, given: Given) -> object:
    """Those of a file, by view."""
    kept, file = read_kept(room.folder), given.text("file")
    return {view: _mapping(_mapping(kept.get(view)).get(file)) for view in _VIEWS}


def place(room: Room, given: Given) -> object:
    """Where something stands now; without `at` it stands where it would by itself."""
    view, file, key = (given.text(name) for name in ("view", "file", "key"))
    if view not in _VIEWS:
        raise UsageError(error("usage", f"no view '{view[:80]}' keeps places"))
    room.folder.path(file)  # refuses what is no file of ours
    at = _at(given)
    with room.writing:
        _put(room, view, file, key, at)
    return {}


def _put(room: Room, view: str, file: str, key: str, at: list[float] | None) -> None:
    kept = read_kept(room.folder)
    files = _mapping(kept.get(view))
    found = _mapping(files.get(file))
    if at is None:
        found.pop(key, None)
    else:
        found[key] = at
    files[file] = found
    if not found:
        del files[file]
    if max(len(found), len(files)) > _MOST:
        raise UsageError(error("usage", "these are more places than are kept"))
    write_kept(room.folder, {**kept, view: files})


def _at(given: Given) -> list[float] | None:
    at = given.values.get("at")
    if at is None:
        return None
    if not isinstance(at, list) or len(at) != 2 or not all(map(_is_near, at)):
        raise UsageError(error("usage", "'at' must be two numbers"))
    return [round(float(n), 1) for n in at]


def _is_near(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _FARTHEST


def _mapping(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


PLACES = Verb("places", places)
PLACE = Verb("place", place)
