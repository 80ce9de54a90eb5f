"""Definitions, references and new names."""

from __future__ import annotations

from pathlib import Path

import pytest

from cepheid.core.program_file import read_program_text
from cepheid.editing.places import apply
from cepheid.editing.renaming import edited, rename
from cepheid.editing.symbols import Kind
from cepheid.editing.workspace import Workspace
from cepheid.errors import ProgramError
from cepheid.lang import language_of
from cepheid.lang.epl.language import EPL
from cepheid.lang.language import Text
from cepheid.lang.vepl.language import VEPL
from tests.editing.test_rewriting import EXAMPLES

TYPES = """\
create schema Pos (lat double, lon double);
create schema A (id string, v double, p Pos);
"""
PROGRAM = f"""\
{TYPES}\
insert into Hot select a.id, a.v as heat, a.p.lat from pattern [every a=A(v > 1 and A.id != 'x')];
insert into Copy select * from Hot;
@Name('Last') select c.id, id as other, heat from Copy(heat > 3)#length(5) as c where c.heat > 2;
select * from Last;
"""


def workspace(text: str = PROGRAM) -> Workspace:
    return Workspace([Text("x.epl", text, EPL)])


def renamed(text: str, place: str, new: str) -> str:
    """The place is that of the first letter behind the bar."""
    before, after = place.split("|")
    offset = text.index(before + after) + len(before)
    return apply(text, rename(workspace(text), "x.epl", offset, new))


@pytest.mark.parametrize(
    ("place", "new", "changes"),
    [
        (
            "string, |v",
            "w",
            [
                ("string, v", "string, w"),
                ("a.v as heat", "a.w as heat"),
                ("A(v > 1", "A(w > 1"),
            ],
        ),
        ("as |heat", "h", [
            ("as heat", "as h"),
            ("other, heat", "other, h as heat"),
            ("Copy(heat", "Copy(h"),
            ("c.heat", "c.h"),
        ]),
        ("Pos (|lat", "y", [("(lat", "(y"), ("a.p.lat", "a.p.y as lat")]),
        ("A (|id", "key", [("(id", "(key"), ("a.id,", "a.key as id,"), ("A.id", "A.key")]),
        ("|Hot select", "Warm", [("into Hot", "into Warm"), ("from Hot", "from Warm")]),
        ("'|Last'", "Final", [("'Last'", "'Final'"), ("from Last", "from Final")]),
        ("every |a=A", "it", [("a.id, a.v", "it.id, it.v"), ("a.p", "it.p"), ("a=A", "it=A")]),
        ("Copy(heat > 3)#length(5) as |c", "all of it", [
            ("select c.id", "select `all of it`.id"),
            ("as c where c.", "as `all of it` where `all of it`."),
        ]),
        ("id as |other", "same", [("other", "same")]),
        ("schema |A", "B", [("schema A", "schema B"), ("a=A", "a=B"), ("A.id", "B.id")]),
    ],
)  # fmt: skip
def test_a_new_name_stands_at_all_places(
    place: str, new: str, changes: list[tuple[str, str]]
) -> None:
    wanted = PROGRAM
    for old, changed in changes:
        wanted = wanted.replace(old, changed, 1)
    assert renamed(PROGRAM, place, new) == wanted


@pytest.mark.parametrize(
    ("place", "new", "fact"),
    [
        ("string, |v", "id", "already an attribute called 'id'"),
        ("|Hot select", "A", "already an event type called 'A'"),
        ("string, |v", "", "'' is no name"),
        ("string, |v", "a`b", "is no name"),
        ("string, |v", "@type", "cannot be the name of an attribute"),
        ("every |a=A", "A", "means something else here"),
        ("|every a", "x", "no name here"),
        ("id |string", "x", "no name here"),
    ],
)
def test_a_name_that_cannot_be_given_is_refused(place: str, new: str, fact: str) -> None:
    with pytest.raises(ProgramError, match=fact):
        renamed(PROGRAM, place, new)


def test_what_stands_behind_a_mistake_keeps_a_name_from_being_changed() -> None:
    text = PROGRAM + "select frm frm -> Hot;\nselect heat from Hot where\n"
    with pytest.raises(ProgramError, match="'Hot' stands in text that cannot be read"):
        renamed(text, "|Hot select", "Warm")
    assert "it=A" in renamed(text, "every |a=A", "it")


def test_names_in_statements_that_are_broken_further_on_are_known() -> None:
    text = TYPES + "select * from A(v > 1) where v >\n"
    assert renamed(text, "string, |v", "w") == text.replace("v ", "w ")


def test_definition_and_references() -> None:
    found = workspace()
    offset = PROGRAM.index("c.heat") + 3
    (definition,) = found.definition("x.epl", offset)
    assert (definition.line, definition.column) == (3, 37)
    lines = [span.line for span in found.references("x.epl", offset)]
    assert lines == [3, 5, 5, 5]
    assert found.definition("x.epl", PROGRAM.index("every")) == ()
    assert found.references("x.epl", 10**9) == ()


EVENTS = """\
@EventTime(attribute='ts')
atomicEvent reading(id: int, v: double, ts: long) { check v > 0 }
complexEvent rises(id: int) { as reading(id, a, _) -> reading(id, b, _) }
rule tell on rises(x) { emit reading(x, 2, 3) }
rule again on reading { emit reading(id, v, ts) }
"""
BESIDE = "insert into Out select r.id from rises as r;\n"


@pytest.mark.parametrize(
    ("place", "new", "events", "beside"),
    [
        ("rises(id", "up", [("rises", "up")], [("rises", "up")]),
        ("id: int) { as", "key", [("(id: int) { as reading(id, a, _) -> reading(id,",
                                   "(key: int) { as reading(key, a, _) -> reading(key,")],
         [("r.id", "r.key as id")]),
        ("ts: long", "time", [("'ts'", "'time'"), ("ts:", "time:"), ("v, ts", "v, time")], []),
        ("v: double", "w", [("v:", "w:"), ("v >", "w >"), ("id, v", "id, w")], []),
        ("x)", "y", [("rises(x", "rises(y"), ("reading(x", "reading(y")], []),
        ("tell", "inform", [("tell", "inform")], []),
    ],
)  # fmt: skip
def test_a_new_name_in_a_program_of_two_languages(
    place: str, new: str, events: list[tuple[str, str]], beside: list[tuple[str, str]]
) -> None:
    found = Workspace([Text("e.vepl", EVENTS, VEPL), Text("o.epl", BESIDE, EPL)])
    after = edited(found, rename(found, "e.vepl", EVENTS.index(place), new))
    for file, text, changes in (("e.vepl", EVENTS, events), ("o.epl", BESIDE, beside)):
        wanted = text
        for old, changed in changes:
            wanted = wanted.replace(old, changed)
        assert after.documents[file].text == wanted


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_name_of_the_examples_has_one_place_of_origin_and_a_new_name_or_a_reason(
    path: Path,
) -> None:
    text = Text(str(path), read_program_text(path), language_of(path))
    found = Workspace([text])
    document = found.documents[str(path)]
    places = [o for o in found.occurrences if o.declares and not o.is_implied]
    assert places
    for each in places[:: len(places) // 6 + 1]:
        offset = document.range(each.span)[0]
        references = found.references(str(path), offset)
        try:
            after = edited(found, rename(found, str(path), offset, "Zebra"))
        except ProgramError:
            assert path.suffix == ".bicepl" or each.symbol.kind is Kind.STATEMENT
            continue  # SQL knows its names by itself
        again = after.documents[str(path)]
        assert len(after.references(str(path), again.lines.offset(
            each.span.line, each.span.column
        ))) == len(references)  # fmt: skip
        assert len(after.problems) == len(found.problems)
