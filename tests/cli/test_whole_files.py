"""What a command writes into a file is there as a whole, or the old file stays."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cepheid.core.whole_file import whole_file
from tests.cli.conftest import Run

PROGRAM = "create schema A (x int); @Name('S') insert into S select x from A;"
EVENTS = '{"@type": "A", "@time": 1, "x": 1}\n'


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_a_run_that_fails_while_it_writes_leaves_the_old_file(
    cepheid: Run,
    write: Callable[[str, str], Path],
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    format: str,
) -> None:
    write("p.epl", PROGRAM)
    write("e.jsonl", EVENTS)
    old = write(f"out.{format}", "the old one")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"cepheid.io.write.write_{format}", full)
    done = cepheid("run", "p.epl", "--events", "e.jsonl", "--out", f"out.{format}")
    assert done.code == 1
    assert "no space left on device" in done.err
    assert old.read_text() == "the old one"
    assert sorted(p.name for p in folder.iterdir()) == sorted(["p.epl", "e.jsonl", f"out.{format}"])


def test_a_file_takes_the_place_of_the_old_one_with_its_rights_and_links(tmp_path: Path) -> None:
    old, link = tmp_path / "old.txt", tmp_path / "link.txt"
    old.write_text("old")
    old.chmod(0o640)
    link.symlink_to(old)
    with whole_file(link) as draft:
        draft.write_text("new")
        assert old.read_text() == "old"
        assert draft.suffix == ".txt"
    assert link.is_symlink()
    assert old.read_text() == "new"
    assert old.stat().st_mode & 0o777 == 0o640


def test_what_is_no_plain_file_is_written_as_it_is() -> None:
    with whole_file(os.devnull) as draft:
        assert draft == Path(os.devnull)


def test_whoever_is_interrupted_leaves_nothing_behind(tmp_path: Path) -> None:
    def write() -> None:
        with whole_file(tmp_path / "new.txt") as draft:
            draft.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert not list(tmp_path.iterdir())


def test_a_name_that_is_as_long_as_can_be_has_a_draft_too(tmp_path: Path) -> None:
    target = tmp_path / ("x" * 251 + ".txt")
    with whole_file(target) as draft:
        draft.write_text("new")
        assert str(os.getpid()) in draft.name  # two processes have two
    assert [p.name for p in tmp_path.iterdir()] == [target.name]


def test_a_file_that_may_not_be_written_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "old.txt"
    target.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # nothing is forbidden to root
    with pytest.raises(PermissionError, match="permission denied"), whole_file(target) as draft:
        draft.write_text("new")
    assert target.read_text() == "old"
