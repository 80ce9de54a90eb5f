"""Keys: a split that is claimed changes nothing; where none is claimed, one would change something."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.analysis.keys import Split, split_of
from cepheid.core.event import Event, Value
from cepheid.core.types import DOUBLE, INT
from cepheid.expr.values import group_key
from cepheid.program.tree import ProgramTree
from tests.effort import examples
from tests.semantics.drive import end_of, per_instant, resolved, run
from tests.semantics.generators import ALL, programs, streams

SCHEMAS = "".join(f"create schema {t} (id string, k string, v int);" for t in "ABC")

KEYED = {
    "select * from pattern [every a=A -> b=B(k = a.k)]": "k",
    "select * from pattern [every a=A -> b=B(a.k = k and v > 1) where timer:within(3 sec)]": "k",
    "select * from pattern [every a=A -> b=B(k = a.k) -> c=C(k = b.k)]": "k",
    "select * from pattern [every a=A -> (timer:interval(5 sec) and not B(k = a.k))]": "k",
    "select * from pattern [every a=A -> every b=B(k = a.k)]": "k",
    "select * from pattern [every a=A -> ([2] b=B(k = a.k))]": "k",
    "select * from pattern [every-distinct(a.k) a=A -> b=B(k = a.k)]": "k",
    "select * from pattern [every-distinct(a.k, a.v) a=A]": "k",
    "select k, count(*) as n from A#time(3 sec) group by k": "k",
    "select k, id, sum(v) as s from A group by k": "k",
    "select k, count(*) as n from A#time_batch(2 sec, 0L) group by k": "k",
    "select k, count(*) as n from A#time_batch(2 sec, 0L, 'FORCE_UPDATE') group by k": "k",
    "select k, count(*) as n from A#time_batch(2 sec, 'START_EAGER') group by k": "k",
    "select a.k as k, count(*) as n from pattern [every a=A]#keepall group by a.k": "k",
    "select a.k as k, count(*) as n from pattern [every a=A -> b=B(k = a.k)] group by a.k": "k",
    "create context C1 partition by k from A; context C1 select count(*) as n from A": "k",
}
FREE = (
    "select id from A",
    "select rstream id from A#time(3 sec)",
    "select * from pattern [every a=A(v > 1)]",
    "select * from pattern [every (a=A or b=B)]",
    "select * from pattern [every a=A -> timer:interval(3 sec)]",
)
# Each of these gives other rows if its events are split by k.
WHOLE = (
    "select * from pattern [every (a=A -> b=B(k = a.k))]",
    "select * from pattern [a=A -> b=B(k = a.k)]",
    "select * from pattern [every a=A -> b=B]",
    "select * from pattern [every a=A -> b=B(k = a.k) -> c=A]",
    "select * from pattern [every a=A -> b=B(k = a.k or v = 1)]",
    "select * from pattern [every-distinct(a.v) a=A -> b=B(k = a.k)]",
    "select count(*) as n from A",
    "select id, count(*) as n from A#time(3 sec)",
    "select k, count(*) as n from A#length(2) group by k",
    "select k, count(*) as n from A#length_batch(2) group by k",
    "select k, count(*) as n from A#time_batch(2 sec) group by k",
    "select k, count(*) as n from A group by k output every 2 events",
    "select k, count(*) as n from A group by k output last every 2 sec",
    "select rstream v from A#time(3 sec) order by v limit 1",
    "select rstream distinct 1 as one from A#time(3 sec)",
    "select b.v as v, count(*) as n from pattern [every a=A -> b=B(k = a.k)] group by b.v",
    "select b.k as k, count(*) as n"
    " from pattern [every a=A -> (b=B(k = a.k) or timer:interval(1 sec))] group by b.k",
)


def parts_of(stream: Sequence[Event], key: Callable[[Event], Hashable]) -> list[list[Event]]:
    parts: dict[Hashable, list[Event]] = {}
    for event in stream:
        parts.setdefault(key(event), []).append(event)
    return list(parts.values())


def rows_match(tree: ProgramTree, stream: Sequence[Event], parts: list[list[Event]]) -> bool:
    end = end_of(stream)
    split = [row for part in parts for row in run(tree, part, end=end)]
    return per_instant(split) == per_instant(run(tree, stream, end=end))


def key_function(split: Split) -> Callable[[Event], Hashable]:
    by = split.by
    assert by is not None
    if not by:
        return lambda event: event.instant % 2_000_000

    def key(event: Event) -> Hashable:
        return tuple(group_key(event[name]) for (name,) in by.get(event.type, ()))

    return key


def tree_of(text: str) -> ProgramTree:
    return cep.parse(SCHEMAS + text).tree


def split(text: str) -> Split:
    program = resolved(tree_of(text))
    return split_of(program.statements[0], program.types)


@pytest.mark.parametrize("text", KEYED)
def test_a_key_is_found(text: str) -> None:
    by = split(text).by
    assert by
    assert all((KEYED[text],) in paths for paths in by.values())


@pytest.mark.parametrize("text", FREE)
def test_any_split_will_do(text: str) -> None:
    assert split(text).by == {}


SAMPLE = [
    Event(type, time * 1_000_000, {"id": str(n), "k": k, "v": v})
    for n, (type, k, v, time) in enumerate(
        [
            ("A", "x", 1, 0),
            ("A", "y", 1, 1),
            ("B", "y", 1, 1),
            ("B", "x", 2, 2),
            ("A", "x", 2, 2),
            ("A", "y", 2, 2),
            ("B", "x", 1, 3),
            ("B", "y", 2, 4),
            ("A", "x", 1, 4),
            ("A", "y", 3, 7),
        ]
    )
]


@pytest.mark.parametrize("text", WHOLE)
def test_where_no_key_is_claimed_one_would_change_the_rows(text: str) -> None:
    assert split(text).by is None
    parts = parts_of(SAMPLE, lambda event: event["k"])  # type: ignore[arg-type, return-value]
    assert not rows_match(tree_of(text), SAMPLE, parts)


@pytest.mark.parametrize("text", [*KEYED, *FREE])
def test_a_split_that_is_claimed_gives_the_same_rows(text: str) -> None:
    tree = tree_of(text)
    parts = parts_of(SAMPLE, key_function(split(text)))
    assert len(parts) > 1
    assert rows_match(tree, SAMPLE, parts)


@examples(150)
@given(programs(ALL), streams(), st.data())
def test_no_generated_statement_is_split_wrongly(
    tree: ProgramTree, stream: list[Event], data: st.DataObject
) -> None:
    inputs = {event.type for event in stream}
    program = resolved(tree)
    splits = [(s, split_of(s, program.types)) for s in program.statements]
    keyed = [(s, found) for s, found in splits if set(s.inputs) <= inputs and found.by]
    assume(keyed)
    chosen, found = data.draw(st.sampled_from(keyed))
    alone = ProgramTree((*tree.schemas, *tree.contexts, chosen.tree))
    relevant = [event for event in stream if event.type in chosen.inputs]
    assert rows_match(alone, relevant, parts_of(relevant, key_function(found)))


# Batches whose periods begin with the first row.


@pytest.mark.parametrize(
    "text",
    [
        "select k, count(*) as n from A#time_batch(2 sec) group by k",
        "select a.k as k, count(*) as n from pattern [every a=A(id != '0')]#time_batch(2 sec) group by a.k",
    ],
)
def test_batches_that_begin_with_the_first_row_are_not_split(text: str) -> None:
    assert split(text).by is None
    stream = [event for event in SAMPLE if event.type == "A"]
    by_key = parts_of(stream, lambda event: group_key(event["k"]))
    assert not rows_match(tree_of(text), stream, by_key)


# What is one key.


@pytest.mark.parametrize("text", KEYED)
def test_nulls_are_a_key_of_their_own(text: str) -> None:
    stream = [
        Event(event.type, event.instant, {**event.values_, "k": None})
        if event["id"] in ("1", "2", "5", "7")
        else event
        for event in SAMPLE
    ]
    tree, key = tree_of(text), key_function(split(text))
    parts = parts_of(stream, key)
    assert rows_match(tree, stream, parts)
    without = [part for part in parts if part[0]["k"] is not None]
    if "every" not in text:
        assert not rows_match(tree, stream, without)


def test_keys_of_different_types_have_a_common_type() -> None:
    text = (
        "create schema I (k int); create schema L (k long); create schema D (j double);"
        "select * from pattern [every i=I -> l=L(k = i.k) -> d=D(j = l.k)]"
    )
    program = resolved(cep.parse(text).tree)
    found = split_of(program.statements[0], program.types)
    assert found.by == {"I": (("k",),), "L": (("k",),), "D": (("j",),)}
    assert found.types == (DOUBLE,)
    values: tuple[tuple[str, Value], ...] = (("I", 1), ("I", 2), ("L", 1), ("L", 2), ("D", 1.0))
    stream = [
        Event(type, n * 1_000_000, {"j" if type == "D" else "k": v})
        for n, (type, v) in enumerate(values)
    ]
    parts = parts_of(stream, key_function(found))
    assert [len(part) for part in parts] == [3, 2]
    assert rows_match(cep.parse(text).tree, stream, parts)


def test_a_key_of_one_type_has_that_type() -> None:
    assert split("select * from pattern [every a=A -> b=B(v = a.v)]").types == (INT,)
    assert split("select id from A").types == ()


def test_a_subtype_with_another_key_is_not_split() -> None:
    text = (
        "create schema P (j string, k string); create schema Q () inherits P;"
        "select * from pattern [every p=P -> q=Q(j = p.k)]"
    )
    program = resolved(cep.parse(text).tree)
    found = split_of(program.statements[0], program.types)
    assert (found.by, found.reason) == (None, "Q and P share events but not their key")


def test_the_reason_names_what_is_in_the_way() -> None:
    text = "select * from pattern [every a=A -> b=B]"
    assert split(text).reason == "b=B is not tied to a by an equality"
