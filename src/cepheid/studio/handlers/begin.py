"""`begin`: an example, or a first program, as files of the folder; nothing is overwritten."""

from __future__ import annotations

from cepheid.studio.examples import example_named
from cepheid.studio.room import Given, Room, Verb


def begin(room: Room, given: Given) -> object:
    """Where they are, and what to open first."""
    example = example_named(given.text("example"))
    with room.writing:
        place = _free(room, example.name)
        for name, text in example.texts():
            room.folder.write(f"{place}/{name}", text)
    return {"program": f"{place}/{example.program}", "events": f"{place}/{example.events}"}


def _free(room: Room, name: str) -> str:
    """The name, or with the first number behind it that is not taken."""
    place, number = name, 1
    while room.folder.path(place).exists():
        number += 1
        place = f"{name}-{number}"
    return place


BEGIN = Verb("begin", begin)
