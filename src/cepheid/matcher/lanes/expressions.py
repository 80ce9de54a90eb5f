"""What select lists show, computed for all rows of a batch at once.

Attributes, aggregates, constants, the clock, and what `case` chooses among them by conditions that
can be tested: each branch gives values of the type of the whole, so that no number is converted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from cepheid.core.types import NULL
from cepheid.expr.tree import Binary, Call, Case, Expr, Literal, children
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.lanes.eligibility import is_shown
from cepheid.matcher.lanes.predicates import (
    STORED,
    Bits,
    IsKnown,
    Known,
    Values,
    ValuesOf,
    can_test,
    stored_as,
    truth_of,
)
from cepheid.program.resolved import ResolvedStatement


def columns_computed(
    statement: ResolvedStatement, places: ColumnLookup, is_known: IsKnown
) -> tuple[Known, ...] | None:
    """What the select list looks at; None where it cannot be computed so."""
    types = places.derived.get(statement.target)
    if types is None:  # rows without attributes, which have no column
        return None
    exprs = [column.expr for column in statement.columns]
    if [column.name for column in statement.columns] != list(types):
        return None
    for expr, type in zip(exprs, types.values(), strict=True):
        is_typed = is_shown(type) and expr.type in (type, NULL)
        if not (is_typed and can_compute(expr, is_known)):
            return None
    return tuple(dict.fromkeys(known_in(exprs)))


def known_in(exprs: Iterable[Expr]) -> Iterator[Known]:
    """The attributes and aggregates that expressions look at; what is in an aggregate is its own."""
    for expr in exprs:
        if isinstance(expr, Known):
            yield expr
        else:
            yield from known_in(children(expr))


def can_compute(expr: Expr, is_known: IsKnown) -> bool:
    match expr:
        case Literal(value):
            return value is None or expr.type in STORED
        case Call("current_timestamp"):
            return True
        case Case(operand, branches, otherwise):
            shown = [value for _, value in branches]
            shown += [] if otherwise is None else [otherwise]
            is_typed = expr.type in STORED and all(s.type in (expr.type, NULL) for s in shown)
            tests = [_test(operand, test) for test, _ in branches]
            computable = partial(can_compute, is_known=is_known)
            return (
                is_typed
                and all(can_test(t, is_known) for t in tests)
                and all(map(computable, shown))
            )
    return isinstance(expr, Known) and is_shown(expr.type) and is_known(expr)


def _test(operand: Expr | None, test: Expr) -> Expr:
    """What must be true for a branch of `case`."""
    return test if operand is None else Binary("=", operand, test)


def compute(expr: Expr, values_of: ValuesOf, pool: Pool, instants: Words) -> Values:
    """The values of an expression that can be computed, one for each row; `instants` are theirs."""
    count = len(instants)
    match expr:
        case Literal(None):
            # Beside other values of a column, truths take any type.
            return Values(np.zeros(count, dtype=bool), np.ones(count, dtype=bool))
        case Literal(value):
            word = pool.intern(value) if isinstance(value, str) else value
            return Values(np.full(count, word, dtype=stored_as(expr.type)), None)
        case Call():
            return Values(instants // 1000, None)
        case Case():
            return _chosen(expr, values_of, pool, instants)
    assert isinstance(expr, Known)
    return values_of(expr)


def _chosen(expr: Case, values_of: ValuesOf, pool: Pool, instants: Words) -> Values:
    """Of each row the value of the first branch whose condition is true."""
    count = len(instants)
    words: Words = np.zeros(count, dtype=stored_as(expr.type))
    nulls = np.zeros(count, dtype=bool)
    open_: Bits = np.ones(count, dtype=bool)

    def put(value: Expr, rows: Bits) -> None:
        found = compute(value, values_of, pool, instants)
        np.copyto(words, found.words.astype(words.dtype, copy=False), where=rows)
        if found.nulls is not None:
            np.copyto(nulls, found.nulls, where=rows)

    for test, value in expr.branches:
        rows = truth_of(_test(expr.operand, test), values_of, pool.intern).true & open_
        put(value, rows)
        open_ &= ~rows
    put(expr.otherwise or Literal(None, type=NULL), open_)
    return Values(words, nulls if nulls.any() else None)


def computed_columns(
    statement: ResolvedStatement, values_of: ValuesOf, pool: Pool, instants: Words
) -> tuple[Values, ...]:
    """The columns of a select list for some rows."""
    exprs = (column.expr for column in statement.columns)
    return tuple(compute(expr, values_of, pool, instants) for expr in exprs)
