"""Chains: patterns in which one event follows another, and statements over single events.

Most patterns that people write are chains: `every a=A(...) -> b=B(k = a.k) -> ...`, perhaps with a
time limit on the last event, or with its absence instead of it. What each event satisfies on its
own is known for a whole batch at once, and runs are found by the value that they wait for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cepheid.core.time import Period
from cepheid.core.types import INT, LONG, DataType
from cepheid.expr import tree as expr_tree
from cepheid.expr.tree import Binary, Expr, conjuncts, walk
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.lanes.eligibility import KEYS, SHOWN, names_in, tells_at_once
from cepheid.matcher.lanes.predicates import can_test
from cepheid.pattern.tree import Absent, AllOf, Atom, Every, FollowedBy, Interval, Pattern, Within
from cepheid.program.resolved import ResolvedStatement, Shape

Ending: TypeAlias = Literal["event", "absence"]
_MOST_LINKS = 32
_INTEGRAL = (INT, LONG)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the event of one link."""

    link: int
    name: str


@dataclass(frozen=True, slots=True)
class Link:
    """An event of a chain: its type, what must be true of it alone, and of whom it reminds."""

    event_type: str
    tests: tuple[Expr, ...]
    own: str | None = None  # the attribute that equals
    other: Attribute | None = None  # one of an event before


@dataclass(frozen=True, slots=True)
class Chain:
    """A statement as the links of a chain.

    `repeats_whole`: the next run begins when one is over; else every first event begins one.
    `period` is the time limit of the last link, or how long it must be absent.
    """

    statement: ResolvedStatement
    links: tuple[Link, ...]
    columns: tuple[tuple[str, DataType, Attribute], ...]
    repeats_whole: bool = False
    period: int | None = None
    ending: Ending = "event"


def chain_of(statement: ResolvedStatement, places: ColumnLookup) -> Chain | None:
    """The statement as a chain, if it is one."""
    chain = _chain(statement, places)
    if chain is None or not all(places.has_one(name, a) for name, a in _asked(chain)):
        return None
    return chain


def _asked(chain: Chain) -> Iterator[tuple[str, str]]:
    """Types and the attributes of theirs that a chain looks at."""
    for link in chain.links:
        if link.own is not None:
            yield link.event_type, link.own
        if link.other is not None:
            yield chain.links[link.other.link].event_type, link.other.name
        yield from ((link.event_type, name) for name in names_in(link.tests))
    for _, _, attribute in chain.columns:
        yield chain.links[attribute.link].event_type, attribute.name


def _chain(statement: ResolvedStatement, places: ColumnLookup) -> Chain | None:
    if not _is_plain(statement):
        return None
    shape = _shape(statement)
    if shape is None or len(shape.atoms) > _MOST_LINKS:
        return None
    links = _links(shape.atoms)
    if links is None:
        return None
    columns = _columns(statement, shape, places)
    if columns is None:
        return None
    return Chain(statement, links, columns, shape.repeats_whole, shape.period, shape.ending)


def _is_plain(statement: ResolvedStatement) -> bool:
    """Whether each match is a row, at once."""
    is_row = statement.shape is Shape.ROW and not statement.group_by
    return is_row and statement.tree.window is None and tells_at_once(statement)


# The shape of a pattern.


@dataclass(frozen=True, slots=True)
class _Shape:
    atoms: tuple[Atom, ...]
    repeats_whole: bool = False
    period: int | None = None
    ending: Ending = "event"


def _shape(statement: ResolvedStatement) -> _Shape | None:
    match statement.pattern:
        case None:
            assert statement.event_type is not None
            return _Shape((Atom(statement.event_type, None, statement.condition),))
        case Every(Atom() as atom):
            return _Shape((atom,))
        case Every(FollowedBy(parts)):
            atoms = _only_atoms(parts)
            return _Shape(atoms, repeats_whole=True) if atoms else None
        case FollowedBy((Every(Atom() as first), *between, last)):
            atoms = _only_atoms((first, *between))
            return _with_last(atoms, last) if atoms else None
    return None


def _only_atoms(parts: Sequence[Pattern]) -> tuple[Atom, ...] | None:
    atoms = tuple(part for part in parts if isinstance(part, Atom))
    return atoms if len(atoms) == len(parts) else None


def _with_last(atoms: tuple[Atom, ...], last: Pattern) -> _Shape | None:
    match last:
        case Atom():
            return _Shape((*atoms, last))
        case Within(Atom() as atom, period, most=None) if _is_fixed(period):
            return _Shape((*atoms, atom), period=period.microseconds)
        case AllOf((Interval(period), Absent(Atom() as atom))) | AllOf(
            (Absent(Atom() as atom), Interval(period))
        ) if _is_fixed(period):
            return _Shape((*atoms, atom), period=period.microseconds, ending="absence")
    return None


def _is_fixed(period: Period) -> bool:
    """Months differ in length; what takes no time at all happens while the event is taken."""
    return period.months == 0 and not period.is_zero


# What each link asks for.


def _links(atoms: Sequence[Atom]) -> tuple[Link, ...] | None:
    places = {atom.tag: place for place, atom in enumerate(atoms) if atom.tag is not None}
    links = []
    for place, atom in enumerate(atoms):
        link = _link(atom, place, places)
        if link is None:
            return None
        links.append(link)
    return tuple(links)


def _link(atom: Atom, place: int, places: Mapping[str, int]) -> Link | None:
    parts = conjuncts(atom.condition)
    alone = [part for part in parts if not _bound(part)]
    across = [part for part in parts if _bound(part)]
    if len(across) > 1 or not all(map(can_test, alone)):
        return None
    if not across:
        return Link(atom.event_type, tuple(alone))
    equality = _equality(across[0])
    if equality is None:
        return None
    own, other = equality
    assert other.tag is not None
    if places[other.tag] >= place:
        return None
    return Link(
        atom.event_type,
        tuple(alone),
        own.path[0].name,
        Attribute(places[other.tag], other.path[0].name),
    )


def _bound(expr: Expr) -> list[expr_tree.Column]:
    return [n for n in walk(expr) if isinstance(n, expr_tree.Column) and n.tag is not None]


def _equality(expr: Expr) -> tuple[expr_tree.Column, expr_tree.Column] | None:
    """The attribute of the event itself, and that of an earlier one that it must equal."""
    match expr:
        case Binary("=", expr_tree.Column() as left, expr_tree.Column() as right):
            own, other = (left, right) if left.tag is None else (right, left)
            is_equality = own.tag is None and other.tag is not None
            if is_equality and _is_key(own) and _is_key(other) and _compare(own.type, other.type):
                return own, other
    return None


def _is_key(column: expr_tree.Column) -> bool:
    return column.is_attribute and column.type in KEYS


def _compare(one: DataType, other: DataType) -> bool:
    """Whether values of two types are equal if their words are."""
    return one == other or (one in _INTEGRAL and other in _INTEGRAL)


# What a row has.


def _columns(
    statement: ResolvedStatement, shape: _Shape, known: ColumnLookup
) -> tuple[tuple[str, DataType, Attribute], ...] | None:
    shown = shape.atoms[:-1] if shape.ending == "absence" else shape.atoms
    places: dict[str | None, int] = {atom.tag: place for place, atom in enumerate(shown)}
    if statement.pattern is None:
        places = {None: 0}
    types = known.derived[statement.target]
    found = []
    for column in statement.columns:
        expr = column.expr
        if not isinstance(expr, expr_tree.Column) or not expr.is_attribute:
            return None
        if expr.tag not in places or expr.type != types[column.name]:
            return None
        if expr.type not in SHOWN:
            return None
        found.append((column.name, expr.type, Attribute(places[expr.tag], expr.path[0].name)))
    names = [name for name, _, _ in found]
    return tuple(found) if names == list(types) else None
