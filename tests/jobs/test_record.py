"""What is written down of jobs: read as it was written, refused where it is anything else."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.credentials import without_credentials
from cepheid.core.latest import LATEST, keep_latest, latest_rows
from cepheid.errors import CATALOGUE, Diagnostic, Severity, Span, error
from cepheid.jobs import Job, Progress, State, Status
from cepheid.jobs.holding import held
from cepheid.jobs.process import Process
from cepheid.jobs.record import RECORD, read_job, write_job
from cepheid.jobs.reporting import Recorder, heard_by, listener

COUNTS = st.none() | st.integers(0, 2**40)
PROBLEMS = st.builds(
    Diagnostic,
    st.sampled_from(sorted(CATALOGUE)),
    st.sampled_from(Severity),
    st.text(),
    st.none()
    | st.builds(
        lambda n, m, f: Span(n, m, n, m, f), st.integers(1), st.integers(1), st.none() | st.text()
    ),
    st.none() | st.text(),
)
PROGRESS = st.builds(
    Progress, COUNTS, st.none() | st.floats(0, 1e12), COUNTS, COUNTS, COUNTS, st.none() | st.text()
)
STATUSES = st.builds(
    Status,
    st.sampled_from(State),
    st.text(),
    st.text(),
    PROGRESS,
    st.lists(PROBLEMS, max_size=3).map(tuple),
    st.booleans(),
)
KNOWN = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))  # to the system
TEXTS = st.lists(KNOWN, max_size=3).map(tuple)
JOBS = st.builds(
    Job,
    folder=st.just(Path()),
    command=TEXTS,
    home=KNOWN,
    program=TEXTS,
    digest=st.text(),
    checkpoint=st.none() | KNOWN,
    cepheid=st.text(),
    begun=st.text(),
    runs=st.integers(1, 1000),
    process=st.builds(Process, st.integers(2), st.text()),
    status=STATUSES,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("job")


def placed(job: Job, folder: Path) -> Job:
    return Job(folder, *(getattr(job, name) for name in list(Job.__slots__)[1:]))


@given(JOBS)
def test_what_was_written_is_read(folder: Path, job: Job) -> None:
    job = placed(job, folder)
    write_job(job)
    assert read_job(folder) == job
    assert [file.name for file in folder.iterdir()] == [RECORD]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(JOBS, st.data())
def test_a_record_that_was_changed_is_another_or_refused(
    folder: Path, job: Job, data: st.DataObject
) -> None:
    write_job(placed(job, folder))
    file = folder / RECORD
    content: dict[str, Any] = json.loads(file.read_text())
    name = data.draw(st.sampled_from(sorted(content)))
    if data.draw(st.booleans()):
        del content[name]
    else:
        content[name] = data.draw(VALUES)
    file.write_text(json.dumps(content))
    assert code_of_reading(folder) in (None, "bad-job")


def code_of_reading(folder: Path) -> str | None:
    """Of what is wrong with a record; None where it can be read and told."""
    try:
        json.dumps(read_job(folder).to_json())
    except cep.RunError as refused:
        return refused.diagnostics[0].code
    return None


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b"{}", b"\0" * 100]
)
def test_what_is_no_record_is_refused(folder: Path, content: bytes) -> None:
    (folder / RECORD).write_bytes(content)
    with pytest.raises(cep.RunError, match=r"error\[bad-job\]: the record of job .* is damaged"):
        read_job(folder)


JOB = Job(
    Path(),
    ("run", "p.epl"),
    "/",
    ("p.epl",),
    "digest",
    None,
    "1",
    "now",
    1,
    Process(2, "then"),
    Status(State.FINISHED, "now", "now"),
)
NAMELESS = {"code": ["usage"], "severity": "error", "message": "m"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("errors", [NAMELESS]),
        ("errors", [{**NAMELESS, "code": {}}]),
        *((name, ["a\0b"]) for name in ("command", "program")),
        *((name, "\0") for name in ("home", "checkpoint")),
        *((name, ["\ud800"]) for name in ("command", "program")),
        *((name, "\ud800") for name in ("home", "checkpoint")),
    ],
)
def test_a_record_of_what_cannot_be_is_refused(folder: Path, name: str, value: object) -> None:
    write_job(placed(JOB, folder))
    content = json.loads((folder / RECORD).read_text())
    (folder / RECORD).write_text(json.dumps({**content, name: value}))
    with pytest.raises(cep.RunError, match=r"error\[bad-job\]: the record of job .* is damaged"):
        read_job(folder)


def test_a_record_that_is_far_too_large_is_not_read(folder: Path) -> None:
    with (folder / RECORD).open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(cep.RunError, match="far too large"):
        read_job(folder)


# The latest rows ----------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(), max_size=30), max_size=5))
def test_the_latest_rows_are_the_last_of_all(folder: Path, pieces: list[list[int]]) -> None:
    file = folder / "latest.jsonl"
    file.unlink(missing_ok=True)
    for piece in pieces:
        keep_latest(file, [json.dumps({"x": x}) for x in piece])
    every = [json.dumps({"x": x}) for piece in pieces for x in piece]
    assert latest_rows(file) == every[-LATEST:]


def test_a_row_that_is_long_is_kept_as_its_type_and_time(folder: Path) -> None:
    file = folder / "long.jsonl"
    row = json.dumps({"@type": "A", "@time": 1, "text": "x" * 20_000})
    keep_latest(file, [row, "x" * 20_000])
    kept = list(map(json.loads, latest_rows(file)))
    assert kept == [
        {"@type": "A", "@time": 1, "@characters": len(row)},
        {"@characters": 20_000},
    ]


def test_what_is_no_row_is_left_out(folder: Path) -> None:
    file = folder / "odd.jsonl"
    file.write_bytes(b'{"a": 1}\n\x1b[31m\n[1]\n{"b": 2\n\xff\n' + b"[" * 10_000 + b'\n{"c": 3}\n')
    assert latest_rows(file) == ['{"a": 1}', '{"c": 3}']


# What is said while it runs -----------------------------------------------------------------------


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    def make(program: cep.Program, checkpoint: Path | None) -> Job:
        status = Status(State.STARTING, "10:00", "10:00")
        process = Process(os.getpid(), "today")
        return Job(tmp_path, ("run",), "/", ("p",), "d", None, "1", "10:00", 1, process, status)

    answers: list[bool] = []
    said: list[str] = []
    recorder = Recorder("one", make, lambda: "10:05", lambda: answers.append(True), said.append)
    recorder.answers, recorder.said = answers, said  # type: ignore[attr-defined]
    return recorder


PROGRAM = cep.parse("create schema A (x int); select x from A;", file="a/p.epl")


def test_a_full_disk_does_not_end_the_command_and_is_said_once(
    recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder.accepted(PROGRAM)
    before = (tmp_path / RECORD).read_text()

    def full(*_: object) -> Iterator[Path]:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("cepheid.jobs.record.whole_file", full)
    monkeypatch.setattr("cepheid.core.latest.whole_file", full)
    recorder.running()
    recorder.progressed(Progress(rows=1))
    recorder.found([cep.open(PROGRAM, engine="reference").send("A", {"x": 1}, time=1)[0]])
    recorder.ended(0)
    assert (tmp_path / RECORD).read_text() == before
    assert recorder.said == ["cannot write the record: no space left on device"]  # type: ignore[attr-defined]


def test_a_folder_that_cannot_be_written_refuses_the_command(
    recorder: Recorder, tmp_path: Path
) -> None:
    (tmp_path / "program").write_text("a file")
    with pytest.raises(cep.RunError, match="cannot write into"):
        recorder.accepted(PROGRAM)
    assert not recorder.answers  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("code", "asked", "state"),
    [
        (0, False, State.FINISHED),
        (1, False, State.FAILED),
        (0, True, State.STOPPED),
        (130, True, State.STOPPED),
        (130, False, State.FAILED),
    ],
)
def test_how_it_ended_is_told_by_the_exit_code_and_who_wanted_it(
    recorder: Recorder, tmp_path: Path, code: int, asked: bool, state: State
) -> None:
    recorder.accepted(PROGRAM)
    if asked:
        recorder.stopped()
    recorder.ended(code)
    job = read_job(tmp_path)
    assert (job.state, job.status.since) == (state, "10:05")
    assert bool(job.status.errors) == (state is State.FAILED)


def test_what_failed_first_is_the_reason(recorder: Recorder, tmp_path: Path) -> None:
    """As where the message of it cannot be printed either."""
    recorder.accepted(PROGRAM)
    recorder.failed([error("bad-value", "a number is none")])
    recorder.failed([error("bad-file", "cannot write the output")])
    recorder.ended(1)
    assert [problem.code for problem in read_job(tmp_path).status.errors] == ["bad-value"]


def test_files_of_one_name_are_all_copied(recorder: Recorder, tmp_path: Path) -> None:
    texts = {"a/p.epl": "create schema A (x int);", "b/p.epl": "select x from A;", "q.epl": ""}
    for file, text in texts.items():
        path = tmp_path / "from" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "older.epl").write_text("")
    recorder.accepted(cep.load(*(tmp_path / "from" / file for file in texts)))
    copies = {file.name: file.read_text() for file in (tmp_path / "program").iterdir()}
    assert copies == dict(zip(("1-p.epl", "2-p.epl", "q.epl"), texts.values(), strict=True))


def test_outside_of_jobs_no_one_listens(recorder: Recorder) -> None:
    assert not listener().is_job
    with heard_by(recorder):
        assert listener() is recorder
    assert not listener().is_job


# Who may go on from a checkpoint ------------------------------------------------------------------


def test_a_checkpoint_is_one_process_s_at_a_time(tmp_path: Path) -> None:
    place = tmp_path / "state"
    with held(place, "job 'a'"):
        with pytest.raises(cep.RunError, match="is in use by job 'a'"), held(place, "job 'b'"):
            pass
        with pytest.raises(cep.RunError, match="is in use by job 'a'"), held(place, "job 'b'"):
            pass
    with held(place, "job 'b'"):
        pass


def test_a_checkpoint_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = pytest.raises(cep.RunError, match=r"error\[bad-file\]: cannot write into")
    with refused, held(tmp_path / "file", "job 'a'"):
        pass


def test_passwords_are_not_shown() -> None:
    shown = without_credentials("mqtt://me:secret@host/topic")
    assert shown == "mqtt://*********@host/topic"
