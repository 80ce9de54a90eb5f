"""Jobs as the studio starts them, without a browser: what is offered, refused, listed, and outlives it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cepheid.jobs import Job, Jobs, State, Status
from cepheid.jobs.process import Process, all_end, kill_all, marked
from cepheid.jobs.record import LATEST, LOG, MARK, RECORD, write_job
from cepheid.jobs.record import PROGRAM as PROGRAM_COPIES
from cepheid.studio.commands import COMMANDS, Command, StreamCommand, command_of, words_of
from cepheid.studio.deploying import afresh
from cepheid.studio.folder import Folder
from cepheid.studio.limits import Limits
from tests.effort import examples
from tests.studio.conftest import (
    ENDLESS,
    ENDLESS_EVENTS,
    EVENTS,
    PROGRAM,
    Page,
    Refused,
    Studio,
    running,
    texts,
)

BATCH = {"command": "run", "events": "in/1.jsonl", "out": "out/p-1.jsonl", "why": True}
STREAM = {"command": "stream", "source": "in", "checkpoint": "state/p-1", "sink": "out/p-1"}
LONG = 60.0  # seconds, on a machine that does other things, too


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """With a program and events; no job of it is left."""
    (tmp_path / "p.epl").write_text(PROGRAM)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.jsonl").write_text(EVENTS)
    yield tmp_path
    records = [str(path) for path in (tmp_path / ".cepheid" / "jobs").glob("*")]
    assert kill_all(lambda: [p for record in records for p in marked(MARK, record)], 30)


@pytest.fixture
def page(folder: Path, compiled: None) -> Iterator[Page]:
    with running(folder, Limits()) as opened, opened.page() as page:
        yield page


def known(folder: Path) -> Jobs:
    return Jobs(folder / ".cepheid" / "jobs")


def ended(folder: Path, name: str) -> Job:
    job = known(folder).job(name)
    assert all_end(lambda: [job.process] if job.process.is_alive else [], LONG)
    return known(folder).job(name)


def listed(page: Page, name: str) -> dict[str, Any]:
    return next(each for each in page.ask("jobs")["jobs"] if each["name"] == name)


def test_what_is_offered_works_as_it_is(page: Page, folder: Path) -> None:
    offered = page.ask("job-offer", texts=texts())
    assert offered["name"] == "p-1"
    assert offered["unsaved"] == []
    assert offered["folders"] == [{"name": "in", "files": 1, "source": "in"}]
    assert offered["events"] == ["in/1.jsonl"]
    assert (offered["types"], offered["actions"]) == (["Pair", "Big"], [])
    (folder / "csv").mkdir()
    for name in ("a.csv", "b.csv"):
        (folder / "csv" / name).write_text("@type,@time\n")
    assert page.ask("job-offer", texts=texts())["folders"][0]["source"] == "csv?format=csv"

    places = offered["places"]
    form = {"command": "stream", "source": "in", **{n: places[n] for n in ("checkpoint", "sink")}}
    told = page.ask("job-preview", texts=texts(), name="p-1", **form)
    assert told == {
        "command": "cepheid jobs start --name p-1 stream p.epl --source files:in --checkpoint state/p-1"
        " --sink files:out/p-1",
        "problems": [],
    }
    wanting = PROGRAM.replace("@Name('Big')", "@Name('Big') @Action('mail')")
    offered = page.ask("job-offer", texts=texts(wanting))
    assert (offered["actions"], offered["unsaved"]) == (["mail"], ["p.epl"])


def test_a_batch_is_started_watched_and_removed(page: Page, folder: Path) -> None:
    assert page.ask("job-start", texts=texts(), name="p-1", **BATCH) == {"name": "p-1"}
    assert ended(folder, "p-1").state is State.FINISHED
    watched = page.ask("jobs", watched="p-1")["watched"]
    assert [row["type"] for row in watched["rows"]] == ["Pair", "Big", "Pair"]
    pair = watched["rows"][2]
    assert ["second", "9"] in pair["values"]
    assert [cause["type"] for cause in pair["why"]] == ["A", "B"]
    assert [cause["type"] for cause in watched["rows"][1]["why"]] == ["Pair"]
    told = listed(page, "p-1")
    assert (told["state"], told["events"], told["rows"], told["changed"]) == ("finished", 4, 3, [])
    assert told["own"]
    with pytest.raises(Refused, match="there is a job 'p-1'"):
        page.ask("job-start", texts=texts(), name="p-1", **{**BATCH, "out": None})
    with pytest.raises(Refused, match=r"'out/p-1\.jsonl' is there already"):
        page.ask("job-start", texts=texts(), name="p-2", **BATCH)
    assert page.ask("job-remove", name="p-1") == {"name": "p-1"}
    assert page.ask("jobs") == {"jobs": [], "problems": [], "watched": None}


def test_what_is_not_saved_is_not_started(page: Page, folder: Path) -> None:
    with pytest.raises(Refused, match=r"p\.epl: what the editor shows is not saved"):
        page.ask("job-start", texts=texts(f"{PROGRAM}\n"), name="p-1", **BATCH)
    with pytest.raises(Refused, match="not saved"):
        page.ask("job-start", texts=texts(file="new.epl"), name="p-1", **BATCH)
    assert not (folder / ".cepheid").exists()


def test_a_job_outlives_the_studio_and_is_stopped_from_the_next_one(folder: Path) -> None:
    (folder / "endless.epl").write_text(ENDLESS)
    (folder / "in" / "e.jsonl").write_text("\n".join(ENDLESS_EVENTS))
    with running(folder, Limits()) as studio, studio.page() as page:
        form = {**BATCH, "events": "in/e.jsonl"}
        page.ask("job-start", texts=texts(ENDLESS, "endless.epl"), name="endless-1", **form)
    with running(folder, Limits()) as studio, studio.page() as page:
        told = listed(page, "endless-1")
        assert (told["state"], told["alive"]) == ("running", True)
        with pytest.raises(Refused, match="'endless-1' is running"):
            page.ask("job-remove", name="endless-1")
        page.ask("job-stop", name="endless-1")
        assert listed(page, "endless-1")["state"] == "stopped"
    assert not marked(MARK, str(folder / ".cepheid" / "jobs" / "endless-1"))


def test_an_error_is_told_with_its_place(page: Page, folder: Path) -> None:
    (folder / "in" / "1.jsonl").write_text('{"@type": "A", "@time": 1, "id": "k", "x": "many"}\n')
    page.ask("job-start", texts=texts(), name="p-1", **BATCH)
    assert ended(folder, "p-1").state is State.FAILED
    (problem,) = listed(page, "p-1")["errors"]
    assert (problem["code"], problem["file"], problem["line"]) == ("bad-value", "in/1.jsonl", 1)
    assert "error[bad-value]" in page.ask("jobs", watched="p-1")["watched"]["log"]


def test_a_program_that_was_changed_is_told_and_begins_afresh(page: Page, folder: Path) -> None:
    page.ask("job-start", texts=texts(), name="p-1", **{**BATCH, "outbox": "actions/p-1"})
    ended(folder, "p-1")
    (folder / "p.epl").write_text(PROGRAM.replace("second > 5", "second > 50"))
    assert listed(page, "p-1")["changed"] == ["p.epl"]
    assert page.ask("job-afresh", name="p-1") == {"name": "p-2"}
    job = ended(folder, "p-2")
    assert job.command[-5:] == ("--out", "out/p-2.jsonl", "--outbox", "actions/p-2", "--why")
    assert job.status.progress.rows == 2
    assert listed(page, "p-2")["changed"] == []
    assert listed(page, "p-1")["state"] == "finished"


def test_a_stream_that_begins_afresh_keeps_nothing_of_the_old_one(folder: Path) -> None:
    old = StreamCommand(
        programs=("p.epl",), source="in", checkpoint="state/p-1", sink="out/p-1", once=True
    )
    told = Status(State.FINISHED, "now", "now")
    process = Process(2, "then")
    home = Folder.at(folder)
    words, program = tuple(words_of(old)), ("p.epl",)
    record = known(folder).folder / "p-1"
    record.mkdir(parents=True)
    job = Job(record, words, home.root, program, "d", None, "1", "now", 1, process, told)
    new = replace(old, checkpoint="state/p-2", sink="out/p-2")
    assert afresh(home, job) == ("p-2", new)


# Actions.

WANTING = PROGRAM.replace("@Name('Big')", "@Name('Big') @Action('tell', to='me')")
EXECUTORS = '[executors.tell]\nkind = "file"\npath = "told.jsonl"\n'


def started_with_actions(page: Page, folder: Path, executors: str | None) -> None:
    (folder / "p.epl").write_text(WANTING)
    if executors is not None:
        (folder / "executors.toml").write_text(executors)
    form = {**BATCH, "outbox": "actions/p-1"}
    page.ask("job-start", texts=texts(WANTING), name="p-1", **form)
    assert ended(folder, "p-1").state is State.FINISHED
    assert listed(page, "p-1")["outbox"] == "actions/p-1"


def test_actions_are_done_after_a_dry_run_and_only_as_it_said(page: Page, folder: Path) -> None:
    started_with_actions(page, folder, EXECUTORS)
    with pytest.raises(Refused, match="not what the dry run has shown"):
        page.ask("actions-do", name="p-1", digest="")
    said = page.ask("actions-rehearse", name="p-1")
    assert (said["count"], said["executors"], said["refused"]) == (1, "executors.toml", [])
    assert said["planned"][0]["would"].startswith("append to 'told.jsonl': ")
    assert not (folder / "told.jsonl").exists()

    for other in (EXECUTORS.replace("told", "elsewhere"), f"{EXECUTORS}# what it says of this?\n"):
        (folder / "executors.toml").write_text(other)
        with pytest.raises(Refused, match="not what the dry run has shown"):
            page.ask("actions-do", name="p-1", digest=said["digest"])
    (folder / "executors.toml").write_text(EXECUTORS)
    done = page.ask("actions-do", name="p-1", digest=said["digest"])
    assert [(t["name"], t["delivered"], t["waiting"]) for t in done["tallies"]] == [("tell", 1, 0)]
    assert json.loads((folder / "told.jsonl").read_text())["@type"] == "tell"
    assert page.ask("actions-rehearse", name="p-1")["count"] == 0


def test_actions_of_a_job_wait_until_it_has_ended(page: Page, folder: Path) -> None:
    started_with_actions(page, folder, EXECUTORS)
    job, mine = known(folder).job("p-1"), Process.found(os.getpid())
    assert mine is not None
    write_job(replace(job, process=mine, status=replace(job.status, state=State.RUNNING)))
    with pytest.raises(Refused, match="job 'p-1' is running"):
        page.ask("actions-rehearse", name="p-1")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ('kind = "command"\ncommand = ["touch", "ran"]', "runs a command"),
        ('kind = "function"\nfunction = "functions:f"', "runs a function"),
        ('kind = "file"\npath = "../told.jsonl"', "writes outside"),
        ('kind = "table"\npath = "/tmp/told.csv"\ncolumns = {a = "b"}', "writes outside"),
        ('kind = "file"\npath = ".cepheid/told.jsonl"', "writes outside"),
    ],
)
def test_what_could_run_or_write_anything_is_told_and_not_done(
    page: Page, folder: Path, monkeypatch: pytest.MonkeyPatch, settings: str, why: str
) -> None:
    ran = folder / "ran"
    (folder / "functions.py").write_text(f"open({str(ran)!r}, 'w')\ndef f(action): pass\n")
    monkeypatch.syspath_prepend(folder)  # which the process of a lane inherits
    started_with_actions(page, folder, f"[executors.tell]\n{settings}\n")
    said = page.ask("actions-rehearse", name="p-1")
    assert why in said["refused"][0]
    with pytest.raises(Refused, match=why):
        page.ask("actions-do", name="p-1", digest=said["digest"])
    assert not ran.exists()


def test_commands_are_done_where_the_folder_is_trusted(folder: Path) -> None:
    command = '[executors.tell]\nkind = "command"\ncommand = ["touch", "ran"]\n'
    with running(folder, Limits(), is_trusted=True) as studio, studio.page() as page:
        started_with_actions(page, folder, command)
        said = page.ask("actions-rehearse", name="p-1")
        assert not (folder / "ran").exists()
        page.ask("actions-do", name="p-1", digest=said["digest"])
    assert (folder / "ran").exists()


def test_actions_without_an_executor_wait(page: Page, folder: Path) -> None:
    started_with_actions(page, folder, None)
    said = page.ask("actions-rehearse", name="p-1")
    assert (said["executors"], said["count"]) == (None, 0)
    with pytest.raises(Refused, match="there are no executors"):
        page.ask("actions-do", name="p-1", digest=said["digest"])


# What is refused.


@pytest.mark.parametrize(
    "form",
    [
        {**STREAM, "sink": "../rows"},
        {**STREAM, "sink": "/tmp/rows"},
        {**STREAM, "sink": ".cepheid/jobs"},
        {**STREAM, "sink": "link/rows"},
        {**STREAM, "sink": "out?format=parquet"},
        {**STREAM, "sink": "$(touch ran)"},
        {**STREAM, "checkpoint": "--conf"},
        {**STREAM, "checkpoint": "hdfs://host/state"},
        {**STREAM, "checkpoint": None},
        {**STREAM, "source": "link"},
        {**STREAM, "source": "linked"},
        {**STREAM, "source": "days"},
        {**STREAM, "source": "in?format=jsonl&x=y"},
        {**STREAM, "source": "in?format=python"},
        {**STREAM, "source": "nowhere"},
        {**STREAM, "source": ""},
        {**STREAM, "late": "../late"},
        {**STREAM, "watermark": "--conf=spark.jars=x"},
        {**STREAM, "output": "-o"},
        {**BATCH, "events": "link/secret.jsonl"},
        {**BATCH, "events": "in/pipe.jsonl"},
        {**BATCH, "events": "table:t"},
        {**BATCH, "events": "p.epl"},
        {**BATCH, "out": "p.epl"},
        {**BATCH, "out": "../rows.jsonl"},
        {**BATCH, "outbox": "/tmp/outbox"},
        {**BATCH, "command": "live"},
        {**BATCH, "command": "act"},
    ],
    ids=lambda form: " ".join(f"{n}={v}" for n, v in form.items() if n != "command")[:60],
)
def test_a_form_that_leads_out_of_the_folder_starts_nothing(
    page: Page, folder: Path, tmp_path_factory: pytest.TempPathFactory, form: Mapping[str, Any]
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.jsonl").write_text(EVENTS)
    (folder / "link").symlink_to(outside)
    (folder / "linked").mkdir()
    (folder / "linked" / "e.jsonl").symlink_to(outside / "secret.jsonl")
    (folder / "days" / "day=1").mkdir(parents=True)
    (folder / "days" / "day=1" / "e.jsonl").symlink_to(outside / "secret.jsonl")
    os.mkfifo(folder / "in" / "pipe.jsonl")
    with pytest.raises(Refused):
        page.ask("job-start", texts=texts(), name="p-1", **form)
    assert not (folder / ".cepheid").exists()
    assert [path.name for path in outside.iterdir()] == ["secret.jsonl"]


@pytest.mark.parametrize("file", ["../p.epl", "-p.epl", "link.epl", "p.py", "$(touch ran).epl"])
def test_a_program_that_is_none_of_the_folder_is_not_started(
    page: Page, folder: Path, tmp_path_factory: pytest.TempPathFactory, file: str
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "p.epl"
    outside.write_text(PROGRAM)
    (folder / "link.epl").symlink_to(outside)
    (folder / Path(file).name).touch()
    with pytest.raises(Refused):
        page.ask("job-start", texts=texts("", file), name="p-1", **BATCH)
    assert not (folder / ".cepheid").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["command"].extend(["--conf", "spark.jars=x"]),
        lambda record: record["command"].extend(["--outbox", "/tmp/elsewhere"]),
        lambda record: record.update(home="/"),
    ],
)
def test_a_job_that_the_studio_would_not_start_is_not_started_again(
    page: Page, folder: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    page.ask("job-start", texts=texts(), name="p-1", **BATCH)
    job = ended(folder, "p-1")
    record = json.loads((job.folder / RECORD).read_text())
    change(record)
    (job.folder / RECORD).write_text(json.dumps(record))
    assert not listed(page, "p-1")["own"]
    for verb in ("job-restart", "job-afresh"):
        with pytest.raises(Refused, match="was not started here"):
            page.ask(verb, name="p-1")


def test_records_that_lie_elsewhere_are_not_looked_at(
    page: Page, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (folder / ".cepheid").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    for verb, asked in (("jobs", {}), ("job-stop", {"name": "p-1"})):
        with pytest.raises(Refused, match="leads out of this folder"):
            page.ask(verb, **asked)
    with pytest.raises(Refused, match="leads out of this folder"):
        page.ask("job-start", texts=texts(), name="p-1", **BATCH)


@pytest.mark.parametrize("name", [LOG, LATEST, f"{PROGRAM_COPIES}/p.epl"])
def test_a_record_with_links_shows_nothing_of_what_they_lead_to(
    page: Page, folder: Path, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    secret = tmp_path_factory.mktemp("outside") / "secret"
    secret.write_text('{"@type": "secret"}\n')
    page.ask("job-start", texts=texts(), name="p-1", **BATCH)
    job = ended(folder, "p-1")
    (job.folder / name).unlink(missing_ok=True)
    (job.folder / name).symlink_to(secret)
    told = page.ask("jobs", watched="p-1")
    assert (told["jobs"], told["watched"]) == ([], None)
    assert "has a link to elsewhere" in told["problems"][0]["message"]
    for verb in ("job-restart", "job-remove", "job-inspect", "actions-rehearse"):
        with pytest.raises(Refused, match="has a link to elsewhere"):
            page.ask(verb, name="p-1")
    assert secret.exists()


def test_a_checkpoint_outside_of_the_folder_is_not_read(page: Page, folder: Path) -> None:
    page.ask("job-start", texts=texts(), name="p-1", **BATCH)
    job = ended(folder, "p-1")
    with pytest.raises(Refused, match="it is no stream"):
        page.ask("job-inspect", name="p-1")
    record = json.loads((job.folder / RECORD).read_text())
    (job.folder / RECORD).write_text(json.dumps({**record, "checkpoint": "/tmp"}))
    with pytest.raises(Refused, match="is not in this folder"):
        page.ask("job-inspect", name="p-1")


@pytest.mark.parametrize("name", [LOG, LATEST, f"{PROGRAM_COPIES}/p.epl"])
def test_nobody_waits_for_a_pipe_in_a_record(page: Page, folder: Path, name: str) -> None:
    page.ask("job-start", texts=texts(), name="p-1", **BATCH)
    job = ended(folder, "p-1")
    (job.folder / name).unlink(missing_ok=True)
    os.mkfifo(job.folder / name)
    told = page.ask("jobs", watched="p-1")
    assert (told["jobs"], told["watched"]) == ([], None)
    assert "no plain file" in told["problems"][0]["message"]


def test_a_damaged_record_is_told_beside_the_others(page: Page, folder: Path) -> None:
    page.ask("job-start", texts=texts(), name="p-1", **BATCH)
    job = ended(folder, "p-1")
    (job.folder.parent / "bad").mkdir()
    (job.folder.parent / "bad" / RECORD).write_text("{")
    told = page.ask("jobs")
    assert [each["name"] for each in told["jobs"]] == ["p-1"]
    assert [problem["code"] for problem in told["problems"]] == ["bad-job"]


def test_a_studio_without_jobs_says_nothing(studio: Studio) -> None:
    with studio.page() as page:
        assert page.ask("jobs", watched="p-1") == {"jobs": [], "problems": [], "watched": None}


WORDS = st.text(min_size=1, max_size=8)


def commands() -> st.SearchStrategy[Command]:
    def of(declared: Any) -> st.SearchStrategy[Command]:
        kinds = {"flag": st.booleans()}
        given = {
            each.name: kinds.get(each.metadata["kind"], st.none() | WORDS)
            for each in fields(declared)[1:]
        }
        programs = st.lists(WORDS, max_size=3).map(tuple)
        return st.builds(declared, programs=programs, **given)

    return st.one_of(*map(of, COMMANDS.values()))


@examples(100)
@given(commands())
def test_a_command_is_read_as_it_was_written_or_not_at_all(command: Command) -> None:
    read = command_of(words_of(command))
    is_plain = not any(program.startswith("-") for program in command.programs)
    assert read == command if is_plain else read in (None, command)


@examples(100)
@given(st.lists(st.sampled_from(["stream", "--source", "--once", "--conf", "x", "files:in"])))
@example(["stream", "--source", "in"])
@example(["stream", "--source", "files:../in", "--source", "files:in"])
@example(["stream", "--once", "--source", "files:in"])
@example(["stream", "--sink", ""])
def test_what_is_read_as_a_command_says_the_same(words: list[str]) -> None:
    read = command_of(words)
    assert read is None or words_of(read) == words
