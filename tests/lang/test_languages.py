"""Languages as a seam: a program of files in several, each by its extension."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import cepheid as cep
from cepheid.cli.main import main
from cepheid.errors import Diagnostic, Edit, ProgramError, Span, error
from cepheid.expr.printing import print_expr
from cepheid.lang import DEFAULT, LANGUAGES, language_of
from cepheid.lang.language import Language
from cepheid.pattern.tree import Atom, Every, Pattern
from cepheid.program.tree import (
    Annotation,
    Declaration,
    PatternSource,
    ProgramTree,
    SelectAll,
    Statement,
)

SOURCE = Path(__file__).parents[2] / "src" / "cepheid"


# A language with one kind of line, `B from each A`, and an optional `!7` for its priority ------


@dataclass(frozen=True)
class Lines:
    tree: ProgramTree
    problems: tuple[Diagnostic, ...]


def parse(text: str, file: str | None = None) -> Lines:
    statements: list[Statement] = []
    problems: list[Diagnostic] = []
    for number, line in enumerate(text.splitlines(), start=1):
        place = Span(number, 1, number, len(line) + 1, file)
        match line.split():
            case [target, "from", "each", source, *rest]:
                statements.append(_statement(target, source, rest, place))
            case []:
                pass
            case _:
                problems.append(error("syntax", "a line is 'B from each A'", place))
    return Lines(ProgramTree(tuple(statements)), tuple(problems))


def _statement(target: str, source: str, rest: Sequence[str], place: Span) -> Statement:
    marks = (Annotation("Priority", ((None, int(rest[0][1:])),), span=place),) if rest else ()
    pattern = Every(Atom(source, "it", span=place), span=place)
    return Statement(
        select=(SelectAll("it"),),
        source=PatternSource(pattern, span=place),
        insert_into=target,
        annotations=marks,
        span=place,
    )


def print_declaration(declaration: Declaration) -> str:
    assert isinstance(declaration, Statement)
    assert isinstance(declaration.source, PatternSource)
    mark = f" !{declaration.priority}" if declaration.priority else ""
    return f"{declaration.insert_into} from each {print_pattern(declaration.source.pattern)}{mark}"


def print_pattern(pattern: Pattern) -> str:
    node = pattern.child if isinstance(pattern, Every) else pattern
    assert isinstance(node, Atom)
    return node.event_type


def print_program(tree: ProgramTree) -> str:
    return "".join(f"{print_declaration(d)}\n" for d in tree.declarations)


def format_text(text: str, file: str | None) -> str:
    parsed = parse(text, file)
    if parsed.problems:
        raise ProgramError(*parsed.problems)
    return print_program(parsed.tree)


def with_priorities(text: str, file: str | None, priorities: Sequence[int]) -> tuple[Edit, ...]:
    edits = []
    for number, (line, priority) in enumerate(zip(text.splitlines(), priorities, strict=True), 1):
        column = len(line.split(" !")[0]) + 1
        edits.append(Edit(Span(number, column, number, len(line) + 1, file), f" !{priority}"))
    return tuple(edits)


EACH = Language(
    name="each",
    title="Each",
    extensions=(".each",),
    parse=parse,
    print_program=print_program,
    print_declaration=print_declaration,
    print_pattern=print_pattern,
    print_expression=print_expr,
    excess=lambda _: None,
    format_text=format_text,
    with_priorities=with_priorities,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of two files in two languages, with events and the rows that they must give."""
    monkeypatch.setitem(LANGUAGES, EACH.name, EACH)
    monkeypatch.chdir(tmp_path)
    schema = "create schema A (x int);\ncreate schema Z (x int);\n"
    statement = "insert into C\nselect b.x as x\nfrom pattern [every b=B];\n"
    Path("one.epl").write_text(schema + "\n" + statement)
    Path("two.each").write_text("B from each A\n")
    Path("events.jsonl").write_text('{"@type": "A", "@time": 1, "x": 7}\n')
    return tmp_path


def rows(program: cep.Program) -> list[tuple[str, object]]:
    return [(row.type, row["x"]) for row in cep.run(program, "events.jsonl")]


def test_a_program_may_have_files_of_several_languages(folder: Path) -> None:
    program = cep.load("one.epl", "two.each")
    assert rows(program) == [("B", 7), ("C", 7)]
    assert cep.load("two.each") == cep.parse("B from each A", "each")
    assert cep.parse(program.to_text()) == program
    assert cep.load("two.each").to_text("each") == "B from each A\n"


def test_findings_have_their_places_in_the_files_of_each_language(folder: Path) -> None:
    Path("two.each").write_text("B from each A\nB of all A\n")
    with pytest.raises(cep.ProgramError) as wrong:
        cep.load("one.epl", "two.each")
    assert [str(d.span) for d in wrong.value.diagnostics] == ["two.each:2:1"]
    Path("two.each").write_text("B from each A\nA from each B\n")
    found = [f for f in cep.load("two.each", "one.epl").check() if f.code == "endless-cycle"]
    assert [str(f.span) for f in found] == ["two.each:1:1"]


def test_steps_are_shown_in_the_language_of_their_statement(folder: Path) -> None:
    steps = cep.run(cep.load("one.epl", "two.each"), "events.jsonl").steps
    assert [(s.step, s.count) for s in steps] == [("b=B", 1), ("A", 1)]


def test_priorities_are_written_in_the_language_of_each_file(folder: Path) -> None:
    assert main(["check", "one.epl", "two.each", "--fix-priorities"]) == 0
    assert Path("two.each").read_text() == "B from each A !2\n"
    assert "@Priority(1)" in Path("one.epl").read_text()
    assert rows(cep.load("one.epl", "two.each")) == [("B", 7), ("C", 7)]


def test_commands_take_files_of_every_language(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("two.each").write_text("B   from each A\n")
    assert main(["format", "one.epl", "two.each"]) == 0
    assert Path("two.each").read_text() == "B from each A\n"
    assert main(["explain", "one.epl", "two.each", "--stage", "parse", "--json"]) == 0
    declared = json.loads(capsys.readouterr().out)
    assert [d["text"] for d in declared if d["file"] == "two.each"] == ["B from each A"]
    for stage in ("program", "matcher", "plan", "types", "graph"):
        assert main(["explain", "one.epl", "two.each", "--stage", stage]) == 0
    assert main(["run", "--events", "events.jsonl", "two.each", "one.epl"]) == 0
    assert main(["test", ".", "--rewrite"]) == 0
    assert len(Path("expected.jsonl").read_text().splitlines()) == 2
    assert main(["test", "."]) == 0


@pytest.mark.parametrize("command", [["check"], ["format"], ["run", "--events", "events.jsonl"]])
def test_an_extension_that_no_language_has_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    Path("three.txt").write_text("create schema B (x int);")
    assert main([command[0], "three.txt", *command[1:]]) == 2
    said = capsys.readouterr().err
    assert "'three.txt' is in no known language: no language has files that end with '.txt'" in said
    assert "hint: programs end with .epl, .vepl, .vql, .bicepl, .each" in said


def test_a_file_without_an_extension_is_in_the_default_language(folder: Path) -> None:
    Path("one").write_text(Path("one.epl").read_text())
    assert cep.load("one") == cep.load("one.epl")
    assert language_of("folder.d/one") is DEFAULT
    assert language_of("ONE.EPL") is DEFAULT


def test_text_is_only_written_in_languages_that_exist(folder: Path) -> None:
    with pytest.raises(cep.UsageError, match=r"no language 'eachh'.*did you mean 'each'"):
        cep.load("two.each").to_text("eachh")


# Who may know a language by its name ----------------------------------------------------------


# Blocks are another form in which one of them is written.
OF_LANGUAGES = (SOURCE / "lang", SOURCE / "studio" / "blocks")


@cache
def words_in(path: Path) -> frozenset[str]:
    """The single words of a module, in small letters."""
    return frozenset(
        word for name in names(ast.parse(path.read_text())) for word in name.lower().split(".")
    )


def names(tree: ast.AST) -> Iterator[str]:
    """Names, imports and texts of a module, but for docstrings, which show examples."""
    shown = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)
    }  # statements that are only a value: docstrings
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in shown:
                yield text
            case ast.Name(id=name) | ast.alias(name=name) | ast.Attribute(attr=name):
                yield name
            case ast.ImportFrom(module=str(name)):
                yield name


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_only_the_languages_know_a_language_by_its_name(language: str) -> None:
    for path in sorted(SOURCE.rglob("*.py")):
        if not any(map(path.is_relative_to, OF_LANGUAGES)):
            assert language not in words_in(path), path
