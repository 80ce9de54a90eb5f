"""The lists of files in CONTRIBUTING are true: for a sibling that exists, no file is missing or stale."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, tables

PAGE = ROOT / "CONTRIBUTING.md"
# A sibling in quotes is a text in the code, any other one a name.
LISTS = dict(re.findall(r"^### (.*, such as `(.+)`)$", PAGE.read_text("utf-8"), re.MULTILINE))
_PATH = re.compile(r"`((?:src|tests|docs|examples|benchmarks)/[\w./-]*)`")


@cache
def spoken(file: Path) -> frozenset[str]:
    """The names in a module, and its texts in quotes; what people read is left out."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return frozenset(
        word for node in ast.walk(tree) if id(node) not in prose for word in _words(node)
    )


def _words(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            yield name
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            yield name
        case ast.alias(name, other):
            yield other or name
        case ast.Constant(str(text)):
            yield f'"{text}"'


def knowing(sibling: str) -> set[str]:
    """The modules of the package that speak of something."""
    files = (ROOT / "src" / "cepheid").rglob("*.py")
    return {str(file.relative_to(ROOT)) for file in files if sibling in spoken(file)}


@pytest.mark.parametrize("heading", LISTS)
def test_a_list_has_all_files_that_know_its_sibling(heading: str) -> None:
    listed = {path for row in tables(PAGE, heading) for path in _PATH.findall(row[0])}
    known = knowing(LISTS[heading])
    assert known
    assert not known - listed


@pytest.mark.parametrize("heading", LISTS)
def test_what_to_look_for_is_there(heading: str) -> None:
    for file, wanted, _ in tables(PAGE, heading):
        path = ROOT / file.strip("`")
        assert path.is_file(), file
        assert wanted.strip("`") in path.read_text(encoding="utf-8"), f"no {wanted} in {file}"


def test_every_path_on_the_page_exists() -> None:
    paths = _PATH.findall(PAGE.read_text(encoding="utf-8"))
    assert paths
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_there_is_a_list_for_each_kind_of_thing_that_is_added() -> None:
    kinds = (
        *("operator", "window", "aggregate", "function", "finding", "engine", "language"),
        "kind",
    )
    assert tuple(heading.split(",")[0].split()[-1] for heading in LISTS) == kinds
