"""`warm`: what a first run needs is loaded while the page is looked at."""

from __future__ import annotations

from cepheid.studio.room import Given, Room, Verb
from cepheid.verbs import parse, run

_SMALL = "create schema A (x int); @Name('B') insert into B select x from A(x > 0);"


def warm(room: Room, given: Given) -> object:
    run(parse(_SMALL), {"@type": "A", "@time": 0, "x": 1})
    return None


WARM = Verb("warm", warm, "run")
