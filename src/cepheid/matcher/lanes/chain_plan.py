"""Chains: patterns in which one event follows another.

Most patterns that people write are chains: `every a=A(...) -> b=B(k = a.k) -> ...`, perhaps with a
time limit on the last event, or with its absence instead of it. What each event satisfies on its
own is known for a whole batch at once, and runs are found by the value that they wait for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product, repeat
from typing import Literal, TypeAlias

from cepheid.core.types import INT, LONG, DataType
from cepheid.expr import tree as expr_tree
from cepheid.expr.tree import Expr, Or, conjuncts, mapped, walk
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.lanes.eligibility import is_key, is_row_at_once, names_in
from cepheid.matcher.lanes.expressions import columns_computed
from cepheid.matcher.lanes.predicates import Known, can_test
from cepheid.pattern.algebra import Follows, Occurrence, Taken, common_parameters
from cepheid.pattern.policy import Policy
from cepheid.program.normal import NormalStatement
from cepheid.program.normal.nodes import Awaited, Equality, Every, Line, Node, Wait
from cepheid.program.normal.nodes import Sequence as SequenceNode
from cepheid.program.resolved import ResolvedStatement

Ending: TypeAlias = Literal["event", "absence"]
_MOST_LINKS = 32
_MOST_ALTERNATIVES = 60  # a word has a bit for each
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
class Choice:
    """What must be true of the last event beside one before: all of one alternative.

    Each alternative has conditions on the event of the giver alone, and on the last event alone.
    """

    giver: int
    alternatives: tuple[tuple[tuple[Expr, ...], tuple[Expr, ...]], ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """A statement as the links of a chain.

    `repeats_whole`: the next run begins when one is over; else every first event begins one. Where
    a context keeps keys apart (`is_keyed`), each of them has such a run.
    `period` is the time limit of the last link, or how long it must be absent.
    """

    statement: ResolvedStatement
    links: tuple[Link, ...]
    shown: Mapping[Known, Attribute]  # what the select list looks at
    repeats_whole: bool = False
    period: int | None = None
    ending: Ending = "event"
    context: Policy | None = None  # of a complex event: one run at most takes an event
    noise: tuple[Link, ...] = ()  # other events that matter to it
    choice: Choice | None = None
    is_keyed: bool = False

    @property
    def has_one_run(self) -> bool:
        return self.repeats_whole and not self.is_keyed


def chain_of(statement: NormalStatement, places: ColumnLookup) -> Chain | None:
    """The statement as a chain, if it is one."""
    chain = _chain(statement, places)
    if chain is None or not all(places.has_one(name, a) for name, a in _asked(chain)):
        return None
    return chain


def _asked(chain: Chain) -> Iterator[tuple[str, str]]:
    """Types and the attributes of theirs that a chain looks at."""
    for link in (*chain.links, *chain.noise):
        if link.own is not None:
            yield link.event_type, link.own
        if link.other is not None:
            yield chain.links[link.other.link].event_type, link.other.name
        yield from ((link.event_type, name) for name in names_in(link.tests))
    for attribute in chain.shown.values():
        yield chain.links[attribute.link].event_type, attribute.name
    if chain.choice is not None:
        giver, last = chain.links[chain.choice.giver], chain.links[-1]
        for given, own in chain.choice.alternatives:
            yield from ((giver.event_type, name) for name in names_in(given))
            yield from ((last.event_type, name) for name in names_in(own))


def _chain(normal: NormalStatement, places: ColumnLookup) -> Chain | None:
    statement = normal.resolved
    if not is_row_at_once(statement):
        return None
    if isinstance(statement.pattern, Occurrence):
        return _occurrence(statement, statement.pattern, places)
    shape = _shape(normal.source)
    if shape is None or not 1 < len(shape.events) <= _MOST_LINKS:
        return None
    choice = _choice(shape)
    links = _links(shape.events, has_choice=choice is not None)
    if links is not None and statement.context is not None:
        links = _with_key(statement, links, places)
    if links is None:
        return None
    shown = _shown(statement, shape, places)
    if shown is None:
        return None
    chain = Chain(
        statement,
        links,
        shown,
        shape.repeats_whole,
        shape.period,
        shape.ending,
        choice=choice,
        is_keyed=statement.context is not None,
    )
    # Where a run begins anew at its end, it is found by one column only: that of its key.
    looks_further = choice is not None or (chain.is_keyed and not _has_one_key(links, places))
    return None if chain.repeats_whole and looks_further else chain


def _with_key(
    statement: ResolvedStatement, links: Sequence[Link], places: ColumnLookup
) -> tuple[Link, ...] | None:
    """The links of a chain in a context: each event reminds of the first one by the key.

    What comes from outside has a key, and what is derived may have none, which is a key of its own.
    """
    keys = [statement.key_of(link.event_type) for link in links]
    if any(key is None or len(key) > 1 for key in keys):
        return None
    names = [key[0] for key in keys if key is not None]
    kinds = {kind for link in links for kind in places.kinds_of(link.event_type)}
    pairs = [(link.event_type, name) for link, name in zip(links, names, strict=True)]
    if not kinds.isdisjoint(places.derived) or not all(places.has_one(*pair) for pair in pairs):
        return None
    types = [places.column(*pair).data_type for pair in pairs]
    if not all(is_key(type) and _compare(type, types[0]) for type in types):
        return None
    first = Attribute(0, names[0])
    found = [links[0]]
    for link, name in zip(links[1:], names[1:], strict=True):
        if link.own is not None and (link.own, link.other) != (name, first):
            return None
        found.append(replace(link, own=name, other=first))
    # The key of the first event is what its run is found by.
    return tuple(found)


def _has_one_key(links: Sequence[Link], places: ColumnLookup) -> bool:
    first = links[1].other
    assert first is not None
    asked = {(links[0].event_type, first.name)}
    asked |= {(link.event_type, link.own) for link in links[1:] if link.own is not None}
    return len({places.column(*pair).name for pair in asked}) == 1


# Complex events.


def _occurrence(
    statement: ResolvedStatement, pattern: Occurrence, places: ColumnLookup
) -> Chain | None:
    """Events of different types, one after the other, which have one parameter in common or none."""
    form = pattern.form
    taken = form.parts if isinstance(form, Follows) else (form,)
    calls = [call for call in taken if isinstance(call, Taken)]
    kinds = [places.kinds_of(call.atom.event_type) for call in calls]
    is_distinct = len({kind for some in kinds for kind in some}) == sum(map(len, kinds))
    if len(calls) < max(len(taken), 2) or not is_distinct or len(calls) > _MOST_LINKS:
        return None
    key = () if statement.policy.is_global else common_parameters(form)
    bound = [name for call in calls for name, _ in call.parameters if name not in key]
    if len(key) > 1 or len(set(bound)) < len(bound):
        return None
    links = tuple(map(_linked, calls, repeat(key)))
    noise = tuple(replace(_linked(other, key), other=None) for other in _others(pattern, calls))
    shown = _parameters(statement, calls, places)
    if shown is None or not _have_one_key((*links, *noise), key, places):
        return None
    first = replace(links[0], other=None)
    return Chain(statement, (first, *links[1:]), shown, context=statement.policy, noise=noise)


def _others(pattern: Occurrence, calls: Sequence[Taken]) -> Iterator[Taken]:
    own = {call.atom.event_type for call in calls}
    return (taken for taken in pattern.declared if taken.atom.event_type not in own)


def _linked(call: Taken, key: tuple[str, ...]) -> Link:
    tests = () if call.atom.condition is None else tuple(conjuncts(call.atom.condition))
    own = dict(call.parameters).get(key[0]) if key else None
    return Link(call.atom.event_type, tests, own, None if own is None else Attribute(0, own))


def _have_one_key(links: Sequence[Link], key: tuple[str, ...], places: ColumnLookup) -> bool:
    """Whether one column has the key of all events, if they have one; and all tests can be made."""
    if not all(can_test(test) for link in links for test in link.tests):
        return False
    if not key:
        return True
    owns = [(link.event_type, link.own) for link in links if link.own is not None]
    if len(owns) < len(links) or not all(places.has_one(name, own) for name, own in owns):
        return False
    columns = [places.column(name, own) for name, own in owns]
    return len({column.name for column in columns}) == 1 and is_key(columns[0].data_type)


def _parameters(
    statement: ResolvedStatement, calls: Sequence[Taken], known: ColumnLookup
) -> Mapping[Known, Attribute] | None:
    places = {
        name: Attribute(link, attribute)
        for link, call in reversed([*enumerate(calls)])
        for name, attribute in call.parameters
    }

    def is_known(one: Known) -> bool:
        return isinstance(one, expr_tree.Column) and one.tag in places and not one.path

    found = columns_computed(statement, known, is_known)
    if found is None:
        return None
    columns = (one for one in found if isinstance(one, expr_tree.Column))
    return {one: places[str(one.tag)] for one in columns}


# The shape of a pattern.


@dataclass(frozen=True, slots=True)
class _Shape:
    events: tuple[Awaited, ...]
    repeats_whole: bool = False
    period: int | None = None
    ending: Ending = "event"


def _shape(source: Node) -> _Shape | None:
    match source:
        case Every(Line(waits)):
            events = _only_events(waits)
            return _Shape(events, repeats_whole=True) if events else None
        case SequenceNode((Every(Wait(Awaited() as first, None)), Wait() as last)):
            return _with_last((first,), last)
        case SequenceNode((Every(Wait() as first), Line((*between, last)))):
            events = _only_events((first, *between))
            return _with_last(events, last) if events else None
    return None


def _only_events(waits: Sequence[Wait]) -> tuple[Awaited, ...] | None:
    events = tuple(w.event for w in waits if w.event is not None and w.time is None)
    return events if len(events) == len(waits) else None


def _with_last(events: tuple[Awaited, ...], last: Wait) -> _Shape | None:
    if last.event is None:
        return None
    if last.time is None:
        return _Shape((*events, last.event))
    if last.time.period.months:
        return None  # they differ in length
    ending: Ending = "event" if last.true_by == "event" else "absence"
    return _Shape((*events, last.event), period=last.time.period.microseconds, ending=ending)


# What each link asks for.


def _choice(shape: _Shape) -> Choice | None:
    """What the last event has to do with one before, where alternatives of conditions say so."""
    last = shape.events[-1]
    if not last.rest or shape.ending != "event":
        return None
    places = _places(shape.events[:-1])
    operands = [c.operands if isinstance(c, Or) else (c,) for c in last.rest]
    if math.prod(map(len, operands)) > _MOST_ALTERNATIVES:
        return None
    givers: set[int] = set()
    found = []
    for option in product(*operands):
        given: list[Expr] = []
        own: list[Expr] = []
        for test in (test for one in option for test in conjuncts(one)):
            tags = {node.tag for node in walk(test) if isinstance(node, expr_tree.Column)}
            if len(tags) != 1 or not can_test(_of_event(test)):
                return None
            [tag] = tags
            if tag in places:
                givers.add(places[tag])
            elif tag is not None and tag != last.tag:
                return None
            (given if tag in places else own).append(_of_event(test))
        found.append((tuple(given), tuple(own)))
    return Choice(givers.pop(), tuple(found)) if len(givers) == 1 else None


def _places(events: Sequence[Awaited]) -> dict[str, int]:
    return {event.tag: place for place, event in enumerate(events) if event.tag is not None}


def _of_event(test: Expr) -> Expr:
    """A condition as one on the event at hand."""
    if isinstance(test, expr_tree.Column):
        return replace(test, tag=None)
    return mapped(test, _of_event)


def _links(events: Sequence[Awaited], *, has_choice: bool) -> tuple[Link, ...] | None:
    places = _places(events)
    links = []
    for place, event in enumerate(events):
        is_last = place == len(events) - 1
        if event.rest and not (has_choice and is_last):
            return None
        link = _link(event, place, places)
        if link is None:
            return None
        links.append(link)
    return tuple(links)


def _link(event: Awaited, place: int, places: Mapping[str, int]) -> Link | None:
    if len(event.equal) > 1 or not all(map(can_test, event.own)):
        return None
    if not event.equal:
        return Link(event.event_type, event.own)
    attributes = _attributes(event.equal[0])
    if attributes is None:
        return None
    own, other = attributes
    assert other.tag is not None
    if places[other.tag] >= place:
        return None
    return Link(
        event.event_type,
        event.own,
        own.path[0].name,
        Attribute(places[other.tag], other.path[0].name),
    )


def _attributes(equality: Equality) -> tuple[expr_tree.Column, expr_tree.Column] | None:
    """The attribute of the event itself, and that of an earlier one, where words are compared."""
    match equality.event, equality.bound:
        case expr_tree.Column() as own, expr_tree.Column() as other:
            if _is_key(own) and _is_key(other) and _compare(own.type, other.type):
                return own, other
    return None


def _is_key(column: expr_tree.Column) -> bool:
    return column.is_attribute and is_key(column.type)


def _compare(one: DataType, other: DataType) -> bool:
    """Whether values of two types are equal if their words are."""
    return one == other or (one in _INTEGRAL and other in _INTEGRAL)


# What a row has.


def _shown(
    statement: ResolvedStatement, shape: _Shape, known: ColumnLookup
) -> Mapping[Known, Attribute] | None:
    shown = shape.events[:-1] if shape.ending == "absence" else shape.events
    places: dict[str | None, int] = {event.tag: place for place, event in enumerate(shown)}

    def is_known(one: Known) -> bool:
        return isinstance(one, expr_tree.Column) and one.is_attribute and one.tag in places

    found = columns_computed(statement, known, is_known)
    if found is None:
        return None
    columns = (one for one in found if isinstance(one, expr_tree.Column))
    return {one: Attribute(places[one.tag], one.path[0].name) for one in columns}
