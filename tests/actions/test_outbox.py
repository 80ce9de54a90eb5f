"""The outbox on disk: each action once, whole lines only, one process for each end."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cepheid import actions
from cepheid.actions import Action, Delivery, Enqueued, Outbox
from cepheid.errors import CepheidError, InputError, UsageError
from tests.actions.clocks import Flaky, Hand, drained, some


def lines(outbox: Path, name: str, file: str = "actions.jsonl") -> list[bytes]:
    return (outbox / "queues" / name / file).read_bytes().splitlines(keepends=True)


def refusal(outbox: Path) -> str:
    with pytest.raises(UsageError) as refused:
        Outbox(outbox)
    assert refused.value.diagnostics[0].code == "bad-outbox"
    return str(refused.value)


def test_an_action_is_put_in_once_whoever_puts_it_in(tmp_path: Path) -> None:
    box = tmp_path / "box"
    assert actions.enqueue(some("a", "b", "a"), box) == Enqueued(3, 0)
    with Outbox(box) as opened:
        assert opened.put(some("a", "b", "a", "b")) == Enqueued(1, 3)
        assert opened.put(some("a", "b")) == Enqueued(0, 2)
    assert [json.loads(line)["@key"] for line in lines(box, "a")] == ["k0", "k2"]
    assert [json.loads(line)["@key"] for line in lines(box, "b")] == ["k1", "k3"]


def test_a_key_has_one_body_and_those_before_it_are_in(tmp_path: Path) -> None:
    actions.enqueue(some("a"), tmp_path / "box")
    other = Action("b", 0, "k0", {}, {"p1": 0})
    with pytest.raises(InputError, match=r"bad-action.*'k0' stands for another action"):
        actions.enqueue([Action("b", 0, "new"), other], tmp_path / "box")
    assert [json.loads(line)["@key"] for line in lines(tmp_path / "box", "b")] == ["new"]


def test_a_torn_last_line_is_written_again_and_joined_by_none(tmp_path: Path) -> None:
    box = tmp_path / "box"
    actions.enqueue(some("a", "a"), box)
    whole = lines(box, "a")
    for cut in range(1, len(whole[1])):
        path = box / "queues" / "a" / "actions.jsonl"
        path.write_bytes(whole[0] + whole[1][:-cut])
        executor = Flaky()
        assert actions.enqueue(some("a", "a"), box) == Enqueued(1, 1)
        assert lines(box, "a") == whole
        drained(box, Hand(), a=Delivery(executor))
        assert len(executor.done) == (2 if cut == 1 else 0)  # the first time


def test_an_action_that_is_being_written_does_not_count_yet(tmp_path: Path) -> None:
    box = tmp_path / "box"
    actions.enqueue(some("a", "a"), box)
    path = box / "queues" / "a" / "actions.jsonl"
    os.truncate(path, path.stat().st_size - 1)
    executor = Flaky()
    assert drained(box, Hand(), a=Delivery(executor)).tallies["a"].waiting == 0
    assert [action.key for action in executor.done] == ["k0"]


def test_names_of_classes_can_be_anything(tmp_path: Path) -> None:
    names = ("..", "a/b", "a b", "größe", "%41", "A", ".", "a~", "x" * 60)
    box = tmp_path / "box"
    actions.enqueue(some(*names), box)
    assert {path.parent for path in box.rglob("actions.jsonl")} == set((box / "queues").iterdir())
    executor = Flaky()
    actions.drain(box, {name: Delivery(executor) for name in names}, clock=Hand())
    assert sorted(action.name for action in executor.done) == sorted(names)


def test_values_are_as_they_were(tmp_path: Path) -> None:
    values = {"p1": "ä\n\ud800", "p2": 1.0, "p3": 1, "p4": None, "p5": True, "to": [{"x": "y"}]}
    action = Action("a", -1, "k", {"@type": "C", "id": 7}, values)
    actions.enqueue([action], tmp_path / "box")
    executor = Flaky()
    drained(tmp_path / "box", Hand(), a=Delivery(executor))
    assert executor.done == [action]
    assert isinstance(executor.done[0].arguments["p2"], float)


@pytest.mark.parametrize("value", [float("nan"), object(), {1, 2}])
def test_what_json_cannot_hold_is_refused(tmp_path: Path, value: object) -> None:
    with pytest.raises(InputError, match=r"bad-action.*JSON"):
        actions.enqueue([Action("a", 0, "k", {}, {"p1": value})], tmp_path / "box")


def test_one_process_puts_in_and_one_takes_out(tmp_path: Path) -> None:
    box = tmp_path / "box"
    with Outbox(box) as opened:
        opened.put(some("a"))
        assert "another process puts actions into" in refusal(box)
        executor = Flaky()
        with actions.Drainer(box, {"a": Delivery(executor)}, actions.Drained()) as first:
            with pytest.raises(UsageError, match="another process takes actions out of"):
                drained(box, Hand())
            first.run()
            assert len(executor.done) == 1
    Outbox(box).close()
    drained(box, Hand())


def test_a_file_is_no_outbox(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is no folder" in refusal(tmp_path / "file")
    with pytest.raises(UsageError, match="is no folder"):
        drained(tmp_path / "file", Hand())


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert "it has other files" in refusal(tmp_path)
    with pytest.raises(UsageError, match="it has other files"):
        drained(tmp_path, Hand())
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_there_must_be_an_outbox_to_drain(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing-file.*no outbox"):
        drained(tmp_path / "none", Hand())
    assert not (tmp_path / "none").exists()


def test_an_outbox_that_was_hardly_begun_is_begun_again(tmp_path: Path) -> None:
    for name in ("writing.lock", "outbox.json.new"):
        (tmp_path / name).write_text("{")
    assert actions.enqueue(some("a"), tmp_path) == Enqueued(1, 0)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ('{"format": "cepheid outbox", "version": 2}', "has version 2, not 1"),
        ('{"format": "mails", "version": 1}', "it has other files"),
        ("[]", "it has other files"),
        ("{", "it has other files"),
    ],
)
def test_other_versions_are_refused(tmp_path: Path, text: str, fact: str) -> None:
    actions.enqueue(some("a"), tmp_path)
    (tmp_path / "outbox.json").write_text(text)
    assert fact in refusal(tmp_path)


@pytest.mark.parametrize("line", ["nonsense", "[]", '{"@type": "a", "@time": 0}', '{"@key": "k"}'])
def test_a_foreign_line_is_named_and_nothing_is_done_with_it(tmp_path: Path, line: str) -> None:
    actions.enqueue(some("a"), tmp_path)
    path = tmp_path / "queues" / "a" / "actions.jsonl"
    path.write_bytes(path.read_bytes() + line.encode() + b"\n")
    with pytest.raises(InputError) as refused:
        Outbox(tmp_path)
    assert str(refused.value).startswith(f"{path}:2:1: error[bad-outbox]")
    with pytest.raises(InputError, match="a line that is no action"):
        drained(tmp_path, Hand(), a=Delivery(Flaky()))
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    Outbox(tmp_path).close()  # the lock was given back


@pytest.mark.parametrize(
    "line", ["nonsense", "{}", '{"offset": 3, "tries": 0}', '{"offset": 9999, "tries": 0}', "7"]
)
def test_a_foreign_cursor_is_refused(tmp_path: Path, line: str) -> None:
    actions.enqueue(some("a"), tmp_path)
    (tmp_path / "queues" / "a" / "cursor.jsonl").write_text(line + "\n")
    with pytest.raises(InputError, match=r"bad-outbox.*cursor\.jsonl"):
        drained(tmp_path, Hand(), a=Delivery(Flaky()))


def test_a_torn_cursor_repeats_one_delivery(tmp_path: Path) -> None:
    actions.enqueue(some("a", "a", "a"), tmp_path)
    drained(tmp_path, Hand(), a=Delivery(Flaky()))
    path = tmp_path / "queues" / "a" / "cursor.jsonl"
    os.truncate(path, path.stat().st_size - 4)
    executor = Flaky()
    drained(tmp_path, Hand(), a=Delivery(executor))
    assert executor.tried == ["k2"]
    assert all(json.loads(line) for line in lines(tmp_path, "a", "cursor.jsonl"))


def test_a_long_cursor_is_made_short(tmp_path: Path) -> None:
    actions.enqueue(some(*["a"] * 1_100), tmp_path)
    drained(tmp_path, Hand(), a=Delivery(Flaky()))
    assert len(lines(tmp_path, "a", "cursor.jsonl")) == 1_100
    executor = Flaky()
    drained(tmp_path, Hand(), a=Delivery(executor))
    assert len(lines(tmp_path, "a", "cursor.jsonl")) == 1
    assert not executor.tried


def test_what_is_put_in_and_what_is_done_is_on_disk_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    sync = os.fsync

    def noted(file: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{file}")).name)
        sync(file)

    monkeypatch.setattr(os, "fsync", noted)
    actions.enqueue(some("a", "a"), tmp_path / "box")
    assert synced[:3] == [tmp_path.name, "outbox.json.new", "box"]
    assert synced[3:] == ["queues", "box", "a", "actions.jsonl"]
    synced.clear()
    drained(tmp_path / "box", Hand(), a=Delivery(Flaky()))
    assert synced == ["a", "cursor.jsonl", "cursor.jsonl"]


def test_a_full_disk_leaves_whole_lines_and_can_be_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    room = 150

    def little(file: int, data: memoryview) -> int:
        nonlocal room
        if room == 0:
            raise OSError(28, "No space left on device")
        done = write(file, data[:room])
        room -= done
        return done

    with Outbox(tmp_path / "box") as opened:
        monkeypatch.setattr(os, "write", little)
        with pytest.raises(CepheidError, match="no space left on device"):
            opened.put(some("a", "a", "a"))
        monkeypatch.undo()
        assert len(lines(tmp_path / "box", "a")) == 1
        assert opened.put(some("a", "a", "a")) == Enqueued(2, 1)
    assert [json.loads(line)["@key"] for line in lines(tmp_path / "box", "a")] == ["k0", "k1", "k2"]
