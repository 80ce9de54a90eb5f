"""Windows that are probably of the wrong kind."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.analysis import windows

SCHEMA = "create schema A (id string, v int);"


def found(text: str) -> list[tuple[str, str]]:
    return [(str(f.severity), f.message) for f in windows.find(cep.parse(SCHEMA + text).graph())]


@pytest.mark.parametrize("window", ["time(3 sec)", "length(3)"])
def test_a_window_that_nothing_looks_at_is_a_warning(window: str) -> None:
    fact = "the window of 'S' has no effect: only new rows are shown"
    assert found(f"@Name('S') select v from A#{window}") == [("warning", fact)]


@pytest.mark.parametrize(
    "statement",
    [
        "select sum(v) as v from A#time(3 sec)",
        "select irstream v from A#time(3 sec)",
        "select v from A#length(3) output snapshot every 2 events",
        "select v from A#time_batch(3 sec)",
        "select id, count(*) as n from A#time_batch(3 sec) group by id",
        "select sum(v) as v from A#time_batch(3 sec)",
        "select count(*) as n from A#time(3 sec) having count(*) > 3",
        "select count(*) as n from A#length_batch(3)",
        # Averages and extremes add nothing up, and days are reports.
        "insert into C select id, max(v) as n from A#time_batch(3 sec) group by id;"
        " select c.n as n from pattern [every c=C(n between 3 and 4)]",
        "select avg(v) as n from A#time_batch(1 hour) having avg(v) > 3",
        "select id, sum(v) as n from A#time_batch(1 day) group by id having sum(v) > 100",
        "select count(*) as n from A#time_batch(1 day)",
        "insert into C select sum(v) as n from A#time_batch(1 month); select n from C(n > 100)",
    ],
)
def test_windows_that_make_sense_are_no_finding(statement: str) -> None:
    assert found(statement) == []


THRESHOLD = (
    "'S' tests what each period of 3 seconds adds up to: events on both sides of its end never count"
    " together"
)


@pytest.mark.parametrize(
    "text",
    [
        "@Name('S') select count(*) as n from A#time_batch(3 sec) having count(*) > 3",
        "@Name('S') insert into C select sum(v) as n from A#time_batch(3 sec); select n from C(n > 3)",
        "@Name('S') insert into C select id, sum(v) as n from A#time_batch(3 sec) group by id;"
        " select c.n as n from pattern [every c=C(n between 3 and 4)]",
    ],
)
def test_a_threshold_on_a_batch_is_a_warning(text: str) -> None:
    assert found(text) == [("warning", THRESHOLD)]


def test_a_count_per_batch_is_a_note() -> None:
    assert found("@Name('S') select count(*) as n from A#time_batch(3 sec)") == [
        ("note", "'S' counts once per 3 seconds, at its end")
    ]
