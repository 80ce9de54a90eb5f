"""A stream as a job: killed, found lost, started again from its checkpoint, stopped."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import cepheid as cep
from cepheid.jobs import Job, Jobs, State
from cepheid.jobs.process import Process, kill_all, marked
from cepheid.jobs.record import MARK
from tests.spark.brokers import wait_for
from tests.spark.stream_process import QUICK
from tests.spark.test_stream_command import PROGRAM, event, pairs, put

SPARK = ("--master", "local[2]", "--conf", QUICK)
STREAM = ("stream", "p.epl", "--checkpoint", "state", "--watermark", "1s", *SPARK)
COMMAND = (*STREAM, "--source", "files:in", "--sink", "files:out")


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.epl").write_text(PROGRAM)
    (tmp_path / "in").mkdir()
    jobs = Jobs(tmp_path / "jobs")
    yield jobs
    assert kill_all(lambda: [p for job in jobs.list().jobs for p in left_of(job)], 30)


def left_of(job: Job) -> list[Process]:
    return marked(MARK, str(job.folder))


def waits(jobs: Jobs, name: str, pairs_wanted: list[tuple[int, int]], events: int) -> None:
    """Until the rows are there, and the record says so."""

    def is_there() -> bool:
        job = jobs.job(name)
        assert job.is_alive, "".join(jobs.log(name))
        counted = job.status.progress.events or 0
        return pairs(Path()) == pairs_wanted and counted >= events

    wait_for(is_there, f"{pairs_wanted}", jobs.job(name).process.number)


def test_a_stream_that_is_killed_goes_on_from_its_checkpoint_and_loses_nothing(jobs: Jobs) -> None:
    put(Path(), "first", event("A", 1, 1), event("B", 2, 2), event("A", 5, 3))
    job = jobs.start(COMMAND)
    assert job.state is State.STARTING
    with pytest.raises(cep.RunError, match="the checkpoint 'state' is in use by job 'p-1'"):
        jobs.start(COMMAND)
    waits(jobs, job.name, [(1, 2)], 3)
    job = jobs.job(job.name)
    assert job.state is State.RUNNING
    assert [json.loads(row)["second"] for row in job.latest] == [2]

    os.kill(job.process.number, signal.SIGKILL)
    wait_for(lambda: not job.process.is_alive, "the end of the process")
    assert jobs.job(job.name).state is State.LOST
    put(Path(), "second", event("B", 6, 4), {"@time": 60})
    again = jobs.restart(job.name)
    waits(jobs, again.name, [(1, 2), (3, 4)], 2)
    stopped = jobs.stop(again.name, within=60)
    assert (stopped.state, stopped.status.by_force, stopped.runs) == (State.STOPPED, False, 2)
    assert not left_of(stopped)
    assert pairs(Path()) == [(1, 2), (3, 4)]
    assert [json.loads(row)["second"] for row in stopped.latest] == [2, 4]
    progress = stopped.status.progress
    assert (progress.late, progress.rejected, progress.watermark) == (0, 0, "1970-01-01T00:00:59Z")

    Path("p.epl").write_text(PROGRAM.replace("10 seconds", "11 seconds"))
    with pytest.raises(cep.RunError, match=r"error\[bad-state\].*start afresh"):
        jobs.restart(job.name)
    assert jobs.job(job.name) == stopped
