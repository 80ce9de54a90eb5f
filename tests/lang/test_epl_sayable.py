"""Trees that no text can say cannot be made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cepheid.core.time import Period
from cepheid.core.types import DOUBLE, INT, NULL
from cepheid.expr.tree import (
    And,
    Call,
    Case,
    InList,
    Literal,
    Negate,
    Or,
    Part,
    Ref,
    negate,
)
from cepheid.pattern.tree import AllOf, AnyOf, Atom, EveryDistinct, FollowedBy
from cepheid.program.tree import (
    Annotation,
    Context,
    ContextKey,
    Limit,
    OutputRate,
    SelectAll,
    Statement,
    StreamSource,
)

X = Ref((Part("x"),))
A = Atom("A")


def statement(**fields: Any) -> Statement:
    return Statement(**{"select": (SelectAll(),), "source": StreamSource("A"), **fields})


UNSAYABLE: list[tuple[Callable[[], object], str]] = [
    (lambda: Ref(()), "a name needs a part"),
    (lambda: Part("x", -1), "counts from zero"),
    (lambda: Negate(Literal(5, type=INT)), "the opposite of a number"),
    (lambda: Negate(Literal(-0.5, type=DOUBLE)), "the opposite of a number"),
    (lambda: And(()), "`and` needs two operands"),
    (lambda: And((X,)), "`and` needs two operands"),
    (lambda: Or(()), "`or` needs two operands"),
    (lambda: Or((X,)), "`or` needs two operands"),
    (lambda: InList(X, ()), "`in` needs an item"),
    (lambda: Case(None, (), X), "`case` needs a branch"),
    (lambda: Call("min", (X,)), "min of less than two values"),
    (lambda: Call("max", ()), "max of less than two values"),
    (lambda: EveryDistinct((), A), "needs a key"),
    (lambda: FollowedBy((A,)), "needs two parts"),
    (lambda: AllOf(()), "needs two parts"),
    (lambda: AnyOf((A,)), "needs two parts"),
    (lambda: ContextKey("A", ()), "needs an attribute"),
    (lambda: Context(name="C", keys=()), "needs a key"),
    (lambda: Annotation("X", ((None, 2**63),)), "such a number"),
    (lambda: Annotation("X", ((None, (1, float("inf"))),)), "such a number"),
    (OutputRate, "needs `every`, `after` or `when`"),
    (lambda: OutputRate(every=0), "needs an amount"),
    (lambda: OutputRate(every=-3), "needs an amount"),
    (lambda: OutputRate(every=Period()), "needs an amount"),
    (lambda: OutputRate(after=-1), "counts from zero"),
    (lambda: OutputRate(mode="last", after=1), "a mode needs `every`"),
    (lambda: OutputRate(every=1, when=X), "stands alone"),
    (lambda: OutputRate(after=1, when=X), "stands alone"),
    (lambda: Limit(-1), "never negative"),
    (lambda: Limit(1, -1), "never negative"),
    (lambda: statement(select=()), "needs an item"),
    (lambda: statement(insert_stream="rstream"), "needs a type to insert into"),
    (lambda: statement(insert_stream="irstream"), "needs a type to insert into"),
]


@pytest.mark.parametrize(("make", "fact"), UNSAYABLE)
def test_a_tree_without_a_text_is_refused(make: Callable[[], object], fact: str) -> None:
    with pytest.raises(ValueError, match=fact):
        make()


def test_minus_before_a_number_is_part_of_it() -> None:
    assert negate(Literal(5, type=INT)) == Literal(-5, type=INT)
    assert negate(Literal(None, type=NULL)) == Negate(Literal(None, type=NULL))
    assert negate(negate(X)) == Negate(Negate(X))
