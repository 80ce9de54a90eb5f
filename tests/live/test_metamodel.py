"""Metamodels: what they say of classes, and everything that can be wrong with one."""

from __future__ import annotations

import pytest

from cepheid.core.types import INT, STRING, ArrayType
from cepheid.errors import ProgramError
from cepheid.live import Attribute, Class, Metamodel, Reference
from tests.live.plants import PLANT


def problems_of(*classes: Class) -> list[str]:
    with pytest.raises(ProgramError) as raised:
        Metamodel("m", classes)
    return [str(d).removeprefix("error") for d in raised.value.diagnostics]


def test_a_class_has_the_features_of_its_ancestors() -> None:
    server = PLANT.schema.kinds["Server"]
    assert list(server.features)[:2] == ["id", "availableCpu"]
    assert server.ancestors == {"Named", "Host", "Server"}
    assert PLANT.schema.kinds["Named"].subclasses == {"Plant", "Host", "Server", "Application"}


def test_a_feature_that_comes_over_two_ways_is_one() -> None:
    diamond = Metamodel(
        "m",
        (
            Class("A", (Attribute("x", INT),)),
            Class("B", (), ("A",)),
            Class("C", (), ("A",)),
            Class("D", (), ("B", "C")),
        ),
    )
    assert diamond.schema.kinds["D"].features["x"] is diamond.schema.kinds["A"].features["x"]


def test_equal_metamodels_are_equal() -> None:
    assert Metamodel("m", (Class("A"),)) == Metamodel("m", (Class("A"),))


WRONG = {
    "[bad-metamodel]: class 'A' is declared twice": (Class("A"), Class("A")),
    "[bad-metamodel]: 'B' inherits from 'Aa', which is no class (did you mean 'A'?)": (
        Class("A"),
        Class("B", (), ("Aa",)),
    ),
    "[bad-metamodel]: 'A.x' has impossible bounds: 2..1": (
        Class("A", (Attribute("x", INT, 2, 1),)),
    ),
    "[bad-metamodel]: 'A.r' leads to 'B', which is no class (classes: A)": (
        Class("A", (Reference("r", "B"),)),
    ),
    "[bad-metamodel]: 'A.x' has type int[] (types: string, boolean, int, long, float, double, integer)": (
        Class("A", (Attribute("x", ArrayType(INT)),)),
    ),
    "[bad-metamodel]: the default of 'A.x' does not fit: 'a' is not an int": (
        Class("A", (Attribute("x", INT, default="a"),)),
    ),
    "[bad-metamodel]: 'A.x' cannot have the default 'c'": (
        Class("A", (Attribute("x", STRING, default="c", literals=("a", "b")),)),
    ),
    "[bad-metamodel]: 'A.x' has literals, but its values are int": (
        Class("A", (Attribute("x", INT, literals=("a",)),)),
    ),
    "[bad-metamodel]: 'B' has 'x' from 'A' and from 'B' (rename one of them)": (
        Class("A", (Attribute("x"),)),
        Class("B", (Attribute("x"),), ("A",)),
    ),
    "[bad-metamodel]: 'A.x' is declared twice": (Class("A", (Attribute("x"), Attribute("x"))),),
    "[bad-metamodel]: 'A.r' has the opposite 'B.s', which is no reference": (
        Class("A", (Reference("r", "B", opposite="s"),)),
        Class("B"),
    ),
    "[bad-metamodel]: 'A.r' has the opposite 'B.s', which has another opposite"
    " (opposites name each other)": (
        Class("A", (Reference("r", "B", opposite="s"),)),
        Class("B", (Reference("s", "A"),)),
    ),
}


@pytest.mark.parametrize("problem", WRONG)
def test_a_mistake_is_reported(problem: str) -> None:
    assert problems_of(*WRONG[problem]) == [problem]


def test_an_object_has_one_container() -> None:
    one = Reference("r", "B", containment=True, opposite="s")
    found = problems_of(
        Class("A", (one,)), Class("B", (Reference("s", "A", upper=None, opposite="r"),))
    )
    assert found == [
        "[bad-metamodel]: 'A.r' has the opposite 'B.s', but an object has one container"
    ]


def test_inheritance_in_a_circle_is_reported_for_all_that_are_in_it() -> None:
    found = problems_of(Class("A", (), ("B",)), Class("B", (), ("A",)))
    assert found == [
        "[inheritance-cycle]: class 'A' inherits from itself",
        "[inheritance-cycle]: class 'B' inherits from itself",
    ]


def test_all_problems_are_reported_at_once() -> None:
    found = problems_of(Class("A", (Reference("r", "B"), Attribute("x", INT, -1))), Class("A"))
    assert len(found) == 3
