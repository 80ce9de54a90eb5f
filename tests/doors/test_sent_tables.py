"""Tables that are sent into a session: all or nothing, beside single events, and rows that stay columns."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.io.rows import ColumnarRows
from cepheid.matcher.machine import operator

PROGRAM = cep.parse("""
create schema Ride (bike int, speed int);
create schema Stop (bike int);
create context Bikes partition by bike from Ride, bike from Stop;
@Name('Fast') insert into Alarm select bike, speed from Ride(speed > 50);
@Name('Halted') context Bikes insert into Alarm select a.bike as bike, a.speed as speed
    from pattern [every a=Ride -> b=Stop where timer:within(10 sec)];
@Name('Silent') context Bikes select a.bike as bike
    from pattern [every a=Ride -> (timer:interval(20 sec) and not Ride)];
@Name('Mean') select avg(speed) as mean from Alarm#length(3);
""")
ENGINES = ["local", "reference"]


def rides(*rows: tuple[Any, Any, Any], **more: Any) -> pa.Table:
    names = ("@time", "bike", "speed")
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return pa.table({**columns, **more})


def told(rows: Any) -> list[object]:
    return [(row.type, row.statement, row.instant, row.key, dict(row)) for row in rows]


RIDES = rides((1, 7, 80), (2, 8, 30), (4, 7, 60), (30, 8, 70))
STOPS = pa.table({"@time": [2, 5], "bike": [7, 7]})


def one_by_one(session: cep.Session) -> list[cep.Event]:
    """The same events in the order of their times."""
    sent = [
        *(("Ride", row) for row in RIDES.to_pylist()),
        *(("Stop", s) for s in STOPS.to_pylist()),
    ]
    sent.sort(key=lambda event: event[1]["@time"])
    return [row for type, event in sent for row in session.send({"@type": type, **event})]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["tables", "frames", "table"])
def test_a_table_gives_the_rows_of_its_events(engine: str, form: str) -> None:
    given: Any = {"Ride": RIDES, "Stop": STOPS}
    if form == "frames":
        given = {name: table.to_pandas() for name, table in given.items()}
    if form == "table":
        typed = [t.append_column("@type", pa.array([n] * len(t))) for n, t in given.items()]
        given = pa.concat_tables(typed, promote_options="default")
    single, session = cep.open(PROGRAM, engine=engine), cep.open(PROGRAM, engine=engine)
    expected = one_by_one(single)
    found = session.send_table(given)
    assert isinstance(found.events, ColumnarRows) == (engine == "local")
    assert told(found) == told(expected)
    assert (found.taken, session.sent, session.clock) == (6, 6, single.clock)
    again = cep.open(PROGRAM, engine=engine, state=session.save())
    assert told(again.advance(60)) == told(single.advance(60)) != []


@pytest.mark.parametrize("engine", ENGINES)
def test_tables_and_single_events_are_numbered_as_they_come(engine: str) -> None:
    """Rows have the keys that single events give them, also behind rows that are no events."""
    events = [{"@type": "Ride", "@time": t // 3, "bike": t % 4, "speed": 60} for t in range(60)]
    single, session = cep.open(PROGRAM, engine=engine), cep.open(PROGRAM, engine=engine)
    expected = [row for event in events for row in single.send(event)]
    found: list[cep.Event] = []
    for begin in range(0, 60, 12):
        found += session.send(events[begin])
        pause = {"@time": events[begin + 1]["@time"]}
        found += session.send_table(pa.Table.from_pylist([*events[begin + 1 : begin + 12], pause]))
        session = cep.open(PROGRAM, engine=engine, state=session.save())
    assert told(found) == told(expected)
    assert session.sent == single.sent == 60


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("table", "code"),
    [
        ({"Ride": RIDES, "Car": RIDES}, "unknown-type"),
        (RIDES, "missing-type"),
        ({"Ride": rides((61, 7, "80"), (62, 8, "fast"))}, "bad-value"),
        ({"Ride": rides((61, 7, 80), (None, 8, 30))}, "missing-time"),
        ({"Ride": rides((61, 7, 80), (62, None, 30))}, "null-key"),
        ({"Ride": rides((61, 7, 80)).drop_columns(["speed"])}, "missing-attribute"),
        ({"Ride": rides((61, 7, 80), (59, 8, 30))}, "late-event"),
        ({"Ride": RIDES.to_pandas()["speed"]}, "usage"),
        (7, "usage"),
    ],
)
def test_a_table_with_a_mistake_is_refused_as_a_whole(engine: str, table: Any, code: str) -> None:
    session = cep.open(PROGRAM, start=0, engine=engine)
    one_by_one(session)
    session.advance(60)
    before = session.save()
    with pytest.raises(cep.CepheidError) as refused:
        session.send_table(table)
    assert [problem.code for problem in refused.value.diagnostics] == [code]
    assert (session.save(), session.notes) == (before, ())
    assert len(session.send_table({"Ride": rides((61, 7, 80))})) == 2


def test_what_is_late_is_told_with_its_place() -> None:
    session = cep.open(PROGRAM, start=60)
    with pytest.raises(cep.LateEvent, match=r"<Ride>:2:1: .*00:00:59Z is before the clock"):
        session.send_table({"Ride": rides((61, 7, 80), (59, 8, 30))})


def test_rows_become_no_objects_unless_someone_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    session = cep.open(PROGRAM)
    found = session.send_table({"Ride": RIDES, "Stop": STOPS})

    def made(*_: object, **__: object) -> None:
        raise AssertionError("an object")

    monkeypatch.setattr("cepheid.io.rows.Event", made)
    monkeypatch.setattr("cepheid.matcher.machine.push.Event", made)
    assert found.counts() == {"Alarm": 5, "Mean": 5, "Silent": 2}
    assert (len(found), found.to_arrow().num_rows, len(found.to_pandas())) == (12, 12, 12)
    with pytest.raises(AssertionError, match="an object"):
        list(found)


def test_rows_that_leave_the_memory_early_stay_in_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows that a table brings stay columns, those of single events beside it events."""
    monkeypatch.setattr(operator, "MANY_ROWS", 100)
    many = rides(*((time, time % 7, 60) for time in range(1, 6000)))
    session, single = cep.open(PROGRAM), cep.open(PROGRAM)
    expected = [r for row in many.to_pylist() for r in single.send({"@type": "Ride", **row})]
    found = session.send_table({"Ride": many})
    assert isinstance(found.events, ColumnarRows)
    assert told(found) == told(expected)
    assert told(session.advance(7000)) == told(single.advance(7000)) != []


def test_a_note_is_made_once_and_belongs_to_its_table() -> None:
    session = cep.open(PROGRAM)
    extra = rides((1, 7, 80), zip=["a"])
    first = session.send_table({"Ride": extra})
    assert [note.code for note in first.notes] == ["unknown-attribute"]
    assert session.send_table({"Ride": rides((2, 7, 80), zip=["b"])}).notes == first.notes
    assert session.notes == first.notes
    with pytest.raises(cep.InputError, match="unknown-attribute"):
        cep.open(PROGRAM, extra="error").send_table({"Ride": extra})


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_only_carry_a_time_let_it_pass(engine: str) -> None:
    table = pa.table(
        {"@type": ["Ride", None], "@time": [1, 30], "bike": [7, None], "speed": [20, None]}
    )
    session = cep.open(PROGRAM, engine=engine)
    found = session.send_table(table)
    assert [(row.type, row.instant) for row in found] == [("Silent", 21_000_000)]
    assert (found.taken, session.sent, session.advance(30)) == (1, 1, [])


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_table_changes_nothing(engine: str) -> None:
    session = cep.open(PROGRAM, engine=engine)
    before = session.save()
    empty = RIDES.slice(0, 0)
    for table in ({"Ride": empty}, {"Ride": empty.to_pandas()}, {}):
        found = session.send_table(table)
        assert (list(found), found.taken, found.to_arrow().num_rows) == ([], 0, 0)
    assert (session.clock, session.save()) == (None, before)


def test_what_is_out_of_order_is_put_in_order_and_counted() -> None:
    session, sorted_ = cep.open(PROGRAM), cep.open(PROGRAM)
    found = session.send_table({"Ride": RIDES.take([3, 0, 2, 1])})
    assert found.moved == 3
    assert told(found) == told(sorted_.send_table({"Ride": RIDES}))


def test_columns_with_other_names_are_said_by_a_source() -> None:
    frame = pd.DataFrame({"at": [1000, 2000], "no": [7, 8], "speed": [80, 70]})
    source = cep.source(frame, time="at", unit="milliseconds", columns={"no": "bike"})
    found = cep.open(PROGRAM).send_table({"Ride": source})
    assert [(r.instant, r["bike"]) for r in found.of("Alarm")] == [(1_000_000, 7), (2_000_000, 8)]


def test_a_run_that_had_to_end_stays_ended() -> None:
    endless = cep.parse("create schema A (v int); insert into A select v from A;")
    session = cep.open(endless)
    for _ in range(2):
        with pytest.raises(cep.RunError):
            session.send_table({"A": pa.table({"@time": [1], "v": [1]})})
