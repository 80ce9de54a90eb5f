"""Programs that have classes and statements."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.errors import CepheidError, InputError
from cepheid.io import encode

STATEMENTS = """
create schema Sensor (id string, t double);
@Name('tell') insert into Hot select s.id as id, s.t as t from Sensor(t > 30) as s;
@Name('moves') insert into Moves
select a.id as id, b.kind as kind, (b.occ - a.occ) as ahead
from pattern [every a=Hot(kind = 'announcement') -> b=Alarm(id = a.id)];
@Name('count') insert into Count select count(*) as n from Moves#keepall;
"""
CLASSES = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS Hot(id TEXT, t NUMBER) ID (id) FREEZING TIME (1h)
ON CHANGE DO changed(NEW.id, NEW.t);
CREATE COMPLEX EVENT CLASS Alarm(id TEXT, t NUMBER) ID (id) OBSERVATION SPAN (1h)
AS SELECT h.id, h.t FROM Hot h WHERE h.t > 40 OCCURRING AT h + 2m
ON ONTIME DO ring(NEW.id);
"""


EVENTS = [
    {"@type": "Sensor", "@time": 0, "id": "a", "t": 31.0},
    {"@type": "Sensor", "@time": 60, "id": "a", "t": 45.0},
    {"@type": "Sensor", "@time": 90, "id": "b", "t": 20.0},
    {"@time": 600},
]


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_statements_tell_classes_and_hear_of_them(engine: str) -> None:
    rows = cep.run(both(STATEMENTS, CLASSES), EVENTS, chronon="1m", engine=engine)
    seen = [(row.instant // 10**6, row.type, encode(row)) for row in rows]
    assert [(time, type) for time, type, _ in seen] == [
        (60, "changed"),
        (60, "Moves"),
        (60, "Count"),
        (180, "ring"),
    ]
    assert seen[1][2] | {"@time": 60} == {
        "@type": "Moves",
        "@time": 60,
        "id": "a",
        "kind": "announcement",
        "ahead": 180_000,  # times of classes are milliseconds to statements
    }


def both(statements: str, classes: str) -> cep.Program:
    one, other = cep.parse(statements, "epl"), cep.parse(classes, "bicepl")
    return cep.Program(one.tree + other.tree)


def test_a_class_is_not_told_of_events_without_a_key() -> None:
    events = [{"@type": "Sensor", "@time": 0, "id": None, "t": 50.0}]
    with pytest.raises(InputError) as caught:
        cep.run(both(STATEMENTS, CLASSES), events, chronon="1m")
    [problem] = caught.value.diagnostics
    assert problem.code == "missing-key"


def test_a_complex_class_cannot_be_told() -> None:
    text = STATEMENTS.replace("insert into Hot", "insert into Alarm")
    with pytest.raises(CepheidError):
        cep.run(both(text, CLASSES), EVENTS, chronon="1m")


def test_statements_and_classes_cannot_wait_for_each_other() -> None:
    text = "@Name('loop') insert into Hot select a.id as id, a.t as t from Alarm as a;"
    with pytest.raises(CepheidError):
        cep.run(both(text, CLASSES), EVENTS, chronon="1m")


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_timers_of_statements_go_on_to_the_last_time_of_the_history(engine: str) -> None:
    text = """
create schema Sensor (id string, t double);
@Name('tell') insert into Hot
select s.id as id, s.t as t from pattern [every s=Sensor -> timer:interval(2 minutes)];
@Name('still') insert into Still
select h.id as id from pattern [every h=Hot -> timer:interval(3 minutes)];
"""
    events = [{"@type": "Sensor", "@time": 0, "id": "a", "t": 45.0}, {"@time": 600}]
    rows = cep.run(both(text, CLASSES), events, chronon="1m", engine=engine)
    assert [(row.instant // 10**6, row.type) for row in rows] == [(240, "ring"), (300, "Still")]
