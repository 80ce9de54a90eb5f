"""The command in this process, in a folder of its own."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from cepheid.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"

PROGRAM = """\
create schema A (id string, x int);

create schema B (id string, x int);

@Name('Pair')
insert into Pair
select a.id as id, a.x as first, b.x as second
from pattern [every a=A -> b=B(b.id = a.id) where timer:within(10 seconds)];

@Name('Big')
insert into Big
select id, x
from A(x > 100);
"""
EVENTS = """\
{"@type": "A", "@time": 1, "id": "k", "x": 1}
{"@type": "B", "@time": 2, "id": "k", "x": 2}
{"@type": "A", "@time": 3, "id": "l", "x": 300}
{"@time": 20}
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def data(self) -> Any:
        return json.loads(self.out)


class Run(Protocol):
    def __call__(self, *args: str, stdin: str | bytes = "") -> Outcome: ...


@pytest.fixture(scope="session", autouse=True)
def only_what_the_command_says(compiled: None) -> None:
    """No word of the matcher that is compiled."""


@pytest.fixture
def cepheid(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command; whatever it does, it ends with an exit code."""

    def run(*args: str, stdin: str | bytes = "") -> Outcome:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        code = main(args)
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return Outcome(code, printed.out, printed.err)

    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder we are in, with a program and events."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "p.epl").write_text(PROGRAM)
    (tmp_path / "e.jsonl").write_text(EVENTS)
    return tmp_path


@pytest.fixture
def write(folder: Path) -> Callable[[str, str], Path]:
    def write(name: str, text: str) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write
