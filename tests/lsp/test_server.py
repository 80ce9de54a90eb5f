"""The language server, asked by a real client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from tests.cli.conftest import Run
from tests.lsp.client import Editor, shown

PROGRAM = """\
create schema A (id string, v double);
@Name('Hot') insert into Hot select a.v as heat from pattern [every a=A(v > 1)];
select heat from Hot;
"""


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    folder = tmp_path_factory.mktemp("texts")
    (folder / "types.epl").write_text("create schema T (k int);\n")
    found = Editor(str(folder), {"programs": [["types.epl", "main.epl"], "odd", [3]]})
    found.start()
    yield found
    found.stop()


def test_findings_come_at_once_and_all_after_a_while(editor: Editor) -> None:
    assert editor.open("a.epl", PROGRAM.replace("select heat", "select heet")) != []
    (finding,) = editor.findings("a.epl")
    assert (finding.code, shown(finding.range)) == ("unknown-attribute", (2, 7, 2, 11))
    assert finding.severity is lsp.DiagnosticSeverity.Error
    assert editor.change("a.epl", PROGRAM) == []
    assert [each.code for each in editor.findings("a.epl")] == ["retention", "no-priority"]
    assert editor.close("a.epl") == []


def test_a_finding_has_its_fix(editor: Editor) -> None:
    editor.open("f.epl", PROGRAM.replace("select heat", "select heet"))
    place = lsp.Range(lsp.Position(2, 8), lsp.Position(2, 8))
    params = lsp.CodeActionParams(editor.document("f.epl"), place, lsp.CodeActionContext([]))
    found = editor.do(editor.client.text_document_code_action_async(params)) or []
    assert len(found) == 1
    action = found[0]
    assert isinstance(action, lsp.CodeAction)
    assert action.title == "write heat"
    assert action.edit is not None
    assert action.edit.changes is not None
    (edit,) = action.edit.changes[editor.uri("f.epl")]
    assert (edit.new_text, shown(edit.range)) == ("heat", (2, 7, 2, 11))
    params.range = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 3))
    assert editor.do(editor.client.text_document_code_action_async(params)) == ()
    editor.close("f.epl")


def test_what_may_be_written(editor: Editor) -> None:
    editor.open("c.epl", PROGRAM + "select a. from pattern [a=A];")
    items = {item.label: item for item in editor.complete("c.epl", 3, 9)}
    assert list(items) == ["id", "v"]
    edit = items["v"].text_edit
    assert isinstance(edit, lsp.TextEdit)
    assert (edit.new_text, shown(edit.range)) == ("v", (3, 9, 3, 9))
    editor.close("c.epl")


def test_what_a_name_stands_for(editor: Editor) -> None:
    editor.open("n.epl", PROGRAM)
    hover = editor.do(
        editor.client.text_document_hover_async(lsp.HoverParams(*editor.at("n.epl", 2, 8)))
    )
    assert hover is not None
    assert isinstance(hover.contents, lsp.MarkupContent)
    assert "Hot.heat: double" in hover.contents.value
    found = editor.do(
        editor.client.text_document_definition_async(
            lsp.DefinitionParams(*editor.at("n.epl", 2, 8))
        )
    )
    assert isinstance(found, list)
    assert [(each.uri, shown(each.range)) for each in found if isinstance(each, lsp.Location)] == [
        (editor.uri("n.epl"), (1, 43, 1, 47))
    ]
    for with_declaration, lines in ((True, [1, 2]), (False, [2])):
        params = lsp.ReferenceParams(
            lsp.ReferenceContext(with_declaration), *editor.at("n.epl", 2, 8)
        )
        places = editor.do(editor.client.text_document_references_async(params)) or ()
        assert [each.range.start.line for each in places] == lines
    editor.close("n.epl")


def test_a_new_name_or_why_not(editor: Editor) -> None:
    editor.open("r.epl", PROGRAM)
    document, place = editor.at("r.epl", 2, 8)
    prepared = editor.do(
        editor.client.text_document_prepare_rename_async(lsp.PrepareRenameParams(document, place))
    )
    assert isinstance(prepared, lsp.PrepareRenamePlaceholder)
    assert prepared.placeholder == "heat"
    params = lsp.RenameParams(document, place, "warmth")
    edit = editor.do(editor.client.text_document_rename_async(params))
    assert edit is not None
    assert edit.changes is not None
    edits = edit.changes[editor.uri("r.epl")]
    assert [(each.new_text, each.range.start.line) for each in edits] == [
        ("warmth", 1),
        ("warmth as heat", 2),  # what a statement gives keeps its name
    ]
    with pytest.raises(JsonRpcException, match="already an event type called 'A'"):
        editor.do(
            editor.client.text_document_rename_async(
                lsp.RenameParams(*editor.at("r.epl", 2, 18), "A")
            )
        )
    editor.close("r.epl")


def test_a_text_in_canonical_form(editor: Editor) -> None:
    def formatted(text: str) -> list[lsp.TextEdit] | None:
        editor.change("p.epl", text)
        params = lsp.DocumentFormattingParams(
            editor.document("p.epl"), lsp.FormattingOptions(4, insert_spaces=True)
        )
        found = editor.do(editor.client.text_document_formatting_async(params))
        return None if found is None else list(found)

    editor.open("p.epl", "")
    edits = formatted("SELECT  a\r\nFROM A;\r\n") or []
    written = [(edit.new_text, shown(edit.range)) for edit in edits]
    assert written == [("select a\r\nfrom A;\r\n", (0, 0, 2, 0))]
    assert formatted("select a\nfrom A;\n") == []
    assert formatted("select from") is None
    editor.close("p.epl")


def test_what_a_text_declares(editor: Editor) -> None:
    editor.open("s.epl", PROGRAM)
    params = lsp.DocumentSymbolParams(editor.document("s.epl"))
    found = editor.do(editor.client.text_document_document_symbol_async(params)) or ()
    names = [
        (each.name, [part.name for part in each.children or ()])
        for each in found
        if isinstance(each, lsp.DocumentSymbol)
    ]
    assert names == [("A", ["id", "v"]), ("Hot", ["heat"]), ("from Hot", [])]
    editor.close("s.epl")


def test_several_files_are_one_program_where_the_client_says_so(editor: Editor) -> None:
    assert [each.code for each in editor.open("alone.epl", "select k from T;")] == ["no-schema"]
    editor.close("alone.epl")
    assert editor.open("main.epl", "select k from T;") == []
    found = editor.do(
        editor.client.text_document_definition_async(
            lsp.DefinitionParams(*editor.at("main.epl", 0, 15))
        )
    )
    assert isinstance(found, list)
    assert [each.uri for each in found if isinstance(each, lsp.Location)] == [
        editor.uri("types.epl")
    ]
    editor.close("main.epl")


def test_other_languages(editor: Editor) -> None:
    assert editor.open("v.vepl", "atomicEvent a(x: int)\nrule r on a { emit b }\n", "vepl")
    labels = [item.label for item in editor.complete("v.vepl", 1, 10)]
    assert labels == ["a"]
    editor.close("v.vepl")


# Awkward places.


def test_columns_are_units_of_utf_16(editor: Editor) -> None:
    text = "select '\N{GRINNING FACE}é' as x, wrong from A;\ncreate schema A (x int);\n"
    (finding, *_) = editor.open("u.epl", text)
    assert shown(finding.range) == (0, 19, 0, 24)
    items = editor.complete("u.epl", 0, 24)
    assert [item.label for item in items] == []
    editor.change("u.epl", text.replace("wrong", "x"))
    assert "x" in [item.label for item in editor.complete("u.epl", 0, 19)]
    editor.close("u.epl")


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_lines_end_in_any_way(editor: Editor, end: str) -> None:
    text = f"create schema A (x int);{end}select y from A;{end}"
    (finding, *_) = editor.open("l.epl", text)
    assert shown(finding.range) == (1, 7, 1, 8)
    editor.close("l.epl")


def test_places_that_are_none(editor: Editor) -> None:
    assert editor.open("e.epl", "") == []
    assert "select" in [item.label for item in editor.complete("e.epl", 0, 0)]
    assert "select" in [item.label for item in editor.complete("e.epl", 99, 99)]
    client = editor.client
    for name in ("e.epl", "unknown.epl"):
        place = editor.at(name, 7, 7)
        assert editor.do(client.text_document_hover_async(lsp.HoverParams(*place))) is None
        found = client.text_document_definition_async(lsp.DefinitionParams(*place))
        assert not editor.do(found)
        prepared = client.text_document_prepare_rename_async(lsp.PrepareRenameParams(*place))
        assert editor.do(prepared) is None
    assert editor.complete("unknown.epl", 0, 0) == []
    editor.close("e.epl")


def test_another_encoding_where_the_client_wants_one(tmp_path: Path) -> None:
    editor = Editor(str(tmp_path), encodings=("utf-8", "utf-16"))
    found = editor.start()
    assert found.capabilities.position_encoding == "utf-8"
    (finding, *_) = editor.open(
        "u.epl", "create schema A (x int);\nselect '\N{GRINNING FACE}é' as x, wrong from A;\n"
    )
    assert shown(finding.range) == (1, 22, 1, 27)
    editor.stop()


def test_without_its_library_the_server_says_what_is_missing(
    cepheid: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cepheid.cli.lsp.find_spec", lambda _: None)
    outcome = cepheid("lsp")
    assert outcome.code == 2
    assert "pip install 'cepheid[lsp]'" in outcome.err
    assert "Traceback" not in outcome.err
