"""`hello`: what a page must know to begin."""

from __future__ import annotations

from cepheid import __version__
from cepheid.io import READERS
from cepheid.lang import extensions
from cepheid.lang.highlighting import KEYWORDS
from cepheid.studio.examples import EXAMPLES
from cepheid.studio.room import Given, Room, Verb


def hello(room: Room, given: Given) -> object:
    return {
        "version": __version__,
        "folder": room.folder.name,
        "trusted": room.is_trusted,
        "keywords": sorted(KEYWORDS),
        "programs": extensions(),
        "events": list(READERS),
        "examples": [
            {"name": each.name, "title": each.title, "about": each.about} for each in EXAMPLES
        ],
    }


HELLO = Verb("hello", hello)
