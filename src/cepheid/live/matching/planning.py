"""The order in which the atoms of a body are followed, from what is bound at the start.

At each step the atom is taken that promises the fewest rows: tests first, then features that lead
to one value, then those that lead to several, and a scan of all rows only where nothing else is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cepheid.live.queries.resolved import Atom, Call, Extent, Same, Step
from cepheid.live.queries.scope import variables_of

_TEST, _ONE, _FEW, _SOME, _MANY, _ALL = 0, 1, 8, 20, 10_000, 20_000


def plan(atoms: Sequence[Atom], bound: Iterable[int]) -> list[tuple[int, frozenset[int]]]:
    """The places of the atoms in the order to follow, each with what is bound before it."""
    known = set(bound)
    pending = dict(enumerate(atoms))
    order: list[tuple[int, frozenset[int]]] = []
    while pending:
        costs = [
            (cost, place) for place, atom in pending.items() if (cost := _cost(atom, known)) >= 0
        ]
        _, place = min(costs)
        order.append((place, frozenset(known)))
        known |= variables_in(pending.pop(place))
    return order


def variables_in(atom: Atom) -> set[int]:
    if isinstance(atom, Same):
        return {atom.left, atom.right}
    needed, given = variables_of(atom)
    return {*needed, *given}


def _cost(atom: Atom, bound: set[int]) -> int:
    """About how many rows an atom gives for each one before it; less than zero where it has to wait."""
    if isinstance(atom, Same):
        return _TEST if {atom.left, atom.right} & bound else -1
    needed, given = variables_of(atom)
    if not bound.issuperset(needed):
        return -1
    if bound.issuperset(given):
        return _TEST
    match atom:
        case Extent():
            return _MANY
        case Step(with_nulls=False):
            return _step_cost(atom, bound)
        case Call(arguments=arguments, transitive=transitive):
            if not bound & {*arguments}:
                return _ALL + 1
            return _SOME if transitive else _FEW + 1
    return _ONE if needed else _TEST


def _step_cost(step: Step, bound: set[int]) -> int:
    feature = step.feature
    if step.source in bound:
        return _FEW if feature.is_many else _ONE
    if step.target in bound:
        if feature.is_attribute:
            return _SOME
        is_one = feature.is_containment or (feature.opposite and not feature.opposite.is_many)
        return _ONE if is_one else _FEW
    return _ALL
