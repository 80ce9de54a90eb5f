"""Windows over a stream: statements that show attributes and aggregates of the rows that count.

`select k, count(*) as n from A(v > 1)#time(10 sec) group by k` is what people write most. What they
have in common: rows leave in the order in which they entered, and every result comes at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cepheid.core.types import DOUBLE, FLOAT, INT, LONG, is_counted
from cepheid.expr.tree import Aggregate, Column, Expr
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.lanes.eligibility import is_key, is_shown, names_in, tells_at_once
from cepheid.matcher.lanes.expressions import columns_computed
from cepheid.matcher.lanes.predicates import Known
from cepheid.matcher.lanes.single_plan import event_of
from cepheid.program.normal import NormalStatement
from cepheid.program.resolved import ResolvedStatement
from cepheid.program.tree import KeepAll, LengthBatch, LengthWindow, TimeBatch, TimeWindow

_NUMBERS = (INT, LONG, FLOAT, DOUBLE)
_OF_NUMBERS = ("sum", "avg", "min", "max")
_MOST = 60  # values of a row, and aggregates: a word has a bit for each that is null


@dataclass(frozen=True, slots=True)
class Window:
    """A statement as a window over the events of a type that satisfy conditions."""

    statement: ResolvedStatement
    event_type: str
    tests: tuple[Expr, ...]
    keys: tuple[str, ...]  # the attributes that say the group of an event
    shown: tuple[Known, ...]  # what the select list looks at

    @property
    def period(self) -> int | None:
        """After how long its rows leave, or are released."""
        window = self.statement.tree.window
        return window.period.microseconds if isinstance(window, TimeWindow | TimeBatch) else None

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        return tuple(one for one in self.shown if isinstance(one, Aggregate))

    @property
    def attributes(self) -> tuple[str, ...]:
        """What must be known of each event; the keys come first."""
        named = (argument_of(c) if isinstance(c, Aggregate) else c.path[0].name for c in self.shown)
        return tuple(dict.fromkeys([*self.keys, *(name for name in named if name is not None)]))


def is_shared(one: Window, other: Window) -> bool:
    """Whether two statements have the same window: the same rows in the same groups."""
    first, second = one.statement, other.statement
    is_same = first.tree.window == second.tree.window and first.shape is second.shape
    taken = (one.event_type, one.tests, one.keys) == (other.event_type, other.tests, other.keys)
    return is_same and taken and _is_held(together([one, other]))


def together(windows: Sequence[Window]) -> Window:
    """One window that has what all of them show."""
    shown = dict.fromkeys(one for window in windows for one in window.shown)
    return replace(windows[0], shown=tuple(shown))


def argument_of(aggregate: Aggregate) -> str | None:
    """The attribute that an aggregate of a window is about; `count(*)` is about none."""
    argument = aggregate.argument
    return argument.path[0].name if isinstance(argument, Column) else None


def window_of(statement: NormalStatement, places: ColumnLookup) -> Window | None:
    """The statement as a window, if it is one."""
    window = _window(statement, places)
    if window is None or not all(places.has_one(name, a) for name, a in _asked(window)):
        return None
    return window if _is_held(window) else None


def _is_held(window: Window) -> bool:
    return max(len(window.attributes), len(window.aggregates)) <= _MOST


def _asked(window: Window) -> Iterator[tuple[str, str]]:
    for name in (*names_in(window.tests), *window.attributes):
        yield window.event_type, name


def _window(normal: NormalStatement, places: ColumnLookup) -> Window | None:
    statement, events = normal.resolved, event_of(normal)
    if events is None or statement.context is not None:
        return None
    if not (tells_at_once(statement) and _is_steady(statement)):
        return None
    tag = events.tag
    keys = dict.fromkeys(_attribute(e, tag) if is_key(e.type) else None for e in statement.group_by)
    shown = columns_computed(statement, places, partial(_is_known, tag=tag))
    if None in keys or shown is None:
        return None
    return Window(statement, events.event_type, events.own, tuple(filter(None, keys)), shown)


def _is_steady(statement: ResolvedStatement) -> bool:
    """Whether rows leave in the order in which they entered, and nothing happens without any."""
    match statement.tree.window:
        case TimeWindow(period):
            return not period.months
        case TimeBatch(period) as batch:
            return not (period.months or batch.start_eager or batch.force_update)
        case LengthWindow() | LengthBatch() | KeepAll() | None:
            return True
    return False


def _is_known(one: Known, tag: str | None) -> bool:
    match one:
        case Aggregate("count", None, distinct=False):
            return True
        case Aggregate("count", Expr() as argument, distinct=False):
            return _attribute(argument, tag) is not None
        case Aggregate(function, Expr() as argument, distinct=False) if function in _OF_NUMBERS:
            is_number = argument.type in _NUMBERS or is_counted(argument.type)
            return is_number and _attribute(argument, tag) is not None
    return _attribute(one, tag) is not None


def _attribute(expr: Expr, tag: str | None) -> str | None:
    """The attribute of the event at hand that an expression is, if it has a scalar type."""
    if isinstance(expr, Column) and expr.tag == tag and expr.is_attribute and is_shown(expr.type):
        return expr.path[0].name
    return None
