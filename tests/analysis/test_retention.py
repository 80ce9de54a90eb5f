"""Retention: what is said not to matter does not, and a bounded state does not grow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.analysis.lifetimes import Bound
from cepheid.analysis.retention import Retention, needs_start, retention_of, speaks_with_time
from cepheid.core.event import Event
from cepheid.core.types import DOUBLE
from cepheid.expr.typing import aggregates_in
from cepheid.program.resolved import ResolvedStatement
from cepheid.program.tree import ProgramTree
from cepheid.semantics.machine import Machine
from cepheid.semantics.state import save
from tests.effort import examples
from tests.semantics.drive import Shown, end_of, per_instant, resolved, run
from tests.semantics.generators import ALL, SPREAD_KINDS, make_event, programs, streams

SCHEMAS = "".join(f"create schema {t} (id string, k string, v int, w double);" for t in "ABC")
PER_K = "create context PerK partition by k from A, k from B, k from C; context PerK "
SECOND = 1_000_000

# Seconds, per type: how long an event matters.
SPANS: dict[str, dict[str, float | None]] = {
    # Patterns.
    "select id from A": {"A": 0},
    "select * from pattern [every a=A]": {"A": 0},
    "select * from pattern [every (a=A or b=B)]": {"A": 0, "B": 0},
    "select * from pattern [every (a=A while (a.v > 1))]": {"A": 0},
    "select * from pattern [every (a=A while (a.v > 1) or b=B)]": {"A": None, "B": None},
    "select * from pattern [every a=A -> b=B where timer:within(3 sec)]": {"A": 3, "B": 3},
    "select * from pattern [every a=A -> b=B where timer:within(1 month)]": {
        "A": 31 * 86_400,
        "B": 31 * 86_400,
    },
    "select * from pattern [every a=A -> (b=B where timer:within(3 sec))"
    " -> (c=C where timer:within(2 sec))]": {"A": 5, "B": 5, "C": 2},
    "select * from pattern [every a=A -> (timer:interval(4 sec) and not B)]": {"A": 4, "B": 4},
    "select * from pattern [every a=A -> (timer:interval(4 sec) or b=B)]": {"A": 4, "B": 4},
    "select * from pattern [every a=A -> timer:at(0, 8, *, *, *)]": {"A": 86_400},
    "select * from pattern [every a=A -> timer:at(0, 8, 1, *, *)]": {"A": None},
    "select * from pattern [every a=A -> (b=B until timer:interval(2 sec))]": {"A": 2, "B": 2},
    "select * from pattern [every a=A -> ([3] (b=B where timer:within(2 sec)))]": {"A": 6, "B": 6},
    "select * from pattern [every a=A -> b=B]": {"A": None, "B": None},
    "select * from pattern [a=A -> b=B]": {"A": None, "B": None},
    "select * from pattern [every (a=A -> b=B)]": {"A": None, "B": None},
    "select * from pattern [every ((a=A -> b=B) where timer:within(3 sec))]": {
        "A": None,
        "B": None,
    },
    "select * from pattern [(every (a=A -> b=B)) where timer:within(9 sec)]": {"A": 9, "B": 9},
    PER_K + "select * from pattern [(every (a=A -> b=B)) where timer:within(9 sec)]": {
        "A": None,
        "B": None,
    },
    "select * from pattern [every-distinct(a.k) a=A]": {"A": None},
    "select * from pattern [every-distinct(a.k, 3 sec) a=A]": {"A": None},
    # Windows.
    "select id from A#keepall": {"A": 0},
    "select count(*) as n from A#keepall": {"A": None},
    "select k, count(*) as n from A group by k": {"A": None},
    "select k, count(*) as n from A#time(3 sec) group by k": {"A": 3},
    "select id from A#time(3 sec)": {"A": 0},
    "select rstream id from A#time(3 sec)": {"A": 3},
    "select first(distinct v) as v from A#time(3 sec)": {"A": None},
    "select id from A#length(2)": {"A": 0},
    "select sum(v) as s from A#length(2)": {"A": None},
    "select id from A#length_batch(2)": {"A": None},
    "select id from A#time_batch(2 sec)": {"A": None},
    "select rstream id from A#time_batch(2 sec, 0L)": {"A": 4},
    "select count(*) as n from A#time_batch(2 sec, 0L)": {"A": 4},
    "select count(*) as n from A#time_batch(2 sec, 0L, 'FORCE_UPDATE')": {"A": None},
    "select irstream count(*) as n from A#time_batch(2 sec, 'FORCE_UPDATE, START_EAGER')": {"A": 4},
    PER_K + "select count(*) as n from A#time_batch(2 sec, 'START_EAGER')": {"A": None},
    "select rstream a.id as id from pattern"
    " [every a=A -> b=B where timer:within(3 sec)]#time(2 sec)": {"A": 5, "B": 5},
    # Rates.
    "select id from A output after 3 sec": {"A": 0},
    PER_K + "select id from A output after 3 sec": {"A": None},
    "select id from A output after 3 events": {"A": None},
    "select id from A output every 2 sec": {"A": None},
    "select id from A output every 2 events": {"A": None},
    "select k, count(*) as n from A#time(3 sec) group by k output all every 2 sec": {"A": None},
}
# Streams in which events matter for as long as is said.
SHORTER = {
    "select * from pattern [every (a=A while (a.v > 1) or b=B)]": "A0v1 A20v2",
    "select * from pattern [every a=A -> b=B where timer:within(3 sec)]": "A0 B2.9",
    "select * from pattern [every a=A -> (b=B where timer:within(3 sec))"
    " -> (c=C where timer:within(2 sec))]": "A0 B2.9 C4.8",
    "select * from pattern [every a=A -> (timer:interval(4 sec) and not B)]": "A0",
    "select * from pattern [every a=A -> (timer:interval(4 sec) or b=B)]": "A0",
    "select * from pattern [every a=A -> (b=B until timer:interval(2 sec))]": "A0",
    "select * from pattern [every a=A -> ([3] (b=B where timer:within(2 sec)))]": "A0 B1.9 B3.8 B5.7",
    "select * from pattern [every a=A -> b=B]": "A0 B20",
    "select * from pattern [a=A -> b=B]": "A0 B20",
    "select * from pattern [every (a=A -> b=B)]": "A0 B20",
    "select * from pattern [every ((a=A -> b=B) where timer:within(3 sec))]": "A0 B1 A18.5 B19.5",
    "select * from pattern [(every (a=A -> b=B)) where timer:within(9 sec)]": "A0 B8.9",
    PER_K + "select * from pattern [(every (a=A -> b=B)) where timer:within(9 sec)]": "A0 A20 B21",
    "select * from pattern [every-distinct(a.k) a=A]": "A0 A20",
    "select * from pattern [every-distinct(a.k, 3 sec) a=A]": "A0 A2 A4 A6 A8 A10 A12 A14",
    "select count(*) as n from A#keepall": "A0 A20",
    "select k, count(*) as n from A group by k": "A0 A20",
    "select k, count(*) as n from A#time(3 sec) group by k": "A0",
    "select rstream id from A#time(3 sec)": "A0",
    "select first(distinct v) as v from A#time(3 sec)": "A0v1 A1v2 A2v1 A3v2 A4v1 A5v2 A6v1 A7v2"
    " A8v1 A9v2 A10v1 A11v2",
    "select sum(v) as s from A#length(2)": "A0 A20",
    "select id from A#length_batch(2)": "A0 A20",
    "select id from A#time_batch(2 sec)": "A0 A20.5",
    "select rstream id from A#time_batch(2 sec, 0L)": "A0",
    "select count(*) as n from A#time_batch(2 sec, 0L)": "A0",
    "select count(*) as n from A#time_batch(2 sec, 0L, 'FORCE_UPDATE')": "A0 A20",
    "select irstream count(*) as n from A#time_batch(2 sec, 'FORCE_UPDATE, START_EAGER')": "A0",
    PER_K + "select count(*) as n from A#time_batch(2 sec, 'START_EAGER')": "A0 A21",
    "select rstream a.id as id from pattern"
    " [every a=A -> b=B where timer:within(3 sec)]#time(2 sec)": "A0 B2.9",
    PER_K + "select id from A output after 3 sec": "A0 A20",
    "select id from A output after 3 events": "A0 A0 A0 A20",
    "select id from A output every 2 sec": "A0 A20.5",
    "select id from A output every 2 events": "A0 A20",
    "select k, count(*) as n from A#time(3 sec) group by k output all every 2 sec": "A0 A20.5",
}
BOUNDED = (
    "select id from A",
    "select * from pattern [a=A -> b=B]",
    "select * from pattern [every a=A -> b=B where timer:within(3 sec)]",
    "select * from pattern [every (a=A -> b=B)]",
    "select * from pattern [every (a=A and b=B)]",
    "select * from pattern [every a=A and not B]",
    "select * from pattern [every-distinct(a.id, 3 sec) a=A]",
    "select * from pattern [every ([2] a=A -> b=B)]",
    "select * from pattern [every (A until b=B)]",
    "select * from pattern [((every a=A) where timer:within(3 sec)) -> b=B]",
    "select * from pattern [every a=A -> (b=B until timer:interval(2 sec))]",
    "select k, count(*) as n, min(v) as low from A group by k",
    "select median(v) as m, count(distinct id) as n from A#time(3 sec)",
    "select first(id) as f, last(id) as l from A",
    "select id from A#length(2)",
    "select id from A#length_batch(3)",
    "select id from A#time_batch(2 sec)",
    "select id from A output every 2 sec",
    "select k, count(*) as n from A group by k output all every 2 sec",
    PER_K + "select * from pattern [every (a=A -> b=B)]",
)
UNBOUNDED = {
    "select * from pattern [every a=A -> b=B(v = 9)]": "runs wait for B without bound",
    "select * from pattern [every a=A -> (b=B(v = 9) or c=C(v = 9))]": "runs wait for B",
    "select * from pattern [every (every a=A(v = 3))]": "starts one more",
    "select * from pattern [every a=A and b=B(v = 9)]": "`and` keeps",
    "select * from pattern [a=A until b=B(v = 9)]": "`until` collects",
    "select * from pattern [every-distinct(a.id) a=A]": "remembers all keys",
    "select id from A#keepall": "keepall",
    "select median(v) as m from A": "median without a window",
    "select count(distinct id) as n from A": "count of distinct values without a window",
    "select id from A output when count_insert > 1000": "hold rows back",
}


def statement_of(text: str) -> ResolvedStatement:
    return resolved(cep.parse(SCHEMAS + text).tree).statements[0]


def retention(text: str) -> Retention:
    return retention_of(statement_of(text))


def rows_from(tree: ProgramTree, stream: Sequence[Event], instant: int, end: int) -> list[Shown]:
    return [row for row in run(tree, stream, end=end) if row.instant >= instant]


def without_old(stream: Sequence[Event], spans: Mapping[str, Bound], instant: int) -> list[Event]:
    def matters(event: Event) -> bool:
        span = spans[event.type]
        return span is None or event.instant + span >= instant

    return [event for event in stream if matters(event)]


@pytest.mark.parametrize("text", SPANS)
def test_how_long_events_matter(text: str) -> None:
    found = {name: None if s is None else s / SECOND for name, s in retention(text).spans.items()}
    assert found == SPANS[text]


LONG = [
    make_event(type, time * SECOND // 2, number, k, v, 0.5)
    for number, (type, k, v, time) in enumerate(
        (("ABCAACB" * 8)[n], "xyx"[n % 3], n % 4, n + n % 3 // 2) for n in range(56)
    )
]


def events(scenario: str) -> list[Event]:
    """`Ay2.5v3` is an A at 2.5 seconds with k = 'y' and v = 3; without them k is 'x' and v is 1."""
    found = re.findall(r"([ABC])([xy]?)([\d.]+)(?:v(\d))?", scenario)
    return [
        make_event(type, round(float(time) * SECOND), number, k or "x", int(v or 1), 0.5)
        for number, (type, k, time, v) in enumerate(found)
    ]


def test_every_span_has_a_counterexample() -> None:
    is_testable = {t for t in SPANS if set(SPANS[t].values()) != {0} and "timer:at" not in t}
    assert {t for t in is_testable if "month" not in t} == set(SHORTER)


@pytest.mark.parametrize("text", SHORTER)
def test_a_shorter_span_would_be_wrong(text: str) -> None:
    """Half a second less changes rows; where there is no bound, nine seconds do."""
    tree, spans = cep.parse(SCHEMAS + text).tree, retention(text).spans
    shorter = {n: 9 * SECOND if s is None else s - SECOND // 2 - 1 for n, s in spans.items()}
    stream = events(SHORTER[text])
    end = end_of(stream)
    rows = run(tree, stream, end=end)
    assert any(
        rows_from(tree, without_old(stream, shorter, t), t, end)
        != [row for row in rows if row.instant >= t]
        for t in sorted({row.instant for row in rows} | {event.instant for event in stream})
    )


@pytest.mark.parametrize("text", SPANS)
def test_what_does_not_matter_can_be_left_out(text: str) -> None:
    tree, spans = cep.parse(SCHEMAS + text).tree, retention(text).spans
    stream = [event for event in LONG if event.type in spans]
    end = end_of(stream)
    rows = run(tree, stream, end=end)
    for t in range(SECOND, 28 * SECOND, SECOND // 2):
        kept = without_old(stream, spans, t)
        if kept != stream:
            assert rows_from(tree, kept, t, end) == [row for row in rows if row.instant >= t]


def rounds(statement: ResolvedStatement) -> bool:
    """Whether it adds floats, whose rounding outlives them."""
    exprs = [*(c.expr for c in statement.columns), *(i.expr for i in statement.order_by)]
    found = [a for e in exprs for a in aggregates_in(e)]
    return any(
        a.function in ("sum", "avg") and a.argument.type == DOUBLE for a in found if a.argument
    )


@examples(150)
@given(programs(ALL), streams(least=12, most=30), st.data())
def test_what_does_not_matter_in_a_generated_statement_can_be_left_out(
    tree: ProgramTree, stream: list[Event], data: st.DataObject
) -> None:
    inputs = {event.type for event in stream}
    found = [
        (s, retention_of(s).spans)
        for s in resolved(tree).statements
        if set(s.inputs) <= inputs and not rounds(s)
    ]
    some = [(s, spans) for s, spans in found if any(span is not None for span in spans.values())]
    assume(some)
    statement, spans = data.draw(st.sampled_from(some))
    alone = ProgramTree((*tree.schemas, *tree.contexts, statement.tree))
    relevant = [event for event in stream if event.type in statement.inputs]
    end = end_of(stream)
    instant = data.draw(st.sampled_from(sorted({e.instant for e in stream} | {end - 2 * SECOND})))
    kept = rows_from(alone, without_old(relevant, spans, instant), instant, end)
    rows = rows_from(alone, relevant, instant, end)
    assert per_instant(kept) == per_instant(rows)
    # Timers of one instant fire in the order of their arming; among keys that is an old story.
    assert kept == rows or statement.context is not None


# The state.


@pytest.mark.parametrize("text", BOUNDED)
def test_a_bounded_state(text: str) -> None:
    assert retention(text).grows is None
    small, large = sizes(cep.parse(SCHEMAS + text).tree, LONG)
    assert large <= limit(small)


@pytest.mark.parametrize("text", UNBOUNDED)
def test_an_unbounded_state_says_what_grows_and_does(text: str) -> None:
    found = retention(text)
    assert not found.is_bounded
    assert UNBOUNDED[text] in str(found.grows)
    stream = LONG[: 4 if "every (every" in text else 28]
    small, large = sizes(cep.parse(SCHEMAS + text).tree, stream)
    assert large > 1.25 * small


def repeated(stream: Sequence[Event], times: int) -> list[list[Event]]:
    """The same stream again and again, with fresh ids."""
    length = stream[-1].instant + SECOND
    return [
        [
            Event(e.type, e.instant + n * length, {**e.values_, "id": f"{e['id']}-{n}"})
            for e in stream
        ]
        for n in range(times)
    ]


def sizes(tree: ProgramTree, stream: Sequence[Event]) -> tuple[int, int]:
    """How large the state gets early, and in a stream four times as long."""
    machine = Machine(resolved(tree))
    machine.start(0)
    early, late = range(3), range(9, 12)
    peaks = dict.fromkeys([*early, *late], 0)
    for number, part in enumerate(repeated(stream, 12)):
        for event in part:
            machine.take(event)
            if number in peaks:
                peaks[number] = max(peaks[number], len(save(machine)))
    return max(peaks[n] for n in early), max(peaks[n] for n in late)


def limit(size: int) -> int:
    """Numbers take more digits as they grow, and up to 64 disarmed timers wait to be swept out."""
    return size + size // 10 + 1000


@examples(60)
@given(programs(replace(ALL, derives=False)), streams(SPREAD_KINDS, least=5, most=8), st.data())
def test_the_state_of_a_generated_statement_does_not_grow(
    tree: ProgramTree, stream: list[Event], data: st.DataObject
) -> None:
    bounded = [s for s in resolved(tree).statements if retention_of(s).is_bounded]
    assume(bounded)
    statement = data.draw(st.sampled_from(bounded))
    alone = ProgramTree((*tree.schemas, *tree.contexts, statement.tree))
    small, large = sizes(alone, stream)
    assert large <= limit(small)


def test_a_state_per_group_or_key_is_named() -> None:
    assert retention("select k, count(*) as n from A group by k").one_per == "group"
    assert retention("select k, count(*) as n from A#time(3 sec) group by k").one_per is None
    assert retention(PER_K + "select id from A").one_per == "key of context PerK"


# The clock.

NEED_A_START = (
    "select * from pattern [every timer:interval(3 sec)]",
    "select * from pattern [(every a=A) where timer:within(3 sec)]",
    "select * from pattern [not A -> timer:interval(3 sec)]",
    "select id from A#time_batch(2 sec, 'START_EAGER')",
    "select id from A output after 3 sec",
)
SPEAK_WITH_TIME = (
    "select * from pattern [every a=A -> timer:interval(3 sec)]",
    "select rstream id from A#time(3 sec)",
    "select count(*) as n from A#time(3 sec)",
    "select id from A#time_batch(3 sec)",
    "select id from A output every 3 sec",
)
NEITHER = (
    "select * from pattern [every a=A -> b=B where timer:within(3 sec)]",
    "select id from A#time(3 sec)",
    "select count(*) as n from A output every 3 events",
)


@pytest.mark.parametrize("text", [*NEED_A_START, *SPEAK_WITH_TIME, *NEITHER])
def test_what_depends_on_the_start_and_the_end_of_time(text: str) -> None:
    statement, tree = statement_of(text), cep.parse(SCHEMAS + text).tree
    assert needs_start(statement) == (text in NEED_A_START)
    late = [replace_time(event, event.instant + 10 * SECOND + 1) for event in LONG]
    end = end_of(late)
    same_start = run(tree, late, end=end) == run(tree, late, start=late[0].instant, end=end)
    assert same_start == (text not in NEED_A_START)
    if text in NEED_A_START:
        return
    assert speaks_with_time(statement) == (text in SPEAK_WITH_TIME)
    event_times = {event.instant for event in late}
    by_time = [row for row in run(tree, late, end=end + 1) if row.instant not in event_times]
    spoken = [row for row in by_time if not row.is_timeout]
    assert bool(spoken) == (text in SPEAK_WITH_TIME)


def replace_time(event: Event, instant: int) -> Event:
    return Event(event.type, instant, event.values_, event.sequence)
