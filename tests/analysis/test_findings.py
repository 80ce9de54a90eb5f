"""Findings of programs that several files form."""

from __future__ import annotations

from pathlib import Path

import pytest

import cepheid as cep
from cepheid.analysis.findings import grouped
from cepheid.errors import Span, note

SCHEMA = "create schema A (id string, v int);\n"


def write(folder: Path, **texts: str) -> list[Path]:
    paths = []
    for name, text in texts.items():
        paths.append(folder / f"{name}.epl")
        paths[-1].write_text(text)
    return paths


def test_a_finding_of_one_file_is_not_marked(tmp_path: Path) -> None:
    files = write(tmp_path, a=SCHEMA + "select w from A;", b="create schema B (x int);")
    [finding] = cep.load(*files).check()
    assert (finding.code, finding.combined) == ("unknown-attribute", False)


def test_a_finding_that_only_the_combination_has_is_marked(tmp_path: Path) -> None:
    files = write(
        tmp_path,
        a=SCHEMA + "insert into S select id from A;",
        b=SCHEMA.replace("A", "B") + "insert into S select v from B;",
    )
    assert {f.code for file in files for f in cep.load(file).check()} == {"retention"}
    findings = cep.load(*files).check()
    assert {(f.code, f.combined) for f in findings} == {("schema-conflict", True)}
    assert [Path(f.span.file or "").name for f in findings if f.span] == ["a.epl", "b.epl"]


def test_a_hint_about_other_files_makes_no_finding_of_the_combination(tmp_path: Path) -> None:
    files = write(tmp_path, a=SCHEMA + "create schema C () inherits Nope;", b="create schema B ();")
    [finding] = cep.load(*files).check()
    assert (finding.hint, finding.combined) == ("known types: A, B", False)


def test_a_statement_may_use_what_another_file_declares(tmp_path: Path) -> None:
    files = write(tmp_path, use="select id from A;", declare=SCHEMA)
    assert [(f.code, f.combined) for f in cep.load(*files).check()] == [("retention", True)]
    alone = cep.load(files[0]).check(without=["retention"])
    assert [f.code for f in alone] == ["no-schema"]


def test_syntax_errors_and_other_errors_of_all_files_come_at_once(tmp_path: Path) -> None:
    files = write(
        tmp_path, a=SCHEMA + "select w from A;", b="selct * from A;\nselect sum(id) as s from A;"
    )
    with pytest.raises(cep.ProgramError) as wrong:
        cep.load(*files)
    assert [d.code for d in wrong.value.diagnostics] == [
        "unknown-attribute",
        "syntax",
        "wrong-arguments",
    ]


def test_a_broken_declaration_hides_no_slip(tmp_path: Path) -> None:
    files = write(tmp_path, a=SCHEMA.replace("A", "Motorbike") + "selct; select * from Motorbik;")
    with pytest.raises(cep.ProgramError) as wrong:
        cep.load(*files)
    assert [d.code for d in wrong.value.diagnostics] == ["syntax", "unknown-type"]
    assert wrong.value.diagnostics[1].hint == "did you mean 'Motorbike'?"


def test_what_a_broken_declaration_may_declare_is_not_held_against_the_rest(tmp_path: Path) -> None:
    files = write(tmp_path, a="create schema Wheel (x int;\nselect x from Wheel;")
    with pytest.raises(cep.ProgramError) as wrong:
        cep.load(*files)
    assert [d.code for d in wrong.value.diagnostics] == ["syntax"]


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (1, "m"),
        (2, "m; 1 more statement is like it: line 2"),
        (7, "m; 6 more statements are like it: lines 2, 3, 4, 5, 6, 7"),
        (8, "m; 7 more statements are like it: lines 2, 3, 4, 5, 6, 7, ..."),
    ],
)
def test_notes_of_one_kind_become_one_in_each_file(count: int, told: str) -> None:
    notes = [
        note("implied", "m", Span(line, 1, line, 2, file))
        for file in ("a.epl", "b.epl")
        for line in range(1, count + 1)
    ]
    assert [(f.message, f.span and f.span.file) for f in grouped(notes)] == [
        (told, "a.epl"),
        (told, "b.epl"),
    ]
