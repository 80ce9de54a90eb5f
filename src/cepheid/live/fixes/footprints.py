"""What a step looks at and what it changes: steps that stay out of each other's way can change places.

A place is an object and one of its features, or its life. Where it is not known which object is looked
at, it may be any; so too much is noted rather than too little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from cepheid.expr.tree import Expr, Ref, walk
from cepheid.live.changes import Change, ChangeKind, Held
from cepheid.live.metamodel import Feature
from cepheid.live.model import Object
from cepheid.live.programs import Repair
from cepheid.live.queries.resolved import (
    Absence,
    Atom,
    Call,
    Extent,
    Queries,
    ResolvedBody,
    Same,
    Step,
    Tally,
)
from cepheid.program.actions import (
    Action,
    Choice,
    CreateObject,
    DeleteObject,
    MoveObject,
    SetFeature,
    steps,
)

LIFE = "#"  # no feature is called so
Place: TypeAlias = tuple[Object, str]
Domain: TypeAlias = "frozenset[Object] | None"  # the objects that a variable can be; None: any


@dataclass(slots=True)
class Reads:
    """Places, and features of whichever objects."""

    places: set[Place] = field(default_factory=set)
    anywhere: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Footprint:
    reads: frozenset[Place]
    reads_anywhere: frozenset[str]
    writes: frozenset[Place]
    writes_anywhere: frozenset[str]
    moves: bool  # whether it hangs an object elsewhere: that may be refused after another such step

    @cached_property
    def touched(self) -> frozenset[Place]:
        return self.reads | self.writes

    @cached_property
    def written(self) -> frozenset[str]:
        return frozenset(name for _, name in self.writes) | self.writes_anywhere

    def disturbs(self, other: Footprint) -> bool:
        """Whether it changes what the other one looks at or changes."""
        return not (
            self.writes.isdisjoint(other.touched)
            and self.written.isdisjoint(other.reads_anywhere)
            and self.written.isdisjoint(other.writes_anywhere)
            and not any(name in self.writes_anywhere for _, name in other.touched)
        )


def are_independent(one: Footprint, other: Footprint) -> bool:
    """Whether both can be done in either order, and lead to the same."""
    if one.moves and other.moves:
        return False
    return not (one.disturbs(other) or other.disturbs(one))


class Footprints:
    """The footprints of the steps that repairs make."""

    def __init__(self, queries: Queries, repairs: Sequence[Repair]) -> None:
        self._queries = queries.by_name
        self._bodies = [_BodyReads(repair) for repair in repairs]
        self._everything: dict[str, frozenset[str]] = {}

    def before(self, repair: int, query: str, row: Sequence[Held]) -> Reads:
        """What a match depends on, asked for before the step."""
        reads = Reads()
        given = [frozenset((v,)) if isinstance(v, Object) else None for v in row]
        self._read_query(query, given, reads)
        self._bodies[repair].read(row, reads)
        return reads

    def of(
        self, repair: int, row: Sequence[Held], reads: Reads, changes: Iterable[Change]
    ) -> Footprint:
        """Of a step that was made: what it depends on, and what it has changed or would have."""
        body = self._bodies[repair]
        writes = set(body.written(row))
        places = reads.places | {(one, LIFE) for one, _ in writes}
        moves = False
        new: set[Object] = set()
        for kind, one, feature, old, value in changes:
            if feature is None:
                names = (f.name for f in one.kind.features.values())
                writes.update((one, name) for name in (*names, LIFE, _life_of(one.type)))
                if kind is ChangeKind.CREATE:
                    new.add(one)
                continue
            writes.add((one, feature.name))
            places.add((one, LIFE))
            places.update((v, LIFE) for v in (old, value) if isinstance(v, Object))
            moves |= feature.is_containment and isinstance(value, Object) and value not in new
        return Footprint(
            frozenset(places),
            frozenset(reads.anywhere),
            frozenset(writes),
            frozenset(body.written_anywhere),
            moves,
        )

    # Queries: which places decide whether a match is one.

    def _read_query(self, name: str, given: Sequence[Domain], reads: Reads) -> list[Domain]:
        """Notes what is read where the parameters are such objects; what the parameters can be."""
        found = [
            _BodyDomains(self, body, given, reads).outputs() for body in self._queries[name].bodies
        ]
        return [
            None if any(d is None for d in domains) else frozenset().union(*domains)
            for domains in zip(*found, strict=True)
        ]

    def read_call(
        self, atom: Call | Absence | Tally, given: list[Domain], reads: Reads
    ) -> list[Domain]:
        if atom.transitive:
            reads.anywhere |= self._all_of(atom.query)
            return [None] * len(given)
        return self._read_query(atom.query, given, reads)

    def arity(self, query: str) -> int:
        return len(self._queries[query].parameters)

    def _all_of(self, query: str) -> frozenset[str]:
        """Everything that a query looks at, of whichever objects."""
        if query not in self._everything:
            names: set[str] = set()
            for atom in (a for body in self._queries[query].bodies for a in body.atoms):
                names.update(_names_of(atom))
                if isinstance(atom, Call | Absence | Tally):
                    names |= self._all_of(atom.query)
            self._everything[query] = frozenset(names)
        return self._everything[query]


def _life_of(type: str) -> str:
    """That there are objects of a class."""
    return f"#{type}"


def _names_of(atom: Atom) -> Iterator[str]:
    if isinstance(atom, Step):
        yield atom.feature.name
    elif isinstance(atom, Extent):
        yield from map(_life_of, atom.kind.subclasses)


class _BodyDomains:
    """Follows the atoms of a body from objects that are given; what they can lead to depends only on
    places that are noted on the way."""

    def __init__(
        self, owner: Footprints, body: ResolvedBody, given: Sequence[Domain], reads: Reads
    ) -> None:
        self.owner = owner
        self.body = body
        self.reads = reads
        self.domains: dict[int, frozenset[Object]] = {}
        for variable, domain in zip(body.outputs, given, strict=True):
            self.bind(variable, domain)
        self.pending = [a for a in body.atoms if isinstance(a, Step | Extent | Same)]
        self.calls = [a for a in body.atoms if isinstance(a, Call)]
        self.follow()

    def outputs(self) -> list[Domain]:
        return [self.domains.get(variable) for variable in self.body.outputs]

    def bind(self, variable: int, domain: Domain) -> None:
        if domain is not None and variable not in self.domains:
            self.domains[variable] = domain

    def follow(self) -> None:
        while True:
            rest = [atom for atom in self.pending if not self.step(atom)]
            if len(rest) == len(self.pending):
                if not self.calls:
                    break
                self.call(self.calls.pop(0))
            self.pending = rest
        for atom in self.pending:
            self.reads.anywhere.update(_names_of(atom))
        for asking in self.body.atoms:
            if isinstance(asking, Absence | Tally):
                given: list[Domain] = [None] * self.owner.arity(asking.query)
                for column, variable in zip(asking.columns, asking.arguments, strict=True):
                    given[column] = self.domains.get(variable)
                self.owner.read_call(asking, given, self.reads)

    def call(self, atom: Call) -> None:
        given = [self.domains.get(variable) for variable in atom.arguments]
        found = self.owner.read_call(atom, given, self.reads)
        for variable, domain in zip(atom.arguments, found, strict=True):
            self.bind(variable, domain)

    def step(self, atom: Atom) -> bool:
        """Whether it is known where an atom looks; that is noted then."""
        domains = self.domains
        match atom:
            case Extent(object=one) if one in domains:
                self.reads.places.update((o, LIFE) for o in domains[one])
            case Step(feature=feature, source=source, target=target) if source in domains:
                self.reads.places.update((o, feature.name) for o in domains[source])
                if not feature.is_attribute:
                    self.bind(target, _targets(domains[source], feature))
            case Step(feature=feature, source=source, target=target) if (
                target in domains and feature.opposite is not None
            ):
                back = feature.opposite
                self.reads.places.update((o, back.name) for o in domains[target])
                self.bind(source, _targets(domains[target], back))
            case Same(left=left, right=right) if left in domains or right in domains:
                self.bind(left, domains.get(right))
                self.bind(right, domains.get(left))
            case _:
                return False
        return True


def _targets(sources: Iterable[Object], feature: Feature) -> frozenset[Object]:
    found: set[Object] = set()
    for one in sources:
        held = one.values.get(feature)
        found.update(held if isinstance(held, dict) else () if held is None else (held,))  # type: ignore[arg-type]
    return frozenset(found)


class _BodyReads:
    """What the steps of a fix look at and set, whichever way they go.

    From an object of the match the first feature of a path is a place; the features after it may be
    those of any object, since the steps before may have changed where the path leads. Other names stand
    for objects that the fix makes itself.
    """

    def __init__(self, repair: Repair) -> None:
        self.columns: Mapping[str, int] = dict(repair.columns)
        self.read_at: set[tuple[int, str]] = set()
        self.read_anywhere: set[str] = set()
        self.set_at: set[tuple[int, str]] = set()
        self.written_anywhere: set[str] = set()
        for action in steps(repair.fix.body):
            self._note(action)

    def read(self, row: Sequence[Held], reads: Reads) -> None:
        reads.anywhere |= self.read_anywhere
        reads.places |= _at(self.read_at, row)

    def written(self, row: Sequence[Held]) -> set[Place]:
        """What is set, also where it is set to what it was."""
        return _at(self.set_at, row)

    def _note(self, action: Action) -> None:
        match action:
            case SetFeature(target=target, value=value):
                self._read(value)
                self._write(target)
            case CreateObject(container=container, values=values):
                for given in values:
                    self._read(given.value)
                if container is not None:
                    self._write(container)
            case DeleteObject(object=one):
                self._read(one)
            case MoveObject(object=one, container=container):
                self._read(one)
                self._write(container)
            case Choice(condition=condition):
                self._read(condition)

    def _read(self, expr: Expr) -> None:
        for part in walk(expr):
            if isinstance(part, Ref):
                self._path([p.name for p in part.parts])

    def _path(self, names: Sequence[str]) -> None:
        head, features = names[0], names[1:]
        if features and head in self.columns:
            self.read_at.add((self.columns[head], features[0]))
        self.read_anywhere.update(features[1:])

    def _write(self, target: Ref) -> None:
        *owner, name = (part.name for part in target.parts)
        self._path(owner)
        if len(owner) > 1:
            self.written_anywhere.add(name)
        elif owner[0] in self.columns:
            self.set_at.add((self.columns[owner[0]], name))


def _at(columns: Iterable[tuple[int, str]], row: Sequence[Held]) -> set[Place]:
    found: set[Place] = set()
    for column, name in columns:
        one = row[column]
        if isinstance(one, Object):
            found.add((one, name))
    return found
