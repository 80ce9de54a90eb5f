"""What notebooks show, and that nothing in a program or an event is markup there."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

import cepheid as cep
from cepheid import notebook
from cepheid.core.html import element, table

MARKUP = "<img src=x onerror=alert(1)>"
PROGRAM = f"""create schema Reading (sensor string, v double); // {MARKUP}
@Name('{MARKUP}') insert into Hot select sensor as `{MARKUP}`, v from Reading(v > 30 and sensor != '{MARKUP}<b>');
@Name('Never') select * from pattern [every a=Reading(v > 5 and v < 3)];
@Name('Two') @Property(kind='never') insert into `T{MARKUP}`
  select a.sensor as s from pattern [every a=Reading(v > 1) -> b=Reading(v > 2)];
"""
EVENTS = [{"@type": "Reading", "@time": n, "sensor": MARKUP, "v": 20.0 * n} for n in range(1, 4)]
SCENARIO = cep.Scenario(
    (cep.Factory("Reading", every=1, attributes={"sensor": MARKUP, "v": 5}),),  # type: ignore[arg-type, dict-item]
    until="3 s",  # type: ignore[arg-type]
)


def program() -> cep.Program:
    return cep.parse(PROGRAM)


SHOWN: dict[str, Callable[[], Any]] = {
    "program": program,
    "findings": lambda: program().check(),
    "graph": lambda: program().graph(),
    "plan": lambda: program().plan(),
    "result": lambda: cep.run(program(), EVENTS),
    "event": lambda: cep.run(program(), EVENTS)[0],
    "simulation": lambda: program().simulate(SCENARIO, runs=2, seed=1),
    "verdict": lambda: program().verify(SCENARIO, "Two", runs=2, seed=1),
}


def markup_of(shown: Any) -> str:
    return str(shown._repr_html_() if hasattr(shown, "_repr_html_") else shown._repr_svg_())


def text_in(markup: str) -> str:
    """What a reader sees."""
    return unescape(re.sub("<[^>]*>", "", markup))


@pytest.mark.parametrize("name", SHOWN)
def test_markup_in_names_and_values_is_text(name: str) -> None:
    found = markup_of(SHOWN[name]())
    assert "<img" not in found
    assert MARKUP in text_in(found)
    ElementTree.fromstring(f"<all>{found}</all>")  # every element is closed


def test_a_program_is_shown_as_it_is_written_in_colours() -> None:
    found = program()._repr_html_()
    assert text_in(found) == PROGRAM
    assert re.findall(r">(create|every|double|30|30)<", found) == ["create", "30", "every", "every"]
    built = cep.compose(cep.schema("A", x="int"), cep.stream("A").insert_into("B"))
    assert text_in(built._repr_html_()) == built.to_text()


@pytest.mark.parametrize(
    "text", ["", "\n\n", "select 'open", "select ? from\tÄ // €\r\n", "/* open"]
)
def test_texts_of_any_kind_are_shown_whole(text: str) -> None:
    from cepheid.drawing.shown import program_html

    assert text_in(program_html([text])) == text


def test_findings_show_their_lines_with_a_caret_in_terminals_and_in_notebooks() -> None:
    wrong = cep.parse("create schema A (x int);\nselect y from A;").check()
    told = (
        "<text>:2:8: error[unknown-attribute]: no attribute 'y' in A (attributes: x)\n"
        "    select y from A;\n"
        "           ^"
    )
    assert repr(wrong) == told
    assert "    select y from A;\n           ^" in text_in(markup_of(wrong))
    assert repr(cep.parse("").check()) == "nothing to complain about"


@pytest.mark.parametrize(
    "use",
    [
        lambda: cep.parse("select\n  frm A;"),
        lambda: cep.run(cep.parse("create schema A (x int);\nselect y from A;"), []),
        lambda: cep.open(cep.parse("create schema A (x int);\nselect y from A;")),
        lambda: cep.parse("create schema A (x int);\nselect y from A;").plan(),
        lambda: cep.parse("create schema A (x int);\nselect y from A;").simulate(SCENARIO),
        lambda: cep.run(
            cep.parse(
                "create schema A (x int);\nselect f(x) as y from A;",
                functions=[cep.function("f", lambda x: 1 / x, ["int"])],
            ),
            [{"@type": "A", "@time": 0, "x": 0}],
        ),
    ],
)
def test_errors_show_the_line_and_a_caret(use: Callable[[], object]) -> None:
    with pytest.raises(cep.CepheidError) as problem:
        use()
    first, line, caret = str(problem.value).splitlines()
    assert first.startswith("<text>:2:")
    assert line[caret.index("^") :]
    assert set(caret.strip()) == {"^"}


def test_a_cell_is_a_program_and_calls_the_functions_of_the_notebook() -> None:
    function = cep.function("f", abs, ["double"])
    shell: Any = SimpleNamespace(user_ns={"f": function, "same": function, "other": 1})
    text = "create schema A (x double); insert into B select f(x) as y from A;"
    shown = notebook.program_cell(shell, "epl", "", text)
    assert shell.user_ns["program"].tree.functions == (function,)
    assert "insert into" in text_in(markup_of(shown))
    notebook.program_cell(shell, "epl", " mine ", text)
    assert shell.user_ns["mine"] == shell.user_ns["program"]


def test_a_wrong_cell_shows_its_mistakes_and_leaves_no_program() -> None:
    shell: Any = SimpleNamespace(user_ns={"program": "an older one"})
    shown = notebook.program_cell(shell, "epl", "", "select frm A;")
    assert "<cell>:1:13: error[syntax]" in repr(shown)
    assert "program" not in shell.user_ns
    with pytest.raises(cep.UsageError, match="'two words' cannot be a name in Python"):
        notebook.program_cell(shell, "epl", "two words", "")


def test_the_extension_has_a_cell_for_every_language() -> None:
    from cepheid.lang import LANGUAGES

    magics: dict[str, Any] = {}
    shell: Any = SimpleNamespace(
        user_ns={}, register_magic_function=lambda cell, _, name: magics.update({name: cell})
    )
    cep.load_ipython_extension(shell)
    assert magics.keys() == LANGUAGES.keys()
    magics["vepl"]("events", "atomicEvent A(x: int)")
    assert [schema.name for schema in shell.user_ns["events"].tree.schemas] == ["A"]


def test_one_type_of_a_result_is_a_frame_with_its_own_columns() -> None:
    found = cep.run(
        cep.parse(
            "create schema A (x int); insert into B select x from A; insert into C select 1 as y from A;"
        ),
        [{"@type": "A", "@time": 0, "x": 2}],
    )
    assert list(found.to_pandas("B").columns) == ["@type", "@time", "x"]
    assert found.to_pandas("B")["x"].tolist() == [2]
    assert {"x", "y"} <= set(found.to_pandas().columns)
    with pytest.raises(cep.UsageError, match="no event type 'D'"):
        found.to_pandas("D")
    empty = cep.run(cep.parse("create schema A (x int); insert into B select x from A;"), [])
    assert list(empty.to_pandas("B").columns) == ["@type", "@time", "x"]


def test_elements_escape_all_that_is_not_an_element() -> None:
    assert element("b", "<", element("i", 1), None) == "<b>&lt;<i>1</i>None</b>"
    assert "<td" in table("t", ["a"], [[None]])
