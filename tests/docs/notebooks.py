"""Notebooks without a server: the cells of one through IPython, and what each of them shows.

`python -m tests.docs.notebooks FILE` prints the notebook with the outputs that its cells give now.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TypeAlias

Cell: TypeAlias = dict[str, Any]
Notebook: TypeAlias = dict[str, Any]


def executed(notebook: Notebook) -> Notebook:
    """The notebook with new outputs; RuntimeError where a cell fails."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    with tempfile.TemporaryDirectory() as folder:
        config = Config({"HistoryManager": {"enabled": False}})
        shell: Any = InteractiveShell.instance(config=config, ipython_dir=folder)
        shell.display_formatter.active_types = shell.display_formatter.format_types
        cells = [_executed(cell, shell) for cell in notebook["cells"]]
    return {**notebook, "cells": cells}


def _executed(cell: Cell, shell: Any) -> Cell:
    if cell["cell_type"] != "code":
        return cell
    shown: list[object] = []
    shell.display_trap.hook = shown.append
    printed, source = io.StringIO(), "".join(cell["source"])
    with redirect_stdout(printed):
        done = shell.run_cell(source)
    if done.error_before_exec or done.error_in_exec:
        raise RuntimeError(source) from (done.error_before_exec or done.error_in_exec)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = _lines(printed.getvalue())
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    for value in shown:
        if value is not None:
            forms, _ = shell.display_formatter.format(value)
            data = {kind: _lines(text) for kind, text in sorted(forms.items())}
            outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    return {**cell, "outputs": outputs}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def written(notebook: Notebook) -> str:
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(written(executed(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))), end="")
