"""Chains give the rows of the reference, in its order, whatever the batches and the restarts."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import cepheid as cep
from cepheid.core.event import Event
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.lanes.chain_lane import ChainLane
from cepheid.matcher.lanes.chain_plan import Chain, chain_of
from cepheid.matcher.lanes.operator import LanesOperator
from cepheid.matcher.lanes.plan import LanesPlan, lanes_of
from cepheid.matcher.lanes.single_plan import Single
from cepheid.matcher.operator import Operator, open_operator
from cepheid.matcher.reference import ReferenceOperator
from cepheid.program.normal import normalize
from cepheid.program.resolved import ResolvedProgram
from tests.effort import examples
from tests.matcher.test_operator import operator_rows, shown_table, table, without_key
from tests.semantics.drive import end_of
from tests.semantics.generators import TYPES, make_event, streams

ONE = (
    "v >= 2", "v = 1", "v != 1", "2 > v", "w < 0.5", "w != 0.5", "w >= 1", "k = 'x'", "k != 'y'",
    "not v = 1", "v = 1 or w > 0.1", "not (v = 1 and k = 'x')", "ts < 6000L",
)  # fmt: skip
KEYS = ("k", "v", "id")
KINDS = tuple(itertools.product("AAB", (0, 0, 500, 1000)))
PERIODS = ("1 sec", "500 msec", "3 sec")
SHOWN = ("id", "k", "v", "w")


@st.composite
def chain_texts(draw: DrawFn) -> str:
    """A statement that is a chain."""
    count = draw(st.integers(1, 4))
    atoms = [draw(_atoms(place)) for place in range(count)]
    shown = [f"{tag}.{draw(st.sampled_from(SHOWN))}" for tag in "abcd"[:count]]
    if count == 1:
        pattern = f"every {atoms[0]}"
    else:
        ending = draw(st.sampled_from(("event", "event", "whole", "within", "absence")))
        *before, last = atoms
        period = draw(st.sampled_from(PERIODS))
        if ending == "within":
            limit = draw(st.sampled_from((f"within({period})", f"withinmax({period}, 2)")))
            last = f"({last} where timer:{limit})"
        elif ending == "absence":
            last = f"(timer:interval({period}) and not {last.partition('=')[2]})"
            shown = shown[:-1]
        whole = " -> ".join([*before, last])
        if draw(st.booleans()):
            whole = " -> (".join([*before, last]) + ")" * len(before)
        pattern = f"every ({whole})" if ending == "whole" else f"every {whole}"
    names = ", ".join(f"{path} as x{place}" for place, path in enumerate(shown))
    return f"select {names} from pattern [{pattern}]"


@st.composite
def _atoms(draw: DrawFn, place: int) -> str:
    tests = draw(st.lists(st.sampled_from(ONE), max_size=2))
    if place and draw(st.booleans()):
        key = draw(st.sampled_from(KEYS))
        other = "abcd"[draw(st.integers(0, place - 1))]
        tests.append(draw(st.sampled_from((f"{key} = {other}.{key}", f"{other}.{key} = {key}"))))
    return f"{'abcd'[place]}={draw(st.sampled_from('AAB'))}({', '.join(tests)})"


def chained(text: str) -> tuple[ResolvedProgram, LanesPlan]:
    program = cep.parse(text, types=TYPES).resolve()
    plan = lanes_of(program)
    assert plan is not None
    assert {type(one) for one in plan.statements} <= {Single, Chain}
    return program, plan


@examples(400)
@given(
    st.lists(chain_texts(), min_size=1, max_size=3),
    streams(KINDS, least=5, most=40),
    st.lists(st.integers(0, 40), max_size=3),
)
def test_chains_give_the_rows_of_the_reference(
    texts: list[str], stream: list[Event], cuts: list[int]
) -> None:
    rows, expected = of_both("; ".join(texts), stream, cuts)
    if len(texts) == 1:
        assert [row[3][:6] for row in rows] == [row[3][:6] for row in expected]
    assert [row[3] for row in rows] == sorted(row[3] for row in rows)


def of_both(text: str, stream: list[Event], cuts: list[int]) -> tuple[list[Any], list[Any]]:
    """The rows of lanes, which are the reference's but for their keys, and those."""
    note(text)
    program, plan = chained(text)
    expected = operator_rows(ReferenceOperator(program), stream, end_of(stream))
    operator: Operator = LanesOperator(program, plan)
    operator.start(0)
    given, found = table(program, stream), []
    ends = sorted(min(cut, len(stream)) for cut in cuts)
    for begin, end in itertools.pairwise([0, *ends, len(stream)]):
        found.append(operator.take(given.slice(begin, end - begin)))
        saved, operator = operator.save(), LanesOperator(program, plan)
        operator.load(saved)
    found.append(operator.advance(end_of(stream)))
    rows = shown_table(found)
    assert list(map(without_key, rows)) == list(map(without_key, expected))
    return rows, expected


BEFORE = ("{0}.v >= 2", "{0}.k = 'x'", "not {0}.v = 1", "{0}.w < 0.5 or {0}.v = 1")


@st.composite
def choices(draw: DrawFn, tag: str) -> str:
    """Alternatives, each with something about an event before, about the event itself, or both."""
    options = []
    for _ in range(draw(st.integers(1, 3))):
        before = draw(st.lists(st.sampled_from(BEFORE), max_size=2))
        own = draw(st.lists(st.sampled_from(ONE), max_size=2))
        tests = [*(f"({text})".format(tag) for text in before), *(f"({text})" for text in own)]
        options.append(" and ".join(tests or ["v = 1"]))
    options[0] = f"{tag}.v = 1 and {options[0]}"
    return "(" + " or ".join(f"({option})" for option in options) + ")"


@st.composite
def keyed_texts(draw: DrawFn, key: str) -> str:
    """A chain in a context or with alternatives, or both."""
    has_context = draw(st.booleans())
    is_whole = has_context and draw(st.booleans())
    count = draw(st.integers(2, 3))
    tags = "abc"[:count]
    atoms = []
    for place in range(count):
        tests = draw(st.lists(st.sampled_from(ONE), max_size=1))
        if place and draw(st.booleans()):
            tests.append(f"{key} = a.{key}")
        if place == count - 1 and not is_whole and draw(st.integers(0, 2)):
            tests.append(draw(choices(draw(st.sampled_from(tags[:-1])))))
        atoms.append(f"{tags[place]}={draw(st.sampled_from('AAB'))}({', '.join(tests)})")
    *before, last = atoms
    period = draw(st.sampled_from(PERIODS))
    if not is_whole and draw(st.booleans()):
        last = f"({last} where timer:within({period}))"
    whole = " -> ".join([*before, last])
    names = [f"{tag}.{draw(st.sampled_from(SHOWN))}" for tag in tags]
    names.append(f"case when a.v = 1 and {tags[-1]}.w < 0.5 then 'x' else a.k end")
    shown = ", ".join(f"{name} as x{place}" for place, name in enumerate(names))
    pattern = f"every ({whole})" if is_whole else f"every {whole}"
    context = "context PerKey " if has_context else ""
    return f"{context}select {shown}, current_timestamp() as now from pattern [{pattern}]"


@examples(400)
@given(st.data(), st.sampled_from(("k", "v")), st.lists(st.integers(0, 40), max_size=3))
def test_chains_of_each_key_and_alternatives_give_the_rows_of_the_reference(
    data: st.DataObject, key: str, cuts: list[int]
) -> None:
    texts = data.draw(st.lists(keyed_texts(key), min_size=1, max_size=2))
    stream = data.draw(streams(KINDS, least=5, most=40))
    # Of what comes from outside, no key is null.
    keyed = [event for event in stream if event[key] is not None]
    context = f"create context PerKey partition by {key} from A, {key} from B"
    if keyed:
        of_both("; ".join([context, *texts]), keyed, cuts)


def readings(count: int) -> pa.Table:
    """So many events, A and B in turns, of seven keys; a few are made, and repeated."""
    program, _ = chained(PAIRS)
    events = [make_event("AB"[n % 2], 0, 0, f"k{n % 7}", 1) for n in range(14)]
    repeated = pa.concat_tables([table(program, events)] * (count // len(events) + 1))
    places = np.arange(count)
    columns: dict[str, Any] = {"@time": places * 1000, "@sequence": places}
    found = repeated.slice(0, count)
    for name, values in columns.items():
        found = found.set_column(found.schema.get_field_index(name), name, pa.array(values))
    return found.combine_chunks()


PAIRS = "select a.id as a, b.id as b from pattern [every a=A -> b=B(k = a.k)]"
# Statements that are close to chains, and none.
NO_CHAINS = (
    "select a.v + 1 as v from pattern [every a=A -> b=B]",
    "select a as whole from pattern [every a=A -> b=B]",
    "select a.v as v from pattern [a=A -> b=B]",
    "select a.v as v from pattern [every a=A -> every b=B]",
    "select a.v as v from pattern [every a=A -> b=B(v > a.v)]",
    "select a.v as v from pattern [every a=A -> b=B(k = a.k, v = a.v)]",
    "select a.v as v from pattern [every a=A -> b=B(w = a.w)]",
    "select a.v as v from pattern [every (a=A -> b=B) where timer:within(1 sec)]",
    "select a.v as v from pattern [every a=A -> b=B where timer:within(0 sec)]",
    "select a.v as v from pattern [every a=A(v + 1 > 2) -> b=B]",
    "select a.v as v from pattern [every a=A -> b=B] where a.v > 1",
    "select irstream v from A#length(2)",
    "select count(*) as n from A",
)


@pytest.mark.parametrize("text", NO_CHAINS)
def test_what_is_no_chain_is_left_to_the_machine(text: str) -> None:
    program = cep.parse(text, types=TYPES).resolve()
    assert chain_of(normalize(program).statements[0], ColumnLookup(program)) is None


def test_chains_are_found_by_the_one_who_opens() -> None:
    program, _ = chained(PAIRS)
    assert isinstance(open_operator(program), LanesOperator)
    assert isinstance(open_operator(program, timed_out=True), ReferenceOperator)


def test_state_is_small_where_few_runs_wait() -> None:
    program, plan = chained(PAIRS + "; select id from A(k = 'k1')")
    operator = LanesOperator(program, plan)
    events, sizes = readings(300_000), []
    for begin in (0, 150_000):
        operator.take(events.slice(begin, 150_000))
        sizes.append(len(operator.save()))
    assert max(sizes) < 10_000
    [lane] = [lane for lane in operator._lanes if isinstance(lane, ChainLane)]
    assert lane._kept.count < 400_000


def test_state_of_another_program_is_refused() -> None:
    program, plan = chained(PAIRS)
    other, others = chained(PAIRS.replace("a.id", "a.k"))
    with pytest.raises(cep.RunError, match="bad-state"):
        LanesOperator(other, others).load(LanesOperator(program, plan).save())
