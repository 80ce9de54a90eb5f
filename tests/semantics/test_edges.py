"""Edges: partial matches, idle rates, ended runs, the ends of the calendar, other processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import cepheid as cep
from cepheid.engines.common.runners import Reference
from tests.conformance.scenarios import TYPES, outcome

PARTIAL = {
    "select a.id as a, b.id as b, c.id as c from pattern"
    " [every a=A -> (b=B or c=D) where timer:within(3 sec)]": [("A1", None, None)],
    "select a.id as a, b.id as b, c.id as c from pattern"
    " [every a=A -> (b=B or (c=C -> D)) where timer:within(3 sec)]": [("A1", None, "C1")],
    "select a[0].id as a, b[0].id as b, 'x' as c from pattern"
    " [every ([2] (a=A -> b=B)) where timer:within(3 sec)]": [("A1", None, "x")],
    "select a.id as a, b.id as b, c.id as c from pattern"
    " [every (a=A and b=B and c=C) where timer:within(3 sec)]": [("A1", None, "C1")],
    "select a.id as a, 'x' as b, 'x' as c from pattern"
    " [every a=A and not (B where timer:within(3 sec))]": [],
}


@pytest.mark.parametrize("text", PARTIAL)
def test_a_timeout_row_shows_how_far_a_match_had_come(text: str) -> None:
    session = cep.open(cep.parse(text, types=TYPES), start=0, timed_out=True)
    rows = session.send("A", {"id": "A1"}, time=0) + session.send("C", {"id": "C1"}, time=1)
    rows += session.advance(5)
    found = [tuple(row.values()) for row in rows if row.is_timeout]
    assert found == PARTIAL[text]


def ticks(text: str, seconds: int) -> int:
    """How often timers fire when nothing comes for a long time."""
    session = cep.open(cep.parse(text, types=TYPES), start=0, engine="reference")
    session.send("A", {"id": "A1", "k": "x", "v": 1}, time=0)
    fired = 0
    assert isinstance(session.runner, Reference)
    machine = session.runner.machine
    tick = machine.tick

    def counted(instant: int) -> None:
        nonlocal fired
        fired += 1
        tick(instant)

    machine.tick = counted  # type: ignore[method-assign]
    session.advance(seconds)
    return fired


def test_a_rate_with_nothing_to_say_does_not_tick() -> None:
    assert ticks("select id from A output every 1 sec", 10_000) == 1
    assert ticks("select id from A output last every 1 sec", 10_000) == 1
    assert ticks("select id from A output first every 1 sec", 10_000) == 1
    assert ticks("select sum(v) as s from A output every 1 sec", 100) == 100


def test_the_periods_of_an_idle_rate_go_on_from_the_first_row() -> None:
    events = "A1@1000{v=1} A2@9500{v=2} A3@11000{v=3}"
    assert outcome("select id from A output every 2 sec", events + " @20000") == [
        '3000 id="A1"',
        '11000 id="A2"',
        '13000 id="A3"',
    ]


def test_the_first_results_wait_for_after_too() -> None:
    events = 'A1@1000{k="x",v=1} A2@2000{k="x",v=2} A3@4000{k="y",v=4} A4@9000{k="x",v=8}'
    rate = "output after 3 sec first every 2 sec"
    assert outcome(f"select sum(v) as s from A {rate}", events) == ["4000 s=7", "9000 s=15"]
    assert outcome(f"select k, sum(v) as s from A group by k {rate}", events) == [
        '4000 k="y" s=4',
        '9000 k="x" s=11',
    ]


def test_groups_without_a_window_have_a_snapshot() -> None:
    text = "select k, count(*) as n from A group by k output snapshot every 2 sec"
    events = 'A1@1000{k="x"} A2@1500{k="y"} A3@2000{k="x"} @5000'
    assert outcome(text, events) == [
        '3000 k="x" n=2',
        '3000 k="y" n=1',
        '5000 k="x" n=2',
        '5000 k="y" n=1',
    ]


def size_after(text: str, events: int) -> int:
    session = cep.open(cep.parse(text, types=TYPES), start=0)
    for number in range(events):
        session.send("A", {"id": f"A{number}", "k": f"k{number}"}, time=number)
    return len(session.save())


@pytest.mark.parametrize(
    "text",
    [
        "select k, count(*) as n from A#time(9 sec) group by k output first every 9 sec",
        "select k, count(*) as n from A#time(9 sec) group by k",
        "select 1 as x from pattern [every-distinct(a.k, 9 sec) a=A]",
    ],
)
def test_state_does_not_grow_with_the_stream(text: str) -> None:
    assert size_after(text, 2_000) < 1.3 * size_after(text, 1_000)


def test_a_run_that_had_to_end_stays_ended() -> None:
    text = "insert into A select id, k, v, ts from A where v > 0; @Name('see') select v from A"
    session = cep.open(cep.parse(text, types=TYPES), start=0)
    with pytest.raises(cep.RunError, match="runaway"):
        session.send("A", {"v": 1}, time=1)
    for attempt in (lambda: session.send("A", {"v": 0}, time=2), session.save):
        with pytest.raises(cep.RunError, match="runaway"):
            attempt()


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("select 1 as x from pattern [every a=A -> timer:at(*, *, *, *, *)]", "9999-12-31T23:59:59.5Z"),
        ("select 1 as x from pattern [every a=A -> timer:interval(5 months)]", "9999-12-31T00:00:00Z"),
        ("select count(*) as n from A#time_batch(11 months, 250000000000000L)", "0001-02-01T00:00:00Z"),
        ("select count(*) as n from A#time(2 years)", "9999-01-01T00:00:00Z"),
    ],
)  # fmt: skip
def test_the_calendar_may_end(text: str, time: str) -> None:
    session = cep.open(cep.parse(text, types=TYPES))
    assert all(row["n"] == 1 for row in session.send("A", {"id": "A1"}, time=time))


SAVE = """
import sys, cepheid as cep
schemas = [f"create schema T{n} () inherits T{n - 1};" for n in range(1, 8)]
text = "create schema T0 (x int);" + "".join(schemas) + "select x from T7#length(2)"
program = cep.parse(text)
if len(sys.argv) > 1:
    cep.open(program, state=bytes.fromhex(sys.argv[1]))
else:
    session = cep.open(program, start=0)
    session.send("T7", {"x": 1}, time=1)
    print(session.save().hex())
"""


def test_a_state_can_be_loaded_in_another_process() -> None:
    def python(seed: int, *arguments: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        command = [sys.executable, "-c", SAVE, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    python(2, python(1))
