"""`every-distinct` on the machine: keys are seen, expire and are forgotten as in the reference."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event
from cepheid.engines.local.runners import open_runner
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.machine.push import Matcher
from cepheid.matcher.operator import left_to_reference
from tests.effort import examples
from tests.matcher.test_local import rows_of, said
from tests.matcher.test_operator import table
from tests.semantics.generators import TYPES, make_event, streams

KINDS = tuple(itertools.product("AAABC", (0, 0, 500, 1000)))
VALUES = tuple(
    itertools.product(
        ("x", "y", "X", None), (1, 2, None), (0.0, -0.0, float("nan"), None, 1.0)
    )
)  # fmt: skip
TEXTS = (
    "select a.id as a from pattern [every-distinct(a.k) a=A]",
    "select a.id as a from pattern [every-distinct(a.k, 2 sec) a=A]",
    "select a.id as a, b.id as b from pattern [every-distinct(a.k, a.v) (a=A -> b=B)]",
    "select a.id as a, b.id as b from pattern [every-distinct(a.w) a=A -> b=B]",
    "select a.id as a, b.id as b from pattern [every-distinct(a.k, b.k, 1 sec)"
    " (a=A -> b=B where timer:within(1 sec))]",
    "select a.id as a, c.id as c from pattern [every (c=C -> every-distinct(a.k) a=A)]",
    "select a.id as a, c.id as c from pattern"
    " [every c=C -> every-distinct(a.k, 3 sec) (a=A and not B)]",
    "select a.id as a from pattern [every-distinct(upper(a.k)) a=A]",
    "select a.id as a from pattern [every-distinct(a.v) (a=A or b=B)]",
    "create context P partition by k from A, k from B;"
    "context P select a.id as a from pattern [every-distinct(a.v) a=A -> b=B]",
)


@pytest.mark.parametrize("text", TEXTS)
@examples(30)
@given(streams(KINDS, VALUES, least=5, most=40), st.lists(st.integers(0, 8), max_size=3))
def test_rows_are_those_of_the_reference_also_after_restarts(
    text: str, stream: list[Event], sizes: list[int]
) -> None:
    program = cep.parse(text, types=TYPES).resolve()
    matcher = open_runner(program)
    assert isinstance(matcher, Matcher)
    expected = rows_of(open_runner(program, engine="reference"), stream)
    assert list(map(said, rows_of(matcher, stream, sizes))) == list(map(said, expected))


def test_keys_whose_time_is_over_are_forgotten() -> None:
    text = "select a.id as a from pattern [every-distinct(a.id, 1 sec) a=A]"
    program = cep.parse(text, types=TYPES).resolve()
    operator = MachineOperator(program)
    sizes = []
    for begin in range(0, 80_000, 20_000):
        events = [make_event("A", n * 1000, n, "x", 1) for n in range(begin, begin + 20_000)]
        operator.take(table(program, events))
        sizes.append(operator.size)
    assert sizes[-1] == sizes[1]


def test_a_child_that_may_be_true_again_is_left_to_the_reference() -> None:
    for child in ("every a=A", "not C -> a=A", "a=A or not C", "(a=A -> not B) and c=C"):
        text = f"select a.id as a from pattern [every-distinct(a.k) ({child})]"
        assert left_to_reference(cep.parse(text, types=TYPES).resolve()), child
