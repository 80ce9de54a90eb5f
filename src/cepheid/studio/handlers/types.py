"""`types`: the event types of a file as forms; `draw-type`: a change of one as edits of the texts."""

from __future__ import annotations

from cepheid.core.types import SCALARS
from cepheid.lang import DEFAULT, language_of
from cepheid.program.looks import Look
from cepheid.program.schemas import TIME_UNITS
from cepheid.studio.blocks.block import refuse
from cepheid.studio.domain import Form, change_form, forms_of
from cepheid.studio.programs import texts_of
from cepheid.studio.room import Given, Room, Verb


def types(_: Room, given: Given) -> object:
    language = language_of(given.text("file"))
    tree = language.parse(given.text("text"), None).tree
    return {
        "types": [_told(form) for form in forms_of(tree)],
        "writable": language is DEFAULT,
        "scalars": list(dict.fromkeys(map(str, SCALARS.values()))),
        "units": TIME_UNITS,
    }


def _told(form: Form) -> object:
    return {
        "name": form.name,
        "icon": form.look.icon,
        "description": form.look.description,
        "attributes": [{"name": name, "type": type} for name, type in form.attributes],
        "inherits": form.inherits,
        "time": form.time and {"attribute": form.time[0], "unit": form.time[1]},
        "statement": form.statement,
    }


def draw_type(_: Room, given: Given) -> object:
    """One without a name is new."""
    forms = given.each("form")
    if len(forms) != 1:
        refuse("'form' must be one form")
    edits = change_form(
        texts_of(given), given.text("file"), given.text_if_any("name"), _form(forms[0])
    )
    return {"edits": [edit.to_json() for edit in edits]}


def _form(given: Given) -> Form:
    time = [(each.text("attribute"), each.text("unit")) for each in given.each("time")]
    return Form(
        given.text("name"),
        Look(given.text("icon"), given.text("description")),
        tuple((each.text("name"), each.text("type")) for each in given.each("attributes")),
        tuple(given.texts("inherits")),
        time[0] if time else None,
    )


TYPES = Verb("types", types, "quick")
DRAW_TYPE = Verb("draw-type", draw_type, "quick")
