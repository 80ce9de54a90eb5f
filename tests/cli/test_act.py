"""`cepheid act` and `run --outbox`: what they do and show, and how they end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cepheid.actions import Outbox, dead_letters
from tests.cli.conftest import EVENTS, Run

PROGRAM = """\
create schema A (id string, x int);
create schema B (id string, x int);
@Name('Big') @Action('post', p1='{cause.id} has {cause.x}') @Action('tell')
insert into Big select id, x from A(x > 100);
"""
EXECUTORS = """\
[executors.post]
kind = "file"
path = "posted.jsonl"
[executors.tell]
kind = "log"
text = "{cause.id}!"
"""


@pytest.fixture
def given(write: Callable[[str, str], Path]) -> None:
    write("p.epl", PROGRAM)
    write("x.toml", EXECUTORS)


@pytest.mark.usefixtures("given")
def test_the_actions_of_a_run_are_done_once(cepheid: Run, folder: Path) -> None:
    ran = cepheid("run", "p.epl", "--events", "e.jsonl", "--outbox", "box")
    assert ran.code == 0
    assert [row["@type"] for row in ran.rows] == ["Big"]
    assert "put 2 actions into 'box'" in ran.err
    done = cepheid("act", "box", "--executors", "x.toml")
    assert done.code == 0
    assert [line.split() for line in done.out.splitlines()[2:]] == [
        ["post", "1", "0", "0", "0"],
        ["tell", "1", "0", "0", "0"],
    ]
    assert "l!" in done.err
    (posted,) = (folder / "posted.jsonl").read_text().splitlines()
    assert json.loads(posted)["p1"] == "l has 300"
    again = cepheid("run", "p.epl", "--events", "-", "--outbox", "box", stdin=EVENTS)
    assert "put 0 actions into 'box', 2 were there" in again.err
    done = cepheid("act", "box", "--executors", "x.toml", "--json")
    nothing = {"delivered": 0, "retried": 0, "dead": 0, "waiting": 0}
    assert done.data == {"post": nothing, "tell": nothing}


@pytest.mark.usefixtures("given")
def test_a_dry_run_tells_what_would_be_done(cepheid: Run, folder: Path) -> None:
    cepheid("run", "p.epl", "--events", "e.jsonl", "--outbox", "box")
    done = cepheid("act", "box", "-x", "x.toml", "--dry-run")
    assert done.code == 0
    assert done.out.splitlines()[0].startswith("post: append to 'posted.jsonl': {")
    assert done.out.splitlines()[1] == "tell: log l!"
    assert "2 actions would be done" in done.err
    assert not (folder / "posted.jsonl").exists()
    rows = cepheid("act", "box", "-x", "x.toml", "--dry-run", "--json").rows
    assert rows[1] == {"action": rows[1]["action"], "would": "log l!"}


@pytest.mark.usefixtures("given")
def test_what_fails_is_told_and_ends_among_the_dead_letters(
    cepheid: Run, write: Callable[[str, str], Path]
) -> None:
    line = json.dumps([sys.executable, "-c", "import sys; sys.exit('no way')"])
    write(
        "x.toml", f'[executors.post]\nkind = "command"\ncommand = {line}\ntries = 2\nwait = "1 ms"'
    )
    cepheid("run", "p.epl", "--events", "e.jsonl", "--outbox", "box")
    once = cepheid("act", "box", "-x", "x.toml", "--once")
    assert once.code == 1
    assert "post: try 1 failed, the next in 0.0 s" in once.err
    assert once.out.splitlines()[2].split() == ["post", "0", "1", "0", "1"]
    done = cepheid("act", "box", "-x", "x.toml", "--once")
    assert done.code == 1
    assert "warning[dead-letter]: 'post' of Big/" in done.err
    assert "no way" in done.err
    assert done.out.splitlines()[2].split() == ["post", "0", "0", "1", "0"]
    assert "warning[no-executor]: 1 action of 'tell' wait" in done.err
    assert len(list(dead_letters("box", "post"))) == 1
    write("x.toml", EXECUTORS)
    again = cepheid("act", "box", "-x", "x.toml", "--again")
    assert again.code == 0
    assert "1 dead letter to be tried again" in again.err
    assert again.out.splitlines()[2].split() == ["post", "1", "0", "0", "0"]
    assert not list(dead_letters("box", "post"))
    assert "0 dead letters" in cepheid("act", "box", "-x", "x.toml", "--again").err
    assert cepheid("act", "box", "-x", "x.toml", "--again", "--dry-run").code == 2


@pytest.mark.usefixtures("given")
def test_what_makes_no_sense_is_refused_before_anything_is_done(
    cepheid: Run, write: Callable[[str, str], Path], folder: Path
) -> None:
    cepheid("run", "p.epl", "--events", "e.jsonl", "--outbox", "box")
    write("bad.toml", EXECUTORS + '[executors.mail]\nkind = "mail"\nhots = "h"\nfrom = "a@b.c"')
    done = cepheid("act", "box", "-x", "bad.toml")
    assert done.code == 1
    assert "bad.toml:7:1: error[bad-executor]: executors.mail: no setting 'hots'" in done.err
    assert "did you mean 'host'?" in done.err
    assert not (folder / "posted.jsonl").exists()
    assert cepheid("act", "none", "-x", "x.toml").code == 2
    assert cepheid("act", "box", "-x", "none.toml").code == 2
    both = cepheid("act", "box", "-x", "x.toml", "--follow", "--once")
    assert (both.code, "contradict" in both.err) == (2, True)
    assert "is no folder" in cepheid("act", "p.epl", "-x", "x.toml").err


@pytest.mark.usefixtures("given")
def test_an_outbox_that_cannot_be_used_ends_a_run_before_it_begins(
    cepheid: Run, folder: Path
) -> None:
    refused = cepheid("run", "p.epl", "--events", "e.jsonl", "--outbox", ".")
    assert (refused.code, refused.out) == (1, "")
    assert "error[bad-outbox]: '.' is no outbox: it has other files" in refused.err
    with Outbox(folder / "box"):
        refused = cepheid("run", "p.epl", "--events", "e.jsonl", "--outbox", "box")
    assert "another process puts actions into 'box'" in refused.err


@pytest.mark.usefixtures("given")
def test_following_ends_when_it_is_interrupted(
    cepheid: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    cepheid("run", "p.epl", "--events", "e.jsonl", "--outbox", "box")

    def interrupt(self: object, seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cepheid.actions.clock.SystemClock.sleep", interrupt)
    done = cepheid("act", "box", "-x", "x.toml", "--follow", "--json")
    assert done.code == 130
    assert done.data["post"]["delivered"] == 1
