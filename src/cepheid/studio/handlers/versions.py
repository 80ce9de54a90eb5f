"""`versions`: whether opened files are on disk still as they were opened."""

from __future__ import annotations

from cepheid.studio.room import Given, Room, Verb

_MOST = 100


def versions(room: Room, given: Given) -> object:
    return {name: room.folder.version(name) for name in given.texts("files")[:_MOST]}


VERSIONS = Verb("versions", versions)
