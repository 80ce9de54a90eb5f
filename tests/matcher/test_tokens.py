"""Complex events as tokens: which are compiled, why others are not, and what is kept of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.matcher.gaps import TokenGap
from cepheid.matcher.lanes.operator import LanesOperator
from cepheid.matcher.lanes.plan import LanePlan, lanes_of, uncompiled
from cepheid.matcher.lanes.token_lane import TokenLane
from cepheid.matcher.lanes.token_plan import Tokens
from cepheid.matcher.operator import open_operator
from cepheid.matcher.reference import ReferenceOperator
from cepheid.program.resolved import ResolvedProgram
from tests.conformance.rows import events_of, strict

SCHEMAS = """
atomicEvent A(id: long, k: int, f: float, b: boolean, s: string)
atomicEvent B(id: long, k: int, f: double, b: boolean, s: string)
atomicEvent C(id: long, key: long, s: string)
"""
HEAD = "complexEvent O(k: long)"


def program(text: str) -> ResolvedProgram:
    return cep.parse(f"package p\n{SCHEMAS}{text}", language="vepl").resolve()


COMPILED = (
    "A(_, k, _, _, _){3}",
    "A(_, k, _, _, _){2:4} -> B(_, k, _, _, _)",
    "A(_, k, _, _, _){+} -> B(_, k, _, _, _)",
    "A(_, k, _, _, _) -> B(_, k, _, _, _) -> A(_, k, _, _, _)",
    "A(_, k, _, _, _) AND B(_, k, _, _, _)",
    "A(_, k, _, _, _) OR (B(_, k, _, _, _) -> C(_, k, _))",
    "(A(_, k, _, _, _) -> C(_, k, _))[within 2 seconds]",
    "(A(_, k, _, _, _) -> B(_, k, _, _, _))[holdsFor 2 seconds] -> C(_, k, _)",
    "A(_, k, _, _, _) -> NOT B(_, k, _, _, _) -> C(_, k, _)",
    "A(_, k, _, _, _) -> NOT (B(_, k, _, _, _) OR A(_, k, _, _, _)) -> C(_, k, _)",
    "A(_, k, _, _, s) -> NOT B(_, k, _, _, s) -> C(_, k, s)",
)
NOT_COMPILED = {
    "(A(_, k, _, _, _) -> NOT B(_, k, _, _, _))[within 1 second]": TokenGap.END_OF_WINDOW,
    "A(_, k, _, _, _) -> NOT (B(_, k, _, _, _) -> B(_, k, _, _, _)) -> C(_, k, _)": (
        TokenGap.LONG_NOT
    ),
    "A(_, k, _, _, _) -> NOT B(_, k, _, _, s) -> C(_, k, s)": TokenGap.OPEN_NOT,
    "A(_, k, _, _, _) -> NOT B -> C(_, k, _)": TokenGap.UNKEYED_NOT,
    "(A(_, k, _, _, s) -> NOT B(_, k, _, _, s) -> C(_, k, _)) AND B(_, k, _, _, _)": (
        TokenGap.NOT_IN_AND
    ),
    "A(_, k, _, _, s) OR A(_, k, _, _, _) -> B(_, k, _, _, s)": TokenGap.SEVERAL_WAYS,
    "A(_, k, _, _, _){+} -> (A(_, k, _, _, _){2} -> B(_, k, _, _, _))[within 1 second]": (
        TokenGap.SEVERAL_BEGINS
    ),
    "A(k, k, _, _, _) -> B(_, k, _, _, _) -> A(_, k, _, _, _)": TokenGap.REPEATED_NAME,
    "(A(_, k, _, _, _){2})[within 1 month]": TokenGap.MONTHS,
    "A(_, k, _, _, _){2000}": TokenGap.STATES,
    "A(_, k, f, _, _) AND B(_, k, f, _, _)": TokenGap.VALUES,
}


def in_lanes(program: ResolvedProgram) -> tuple[LanePlan, ...]:
    plan = lanes_of(program)
    assert plan is not None
    return plan.statements


@pytest.mark.parametrize("form", COMPILED)
def test_forms_in_which_an_event_is_used_in_one_way_are_compiled(form: str) -> None:
    [plan] = in_lanes(program(f"{HEAD} {{ as {form} }}"))
    assert isinstance(plan, Tokens)
    assert isinstance(open_operator(program(f"{HEAD} {{ as {form} }}")), LanesOperator)


@pytest.mark.parametrize("form", NOT_COMPILED)
def test_other_forms_are_left_to_the_reference_and_it_is_said_why(form: str) -> None:
    found = program(f"{HEAD} {{ as {form} }}")
    assert lanes_of(found) is None
    [reason] = uncompiled(found).values()
    assert reason.gap is NOT_COMPILED[form]
    assert isinstance(open_operator(found), ReferenceOperator)


def readings(count: int, seed: int = 1) -> pa.Table:
    """So many events by chance, of ten keys, a millisecond apart."""
    chance = np.random.default_rng(seed)
    types = chance.choice(["A", "B", "C"], count)
    keys = chance.integers(0, 10, count)
    numbers = np.arange(count)
    return pa.table(
        {
            "@type": pa.array(types),
            "@time": pa.array(numbers * 1000),
            "@sequence": pa.array(numbers),
            "id": pa.array(numbers),
            "k": pa.array(keys.astype(np.int32), mask=(types == "C") | (numbers % 11 == 0)),
            "key": pa.array(keys, mask=types != "C"),
            "A.f": pa.array((numbers / 3).astype(np.float32)),
            "B.f": pa.array(numbers / 3),
            "b": pa.array(numbers % 2 == 0, mask=numbers % 7 == 0),
            "s": pa.array([f"s{n % 3}" for n in numbers], mask=numbers % 5 == 0),
        }
    )


VALUES = """complexEvent O(id: long, k: long, f: float, b: boolean, s: string, d: double) {
    as (A(_, k, f, b, s) AND B(_, k, d, _, _)) -> C(id, k, s) context %s }"""


@pytest.mark.parametrize("context", ["chronicle", "immediate", "strict", "chronicle global"])
def test_values_of_all_types_are_shown_as_the_reference_shows_them(context: str) -> None:
    found = program(VALUES % context)
    assert [type(plan) for plan in in_lanes(found)] == [Tokens]
    shown = []
    for operator in (ReferenceOperator(found), open_operator(found)):
        rows = pa.concat_tables([operator.take(readings(400)), operator.advance(1_000_000)])
        shown.append([strict(row, with_statement=False) for row in events_of(rows, found.types)])
    assert shown[0] == shown[1]
    assert shown[0]


TIMELY = "complexEvent O(k: long) { as (A(_, k, _, _, _){2} -> C(_, k, _){40})[within 1 second] }"


def test_tokens_whose_window_has_ended_are_forgotten() -> None:
    operator = open_operator(program(TIMELY))
    assert isinstance(operator, LanesOperator)
    events, sizes = readings(60_000), []
    for begin in (0, 20_000, 40_000):
        operator.take(events.slice(begin, 20_000))
        sizes.append(len(operator.save()))
    assert max(sizes) < 60_000
    [lane] = operator._lanes
    assert isinstance(lane, TokenLane)
    due = lane.next_due()
    assert due is not None
    while (due := lane.next_due()) is not None:
        operator.advance(due)
    assert len(lane._tokens.live(lane._clock)) == 0


def test_there_is_room_for_many_tokens_and_many_keys() -> None:
    text = "complexEvent O(id: long) { as A(id, _, _, _, _) AND C(id, _, _) }"
    found = program(text)
    operators = ReferenceOperator(found), open_operator(found)
    assert isinstance(operators[1], LanesOperator)
    count = 3_000
    order = [*range(count), *range(0, count, 2)]
    events = readings(len(order)).set_column(
        0, "@type", pa.array(["A"] * count + ["C"] * (len(order) - count))
    )
    place = events.schema.get_field_index("id")
    events = events.set_column(place, "id", pa.array(order))
    shown = [
        [strict(row, with_statement=False) for row in events_of(operator.take(events), found.types)]
        for operator in operators
    ]
    assert shown[0] == shown[1]
    assert len(shown[1]) == count // 2


WINDOWS = (
    "(A(_, k, _, _, _){2})[within 2 seconds] -> C(_, k, _)",
    "(A(_, k, _, _, _){2})[holdsFor 2 seconds] -> C(_, k, _)",
    "(A(_, k, _, _, _) -> B(_, k, _, _, _))[holdsFor 2 seconds] -> C(_, k, _)",
    "(A(_, k, _, _, _){+})[within 2 seconds] -> B(_, k, _, _, _) -> C(_, k, _)",
    "(A(_, k, _, _, _) AND B(_, k, _, _, _))[within 2 seconds] -> C(_, k, _)",
)


@pytest.mark.parametrize("context", ["chronicle", "immediate", "strict"])
@pytest.mark.parametrize("form", WINDOWS)
def test_windows_end_at_the_instant_at_which_those_of_the_reference_do(
    form: str, context: str
) -> None:
    found = program(f"{HEAD} {{ as {form} context {context} }}")
    assert [type(plan) for plan in in_lanes(found)] == [Tokens]
    given_rows = 0
    for types in itertools.product("AB", repeat=2):
        for steps in itertools.product((1_999_999, 2_000_000, 2_000_001, 1), repeat=2):
            events = readings(4)
            columns: dict[str, Any] = {
                "@type": pa.array(["A", *types, "C"]),
                "@time": pa.array([*itertools.accumulate((1, *steps, 1))]),
                "k": pa.array([1, 1, 1, None], pa.int32()),
                "key": pa.array([None, None, None, 1], pa.int64()),
            }
            for name, values in columns.items():
                events = events.set_column(events.schema.get_field_index(name), name, values)
            rows = [
                [*map(str, events_of(operator.take(events), found.types))]
                for operator in (ReferenceOperator(found), open_operator(found))
            ]
            assert rows[0] == rows[1], (types, steps)
            given_rows += len(rows[1])
    assert given_rows
