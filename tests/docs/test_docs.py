"""Every block of the README and the docs runs and gives what the page shows; links lead somewhere.

`pytest tests/docs --rewrite` puts what the blocks give now into the pages.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path

import pytest

import cepheid as cep
from cepheid.cli.main import main
from cepheid.engines.registry import ENGINES, Offer
from cepheid.errors import CATALOGUE, Severity
from cepheid.expr.functions import AGGREGATES, FUNCTIONS
from cepheid.expr.tree import Expr
from cepheid.pattern.tree import Pattern
from cepheid.program.tree import Window
from cepheid.realtime import reading
from cepheid.realtime.operators.kind import Kind, Parameter
from cepheid.realtime.operators.kinds import KINDS as GRAPH_KINDS
from cepheid.realtime.operators.statements import STATEMENT
from tests.docs import notation
from tests.docs.pages import (
    KINDS,
    PAGES,
    ROOT,
    Block,
    anchors,
    blocks,
    links,
    rewrite_blocks,
    rewrite_table,
    tables,
)

REFERENCE = ROOT / "docs" / "epl.md"
_MODULE = re.compile(r"`([\w-]+/[\w/.-]+\.(?:py|maude))`")
_EXAMPLE = re.compile(r"`(.*)` is `(.*)`")
_CODE = re.compile(r"`([^`]+)`")
_COMMAND = re.compile(r"^\$ ((?:\\\n|.)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_CEPHEID = re.compile(r"cepheid [^|&;<>$`*]+")  # a command that needs no shell


@dataclass
class Page:
    """A page that is being executed, in a folder with a copy of the examples."""

    folder: Path
    names: dict[str, object] = field(default_factory=dict)
    printed: str | None = None  # by the last python block, until an output block shows it

    def run(self, block: Block) -> str:
        """Executes a block; gives the body that it ought to have."""
        if block.kind != "output":
            self.expect_shown(str(block))
        if block.file:
            (self.folder / block.file).write_text(block.body, encoding="utf-8")
        return RUNNERS[block.kind](self, block)

    def expect_shown(self, place: str) -> None:
        """What was printed must stand on the page."""
        assert not self.printed, f"before {place}: no output block shows {self.printed!r}"
        self.printed = None

    def python(self, block: Block) -> str:
        captured = io.StringIO()
        code = compile("\n" * block.line + block.body, str(block.page), "exec")
        with contextlib.redirect_stdout(captured):
            exec(code, self.names)
        self.printed = captured.getvalue()
        return block.body

    def output(self, block: Block) -> str:
        printed, self.printed = self.printed, None
        assert printed is not None, f"{block}: no python block before this output"
        return printed

    def console(self, block: Block) -> str:
        commands = _COMMAND.findall(block.body)
        assert commands, f"{block}: no command"
        return "".join(f"$ {command}\n{self.printed_by(command)}" for command, _ in commands)

    def printed_by(self, command: str) -> str:
        """What a command prints; that of the package needs no process of its own, which is quicker."""
        command = command.replace("\\\n", "")
        text = _here(command) if _CEPHEID.fullmatch(command) else _in_a_shell(command)
        return "".join(f"{line.rstrip()}\n" for line in text.splitlines())

    def program(self, block: Block) -> str:
        if block.words[:1] == ["fails"]:
            assert _codes(block.body, block.kind) == sorted(block.words[1:]), str(block)
            return block.body
        assert _codes(block.body, block.kind) == [], str(block)
        if not notation.has_events(block.body):
            return block.body
        return notation.with_rows(block.body, notation.rows_of(block.body, block.kind))

    def wrapper(self, block: Block) -> str:
        assert not cep.web.parse(block.body).check(), str(block)
        return block.body

    def sh(self, block: Block) -> str:
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        for line in block.body.splitlines():
            target = line.split("#")[0].split()
            assert target[0] == "make", f"{block}: only make targets stand in sh blocks"
            assert f"\n{target[1]}:" in makefile, f"{block}: no target {target[1]}"
        return block.body

    def data(self, block: Block) -> str:
        return block.body


RUNNERS: dict[str, Callable[[Page, Block], str]] = {
    "bicepl": Page.program,
    "console": Page.console,
    "csv": Page.data,
    "epl": Page.program,
    "events": Page.data,
    "html": Page.data,
    "json": Page.data,
    "output": Page.output,
    "oxpath": Page.wrapper,
    "python": Page.python,
    "sh": Page.sh,
    "text": Page.data,
    "toml": Page.data,
    "vepl": Page.program,
    "vql": Page.data,
    "xml": Page.data,
}


def _here(command: str) -> str:
    """Both streams of the command, run in this process."""
    with io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) as both:
        with contextlib.redirect_stdout(both), contextlib.redirect_stderr(both):
            main(shlex.split(command)[1:])
        both.seek(0)
        return both.read()


def _in_a_shell(command: str) -> str:
    return subprocess.run(
        command,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout


@pytest.fixture
def plain_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a pipe in a plain shell, 100 columns wide."""
    here = str(Path(sys.executable).parent)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("PATH", os.pathsep.join([here, os.environ.get("PATH", "")]))
    for name, value in (("COLUMNS", "100"), ("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)


def _codes(text: str, language: str) -> list[str]:
    """The codes of the errors in a program; the types of the reference are known."""
    try:
        findings = notation.program_of(text, language).check(without=["races"])
    except cep.ProgramError as refused:
        findings = list(refused.diagnostics)
    return sorted({f.code for f in findings if f.severity is Severity.ERROR})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.usefixtures("compiled", "plain_shell")
def test_every_block_gives_what_the_page_shows(
    page: Path,
    rewrite: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    running = Page(tmp_path)
    found = blocks(page)
    unknown = [f"{block}: {block.info!r}" for block in found if block.kind not in KINDS]
    assert not unknown
    bodies = [running.run(block) for block in found]
    running.expect_shown("the end of the page")
    if rewrite:
        rewrite_blocks(page, bodies)
        return
    different = [
        f"{block}\n--- the page shows\n{block.body}--- it gives\n{body}"
        for block, body in zip(found, bodies, strict=True)
        if block.body != body
    ]
    assert not different, "\n".join(different)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_module_that_a_page_names_exists(page: Path) -> None:
    for name in _MODULE.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / name).is_file() or (ROOT / "src" / "cepheid" / name).is_file(), name


def test_the_reference_has_an_example_of_every_construct() -> None:
    shown: set[str] = set()
    rates: set[tuple[str | None, bool, bool]] = set()
    for block in blocks(REFERENCE):
        if block.kind == "epl" and not block.words:
            for statement in cep.parse(block.body, types=notation.TYPES).tree.statements:
                shown |= {type(part).__name__ for part in _parts(statement)}
                rate = statement.output
                if rate:
                    rates.add((rate.mode, rate.after is not None, rate.when is not None))
    nodes = {kind for root in (Expr, Pattern, Window) for kind in _kinds(root)}
    assert (
        nodes - {"Column", "Form"} <= shown
    )  # a column is made by resolving a name, forms are VEPL's
    assert {mode for mode, _, _ in rates} == {None, "first", "last", "all", "snapshot"}
    assert any(after for _, after, _ in rates)
    assert any(when for _, _, when in rates)


def _kinds(root: type[object]) -> set[str]:
    """Those of the package; other tests make up some of their own."""
    kinds = root.__subclasses__()
    return {kind.__name__ for kind in kinds if kind.__module__.startswith("cepheid.")}


def _parts(value: object) -> Iterator[object]:
    """Every node of a tree."""
    if isinstance(value, tuple):
        for item in value:
            yield from _parts(item)
    elif is_dataclass(value):
        yield value
        for f in fields(value):
            yield from _parts(getattr(value, f.name))


def test_the_reference_lists_every_window() -> None:
    listed = [cells[0].strip("`") for cells in tables(REFERENCE, "Windows")]
    texts = [row.replace("(p)", "(1 sec)").replace("(n)", "(2)") for row in listed]
    program = cep.parse("".join(f"select * from A#{text};\n" for text in texts))
    kinds = [type(statement.window).__name__ for statement in program.tree.statements]
    assert sorted(kinds) == sorted(_kinds(Window))


def test_the_table_of_operators_has_an_example_of_each() -> None:
    examples = [text for row in tables(REFERENCE, "Patterns") for text in _CODE.findall(row[2])]
    program = cep.parse("".join(f"select * from pattern [{text}];\n" for text in examples))
    sources = [statement.source for statement in program.tree.statements]
    shown = {type(part).__name__ for source in sources for part in _parts(source)}
    alone = {"Interval", "IntervalOf", "At", "Form"}  # timers stand alone, like events
    assert _kinds(Pattern) - alone <= shown


def test_the_reference_lists_every_function() -> None:
    names: dict[tuple[str, str], list[str]] = {}
    for name, function in FUNCTIONS.items():
        others = names.setdefault((function.usage, function.doc), [])
        others += [] if function.usage.startswith(f"{name}(") else [f"`{name}`"]
    listed = {(c[0].strip("`"), c[1]): c[3].split() for c in tables(REFERENCE, "Functions")}
    assert listed == names


def test_the_examples_of_functions_give_their_values() -> None:
    examples = [_EXAMPLE.fullmatch(cells[2]) for cells in tables(REFERENCE, "Functions")]
    calls = {match[1]: match[2] for match in examples if match}
    assert len(calls) == len(examples)
    columns = [f"{call} as c{number}" for number, call in enumerate(calls)]
    rows = notation.rows_of(f"select {', '.join(columns)} from A;\n// in:  A1@1\n")
    values = [f"c{number}={value}" for number, value in enumerate(calls.values())]
    assert rows == [" ".join(["1", *values])]


def test_the_reference_lists_every_aggregate() -> None:
    listed = {cells[0].strip("`"): cells[1] for cells in tables(REFERENCE, "Aggregates")}
    assert listed == {name: f.doc for name, f in AGGREGATES.items()}


def test_the_reference_lists_every_diagnostic(rewrite: bool) -> None:
    if rewrite:
        rows = [[f"`{code}`", meaning] for code, meaning in CATALOGUE.items()]
        rewrite_table(REFERENCE, "Diagnostics", rows)
    listed = {cells[0].strip("`"): cells[1] for cells in tables(REFERENCE, "Diagnostics")}
    assert listed == CATALOGUE


def test_the_table_of_engines_is_that_of_the_registry(rewrite: bool) -> None:
    page = ROOT / "docs" / "how-it-works.md"
    rows = [
        [f"`{engine.name}`", engine.help, *("yes" if o in engine.offers else "" for o in Offer)]
        for engine in ENGINES.values()
    ]
    if rewrite:
        rewrite_table(page, "Engines", rows)
    assert tables(page, "Engines") == rows


def test_the_table_of_public_names_says_what_they_are(rewrite: bool) -> None:
    page = ROOT / "docs" / "python.md"
    homes = {"cep": cep, "cep.spark": cep.spark}
    rows = [
        [f"`{home}.{name}`", (inspect.getdoc(getattr(module, name)) or "").partition("\n")[0]]
        for home, module in homes.items()
        for name in sorted(module.__all__, key=str.lower)
    ]
    if rewrite:
        rewrite_table(page, "All names", rows)
    assert all(meaning for _, meaning in rows)
    assert tables(page, "All names") == rows


def test_the_table_of_operators_of_graphs_is_that_of_their_kinds(rewrite: bool) -> None:
    page = ROOT / "docs" / "realtime.md"
    rows = [
        [f"`{kind.name}`", kind.says, _inputs(*kind.inputs), _parameters(kind)]
        for kind in GRAPH_KINDS.values()
        if kind.name != STATEMENT  # which no file names: a program has it
    ]
    if rewrite:
        rewrite_table(page, "Kinds of operators", rows)
    assert tables(page, "Kinds of operators") == rows


def _inputs(least: int, most: int | None) -> str:
    return str(least) if least == most else f"{least} or more"


def _parameters(kind: Kind) -> str:
    def shown(name: str, parameter: Parameter) -> str:
        if parameter.is_needed:
            return f"**`{name}`**"
        default = parameter.default
        text = f'"{default.hex()}"' if isinstance(default, bytes) else default
        return f"`{name}`" if default is None else f"`{name}` ({text})"

    return ", ".join(shown(*each) for each in kind.parameters.items())


def test_the_page_of_graphs_has_every_setting() -> None:
    listed: dict[str, set[str]] = {}
    for table, settings, *_ in tables(ROOT / "docs" / "realtime.md", "Settings"):
        listed.setdefault(table.strip("`"), set()).update(_CODE.findall(settings))
    known = {
        "suppliers": reading._SUPPLIER,
        "operators": reading._OPERATOR,
        "consumers": reading._CONSUMER,
        "bench": reading._BENCH,
    }
    known["the file"] = tuple(name for name in reading._TOP if name not in known)
    assert listed == {table: set(names) for table, names in known.items()}


def test_the_page_of_graphs_has_every_cause_of_a_release() -> None:
    text = (ROOT / "src" / "cepheid" / "realtime" / "machine.py").read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if "release" in line)
    causes = {cause for line in lines for cause in re.findall(r'"(\w+)"', line)}
    rows = tables(ROOT / "docs" / "realtime.md", "What is late")
    assert causes == {cause for cells in rows for cause in _CODE.findall(cells[0])}


def test_the_map_has_every_folder() -> None:
    page = ROOT / "docs" / "how-it-works.md"
    listed = {cells[0].strip("`") for cells in tables(page, "The folders of `src/cepheid`")}
    assert listed == {file.parent.name for file in (ROOT / "src" / "cepheid").glob("*/__init__.py")}


def test_a_command_may_go_on_in_the_next_line(tmp_path: Path) -> None:
    body = "$ printf '%s\\n' a \\\n    b\na\nb\n$ cepheid \\\n  --version\n"
    block = Block(tmp_path, 1, "console", body)
    assert Page(tmp_path).console(block) == f"{body}cepheid {cep.__version__}\n"


def test_pages_stay_short() -> None:
    lengths = {page: len(page.read_text(encoding="utf-8").splitlines()) for page in PAGES}
    assert lengths[ROOT / "README.md"] <= 120
    assert lengths[ROOT / "docs" / "guide.md"] <= 350
    records = (page for page in PAGES if page.parent.name == "decisions" and page.stem != "README")
    assert all(15 <= lengths[page] <= 30 for page in records)
