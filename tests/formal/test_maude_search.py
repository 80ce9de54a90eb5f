"""Searching with Maude: the shortest inputs that lead to an event, none, or too many."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path

import pytest

import cepheid as cep
from cepheid.errors import RunError, UsageError
from cepheid.formal.maude.environment import Environment, make_environment
from cepheid.formal.maude.search import Limits, find, find_difference
from cepheid.semantics.machine import Machine
from tests.cli.conftest import Run, cepheid, folder, write
from tests.formal import maudes

__all__ = ["cepheid", "folder", "maudes", "write"]
SECOND = 1_000_000

BIKES = """create schema Bike (id int, speed int, seat boolean);
@Name('Crash') insert into Crash select a.id as id
from pattern [every a=Bike(speed >= 50) -> b=Bike(speed = 0 and id = a.id) where timer:within(3 sec)];
@Name('Fall') insert into Fall select c.id as id
from pattern [every c=Crash -> d=Bike(seat = false and id = c.id) where timer:within(3 sec)];
@Name('Silence') insert into Silence select a.id as id
from pattern [every a=Bike(speed > 50) -> (timer:interval(5 sec) and not Bike)];"""
ROADS = {
    "input": [
        {
            "type": "Bike",
            "gaps": [1, "4 seconds"],
            "values": {
                "id": [1, 2],
                "speed": {"min": 0, "max": 60, "step": 30},
                "seat": [True, False],
            },
        }
    ]
}
MANY = {
    "input": [{"type": "Bike", "gaps": [4], "values": {"id": list(range(50)), "speed": [0, 99]}}]
}


def environment(text: str, data: Mapping[str, object]) -> Environment:
    return make_environment(data, cep.parse(text).resolve())


def end_of(environment: Environment, seconds: int) -> int:
    return environment.start + seconds * SECOND


def rows_of(text: str, trace: object) -> list[cep.Event]:
    """What `cep.run` makes of a trace."""
    events = [{"@type": e.type, "@time": e.time, **e} for e in trace.events]  # type: ignore[attr-defined]
    until = trace.until  # type: ignore[attr-defined]
    events += [{"@time": until / SECOND}] if until is not None else []
    return list(cep.run(cep.parse(text), events, engine="reference"))


@pytest.mark.parametrize(("goal", "length"), [("Crash", 2), ("Fall", 3), ("Silence", 1)])
def test_the_shortest_traces_lead_to_the_event(goal: str, length: int) -> None:
    roads = environment(BIKES, ROADS)
    answer = find(roads, goal, end_of(roads, 6), Limits(traces=5))
    assert 1 <= len(answer.traces) <= 5
    for trace in answer.traces:
        assert len(trace.events) == length
        found = [row for row in rows_of(BIKES, trace) if row.type == goal]
        assert found == list(trace.rows)
        assert not any(row.type == goal for row in rows_of(BIKES, shorter(trace)))


def shorter(trace: object) -> object:
    """The trace without its last event, or without the time after it."""
    from cepheid.formal.maude.search import Trace

    assert isinstance(trace, Trace)
    if trace.until is not None:
        return Trace(trace.events, trace.until - 1, ())
    return Trace(trace.events[:-1], trace.events[-1].instant - 1, ())


@pytest.mark.parametrize("goal", ["Crash", "Fall"])
def test_no_sequence_that_the_environment_allows_is_shorter(goal: str) -> None:
    values = {"id": [1], "speed": [0, 60], "seat": [True, False]}
    roads = environment(BIKES, {"input": [{"type": "Bike", "gaps": [1, 4], "values": values}]})
    end = end_of(roads, 6)
    (trace,) = find(roads, goal, end).traces
    shorter = [s for s in sequences(roads, end, len(trace.events)) if len(s) < len(trace.events)]
    assert len(shorter) >= 4
    program = roads.program
    rows = (
        row for s in shorter for row in maudes.reference(program, s, roads.start, s[-1].instant)
    )
    assert not any(row.type == goal for row in rows)


def sequences(environment: Environment, end: int, most: int) -> Iterator[list[cep.Event]]:
    """All sequences of events that an environment allows."""
    found = [[environment.event(input, environment.start)] for input in environment.first]
    for _ in range(most):
        yield from found
        found = [
            [*before, environment.event(input, before[-1].instant + input.gap, len(before))]
            for before in found
            for input in environment.inputs
            if before[-1].instant + input.gap <= end
        ]


def test_nothing_is_found_where_nothing_can_be() -> None:
    slow = {"input": [{"type": "Bike", "gaps": [4], "values": {"id": [1], "speed": [0, 60]}}]}
    roads = environment(BIKES, slow)
    answer = find(roads, "Crash", end_of(roads, 9))
    assert answer.traces == ()
    assert answer.states > 5
    assert answer.length >= 3


def test_states_that_are_equal_are_followed_once() -> None:
    dull = {"input": [{"type": "Bike", "gaps": [1], "values": {"id": [1, 2, 3], "speed": [7, 8]}}]}
    roads = environment(BIKES, dull)
    assert find(roads, "Crash", end_of(roads, 5)).states <= 8


UNRELATED = """
@Name('Pairs') insert into Pairs select a.id as id from pattern [every a=Bike -> b=Bike -> c=Bike];
@Name('Last') insert into Last select count(*) as n from Bike#length(5) output every 2 events;
"""
SKY = """
@Name('Sky') insert into Sky select a.id as id from pattern [every a=Bike -> b=Bike(speed > 999)];
@Name('Far') insert into Far select s.id as id from pattern [every s=Sky -> b=Bike];
"""


def test_statements_that_are_not_behind_the_event_cost_nothing() -> None:
    small, large = environment(BIKES, ROADS), environment(BIKES + UNRELATED + SKY, ROADS)
    one, other = (find(e, "Fall", end_of(e, 6)) for e in (small, large))
    assert (one.states, one.length) == (other.states, other.length)
    assert one.traces[0].events == other.traces[0].events


@pytest.mark.parametrize("goal", ["Sky", "Far"])
def test_what_no_input_satisfies_is_decided_at_once(
    goal: str, cepheid: Run, write: Callable[[str, str], Path]
) -> None:
    roads = environment(BIKES + SKY, MANY)
    answer = find(roads, goal, end_of(roads, 1000), Limits(seconds=0))
    assert (answer.traces, answer.states) == ((), 0)
    assert answer.impossible[0] == "Sky"
    write("sky.epl", BIKES + SKY)
    write("road.toml", "[[input]]\ntype = 'Bike'\ngaps = [1]\nvalues.speed = [0, 60]")
    where = ("--within", "1 hour", "--environment", "road.toml")
    told = cepheid("search", "sky.epl", "--find", "Sky", *where)
    assert told.err == (
        "none within 1 hour: no inputs lead to Sky, as none can satisfy 'Sky' (0 states seen)\n"
    )


def test_a_search_that_explodes_says_how_far_it_came() -> None:
    roads = environment(BIKES, MANY)
    with pytest.raises(RunError) as raised:
        find(roads, "Crash", end_of(roads, 1000), Limits(seconds=0.5))
    (problem,) = raised.value.diagnostics
    assert problem.code == "search-limit"
    assert re.search(
        r"stopped after 0.5 seconds: all sequences of up to \d events", problem.message
    )
    with pytest.raises(RunError, match="stopped after it took 10 MB"):
        find(roads, "Crash", end_of(roads, 1000), Limits(megabytes=10))


def test_what_the_caller_has_taken_is_not_counted() -> None:
    bytearray(b"x") * (300 << 20)  # freed at once: the system remembers it of this process
    found = find_difference(*_race(RACE), Limits(megabytes=250)).difference
    assert found is not None


# B may be counted before or after the A that was derived from the same event.
RACE = """create schema X (x int);
@Name('a') insert into A select x from X;
@Name('b') insert into B select x from X(x > 1);
@Name('pair') insert into Pair select a.x as x from pattern [every a=A -> b=B(x = a.x)];"""
ONE = {"input": [{"type": "X", "gaps": [1], "values": {"x": [1, 2]}}]}


def test_results_that_depend_on_the_order_of_statements() -> None:
    answer = find_difference(*_race(RACE))
    found = answer.difference
    assert found is not None
    assert answer.states >= 1
    assert [event["x"] for event in found.events] == [2]
    results = {tuple(row.statement for row in rows) for rows in (found.one, found.other)}
    assert {len(statements) for statements in results} == {2, 3}
    inputs = environment(RACE, ONE)
    for rows in (found.one, found.other):
        assert sorted(map(repr, rows)) in [
            sorted(map(repr, rows_in_order(inputs, found.events, order)))
            for order in permutations(("a", "b", "pair"))
        ]


def rows_in_order(
    environment: Environment, events: Sequence[cep.Event], order: Sequence[str]
) -> list[cep.Event]:
    machine = Machine(environment.program, order=order)
    machine.start(environment.start)
    return [row for event in events for row in machine.take(event)]


@pytest.mark.parametrize("limits", [Limits(seconds=0.4), Limits(seconds=60, megabytes=1)])
def test_even_a_single_event_may_have_too_many_orders(limits: Limits) -> None:
    many = "".join(
        f"@Name('s{n}') insert into S select x + {n} as x from pattern [every a=X -> b=X];"
        for n in range(9)
    ).replace("x +", "a.x +")
    inputs = environment(f"create schema X (x int); {many}", ONE)
    with pytest.raises(RunError, match="the search was stopped after") as raised:
        find_difference(inputs, end_of(inputs, 9), limits)
    assert raised.value.diagnostics[0].code == "search-limit"


def test_priorities_leave_no_order_open() -> None:
    fixed = RACE.replace("@Name('a')", "@Priority(2) @Name('a')")
    answer = find_difference(*_race(fixed))
    assert answer.difference is None
    assert answer.states > 3
    assert answer.length >= 3


def _race(text: str) -> tuple[Environment, int]:
    inputs = environment(text, ONE)
    return inputs, end_of(inputs, 3)


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        ({}, "an environment needs an [[input]]"),
        ({"input": [], "x": 1}, "no 'x' in an environment"),
        ({"input": [{"type": "Byke", "gaps": [1]}]}, "no input type 'Byke' (did you mean 'Bike'?)"),
        ({"input": [{"type": "Crash", "gaps": [1]}]}, "no input type 'Crash'"),
        ({"input": [{"type": "Bike"}]}, "'gaps' is a list of times"),
        ({"input": [{"type": "Bike", "gaps": ["1 month"]}]}, "months are not all of one length"),
        ({"input": [{"type": "Bike", "gaps": [-1]}]}, "-1 is no gap"),
        ({"input": [{"type": "Bike", "gaps": ["soon"]}]}, "'soon' is not a time period"),
        ({"input": [{"type": "Bike", "gap": [1]}]}, "no 'gap'; an input has gaps, type, values"),
        (
            {"input": [{"type": "Bike", "gaps": [1], "values": {"id": 1}}]},
            "'id' is a list of values",
        ),
        ({"input": [{"type": "Bike", "gaps": [1], "values": {"id": []}}]}, "'id' has no values"),
        (
            {"input": [{"type": "Bike", "gaps": [1], "values": {"id": {"min": 0}}}]},
            "needs the numbers",
        ),
        (
            {
                "input": [
                    {"type": "Bike", "gaps": [1], "values": {"id": {"min": 2, "max": 1, "step": 1}}}
                ]
            },
            "goes from min up to max",
        ),
        (
            {
                "input": [
                    {
                        "type": "Bike",
                        "gaps": [1],
                        "values": {"id": {"min": 0, "max": 1, "step": 1e-9}},
                    }
                ]
            },
            "are the most",
        ),
        (
            {
                "input": [
                    {
                        "type": "Bike",
                        "gaps": [1],
                        "values": {"id": {"min": 0, "max": 10**400, "step": 1}},
                    }
                ]
            },
            "needs the numbers",
        ),
        (
            {"input": [{"type": "Bike", "gaps": [1], "values": {"id": ["x"]}}]},
            "attribute 'id' of Bike",
        ),
        (
            {"input": [{"type": "Bike", "gaps": [1], "values": {"wheels": [2]}}]},
            "no attribute 'wheels'",
        ),
        (
            {"input": [{"type": "Bike", "gaps": [1], "values": {"id": [1, []]}}]},
            "a list is not an int",
        ),
        (
            {"input": [{"type": "Bike", "gaps": [1], "values": {"id": [[{"x": 1}]]}}]},
            "'id' has a record",
        ),
    ],
)
def test_a_bad_environment_is_named(data: dict[str, object], fact: str) -> None:
    with pytest.raises(UsageError, match=re.escape(fact)) as raised:
        environment(BIKES, data)
    assert {d.code for d in raised.value.diagnostics} == {"bad-environment"}


TIMED = """@EventTime(attribute='ts', unit='seconds') create schema A (ts long, x int);
@Name('S') insert into S select b.ts - a.ts as d from pattern [every a=A -> b=A(ts - a.ts > 2)];"""


def test_gaps_say_the_time_of_events_that_have_it_as_an_attribute() -> None:
    inputs = environment(TIMED, {"input": [{"type": "A", "gaps": [2, 3]}]})
    (trace,) = find(inputs, "S", end_of(inputs, 9)).traces
    assert [row["d"] for row in trace.rows] == [3]
    assert [row["d"] for row in rows_of(TIMED, trace)] == [3]
    with pytest.raises(UsageError, match="'ts' is the time of A, which its gaps say"):
        environment(TIMED, {"input": [{"type": "A", "gaps": [1], "values": {"ts": [1]}}]})


def test_lists_are_values_as_others_are() -> None:
    text = """create schema A (v int[]);
    @Name('S') insert into S select v[1] as x from A where v[0] = 1"""
    lists = {"type": "A", "gaps": [1], "values": {"v": [[1, 2], [1, 2], [3]]}}
    inputs = environment(text, {"input": [lists]})
    assert len(inputs.inputs) == 2
    (trace,) = find(inputs, "S", end_of(inputs, 9)).traces
    assert [row["x"] for row in rows_of(text, trace)] == [2]


def test_ranges_have_both_ends() -> None:
    data = {"type": "Bike", "gaps": [0], "values": {"speed": {"min": 1, "max": 2, "step": 1}}}
    found = environment(BIKES, {"input": [data]})
    assert [dict(i.values)["speed"] for i in found.inputs] == [1, 2]


# -- in Python and by the command -------------------------------------------------------------------

TOML = """[[input]]
type = "A"
gaps = [1, 20]
values.id = ["k"]
values.x = [7, 101]

[[input]]
type = "B"
gaps = [1]
values.id = ["k", "l"]
values.x = [1]
"""


def test_a_search_in_python_takes_a_file_or_what_it_holds(
    write: Callable[[str, str], Path],
) -> None:
    program = cep.parse(BIKES)
    write(
        "road.toml", "[[input]]\ntype = 'Bike'\ngaps = [1]\nvalues.speed = [0, 60]\nvalues.id = [1]"
    )
    data = {"type": "Bike", "gaps": [1], "values": {"speed": [0, 60], "id": [1]}}
    heard: list[tuple[int, int]] = []

    def watch(length: int, states: int) -> None:
        heard.append((length, states))

    one = cep.search(program, "road.toml", "Crash", within="6 seconds", watch=watch)
    assert one == cep.search(program, {"input": [data]}, "Crash", within="6 seconds")
    assert heard == sorted(heard)
    assert heard
    [trace] = one.traces
    again = cep.run(program, map(json.loads, trace.lines()), engine="reference")
    assert list(again) == list(trace.rows)
    race = cep.search_any_order(cep.parse(RACE), ONE, within="3 seconds").difference
    assert race is not None
    assert [json.loads(line)["x"] for line in race.lines()] == [2]


def test_a_search_in_python_says_what_is_wrong() -> None:
    program = cep.parse(BIKES)
    for given, said in (
        ({"environment": 7}, "an environment is a path or a dictionary, not int"),
        ({"event": "Bike"}, "no statement derives 'Bike'"),
        ({"within": "soon"}, "within: 'soon' is not a time period"),
        ({"traces": 0}, "traces is a whole number from 1"),
        ({"program": BIKES}, "a program is needed, not str"),
    ):
        asked = {"program": program, "environment": ROADS, "event": "Crash", "within": "1 sec"}
        with pytest.raises(UsageError, match=said):
            cep.search(**{**asked, **given})  # type: ignore[arg-type]


def test_a_trace_replays(cepheid: Run, write: Callable[[str, str], Path]) -> None:
    write("e.toml", TOML)
    asked = ("search", "p.epl", "--within", "30 sec", "--environment", "e.toml")
    found = cepheid(*asked, "--find", "Pair")
    assert (found.code, len(found.rows)) == (0, 2)
    assert "1 trace of 2 events to Pair, none is shorter" in found.err
    again = cepheid("run", "p.epl", "--events", "-", "--engine", "reference", stdin=found.out)
    assert [row["@type"] for row in again.rows] == ["Pair"]
    written = cepheid(*asked, "--find", "Big", "--traces", "2", "--out", "traces")
    assert written.code == 0
    rows = cepheid("run", "p.epl", "--events", "traces/trace_1.jsonl", "--engine", "maude").rows
    assert [row["@type"] for row in rows] == ["Big"]


def test_none_within_the_bound(cepheid: Run, write: Callable[[str, str], Path]) -> None:
    write("e.toml", TOML.replace("[7, 101]", "[7]"))
    found = cepheid(
        "search", "p.epl", "--find", "Big", "--within", "5 sec", "--environment", "e.toml"
    )
    assert (found.code, found.out) == (0, "")
    assert re.search(r"none within 5 sec: no inputs lead to Big", found.err)


def test_order_by_the_command(cepheid: Run, write: Callable[[str, str], Path]) -> None:
    write("race.epl", RACE)
    write("e.toml", '[[input]]\ntype = "X"\ngaps = [1]\nvalues.x = [2]\n')
    asked = ("--any-order", "--within", "3 sec", "--environment", "e.toml")
    found = cepheid("search", "race.epl", *asked)
    assert found.code == 1
    assert [json.loads(line)["x"] for line in found.out.splitlines()] == [2]
    assert "depend on the order of statements:\neither\n" in found.err
    write("fixed.epl", RACE.replace("@Name('a')", "@Priority(2) @Name('a')"))
    fixed = cepheid("search", "fixed.epl", *asked)
    assert (fixed.code, fixed.out) == (0, "")
    assert "no results depend on the order of statements" in fixed.err


@pytest.mark.parametrize(
    ("args", "fact"),
    [
        (("--find", "Pair", "--within", "soon"), "'soon' is not a time period"),
        (("--find", "Pair", "--within", "8000 years"), "the clock moves beyond the year 9999"),
        (("--find", "Nothing", "--within", "1 sec"), "no statement derives 'Nothing'"),
        (("--within", "1 sec"), "give either --find or --any-order"),
        (
            ("--find", "Pair", "--any-order", "--within", "1 sec"),
            "give either --find or --any-order",
        ),
        (
            ("--find", "Pair", "--within", "1 sec", "--environment", "none.toml"),
            "cannot read 'none.toml'",
        ),
        (
            ("--find", "Pair", "--within", "1 sec", "--environment", "p.epl"),
            "p.epl:1:8: error[bad-environment]: this is not TOML",
        ),
    ],
)
def test_wrong_use_is_explained(
    args: tuple[str, ...], fact: str, cepheid: Run, write: Callable[[str, str], Path]
) -> None:
    write("e.toml", TOML)
    given = args if "--environment" in args else (*args, "--environment", "e.toml")
    found = cepheid("search", "p.epl", *given, "--out", "traces")
    assert found.code > 0
    assert fact in " ".join(found.err.split())
    assert not Path("traces").exists()


def test_export_writes_a_whole_specification(cepheid: Run, folder: Path) -> None:
    assert cepheid("export", "p.epl", "--to", "maude", "--out", "p.maude").code == 0
    text = (folder / "p.maude").read_text()
    assert "rl [Pair] :" in text
    assert cepheid("export", "p.epl", "--to", "maude").out == text
    assert "rl [Big] :" in text
    along = cepheid("export", "p.epl", "--to", "maude", "--events", "e.jsonl").out
    assert along.startswith(text)
    assert along.count("\n  A(") == 2
    assert along.endswith("\n  until(20000000)) .\n")
    refused = cepheid("export", "p.epl", "--to", "maude", "--out", "p.epl")
    assert refused.code == 2
    assert "choose from maude" in cepheid("export", "p.epl", "--to", "latex").err


def test_export_names_what_is_evaluated_beforehand_and_what_cannot_be_said(
    cepheid: Run, write: Callable[[str, str], Path]
) -> None:
    write(
        "like.epl",
        "create schema A (id string, f float); @Name('s') select f from A(id like 'm%');",
    )
    assert (
        "evaluated beforehand: A.evaluated1 = id like 'm%'"
        in cepheid("export", "like.epl", "--to", "maude", "--out", "like.maude").err
    )
    write("sum.epl", "create schema A (id string, f float); @Name('s') select sum(f) as s from A;")
    failed = cepheid("export", "sum.epl", "--to", "maude", "--out", "sum.maude")
    assert failed.code == 1
    assert "error[not-in-maude]" in failed.err
    assert not Path("sum.maude").exists()
