"""Statements each of whose rows is about one event: filters and projections.

`select k, 2 as n from A(v > 1)`, and the same as `every a=A(v > 1)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.expr.tree import Column, Expr
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.lanes.eligibility import is_row_at_once, names_in
from cepheid.matcher.lanes.expressions import columns_computed
from cepheid.matcher.lanes.predicates import Known, can_test
from cepheid.program.normal import NormalStatement
from cepheid.program.normal.nodes import Awaited, Every, Wait
from cepheid.program.resolved import ResolvedStatement


@dataclass(frozen=True, slots=True)
class Single:
    """A statement as the events of a type that satisfy conditions, each of which is a row."""

    statement: ResolvedStatement
    event_type: str
    tests: tuple[Expr, ...]
    shown: tuple[Column, ...]  # what the select list looks at


def single_of(normal: NormalStatement, places: ColumnLookup) -> Single | None:
    """The statement as single events, if it is about such."""
    statement, event = normal.resolved, event_of(normal)
    if event is None or not is_row_at_once(statement):
        return None

    def is_known(one: Known) -> bool:
        if not (isinstance(one, Column) and one.tag == event.tag and one.is_attribute):
            return False
        return places.has_one(event.event_type, one.path[0].name)

    shown = columns_computed(statement, places, is_known)
    if shown is None or not all(places.has_one(*asked) for asked in _asked(event)):
        return None
    columns = tuple(one for one in shown if isinstance(one, Column))
    return Single(statement, event.event_type, event.own, columns)


def event_of(normal: NormalStatement) -> Awaited | None:
    """The events of a statement that takes each by itself, by conditions that can be tested."""
    match normal.source:
        case Every(Wait(Awaited() as event, None)):
            is_alone = not (event.rest or event.equal) and all(map(can_test, event.own))
            return event if is_alone else None
    return None


def _asked(event: Awaited) -> Iterator[tuple[str, str]]:
    return ((event.event_type, name) for name in names_in(event.own))
