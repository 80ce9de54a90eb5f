"""Breakpoints, edits, and what a debugger refuses."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.debugging import course
from cepheid.debugging.debugger import STRIDES, Debugger
from cepheid.io.encode import encode, trace_records
from cepheid.semantics.statement import Running
from tests import effort
from tests.conformance.engines import attributes_of
from tests.conformance.generator import examples
from tests.conformance.occurrences import occurrences
from tests.conformance.rows import strict
from tests.conformance.scenarios import Example
from tests.debugging.model import debugger_of, model_of, seen

PROGRAM = cep.parse(
    """
    create schema A (id int, v int);
    create schema B (w int) inherits A;
    @Name('Big') insert into Big select id, v from A(v > 5);
    @Name('Pair') insert into Pair select a.id as first, b.id as second
    from pattern [every a=Big -> b=Big where timer:within(10 sec)];
    """
)
EVENTS: list[dict[str, object]] = [
    {"@type": "A", "@time": 0, "id": 0, "v": 1},
    {"@type": "A", "@time": 1, "id": 1, "v": 7},
    {"@type": "B", "@time": 2, "id": 2, "v": 8, "w": 3},
    {"@type": "A", "@time": 2, "id": 3, "v": 2},
    {"@time": 30},
]


@pytest.fixture
def debugger() -> Debugger:
    return cep.debug(PROGRAM, EVENTS)


def stops(debugger: Debugger) -> list[tuple[int, int]]:
    """Where it stops on its way to the end."""
    found = []
    while debugger.resume():
        found.append((debugger.position.events, debugger.position.step))
    assert debugger.is_over
    return found


# Breakpoints ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ({"type": "A"}, [(0, 1), (1, 1), (2, 1), (3, 1)]),  # a B is an A, too
        ({"type": "B"}, [(2, 1)]),
        ({"type": "A", "where": "v > 1 and id < 3"}, [(1, 1), (2, 1)]),
        ({"type": "A", "where": "A.v = 7"}, [(1, 1)]),
        ({"type": "Big"}, [(1, 3), (2, 3)]),  # when it is taken, not when it is derived
        ({"type": "Pair"}, [(3, 0)]),  # which nobody takes
        ({"statement": "Big"}, [(1, 2), (2, 2)]),
        ({"statement": "Big", "where": "v = 8"}, [(2, 2)]),
        ({"statement": "Pair", "where": "first = 1"}, [(3, 0)]),
        ({"age": "1 sec"}, [(2, 1), (4, 0)]),
        ({"age": 0.5, "statement": "Pair"}, [(2, 0), (4, 0)]),
        ({"age": timedelta(seconds=9)}, [(4, 0)]),
        ({"age": 0.000001, "statement": "Big"}, []),
    ],
)
def test_breakpoints_stop(
    debugger: Debugger, on: dict[str, object], expected: list[tuple[int, int]]
) -> None:
    made = debugger.stop_at(**on)  # type: ignore[arg-type]
    assert stops(debugger) == expected
    back = []
    while debugger.rewind():
        back.append((debugger.position.events, debugger.position.step))
    assert back == expected[::-1]
    assert (debugger.position.kind, debugger.breakpoints) == ("start", [made])


def test_rows_that_cease_to_count_are_no_events() -> None:
    text = "create schema A (v int); insert irstream into N select irstream count(*) as n from A#length(1);"
    debugger = cep.debug(cep.parse(text), [{"@type": "A", "@time": n, "v": n} for n in range(2)])
    debugger.stop_at(type="N", where="n = 0")
    assert stops(debugger) == []
    told = [(row["n"], row.is_old) for row in debugger.rows]
    assert told == [(1, False), (0, True), (1, False), (1, True)]


def test_an_age_that_a_guard_does_not_let_come_stops_nothing(debugger: Debugger) -> None:
    debugger.stop_at(age="10 sec")
    assert stops(debugger) == []


def test_all_breakpoints_that_stop_at_a_place_are_told(debugger: Debugger) -> None:
    one, other = debugger.stop_at(type="B"), debugger.stop_at(type="A", where="v = 8")
    third = debugger.stop_at(statement="Pair")
    assert debugger.resume() == [one, other]
    debugger.clear(third.number)
    assert debugger.resume() == []
    assert debugger.run_to(1) == []
    assert debugger.run_to(2) == [one, other]
    debugger.clear()
    assert debugger.breakpoints == []
    assert debugger.stop_at(type="A").number == 4


def test_a_breakpoint_says_itself(debugger: Debugger) -> None:
    made = debugger.stop_at(statement="Pair", age="2 min")
    assert str(made) == "1: statement Pair, age 2 minutes"
    assert made.to_json() == {"number": 1, "statement": "Pair", "age": "2 minutes"}


def test_conditions_call_the_functions_of_a_program() -> None:
    half = cep.function("half", lambda v: v / 2, ["double"], "double")
    wrong = cep.function("wrong", lambda v: v // 0, ["int"], "int")
    program = cep.parse(
        "create schema A (v int); select half(v), wrong(v) from A(v < 0);", functions=[half, wrong]
    )
    debugger = cep.debug(program, [{"@type": "A", "@time": n, "v": n} for n in range(5)])
    debugger.stop_at(type="A", where="half(v) = 1.5")
    debugger.resume()
    assert debugger.position.event == {"v": 3}
    debugger.stop_at(type="A", where="wrong(v) > 0")
    with pytest.raises(cep.RunError, match="wrong"):
        debugger.resume()


@pytest.mark.parametrize(
    ("on", "fact"),
    [
        ({}, "needs a statement, a type or an age"),
        ({"type": "Bog"}, "no event type 'Bog' \\(did you mean 'Big'"),
        ({"statement": "Pear"}, "no statement 'Pear' \\(did you mean 'Pair'"),
        ({"type": "A", "statement": "Big"}, "on a type, a statement or an age"),
        ({"type": "A", "age": 1}, "on a type, a statement or an age"),
        ({"age": 1, "where": "v > 1"}, "has no condition"),
        ({"where": "v > 1"}, "needs a statement, a type or an age"),
        ({"age": "1 month"}, "months are not all of one length"),
        ({"age": "soon"}, "an age: 'soon' is not a time period"),
        ({"age": 0}, "is no time at all"),
        ({"type": 7}, "no event type 7"),
        ({"statement": ["Big"]}, "no statement \\['Big'\\]"),
        ({"type": "A", "where": 7}, "a condition is a text, not 7"),
        ({"type": "A", "where": "v >"}, "<condition>:1:4: error"),
        ({"type": "A", "where": ""}, "<condition>:1:1: error"),
        ({"type": "A", "where": "v > 1) or (true"}, "<condition>:1:6: error\\[syntax\\]"),
        ({"type": "A", "where": "w > 1"}, "<condition>:1:1: error\\[unknown-attribute\\]"),
        ({"type": "A", "where": "v"}, "<condition>:1:1: error"),
        ({"type": "A", "where": "count(*) > 1"}, "in a breakpoint"),
        ({"type": "A", "where": "v > 'x"}, "<condition>:1:5: error"),
    ],
)
def test_breakpoints_that_make_no_sense_are_refused(
    debugger: Debugger, on: dict[str, object], fact: str
) -> None:
    with pytest.raises((cep.UsageError, cep.ProgramError), match=fact):
        debugger.stop_at(**on)  # type: ignore[arg-type]
    assert debugger.breakpoints == []


def test_a_breakpoint_that_is_not_set_cannot_be_cleared(debugger: Debugger) -> None:
    debugger.stop_at(type="A")
    with pytest.raises(cep.UsageError, match="no breakpoint 2 \\(set: 1\\)"):
        debugger.clear(2)


# Places ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [(5, 0), (-1, 0), (0, 9), (1, -1), (4, 17), ("1", 0), (1, None)])
def test_places_that_are_not_there_are_refused(debugger: Debugger, place: tuple[int, int]) -> None:
    debugger.go(2, 1)
    before = seen(debugger.inspect())
    with pytest.raises(cep.UsageError, match="there is no place"):
        debugger.go(*place)
    assert (debugger.position.events, debugger.position.step) == (2, 1)
    assert seen(debugger.inspect()) == before


def test_a_stride_that_is_not_there_is_refused(debugger: Debugger) -> None:
    for move in (debugger.step, debugger.back):
        with pytest.raises(cep.UsageError, match="no step by 'events' \\(did you mean 'event'"):
            move("events")  # type: ignore[arg-type]


def test_steps_beyond_the_ends_stay_there(debugger: Debugger) -> None:
    assert debugger.back() == debugger.position
    debugger.resume()
    assert debugger.step("event").kind == "end"
    assert debugger.run_to("2100-01-01") == []
    assert debugger.is_over
    assert debugger.run_to(-5) == []
    assert debugger.position.kind == "start"


def test_without_events_there_is_nothing_to_be_stepped_through() -> None:
    debugger = cep.debug(PROGRAM, [])
    assert debugger.is_over
    assert (debugger.clock, debugger.rows, debugger.events) == (None, [], [])
    assert debugger.step() == debugger.back() == debugger.position
    assert debugger.inspect().clock is None
    assert debugger.resume() == debugger.rewind() == debugger.run_to(5) == []
    debugger.insert({"@type": "A", "@time": 1, "id": 1, "v": 9})
    debugger.resume()
    assert [row.type for row in debugger.rows] == ["Big"]


@pytest.mark.parametrize("apart", [1, 3, 1_000])
def test_places_are_the_same_however_often_one_comes_by(
    apart: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(course, "APART", apart)
    monkeypatch.setattr(course, "BYTES_A_STEP", 1_000_000)
    debugger = cep.debug(PROGRAM, EVENTS)
    known: dict[str, tuple[str, list[cep.Event]]] = {}

    def look() -> None:
        here = seen(debugger.inspect()), debugger.rows
        assert known.setdefault(str(debugger.position), here) == here

    for by in STRIDES:
        look()
        while not debugger.is_over:
            debugger.step(by)
            look()
        while debugger.position.kind != "start":
            debugger.back(by)
            look()
    debugger.resume()
    result = cep.run(PROGRAM, EVENTS, engine="reference")
    assert debugger.rows == list(result)
    assert [row.key for row in debugger.rows] == [row.key for row in result]


def test_a_position_says_itself(debugger: Debugger) -> None:
    debugger.stop_at(type="Pair")
    debugger.resume()
    position = debugger.position
    assert str(position) == "3+0 1970-01-01T00:00:02Z: Pair has taken Big, 1 row"
    assert repr(debugger) == f"<Debugger: {position}>"
    told = position.to_json()
    assert told["statement"] == "Pair"
    assert told["rows"] == [
        {
            "@type": "Pair",
            "@time": "1970-01-01T00:00:02Z",
            "first": 1,
            "second": 2,
            "@statement": "Pair",
        }
    ]


def test_the_options_are_those_of_a_run() -> None:
    text = "create schema A (v int); @Name('S') select a.v as v from pattern [every a=A -> A(v = 0) where timer:within(1 sec)];"
    events = [{"kind": "A", "at": 5000, "V": 1, "more": 2}]
    names = {"type": "kind", "time": "at", "unit": "milliseconds", "columns": {"V": "v"}}
    debugger = cep.debug(cep.parse(text), events, **names, start=0, end=9, timed_out=True)  # type: ignore[arg-type]
    assert [note.code for note in debugger.notes] == ["unknown-attribute"]
    debugger.resume()
    assert [(row.is_timeout, row["v"], row.instant) for row in debugger.rows] == [
        (True, 1, 6_000_000)
    ]
    assert debugger.clock is not None
    assert debugger.clock.timestamp() == 9


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: cep.debug(PROGRAM, EVENTS, engine="local"), "choose the engine reference or auto"),
        (lambda: cep.debug("x", EVENTS), "a program is needed"),  # type: ignore[arg-type]
        (lambda: cep.debug(PROGRAM, [{"@type": "A", "@time": 1, "v": "x"}]), "v"),
        (lambda: cep.debug(cep.parse("create schema A (v int); select w from A;"), []), "w"),
    ],
)
def test_what_cannot_be_debugged_is_refused(make: Callable[[], object], fact: str) -> None:
    with pytest.raises(cep.CepheidError, match=fact):
        make()


def test_classes_are_replayed_instead() -> None:
    classes = (
        "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT, t TIMESTAMP) ID (k) FREEZING TIME (2d);"
    )
    with pytest.raises(cep.UsageError, match="cepheid replay"):
        cep.debug(cep.parse(classes, "bicepl"), [])


def test_a_run_that_has_to_end_stays_before_the_step_that_ends_it() -> None:
    fails = cep.function("fails", lambda v: 1 // v, ["int"], "int")
    text = "create schema A (v int); @Name('F') select fails(v) as x from A; @Name('G') select v from A;"
    program = cep.parse(text, functions=[fails])
    debugger = cep.debug(program, [{"@type": "A", "@time": n, "v": 2 - n} for n in range(4)])
    for _ in range(2):
        with pytest.raises(cep.RunError, match="fails"):
            debugger.resume()
        assert str(debugger.position) == "2+1 1970-01-01T00:00:02Z: A happens"
        assert len(debugger.rows) == 4
    debugger.back("event")
    debugger.change(2, {"v": 5})
    debugger.resume()
    assert len(debugger.rows) == 8


def test_ctrl_c_leaves_it_where_it_was(debugger: Debugger, monkeypatch: pytest.MonkeyPatch) -> None:
    debugger.go(1, 1)
    before = seen(debugger.inspect())
    with monkeypatch.context() as patch:
        patch.setattr(Running, "deliver", interrupted)
        with pytest.raises(KeyboardInterrupt):
            debugger.resume()
    assert (debugger.position.events, debugger.position.step) == (1, 1)
    assert seen(debugger.inspect()) == before
    debugger.resume()
    assert [row.type for row in debugger.rows] == ["Big", "Big", "Pair"]


def interrupted(running: Running, outputs: object) -> None:
    raise KeyboardInterrupt


# Other events ---------------------------------------------------------------------------------


def values(debugger: Debugger) -> list[object]:
    return [event["v"] for event in debugger.events]


def test_events_find_their_places(debugger: Debugger) -> None:
    debugger.resume()
    debugger.insert({"@type": "A", "@time": 2, "id": 9, "v": 10})
    assert values(debugger) == [1, 7, 8, 2, 10]
    assert debugger.position.events == 4
    debugger.insert({"@type": "A", "@time": 2, "id": 9, "v": 11}, 2)
    assert values(debugger) == [1, 7, 11, 8, 2, 10]
    assert [event.sequence for event in debugger.events] == [0, 1, 2, 3, 4, 5]
    assert debugger.position.events == 2
    debugger.change(0, {"@time": 1.5})
    assert values(debugger) == [7, 1, 11, 8, 2, 10]
    assert debugger.position.events == 0
    debugger.change(0, {"@type": "B", "id": 4, "v": 0, "w": 0})
    assert debugger.events[0].type == "B"
    debugger.remove(5)
    assert values(debugger) == [0, 1, 11, 8, 2]


def test_an_edit_behind_the_place_moves_nobody(debugger: Debugger) -> None:
    debugger.go(1, 2)
    debugger.remove(3)
    assert (debugger.position.events, debugger.position.step) == (1, 2)
    debugger.remove(1)
    assert (debugger.position.events, debugger.position.step) == (1, 0)


@pytest.mark.parametrize("place", [(0, 0), (1, 1), (1, 2), (2, 0), (2, 2), (4, 1)])
@pytest.mark.parametrize("apart", [1, 1_000])
def test_what_was_found_out_behind_an_edit_is_forgotten(
    place: tuple[int, int], apart: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(course, "APART", apart)
    monkeypatch.setattr(course, "BYTES_A_STEP", 1_000_000)
    debugger = cep.debug(PROGRAM, EVENTS)
    debugger.resume()
    debugger.go(*place)
    debugger.change(1, {"v": 1})
    assert (debugger.position.events, debugger.position.step) == min(place, (1, 0))
    assert debugger.rows == []
    debugger.resume()
    assert [(row.type, row.get("id")) for row in debugger.rows] == [("Big", 2)]
    debugger.go(2)
    debugger.insert({"@type": "A", "@time": 2, "id": 9, "v": 9})
    assert debugger.rows == []
    debugger.resume()
    assert [row.type for row in debugger.rows] == ["Big", "Big", "Pair"]
    debugger.go(3)
    assert [row.type for row in debugger.rows] == ["Big"]


def test_the_clock_never_ends_earlier(debugger: Debugger) -> None:
    for _ in range(4):
        debugger.remove(0)
    debugger.resume()
    assert debugger.clock is not None
    assert debugger.clock.timestamp() == 30
    debugger.insert({"@type": "A", "@time": 40, "id": 1, "v": 1})
    debugger.insert({"@type": "A", "@time": -5, "id": 1, "v": 1})
    assert debugger.position.instant == -5_000_000
    debugger.resume()
    assert debugger.clock.timestamp() == 40


@pytest.mark.parametrize(
    ("edit", "fact"),
    [
        (lambda d: d.remove(4), "there is no event 4 \\(they are numbered from 0 to 3\\)"),
        (lambda d: d.remove(-1), "there is no event -1"),
        (lambda d: d.remove("1"), "there is no event '1'"),
        (lambda d: d.insert({"@type": "A", "@time": 1, "id": 1, "v": 1}, "0"), "one at '0'"),
        (lambda d: d.insert({"@type": "A", "@time": 1e400, "id": 1, "v": 1}), "time"),
        (lambda d: d.change(0, 7), "an event is a dictionary, not int"),
        (lambda d: d.change(9, {}), "there is no event 9"),
        (
            lambda d: d.insert({"@type": "A", "@time": 1, "id": 1, "v": 1}, 0),
            "cannot be the one at 0",
        ),
        (
            lambda d: d.insert({"@type": "A", "@time": 1, "id": 1, "v": 1}, 9),
            "cannot be the one at 9",
        ),
        (lambda d: d.insert({"@time": 1}), "this is no event"),
        (lambda d: d.insert({"@type": "A", "id": 1, "v": 1}), "time"),
        (lambda d: d.insert({"@type": "A", "@time": 1, "@old": True, "id": 1, "v": 1}), "no event"),
        (lambda d: d.insert({"@type": "C", "@time": 1}), "C"),
        (lambda d: d.change(0, {"v": "many"}), "v"),
        (lambda d: d.insert(7), "an event is a dictionary"),
    ],
)
def test_edits_that_make_no_sense_change_nothing(
    debugger: Debugger, edit: Callable[[Debugger], object], fact: str
) -> None:
    debugger.go(2, 1)
    before = seen(debugger.inspect()), debugger.events
    with pytest.raises(cep.CepheidError, match=fact):
        edit(debugger)
    assert (seen(debugger.inspect()), debugger.events) == before


@effort.examples(40)
@given(st.one_of(examples(), occurrences()), st.data())
def test_after_any_edits_it_shows_what_a_fresh_run_shows(
    example: Example, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(course, "APART", 3)
        patch.setattr(course, "BYTES_A_STEP", 1_000_000)
        debugger = debugger_of(example)
        for _ in range(data.draw(st.integers(1, 4))):
            wander(debugger, data)
            edit(debugger, data)
            check(debugger, example)


def wander(debugger: Debugger, data: st.DataObject) -> None:
    with suppress(cep.RunError):
        for _ in range(data.draw(st.integers(0, 3))):
            if data.draw(st.booleans()):
                debugger.go(data.draw(st.integers(0, len(debugger.events))))
            else:
                debugger.step(data.draw(st.sampled_from(("statement", "derived", "timer"))))


def edit(debugger: Debugger, data: st.DataObject) -> None:
    """Copies, moves, empties or removes an event."""
    events = debugger.events
    if not events:
        return
    place = data.draw(st.integers(0, len(events) - 1))
    kind = data.draw(st.sampled_from(("insert", "move", "change", "remove")))
    second = data.draw(st.integers(0, 12))
    with suppress(cep.InputError):  # an event whose key would be null
        if kind == "remove":
            debugger.remove(place)
        elif kind == "insert":
            debugger.insert({**encode(events[place]), "@time": second})
        elif kind == "move":
            debugger.change(place, {"@time": second})
        else:
            name = data.draw(st.sampled_from(list(events[place])))
            debugger.change(place, {name: None})


def check(debugger: Debugger, example: Example) -> None:
    model = model_of(debugger, example)
    position = debugger.position
    [spot] = [s for s in model.spots if s.name == (position.events, position.step)]
    assert seen(debugger.inspect()) == spot.seen
    assert [*map(strict, debugger.rows)] == model.rows[: spot.rows]
    if model.fails:
        return
    first, last = debugger._course.first, debugger._course.last
    result = cep.run(
        example.program,
        trace_records(debugger.events, first, last),
        engine="reference",
        optional=attributes_of(example.resolved),
    )
    place = position.events, position.step
    breakpoints = debugger.breakpoints
    assert not breakpoints
    debugger.resume()
    assert [*map(strict, debugger.rows)] == [*map(strict, result)]
    debugger.go(*place)


def test_an_age_that_is_reached_stops_once_whatever_happens_at_that_time() -> None:
    text = "create schema A (v int); select a.v from pattern [a=A -> b=A(v > 9)];"
    events = [{"@type": "A", "@time": time, "v": 1} for time in (0, 10, 10, 15)]
    debugger = cep.debug(cep.parse(text), events)
    made = debugger.stop_at(age="10 sec")
    assert debugger.resume() == [made]
    assert debugger.resume() == []
