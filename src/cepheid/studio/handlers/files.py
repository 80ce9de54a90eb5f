"""`files`: the programs and events of the folder."""

from __future__ import annotations

from itertools import islice

from cepheid.lang import is_program
from cepheid.studio.folder import MOST_FILES
from cepheid.studio.room import Given, Room, Verb


def files(room: Room, given: Given) -> object:
    found = list(islice(room.folder.files(), MOST_FILES + 1))
    return {
        "files": [
            {"name": name, "size": size, "kind": "program" if is_program(name) else "events"}
            for name, size in found[:MOST_FILES]
        ],
        "more": len(found) > MOST_FILES,
    }


FILES = Verb("files", files)
