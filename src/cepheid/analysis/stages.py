"""Groups of statements that share one exchange of events.

The events that a stage takes from outside are split once, by one key, and each part runs all
statements of the stage in one pass. What a statement derives for another one of its stage stays in
the part where it was derived. That is right only if the part is also the one of the derived event's
own key: the attribute must come, unchanged, from an event of the part that has it as its key. A
derived event that does not carry the key, or feeds another one, goes to a later stage.

Statements that any split suits join whatever stage there is. Where no split suits, the stage is one
part. Statements of a cycle share a stage; without a key in common it is one part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from cepheid.analysis.keys import Path, Split, common_types, place_of, split_of, surely_taken
from cepheid.analysis.pushdown import (
    Columns,
    Filters,
    any_of,
    columns_of,
    early_filters,
)
from cepheid.core.types import DOUBLE, FLOAT, INT, LONG, DataType, EventType, lineage
from cepheid.expr.tree import Cast, Expr
from cepheid.program.graph import Graph, graph_of
from cepheid.program.normal import normalize_statement
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement

Place: TypeAlias = Mapping[str, Path]  # one attribute of a key, as each type has it
_INJECTIVE = {(INT, LONG), (INT, DOUBLE), (FLOAT, DOUBLE)}  # casts that keep values apart


@dataclass(frozen=True, slots=True)
class Stage:
    """`inputs` come from outside, or from the earlier stages that `sources` numbers.

    `key` is None for one part; a type that it does not have may be split in any way. `key_types`
    are the types to which values are cast before they are hashed. Of the inputs only `columns`
    travel, and only events that satisfy `filters`. In a cyclic stage, statements take what comes of
    their own rows.
    """

    statements: tuple[ResolvedStatement, ...]
    key: Mapping[str, tuple[Path, ...]] | None
    key_types: tuple[DataType, ...]
    inputs: tuple[str, ...]
    sources: Mapping[str, tuple[int, ...]]
    outputs: tuple[str, ...]
    columns: Columns
    filters: Filters
    is_cyclic: bool


def stages(program: ResolvedProgram) -> tuple[Stage, ...]:
    """The stages of a program, each after those that it takes events from."""
    splits = [split_of(statement, program.types) for statement in program.statements]
    return _Planner(program, splits, graph_of(program)).stages()


@dataclass(slots=True)
class _Draft:
    members: list[int]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class _Planner:
    """Statements are known by their numbers."""

    program: ResolvedProgram
    splits: Sequence[Split]
    graph: Graph

    @property
    def types(self) -> Mapping[str, EventType]:
        return self.program.types

    def stages(self) -> tuple[Stage, ...]:
        drafts: list[_Draft] = []
        home: dict[int, int] = {}
        producers = self.graph.producers
        for component in self.graph.components:
            makers = {p for n in component for p in producers[n]} - set(component)
            place = self._place(component, drafts, {home[maker] for maker in makers})
            drafts[place].members += component
            home.update(dict.fromkeys(component, place))
        return tuple(self._stage(draft, home) for draft in drafts)

    def _place(self, component: Sequence[int], drafts: list[_Draft], makers: set[int]) -> int:
        """The number of the stage that a component joins, perhaps a new one."""
        later = range(max(makers, default=0), len(drafts))
        is_whole = self._settled(component) is None
        is_free = all(self.splits[n].by == {} for n in component)
        for number in later:
            if is_whole == drafts[number].is_whole and self._suits(component, drafts[number]):
                return number
        for number in later:
            if is_free and drafts[number].is_whole and number in makers:
                return number  # what is in one part already may stay there
        drafts.append(_Draft([], is_whole))
        return len(drafts) - 1

    def _suits(self, component: Sequence[int], draft: _Draft) -> bool:
        return draft.is_whole or self._settled([*draft.members, *component]) is not None

    # Keys.

    def _settled(self, members: Sequence[int]) -> tuple[Place, ...] | None:
        """The attributes of a key that suits all members; empty if any does, None if none does."""
        places: tuple[Place, ...] = ()
        for n in members:
            by = self.splits[n].by
            if by is None:
                return None
            places = _merged(places, _transposed(by), self.types)
            if by and not places:
                return None
        settled = tuple(p for place in places if (p := self._carried(place, members)) is not None)
        return None if places and not settled else settled

    def _carried(self, place: Place, members: Sequence[int]) -> Place | None:
        """The place with those of all events that located ones are derived from.

        None if a derived event would not have the key of its part.
        """
        found = dict(place)
        pending = list(found)
        while pending:
            name = pending.pop()
            for n in members:
                statement = self.program.statements[n]
                if name not in lineage(statement.target, self.types):
                    continue
                origin = _origin(statement, found[name])
                if origin is None:
                    return None
                event_type, path = origin
                if event_type not in found:
                    pending.append(event_type)
                if found.setdefault(event_type, path) != path:
                    return None
        return found if _is_consistent(found, self.types) else None

    # Stages.

    def _stage(self, draft: _Draft, home: Mapping[int, int]) -> Stage:
        members = sorted(draft.members)
        statements = tuple(self.program.statements[n] for n in members)
        inputs = tuple(dict.fromkeys(self._outside(members)))
        places = None if draft.is_whole else self._settled(draft.members)
        # Events of a type that the stage derives may come from outside, too.
        taken = dict.fromkeys(name for s in statements for name in s.arriving(self.types))
        key, key_types = self._key(places, tuple(taken))
        return Stage(
            statements,
            key,
            key_types,
            inputs,
            {name: self._sources(name, members, home) for name in inputs},
            tuple(dict.fromkeys(s.target for s in statements)),
            self._columns(members, inputs, key or {}),
            self._filters(statements, inputs),
            self._has_cycle(members),
        )

    def _has_cycle(self, members: Sequence[int]) -> bool:
        return any(set(cycle) <= set(members) for cycle in self.graph.cycles)

    def _outside(self, members: Sequence[int]) -> Iterator[str]:
        """The types that arrive from outside the stage."""
        makers: dict[str, set[int]] = {}
        for n, statement in enumerate(self.program.statements):
            makers.setdefault(statement.target, set()).add(n)
        for n in members:
            for name in self.program.statements[n].arriving(self.types):
                if not makers.get(name) or makers[name] - set(members):
                    yield name

    def _sources(
        self, name: str, members: Sequence[int], home: Mapping[int, int]
    ) -> tuple[int, ...]:
        makers = (n for n, s in enumerate(self.program.statements) if s.target == name)
        return tuple(sorted({home[n] for n in makers if n not in members}))

    def _key(
        self, places: tuple[Place, ...] | None, inputs: Sequence[str]
    ) -> tuple[Mapping[str, tuple[Path, ...]] | None, tuple[DataType, ...]]:
        if places is None:
            return None, ()
        key: dict[str, tuple[Path, ...]] = {}
        for name in inputs:
            for declared in lineage(name, self.types):
                paths = tuple(place[declared] for place in places if declared in place)
                if paths:
                    key[name] = paths
        return key, common_types(key, self.types) or ()

    def _columns(
        self, members: Sequence[int], inputs: Sequence[str], key: Mapping[str, tuple[Path, ...]]
    ) -> Columns:
        needed: dict[str, set[str]] = {n: {p[0] for p in key.get(n, ())} for n in inputs}
        for n in members:
            statement = self.program.statements[n]
            for name, columns in columns_of(statement, self.types, self.splits[n]).items():
                if name in needed:
                    needed[name].update(columns)
        return {name: _ordered(self.types[name], needed[name]) for name in inputs}

    def _filters(self, statements: Iterable[ResolvedStatement], inputs: Sequence[str]) -> Filters:
        found = [early_filters(statement, self.types) for statement in statements]
        return {name: any_of(f[name] for f in found if name in f) for name in inputs}


def _ordered(event_type: EventType, names: set[str]) -> tuple[str, ...]:
    declared = [a.name for a in event_type.attributes if a.name in names]
    return (*declared, *sorted(names.difference(declared)))


def _transposed(by: Mapping[str, tuple[Path, ...]]) -> tuple[Place, ...]:
    return tuple(dict(zip(by, paths, strict=True)) for paths in zip(*by.values(), strict=False))


def _merged(
    places: tuple[Place, ...], others: tuple[Place, ...], types: Mapping[str, EventType]
) -> tuple[Place, ...]:
    """The attributes of a key that splits for both; fewer than one of them has split as well."""
    if not places or not others:
        return places or others
    related = any(_are_related(a, b, types) for a, b in product(places[0], others[0]))
    pairs = product(places, others) if related else zip(places, others, strict=False)
    joined = ({**one, **other} for one, other in pairs if _agree(one, other, types))
    return tuple(place for place in joined if _is_consistent(place, types))


def _agree(one: Place, other: Place, types: Mapping[str, EventType]) -> bool:
    pairs = product(one, other)
    return all(one[a] == other[b] for a, b in pairs if _are_related(a, b, types))


def _are_related(a: str, b: str, types: Mapping[str, EventType]) -> bool:
    """Whether an event can be of both types."""
    return a in lineage(b, types) or b in lineage(a, types)


def _is_consistent(place: Place, types: Mapping[str, EventType]) -> bool:
    keys = {name: (path,) for name, path in place.items()}
    return _agree(place, place, types) and common_types(keys, types) is not None


def _origin(statement: ResolvedStatement, path: Path) -> tuple[str, Path] | None:
    """Of which input event, and where in it, a derived attribute is a copy."""
    column = next((c for c in statement.columns if path and c.name == path[0]), None)
    place = place_of(_without_casts(column.expr)) if column else None
    if place is None:
        return None
    tag, source = place
    owners = {e.tag: e.event_type for e in surely_taken(normalize_statement(statement).source)}
    return (owners[tag], (*source, *path[1:])) if tag in owners else None


def _without_casts(expr: Expr) -> Expr:
    while isinstance(expr, Cast) and (expr.operand.type, expr.target) in _INJECTIVE:
        expr = expr.operand
    return expr
