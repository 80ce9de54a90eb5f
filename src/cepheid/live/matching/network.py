"""The relations of a set of queries and the order in which they are brought up to date."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.live.changes import Change, ChangeKind, Commit
from cepheid.live.matching.averages import Means, Readings
from cepheid.live.matching.closure import Closure
from cepheid.live.matching.groups import Groups, Missing, Numbers
from cepheid.live.matching.relations import BaseRelation, Instances, Relation, Results, Values
from cepheid.live.matching.search import Join
from cepheid.live.matching.simplify import simplified
from cepheid.live.metamodel import Feature
from cepheid.live.model import Model, Object
from cepheid.live.queries.resolved import (
    Absence,
    Atom,
    Call,
    Extent,
    Mean,
    Queries,
    ResolvedQuery,
    Step,
    Tally,
)

_CREATE = ChangeKind.CREATE


class Network:
    def __init__(self, model: Model, queries: Queries) -> None:
        self.model = model
        self.results: dict[str, Results] = {}
        self._instances: dict[str, Instances] = {}
        self._values: dict[tuple[Feature, frozenset[str], bool], Values] = {}
        self._readings: dict[tuple[Feature, frozenset[str]], Readings] = {}
        self._means: dict[tuple[Feature, frozenset[str], int], Means] = {}
        self._closures: dict[str, Closure] = {}
        self._groups: dict[tuple[str, bool, tuple[int, ...]], Groups] = {}
        self._missing: dict[Groups, Missing] = {}
        self._numbers: dict[Groups, Numbers] = {}
        self._joins: dict[str, list[Join]] = {}
        self._derived: list[Results | Closure | Groups | Missing | Numbers] = []  # in order
        for name in queries.order:
            self._add(queries.by_name[name])
        self._watching = {name: self._watching_in(name) for name in model.extents}
        self._reading = {name: self._reading_in(name) for name in model.extents}
        self._watching_objects = {
            name: [r for r in self._instances.values() if name in r.kinds] for name in model.extents
        }

    def _add(self, query: ResolvedQuery) -> None:
        results = Results(len(query.parameters))
        joins = []
        for written in query.bodies:
            body = simplified(written, self.model.schema)
            read = [self._relation(atom) for atom in body.atoms]
            joins.append(Join(body, read, results))
        for join in joins:
            join.find_all()
        results.settle()
        results.forget()
        self.results[query.name] = results
        self._joins[query.name] = joins
        self._derived.append(results)
        self._joins_of = {id(r): self._joins[name] for name, r in self.results.items()}

    # Relations, each made once.

    def _relation(self, atom: Atom) -> tuple[Relation, tuple[int, ...]] | None:
        match atom:
            case Extent(kind=kind, object=one):
                if kind.name not in self._instances:
                    self._instances[kind.name] = Instances(self.model, kind)
                return self._instances[kind.name], (one,)
            case Step(source=source, target=target):
                return self._stepped(atom), (source, target)
            case Mean(source=source, target=target):
                return self._mean(atom), (source, target)
            case Call(query=query, transitive=transitive, arguments=arguments):
                return self._called(query, transitive), arguments
            case Absence(arguments=arguments):
                return self._absence(atom), arguments
            case Tally(arguments=arguments, result=result):
                return self._tally(atom), (*arguments, result)
        return None

    def _stepped(self, atom: Step) -> Values:
        assert atom.kinds is not None
        key = (atom.feature, atom.kinds, atom.with_nulls)
        if key not in self._values:
            self._values[key] = Values(self.model, *key)
        return self._values[key]

    def _mean(self, atom: Mean) -> Means:
        assert atom.kinds is not None
        read = (atom.feature, atom.kinds)
        if read not in self._readings:
            self._readings[read] = Readings(self.model, *read)
        key = (*read, atom.size)
        if key not in self._means:
            self._means[key] = Means(self._readings[read], atom.size)
        return self._means[key]

    def _called(self, query: str, transitive: bool) -> Results | Closure:
        if not transitive:
            return self.results[query]
        if query not in self._closures:
            self._closures[query] = Closure(self.results[query])
            self._derived.append(self._closures[query])
        return self._closures[query]

    def _grouped(self, atom: Absence | Tally) -> Groups:
        key = (atom.query, atom.transitive, atom.columns)
        if key not in self._groups:
            self._groups[key] = Groups(self._called(atom.query, atom.transitive), atom.columns)
            self._derived.append(self._groups[key])
        return self._groups[key]

    def _absence(self, atom: Absence) -> Missing:
        groups = self._grouped(atom)
        if groups not in self._missing:
            self._missing[groups] = Missing(groups)
            self._derived.append(self._missing[groups])
        return self._missing[groups]

    def _tally(self, atom: Tally) -> Numbers:
        groups = self._grouped(atom)
        if groups not in self._numbers:
            self._numbers[groups] = Numbers(groups)
            self._derived.append(self._numbers[groups])
        return self._numbers[groups]

    def _watching_in(self, kind: str) -> dict[Feature, list[Values]]:
        """What reads the features of the objects of a class."""
        found: dict[Feature, list[Values]] = {}
        for values in self._values.values():
            if kind in values.kinds:
                found.setdefault(values.feature, []).append(values)
        return found

    def _reading_in(self, kind: str) -> dict[Feature, list[tuple[Readings, list[Means]]]]:
        """Whose moving averages are taken in the objects of a class."""
        found: dict[Feature, list[tuple[Readings, list[Means]]]] = {}
        for readings in self._readings.values():
            if kind in readings.kinds:
                means = [m for m in self._means.values() if m.readings is readings]
                found.setdefault(readings.feature, []).append((readings, means))
        return found

    # A transaction.

    def take(self, commit: Commit) -> None:
        """All relations as they are after it, with what it changed in them."""
        self._read_changes(commit)
        for relation in self._base():
            relation.settle()
        for derived in self._derived:
            if isinstance(derived, Results):
                for join in self._joins_of[id(derived)]:
                    join.find_changed()
            derived.settle()

    def forget(self) -> None:
        for relation in self._base():
            relation.forget()
        for derived in self._derived:
            derived.forget()

    def _base(self) -> Iterable[BaseRelation]:
        yield from self._instances.values()
        yield from self._values.values()
        yield from self._means.values()

    def _read_changes(self, commit: Commit) -> None:
        watching, reading = self._watching, self._reading
        read: dict[tuple[Object, Feature], None] = dict.fromkeys(commit.samples)
        for change in commit.changes:
            _, one, feature, old, new = change
            if feature is None:
                self._come_or_go(change, read)
                continue
            kind = one.kind.name
            for relation in watching[kind].get(feature, ()):
                is_null = relation.with_nulls
                if old is not None or is_null:
                    relation.change((one, old), -1)
                if new is not None or is_null:
                    relation.change((one, new), 1)
            if feature in reading[kind]:
                read[one, feature] = None
        for one, feature in read:
            self._read_value(one, feature)

    def _come_or_go(self, change: Change, read: dict[tuple[Object, Feature], None]) -> None:
        """An object with the attributes that it has from the start, or had at the end."""
        one, weight = change.object, 1 if change.kind is _CREATE else -1
        kind = one.kind.name
        for instances in self._watching_objects[kind]:
            instances.change((one,), weight)
        for feature, relations in self._watching[kind].items():
            if feature.is_attribute:
                for relation in relations:
                    for value in _at_the_edge(one, feature, weight, relation.with_nulls):
                        relation.change((one, value), weight)
        read.update(((one, feature), None) for feature in self._reading[kind])

    def _read_value(self, one: Object, feature: Feature) -> None:
        for readings, means in self._reading[one.kind.name].get(feature, ()):
            if one.is_alive:
                readings.read(one)
            else:
                readings.windows.pop(one, None)
            for mean in means:
                mean.update(one)


def _at_the_edge(one: Object, feature: Feature, weight: int, with_nulls: bool) -> Iterable[object]:
    """What an attribute is when its object is created, and when it is deleted."""
    held = feature.initial if weight > 0 else (one.former or {}).get(feature)
    if held is None:
        return (None,) if with_nulls else ()
    return held if isinstance(held, dict) else (held,)
