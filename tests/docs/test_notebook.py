"""The notebook of the docs shows what its cells give."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.docs.notebooks import written
from tests.docs.pages import ROOT

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


def test_the_notebook_shows_what_its_cells_give(rewrite: bool) -> None:
    command = [sys.executable, "-m", "tests.docs.notebooks", str(NOTEBOOK)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if rewrite:
        NOTEBOOK.write_text(done.stdout, encoding="utf-8")
    stored = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    found = json.loads(done.stdout)
    for before, after in zip(stored["cells"], found["cells"], strict=True):
        assert before == after
    assert NOTEBOOK.read_text(encoding="utf-8") == written(found)


def test_every_cell_with_code_shows_something_but_the_first() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] for cell in code[1:])
