"""Following the atoms of a body: each becomes a function that binds variables and calls the next.

A search works on one list of values, a place for each variable. Its rows have a weight: one that
comes counts +1, one that goes -1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from cepheid.core.event import Event
from cepheid.expr.evaluate import Frame, compile_condition, compile_expr
from cepheid.live.matching.planning import plan
from cepheid.live.matching.relations import Relation, Results
from cepheid.live.metamodel import one_nan
from cepheid.live.queries.resolved import (
    Atom,
    Computed,
    Condition,
    Constant,
    Different,
    ResolvedBody,
    Same,
)

Follow: TypeAlias = Callable[[list[Any], int], None]


class Join:
    """A body over its relations; what it finds is pending support of the results."""

    def __init__(
        self,
        body: ResolvedBody,
        relations: Sequence[tuple[Relation, tuple[int, ...]] | None],
        results: Results,
    ) -> None:
        """For each atom that reads a relation, that and the variables of its columns."""
        self.body = body
        self.relations = relations
        self.results = results
        self._row: list[Any] = [None] * len(body.variables)
        self._all = self._search(None)
        self._from = [
            (read[0], read[1], self._search(place))
            for place, read in enumerate(relations)
            if read is not None
        ]

    def find_all(self) -> None:
        self._all(self._row, 1)

    def find_changed(self) -> None:
        """The rows that come and go because a relation changed, for each of them in turn.

        Atoms before the one that changed read what is now, those after it what was before: so each
        row that differs is found exactly once.
        """
        row = self._row
        for relation, variables, follow in self._from:
            for values, weight in relation.delta.items():
                for variable, value in zip(variables, values, strict=True):
                    row[variable] = value
                follow(row, weight)

    def _search(self, start: int | None) -> Follow:
        atoms = self.body.atoms
        read = None if start is None else self.relations[start]
        rest = [place for place in range(len(atoms)) if place != start]
        order = plan([atoms[place] for place in rest], read[1] if read else ())
        follow = self._emit()
        for index, bound in reversed(order):
            place = rest[index]
            is_before = start is not None and place > start
            follow = self._step(place, bound, is_before, follow)
        return follow

    def _step(self, place: int, bound: frozenset[int], is_before: bool, then: Follow) -> Follow:
        read = self.relations[place]
        if read is None:
            return _STEPS[type(self.body.atoms[place])](self.body.atoms[place], bound, then)
        relation, variables = read
        columns = tuple(c for c, variable in enumerate(variables) if variable in bound)
        find = (relation.find_before if is_before else relation.find)(columns)
        free = [(c, v) for c, v in enumerate(variables) if v not in bound]
        keys = [variables[c] for c in columns]
        if len(keys) == 1 and len(free) == 1:
            return _one_to_one(find, keys[0], *free[0], then)

        def follow(row: list[Any], weight: int) -> None:
            for found in find(tuple([row[k] for k in keys])):
                for column, variable in free:
                    row[variable] = found[column]
                then(row, weight)

        return follow

    def _emit(self) -> Follow:
        results, outputs = self.results, self.body.outputs

        def follow(row: list[Any], weight: int) -> None:
            found = tuple([row[v] for v in outputs])
            pending = results.pending
            pending[found] = pending.get(found, 0) + weight

        return follow


def _one_to_one(
    find: Callable[..., Any], key: int, column: int, variable: int, then: Follow
) -> Follow:
    """The most frequent step: from one variable to another."""

    def follow(row: list[Any], weight: int) -> None:
        for found in find((row[key],)):
            row[variable] = found[column]
            then(row, weight)

    return follow


# Atoms that read no relation.


def _same(atom: Same, bound: frozenset[int], then: Follow) -> Follow:
    left, right = atom.left, atom.right
    if left in bound and right in bound:

        def test(row: list[Any], weight: int) -> None:
            if row[left] is row[right] or row[left] == row[right]:
                then(row, weight)

        return test
    known, other = (left, right) if left in bound else (right, left)

    def bind(row: list[Any], weight: int) -> None:
        row[other] = row[known]
        then(row, weight)

    return bind


def _different(atom: Different, _: frozenset[int], then: Follow) -> Follow:
    left, right = atom.left, atom.right

    def test(row: list[Any], weight: int) -> None:
        if row[left] is not row[right] and row[left] != row[right]:
            then(row, weight)

    return test


def _constant(atom: Constant, bound: frozenset[int], then: Follow) -> Follow:
    variable, value = atom.variable, atom.value
    if variable in bound:

        def test(row: list[Any], weight: int) -> None:
            if row[variable] == value:
                then(row, weight)

        return test

    def bind(row: list[Any], weight: int) -> None:
        row[variable] = value
        then(row, weight)

    return bind


def _condition(atom: Condition, _: frozenset[int], then: Follow) -> Follow:
    holds, inputs = compile_condition(atom.expr), atom.inputs
    values, frame = _frame()

    def test(row: list[Any], weight: int) -> None:
        for name, variable in inputs:
            values[name] = row[variable]
        if holds(frame):
            then(row, weight)

    return test


def _computed(atom: Computed, bound: frozenset[int], then: Follow) -> Follow:
    evaluate, inputs, result = compile_expr(atom.expr), atom.inputs, atom.result
    values, frame = _frame()
    is_test = result in bound

    def compute(row: list[Any], weight: int) -> None:
        for name, variable in inputs:
            values[name] = row[variable]
        value: Any = one_nan(evaluate(frame))
        if value is None:
            return
        if not is_test:
            row[result] = value
        elif row[result] is not value and row[result] != value:
            return
        then(row, weight)

    return compute


def _frame() -> tuple[dict[str, Any], Frame]:
    """What expressions read variables from."""
    event = Event("", 0, {})
    return event.values_, Frame(event)


_STEPS: dict[type[Atom], Callable[[Any, frozenset[int], Follow], Follow]] = {
    Same: _same,
    Different: _different,
    Constant: _constant,
    Condition: _condition,
    Computed: _computed,
}
