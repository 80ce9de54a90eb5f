"""What select, where, group by and having mean: how a delta of rows becomes rows of the result.

Aggregates run: a row entering adds to them, a row leaving takes away, new rows before old ones.
The shape of a statement decides what its rows stand for (`program.resolved.Shape`):

- ROW: each new row gives a new result, each old row an old one.
- TOTAL: one new result with the aggregates after the delta, one old one with those before it.
- ROW_WITH_TOTAL, ROW_WITH_GROUP: like ROW, with the aggregates after the whole delta.
- GROUP: like TOTAL, once for each group that the delta touches.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.core.event import Event, SortKey, Value
from cepheid.core.time import Instant
from cepheid.core.types import BOOLEAN
from cepheid.expr.aggregates import make_aggregator
from cepheid.expr.evaluate import Evaluator, Frame, compile_condition, compile_expr
from cepheid.expr.jsonvalue import JSON
from cepheid.expr.tree import Aggregate, Expr, Literal
from cepheid.expr.typing import aggregates_in
from cepheid.expr.values import group_key
from cepheid.program.resolved import ResolvedStatement, Shape
from cepheid.program.tree import KeepAll
from cepheid.semantics.windows import Delta, Row

Key: TypeAlias = Hashable
ALL_ROWS: Key = ()


@dataclass(slots=True, frozen=True, eq=False)
class Output:
    """One row of the result, with what later steps need: its group and its place in the order.

    `place` is that of the row of the source that it stands for.
    """

    values: tuple[Value, ...]
    order: tuple[Value, ...]
    key: Key
    causes: tuple[Event, ...]
    place: SortKey


@dataclass(slots=True, frozen=True)
class Outputs:
    new: tuple[Output, ...] = ()
    old: tuple[Output, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.new or self.old)


class Select:
    """The clauses of a statement, compiled; they never change."""

    __slots__ = (
        "aggregates",
        "arguments",
        "columns",
        "group_by",
        "having",
        "needs_old",
        "order_by",
        "rows_leave",
        "shape",
        "where",
    )

    def __init__(self, statement: ResolvedStatement) -> None:
        exprs = [c.expr for c in statement.columns]
        exprs += [item.expr for item in statement.order_by]
        exprs += [statement.having] if statement.having is not None else []
        self.aggregates = tuple(dict.fromkeys(node for e in exprs for node in aggregates_in(e)))
        slots = {node: slot for slot, node in enumerate(self.aggregates)}
        self.shape: Shape = statement.shape
        self.arguments = tuple(compile_expr(_argument(node)) for node in self.aggregates)
        self.columns = tuple(compile_expr(c.expr, slots) for c in statement.columns)
        self.order_by = tuple(compile_expr(item.expr, slots) for item in statement.order_by)
        self.group_by: tuple[Evaluator, ...] = tuple(compile_expr(e) for e in statement.group_by)
        self.having: Callable[[Frame], bool] = compile_condition(statement.having, slots)
        self.where = compile_condition(statement.where)
        streams = {statement.tree.stream, statement.tree.insert_stream}
        self.needs_old = streams != {"istream"}
        self.rows_leave = not isinstance(statement.tree.window, KeepAll | None)


def _argument(node: Aggregate) -> Expr:
    """What an aggregate aggregates; `count(*)` counts a constant."""
    return node.argument if node.argument is not None else Literal(value=True, type=BOOLEAN)


class Group:
    """The running aggregates of a group of rows, and how many rows it has."""

    __slots__ = ("aggregators", "select", "size")

    def __init__(self, select: Select) -> None:
        self.select = select
        self.size = 0
        self.aggregators = tuple(
            make_aggregator(node, rows_leave=select.rows_leave) for node in select.aggregates
        )

    def values(self) -> Sequence[Value]:
        return [aggregator.result() for aggregator in self.aggregators]

    def __getstate__(self) -> tuple[Select, int, list[JSON]]:
        return self.select, self.size, [a.save() for a in self.aggregators]

    def __setstate__(self, state: tuple[Select, int, list[JSON]]) -> None:
        select, size, saved = state
        self.__init__(select)  # type: ignore[misc]
        self.size = size
        for aggregator, values in zip(self.aggregators, saved, strict=True):
            aggregator.load(values)


class Selection:
    """The live side of the clauses: the groups of rows that count now."""

    __slots__ = ("groups", "keep_groups", "last_rows", "select")

    def __init__(self, select: Select, *, keep_groups: bool) -> None:
        self.select = select
        self.groups: dict[Key, Group] = {}
        # `output all` speaks of every group ever seen, by the last row that entered it.
        self.keep_groups = keep_groups
        self.last_rows: dict[Key, Row] = {}

    def filter(self, delta: Delta, now: Instant) -> Delta | None:
        """The rows that pass `where`; None if there were rows and none of them does."""
        for row in delta.new:
            self.examine(row, now)
        for row in delta.old:
            row.is_leaving = True
        new = tuple(row for row in delta.new if row.passes)
        old = tuple(row for row in delta.old if row.passes)
        if (delta.new or delta.old) and not (new or old):
            return None
        return Delta(new, old)

    def examine(self, row: Row, now: Instant) -> None:
        """Finds out once what a row is: it must leave as what it entered as."""
        frame = _frame(row, now)
        row.passes = self.select.where(frame)
        if row.passes:
            row.key = tuple(group_key(evaluate(frame)) for evaluate in self.select.group_by)
            row.arguments = tuple(evaluate(frame) for evaluate in self.select.arguments)

    def process(self, delta: Delta, now: Instant) -> Outputs:
        """Applies a delta and gives its results."""
        if self.select.shape in (Shape.TOTAL, Shape.GROUP):
            touched = self.touched(delta)
            old = self.rows_of_groups(touched, now, is_new=False) if self.select.needs_old else ()
            self.apply(delta)
            outputs = Outputs(self.rows_of_groups(touched, now, is_new=True), old)
        else:
            self.apply(delta)
            leaving = delta.old if self.select.needs_old else ()
            outputs = Outputs(
                self.rows_of(delta.new, now, is_new=True), self.rows_of(leaving, now, is_new=False)
            )
        self.forget_empty_groups(delta)
        return outputs

    def apply(self, delta: Delta) -> None:
        """Lets rows enter and leave the aggregates."""
        if not self.select.aggregates and not self.keep_groups:
            return
        for row in delta.new:
            group = self.group(row.key)
            group.size += 1
            for aggregator, value in zip(group.aggregators, row.arguments, strict=True):
                aggregator.enter(value)
            if self.keep_groups:
                self.last_rows[row.key] = row
        for row in delta.old:
            group = self.group(row.key)
            group.size -= 1
            for aggregator, value in zip(group.aggregators, row.arguments, strict=True):
                aggregator.leave(value)

    def forget_empty_groups(self, delta: Delta) -> None:
        """A group without rows is as good as one never seen."""
        for row in delta.old:
            group = self.groups.get(row.key)
            if group is not None and not group.size and not self.keep_groups:
                del self.groups[row.key]

    def group(self, key: Key) -> Group:
        found = self.groups.get(key)
        if found is None:
            found = self.groups[key] = Group(self.select)
        return found

    def touched(self, delta: Delta) -> dict[Key, Row]:
        """The groups that a delta touches, each with a row of it."""
        if self.select.shape is Shape.TOTAL:
            # An empty batch that is forced out has no row.
            return {ALL_ROWS: next(iter(delta.new + delta.old), Row())}
        return _one_row_per_key(delta.new + delta.old)

    def rows_of_groups(
        self, rows: dict[Key, Row], now: Instant, *, is_new: bool
    ) -> tuple[Output, ...]:
        found = (self.output(row, now, key, is_new=is_new) for key, row in rows.items())
        return tuple(output for output in found if output is not None)

    def rows_of(self, rows: Iterable[Row], now: Instant, *, is_new: bool) -> tuple[Output, ...]:
        found = (self.output(row, now, row.key, is_new=is_new) for row in rows)
        return tuple(output for output in found if output is not None)

    def output(self, row: Row, now: Instant, key: Key, *, is_new: bool) -> Output | None:
        """The result for a row or a group, unless `having` rejects it."""
        frame = _frame(row, now, is_new=is_new)
        if self.select.aggregates:
            frame.aggregates = (self.groups.get(key) or Group(self.select)).values()
        if not self.select.having(frame):
            return None
        return Output(
            tuple(evaluate(frame) for evaluate in self.select.columns),
            tuple(evaluate(frame) for evaluate in self.select.order_by),
            key,
            row.causes,
            row.place,
        )

    def snapshot(self, contents: Iterable[Row], now: Instant) -> tuple[Output, ...]:
        """The results for all rows that count now."""
        rows = [row for row in contents if row.passes]
        if self.select.shape is Shape.TOTAL:
            return self.total(now)
        if self.select.shape is Shape.GROUP:
            return self.rows_of_groups(_one_row_per_key(rows), now, is_new=True)
        return self.rows_of(rows, now, is_new=True)

    def total(self, now: Instant) -> tuple[Output, ...]:
        """The aggregates over all rows as they are now."""
        return self.rows_of_groups({ALL_ROWS: Row()}, now, is_new=True)


def _one_row_per_key(rows: Iterable[Row]) -> dict[Key, Row]:
    found: dict[Key, Row] = {}
    for row in rows:
        found.setdefault(row.key, row)
    return found


def _frame(row: Row, now: Instant, *, is_new: bool = True) -> Frame:
    return Frame(event=row.event, tags=row.tags, now=now, is_new=is_new)
