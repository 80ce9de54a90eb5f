"""`cepheid studio` as a command."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from cepheid.cli.main import main
from cepheid.studio.server import HOST


def refused(capsys: pytest.CaptureFixture[str], *args: str, code: int = 2) -> str:
    assert main(["studio", "--no-browser", *args]) == code
    return capsys.readouterr().err


def test_its_help_has_an_example_and_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["studio", "--help"]) == 0
    out = capsys.readouterr().out
    assert "  cepheid studio alarms/" in out
    for option in ("--port", "--limit", "--trust", "--no-browser"):
        assert f" {option} " in out


def test_what_is_not_installed_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "uvicorn" else known(name)
    )
    said = refused(capsys, code=1)
    assert "error[no-studio]: the studio needs what is not installed: uvicorn" in said
    assert "pip install 'cepheid[studio]'" in said


def test_odd_arguments_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "no folder" in refused(capsys, str(tmp_path / "none"))
    assert "--limit" in refused(capsys, str(tmp_path), "--limit", "0")
    assert "--limit" in refused(capsys, str(tmp_path), "--limit", "nan")
    assert "--port" in refused(capsys, str(tmp_path), "--port", "65536")


def test_a_port_that_is_taken_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"cannot listen on port {port}" in refused(
            capsys, str(tmp_path), "--port", str(port)
        )


def test_it_serves_the_address_that_it_prints_until_it_is_interrupted(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cepheid", "studio", str(tmp_path), "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        address = line.removeprefix("The studio is at ").strip()
        assert address.startswith(f"http://{HOST}:")
        assert httpx.get(address).status_code == 200
        assert httpx.get(address.partition("?")[0]).status_code == 403
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=30)
    assert running.returncode == 130
    assert said == ""
    assert list(tmp_path.iterdir()) == []
