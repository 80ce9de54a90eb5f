"""`files`: the programs, events, scenarios and environments of the folder."""

from __future__ import annotations

from itertools import islice

from cepheid.studio.folder import MOST_FILES
from cepheid.studio.room import Given, Room, Verb


def files(room: Room, given: Given) -> object:
    found = list(islice(room.folder.files(), MOST_FILES + 1))
    return {
        "files": [
            {"name": each.name, "size": each.size, "kind": each.kind} for each in found[:MOST_FILES]
        ],
        "more": len(found) > MOST_FILES,
    }


FILES = Verb("files", files)
