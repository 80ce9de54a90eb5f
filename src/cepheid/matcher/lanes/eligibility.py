"""What lanes of all kinds ask of a statement, and which events of a batch are theirs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, NULL, STRING, DataType, is_counted
from cepheid.expr import tree as expr_tree
from cepheid.expr.tree import Expr, walk
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.lanes.predicates import Bits, Known, Values, truth_of
from cepheid.matcher.lanes.rows import Events
from cepheid.program.resolved import ResolvedStatement, Shape

_KEYS = (INT, LONG, STRING, BOOLEAN)


def is_key(type: DataType) -> bool:
    """Whether values of the type are equal if their words are."""
    return type in _KEYS or is_counted(type)


def is_shown(type: DataType) -> bool:
    return is_key(type) or type in (FLOAT, DOUBLE, NULL)


def tells_at_once(statement: ResolvedStatement) -> bool:
    """Whether each result is a row at once, and nothing chooses or orders the results."""
    tree = statement.tree
    return (
        statement.where is statement.having is None
        and not (statement.order_by or tree.distinct or tree.output or tree.limit)
        and tree.stream == tree.insert_stream == "istream"
    )


def is_row_at_once(statement: ResolvedStatement) -> bool:
    """Whether each match is a row, at once."""
    is_row = statement.shape is Shape.ROW and not statement.group_by
    return is_row and statement.tree.window is None and tells_at_once(statement)


def names_in(tests: Sequence[Expr]) -> list[str]:
    """The attributes that conditions on one event look at."""
    nodes = (node for test in tests for node in walk(test))
    return [node.path[0].name for node in nodes if isinstance(node, expr_tree.Column)]


class Sieve:
    """Which of some sources an event belongs to: a type each, and conditions on the event alone."""

    def __init__(self, sources: Sequence[tuple[str, Sequence[Expr]]], places: ColumnLookup) -> None:
        self._bits: dict[str, int] = {}  # of each type
        self._tests = [tests for _, tests in sources]
        for number, (event_type, _) in enumerate(sources):
            for kind in places.kinds_of(event_type):
                self._bits[kind] = self._bits.get(kind, 0) | 1 << number
        self._tested = {
            (number, name): places.column(event_type, name)
            for number, (event_type, tests) in enumerate(sources)
            for name in names_in(tests)
        }

    def masks(self, batch: Events, pool: Pool) -> Words:
        """For each event, a bit for each source that it belongs to."""
        masks = batch.by_type(self._bits)
        for number, tests in enumerate(self._tests):
            for condition in tests:
                take_out(masks, number, ~self._truth(condition, number, batch, pool))
        return masks

    def _truth(self, condition: Expr, source: int, batch: Events, pool: Pool) -> Bits:
        def values_of(column: Known) -> Values:
            assert isinstance(column, expr_tree.Column)
            return batch.values(self._tested[source, column.path[0].name], pool)

        return truth_of(condition, values_of, pool.intern).true


def take_out(masks: Words, source: int, events: Bits) -> None:
    masks &= ~(events.astype(np.int64) << source)
