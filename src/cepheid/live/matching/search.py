"""Following the atoms of a body: each becomes a function that binds variables and calls the next.

A search works on one list of values, a place for each variable. Its rows have a weight: one that
comes counts +1, one that goes -1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from cepheid.core.event import Event
from cepheid.expr.evaluate import Frame, compile_condition, compile_expr
from cepheid.live.matching.planning import plan, variables_in
from cepheid.live.matching.relations import Relation, Results
from cepheid.live.metamodel import one_nan
from cepheid.live.model import Object
from cepheid.live.queries.resolved import (
    Atom,
    Computed,
    Condition,
    Constant,
    Different,
    Mean,
    ResolvedBody,
    Same,
    Step,
)

Follow: TypeAlias = Callable[[list[Any], int], None]
NOTHING: Mapping[int, Collection[Object]] = MappingProxyType({})


class Join:
    """A body over its relations; what it finds is pending support of the results.

    Attributes that have one value are its *readings*. They change often, and several of an object at a
    time: all together count as one relation, which is searched once for each object that changed.
    """

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
        self._readings = readings_of(body.atoms)
        self._all = self._chain(self._order(()), _never, self._emit())
        self._from = [
            (*read, self._from_atom(place, read[1]))
            for place, read in enumerate(relations)
            if read is not None and place not in self._readings
        ]
        self._read_objects: dict[int, _ReadObjects] = {}
        for place, source in self._readings.items():
            if source not in self._read_objects:
                self._read_objects[source] = self._from_readings(source)
            self._read_objects[source].relations.append(self._relation(place))

    def find_all(self) -> None:
        self._all(self._row, 1)

    def find_changed(self) -> None:
        """The rows that come and go because a relation changed, for each of them in turn.

        Atoms before the one that changed read what is now, those after it what was before: so each
        row that differs is found exactly once. Readings come after all others.
        """
        row = self._row
        for relation, variables, follow in self._from:
            for values, weight in relation.delta.items():
                for variable, value in zip(variables, values, strict=True):
                    row[variable] = value
                follow(row, weight)
        for source, read in self._read_objects.items():
            read.note_changes()
            for one in read.changed:
                row[source] = one
                read.follow(row, 0)

    def _relation(self, place: int) -> Relation:
        read = self.relations[place]
        assert read is not None
        return read[0]

    def _from_atom(self, start: int, variables: tuple[int, ...]) -> Follow:
        def is_before(place: int) -> bool:
            return place in self._readings or place > start

        return self._chain(self._order(variables, start), is_before, self._emit())

    def _from_readings(self, source: int) -> _ReadObjects:
        """All rows with an object, as it was read and as it is read, but not those that an object
        of an earlier variable begins with. What comes before the first reading is the same for both."""
        found = {variable: read.changed for variable, read in self._read_objects.items()}
        order = self._order((source,))
        first = next(n for n, (place, _) in enumerate(order) if place in self._readings)
        before = self._chain(order[first:], self._readings.__contains__, self._emit(), found)
        now = self._chain(order[first:], _never, self._emit(), found)

        def both(row: list[Any], _: int) -> None:
            before(row, -1)
            now(row, 1)

        return _ReadObjects(self._chain(order[:first], _never, both, found))

    def _order(
        self, known: tuple[int, ...], start: int | None = None
    ) -> list[tuple[int, frozenset[int]]]:
        """All atoms but the one at the start, each with what is bound before it."""
        atoms = self.body.atoms
        rest = [place for place in range(len(atoms)) if place != start]
        return [(rest[n], bound) for n, bound in plan([atoms[place] for place in rest], known)]

    def _chain(
        self,
        order: Sequence[tuple[int, frozenset[int]]],
        is_before: Callable[[int], bool],
        then: Follow,
        found: Mapping[int, Collection[Object]] = NOTHING,
    ) -> Follow:
        """Follows atoms one after the other; rows with objects that are found already end."""
        follow = then
        for place, bound in reversed(order):
            for variable in found.keys() & variables_in(self.body.atoms[place]) - bound:
                follow = _unless_found(variable, found[variable], follow)
            follow = self._step(place, bound, is_before(place), follow)
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


@dataclass(frozen=True, slots=True)
class _ReadObjects:
    """The objects of a variable that have readings, and the rows with one of them."""

    follow: Follow
    relations: list[Relation] = field(default_factory=list)
    changed: dict[Object, None] = field(default_factory=dict)  # in the transaction at hand

    def note_changes(self) -> None:
        self.changed.clear()
        for relation in self.relations:
            for one, _ in relation.delta:
                self.changed[one] = None


def readings_of(atoms: Sequence[Atom]) -> dict[int, int]:
    """The places of readings, each with the variable of its object."""
    return {
        place: atom.source
        for place, atom in enumerate(atoms)
        if isinstance(atom, Step | Mean) and atom.feature.is_attribute and not atom.feature.is_many
    }


def _never(_: int) -> bool:
    """Nothing is read as it was before."""
    return False


def _unless_found(variable: int, found: Collection[Object], then: Follow) -> Follow:
    def follow(row: list[Any], weight: int) -> None:
        if row[variable] not in found:
            then(row, weight)

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
