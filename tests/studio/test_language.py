"""What the editor of the page asks about a place in the text."""

from __future__ import annotations

from typing import Any

import pytest

from cepheid.editing.places import apply
from cepheid.errors import Edit, Span
from tests.studio.conftest import PROGRAM, Page, Refused, texts


def place_of(text: str, behind: str, after: int = 0) -> dict[str, Any]:
    """The place behind a passage of a text."""
    before = text[: text.index(behind) + len(behind) + after]
    return {"line": before.count("\n") + 1, "column": len(before) - before.rfind("\n")}


def ask(page: Page, verb: str, text: str, behind: str, **more: object) -> Any:
    return page.ask(verb, texts=texts(text), file="p.epl", **place_of(text, behind), **more)


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    names = ("line", "column", "end_line", "end_column", "file")
    return apply(text, [Edit(Span(*(e[n] for n in names)), e["replacement"]) for e in edits])


def test_the_fixes_of_a_finding_mend_the_text(page: Page) -> None:
    broken = PROGRAM.replace("second > 5", "secnd > 5")
    for verb in ("quick-check", "check"):
        [found] = [f for f in page.ask(verb, texts=texts(broken))["findings"] if f.get("fixes")]
        [fix] = found["fixes"]
        assert fix["title"] == "write second"
        assert applied(broken, fix["edits"]) == PROGRAM


def test_completion_knows_the_attributes_of_a_tag(page: Page) -> None:
    begun = PROGRAM.replace("a.x as first", "a. as first")
    found = ask(page, "complete", begun, "select a.id as id, a.")
    assert {each["label"]: each["sort"] for each in found} == {"id": "attribute", "x": "attribute"}
    assert found[0]["place"]["column"] == place_of(begun, "select a.id as id, a.")["column"]


def test_what_stands_at_a_place_is_told(page: Page) -> None:
    told = ask(page, "describe", PROGRAM, "select a.i")
    assert told["code"] == "A.id: string"
    assert told["place"]["line"] == 6


def test_a_definition_may_be_in_another_file(page: Page) -> None:
    schemas, _, statements = PROGRAM.partition("\n\n")
    both = [*texts(statements), *texts(schemas, "types.epl")]
    given = place_of(statements, "[every a=A")
    [place] = page.ask("definition", texts=both, file="p.epl", **given)
    assert (place["file"], place["line"], place["column"]) == ("types.epl", 1, 15)


def test_a_new_name_is_written_at_all_places(page: Page) -> None:
    edits = ask(page, "rename", PROGRAM, "from Pai", name="Couple")
    renamed = applied(PROGRAM, edits)
    assert "Pair" not in renamed
    assert renamed.count("Couple") == PROGRAM.count("Pair")
    assert "from Couple(" in renamed


def test_what_cannot_be_asked_is_refused(page: Page) -> None:
    with pytest.raises(Refused, match="already an event type called 'A'"):
        ask(page, "rename", PROGRAM, "from Pai", name="A")
    with pytest.raises(Refused, match=r"'other\.epl' is no file of this program"):
        page.ask("describe", texts=texts(), file="other.epl", line=1, column=1)
    with pytest.raises(Refused, match="no name here that can be changed"):
        ask(page, "rename", PROGRAM, "@Name('Big')\nins", name="C")
    with pytest.raises(Refused, match="whole number"):
        page.ask("complete", texts=texts(), file="p.epl", line="1", column=1)


@pytest.mark.parametrize("verb", ["complete", "describe", "definition"])
def test_places_outside_and_texts_that_are_broken_do_no_harm(page: Page, verb: str) -> None:
    for text in ("", "(" * 2_000, "select \ud800", "'", "/* x", PROGRAM):
        for line, column in ((0, 0), (1, 1), (1, 9), (2**52, 2**52)):
            page.ask(verb, texts=texts(text), file="p.epl", line=line, column=column)
