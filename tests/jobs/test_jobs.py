"""Jobs in processes of their own: how they begin, end, are found again, and what is said of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import cepheid as cep
from cepheid.jobs import Job, Jobs, State
from cepheid.jobs.process import Process, all_end, marked
from cepheid.jobs.record import LOG, MARK, RECORD
from tests.jobs.conftest import BATCH, ENDLESS, RUN


def ended(job: Job) -> Job:
    """The job when its process is gone."""
    assert all_end(lambda: [job.process] if job.process.is_alive else [], 30)
    return Jobs(job.folder.parent).job(job.name)


def test_a_batch_runs_to_its_end_and_says_what_it_found(jobs: Jobs) -> None:
    job = ended(jobs.start(BATCH))
    assert (job.name, job.state, job.runs) == ("p-1", State.FINISHED, 1)
    assert (job.status.progress.events, job.status.progress.rows) == (3, 2)
    assert [json.loads(row)["@type"] for row in job.latest] == ["Pair", "Big"]
    assert "".join(jobs.log("p-1")).splitlines()[-2:] == job.latest
    assert (job.folder / "program" / "p.epl").read_text() == Path("p.epl").read_text()
    assert job.program == ("p.epl",)


def test_a_job_outlives_whoever_started_it(jobs: Jobs) -> None:
    code = (
        f"import cepheid as cep; print(cep.jobs.Jobs('jobs').start({ENDLESS!r}).name, flush=True)"
    )
    arguments = [sys.executable, "-c", f"{code}; input()"]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdin=pipe, stdout=pipe, start_new_session=True) as starter:
        assert starter.stdout
        job = jobs.job(starter.stdout.readline().decode().strip())
        os.killpg(starter.pid, signal.SIGKILL)
    assert job.is_alive
    assert os.getsid(job.process.number) == job.process.number


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ((*RUN, "nowhere.jsonl"), "missing-file"),
        (("run", "wrong.epl", "--events", "e.jsonl"), "unknown-attribute"),
        (("run", "p.epl", "--nonsense"), "bad-job"),
        (("run", "p.epl", "--events", "e.jsonl", "--type", "Pear"), "usage"),
        (("run",), "usage"),
        (("live", "p.epl"), "usage"),
        ((), "usage"),
        (("run", "p.epl\0"), "usage"),
    ],
)
def test_a_command_that_is_wrong_is_refused_and_nothing_stays(
    jobs: Jobs, command: Sequence[str], code: str
) -> None:
    Path("wrong.epl").write_text("create schema A (x int); select y from A;")
    with pytest.raises(cep.CepheidError) as refused:
        jobs.start(command)
    assert code in {problem.code for problem in refused.value.diagnostics}
    assert not list(jobs.folder.glob("*"))


def test_a_batch_that_fails_says_why_in_our_words(jobs: Jobs) -> None:
    Path("e.jsonl").write_text('{"@type": "A", "@time": 1, "id": "k", "x": "many"}\n')
    job = ended(jobs.start(BATCH))
    assert job.state is State.FAILED
    assert [problem.code for problem in job.status.errors] == ["bad-value"]
    assert str(job.status.errors[0].span) == "e.jsonl:1:1"
    assert "error[bad-value]" in "".join(jobs.log(job.name))


def test_only_its_owner_reads_a_record(jobs: Jobs) -> None:
    """Commands may have passwords."""
    assert not jobs.start(BATCH).folder.stat().st_mode & 0o077


def test_a_job_is_stopped_in_order(jobs: Jobs) -> None:
    job = jobs.start(ENDLESS)
    stopped = jobs.stop(job.name)
    assert (stopped.state, stopped.status.by_force) == (State.STOPPED, False)
    assert not job.process.is_alive
    with pytest.raises(cep.UsageError, match="does not run: it is stopped"):
        jobs.stop(job.name)


def test_a_job_that_does_not_listen_is_stopped_by_force(jobs: Jobs) -> None:
    job = jobs.start(ENDLESS)
    os.kill(job.process.number, signal.SIGSTOP)
    stopped = jobs.stop(job.name, within=0.1)
    assert (stopped.state, stopped.status.by_force) == (State.STOPPED, True)
    assert jobs.job(job.name) == stopped
    assert not job.process.is_alive


def test_a_job_that_is_killed_is_lost_and_can_be_started_again(jobs: Jobs) -> None:
    job = jobs.start(ENDLESS, name="waiting")
    with pytest.raises(cep.UsageError, match="'waiting' is running"):
        jobs.restart("waiting")
    with pytest.raises(cep.UsageError, match="'waiting' is running"):
        jobs.remove("waiting")
    os.kill(job.process.number, signal.SIGKILL)
    assert ended(job).state is State.LOST
    again = jobs.restart("waiting")
    assert (again.is_alive, again.runs, again.command) == (True, 2, ENDLESS)
    assert again.process != job.process
    jobs.stop("waiting")
    jobs.remove("waiting")
    assert jobs.list().jobs == ()


def test_a_restart_that_is_refused_leaves_the_record_as_it_was(jobs: Jobs) -> None:
    job = ended(jobs.start(BATCH))
    Path("p.epl").write_text("select nonsense")
    with pytest.raises(cep.RunError):
        jobs.restart(job.name)
    assert jobs.job(job.name) == job


def test_what_a_job_started_ends_with_it(jobs: Jobs) -> None:
    """Stopped by force, or started again after it was lost."""
    job = jobs.start(ENDLESS)
    environment = {**os.environ, MARK: str(job.folder)}
    child = subprocess.Popen(["sleep", "100"], env=environment, start_new_session=True)
    try:
        # For an instant after its start, a process tells no environment.
        while Process.found(child.pid) not in marked(MARK, str(job.folder)):
            assert child.poll() is None
        jobs.stop(job.name, within=0.1)
        assert child.wait(60) == -signal.SIGKILL
    finally:
        child.kill()
        child.wait()


def test_a_number_that_belongs_to_someone_else_now_is_not_the_job(jobs: Jobs) -> None:
    """As after a restart of the machine, when all numbers are given again."""
    job = ended(jobs.start(BATCH))
    with subprocess.Popen(["sleep", "1000"]) as other:
        pretend(job, state="running", process={"number": other.pid, "began": "long ago 7"})
        assert jobs.job(job.name).state is State.LOST
        with pytest.raises(cep.UsageError, match="it is lost"):
            jobs.stop(job.name)
        jobs.job(job.name).process.signal(signal.SIGKILL)
        assert jobs.restart(job.name).runs == 2
        assert other.poll() is None
        other.kill()


def pretend(job: Job, **fields: object) -> None:
    file = job.folder / RECORD
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


def test_a_process_that_is_dead_and_not_buried_does_not_live() -> None:
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert Process.found(child.pid) is None


def test_of_two_who_start_at_once_each_gets_a_job_or_one_is_refused(jobs: Jobs) -> None:
    with ThreadPoolExecutor(2) as threads:
        names = {job.name for job in threads.map(jobs.start, [BATCH, BATCH])}
    assert names == {"p-1", "p-2"}

    def start(_: int) -> str | None:
        try:
            return jobs.start(ENDLESS, name="one").name
        except cep.UsageError as refused:
            return str(refused.diagnostics[0].message)

    with ThreadPoolExecutor(2) as threads:
        assert sorted(map(str, threads.map(start, range(2)))) == ["one", "there is a job 'one'"]


def test_of_two_who_start_a_job_again_at_once_one_is_refused(jobs: Jobs) -> None:
    job = jobs.start(ENDLESS)
    jobs.stop(job.name)

    def restart(_: int) -> str:
        try:
            return str(jobs.restart(job.name).is_alive)
        except cep.CepheidError as refused:
            return refused.diagnostics[0].code

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(restart, range(2))) == ["True", "bad-job"]
    assert len(marked(MARK, str(job.folder))) == 1


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", ".hidden", "a b", "x" * 101, "a\x1b[31m"])
def test_a_name_stays_in_its_folder(jobs: Jobs, name: str) -> None:
    with pytest.raises(cep.UsageError):
        jobs.start(BATCH, name=name or "/")
    for verb in (jobs.stop, jobs.restart, jobs.remove, jobs.job):
        with pytest.raises(cep.UsageError, match="no job"):
            verb(name)


def test_a_folder_that_cannot_be_written_is_said(jobs: Jobs, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "jobs", Path("/proc/jobs")):
        with pytest.raises(cep.UsageError) as refused:
            Jobs(folder).start(BATCH)
        assert [problem.code for problem in refused.value.diagnostics] == ["bad-file"]
    with pytest.raises(cep.UsageError, match="in which the job would run"):
        jobs.start(BATCH, home=tmp_path / "nowhere")


def test_the_folder_of_a_program_gives_no_modules(jobs: Jobs) -> None:
    """A file that is called like a module of Python is not run."""
    Path("json.py").write_text("open('was-run', 'w')")
    Path("cepheid.py").write_text("open('was-run', 'w')")
    assert ended(jobs.start(BATCH)).state is State.FINISHED
    assert not Path("was-run").exists()


def test_a_damaged_record_is_said_and_hides_no_other(jobs: Jobs) -> None:
    good, bad = ended(jobs.start(BATCH)), ended(jobs.start(BATCH))
    (bad.folder / RECORD).write_text('{"state": "running", ')
    listing = jobs.list()
    assert listing.jobs == (good,)
    assert [problem.code for problem in listing.problems] == ["bad-job"]
    for verb in (jobs.stop, jobs.restart, jobs.remove, jobs.job):
        with pytest.raises(cep.RunError, match=f"record of job '{bad.name}' is damaged"):
            verb(bad.name)


def test_a_log_is_followed_until_the_job_ends(jobs: Jobs) -> None:
    job = jobs.start(ENDLESS)
    waits = iter(range(100))

    def wait() -> None:
        """First something is printed, then it ends."""
        if next(waits) == 0:
            with (job.folder / LOG).open("a") as log:
                log.write("a line\n")
        else:
            jobs.stop(job.name)

    assert "".join(jobs.log(job.name, follow=wait)) == "a line\n"
    assert next(waits) == 2


def test_a_job_that_dies_before_it_begins_is_said(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cepheid.jobs.starting._MAIN", "cepheid.no_such_module")
    with pytest.raises(cep.RunError, match=r"ended before it began: .*no_such_module"):
        jobs.start(BATCH)
    assert not list(jobs.folder.glob("*"))


def test_who_gives_up_starting_leaves_no_process(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted: list[Callable[[], int]] = []

    def wait(process: subprocess.Popen[bytes]) -> int:
        if not interrupted:
            interrupted.append(process.wait)
            raise KeyboardInterrupt
        return original(process)

    original = subprocess.Popen.wait
    monkeypatch.setattr(subprocess.Popen, "wait", wait)
    with pytest.raises(KeyboardInterrupt):
        jobs.start(ENDLESS, name="one")
    assert not marked(MARK, str(jobs.folder / "one"))
    assert not list(jobs.folder.glob("*"))
