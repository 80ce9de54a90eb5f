"""The public names agree everywhere: what is exported, found when asked for, typed and documented."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import cepheid as cep
from tests.docs.pages import PAGES

ROOT = Path(__file__).parents[1]
MODULES = ("cepheid", "cepheid.realtime", "cepheid.spark", "cepheid.web")


def typed_homes(module: str) -> dict[str, str]:
    """What a type checker sees: each name and where it is imported from."""
    tree = ast.parse(Path(import_module(module).__file__ or "").read_text())
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return {
        alias.asname or alias.name: node.module or ""
        for node in imports
        for alias in node.names
        if (node.module or "").startswith("cepheid")
    }


@pytest.mark.parametrize("module", MODULES)
def test_what_is_exported_is_what_a_type_checker_sees(module: str) -> None:
    assert sorted(import_module(module).__all__) == sorted(typed_homes(module))


@pytest.mark.parametrize("module", MODULES)
def test_every_exported_name_is_found_where_a_type_checker_looks(module: str) -> None:
    found = import_module(module)
    assert dir(found) == sorted(found.__all__)
    for name, home in typed_homes(module).items():
        if name == "spark":
            assert getattr(found, name) is import_module("cepheid.spark")
        else:
            assert getattr(found, name) is getattr(import_module(home), name), name


@pytest.mark.parametrize("module", MODULES)
def test_a_name_that_is_not_exported_is_not_found(module: str) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'detekt'"):
        import_module(module).detekt  # noqa: B018


def test_the_docs_use_public_names_only_and_show_all_of_them() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    used = set(re.findall(r"\bcep\.(\w+)", text))
    assert used <= {*cep.__all__, "__version__"}
    shown = set(re.findall(r"\w+", text))
    assert set(cep.__all__) <= shown
    on_spark = set(re.findall(r"\bcep\.spark\.(\w+)", text))
    assert on_spark == set(cep.spark.__all__)


def test_the_version_is_written_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert "version" not in project["project"]
    source = ROOT / project["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{cep.__version__}"' in source.read_text()
