"""Queries that can put events together which lie further apart than the observation span.

The observation span is a promise: life spans follow from it. Conditions such as `(a + 30m) > b AND b > a` keep it
whatever comes; without them it is up to the events.

- A warning: the conditions say how far two events may lie apart, and it is more than the span. A note: they say nothing.
- What must be missing has to lie near, too. Else a window may forget what holds an event back, and then announce it.
- Definition 4.10 leaves out actions on what changes long after its time. In programs that need it, an event must not occur
  before what it is made of, or what is learnt of it comes too late.

What is seen: comparisons of occurrence times (distances.py) in WHERE, ON and HAVING, of derived tables and subqueries as
well. What is not seen: conditions behind OR, and times that attributes hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from sqlglot import exp

from cepheid.analysis.classes.distances import Bound, Distances, bounds, most_after, name_of
from cepheid.analysis.classes.keys import Determined
from cepheid.analysis.classes.monotone import reasons_of
from cepheid.analysis.classes.written import listed, short, span_of
from cepheid.analysis.lifespans import spans_of
from cepheid.core.time import Period
from cepheid.errors import Diagnostic, Span, note, warning
from cepheid.program.classes import ComplexClass
from cepheid.program.graph import Graph
from cepheid.program.resolved import ResolvedClass
from cepheid.sql.dialect import parse_select
from cepheid.sql.places import Places
from cepheid.sql.selects import (
    Source,
    branches,
    conjuncts,
    is_grouped,
    sources,
    subqueries,
)

_NOTHING = Fraction(0)


def find(graph: Graph) -> Iterator[Diagnostic]:
    classes = {resolved.name: resolved for resolved in graph.program.classes}
    yield from _early(graph)
    for resolved in graph.program.classes:
        if isinstance(resolved.declared, ComplexClass) and resolved.query is not None:
            written = branches(parse_select(resolved.declared.select))
            for select, text in zip(branches(resolved.query.tree), written, strict=True):
                yield from _Select(resolved.declared, classes, select, text).find()


@dataclass(frozen=True, slots=True)
class _Event:
    """A time that a query reads: the occurrence of an event under an alias."""

    alias: str
    time: str
    table: str


class _Select:
    """One SELECT of a class, resolved and as written."""

    def __init__(
        self,
        declared: ComplexClass,
        classes: Mapping[str, ResolvedClass],
        select: exp.Select,
        text: exp.Select,
    ) -> None:
        self._classes = classes
        self._span = declared.observation.microseconds
        self._select = select
        self._text = text
        self._places = Places(declared.select)
        self._name = declared.name

    def find(self) -> Iterator[Diagnostic]:
        events, known = _read(self._select)
        found = list(self._apart(events, Distances(known)))
        if not found and is_grouped(self._select):
            found = list(self._of_groups(Distances(_of_having(self._select))))
        yield from found
        inner = list(subqueries(self._select))
        written = list(subqueries(self._text))
        for number, asked in enumerate(inner):
            for select in branches(asked.query):
                more, also = _read(select)
                distances = Distances([*known, *also])
                if not asked.is_negated:
                    yield from self._apart([*events, *more], distances)
                elif len(inner) == len(written):
                    place = span_of(self._places, written[number].node)
                    yield from self._open_negation(events, more, distances, place)

    # Events that are put together

    def _apart(self, events: list[_Event], distances: Distances) -> Iterator[Diagnostic]:
        open_pairs = []
        for later, earlier in permutations(events, 2):
            most = distances.most(later.time, earlier.time)
            if most is None:
                open_pairs.append((later, earlier))
            elif most > self._span:
                fact = (
                    f"'{later.alias}' may be {Period(round(most))} after '{earlier.alias}': the"
                    f" observation span of '{self._name}' is {Period(self._span)}"
                )
                hint = f"say `{self._near(later.alias, earlier.alias)}`, or make the span longer"
                yield warning("observation-span", fact, self._place(later.alias), hint)
        if open_pairs:
            names = [e.alias for e in events if any(e in pair for pair in open_pairs)]
            later, earlier = open_pairs[0]
            fact = (
                f"no condition says how far {listed(names)} lie apart: that it is at most"
                f" {Period(self._span)} is up to the events"
            )
            hint = (
                f"'{later.alias}' more than {Period(self._span)} after '{earlier.alias}' breaks the"
                f" observation span; `{self._near(later.alias, earlier.alias)}` leaves such events out"
            )
            yield note("observation-span", fact, self._place(later.alias), hint)

    def _near(self, later: str, earlier: str) -> str:
        return f"{later} <= {earlier} + {short(self._span)}"

    def _of_groups(self, distances: Distances) -> Iterator[Diagnostic]:
        """The rows of a group may lie anywhere, unless HAVING says how far apart."""
        group = self._select.args.get("group")
        told = Determined(self._select, self._classes, group.expressions if group else ())
        for source in sources(self._select):
            if source.table is None or told.is_whole(source):
                continue
            time = name_of(source.alias, "occ")
            most = distances.most(f"max {time}", f"min {time}")
            if most is not None and most <= self._span:
                continue
            fact = (
                f"no condition says how far the events '{source.alias}' of a group lie apart: that it is"
                f" at most {Period(self._span)} is up to the events"
            )
            test = f"MAX({source.alias}) <= MIN({source.alias}) + {short(self._span)}"
            hint = f"`HAVING {test}` leaves other groups out"
            yield note("observation-span", fact, self._place(source.alias), hint)
            return

    # Events that must be missing

    def _open_negation(
        self, events: list[_Event], missing: list[_Event], distances: Distances, place: Span
    ) -> Iterator[Diagnostic]:
        for absent in missing:
            for present in events:
                both = (
                    distances.most(absent.time, present.time),
                    distances.most(present.time, absent.time),
                )
                if any(most is None or most > self._span for most in both):
                    fact = (
                        f"'{absent.alias}' may lie further from '{present.alias}' than the observation"
                        f" span of '{self._name}': a window that forgets it makes events appear"
                    )
                    span = short(self._span)
                    test = f"{absent.alias} BETWEEN {present.alias} - {span} AND {present.alias} + {span}"
                    yield note("open-negation", fact, place, f"`{test}` bounds it")
                    return

    def _place(self, alias: str) -> Span:
        for table in self._text.find_all(exp.Table, exp.Subquery):
            if table.alias_or_name.lower() == alias.lower():
                return self._places.of(table)
        return self._places.whole


# Events that occur before what they are made of


def _early(graph: Graph) -> Iterator[Diagnostic]:
    """Where windows leave out what comes too late: what may be learnt later than that.

    All that is learnt of an event is learnt until twice its freezing time after it, so that it must not occur after the
    complex event which it is behind.
    """
    classes = graph.program.classes
    if not any(reasons_of(classes).values()):
        return
    spans = spans_of(classes)
    learnt: dict[str, Fraction | None] = {}  # how long after its time an event may still change
    for resolved in classes:
        allowed = 2 * spans[resolved.name].freezing
        if not isinstance(resolved.declared, ComplexClass):
            learnt[resolved.name] = Fraction(allowed)
            continue
        learnt[resolved.name] = _learnt(resolved, learnt)
        latest = learnt[resolved.name]
        if latest is None:  # other findings say that nothing bounds it
            learnt[resolved.name] = Fraction(allowed)
        elif latest > allowed:
            fact = (
                f"events of '{resolved.name}' may be learnt {Period(round(latest))} after their time:"
                f" sliding-actions acts on what is learnt until {Period(allowed)} after it"
            )
            hint = "let them occur at the latest event that they are made of, as in MAX(a, b)"
            place = Places(resolved.declared.occurring).whole
            yield note("early-occurrence", fact, place, hint)
            learnt[resolved.name] = Fraction(allowed)  # said once


def _learnt(resolved: ResolvedClass, learnt: Mapping[str, Fraction | None]) -> Fraction | None:
    assert resolved.query is not None
    found: list[Fraction | None] = []
    for select in branches(resolved.query.tree):
        events, known = _read(select)
        asked = [_read(inner) for each in subqueries(select) for inner in branches(each.query)]
        for more, also in [(events, known), *((more, [*known, *also]) for more, also in asked)]:
            distances = Distances(also)
            for event in more:
                after = most_after(event.time, select.selects[-1], distances)
                own = learnt[event.table]
                found.append(None if after is None or own is None else after + own)
    sure = [most for most in found if most is not None]
    return max(sure) if len(sure) == len(found) and sure else None


def _read(select: exp.Select, prefix: str = "") -> tuple[list[_Event], list[Bound]]:
    """The events that a query reads, and what its conditions say of their times."""
    events: list[_Event] = []
    known: list[Bound] = []
    for source in sources(select):
        if source.table is not None:
            time = name_of(source.alias, "occ", prefix)
            events.append(_Event(source.alias, time, source.table))
        else:
            more, also = _inside(source, prefix)
            events += more
            known += also
        if source.join is not None:
            for condition in conjuncts(source.join.args.get("on")):
                known += bounds(condition, prefix)
    if where := select.args.get("where"):
        for condition in conjuncts(where.this):
            known += bounds(condition, prefix)
    return events, known


def _inside(source: Source, prefix: str) -> tuple[list[_Event], list[Bound]]:
    """The events behind a derived table, tied to the times that it selects."""
    inner = list(branches(source.node.this))
    if len(inner) != 1 or is_grouped(inner[0]):
        return [], []
    deeper = f"{prefix}{source.alias}/"
    events, known = _read(inner[0], deeper)
    for projection in inner[0].selects:
        value = projection.unalias().unnest()
        if isinstance(value, exp.Column):
            one = name_of(source.alias, projection.alias, prefix)
            other = name_of(value.table, value.name, deeper)
            known += [Bound(one, other, _NOTHING), Bound(other, one, _NOTHING)]
    return events, known


def _of_having(select: exp.Select) -> Iterator[Bound]:
    having = select.args.get("having")
    for condition in conjuncts(having.this if having else None):
        yield from bounds(condition)
