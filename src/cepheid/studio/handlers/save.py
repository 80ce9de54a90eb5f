"""`save`: a text becomes the file, unless that changed since it was opened."""

from __future__ import annotations

from cepheid.studio.room import Given, Room, Verb


def save(room: Room, given: Given) -> object:
    """The new version; or what is on disk instead, and then nothing is written.

    `version` is the one that was opened, null for a file that is not there yet.
    """
    with room.writing:
        return _saved(room, given)


def _saved(room: Room, given: Given) -> object:
    file, text, known = given.text("file"), given.text("text"), given.text_if_any("version")
    if not room.folder.path(file).exists():
        if known is None or given.flag("again"):
            return {"version": room.folder.write(file, text)}
        return {"changed": None}  # someone removed it
    there = room.folder.read(file)
    if there.version != known:
        return {"changed": {"text": there.text, "version": there.version}}
    return {"version": room.folder.write(file, text)}


SAVE = Verb("save", save)
