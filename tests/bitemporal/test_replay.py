"""A replay is, at every time, where the run itself was then."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.bitemporal.rounds import Number
from cepheid.errors import CepheidError
from cepheid.io import encode
from cepheid.verbs.replay import Replay, replay
from cepheid.verbs.rounds import RoundsResult
from tests.bitemporal.generator import Case, case
from tests.effort import examples

MINUTE = 60_000_000
PROGRAM = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x NUMBER) ID (k) FREEZING TIME (1h)
ON ANNOUNCEMENT DO seen(NEW.k), ON CHANGE DO changed(NEW.x), ON CANCELLATION DO gone(OLD.k);
CREATE COMPLEX EVENT CLASS D(k INTEGER) ID (k) OBSERVATION SPAN (1h)
AS SELECT a.k FROM A a WHERE a.x > 1 OCCURRING AT a ON ONTIME DO now(NEW.k);
"""
HISTORY: list[dict[str, object]] = [
    {"@type": "A", "@time": 600, "@detected": 60, "k": 1, "x": 1.0},
    {"@type": "A", "@time": 600, "@detected": 120, "k": 1, "x": 2.0},
    {"@type": "A", "@time": 900, "@detected": 300, "k": 2, "x": 0.0},
    {"@type": "A", "@detected": 660, "@retracted": True, "k": 2},
    {"@time": 1_200},
]
CASES = st.integers(0, 10**9).map(lambda seed: case(Random(seed)))


def small(**options: Any) -> Replay:
    return replay(cep.parse(PROGRAM, "bicepl"), HISTORY, chronon="1m", **options)


def minutes(found: Replay) -> float:
    return found.time / MINUTE


def walk(found: Replay, rng: Random) -> None:
    """One move of any kind."""
    move = rng.randrange(6)
    if move == 0:
        found.step()
    elif move == 1:
        found.back()
    elif move == 2:
        found.to(rng.randrange(0, 2_400))
    elif move == 3:
        found.to_next(rng.choice(((), ("A",), tuple(found.classes))))
    elif move == 4:
        found.until(rng.choice(list(found.classes)))
    else:
        found.enter()


def expect_the_run(found: Replay, result: RoundsResult, records: Sequence[dict[str, Any]]) -> None:
    """What is known, done and still to come is what the run says of this time."""
    rounds, outcome, now = result.outcome.rounds, result.outcome, found.now
    known = [
        {**encode(event), "fired": (event.type, key(found, event)) in fired(result, now)}
        for event in result.as_of(found.time / 1_000_000)
    ]
    shown = [(each.cls, each.key, each.since, each.fired) for each in found.known()]
    assert shown == [
        (event["@type"], key(found, event), rounds.number(instant(event["@time"])), event["fired"])
        for event in known
    ]
    assert [encode(row) for row in found.rows()] == [
        encode(row) for row in result if rounds.number(row.instant) <= now
    ]
    counting = (rounds.at_or_after(rounds.number(r["@detected"] * 1_000_000)) for r in records)
    later = [number for number in counting if number is None or number > now]
    assert len(found.waiting()) == len(later)
    last = max((change.round for change in outcome.changes if change.round <= now), default=None)
    moment = found.moment()
    assert last is None or (moment is not None and moment.round >= last)


def key(found: Replay, event: Any) -> tuple[Any, ...]:
    name = event["@type"] if isinstance(event, dict) else event.type
    return tuple(event[part] for part in found.classes[name].key)


def fired(result: RoundsResult, now: Number) -> set[tuple[str, tuple[Any, ...]]]:
    return {
        (t.cls, t.key)
        for t in result.outcome.toggles
        if t.set_in <= now and (t.cleared_in is None or now < t.cleared_in)
    }


def instant(text: Any) -> int:
    from cepheid.core.time import parse_instant

    return parse_instant(text)


@examples(25)
@given(CASES, st.integers(0, 10**9))
def test_wherever_a_replay_goes_it_is_where_the_run_was(case: Case, seed: int) -> None:
    program, rng = cep.parse(case.text, "bicepl"), Random(seed)
    options: dict[str, Any] = {"chronon": case.chronon, "outages": case.outages}
    records: list[Any] = [record for record in case.records if "@type" in record]
    try:
        result = cep.run(program, case.records, **options)
    except CepheidError:
        assume(False)
    assert isinstance(result, RoundsResult)
    assume(records)
    step = rng.choice((None, "1m", "150s"))
    found = replay(program, case.records, step=step, start=rng.choice((None, 700)), **options)
    for _ in range(8):
        walk(found, rng)
        assert found.time <= found.end
        expect_the_run(found, result, records)


def test_without_a_step_it_goes_from_change_to_change_and_back() -> None:
    found = small()
    on = []
    while not found.is_over:
        on += [[row.type for row in moment.rows] for moment in found.step()]
    assert on == [["seen"], ["changed"], ["seen"], ["now"], ["gone"]]
    assert minutes(found) == 20
    back = []
    for _ in range(7):
        found.back()
        back.append((round(minutes(found), 3), len(found.rows()), len(found.waiting())))
    assert back[:5] == [(11, 5, 0), (10, 4, 1), (5, 3, 1), (2, 2, 2), (1, 1, 3)]
    assert back[5:] == [(1, 0, 4), (1, 0, 4)]  # just before the first round


def test_a_step_is_as_long_as_it_is_told_to_be() -> None:
    found = small(step="90s")
    found.enter()
    times = [minutes(found)]
    for _ in range(2):
        found.step()
        times.append(minutes(found))
    found.back()
    assert (times, minutes(found)) == ([1, 2.5, 4], 2.5)


def test_it_stops_where_a_name_says_and_goes_on_from_there() -> None:
    found = small()
    assert [m.instant // MINUTE for m in found.until("gone", "now")] == [1, 2, 5, 10]
    assert [m.instant // MINUTE for m in found.until("gone", "now")] == [11]
    assert (found.until("now"), found.is_over) == ([], True)
    found.to(0)
    assert [row.type for row in found.until("D")[-1].rows] == ["changed"]
    with pytest.raises(cep.UsageError, match="nothing is called 'gome'") as caught:
        found.until("gome")
    assert caught.value.diagnostics[0].hint == "did you mean 'gone'?"


def test_what_was_before_the_beginning_counts_and_is_not_shown() -> None:
    found = small(start=300)
    assert ([row.type for row in found.rows()], len(found.waiting())) == (["seen", "changed"], 2)
    assert [row.type for moment in found.enter() for row in moment.rows] == ["seen"]
    late = small(start=330)  # in the chronon whose round is over
    assert (late.enter(), len(late.rows())) == ([], 3)


def test_it_ends_where_it_is_told_to() -> None:
    found = small(end=360)
    found.move(found.end)
    assert (minutes(found), found.is_over, len(found.waiting())) == (6, True, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"start": 1_260}, "it would begin at 1970-01-01T00:21:00Z, after the last round"),
        ({"start": 600, "end": 300}, "after the last round"),
        ({"end": 30}, "there are no rounds"),
        ({"step": "0s"}, "a step: '0s' is no time at all"),
        ({"step": "soon"}, "a step: 'soon' is not a time period"),
        ({"window": "x"}, "no window 'x'"),
    ],
)
def test_what_cannot_be_replayed_is_told(options: dict[str, Any], words: str) -> None:
    with pytest.raises(cep.UsageError, match=words):
        small(**options)


def test_a_program_without_classes_has_no_history_to_replay() -> None:
    program = cep.parse("create schema A (x int); @Name('B') select x from A;")
    with pytest.raises(cep.UsageError, match="no classes"):
        replay(program, [{"@type": "A", "@time": 1, "x": 1}], chronon="1m")
