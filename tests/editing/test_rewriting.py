"""A changed program becomes edits of its text that keep everything else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from cepheid.core.program_file import read_program_text
from cepheid.core.types import DOUBLE, Attribute
from cepheid.editing.places import apply
from cepheid.editing.rewriting import editable_of, edits_for
from cepheid.errors import UsageError
from cepheid.expr.tree import Part, Ref
from cepheid.lang import is_program, language_of
from cepheid.lang.bicepl.language import BICEPL
from cepheid.lang.epl.language import EPL
from cepheid.lang.language import Language
from cepheid.lang.queries.language import QUERIES
from cepheid.lang.vepl.language import VEPL
from cepheid.program.tree import (
    Annotation,
    ProgramTree,
    Schema,
    SelectExpr,
    Statement,
    StreamSource,
)
from tests.algebra.generators import forms
from tests.editing.changes import changes, commented, comments_in
from tests.effort import examples
from tests.strategies import program_trees

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(
    path
    for folder in ("examples", "tests")
    for path in (ROOT / folder).rglob("*")
    if path.is_file() and path.suffix and is_program(path)
)


def rewritten(text: str, tree: ProgramTree, language: Language = EPL) -> str:
    """The text after the edits, which say what they should."""
    after = apply(text, edits_for(text, tree, language))
    assert language.parse(after, None).tree.declarations == tree.declarations
    return after


def with_declaration(tree: ProgramTree, place: int, **changed: Any) -> ProgramTree:
    found = list(tree.declarations)
    found[place] = replace(found[place], **changed)
    return ProgramTree(tuple(found))


@examples(150)
@given(st.data())
def test_any_change_of_any_program_is_made_in_any_text_of_it(data: st.DataObject) -> None:
    tree = data.draw(program_trees())
    text = data.draw(commented(EPL.print_program(tree), EPL))
    new = data.draw(changes(tree))
    assume(EPL.parse(EPL.print_program(new), None).tree == new)
    rewritten(text, new)


@examples(100)
@given(st.data())
def test_a_change_inside_a_declaration_loses_no_comment(data: st.DataObject) -> None:
    tree = data.draw(program_trees())
    text = data.draw(commented(EPL.print_program(tree), EPL))
    new = data.draw(changes(tree))
    assume(EPL.parse(EPL.print_program(new), None).tree == new)
    same_places = len(new.declarations) == len(tree.declarations) and all(
        (type(one), getattr(one, "name", None)) == (type(two), getattr(two, "name", None))
        for one, two in zip(tree.declarations, new.declarations, strict=True)
    )
    assume(same_places)
    assert comments_in(rewritten(text, new)) == comments_in(text)


CONTEXTS = ("chronicle", "immediate", "strict", "strict global")


@st.composite
def complex_events(draw: DrawFn) -> str:
    """A program in VEPL, whose file may have a context for all."""
    heading = draw(st.sampled_from(("", *(f"context {context}\n" for context in CONTEXTS))))
    text = "".join(f"atomicEvent {name}(p: int, q: int)\n" for name in "abc")
    for number in range(draw(st.integers(0, 3))):
        own = draw(st.sampled_from(("", *(f" context {context}" for context in CONTEXTS))))
        text += f"complexEvent c{number}(x: int) {{ as {draw(forms(2))}{own} }}\n"
    return heading + text


@examples(100)
@given(st.data(), complex_events(), complex_events())
def test_any_program_in_vepl_becomes_any_other(data: st.DataObject, one: str, other: str) -> None:
    text = data.draw(commented(one, VEPL))
    new = VEPL.parse(other, None).tree
    after = rewritten(text, new, VEPL)
    if len(new.declarations) == len(VEPL.parse(one, None).tree.declarations):
        assert comments_in(after) == comments_in(text)


# Every program of the repository.


def elements_of(text: str, language: Language) -> tuple[tuple[Any, ...], ...]:
    return editable_of(language).elements(language.parse(text, None).tree)


def tree_of(elements: Any) -> ProgramTree:
    return ProgramTree(tuple(d for element in elements for d in element))


def renamed(element: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same under another name, which stands in all its declarations."""
    found = []
    for each in element:
        if isinstance(each, Statement):
            notes = tuple(
                Annotation("Name", ((None, "Renamed"),)) if note.name == "Name" else note
                for note in each.annotations
            )
            found.append(replace(each, insert_into="Renamed", annotations=notes))
        else:
            found.append(replace(each, name="Renamed"))
    return tuple(found)


def changed_elements(elements: tuple[tuple[Any, ...], ...]) -> Iterator[Any]:
    for place in range(0, len(elements), len(elements) // 5 + 1):
        before, after = elements[:place], elements[place + 1 :]
        new = renamed(elements[place])
        yield (*before, *after)
        yield (*before, new, *after)
        yield (*before, elements[place], new, *after)
        yield (*before, *after, elements[place])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_program_of_the_repository_can_be_changed(path: Path) -> None:
    language, text = language_of(path), read_program_text(path)
    parsed = editable_of(language).parse(text, None)
    elements = elements_of(text, language)
    for wanted in changed_elements(elements):
        after = rewritten(text, tree_of(wanted), language)
        if len(wanted) >= len(elements):
            notes = [comment.text for comment in editable_of(language).parse(after, None).comments]
            assert sorted(c.text for c in parsed.comments) == sorted(notes)


# What exactly is changed.

TEXT = """\
// All readings.
create schema Reading (  // from the sensors
    id   string,         // who
    temp double
);

/* Those that are
   too hot. */
@Name('Hot')
INSERT INTO Hot
SELECT r.id AS id,   // who
       r.temp as t   // how hot
FROM Reading(temp>30, (id != 'x'))#time(5 min) as r;

select * from Hot  // the last one
"""


def tree() -> ProgramTree:
    return EPL.parse(TEXT, None).tree


def test_no_change_is_no_edit() -> None:
    assert edits_for(TEXT, tree(), EPL) == ()


def test_an_attribute_is_added() -> None:
    schema = tree().schemas[0]
    new = with_declaration(tree(), 0, attributes=(*schema.attributes, Attribute("age", DOUBLE)))
    assert rewritten(TEXT, new) == TEXT.replace("temp double\n", "temp double,\n    age double\n")


def test_an_attribute_is_taken_away_and_its_comment_stays() -> None:
    new = with_declaration(tree(), 0, attributes=tree().schemas[0].attributes[1:])
    after = rewritten(TEXT, new)
    assert "// who\n    temp double" in after
    assert after[after.index("/* Those") :] == TEXT[TEXT.index("/* Those") :]


def test_a_select_item_is_changed() -> None:
    first, second = tree().statements[0].select
    assert isinstance(second, SelectExpr)
    new = with_declaration(tree(), 1, select=(first, replace(second, alias="heat")))
    assert rewritten(TEXT, new) == TEXT.replace("r.temp as t ", "r.temp as heat ")


def test_a_select_item_is_added_between_others() -> None:
    items = tree().statements[0].select
    added = SelectExpr(Ref((Part("r"), Part("temp"))), "again")
    new = with_declaration(tree(), 1, select=(items[0], added, items[1]))
    after = rewritten(TEXT, new)
    assert "r.temp as again," in after
    assert [line for line in TEXT.splitlines() if line not in after.splitlines()] in (
        [],
        ["SELECT r.id AS id,   // who"],
    )


def test_a_clause_is_added_and_the_rest_keeps_its_own_words() -> None:
    new = with_declaration(tree(), 1, where=tree().statements[0].source.condition)  # type: ignore[union-attr]
    after = rewritten(TEXT, new)
    added = "as r\nwhere temp > 30 and id != 'x';"
    assert after == TEXT.replace("as r;", added)


def test_a_statement_is_put_in_front_of_the_comments_that_lead_to_the_next() -> None:
    added = Statement(select=(SelectExpr(Ref((Part("a"),))),), source=StreamSource("A"))
    found = tree().declarations
    after = rewritten(TEXT, ProgramTree((added, *found)))
    assert after == "select a\nfrom A;\n\n" + TEXT


def test_a_statement_behind_one_without_its_semicolon() -> None:
    added = Statement(select=(SelectExpr(Ref((Part("a"),))),), source=StreamSource("A"))
    after = rewritten(TEXT, ProgramTree((*tree().declarations, added)))
    assert after == TEXT.replace("from Hot  //", "from Hot;  //").rstrip("\n") + (
        "\n\nselect a\nfrom A;\n"
    )


def test_a_statement_goes_and_the_comment_that_leads_to_it_stays() -> None:
    found = tree().declarations
    after = rewritten(TEXT, ProgramTree((found[0], found[2])))
    assert after == TEXT[: TEXT.index("@Name")] + TEXT[TEXT.index("select * from Hot") :]


def test_lines_end_as_the_others_do() -> None:
    text = "select a from A;\r\n\r\nselect b from B;\r\n"
    found = EPL.parse(text, None).tree.declarations
    added = Statement(select=(SelectExpr(Ref((Part("c"),))),), source=StreamSource("C"))
    after = rewritten(text, ProgramTree((found[0], added, found[1])))
    assert after == "select a from A;\r\n\r\nselect c\r\nfrom C;\r\n\r\nselect b from B;\r\n"


def test_what_does_not_parse_stays() -> None:
    text = "select a from A;\nselect from from;\nselect b from B;\n"
    found = EPL.parse(text, None).tree
    assert len(found.declarations) == 2
    after = apply(text, edits_for(text, with_declaration(found, 1, insert_into="X"), EPL))
    assert after == text.replace("select b from B", "insert into X\nselect b from B").replace(
        "X\n", "X "
    )


def test_a_text_of_nothing_takes_declarations() -> None:
    new = ProgramTree((Schema(name="A"), Schema(name="B")))
    assert rewritten("", new) == "create schema A ();\n\ncreate schema B ();\n"
    assert rewritten("// empty", new).startswith("// empty\n\ncreate schema A ();")


# Other languages.

EVENTS = """\
context strict

// A reading.
atomicEvent reading(id: int, v: double) // noisy

complexEvent rises(id: int) { // twice
    as reading(id, a) -> reading(id, b)
}
"""


def test_a_complex_event_keeps_what_its_file_says_of_contexts() -> None:
    found = VEPL.parse(EVENTS, None).tree
    new = with_declaration(found, 0, attributes=found.schemas[0].attributes[:1])
    assert rewritten(EVENTS, new, VEPL) == EVENTS.replace("id: int, v: double", "id: int")
    chronicle = VEPL.parse(EVENTS.replace("strict", "chronicle").replace("rises", "falls"), None)
    added = ProgramTree((*found.declarations, *chronicle.tree.declarations[1:]))
    after = rewritten(EVENTS, added, VEPL)
    assert after.startswith(EVENTS.rstrip("\n"))
    assert "context chronicle" in after


@pytest.mark.parametrize("language", [VEPL, QUERIES, BICEPL])
def test_what_a_language_has_no_words_for_is_refused(language: Language) -> None:
    new = ProgramTree(
        (Statement(select=(SelectExpr(Ref((Part("a"),))),), source=StreamSource("A")),)
    )
    with pytest.raises(UsageError, match="no words"):
        edits_for("", new, language)


def test_what_is_written_in_its_own_way_stays_around_a_change_in_it() -> None:
    text = "select a from A(x>1, ((y) = 2), z=3)#time(5 min) as r;  // in its own way\n"
    changed = EPL.parse(text.replace("= 2", "= 4"), None).tree
    assert rewritten(text, changed) == text.replace("((y) = 2)", "((y) = 4)")
    longer = EPL.parse(text.replace("5 min", "6 min"), None).tree
    assert rewritten(text, longer) == text.replace("5 min", "6 min")


def test_a_change_in_the_midst_of_other_words_for_the_same_takes_all_of_them() -> None:
    text = "SELECT a FROM A#time(90 sec)  as r;\n"
    longer = EPL.parse(text.replace("90", "150"), None).tree
    assert rewritten(text, longer) == text.replace("90 sec", "2 minutes 30 seconds")
    noted = text.replace("90 sec", "90 /* so long */ sec")
    written = text.replace("90 sec", "2 minutes 30 seconds /* so long */ ")
    assert rewritten(noted, longer) == written


def test_comments_stay_where_items_between_them_go() -> None:
    text = "select a, /* one */ b /* two */, // three\n  c from A;\n"
    (items,) = (statement.select for statement in EPL.parse(text, None).tree.statements)
    without = with_declaration(EPL.parse(text, None).tree, 0, select=(items[0], items[2]))
    after = rewritten(text, without)
    assert [note in after for note in ("/* one */", "/* two */", "// three\n")] == [True] * 3
    other = with_declaration(
        EPL.parse(text, None).tree, 0, select=(items[0], SelectExpr(Ref((Part("d"),))), items[2])
    )
    assert rewritten(text, other) == text.replace(" b ", " d ")
