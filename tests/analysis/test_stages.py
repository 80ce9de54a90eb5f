"""Stages: statements that share one exchange give the rows that they give together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.analysis.stages import Stage, stages
from cepheid.core.event import Event
from cepheid.core.types import DOUBLE, STRING
from cepheid.expr.printing import print_expr
from cepheid.expr.values import group_key
from cepheid.program.tree import ProgramTree
from tests.effort import examples
from tests.semantics.drive import end_of, per_instant, resolved, run
from tests.semantics.generators import ALL, make_event, programs, streams

SCHEMAS = "".join(
    f"create schema {t} (id string, k string, v int, w double, ts long);" for t in "ABC"
)
SECOND = 1_000_000

# The statements of each stage; the last of each stage's letters feed later ones.
CASES: dict[str, tuple[list[str], ...]] = {
    # Statements on one key share a stage, and so does what any split suits.
    "@Name('p') select * from pattern [every a=A -> b=B(k = a.k)];"
    "@Name('q') select k, count(*) as n from A group by k;"
    "@Name('r') select id from A": (["p", "q", "r"],),
    # Another key of the same type does not.
    "@Name('p') select * from pattern [every a=A -> b=B(k = a.k)];"
    "@Name('q') select v, count(*) as n from A group by v": (["p"], ["q"]),
    # One of two attributes is enough.
    "@Name('p') select * from pattern [every a=A -> b=B(k = a.k and v = a.v)];"
    "@Name('q') select v, count(*) as n from A group by v": (["p", "q"],),
    # A derived event stays where it is if it carries the key,
    "@Name('p') insert into S select b.k as key from pattern [every a=A -> b=B(k = a.k)];"
    "@Name('q') select key, count(*) as n from S group by key": (["p", "q"],),
    # whole events included,
    "@Name('p') insert into S select a from pattern [every a=A -> b=B(k = a.k)];"
    "@Name('q') select a.k as k, count(*) as n from S group by a.k": (["p", "q"],),
    # through statements that any split suits.
    "@Name('p') insert into S select k as j from A(v > 1);"
    "@Name('q') insert into T select j as i from S;"
    "@Name('r') select i, count(*) as n from T group by i": (["p", "q", "r"],),
    # It goes to a later stage if it does not,
    "@Name('p') insert into S select upper(b.k) as k from pattern [every a=A -> b=B(k = a.k)];"
    "@Name('q') select k, count(*) as n from S group by k": (["p"], ["q"]),
    "@Name('p') insert into S select b.id as k from pattern [every a=A -> b=B(k = a.k)];"
    "@Name('q') select k, count(*) as n from S group by k": (["p"], ["q"]),
    # or if the event that has it may be missing,
    "@Name('p') insert into S select b.k as k"
    " from pattern [every a=A -> (b=B(k = a.k) or c=C(k = a.k))];"
    "@Name('q') select k, count(*) as n from S group by k": (["p"], ["q"]),
    # or if another statement that derives it does not carry it.
    "@Name('p') insert into S select k from A;"
    "@Name('r') insert into S select 'x' as k from B;"
    "@Name('q') select k, count(*) as n from S group by k": (["p", "r"], ["q"]),
    # Two keys of one type: what is between them is exchanged again.
    "@Name('p') insert into S select k, v, count(*) as n from A group by k, v;"
    "@Name('q') select k, count(*) as n from S group by k;"
    "@Name('r') select v, count(*) as n from S group by v": (["p", "q"], ["r"]),
    # Where there is no key, one part does it all; what any split suits stays there.
    "@Name('p') insert into S select k, count(*) as n from A;"
    "@Name('q') select k from S;"
    "@Name('r') select k, count(*) as n from S group by k;"
    "@Name('s') select id from A": (["p", "q"], ["r", "s"]),
    # A cycle shares a stage, with its key or in one part.
    "create schema S (k string, v int);"
    "@Name('p') insert into S select k, v from A;"
    "@Name('q') insert into S select a.k as k, b.v + 1 as v"
    " from pattern [every a=S(v < 4) -> b=A(k = a.k)]": (["p", "q"],),
    "create schema S (k string, v int);"
    "@Name('p') insert into S select k, v from A;"
    "@Name('q') insert into S select a.k as k, b.v + 1 as v"
    " from pattern [every a=S(v < 4) -> b=A(v = a.v)]": (["p"], ["q"]),
}


def stages_of(text: str) -> tuple[Stage, ...]:
    return stages(resolved(cep.parse(SCHEMAS + text).tree))


def names(stage: Stage) -> list[str]:
    return [statement.name for statement in stage.statements]


@pytest.mark.parametrize("text", CASES)
def test_which_statements_share_a_stage(text: str) -> None:
    assert tuple(map(names, stages_of(text))) == CASES[text]


def part_of(event: Event, stage: Stage, seen: dict[Hashable, int]) -> int:
    """One of two parts; events that any split suits go here and there."""
    assert stage.key is not None
    if event.type not in stage.key:
        return event.sequence % 2
    values = []
    for path in stage.key[event.type]:
        [name] = path
        values.append(group_key(event[name]))
    return seen.setdefault(tuple(values), len(seen)) % 2


def is_split_right(tree: ProgramTree, stage: Stage, stream: Sequence[Event]) -> bool:
    """Whether the stage alone gives the same rows in two parts as in one."""
    statements = (statement.tree for statement in stage.statements)
    alone = ProgramTree((*tree.schemas, *tree.contexts, *statements))
    relevant = [event for event in stream if event.type in stage.inputs]
    seen: dict[Hashable, int] = {}
    parts: tuple[list[Event], list[Event]] = ([], [])
    for event in relevant:
        parts[part_of(event, stage, seen)].append(event)
    end = end_of(stream)
    rows = [row for part in parts for row in run(alone, part, end=end)]
    return per_instant(rows) == per_instant(run(alone, relevant, end=end))


SAMPLE = [
    make_event("AABCABBCA"[n % 9], n * SECOND // 2, n, "xyzx"[n * 7 % 4], n * 5 % 3, 0.5)
    for n in range(40)
]


@pytest.mark.parametrize("text", CASES)
def test_a_stage_can_be_split_by_its_key(text: str) -> None:
    tree = cep.parse(SCHEMAS + text).tree
    for stage in stages_of(text):
        if stage.key is not None and not any(stage.sources.values()):
            assert is_split_right(tree, stage, SAMPLE)


@examples(100, are_rare=True)
@given(programs(ALL), streams(), st.data())
def test_the_stages_of_generated_programs_can_be_split(
    tree: ProgramTree, stream: list[Event], data: st.DataObject
) -> None:
    found = [
        stage
        for stage in stages(resolved(tree))
        if stage.key is not None and not any(stage.sources.values()) and len(stage.statements) > 1
    ]
    assume(found)
    assert is_split_right(tree, data.draw(st.sampled_from(found)), stream)


@examples(60)
@given(programs(ALL))
def test_every_statement_has_one_stage_after_those_that_feed_it(tree: ProgramTree) -> None:
    program = resolved(tree)
    found = stages(program)
    assert sorted(n for stage in found for n in names(stage)) == sorted(
        s.name for s in program.statements
    )
    for number, stage in enumerate(found):
        assert all(source < number for sources in stage.sources.values() for source in sources)
        for statement in stage.statements:
            derived = {s.target for s in program.statements}
            assert set(statement.inputs) - set(stage.outputs) <= set(stage.inputs)
            assert all(stage.sources[n] for n in stage.inputs if n in derived - {*stage.outputs})


def test_a_stage_knows_what_travels_to_it() -> None:
    text = (
        "@Name('p') insert into S select a.k as k, b.w as w, 1 as one"
        " from pattern [every a=A(v > 1) -> b=B(k = a.k)];"
        "@Name('q') select w, count(*) as n from S(one = 1) group by w;"
        "@Name('r') select id from A(v = 0)"
    )
    first, second = stages_of(text)
    assert (first.key, first.key_types) == ({"A": (("k",),), "B": (("k",),)}, (STRING,))
    assert first.columns == {"A": ("id", "k", "v"), "B": ("k", "w")}
    assert {n: f and print_expr(f) for n, f in first.filters.items()} == {
        "A": "v > 1 or v = 0",
        "B": None,
    }
    assert (first.inputs, first.sources) == (("A", "B"), {"A": (), "B": ()})
    assert first.outputs == ("S", "r")
    assert (second.key, second.key_types) == ({"S": (("w",),)}, (DOUBLE,))
    assert (second.columns, second.sources) == ({"S": ("w", "one")}, {"S": (0,)})


def test_a_cast_that_loses_digits_does_not_carry_a_key() -> None:
    schemas = "create schema L (k long, i int); create schema S (k double);"
    last = "@Name('q') select k, count(*) as n from S group by k"
    exact = "insert into S select i as k from L;"
    lossy = "insert into S select k from L;"
    assert len(stages(resolved(cep.parse(schemas + exact + last).tree))) == 1
    assert len(stages(resolved(cep.parse(schemas + lossy + last).tree))) == 2


def test_an_heir_has_the_key_of_its_ancestor() -> None:
    text = (
        "create schema P (k int); create schema Q (l int) inherits P;"
        "select k, count(*) as n from P group by k"
    )
    [stage] = stages(resolved(cep.parse(text).tree))
    assert stage.key == {"P": (("k",),), "Q": (("k",),)}
