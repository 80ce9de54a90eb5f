"""What operators keep, as people are told it: alike, in whichever form they keep it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.engines.common.intake import runnable
from cepheid.engines.common.texts import TEXTS
from cepheid.matcher.contents import Contents, KeptEvent
from cepheid.matcher.lanes.operator import LanesOperator
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.operator import Operator, open_operator
from cepheid.matcher.parts import PartsOperator
from cepheid.matcher.reference import ReferenceOperator
from cepheid.program.resolved import ResolvedProgram
from tests.effort import examples
from tests.matcher.test_operator import table
from tests.semantics.drive import resolved
from tests.semantics.generators import Features, programs, streams

SCHEMAS = (
    "create schema A (id string, x int); create schema B (id string, x int);"
    " create schema C (id string, x int);\n"
)
PAIR = (
    "@Name('Pair') insert into Pair select a.id as id, a.x as first, b.x as second"
    " from pattern [every a=A -> b=B(id = a.id) where timer:within(10 seconds)];"
)
ABSENT = (
    "@Name('Gone') insert into Gone select a.id as id"
    " from pattern [every a=A -> (timer:interval(5 sec) and not B(id = a.id))];"
)
TWICE = (
    "@Name('Twice') insert into Twice select a.id as id, b[0].x as x, c.x as y"
    " from pattern [every a=A -> [2] b=B(id = a.id) -> c=C];"
)
COUNTED = (
    "@Name('Counted') insert into Counted select id, sum(x) as s from A#time(1 min) group by id;"
)
EVENTS = [("A", 1, "k", 1), ("B", 2, "k", 9), ("A", 3, "l", 300), ("B", 4, "k", 10)]


def kept(text: str, *, why: bool = False, most: int = 10) -> tuple[Operator, Contents]:
    """An operator that was saved and taken up again, and what it keeps."""
    program = runnable(cep.parse(SCHEMAS + text).resolve())
    events = pa.table(
        {
            "@type": [type for type, *_ in EVENTS],
            "@time": [time * 1_000_000 for _, time, *_ in EVENTS],
            "@sequence": list(range(len(EVENTS))),
            "id": [id for *_, id, _ in EVENTS],
            "x": pa.array([x for *_, x in EVENTS], pa.int32()),
        }
    )
    first, second = (open_operator(program, why=why) for _ in range(2))
    first.take(events)
    second.load(first.save())
    return second, second.contents(TEXTS, most)


def lines(contents: Contents) -> list[str]:
    found = [
        f"{match.statement}: {', '.join(map(_shown, match.events))};"
        f" {' or '.join(match.awaits)}; {match.ends}"
        for match in contents.matches
    ]
    rows = [
        f"{window.statement} {window.text}: {row.values} {row.leaves}"
        for window in contents.windows
        for row in window.rows
    ]
    return [*found, *rows, *(f"{timer.due} {timer.statement}" for timer in contents.timers)]


def _shown(event: KeptEvent) -> str:
    return f"{event.tag}={event.type} {dict(event.values)}"


BOTH = pytest.mark.parametrize("why", [False, True], ids=["compiled", "reference"])


@BOTH
def test_a_chain_keeps_what_its_rows_need_and_says_what_it_awaits(why: bool) -> None:
    operator, found = kept(PAIR, why=why)
    assert isinstance(operator, ReferenceOperator if why else LanesOperator)
    assert lines(found) == [
        "Pair: a=A {'id': 'l', 'x': 300}; b=B(id = a.id); 13000000",
        "13000000 Pair",
    ]
    assert found.matched == 1
    if not why:
        assert found.matches[0].key == ("l",)


@BOTH
def test_an_absence_is_told_with_its_end(why: bool) -> None:
    _, found = kept(ABSENT, why=why)
    (match,) = found.matches
    assert [event.values["id"] for event in match.events] == ["l"]
    assert any(text.startswith("no B(id = a.id)") for text in match.awaits)
    assert [timer.due for timer in found.timers] == [8_000_000]


@BOTH
def test_a_window_shows_its_rows_the_newest_first_and_when_they_leave(why: bool) -> None:
    _, found = kept(COUNTED, why=why)
    assert lines(found) == [
        "Counted #time(1 minute): {'id': 'l', 'x': 300} 63000000",
        "Counted #time(1 minute): {'id': 'k', 'x': 1} 61000000",
        "61000000 Counted",
    ]
    _, found = kept(COUNTED, why=why, most=1)
    assert (len(found.windows[0].rows), found.windows[0].count) == (1, 2)


def test_the_machine_shows_what_repeats_have_collected() -> None:
    operator, found = kept(TWICE)
    assert isinstance(operator, MachineOperator)
    assert sorted(lines(found)) == [
        "Twice: a=A {'id': 'k', 'x': 1}, b=B {'id': 'k', 'x': 9}, b=B {'id': 'k', 'x': 10}; c=C; None",
        "Twice: a=A {'id': 'l', 'x': 300}; b=B(id = a.id); None",
    ]


def test_parts_of_a_program_say_it_together() -> None:
    both = "select irstream id, count(*) as n from A#length(2) group by id;"
    operator, found = kept(PAIR + both)
    assert isinstance(operator, PartsOperator)
    assert [match.statement for match in found.matches] == ["Pair"]
    assert found.words == ("2 rows in windows", "2 groups")
    _, found = kept(PAIR + TWICE, most=1)
    assert (len(found.matches), found.matched) == (1, 3)


def test_a_complex_event_shows_its_parameters_and_what_may_come() -> None:
    text = (
        "package p\natomicEvent A(id: string, x: int)\natomicEvent B(id: string, x: int)\n"
        "complexEvent O(k: string) { as (A(k, _){2} -> B(k, _))[within 5 seconds] }\n"
    )
    program = runnable(cep.parse(text, language="vepl").resolve())
    operator = open_operator(program)
    assert isinstance(operator, LanesOperator)
    columns: dict[str, Any] = {"@type": ["A"], "@time": [0], "@sequence": [0], "id": ["k"]}
    operator.take(pa.table({**columns, "x": pa.array([7], pa.int32())}))
    (match,) = operator.contents(TEXTS, 10).matches
    assert (match.statement, match.key, match.awaits) == ("O", ("k",), ("A",))
    assert match.ends == 5_000_000


@examples(80)
@given(programs(Features()), streams(), st.integers(0, 3))
def test_whatever_is_kept_can_be_told(tree: Any, stream: Sequence[Any], most: int) -> None:
    program: ResolvedProgram = runnable(resolved(tree))
    operator = open_operator(program)
    events = table(program, stream)
    if events.num_rows:
        operator.take(events)
    saved = operator.save()
    told = operator.contents(TEXTS, most)
    assert json.dumps(told.to_json())
    assert operator.save() == saved, "to look changes nothing"
    assert len(told.matches) <= min(most, told.matched)
    operator.load(saved)
    assert operator.contents(TEXTS, most) == told
