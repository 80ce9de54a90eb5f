"""Order, clock, queue, timers, partitions and state of the machine."""

from __future__ import annotations

import pickle
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event, Value
from cepheid.core.types import INT, STRING, Attribute, EventType
from cepheid.semantics import limits, state
from cepheid.semantics.machine import Machine
from cepheid.semantics.pattern import Atom
from tests.conformance.scenarios import TYPES, outcome, parse_events
from tests.effort import examples
from tests.semantics.drive import show

SECOND = 1_000_000


def machine_of(text: str, **options: object) -> Machine:
    program = cep.parse(text, types=TYPES).resolve()
    machine = Machine(program, **options)  # type: ignore[arg-type]
    machine.start(0)
    return machine


def feed(machine: Machine, events: str) -> list[Event]:
    rows: list[Event] = []
    for item in parse_events(events):
        rows += machine.take(item) if isinstance(item, Event) else machine.advance(item)
    return rows


def said(rows: Iterable[Event]) -> list[str]:
    """Who said what: the statement, and the attribute that all test programs select."""
    return [f"{row.statement}:{row['id']}" for row in rows]


# The order of statements, events and timers.


TWO_READERS = """
    @Name('one') select id from A;
    @Name('two') select id from A;
"""


def test_statements_take_an_event_in_the_order_of_the_text() -> None:
    assert said(feed(machine_of(TWO_READERS), "A1@1000")) == ["one:A1", "two:A1"]


def test_another_order_can_be_given() -> None:
    machine = machine_of(TWO_READERS, order=["two", "one"])
    assert said(feed(machine, "A1@1000")) == ["two:A1", "one:A1"]


def test_priority_goes_before_the_text_and_before_a_given_order() -> None:
    text = TWO_READERS.replace("@Name('two')", "@Name('two') @Priority(5)")
    assert said(feed(machine_of(text), "A1@1000")) == ["two:A1", "one:A1"]
    assert said(feed(machine_of(text, order=["one", "two"]), "A1@1000")) == ["two:A1", "one:A1"]


def test_derived_events_queue_until_all_statements_have_taken_the_event() -> None:
    text = """
        @Name('first') insert into S select id from A;
        @Name('second') select id from S;
        @Name('third') select id from A;
    """
    assert said(feed(machine_of(text), "A1@1000 A2@1000")) == [
        *("first:A1", "third:A1", "second:A1"),
        *("first:A2", "third:A2", "second:A2"),
    ]


def test_the_queue_is_first_in_first_out() -> None:
    text = """
        @Name('one') insert into S select id from A;
        @Name('two') insert into T select id from A;
        @Name('three') insert into U select id from S;
        @Name('four') select id from U;
        @Name('five') select id from T;
    """
    wanted = ["one:A1", "two:A1", "three:A1", "five:A1", "four:A1"]
    assert said(feed(machine_of(text), "A1@1000")) == wanted


def test_a_pattern_sees_an_event_and_what_it_derives_one_after_the_other() -> None:
    text = """
        insert into S select id from A;
        @Name('pair') select a.id as id from pattern [every a=A -> s=S];
    """
    assert said(feed(machine_of(text), "A1@1000")) == ["statement_1:A1", "pair:A1"]


def test_at_one_instant_timers_come_first_then_what_they_derive_then_events() -> None:
    text = """
        @Name('events') select id from A;
        @Name('derived') select id from T;
        @Name('timer') insert into T select 'tick' as id from pattern [every timer:interval(1 sec)];
    """
    found = said(feed(machine_of(text), "A1@1000 A2@2000"))
    assert found == [
        *("timer:tick", "derived:tick", "events:A1"),
        *("timer:tick", "derived:tick", "events:A2"),
    ]


def test_timers_of_one_instant_all_fire_before_anything_that_they_derive() -> None:
    text = """
        @Name('one') insert into T select 'one' as id from pattern [timer:interval(1 sec)];
        @Name('two') insert into T select 'two' as id from pattern [timer:interval(1 sec)];
        @Name('seen') select id from T;
    """
    wanted = ["one:one", "two:two", "seen:one", "seen:two"]
    assert said(machine_of(text).advance(SECOND)) == wanted


def test_timers_of_one_instant_fire_by_rank_and_then_as_they_were_armed() -> None:
    text = """
        @Name('low') select a.id as id from pattern [every a=A -> timer:interval(1 sec)];
        @Name('high') @Priority(1)
        select a.id as id from pattern [every a=A -> timer:interval(1 sec)];
    """
    rows = feed(machine_of(text), "A1@1000 A2@1000 @2000")
    assert said(rows) == ["high:A1", "high:A2", "low:A1", "low:A2"]


def test_an_own_timer_comes_before_what_another_timer_derives() -> None:
    text = """
        @Name('guard') select a.id as id from pattern [every a=A -> t=T where timer:within(1 sec)];
        insert into T select 'tick' as id from pattern [every timer:interval(2 sec)];
    """
    assert "guard:A1" not in said(feed(machine_of(text), "A1@1000 @2000"))
    assert "guard:A1" in said(feed(machine_of(text), "A1@1500 @2000"))


def test_a_row_has_the_time_of_its_cause_or_of_its_timer() -> None:
    text = "select a.id as id from pattern [every a=A -> timer:interval(1500 msec)]"
    assert [r.instant for r in feed(machine_of(text), "A1@1000 @9000")] == [2_500_000]


def test_a_cycle_goes_on_until_its_filter_ends_it() -> None:
    text = "create schema S (v int); insert into S select v from A; insert into S select v + 1 as v from S(v < 4);"
    rows = feed(machine_of(text), "A1@1000{v=1} A2@1000{v=9}")
    assert [row["v"] for row in rows] == [1, 2, 3, 4, 9]


# Types.


def test_an_event_of_a_subtype_reaches_statements_on_its_ancestors() -> None:
    text = """
        create schema Base (id string);
        create schema Child () inherits Base;
        create schema Grandchild (extra int) inherits Child;
        @Name('base') select id from Base;
        @Name('child') select id from Child;
        @Name('pattern') select b.id as id from pattern [every (b=Base -> c=Child)];
    """
    session = cep.open(cep.parse(text), start=0)
    assert said(session.send("Base", {"id": "b"}, time=1)) == ["base:b"]
    assert said(session.send("Grandchild", {"id": "g"}, time=2)) == [
        "base:g",
        "child:g",
        "pattern:b",
    ]


def test_one_event_can_count_as_two_types_in_the_order_in_which_they_were_awaited() -> None:
    text = """
        create schema Base (id string);
        create schema Child () inherits Base;
        select c.id as id, b.id as other from pattern [every (c=Child and b=Base)];
    """
    session = cep.open(cep.parse(text), start=0)
    (row,) = session.send("Child", {"id": "x"}, time=1)
    assert (row["id"], row["other"]) == ("x", "x")


def test_a_context_finds_the_key_of_a_subtype_by_its_ancestor() -> None:
    text = """
        create schema Base (id string, k string);
        create schema Child () inherits Base;
        create context PerK partition by k from Base;
        context PerK select count(*) as n from Base;
    """
    session = cep.open(cep.parse(text), start=0)
    sent = [("Base", "x"), ("Child", "x"), ("Child", "y")]
    rows = [row for type, k in sent for row in session.send(type, {"k": k}, time=1)]
    assert [row["n"] for row in rows] == [1, 2, 1]
    with pytest.raises(cep.InputError, match="an event of Child without its key"):
        session.send("Child", {"k": None}, time=2)


# The clock.


def test_a_late_event_is_refused_and_changes_nothing() -> None:
    text = "select irstream count(*) as n from A#time(2 sec)"
    machine, other = machine_of(text), machine_of(text)
    feed(machine, "A1@1000 A2@2500")
    before = state.save(machine)
    with pytest.raises(cep.LateEvent):
        feed(machine, "A3@2000")
    with pytest.raises(cep.LateEvent):
        machine.advance(0)
    assert state.save(machine) == before
    feed(other, "A1@1000 A2@2500")
    assert [show(r) for r in feed(machine, "A4@3000 @9000")] == [
        show(r) for r in feed(other, "A4@3000 @9000")
    ]


def test_an_advance_includes_its_instant_and_can_be_repeated() -> None:
    machine = machine_of("select 'x' as id from pattern [every timer:interval(1 sec)]")
    assert len(machine.advance(SECOND - 1)) == 0
    assert len(machine.advance(SECOND)) == 1
    assert machine.advance(SECOND) == []


def test_without_a_start_the_clock_begins_with_the_first_event() -> None:
    program = cep.parse("select 'x' as id from pattern [timer:interval(1 sec)]", types=TYPES)
    session = cep.open(program)
    session.send("A", {}, time=100)
    assert [row.instant for row in session.advance(200)] == [101 * SECOND]


# Runaway programs.


def test_a_statement_that_feeds_itself_without_end_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "RUNAWAY", 1_000)
    machine = machine_of("insert into A select * from A")
    with pytest.raises(cep.RunError, match="runaway"):
        feed(machine, "A1@1000")


def test_two_statements_that_feed_each_other_without_end_are_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "RUNAWAY", 100)
    text = "insert into A select * from B; insert into B select * from A"
    with pytest.raises(cep.RunError, match="runaway"):
        feed(machine_of(text), "A1@1000")


def test_each_timer_of_an_instant_is_a_cause_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RUNAWAY", 3)
    text = """
        create context PerK partition by k from A;
        context PerK insert into S select id from A#time_batch(1 sec);
        @Name('seen') select id from S;
    """
    crowd = " ".join(f'A{n}@1000{{k="{n % 4}"}}' for n in range(12))
    rows = feed(machine_of(text), f"{crowd} @2000")
    assert sum(row.statement == "seen" for row in rows) == 12
    with pytest.raises(cep.RunError, match="runaway"):
        feed(machine_of(text), f'{crowd} A12@1000{{k="0"}} @2000')


def test_rows_that_nothing_consumes_are_no_runaway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RUNAWAY", 3)
    crowd = " ".join(f"A{n}@1000" for n in range(10))
    assert len(feed(machine_of("select id from A#length_batch(10)"), crowd)) == 10


# Long streams: what is alive stays small, and so does the work for each event.


BOUNDED = [
    "select a.id as id from pattern [every (a=A -> b=B)]",
    "select a.id as id from pattern [every a=A -> b=B(k=a.k) where timer:within(3 sec)]",
    "select a.id as id from pattern [every (a=A -> b=B) where timer:within(3 sec)]",
    "select a.id as id from pattern [every a=A and not C]",
    "select a.id as id from pattern [every (a=A and b=B)]",
    "select b.id as id from pattern [every (a=A until b=B)]",
    "select a[0].id as id from pattern [every [3] a=A]",
    "select a.id as id from pattern [every-distinct(a.k, 3 sec) a=A]",
    "select a.id as id from pattern [every a=A -> (timer:interval(2 sec) and not b=B(k=a.k))]",
    "select a.id as id from pattern [every a=A where timer:within(1 sec)]",
    "select a.id as id from pattern [every (timer:interval(1 hour) or a=A)]",
    "select id, sum(v) as v from A#time(3 sec) group by k",
    "select ts, count(*) as n from A#length(5) group by ts",
    "select id from A#time_batch(3 sec)",
    "select count(*) as n, max(v) as v from A#length(5) output every 2 seconds",
    "select k, count(*) as n from A group by k output last every 3 events",
]


class Census:
    """Counts the conditions that are evaluated, and what is alive."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.offers = 0
        offer = Atom.offer

        def counted(atom: Atom, *arguments: object) -> None:
            self.offers += 1
            offer(atom, *arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(Atom, "offer", counted)

    @staticmethod
    def alive(machine: Machine) -> int:
        return len(state.save(machine)) + 8 * len(machine.due)


@pytest.mark.parametrize("text", BOUNDED)
def test_a_long_stream_through_a_bounded_program_needs_bounded_state_and_work(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    census = Census(monkeypatch)
    machine = machine_of(text)
    sizes, offers = [], []
    for place in range(8_000):
        values: dict[str, Value] = {"id": "x", "k": "xyz"[place % 3], "v": place % 7, "ts": place}
        machine.take(Event("AAB"[place % 3], place * SECOND // 2, values))
        if place % 2_000 == 1_999:
            sizes.append(census.alive(machine))
            offers.append(census.offers)
    assert max(sizes) <= 1.2 * sizes[0] + 500
    assert offers[-1] <= 4.4 * offers[0] + 100


def test_guards_that_have_ended_leave_no_timers_behind() -> None:
    machine = machine_of(
        "select a.id as id from pattern [every (a=A -> b=B) where timer:within(1 hour)]"
    )
    for place in range(10_000):
        machine.take(Event("AB"[place % 2], place * 1000, {"id": "x"}))
    assert len(machine.timers) == 1
    assert len(machine.due) < 100


# State.


STATEFUL = """
    create context PerK partition by k from A, k from B;
    @Name('pairs') context PerK
    select a.id as id from pattern [every a=A -> b=B where timer:within(3 sec)];
    @Name('sums') select irstream k as id, sum(v) as v, count(distinct v) as n, median(v) as m
    from A#time(2 sec) group by k output last every 2 events;
    @Name('until') select b.id as id, a from pattern [every (a=A until b=B)];
"""
STREAM = 'A1@1000{k="x",v=1} A2@1500{k="y",v=2} B1@2000{k="x"} A3@2500{k="x"} B2@3000{k="y"} @9000'


@pytest.mark.parametrize("cut", range(1, 6))
def test_a_saved_state_goes_on_in_another_machine(cut: int) -> None:
    items = STREAM.split()
    before, after = " ".join(items[:cut]), " ".join(items[cut:])
    machine = machine_of(STATEFUL, timed_out=True, trace=True)
    rows = feed(machine, before)
    other = Machine(machine.program, timed_out=True, trace=True)
    state.load(other, state.save(machine))
    rows += feed(other, after)
    whole = feed(machine_of(STATEFUL, timed_out=True, trace=True), STREAM)
    assert [show(r) for r in rows] == [show(r) for r in whole]


def test_saving_does_not_disturb_the_machine_that_is_saved() -> None:
    machine = machine_of(STATEFUL)
    rows = []
    for item in STREAM.split():
        rows += feed(machine, item)
        state.save(machine)
    assert [show(r) for r in rows] == [show(r) for r in feed(machine_of(STATEFUL), STREAM)]


def test_an_event_that_two_instances_hold_is_one_event_after_a_restart() -> None:
    text = "select a as one, b as other from pattern [(a=A and b=A) -> c=C]"
    machine = machine_of(text)
    feed(machine, "A1@1000")
    other = Machine(machine.program)
    state.load(other, state.save(machine))
    (row,) = feed(other, "C1@2000")
    assert row["one"] is row["other"]
    assert len(row.causes) == 2


def test_a_chain_of_causes_may_be_longer_than_any_stack() -> None:
    text = """
        insert into N select 0 as n from pattern [a=A];
        insert into N select c.n + 1 as n from pattern [every (c=N -> a=A)];
    """
    machine = machine_of(text, trace=True)
    for place in range(3_000):
        machine.take(Event("A", place * SECOND, {"id": "x"}))
    other = Machine(machine.program, trace=True)
    state.load(other, state.save(machine))
    (row,) = other.take(Event("A", 3_000 * SECOND, {"id": "x"}))
    depth, event = 0, row
    while event.causes:
        depth, event = depth + 1, event.causes[0]
    assert depth == 3_001


def test_a_state_belongs_to_its_program() -> None:
    saved = state.save(machine_of("select id from A"))
    for text in ("select id from B", "select k from A"):
        with pytest.raises(cep.RunError, match="bad-state"):
            state.load(machine_of(text), saved)
    with pytest.raises(cep.RunError, match="bad-state"):
        state.load(
            machine_of(TWO_READERS, order=["two", "one"]), state.save(machine_of(TWO_READERS))
        )


def test_a_state_belongs_to_the_types_of_its_program() -> None:
    tree = cep.parse("select id from A")
    saved = cep.open(
        cep.Program(tree.tree, {"A": EventType("A", (Attribute("id", STRING),))})
    ).save()
    other = cep.Program(tree.tree, {"A": EventType("A", (Attribute("id", INT),))})
    with pytest.raises(cep.RunError, match="bad-state"):
        cep.open(other, state=saved)


def saved_state() -> tuple[Machine, bytes]:
    machine = machine_of(STATEFUL)
    feed(machine, 'A1@1000{k="x",v=1} A2@1500{k="y",v=2}')
    return Machine(machine.program), state.save(machine)


@examples(80)
@given(st.data())
def test_damaged_bytes_are_no_state(data: st.DataObject) -> None:
    machine, saved = saved_state()
    place = data.draw(st.integers(0, len(saved) - 1))
    flipped = saved[place] ^ data.draw(st.integers(1, 255))
    damaged = saved[:place] + bytes([flipped]) + saved[place + 1 :]
    for wrong in (damaged, saved[:place], saved + b"x"):
        with pytest.raises(cep.RunError, match="bad-state"):
            state.load(machine, wrong)


def test_foreign_bytes_are_no_state() -> None:
    machine, _ = saved_state()
    for wrong in (b"", b"\x00", pickle.dumps({"clock": 0}), b"cepheid-reference-state"):
        with pytest.raises(cep.RunError, match="bad-state"):
            state.load(machine, wrong)


def text_opcode(value: str) -> bytes:
    return pickle.SHORT_BINUNICODE + bytes([len(value)]) + value.encode()


def call(module: str, name: str, *arguments: bytes) -> bytes:
    """A pickle that looks a name up in a module and calls it."""
    found = text_opcode(module) + text_opcode(name) + pickle.STACK_GLOBAL
    return found + pickle.MARK + b"".join(arguments) + pickle.TUPLE + pickle.REDUCE


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("cepheid.expr.evaluate", "operator.itemgetter"),  # what a module imports is not its own
        ("cepheid.expr.evaluate", "operator"),
        ("cepheid.expr.evaluate", "__builtins__"),
        ("cepheid.semantics.pattern", "compile_pattern"),
        ("cepheid.semantics.statement", "Plan.__init__"),
        ("cepheid.semantics.pattern", "NoSuchThing"),
    ],
)
def test_a_crafted_state_reaches_no_code_but_the_classes_of_the_state(
    module: str, name: str
) -> None:
    machine, _ = saved_state()
    payload = b"\x80\x04" + call(module, name, text_opcode("x")) + b"."
    with pytest.raises(cep.RunError, match="bad-state"):
        state.load(machine, state._seal(machine).close(payload))


def test_a_crafted_state_must_have_the_fields_of_a_machine() -> None:
    machine, _ = saved_state()
    contents: list[object] = [[], {"clock": 0}, {"drain": 0}]
    for content in contents:
        payload = pickle.dumps(content)
        with pytest.raises(cep.RunError, match="bad-state"):
            state.load(machine, state._seal(machine).close(payload))


WRONG_CONTENTS: dict[str, object] = {
    "clock": "soon",
    "running": {(0, ()): "running"},
    "timers": {0: "timer"},
    "started": [],
    "steps": None,
}


@pytest.mark.parametrize("engine", ["reference", "automaton"])
@pytest.mark.parametrize("field", WRONG_CONTENTS)
def test_a_crafted_state_ends_a_session_with_a_finding(engine: str, field: str) -> None:
    program = cep.parse("create schema A (id string); select id from A.win:length(2);")
    session = cep.open(program, engine=engine)
    session.send("A", {"id": "x"}, 1)
    setattr(session.runner.machine, field, WRONG_CONTENTS[field])  # type: ignore[attr-defined]
    forged = session.save()

    def go_on() -> None:
        going_on = cep.open(program, engine=engine, state=forged)
        going_on.send("A", {"id": "x"}, 2)
        going_on.advance(3)

    with pytest.raises(cep.RunError, match="bad-state"):
        go_on()


# Timeouts.


def test_a_timeout_shows_what_was_bound_at_the_instant_of_the_limit() -> None:
    text = "select a.id as id, b.id as other, c.id as third from pattern [every a=A -> (b=B -> c=C) where timer:within(2 sec)]"
    rows = feed(machine_of(text, timed_out=True), "A1@1000 B1@2000 A2@2500 @9000")
    found = [(r.instant // 1000, r.is_timeout, r["id"], r["other"], r["third"]) for r in rows]
    assert found == [(3000, True, "A1", "B1", None), (4500, True, "A2", None, None)]


def test_a_guard_that_has_bound_nothing_ends_without_a_word() -> None:
    text = "select a.id as id from pattern [every a=A where timer:within(1 sec)]"
    assert feed(machine_of(text, timed_out=True), "@5000") == []


def test_of_two_guards_that_end_together_one_speaks() -> None:
    text = """select a.id as id from pattern
        [every a=A -> ((b=B where timer:within(2 sec)) -> c=C) where timer:within(2 sec)]"""
    assert len(feed(machine_of(text, timed_out=True), "A1@1000 @9000")) == 1


def test_a_guard_of_no_time_is_over_at_once() -> None:
    text = "select a.id as id from pattern [every a=A -> b=B where timer:within(0 sec)]"
    rows = feed(machine_of(text, timed_out=True), "A1@1000 B1@1000")
    assert [(r["id"], r.instant, r.is_timeout) for r in rows] == [("A1", SECOND, True)]


def test_timeouts_are_reported_only_on_request() -> None:
    text = "select * from pattern [every a=A -> b=B where timer:within(2 sec)]"
    assert outcome(text, "A1@1000 @9000") == []
