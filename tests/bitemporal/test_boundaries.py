"""Single cases at the edges of definitions: what fires in which round, on all engines."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import cepheid as cep
from cepheid.bitemporal.rounds import outage_numbers

A = "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x INTEGER) ID (k) FREEZING TIME ({})"
B = "CREATE MUTABLE SUBSCRIBED EVENT CLASS B(k INTEGER, x INTEGER) ID (k) FREEZING TIME (1m);"
D = "CREATE COMPLEX EVENT CLASS D(k INTEGER, x INTEGER) ID ({}) OBSERVATION SPAN (1m) AS {}"


def version(
    cls: str, key: int, occ: int, det: int | None = None, x: int | None = 1
) -> dict[str, Any]:
    return {"@type": cls, "k": key, "x": x, "@time": occ, "@detected": occ if det is None else det}


def retraction(key: int, det: int) -> dict[str, Any]:
    return {"@type": "A", "k": key, "@detected": det, "@retracted": True}


@dataclass(frozen=True)
class Edge:
    """A program, what is detected, and the rounds in which it fires."""

    program: str
    records: list[dict[str, Any]]
    rounds: list[int]
    end: int = 600
    options: dict[str, Any] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)


def plain(reaction: str, freezing: str = "1h") -> str:
    return f"{A.format(freezing)} {reaction};"


def derived(query: str, reaction: str, key: str = "k", freezing: str = "1h") -> str:
    return f"{A.format(freezing)}; {B} {D.format(key, query)} {reaction};"


NOT_IN = derived(
    "SELECT a.k, a.x FROM A a WHERE a.x NOT IN (SELECT b.x FROM B b) OCCURRING AT a",
    "ON ANNOUNCEMENT OR CANCELLATION DO p()",
)
SLIDING = {"window": "sliding"}
EDGES = {
    "outages that touch are one": Edge(
        plain("ON LATE DO p()"),
        [version("A", 1, 0, 60)],
        [4],
        options={"outages": [(60, 120), (120, 240)]},
    ),
    "the chronon of the freeze is not after it": Edge(
        plain("ON CHANGE DO p()", "2m"), [version("A", 1, 0), version("A", 1, 0, 120, x=2)], [2]
    ),
    "another time after the freeze is no repetition": Edge(
        plain("ON CHANGE DO p()", "1m"),
        [version("A", 1, 0), version("A", 1, 60, 300)],
        [],
        refused={"after the freeze": 1},
    ),
    "a move within a chronon is no change": Edge(
        plain("ON CHANGE DO p()"), [version("A", 1, 0), version("A", 1, 20, 60)], []
    ),
    "a second retraction is of nothing": Edge(
        plain("ON CANCELLATION DO p()"),
        [version("A", 1, 0), retraction(1, 60), retraction(1, 120)],
        [1],
        refused={"a retraction of what is not known": 1},
    ),
    "what is told and retracted again is known since it was told first": Edge(
        plain("ON ANNOUNCEMENT DO p()", "2m"),
        [
            *(version("A", 1, 0), retraction(1, 30), version("A", 1, 240, 60), retraction(1, 90)),
            version("A", 1, 240, 300),
        ],
        [],
        refused={"after the freeze": 1},
    ),
    "NOW passes the detection": Edge(
        plain("ON NOW - NEW.det > 3m DO p()"), [version("A", 1, 1200, 0)], list(range(4, 11))
    ),
    "a null among the others hides what is not among them": Edge(
        NOT_IN, [version("A", 1, 0), version("B", 1, 0, 120, x=None)], [0, 2]
    ),
    "a null is neither among others nor not": Edge(
        NOT_IN, [version("A", 1, 0, x=None), version("B", 1, 0, x=2)], []
    ),
    "nor is anything among nulls": Edge(
        NOT_IN, [version("A", 1, 0), version("B", 1, 0, x=None)], []
    ),
    "a name inside hides one around": Edge(
        derived(
            "SELECT a.k, a.x FROM A a WHERE EXISTS (SELECT * FROM B b WHERE b.x >= a.x AND"
            " EXISTS (SELECT * FROM B a WHERE a.k = b.x)) OCCURRING AT a",
            "ON ANNOUNCEMENT DO p()",
        ),
        [version("A", 1, 0), version("B", 5, 0, 60, x=7), version("B", 7, 0, 120, x=0)],
        [2],
    ),
    "the last action is kept at twice the freezing time": Edge(
        plain("ON ANNOUNCEMENT DO p()", "5m"),
        [version("A", 1, 0, 600)],
        [10],
        options={"window": "sliding-actions"},
    ),
    "what a window lets appear fires": Edge(
        derived(
            "SELECT a.k, (SELECT COUNT(*) FROM B b) AS x FROM A a OCCURRING AT a",
            "ON NEW.x = 0 DO p()",
            freezing="1m",
        ),
        [version("B", 1, 0), version("A", 1, 240)],
        [6, 7, 8, 9],
        1200,
        SLIDING,
    ),
    "a key that is asked for elsewhere": Edge(
        derived(
            "SELECT (SELECT MAX(b.x) FROM B b WHERE b.k >= a.k) AS k, a.x FROM A a OCCURRING AT a",
            "ON ANNOUNCEMENT OR CANCELLATION DO p()",
        ),
        [version("A", 1, 60, 0), version("B", 1, 0, x=5), version("B", 1, 0, 60, x=3)],
        [0, 1, 1],
    ),
    "a chronon before the epoch begins before its times": Edge(
        plain("ON ONTIME OR NOW = NEW.det + 2m DO p()"), [version("A", 1, -90, -290)], [-3, -2]
    ),
    "so does one for which nothing but its time counts": Edge(
        plain("ON ONTIME DO p()"), [version("A", 1, -90, -300)], [-2]
    ),
    "rows of one key are one event, of each key": Edge(
        derived("SELECT 1 AS k, a.x FROM A a OCCURRING AT a", "ON ANNOUNCEMENT DO p()", "x"),
        [version("A", k, 60, x=k // 2) for k in range(4)],
        [1, 1],
    ),
    "what was retracted is forgotten in the round after its life span": Edge(
        plain("ON ANNOUNCEMENT DO p()", "1m"),
        [
            *(version("A", 1, 0), retraction(1, 30), version("A", 2, 0), retraction(2, 30)),
            *(version("A", 1, 600, 120), version("A", 2, 600, 180)),
        ],
        [3],
        options=SLIDING,
        refused={"after the freeze": 1},
    ),
    "a toggle lives as long as the last event seen behind it": Edge(
        derived(
            "SELECT 1 AS k, a.x FROM A a OCCURRING AT a", "ON LATE OR NEW.x = 5 DO p()", "k", "20m"
        ),
        [
            *(version("A", 1, 0), version("A", 2, 600, 0), version("A", 2, 0, 30)),
            *(retraction(2, 660), version("A", 3, 3700, 3840)),
        ],
        [1],
        6000,
        SLIDING,
    ),
}


def run(edge: Edge, engine: str) -> cep.Result:
    program = cep.parse(edge.program, "bicepl")
    records = [*edge.records, {"@time": edge.end}]
    return cep.run(program, records, chronon="1m", engine=engine, **edge.options)


@pytest.mark.parametrize("engine", ["reference", "local"])
@pytest.mark.parametrize("name", EDGES)
def test_it_fires_in_these_rounds(name: str, engine: str) -> None:
    check(EDGES[name], engine)


BUFFERED = [name for name, edge in EDGES.items() if "window" not in edge.options]


def check(edge: Edge, engine: str) -> None:
    result = run(edge, engine)
    assert [event.instant // 60_000_000 for event in result] == edge.rounds
    assert result.refused.get("A", {}) == edge.refused  # type: ignore[attr-defined]


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_rows_that_differ_in_their_detection_have_the_latest(engine: str) -> None:
    text = derived("SELECT 1 AS k, a.x FROM A a OCCURRING AT a", "ON ONTIME DO p(NEW.det)", "x")
    edge = Edge(text, [version("A", 1, 60, 0), version("A", 2, 60, 30)], [1])
    [event] = run(edge, engine)
    assert event["p1"] == "1970-01-01T00:00:30Z"


NUMBERS = """CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x NUMBER) ID (k) FREEZING TIME (1h)
ON ANNOUNCEMENT AND NEW.x > 1 DO big(NEW.x), ON CHANGE DO other(OLD.x, NEW.x);"""
NAN = float("nan")


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_what_is_no_number_is_null_and_zero_has_no_sign(engine: str) -> None:
    records = [
        *(
            {"@type": "A", "@time": 0, "@detected": n * 60, "k": 1, "x": x}
            for n, x in enumerate((NAN, float("nan"), 0.0, -0.0, 2.0))
        ),
    ]
    found = cep.run(cep.parse(NUMBERS, "bicepl"), records, chronon="1m", engine=engine)
    told = [(e.type, e["p1"], str(e["p2"])) for e in found]
    assert told == [("other", None, "0.0"), ("other", 0.0, "2.0")]


def test_rows_that_are_no_events_only_let_time_pass() -> None:
    program = cep.parse(plain("ON ONTIME DO p()"), "bicepl")
    records = [version("A", 1, 60, 0), {**version("A", 2, 120), "@old": True}]
    found = cep.run(program, records, chronon="1m")
    assert [event["@cause"] for event in found] == [{"@type": "A", "k": 1}]


def test_an_empty_cell_says_nothing_of_the_detection(tmp_path: Path) -> None:
    path = tmp_path / "A.csv"
    path.write_text("@type,@time,@detected,@known,k,x\nA,60,,,1,1\n")
    found = cep.run(cep.parse(plain("ON ONTIME DO p()"), "bicepl"), path, chronon="1m")
    assert [event.instant for event in found] == [60_000_000]


def test_a_chronon_may_be_a_timedelta() -> None:
    program, told = cep.parse(plain("ON ONTIME DO p()"), "bicepl"), [version("A", 1, 90)]
    found = cep.run(program, told, chronon=timedelta(minutes=1))
    assert [event.instant for event in found] == [60_000_000]


def test_outages_that_touch_are_one() -> None:
    assert outage_numbers([(20, 40), (40, 60)], 10) == ((2, 6),)
