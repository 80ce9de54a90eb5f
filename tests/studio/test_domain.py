"""Event types as forms, their icons and descriptions, and where the user put what is drawn."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.editing.places import apply
from cepheid.errors import CepheidError, Edit, Span
from cepheid.expr.printing import print_type
from cepheid.lang.epl.language import EPL
from cepheid.lang.language import Text
from cepheid.program.looks import Look, look_of, looks_of
from cepheid.program.tree import ProgramTree, Schema
from cepheid.studio.domain import change_form, forms_of
from cepheid.studio.folder import Folder
from cepheid.studio.kept import read_kept, write_kept
from tests.editing.changes import commented, comments_in
from tests.effort import examples
from tests.strategies import schemas
from tests.studio.conftest import Page, Refused, Studio, texts

TEXT = """\
// What comes in.
@EventTime(attribute='ts', unit='minutes')
create schema Patient (ts int,  // when
                       id string);

@Name('Counter')
insert into Counter select count(a.id) as n
from pattern [every a=Patient(a.ts > 1)]#time(10 minutes);
"""


def form(page: Page, name: str, text: str = TEXT) -> dict[str, Any]:
    told = page.ask("types", file="p.epl", text=text)
    assert told["writable"]
    (found,) = (each for each in told["types"] if each["name"] == name)
    return {**found, "time": [found["time"]] if found["time"] else []}


def draw(page: Page, name: str | None, form: dict[str, Any], text: str = TEXT) -> str:
    """The text after a form is changed."""
    given = {"texts": texts(text), "file": "p.epl", "name": name, "form": [form]}
    edits = page.ask("draw-type", **given)["edits"]
    assert all(edit.pop("file") == "p.epl" for edit in edits)
    return apply(
        text, [Edit(Span(*list(edit.values())[:4]), edit["replacement"]) for edit in edits]
    )


# Icons and descriptions.


def test_icons_and_descriptions_are_annotations_that_change_nothing() -> None:
    noted = TEXT.replace("@EventTime", "@Icon('🤰') @Description('one contraction') @EventTime")
    noted = noted.replace("@Name", "@Icon('🔢') @Name")
    looks = looks_of(EPL.parse(noted, None).tree)
    assert looks == {"Patient": Look("🤰", "one contraction"), "Counter": Look("🔢")}
    plain, shown = cep.parse(TEXT), cep.parse(noted)
    assert [f.code for f in shown.check()] == [f.code for f in plain.check()]
    events = [{"@type": "Patient", "ts": 3, "id": "a"}]
    assert list(cep.run(shown, events)) == list(cep.run(plain, events)) != []


@pytest.mark.parametrize("note", ["@Icon", "@Icon(7)", "@Icon(a='x')", "@Icon('  ')"])
def test_an_icon_that_is_no_text_is_none(note: str) -> None:
    (schema,) = EPL.parse(f"{note} create schema A ();", None).tree.schemas
    assert look_of(schema) == Look()


def test_a_long_icon_is_cut() -> None:
    (schema,) = EPL.parse("@icon('a long story') create schema A ();", None).tree.schemas
    assert look_of(schema).icon == "a long s"


# Forms.


def test_types_are_forms_those_of_statements_too(page: Page) -> None:
    patient = form(page, "Patient")
    assert patient["attributes"] == [
        {"name": "ts", "type": "int"},
        {"name": "id", "type": "string"},
    ]
    assert patient["time"] == [{"attribute": "ts", "unit": "minutes"}]
    assert form(page, "Counter")["statement"] == "Counter"


def test_a_form_changes_its_place_only(page: Page) -> None:
    patient = form(page, "Patient")
    patient["attributes"].append({"name": "tags", "type": "string[]"})
    after = draw(page, "Patient", patient)
    assert "tags string[]" in after
    assert "// when" in after
    assert draw(page, "Patient", form(page, "Patient")) == TEXT

    patient = form(page, "Patient")
    patient |= {"icon": "🤰", "description": "It's one"}
    after = draw(page, "Patient", patient)
    (schema,) = EPL.parse(after, None).tree.schemas
    assert [each.name for each in schema.annotations] == ["Description", "Icon", "EventTime"]
    assert after.startswith("// What comes in.\n")
    assert after.endswith(TEXT[TEXT.index("@EventTime") :])
    patient |= {"icon": "", "description": ""}
    assert EPL.parse(draw(page, "Patient", patient, after), None).tree == EPL.parse(TEXT, None).tree

    patient["time"] = []
    assert "@EventTime" not in draw(page, "Patient", patient)


def test_a_new_type_stands_behind_the_others(page: Page) -> None:
    new = {
        "name": "Ward",
        "icon": "🏥",
        "description": "",
        "inherits": ["Patient"],
        "attributes": [{"name": "last", "type": "Patient"}],
        "time": [],
    }
    after = draw(page, None, new)
    (_, ward) = EPL.parse(after, None).tree.schemas
    assert (ward.name, ward.inherits, print_type(ward.attributes[0].type)) == (
        *("Ward", ("Patient",), "Patient"),
    )
    assert after.index("create schema Ward") < after.index("@Name('Counter')")
    first = draw(page, None, new, "")
    assert EPL.parse(first, None).tree.schemas == (ward,)


def test_another_name_changes_wherever_it_stands(page: Page) -> None:
    patient = form(page, "Patient")
    after = draw(page, "Patient", {**patient, "name": "Mother"})
    assert after == TEXT.replace("Patient", "Mother")
    patient["attributes"][0]["name"] = "minute"
    after = draw(page, "Patient", patient)
    assert after == TEXT.replace("ts int", "minute int").replace("'ts'", "'minute'").replace(
        "a.ts", "a.minute"
    )


def test_what_people_see_of_a_derived_type_stands_on_its_statement(page: Page) -> None:
    after = draw(page, "Counter", {**form(page, "Counter"), "icon": "🔢"})
    assert after.index("@Icon('🔢')") > after.index("string);")
    assert form(page, "Counter", after)["icon"] == "🔢"


WRONG = (
    ({"name": ""}, "name"),
    ({"name": "Counter"}, "already"),
    ({"attributes": [{"name": "", "type": "int"}]}, "needs a name"),
    ({"attributes": [{"name": "x", "type": "int, y int"}]}, "more than belongs"),
    ({"attributes": [{"name": "x", "type": "int) inherits (A"}]}, "x"),
    ({"attributes": [{"name": "x", "type": "int // y"}]}, "comments"),
    ({"attributes": [{"name": "x", "type": ""}]}, "x"),
    ({"attributes": "x"}, "list of objects"),
    ({"icon": 7}, "text"),
)


@pytest.mark.parametrize(("change", "fact"), WRONG)
def test_what_a_form_cannot_say_is_told(page: Page, change: dict[str, Any], fact: str) -> None:
    with pytest.raises(Refused, match=fact):
        draw(page, "Patient", {**form(page, "Patient"), **change})


def test_what_is_not_in_the_text_is_told(page: Page) -> None:
    patient = form(page, "Patient")
    with pytest.raises(Refused, match="no type 'Nobody'"):
        draw(page, "Nobody", patient)
    with pytest.raises(Refused, match="already a type"):
        draw(page, None, patient)
    given = {"texts": texts("atomicEvent a()", "p.vepl"), "file": "p.vepl", "name": "a"}
    with pytest.raises(Refused, match="have their place in the text"):
        page.ask("draw-type", **given, form=[patient])
    assert not page.ask("types", file="p.vepl", text="atomicEvent a()")["writable"]


@examples(60)
@given(st.data(), schemas(), schemas())
def test_any_form_becomes_a_schema_and_comments_stay(
    data: st.DataObject, old: Schema, new: Schema
) -> None:
    """By the forms that are told, which say all but other annotations."""
    text = data.draw(commented(EPL.print_program(ProgramTree((old,))), EPL)).replace("\r\n", "\n")
    (was,) = forms_of(ProgramTree((old,)))
    (wanted,) = forms_of(ProgramTree((new,)))
    changed = [*wanted.attributes]
    for place, (attribute, _) in enumerate(was.attributes[: len(changed)]):
        changed[place] = (attribute, changed[place][1])  # as other names come one at a time
    form = replace(wanted, name=was.name, attributes=tuple(changed))
    edits = change_form([Text("p.epl", text, EPL)], "p.epl", old.name, form)
    after = apply(text, edits)
    (read,) = EPL.parse(after, None).tree.schemas
    (told,) = forms_of(ProgramTree((read,)))
    assert told == form
    assert comments_in(after) == comments_in(text)


# Places.


@pytest.fixture
def kept(studio: Studio) -> Path:
    path = studio.folder / ".cepheid" / "studio.json"
    path.unlink(missing_ok=True)
    return path


def test_places_are_kept_in_one_hidden_file(page: Page, kept: Path) -> None:
    at = {"view": "graph", "file": "p.epl", "key": "type:A"}
    assert page.ask("places", file="p.epl") == {"graph": {}, "blocks": {}}
    assert not kept.exists()
    page.ask("place", **at, at=[10, 20.04])
    page.ask("place", **{**at, "view": "blocks", "key": "x"}, at=[1, 2])
    assert page.ask("places", file="p.epl") == {
        "graph": {"type:A": [10.0, 20.0]},
        "blocks": {"x": [1.0, 2.0]},
    }
    assert page.ask("places", file="q.epl")["graph"] == {}
    page.ask("place", **at)
    assert json.loads(kept.read_text()) == {"blocks": {"p.epl": {"x": [1, 2]}}, "graph": {}}
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


@pytest.mark.parametrize(
    "change",
    [{"view": "x"}, {"file": "../p.epl"}, {"at": [1]}, {"at": ["1", 2]}, {"at": [1e99, 0]}],
)
def test_places_that_are_none_are_refused(page: Page, kept: Path, change: dict[str, Any]) -> None:
    given = {"view": "graph", "file": "p.epl", "key": "type:A", "at": [1, 2], **change}
    with pytest.raises(Refused):
        page.ask("place", **given)
    assert not kept.exists()


def test_what_the_studio_did_not_write_is_not_overwritten(page: Page, kept: Path) -> None:
    kept.parent.mkdir(exist_ok=True)
    for text in ("[1]", "{", "[" * 100_000):
        kept.write_text(text)
        with pytest.raises(Refused, match="not what the studio wrote"):
            page.ask("place", view="graph", file="p.epl", key="k", at=[1, 2])
        assert kept.read_text() == text
    kept.write_text('{"graph": 7, "mine": 1}')
    page.ask("place", view="graph", file="p.epl", key="k", at=[1, 2])
    assert json.loads(kept.read_text()) == {"graph": {"p.epl": {"k": [1, 2]}}, "mine": 1}


def test_places_are_not_written_through_links(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    root.mkdir()
    other.mkdir()
    (root / ".cepheid").symlink_to(other)
    folder = Folder.at(root)
    for act in (lambda: read_kept(folder), lambda: write_kept(folder, {})):
        with pytest.raises(CepheidError, match="link"):
            act()
    assert not list(other.iterdir())
