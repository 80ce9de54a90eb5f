"""What is asked about a place of a text: what may be written there, what stands there, where that is declared,
and another name for it. Places are lines and columns in characters, both from one.
"""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.editing.completing import complete as completions
from cepheid.editing.describing import describe as description
from cepheid.editing.renaming import rename as rename_edits
from cepheid.editing.workspace import Workspace
from cepheid.errors import UsageError, error
from cepheid.lang.language import Text
from cepheid.studio.programs import texts_of
from cepheid.studio.room import Given, Room, Verb, place_json

_WORKSPACE = "workspace"
_MOST = 500  # completions


def complete(room: Room, given: Given) -> object:
    found = completions(*_asked(room, given))
    return [
        {
            "label": each.label,
            "sort": str(each.sort),
            "written": each.written,
            "detail": each.detail,
            "place": place_json(each.span),
        }
        for each in found[:_MOST]
    ]


def describe(room: Room, given: Given) -> object:
    found = description(*_asked(room, given))
    if found is None:
        return None
    return {"code": found.code, "text": found.text, "place": place_json(found.span)}


def definition(room: Room, given: Given) -> object:
    workspace, file, offset = _asked(room, given)
    return [place_json(span) for span in workspace.definition(file, offset)]


def rename(room: Room, given: Given) -> object:
    """Edits of all texts; ProgramError where the name cannot be given."""
    return [edit.to_json() for edit in rename_edits(*_asked(room, given), given.text("name"))]


def _asked(room: Room, given: Given) -> tuple[Workspace, str, int]:
    """The program, and a place in one of its files."""
    workspace, file = _workspace(room, texts_of(given)), given.text("file")
    document = workspace.documents.get(file)
    if document is None:
        raise UsageError(error("usage", f"'{file[:80]}' is no file of this program"))
    return workspace, file, document.lines.offset(given.whole("line"), given.whole("column"))


def _workspace(room: Room, texts: Sequence[Text]) -> Workspace:
    """The one of the last question, where nothing has changed since: most of it is known then."""
    kept = room.kept.get(_WORKSPACE)
    if not (isinstance(kept, tuple) and kept[0] == texts):
        room.kept[_WORKSPACE] = kept = (texts, Workspace(texts))
    found: Workspace = kept[1]
    return found


LANGUAGE_VERBS = (
    Verb("complete", complete, "quick"),
    Verb("describe", describe, "quick"),
    Verb("definition", definition, "quick"),
    Verb("rename", rename, "quick"),
)
