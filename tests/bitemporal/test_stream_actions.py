"""From a stream to an outbox: what rounds want done arrives once, wherever the process ends."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import cepheid as cep
from cepheid import actions
from cepheid.actions import Delivery
from cepheid.bitemporal.stream.arrivals import Arrival
from cepheid.bitemporal.stream.sink import RoundsSink
from cepheid.cli.action_sink import ActionSink
from cepheid.cli.stream_rounds import acting
from cepheid.core.event import Event
from cepheid.errors import InputError
from cepheid.io.sources import records_of
from cepheid.verbs.rounds import course_of
from tests.actions.clocks import Flaky, Hand
from tests.bitemporal.test_stream import STEPS, Crash, Fragile
from tests.effort import IS_QUICK

# `note` has whole numbers and others at one place, which a column of a table cannot tell apart.
PROGRAM = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS Visit(no INTEGER, at TEXT) ID (no)
FREEZING TIME (1h)
ON ANNOUNCEMENT AND FUTURE DO plan(NEW.at),
ON ONTIME OR LATE DO begins(NEW.at, NEW.occ),
ON CHANGE DO note(NEW.no),
ON CANCELLATION DO note(NEW.no);

CREATE COMPLEX EVENT CLASS Busy(at TEXT, visits INTEGER, mean NUMBER) ID (at)
OBSERVATION SPAN (1d)
AS SELECT v.at, COUNT(*) AS visits, AVG(v.no) AS mean FROM Visit v GROUP BY v.at OCCURRING AT MIN(v)
ON ANNOUNCEMENT OR CHANGE DO note(NEW.mean);
"""
RESOLVED = cep.parse(PROGRAM, "bicepl").resolve()
RECORDS: Sequence[dict[str, Any]] = [
    {"@type": "Visit", "@time": 120, "@detected": 0, "no": 1, "at": "home"},
    {"@type": "Visit", "@time": 300, "@detected": 60, "no": 2, "at": "home"},
    {"@type": "Visit", "@time": 60, "@detected": 90, "no": 3, "at": "work"},
    {"@type": "Visit", "@time": 240, "@detected": 180, "no": 1, "at": "work"},
    {"@type": "Visit", "@detected": 240, "@retracted": True, "no": 2},
    {"@type": "Visit", "@time": 420, "@detected": 300, "no": 4, "at": "home"},
    {"@time": 600},
]
ARRIVALS = [Arrival(record, place) for place, record in enumerate(records_of(list(RECORDS)))]
BATCHES = [ARRIVALS[:2], ARRIVALS[2:4], [], ARRIVALS[4:6], ARRIVALS[6:]]
NAMES = ("plan", "begins", "note")


def expected() -> list[actions.Action]:
    program = cep.parse(PROGRAM, "bicepl")
    result = cep.run(program, list(RECORDS), engine="reference", chronon="1m", end=540)
    return list(actions.actions_of(program, result))


def take(folder: Path, batch: int, disk: Fragile | None = None) -> None:
    """A batch as the process of a stream takes it."""
    program, course = RESOLVED, course_of(chronon="1m")
    with ActionSink(str(folder / "outbox")) as outbox:
        act = acting(program, outbox)
        sink = RoundsSink(program, folder / "rounds", course, compact_every=2, disk=disk, act=act)
        sink.take(batch, BATCHES[batch])


def waiting(folder: Path) -> int:
    """How many actions wait in the outbox."""
    planned, _ = actions.rehearse(folder / "outbox", {name: Delivery(Flaky()) for name in NAMES})
    return len(planned)


class FragileOutbox(Fragile):
    """A disk that crashes in one of its operations, or in one of the outbox."""

    @contextmanager
    def underneath(self) -> Iterator[None]:
        write, sync = os.write, os.fsync

        def part(file: int, data: bytes) -> int:
            if self._step():
                write(file, data[: len(data) // 2])
                raise Crash
            return write(file, data)

        def before(file: int) -> None:
            if self._step():
                raise Crash
            sync(file)

        with patch.object(os, "write", part), patch.object(os, "fsync", before):
            yield


class Receivers:
    """Who does what waits in an outbox, at any time."""

    def __init__(self, outbox: Path) -> None:
        self._outbox = outbox
        self.executors = {name: Flaky() for name in NAMES}

    def work(self) -> None:
        if (self._outbox / "outbox.json").exists():
            executors = {name: Delivery(each) for name, each in self.executors.items()}
            actions.drain(self._outbox, executors, clock=Hand())

    def check(self) -> None:
        for name, executor in self.executors.items():
            assert executor.done == [each for each in expected() if each.name == name]


def test_the_program_of_these_tests_does_all_of_its_actions() -> None:
    found = expected()
    assert {action.name for action in found} == set(NAMES)
    notes = [action.arguments["p1"] for action in found if action.name == "note"]
    assert {type(note) for note in notes} == {int, float, type(None)}


@pytest.mark.parametrize("works", [True, False])
def test_a_crash_in_any_operation_up_to_the_outbox_loses_and_doubles_no_action(
    tmp_path: Path, works: bool
) -> None:
    receivers, crashes = Receivers(tmp_path / "outbox"), 0
    for batch in range(len(BATCHES)):
        for step in STEPS:
            disk = FragileOutbox(step)
            try:
                with disk.underneath():
                    take(tmp_path, batch, disk)
                break
            except Crash:
                crashes += 1
            if works:
                receivers.work()
    receivers.work()
    receivers.check()
    assert crashes > (10 if IS_QUICK else 100)


def test_a_batch_that_counts_hands_its_actions_over_when_it_is_repeated(tmp_path: Path) -> None:
    told: list[list[Event]] = []

    def dies(rows: Sequence[Event]) -> None:
        raise Crash

    def sink(act: Any) -> RoundsSink:
        return RoundsSink(RESOLVED, tmp_path, course_of(chronon="1m"), act=act)

    with pytest.raises(Crash):
        sink(dies).take(0, BATCHES[0])
    again = sink(lambda rows: told.append(list(rows)))
    assert again.take(0, BATCHES[0]) is None
    assert again.take(0, BATCHES[0]) is None  # and as often as it comes
    assert again.take(1, BATCHES[1]) is not None
    assert again.take(0, BATCHES[0]) is None  # an earlier one was handed over
    assert [[row.type for row in rows] for rows in told[:2]] == [["plan", "note"]] * 2
    assert len(told) == 3


def test_nothing_is_handed_over_before_its_batch_counts(tmp_path: Path) -> None:
    """Another delay or outage may change what a batch that does not count yet wants done."""
    take(tmp_path, 0)
    before = waiting(tmp_path)
    for step in STEPS:
        disk = FragileOutbox(step)
        with pytest.raises(Crash), disk.underneath():
            take(tmp_path, 1, disk)
        if (tmp_path / "rounds" / "manifests" / "0000000001.json").exists():
            break
        assert waiting(tmp_path) == before
    take(tmp_path, 1)
    assert waiting(tmp_path) > before


def test_an_outbox_of_another_history_ends_the_stream_and_a_new_one_goes_on(
    tmp_path: Path,
) -> None:
    other = actions.Action("plan", 0, expected()[0].key, {}, {"p1": "other"})
    actions.enqueue([other], tmp_path / "outbox")
    with pytest.raises(InputError, match="stands for another action"):
        take(tmp_path, 0)
    (tmp_path / "outbox").rename(tmp_path / "aside")
    for batch in range(len(BATCHES)):
        take(tmp_path, batch)
    receivers = Receivers(tmp_path / "outbox")
    receivers.work()
    receivers.check()
