"""`open`: the text of a file, with the version that `save` asks for."""

from __future__ import annotations

from cepheid.studio.room import Given, Room, Verb


def open_file(room: Room, given: Given) -> object:
    opened = room.folder.read(given.text("file"))
    return {"text": opened.text, "version": opened.version}


OPEN = Verb("open", open_file)
