"""Rounds in SQLite touch what a change can reach, and nothing else."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.bitemporal.detections import Detection, History, Key
from cepheid.bitemporal.local.engine import LocalRounds
from cepheid.bitemporal.local.maintenance import maintenance_of
from cepheid.bitemporal.local.store import Kept
from cepheid.bitemporal.request import RoundsRequest, Window
from cepheid.bitemporal.rounds import Rounds
from cepheid.errors import LateEvent, RunError, UsageError
from cepheid.verbs.rounds import open_rounds
from tests.bitemporal.generator import case
from tests.effort import examples
from tests.examples.test_classes import TRAVEL

MINUTE = 60 * 10**6


def engine_of(program: cep.Program, window: Window = "buffering") -> LocalRounds:
    resolved = program.resolve()
    names = [each.name for each in program.tree.classes]
    rounds = Rounds(MINUTE, 0, 10**6)
    request = RoundsRequest(
        classes=resolved.classes, names=names, history=History(), rounds=rounds, window=window
    )
    return LocalRounds(request)


def scans(program: cep.Program) -> Iterator[str]:
    """Where a query of a round reads a whole table that stays."""
    engine = engine_of(program)
    for each in engine._classes.values():
        if each.maintenance is not None:
            reaches = [reach.sql for reach in each.maintenance.reaches]
            # A null may be equal to anything, so that it reaches everything.
            queries = [sql for sql in reaches if "IS NULL" not in sql]
            for sql in [*queries, each.maintenance.restricted or ""]:
                yield from scans_of(engine, sql)


def scans_of(engine: LocalRounds, sql: str) -> Iterator[str]:
    small = {"CONSTANT", "k", "@affected", *re.findall(r'@delta" AS "(\w+)"', sql)}
    for row in engine._connection.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall():
        verb, _, table = row[-1].partition(" ")
        if verb == "SCAN" and table.split(" ")[0] not in small and not table.startswith("temp."):
            yield f"{row[-1]} in {sql}"


def test_rounds_of_business_travel_read_no_whole_table() -> None:
    assert list(scans(cep.load(TRAVEL / "travel.bicepl"))) == []


def test_no_statement_of_a_round_reads_a_whole_table() -> None:
    program = cep.load(TRAVEL / "travel.bicepl")
    session = open_rounds(program, chronon="1m")
    engine, asked = session._session.engine, dict[str, None]()
    engine._connection.set_trace_callback(asked.setdefault)
    session.tell(str(TRAVEL / "history.jsonl"))
    assert session.advance("2027-01-01T00:00:00Z")
    engine._connection.set_trace_callback(None)
    queries = [
        sql for sql in asked if sql.split(" ")[0] in ("SELECT", "INSERT", "UPDATE", "DELETE")
    ]
    assert len(queries) > 100
    emptied = re.compile(r"DELETE FROM temp\.\S+$")
    found = [each for sql in queries if not emptied.match(sql) for each in scans_of(engine, sql)]
    assert found == []


A = "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x INTEGER) ID (k) FREEZING TIME (1h)"
SUBSCRIBED = f"""
{A};
CREATE MUTABLE SUBSCRIBED EVENT CLASS B(k INTEGER, x INTEGER) ID (k) FREEZING TIME (1h);
"""


def derived(select: str, occurring: str = "a") -> cep.Program:
    return cep.parse(
        f"{SUBSCRIBED}CREATE COMPLEX EVENT CLASS D(k INTEGER, x INTEGER) ID (k)"
        f" OBSERVATION SPAN (1h) AS {select} OCCURRING AT {occurring};",
        "bicepl",
    )


@pytest.mark.parametrize(
    "select",
    [
        "SELECT a.k, a.x FROM A a WHERE a.x > 1",
        "SELECT a.k, b.x FROM A a, B b WHERE a.k = b.k",
        "SELECT a.k, b.x FROM A a JOIN B b ON a.x = b.x AND a.k <> b.k",
        "SELECT a.k, a.x FROM A a WHERE NOT EXISTS (SELECT * FROM B b WHERE b.x = a.k)",
        "SELECT a.k, a.x FROM A a WHERE a.k IN (SELECT b.x FROM B b)",
        "SELECT a.k, a.x FROM A a WHERE a.k NOT IN (SELECT b.x FROM B b WHERE b.k > 3)",
        "SELECT a.k, b.x FROM A a LEFT JOIN B b ON b.x = a.k",
        "SELECT a.k, (SELECT COUNT(*) FROM B b WHERE b.x = a.x) AS x FROM A a",
        "SELECT DISTINCT a.k, c.x FROM A a, B b, A c WHERE a.k = b.x AND b.k = c.x",
    ],
)
def test_what_is_tied_by_equalities_is_found_by_indexes(select: str) -> None:
    assert list(scans(derived(select))) == []


@pytest.mark.parametrize(
    ("select", "reason"),
    [
        (
            "SELECT a.k, q.n AS x FROM A a JOIN (SELECT b.x, COUNT(*) AS n FROM B b GROUP BY b.x) q"
            " ON q.x = a.k",
            {"B": "it reads from a query"},
        ),
        (
            "SELECT MAX(a.k) AS k, COUNT(*) AS x FROM A a GROUP BY a.x",
            {"A": "its key is worked out from many rows"},
        ),
        (
            "SELECT COALESCE(b.k, a.k) AS k, a.x FROM A a LEFT JOIN B b ON b.x = a.x",
            dict.fromkeys("AB", "its key comes from an outer join"),
        ),
    ],
)
def test_what_cannot_be_followed_says_why(select: str, reason: dict[str, str]) -> None:
    found = derived(select, "MAX(a)").resolve().classes
    [complex_class] = [each for each in found if each.query is not None]
    whole = maintenance_of(complex_class).whole
    assert {name: whole[name] for name in reason} == reason


PROGRAM = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x INTEGER) ID (k) FREEZING TIME (1h)
ON ONTIME DO now(NEW.x), ON CHANGE DO changed(OLD.x, NEW.x);
"""


def told(k: int, x: int, at: int, detected: int) -> dict[str, object]:
    return {"@type": "A", "k": k, "x": x, "@time": at, "@detected": detected}


def test_a_session_acts_as_time_advances() -> None:
    session = open_rounds(cep.parse(PROGRAM, "bicepl"), chronon="1m")
    session.tell(told(1, 1, 300, 60), told(1, 2, 300, 120))
    assert [event.type for event in session.advance(100)] == []
    assert [dict(event) for event in session.advance(120)] == [
        {"@cause": {"@type": "A", "k": 1}, "p1": 1, "p2": 2}
    ]
    session.tell([told(2, 5, 240, 180)])
    assert [(e.instant // 10**6, e.type, e["p1"]) for e in session.advance(360)] == [
        (240, "now", 5),
        (300, "now", 2),
    ]


def test_of_what_was_detected_at_once_the_last_that_was_told_counts() -> None:
    session = open_rounds(cep.parse(PROGRAM, "bicepl"), chronon="1m")
    session.tell([told(1, 1, 60, 0), told(1, 2, 60, 0)])
    session.tell([told(1, 3, 60, 0)])
    assert [event["p1"] for event in session.advance(60)] == [3]


def test_a_session_takes_lists_in_which_some_are_retractions() -> None:
    session = open_rounds(cep.parse(PROGRAM, "bicepl"), chronon="1m")
    gone = {"@type": "A", "k": 1, "@detected": 30, "@retracted": True}
    session.tell([told(1, 1, 60, 0), gone, told(2, 2, 60, 0)])
    assert [event["p1"] for event in session.advance(60)] == [2]


def test_a_session_does_not_go_back() -> None:
    session = open_rounds(cep.parse(PROGRAM, "bicepl"), chronon="1m")
    session.advance(600)
    assert session.advance(600) == []
    for detected in (60, 600):
        with pytest.raises(LateEvent):
            session.tell(told(1, 1, 900, detected))
    with pytest.raises(LateEvent):
        session.advance(60)


def test_a_session_can_be_kept_in_a_file(tmp_path: Path) -> None:
    """What is known and which events have fired outlive the process."""
    path, program = str(tmp_path / "rounds.db"), cep.parse(PROGRAM, "bicepl")
    first = open_rounds(program, chronon="1m", database=path)
    first.tell(told(1, 1, 300, 60), told(2, 1, 600, 60))
    assert len(first.advance(300)) == 1
    second = open_rounds(program, chronon="1m", database=path)
    second.tell(told(1, 7, 300, 420))
    assert [(e.instant // 10**6, e.type) for e in second.advance(600)] == [
        (420, "changed"),
        (600, "now"),
    ]


@examples(40)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 40 * 60), max_size=5), st.booleans())
def test_a_session_goes_on_where_the_last_one_ended(
    seed: int, cuts: list[int], is_told_before: bool
) -> None:
    """What was told and not dealt with is not lost, wherever it ended."""
    found = case(Random(seed))
    program = cep.parse(found.text, "bicepl")
    records = [each for each in found.records if "@type" in each]
    end, size = max(map(known, records), default=0), {"30s": 30, "1m": 60, "2m": 120}[found.chronon]
    try:
        expected = cep.run(
            program,
            records,
            engine="reference",
            chronon=found.chronon,
            outages=found.outages,
            end=end,
        )
    except RunError:
        return
    acted: list[cep.Event] = []
    with TemporaryDirectory() as folder:
        for time in [*sorted(cut for cut in cuts if cut < end), end]:
            session = open_rounds(
                program,
                chronon=found.chronon,
                outages=found.outages,
                database=f"{folder}/rounds.db",
            )
            now = [
                each for each in records if is_told_before or known(each) // size <= time // size
            ]
            records = [each for each in records if each not in now]
            session.tell(*now)
            acted += session.advance(time)
            del session
    assert sorted(map(shown, acted)) == sorted(map(shown, expected))


def known(record: dict[str, object]) -> int:
    return int(str(record["@detected"]))


def shown(event: cep.Event) -> str:
    return f"{event.instant} {event.type} {dict(event)}"


def test_the_database_of_another_session_is_refused(tmp_path: Path) -> None:
    path, program = str(tmp_path / "rounds.db"), cep.parse(PROGRAM, "bicepl")
    open_rounds(program, chronon="1m", database=path).advance(300)
    with pytest.raises(RunError, match="its chronon is 60000000, not 300000000"):
        open_rounds(program, chronon="5m", database=path)
    with pytest.raises(RunError, match="its program is"):
        open_rounds(cep.parse(SUBSCRIBED, "bicepl"), chronon="1m", database=path)
    with pytest.raises(UsageError, match="a clock of its own"):
        open_rounds(program, chronon="1m", database=path, start=360)
    with pytest.raises(LateEvent, match="A 1 was detected at 1970-01-01T00:01:00Z: too late"):
        open_rounds(program, chronon="1m", database=path).tell(told(1, 1, 900, 60))
    for file in (tmp_path / "text.db", tmp_path / "nowhere" / "rounds.db"):
        (tmp_path / "text.db").write_text("no database" * 100)
        with pytest.raises(UsageError, match="cannot be a database of a session"):
            open_rounds(program, chronon="1m", database=str(file))


def test_of_what_is_late_nothing_is_taken() -> None:
    session = open_rounds(cep.parse(PROGRAM, "bicepl"), chronon="1m")
    session.advance(300)
    with pytest.raises(LateEvent, match="none of what was told was taken"):
        session.tell(told(1, 1, 600, 360), told(2, 1, 600, 60))
    assert session.advance(600) == []


def test_sessions_take_classes_only() -> None:
    program = cep.Program(cep.parse(PROGRAM, "bicepl").tree + cep.parse("select k from A;").tree)
    with pytest.raises(UsageError, match="no statements"):
        open_rounds(program, chronon="1m")


def test_a_round_that_fails_leaves_everything_as_it_was() -> None:
    text = """
    CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x INTEGER) ID (k) FREEZING TIME (1h);
    CREATE COMPLEX EVENT CLASS D(x INTEGER, k INTEGER) ID (x) OBSERVATION SPAN (1h)
    AS SELECT a.x, a.k FROM A a OCCURRING AT a ON CHANGE DO changed(NEW.k);
    """
    session = open_rounds(cep.parse(text, "bicepl"), chronon="1m")
    session.tell(told(1, 1, 600, 60))
    session.advance(60)
    session.tell(told(2, 1, 600, 120))
    with pytest.raises(cep.errors.RunError):
        session.advance(120)
    connection = session._session.engine._connection
    assert connection.execute('SELECT k, x FROM "A"').fetchall() == [(1, 1)]
    assert connection.execute('SELECT k, x FROM "D"').fetchall() == [(1, 1)]


def test_a_round_that_fails_stays_to_be_done() -> None:
    text = """
    CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x INTEGER) ID (k) FREEZING TIME (1m)
    ON ANNOUNCEMENT DO hi(NEW.k);
    CREATE COMPLEX EVENT CLASS D(x INTEGER, k INTEGER) ID (x) OBSERVATION SPAN (1h)
    AS SELECT a.x, a.k FROM A a OCCURRING AT a;
    """
    session = open_rounds(cep.parse(text, "bicepl"), chronon="1m")
    session.tell(told(1, 1, 600, 60), told(2, 5, 600, 120), told(3, 5, 600, 120))
    session.tell({"@type": "A", "k": 9, "@retracted": True, "@detected": 120})
    for _ in range(2):
        with pytest.raises(RunError, match="two events of one key"):
            session.advance(300)
        assert session.refused == {}
    session.tell(told(3, 6, 600, 179))
    assert [event["p1"] for event in session.advance(300)] == [1, 2, 3]
    assert session.refused == {"A": {"a retraction of what is not known": 1}}


def test_rounds_that_are_over_leave_nothing_behind() -> None:
    session = open_rounds(cep.parse(PROGRAM, "bicepl"), chronon="1m")
    session.tell(told(1, 1, 600, 60))
    session.advance(60)
    left = ref(session._session.engine._connection)
    del session
    gc.collect()
    assert left() is None


def test_rounds_before_one_that_fails_are_over() -> None:
    session = open_rounds(derived("SELECT a.x AS k, a.k AS x FROM A a"), chronon="1m")
    session.tell(told(1, 1, 600, 60), told(2, 1, 600, 120))
    with pytest.raises(cep.errors.RunError):
        session.advance(120)
    with pytest.raises(LateEvent):
        session.tell(told(3, 3, 600, 60))


BIG = 2**62  # four times as much does not fit into 64 bits


@pytest.mark.parametrize("engine", ["reference", "local"])
@pytest.mark.parametrize(
    "select",
    [
        "SELECT a.x * 4 AS k, a.x FROM A a WHERE EXISTS (SELECT * FROM A b WHERE b.k = a.k AND b.x < 9)",
        "SELECT a.k, b.x FROM A a, B b WHERE a.k = b.k AND a.x * b.x > 0",
    ],
)
def test_what_a_query_does_not_ask_for_cannot_fail(select: str, engine: str) -> None:
    """Neither by a row that it leaves out, nor by a row of before beside one of now."""
    program = derived(select)
    records = [
        *(told(1, BIG // 8, 60, 0), {**told(1, 1, 60, 0), "@type": "B"}),
        *(told(1, 1, 60, 60), {**told(1, BIG, 60, 60), "@type": "B"}),
        told(2, BIG, 60, 120),
    ]
    found = cep.run(program, records, chronon="1m", engine=engine)
    assert [event.instant // MINUTE for event in found.of("D")][-1] == 1


@pytest.mark.parametrize("engine", ["reference", "local"])
@pytest.mark.parametrize(
    "condition",
    [
        "ANNOUNCEMENT AND NEW.x < 9 AND NEW.x * 4 > 0",
        "NEW.x < 9 AND NEW.x * 4 > 0 AND NOW = NEW.det",
        "ANNOUNCEMENT AND NOT (NEW.x >= 9 OR NEW.x * 4 <= 0)",
        "ANNOUNCEMENT AND NEW.x < 9 OR CANCELLATION AND OLD.x * 4 > 0",
    ],
)
def test_a_condition_asks_no_further_than_it_must(condition: str, engine: str) -> None:
    program = cep.parse(f"{A} ON {condition} DO p(NEW.x * 4);", "bicepl")
    records = [told(1, 1, 120, 0), told(2, BIG, 120, 60), {"@time": 300}]
    found = cep.run(program, records, chronon="1m", engine=engine)
    assert [(event.instant // MINUTE, event["p1"]) for event in found] == [(0, 4)]


@pytest.mark.parametrize("engine", ["reference", "local"])
@pytest.mark.parametrize("key", ["k", "x"])
@pytest.mark.parametrize("name", ["x{1}", "marks", "gone", "due", "expires", "now"])
def test_attributes_have_the_names_that_they_like(name: str, key: str, engine: str) -> None:
    text = f"""
    CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x INTEGER) ID ({key}) FREEZING TIME (1h);
    CREATE COMPLEX EVENT CLASS overflow(x INTEGER) ID (x) OBSERVATION SPAN (1h)
    AS SELECT a.x FROM A a JOIN A b ON a.x = b.x OCCURRING AT a ON LATE DO late(NEW.x);
    """
    program = cep.parse(re.sub(r"\bx\b", f"`{name}`", text), "bicepl")
    records = [
        {name if field == "x" else field: value for field, value in told(k, 7, 60, 0).items()}
        for k in (1, 2)
    ]
    found = cep.run(program, [*records, {"@time": 120}], chronon="1m", engine=engine)
    assert [event["p1"] for event in found] == [7]


def test_what_changes_adds_up_to_all_there_is() -> None:
    """And another engine takes it over."""
    text = """CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, f BOOLEAN) ID (f, k) FREEZING TIME (1m)
    ON ONTIME DO now(), ON LATE(1m, 9m) DO late();
    CREATE COMPLEX EVENT CLASS D(f BOOLEAN, k INTEGER) ID (f, k) OBSERVATION SPAN (1m)
    AS SELECT a.f, a.k FROM A a OCCURRING AT a ON ONTIME DO there();"""
    program = cep.parse(text, "bicepl")

    def detected(minute: int, key: Key, occ: int | None) -> Detection:
        det = minute * MINUTE
        return Detection("A", key, None if occ is None else key[::-1], occ, det, det, 0)

    detections = {
        0: [detected(0, (True, 1), 0), detected(0, (True, 2), 2 * MINUTE)],
        1: [detected(1, (False, 1), MINUTE), detected(1, (False, 1), None)],
        2: [detected(2, (True, 2), None), detected(2, (False, 2), 3 * MINUTE)],
        4: [detected(4, (False, 2), None)],
    }
    engine, kinds = engine_of(program, "sliding"), set[tuple[str, bool, bool, bool]]()
    kept: dict[str, dict[Key, Kept]] = {"A": {}, "D": {}}
    engine.listen()
    for number in range(15):
        engine.round(number, detections.get(number, ()))
        for name, changed in engine.changed().items():
            merged = {**kept[name], **{each.key: each for each in changed}}
            kept[name] = {k: each for k, each in sorted(merged.items()) if not each.is_forgotten}
        everything = {name: list(events.values()) for name, events in kept.items()}
        assert repr(engine.everything()) == repr(everything)
        assert all(type(each.key[0]) is bool for events in everything.values() for each in events)
        other = engine_of(program, "sliding")
        other.load(everything, number)
        assert repr(other.everything()) == repr(everything)
        kinds |= {
            (name, each.row is not None, each.marks.fired, each.marks.due is not None)
            for name, events in everything.items()
            for each in events
        }
    assert kept == {"A": {}, "D": {}}
    # Told and retracted; waiting for its time; its time has come; this is all that is left of it.
    assert kinds > {
        *(("A", False, False, False), ("A", True, False, True), ("A", True, True, False)),
        ("D", False, True, False),
    }


@pytest.mark.parametrize("engine", ["reference", "local", "session"])
def test_keys_are_shown_as_they_were_told(engine: str) -> None:
    text = """CREATE MUTABLE SUBSCRIBED EVENT CLASS A(n NUMBER, f BOOLEAN, t TIMESTAMP)
    ID (t, f, n) FREEZING TIME (1h) ON ANNOUNCEMENT DO first(NEW.f), ON LATE DO late(NEW.n);"""
    program = cep.parse(text, "bicepl")
    record = {"@type": "A", "n": 2, "f": True, "t": -60, "@time": -120, "@detected": -150}
    if engine == "session":
        session = open_rounds(program, chronon="1m")
        session.tell(record)
        found = session.advance(0)
    else:
        found = list(cep.run(program, [record, {"@time": 0}], chronon="1m", engine=engine))
    cause = {"@type": "A", "t": "1969-12-31T23:59:00Z", "f": True, "n": 2.0}
    assert [(event.instant // MINUTE, repr(dict(event))) for event in found] == [
        (-3, repr({"@cause": cause, "p1": True})),
        (-1, repr({"@cause": cause, "p1": 2.0})),
    ]


@pytest.mark.parametrize("engine", ["reference", "local"])
@pytest.mark.parametrize(
    ("when", "missing"), [("a", "a whole key"), ("NULLIF(a, b)", "an occurrence time")]
)
def test_a_derived_event_without_a_key_or_a_time_ends_a_run(
    when: str, missing: str, engine: str
) -> None:
    text = f"""{A}; CREATE COMPLEX EVENT CLASS D(k INTEGER, x INTEGER) ID (k, x) OBSERVATION SPAN (1h)
    AS SELECT a.k, a.x FROM A a, A b WHERE a.k >= b.k OCCURRING AT {when};"""
    records = [told(1, 1, 60, 0), {**told(2, 1, 60, 60), "x": None}]
    with pytest.raises(cep.errors.RunError, match=f"D has an event without {missing}"):
        cep.run(cep.parse(text, "bicepl"), records, chronon="1m", engine=engine)
