"""What the matches of a query are, computed from the model as it is: the reference for the matcher.

A body is worked through constraint by constraint, as it stands in the tree: one that can list its
solutions for what is bound so far does, one that cannot waits. Nothing is kept or indexed.
Moving averages depend on the past; their readings are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from cepheid.core.event import Event
from cepheid.expr.evaluate import Frame, compile_condition, compile_expr
from cepheid.live.metamodel import Feature
from cepheid.live.model import Model, Object
from cepheid.live.queries.resolved import (
    Absence,
    Atom,
    Call,
    Computed,
    Condition,
    Constant,
    Different,
    Extent,
    Mean,
    Queries,
    Same,
    Step,
    Tally,
)
from cepheid.live.queries.scope import variables_of

Row: TypeAlias = tuple[Any, ...]
Bound: TypeAlias = Mapping[int, Any]
Average: TypeAlias = Callable[[Object, Feature, int], float | None]


def no_average(*_: object) -> None:
    """Where nothing was ever read."""


def from_scratch(
    query: str, queries: Queries, model: Model, average: Average = no_average
) -> set[Row]:
    """The matches of a query, as rows of objects and values."""
    return _Evaluation(queries, model, average).matches(query, transitive=False)


class _Evaluation:
    def __init__(self, queries: Queries, model: Model, average: Average) -> None:
        self.queries = queries.by_name
        self.model = model
        self.average = average
        self.known: dict[tuple[str, bool], set[Row]] = {}

    def matches(self, query: str, transitive: bool) -> set[Row]:
        if (query, transitive) not in self.known:
            found = self._closure(query) if transitive else self._union(query)
            self.known[query, transitive] = found
        return self.known[query, transitive]

    def _union(self, query: str) -> set[Row]:
        return {
            tuple(bound[v] for v in body.outputs)
            for body in self.queries[query].bodies
            for bound in self._solutions(body.atoms, {})
        }

    def _closure(self, query: str) -> set[Row]:
        followers: dict[Any, list[Any]] = {}
        for start, end in self.matches(query, transitive=False):
            followers.setdefault(start, []).append(end)
        pairs: set[Row] = set()
        for start in followers:
            pending = [start]
            while pending:
                for end in followers.get(pending.pop(), ()):
                    if (start, end) not in pairs:
                        pairs.add((start, end))
                        pending.append(end)
        return pairs

    def _solutions(self, atoms: Sequence[Atom], bound: Bound) -> Iterator[Bound]:
        if not atoms:
            yield bound
            return
        chosen = min(atoms, key=lambda atom: _urgency(atom, bound))
        rest = [atom for atom in atoms if atom is not chosen]
        for variables, row in self._rows(chosen, bound):
            extended = dict(bound)
            for variable, value in zip(variables, row, strict=True):
                if not _is_equal(extended.setdefault(variable, value), value):
                    break
            else:
                yield from self._solutions(rest, extended)

    def _rows(self, atom: Atom, bound: Bound) -> Iterator[tuple[tuple[int, ...], Row]]:
        """Rows of an atom with the variables of their columns; some may not fit what is bound."""
        match atom:
            case Extent(kind=kind, object=one):
                objects = [bound[one]] if one in bound else self.model.objects(kind.name)
                yield from (((one,), (o,)) for o in objects if kind.name in o.kind.ancestors)
            case Step(feature=feature, source=source, target=target):
                owners = [bound[source]] if source in bound else self.model.objects(feature.owner)
                yield from (((source, target), (o, v)) for o in owners for v in _held(o, atom))
            case Mean(feature=feature, size=size, source=source, target=target):
                if feature.owner in bound[source].kind.ancestors:
                    yield (target,), (self.average(bound[source], feature, size),)
            case Call(query=query, transitive=transitive, arguments=arguments):
                yield from ((arguments, row) for row in self.matches(query, transitive))
            case Tally(result=result):
                yield (result,), (self._number(atom, bound),)
            case Constant(variable=variable, value=value):
                yield (variable,), (value,)
            case Same(left=left, right=right):
                value = bound[left if left in bound else right]
                yield (left, right), (value, value)
            case Computed(expr=expr, inputs=inputs, result=result):
                value = compile_expr(expr)(_frame(inputs, bound))
                yield from () if value is None else [((result,), (value,))]
            case _:
                yield from [((), ())] if self._holds(atom, bound) else ()

    def _holds(self, atom: Atom, bound: Bound) -> bool:
        match atom:
            case Absence():
                return not self._number(atom, bound)
            case Different(left=left, right=right):
                return not _is_equal(bound[left], bound[right])
            case Condition(expr=expr, inputs=inputs):
                return compile_condition(expr)(_frame(inputs, bound))
        raise TypeError(f"{type(atom).__name__} has no meaning")

    def _number(self, atom: Absence | Tally, bound: Bound) -> int:
        wanted = [bound[v] for v in atom.arguments]
        return sum(
            all(_is_equal(row[c], w) for c, w in zip(atom.columns, wanted, strict=True))
            for row in self.matches(atom.query, atom.transitive)
        )


def _urgency(atom: Atom, bound: Bound) -> int:
    """What can only be asked once others have answered comes when they have."""
    if isinstance(atom, Same):
        return 0 if atom.left in bound or atom.right in bound else 9
    needed, given = variables_of(atom)
    if not all(variable in bound for variable in needed):
        return 9
    if all(variable in bound for variable in given):
        return 0
    if isinstance(atom, Step) and atom.source in bound:
        return 1
    return {Call: 3, Extent: 4, Step: 5}.get(type(atom), 2)


def _held(one: Object, step: Step) -> Sequence[Any]:
    if step.feature.owner not in one.kind.ancestors:
        return ()
    found: Any = one[step.feature.name]
    if step.feature.is_many:
        return tuple(found)
    return (found,) if found is not None or step.with_nulls else ()


def _frame(inputs: Sequence[tuple[str, int]], bound: Bound) -> Frame:
    return Frame(Event("", 0, {name: bound[variable] for name, variable in inputs}))


def _is_equal(one: Any, other: Any) -> bool:
    return one is other or one == other or (one != one and other != other)  # noqa: PLR0124
