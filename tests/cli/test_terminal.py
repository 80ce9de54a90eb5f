"""Texts that others wrote do not rule the terminal that they are printed on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cepheid.cli.terminal.console import visible
from cepheid.cli.terminal.diagnostics import show
from cepheid.errors import Span, error

ODD = "a\x1b[31mb\x9bc"


@pytest.mark.parametrize("format", ["csv", "jsonl", "table"])
def test_escape_sequences_are_shown_on_a_terminal(format: str, tmp_path: Path) -> None:
    (tmp_path / "p.epl").write_text("create schema A (s string); @Name('S') select s from A;")
    (tmp_path / "A.csv").write_text(f"@time,s\n1,{ODD}\n")
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "cepheid", "run", "p.epl", "--events", "A.csv", "-f", format]
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb"}
    with subprocess.Popen(command, cwd=tmp_path, stdout=theirs, env=environment) as process:
        os.close(theirs)
        said = b""
        try:
            while piece := os.read(ours, 4096):
                said += piece
        except OSError:  # nobody writes any more
            pass
    os.close(ours)
    assert process.returncode == 0
    assert b"\x1b[31m" not in said
    assert "\x9b".encode() not in said
    assert b"[31mb" in said


def test_lines_stay_lines() -> None:
    assert visible(f"{ODD}\n\té") == "a\\x1b[31mb\\x9bc\n\té"


def test_messages_show_neither_escapes_nor_credentials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from cepheid.cli.terminal.console import err

    file = tmp_path / "x\x1b[31m.toml"
    file.write_text('url = "https://user:s3cret@example.org/"\n')
    show([error("usage", f"wrong {ODD}", Span(1, 1, 1, 4, str(file)))], err())
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "s3cret" not in said
    assert "@example.org" in said
