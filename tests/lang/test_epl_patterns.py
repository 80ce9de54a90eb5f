"""Patterns: what binds to what."""

from __future__ import annotations

import pytest

from cepheid.core.time import SECOND, Period
from cepheid.core.types import INT
from cepheid.expr.tree import And, Binary, Expr, Literal, Part, Ref
from cepheid.lang.epl.parser import parse
from cepheid.lang.epl.printer import print_pattern
from cepheid.pattern.schedule import Schedule
from cepheid.pattern.tree import (
    Absent,
    AllOf,
    AnyOf,
    At,
    Atom,
    Every,
    EveryDistinct,
    FollowedBy,
    Interval,
    Pattern,
    Repeat,
    While,
    Within,
    walk,
)
from cepheid.program.tree import PatternSource


def pattern_of(text: str) -> Pattern:
    parsed = parse(f"select * from pattern [{text}]")
    assert parsed.problems == ()
    source = parsed.tree.statements[0].source
    assert isinstance(source, PatternSource)
    return source.pattern


def seconds(count: float) -> Period:
    return Period(round(count * SECOND))


def ref(path: str) -> Expr:
    return Ref(tuple(map(Part, path.split("."))))


A, B, C = Atom("A"), Atom("B"), Atom("C")
THREE = seconds(3)
FIVE_MINUTES = frozenset({0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55})

TREES: dict[str, Pattern] = {
    # chains
    "A -> B -> C": FollowedBy((A, B, C)),
    "(A -> B) -> C": FollowedBy((FollowedBy((A, B)), C)),
    "A -> (B -> C)": FollowedBy((A, FollowedBy((B, C)))),
    "A and B or C -> A": FollowedBy((AnyOf((AllOf((A, B)), C)), A)),
    "A -> B or C and A": FollowedBy((A, AnyOf((B, AllOf((C, A)))))),
    "(A or B) and C": AllOf((AnyOf((A, B)), C)),
    "A or B -> C or A": FollowedBy((AnyOf((A, B)), AnyOf((C, A)))),
    # every and not
    "every A -> B": FollowedBy((Every(A), B)),
    "every (A -> B)": Every(FollowedBy((A, B))),
    "every (every A)": Every(Every(A)),
    "every A and not B": AllOf((Every(A), Absent(B))),
    "not (A or B)": Absent(AnyOf((A, B))),
    # guards
    "every A -> B where timer:within(3)": FollowedBy((Every(A), Within(B, THREE))),
    "every (A -> B) where timer:within(3 sec)": Every(Within(FollowedBy((A, B)), THREE)),
    "(every A -> B) where timer:within(3 sec)": Within(FollowedBy((Every(A), B)), THREE),
    "not A where timer:within(2.5)": Absent(Within(A, seconds(2.5))),
    "A where timer:withinmax(3 sec, 2)": Within(A, THREE, 2),
    "every a=A while (a.x)": Every(While(Atom("A", "a"), ref("a.x"))),
    "(every a=A) while (a.x)": While(Every(Atom("A", "a")), ref("a.x")),
    "(A where timer:within(3)) while (x)": While(Within(A, THREE), ref("x")),
    # repeats
    "[2] A": Repeat(A, 2, 2),
    "[2] every A": Repeat(Every(A), 2, 2),
    "every [2] A": Every(Repeat(A, 2, 2)),
    "every ([2] every A)": Every(Repeat(Every(A), 2, 2)),
    "not [2] A": Absent(Repeat(A, 2, 2)),
    "A until B": Repeat(A, until=B),
    "every A until B": Repeat(Every(A), until=B),
    "every (A until B)": Every(Repeat(A, until=B)),
    "A until every B": Repeat(A, until=Every(B)),
    "A until B and C": AllOf((Repeat(A, until=B), C)),
    "[2] A until B": Repeat(A, 2, 2, B),
    "[2:3] A until B or C": AnyOf((Repeat(A, 2, 3, B), C)),
    "[2:] A until B": Repeat(A, 2, None, B),
    "[:3] A until B": Repeat(A, None, 3, B),
    "[0:1] A until B": Repeat(A, 0, 1, B),
    "[3] every [2] A until B": Repeat(Every(Repeat(A, 2, 2)), 3, 3, B),
    "A until ([2] B)": Repeat(A, until=Repeat(B, 2, 2)),
    "[2] A where timer:within(3)": Repeat(Within(A, THREE), 2, 2),
    # every-distinct
    "every-distinct(a.k) a=A": EveryDistinct((ref("a.k"),), Atom("A", "a")),
    "every-distinct(k, v, 3 sec) A -> B": FollowedBy(
        (EveryDistinct((ref("k"), ref("v")), A, THREE), B)
    ),
    "every-distinct(k) (A -> B)": EveryDistinct((ref("k"),), FollowedBy((A, B))),
    # atoms and timers
    "A()": A,
    "a = A(v > 1)": Atom("A", "a", Binary(">", ref("v"), Literal(1, type=INT))),
    "A(x, y and z)": Atom("A", None, And((ref("x"), ref("y"), ref("z")))),
    "`every`=`not`": Atom("not", "every"),
    "timer:interval(0)": Interval(Period()),
    "timer:interval(1 year 2 months 3 weeks 4 days)": Interval(
        Period(25 * 86_400 * SECOND, months=14)
    ),
    "timer:interval(5 hours 6 min 7 seconds 8 msec 9 usec)": Interval(Period(18_367_008_009)),
    "timer:at(*, *, *, *, *)": At(Schedule()),
    "timer:at(*/5, [1, 3:5], 1, 12, 0:6, *)": At(
        Schedule(
            FIVE_MINUTES,
            frozenset({1, 3, 4, 5}),
            frozenset({1}),
            frozenset({12}),
            frozenset(range(7)),
            None,
        )
    ),
    "timer:at(0, 9, *, *, *, 30)": At(
        Schedule(frozenset({0}), frozenset({9}), seconds=frozenset({30}))
    ),
}

CANONICAL = {
    "((a=A))->(every (b=B))": "a=A -> every b=B",
    "(A and B) or C": "A and B or C",
    "every ([2] A)": "every [2] A",
    "every (A where timer:within(90 sec))": "every A where timer:within(1 minute 30 seconds)",
    "[2:2] A until (B)": "[2] A until B",
    "every-distinct( a.k , 1 min ) ( a = A )": "every-distinct(a.k, 1 minute) a=A",
    "timer:at(5, [3, 1, 2, 7], *, *, *, 0)": "timer:at(5, [1:3, 7], *, *, *)",
    "A(x, y)": "A(x and y)",
}


@pytest.mark.parametrize("text", TREES)
def test_text_makes_the_tree(text: str) -> None:
    assert pattern_of(text) == TREES[text]


@pytest.mark.parametrize("text", TREES)
def test_the_printed_tree_reads_back(text: str) -> None:
    assert pattern_of(print_pattern(TREES[text])) == TREES[text]


@pytest.mark.parametrize("text", CANONICAL)
def test_printing_is_canonical(text: str) -> None:
    assert print_pattern(pattern_of(text)) == CANONICAL[text]


def test_every_node_knows_its_place() -> None:
    for text in TREES:
        assert all(node.span is not None for node in walk(pattern_of(text)))
