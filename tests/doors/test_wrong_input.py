"""Wrong frames, files, calls and commands, with all that is said about them: golden text."""

from __future__ import annotations

import io
import shlex
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.cli.main import main

GOLDEN = Path(__file__).parent / "wrong_input.txt"
TEXT = """\
create schema P (card string, v int);
create schema Q (card string, w double);
create context ByCard partition by card from P, card from Q;
@Name('Large') context ByCard select card, v from P(v > 10);
@Name('Both') context ByCard select a.v as v, b.w as w from pattern [every a=P -> b=Q];
"""
ONE = "create schema P (card string, v int);\n@Name('Large') select card, v from P(v > 10);\n"


def run(*events: Any, program: str = ONE, **options: Any) -> list[str]:
    result = cep.run(cep.parse(program), *events, **options)
    rows = [f"{dict(row)}" for row in result]
    return [*rows, *map(str, result.notes), *(f"skipped {problem}" for problem in result.skipped)]


def send(*arguments: Any, **options: Any) -> list[str]:
    session = cep.open(cep.parse(TEXT), start=0, **options)
    return [*map(str, session.send(*arguments)), *map(str, session.notes)]


def send_table(given: Any, optional: Any = (), **options: Any) -> list[str]:
    found = cep.open(cep.parse(ONE), start=5, **options).send_table(given, optional=optional)
    return [*(f"{dict(row)}" for row in found), *map(str, found.notes)]


def command(line: str, /, **files: str) -> list[str]:
    """What a command prints, in a folder with the program p.epl and some files."""
    Path("p.epl").write_text(TEXT)
    Path("one.epl").write_text(ONE)
    for name, text in files.items():
        Path(name.replace("_", ".")).write_text(text)
    out, err, stdin = sys.stdout, sys.stderr, sys.stdin
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    sys.stdin = io.StringIO(files.get("stdin", ""))
    try:
        code = main(shlex.split(line))
        return [*(sys.stdout.getvalue() + sys.stderr.getvalue()).splitlines(), f"exit {code}"]
    finally:
        sys.stdout, sys.stderr, sys.stdin = out, err, stdin


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns).rename(columns={"time": "@time", "type": "@type"})


def table(**columns: Any) -> pa.Table:
    names = {"time": "@time", "type": "@type"}
    return pa.table({names.get(name, name): column for name, column in columns.items()})


def file(name: str, content: str | pa.Table) -> str:
    if isinstance(content, str):
        Path(name).write_text(content)
    else:
        pq.write_table(content, name)
    return name


def e(type: str = "P", time: Any = 1, **attributes: Any) -> dict[str, Any]:
    return {"@type": type, "@time": time, **attributes}


NAMES = {
    "run": run,
    "send": send,
    "send_table": send_table,
    "command": command,
    "frame": frame,
    "table": table,
    "file": file,
    "e": e,
    "source": cep.source,
    "pd": pd,
    "pa": pa,
    "np": np,
    "BOTH": TEXT,
}


def said(text: str) -> list[str]:
    """What a call gives or raises; only what is Cepheid's own may be raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        try:
            found: list[str] = eval(text, dict(NAMES))  # the file is ours
        except cep.CepheidError as refused:
            found = [f"{type(refused).__name__} {each}" for each in refused.diagnostics]
    return [line.rstrip() for line in found if line.strip()]


def blocks() -> list[tuple[str, list[str]]]:
    cases = []
    for block in GOLDEN.read_text(encoding="utf-8").strip().split("\n\n")[1:]:
        text, _, expected = block.partition("\n=>")
        cases.append((text, expected.strip("\n").splitlines()))
    return cases


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def test_wrong_input_is_refused_in_our_words(rewrite: bool, tmp_path: Path) -> None:
    cases = blocks()
    found = []
    for text, _ in cases:
        for old in tmp_path.iterdir():
            old.unlink()
        found.append((text, said(text)))
    if rewrite:
        head = GOLDEN.read_text(encoding="utf-8").split("\n\n")[0]
        shown = ["\n".join([text, "=>", *lines]) for text, lines in found]
        GOLDEN.write_text("\n\n".join([head, *shown]) + "\n", encoding="utf-8")
    assert all(lines for _, lines in found), "a case of which nothing is said tests nothing"
    assert found == blocks()
    assert len(cases) >= 70
