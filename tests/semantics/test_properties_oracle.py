"""Parts of the language, compared with what they mean when one looks at all events at once.

Each oracle below is a definition without state: it says which events make a match by their places
in the whole stream. Events of one instant stand in their order, and a timer of an instant comes
before its events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event
from cepheid.semantics.machine import Machine
from tests.effort import examples
from tests.semantics.generators import TYPES, make_event, streams

Match: TypeAlias = tuple[int, dict[str, object]]  # when, and the names of the events bound
Oracle: TypeAlias = Callable[[list[Event], int], Iterator[Match]]
SECOND = 1_000_000
REST = 7 * SECOND  # how long the clock runs on after the last event


def machine_of(text: str, *, timed_out: bool = False) -> Machine:
    return Machine(cep.parse(text, types=TYPES).resolve(), timed_out=timed_out)


def rows_of(text: str, stream: Sequence[Event], *, timed_out: bool = False) -> list[Event]:
    machine = machine_of(text, timed_out=timed_out)
    machine.start(0)
    rows = [row for event in stream for row in machine.take(event)]
    return rows + machine.advance(end_of(stream))


def end_of(stream: Sequence[Event]) -> int:
    return (stream[-1].instant if stream else 0) + REST


def matches_of(pattern: str, stream: Sequence[Event]) -> list[Match]:
    rows = rows_of(f"select * from pattern [{pattern}]", stream)
    return [
        (row.instant, {tag: names(value) for tag, value in row.items() if value is not None})
        for row in rows
    ]


def names(value: object) -> object:
    return [names(v) for v in value] if isinstance(value, list) else _name(value)


def _name(value: object) -> object:
    assert isinstance(value, Event)
    return value["id"]


def of_type(type: str, stream: list[Event], start: int = 0) -> Iterator[int]:
    """The places of a type's events, from some place on."""
    return (i for i in range(start, len(stream)) if stream[i].type == type)


def same_key(a: Event, b: Event) -> bool:
    return a["k"] is not None and a["k"] == b["k"]


def match(stream: list[Event], place: int, **tags: int | list[int]) -> Match:
    """A match that the event at a place completes."""
    bound: dict[str, object] = {
        tag: [stream[i]["id"] for i in at] if isinstance(at, list) else stream[at]["id"]
        for tag, at in tags.items()
    }
    return stream[place].instant, bound


# Every and sequences.


def pairs(fits: Callable[[Event, Event], bool], limit: int | None = None) -> Oracle:
    """Every A with the first later B that fits it, in time."""

    def oracle(stream: list[Event], _: int) -> Iterator[Match]:
        firsts = {}
        for i in of_type("A", stream):
            later = (j for j in of_type("B", stream, i + 1) if fits(stream[i], stream[j]))
            j = next(later, None)
            if j is not None and (limit is None or stream[j].instant < stream[i].instant + limit):
                firsts[i] = j
        for i, j in sorted(firsts.items(), key=lambda pair: (pair[1], pair[0])):
            yield match(stream, j, a=i, b=j)

    return oracle


def anything(a: Event, b: Event) -> bool:
    return True


def greater(a: Event, b: Event) -> bool:
    return a["v"] is not None and b["v"] is not None and b["v"] > a["v"]  # type: ignore[operator]


def one_pair_at_a_time(stream: list[Event], _: int) -> Iterator[Match]:
    """`every (A -> B)`: the first A, the first B after it, and again after that."""
    place = 0
    while True:
        i = next(of_type("A", stream, place), None)
        j = None if i is None else next(of_type("B", stream, i + 1), None)
        if i is None or j is None:
            return
        yield match(stream, j, a=i, b=j)
        place = j + 1


def every_a_with_every_b(stream: list[Event], _: int) -> Iterator[Match]:
    for j in of_type("B", stream):
        for i in of_type("A", stream):
            if i < j:
                yield match(stream, j, a=i, b=j)


def first_a_with_every_b(stream: list[Event], _: int) -> Iterator[Match]:
    for i in islice(of_type("A", stream), 1):
        for j in of_type("B", stream, i + 1):
            yield match(stream, j, a=i, b=j)


def neighbours(stream: list[Event], _: int) -> Iterator[Match]:
    """`every a=A -> b=A`"""
    places = list(of_type("A", stream))
    for i, j in pairwise(places):
        yield match(stream, j, a=i, b=j)


# Repeats.


def groups_of_three(stream: list[Event], _: int) -> Iterator[Match]:
    places = list(of_type("A", stream))
    for first in range(0, len(places) - 2, 3):
        yield match(stream, places[first + 2], a=places[first : first + 3])


def collected(low: int, high: int) -> Oracle:
    """`every ([low:high] A until B)`: each B closes what came since the B before."""

    def oracle(stream: list[Event], _: int) -> Iterator[Match]:
        since = 0
        for j in of_type("B", stream):
            found = [i for i in of_type("A", stream, since) if i < j][:high]
            if len(found) >= low:
                yield match(stream, j, **({"a": found} if found else {}), b=j)
            since = j + 1

    return oracle


def two_unless_ended(stream: list[Event], _: int) -> Iterator[Match]:
    """`every ([2] A until B)`: two A with no B between."""
    held: list[int] = []
    for i, event in enumerate(stream):
        held = [*held, i] if event.type == "A" else [] if event.type == "B" else held
        if len(held) == 2:
            yield match(stream, i, a=held)
            held = []


# and, or, not.


def both(stream: list[Event], _: int) -> Iterator[Match]:
    """`every (A and B)`"""
    place = 0
    while True:
        i = next(of_type("A", stream, place), None)
        j = next(of_type("B", stream, place), None)
        if i is None or j is None:
            return
        yield match(stream, max(i, j), a=i, b=j)
        place = max(i, j) + 1


def first_b_with_every_a(stream: list[Event], _: int) -> Iterator[Match]:
    """`every A and B`: an A before the B waits for it, one after it matches at once."""
    for j in islice(of_type("B", stream), 1):
        for i in of_type("A", stream):
            yield match(stream, max(i, j), a=i, b=j)


def either(stream: list[Event], _: int) -> Iterator[Match]:
    for i, event in enumerate(stream):
        if event.type in "AB":
            yield match(stream, i, **{event.type.lower(): i})


def b_before_c(stream: list[Event], _: int) -> Iterator[Match]:
    """`every A -> (B and not C)`"""
    found = []
    for i in of_type("A", stream):
        j = next(of_type("B", stream, i + 1), None)
        c = next(of_type("C", stream, i + 1), len(stream))
        if j is not None and j < c:
            found.append((j, i))
    for j, i in sorted(found):
        yield match(stream, j, a=i, b=j)


def nothing_follows(stream: list[Event], end: int) -> Iterator[Match]:
    """`every A -> (timer:interval(3) and not B(k = a.k))`"""
    for i in of_type("A", stream):
        due = stream[i].instant + 3 * SECOND
        answers = (j for j in of_type("B", stream, i + 1) if same_key(stream[i], stream[j]))
        if due <= end and not any(stream[j].instant < due for j in answers):
            yield due, {"a": stream[i]["id"]}


# Guards and distinct.


def at_most_two_in_time(stream: list[Event], _: int) -> Iterator[Match]:
    """`A -> (every B) where timer:withinmax(3, 2)`, for the first A."""
    for i in islice(of_type("A", stream), 1):
        limit = stream[i].instant + 3 * SECOND
        for j in islice(of_type("B", stream, i + 1), 2):
            if stream[j].instant < limit:
                yield match(stream, j, a=i, b=j)


def until_it_is_two(stream: list[Event], _: int) -> Iterator[Match]:
    """`(every A) while (a.v < 2)`: the first A for which it does not hold ends all."""
    for i in of_type("A", stream):
        v = stream[i]["v"]
        if not (isinstance(v, int) and v < 2):
            return
        yield match(stream, i, a=i)


def distinct(expiry: int | None) -> Oracle:
    """`every-distinct(a.k, expiry) A`: the key must not have been accepted too recently."""

    def oracle(stream: list[Event], _: int) -> Iterator[Match]:
        accepted: list[int] = []
        for i in of_type("A", stream):
            mine = [j for j in accepted if stream[j]["k"] == stream[i]["k"]]
            if not mine or (
                expiry is not None and stream[i].instant >= stream[mine[-1]].instant + expiry
            ):
                accepted.append(i)
                yield match(stream, i, a=i)

    return oracle


ORACLES: dict[str, Oracle] = {
    "every a=A -> b=B(k=a.k)": pairs(same_key),
    "every a=A -> b=B(v>a.v)": pairs(greater),
    "every a=A -> b=B(k=a.k) where timer:within(3 sec)": pairs(same_key, 3 * SECOND),
    "every a=A -> b=B where timer:within(500 msec)": pairs(anything, SECOND // 2),
    "every (a=A -> b=B)": one_pair_at_a_time,
    "every a=A -> every b=B": every_a_with_every_b,
    "a=A -> every b=B": first_a_with_every_b,
    "every a=A -> b=A": neighbours,
    "every [3] a=A": groups_of_three,
    "every (a=A until b=B)": collected(0, 99),
    "every ([2:3] a=A until b=B)": collected(2, 3),
    "every ([:2] a=A until b=B)": collected(0, 2),
    "every ([2:] a=A until b=B)": collected(2, 99),
    "every ([2] a=A until B)": two_unless_ended,
    "every (a=A and b=B)": both,
    "every a=A and b=B": first_b_with_every_a,
    "every (a=A or b=B)": either,
    "every a=A -> (b=B and not C)": b_before_c,
    "every a=A -> (timer:interval(3 sec) and not B(k=a.k))": nothing_follows,
    "a=A -> (every b=B) where timer:withinmax(3 sec, 2)": at_most_two_in_time,
    "(every a=A) while (a.v < 2)": until_it_is_two,
    "every-distinct(a.k) a=A": distinct(None),
    "every-distinct(a.k, 3 sec) a=A": distinct(3 * SECOND),
}


@pytest.mark.parametrize("pattern", ORACLES)
@examples(30)
@given(stream=streams(most=25))
def test_a_pattern_finds_what_its_definition_names(pattern: str, stream: list[Event]) -> None:
    wanted = list(ORACLES[pattern](stream, end_of(stream)))
    assert matches_of(pattern, stream) == wanted


@examples(200)
@given(streams(most=25))
def test_every_beginning_ends_in_one_match_or_one_timeout(stream: list[Event]) -> None:
    text = "select a.id as id, b.id as other from pattern [every a=A -> b=B(k=a.k) where timer:within(3 sec)]"
    rows = rows_of(text, stream, timed_out=True)
    matched = {m["a"]: when for when, m in pairs(same_key, 3 * SECOND)(stream, 0)}
    for event in stream:
        if event.type == "A":
            (row,) = [r for r in rows if r["id"] == event["id"]]
            assert row.is_timeout == (event["id"] not in matched)
            assert row.instant == matched.get(event["id"], event.instant + 3 * SECOND)
            assert (row["other"] is None) == row.is_timeout


# Windows: what counts at a place in the stream, from all events.


@examples(150)
@given(streams(most=20))
def test_a_time_window_holds_the_events_of_its_period(stream: list[Event]) -> None:
    rows = rows_of("select count(*) as n, sum(v) as v from A#time(3 sec)", stream)
    mine = [e for e in stream if e.type == "A"]
    wanted: list[tuple[int, int, int, object]] = []
    for place, event in enumerate(mine):
        since = event.instant - 3 * SECOND
        held = [e for e in mine[: place + 1] if e.instant > since]
        wanted.append((event.instant, 1, len(held), total(held)))
    for due in {e.instant + 3 * SECOND for e in mine}:
        held = [e for e in mine if due - 3 * SECOND < e.instant < due]
        wanted.append((due, 0, len(held), total(held)))  # timers come before events
    wanted.sort(key=lambda row: row[:2])
    assert [(r.instant, r["n"], r["v"]) for r in rows] == [(t, n, v) for t, _, n, v in wanted]


def total(events: list[Event]) -> object:
    values = [v for v in (e["v"] for e in events) if isinstance(v, int)]
    return sum(values) if values else None


@examples(100)
@given(streams(most=20), st.integers(1, 4))
def test_a_length_window_holds_the_last_events(stream: list[Event], size: int) -> None:
    rows = rows_of(f"select irstream id, sum(v) as v from A#length({size})", stream)
    mine = [e for e in stream if e.type == "A"]
    wanted = []
    for place, event in enumerate(mine):
        held = mine[max(0, place + 1 - size) : place + 1]
        wanted.append((event.instant, False, event["id"], total(held)))
        if place >= size:
            wanted.append((event.instant, True, mine[place - size]["id"], total(held)))
    assert [(r.instant, r.is_old, r["id"], r["v"]) for r in rows] == wanted


@examples(100)
@given(streams(most=20), st.integers(1, 4))
def test_a_length_batch_releases_events_in_groups(stream: list[Event], size: int) -> None:
    rows = rows_of(f"select irstream id from A#length_batch({size})", stream)
    mine = [e for e in stream if e.type == "A"]
    wanted = []
    for end in range(size, len(mine) + 1, size):
        batch, before = mine[end - size : end], mine[max(0, end - 2 * size) : end - size]
        wanted += [(mine[end - 1].instant, False, e["id"]) for e in batch]
        wanted += [(mine[end - 1].instant, True, e["id"]) for e in before]
    assert [(r.instant, r.is_old, r["id"]) for r in rows] == wanted


@examples(100)
@given(streams(most=20))
def test_a_time_batch_releases_the_events_of_each_period(stream: list[Event]) -> None:
    rows = rows_of("select irstream id from A#time_batch(2 sec)", stream)
    mine = [e for e in stream if e.type == "A"]
    wanted = []
    if mine:
        first = mine[0].instant
        for end in range(first + 2 * SECOND, end_of(stream) + 1, 2 * SECOND):
            batch = [e for e in mine if end - 2 * SECOND <= e.instant < end]
            before = [e for e in mine if end - 4 * SECOND <= e.instant < end - 2 * SECOND]
            wanted += [(end, False, e["id"]) for e in batch]
            wanted += [(end, True, e["id"]) for e in before]
    assert [(r.instant, r.is_old, r["id"]) for r in rows] == wanted


@examples(150)
@given(st.lists(st.tuples(st.integers(0, 2), st.floats()), max_size=12))
def test_sums_of_doubles_add_on_entry_and_subtract_on_leaving(
    drawn: list[tuple[int, float]],
) -> None:
    clock, stream = 0, []
    for number, (gap, w) in enumerate(drawn):
        clock += gap * SECOND
        stream.append(make_event("A", clock, number, w=w))
    rows = rows_of("select sum(w) as w from A#time(2 sec)", stream)
    changes = [(e.instant, 1, number) for number, e in enumerate(stream)]
    changes += [(e.instant + 2 * SECOND, 0, number) for number, e in enumerate(stream)]
    replayed: dict[tuple[int, int], object] = {}
    running, held = 0.0, 0
    for instant, enters, number in sorted(changes):
        w = drawn[number][1]
        held += 1 if enters else -1
        running = (running + w if enters else running - w) if held else 0.0
        replayed[instant, number + 1 if enters else 0] = running if held else None
    assert [repr(r["w"]) for r in rows] == [repr(w) for w in replayed.values()]


@pytest.mark.parametrize(("attribute", "bits"), [("v", 32), ("ts", 64)])
@examples(50)
@given(st.data())
def test_sums_of_integers_wrap_around(attribute: str, bits: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1), max_size=8))
    stream = [Event("A", 0, {"id": "A", attribute: value}) for value in values]
    rows = rows_of(f"select sum({attribute}) as total from A#length(3)", stream)
    for place, row in enumerate(rows):
        exact = sum(values[max(0, place - 2) : place + 1])
        assert row["total"] == (exact + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
