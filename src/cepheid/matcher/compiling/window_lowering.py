"""What a statement does with its rows, as tables: window, groups, aggregates, order, rate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from cepheid.core.time import Period
from cepheid.core.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    DataType,
    DecimalType,
    is_counted,
    is_open,
    is_scalar,
)
from cepheid.errors import Span
from cepheid.expr.functions import reads_clock
from cepheid.expr.tree import Aggregate, Column, Expr, children
from cepheid.expr.typing import aggregates_in
from cepheid.matcher.vm.memory.layout import NONE
from cepheid.matcher.vm.memory.tables import (
    DISTINCT_ROWS,
    DISTINCT_VALUES,
    GROUPS,
    START,
    AggregateKind,
    AggregateRow,
    RateKind,
    Rounding,
    RowShape,
    WindowKind,
    WindowRow,
)
from cepheid.pattern.schedule import Schedule
from cepheid.program.resolved import ResolvedStatement, Shape
from cepheid.program.statements import OUTPUT_COUNTERS
from cepheid.program.tree import (
    KeepAll,
    LengthBatch,
    LengthWindow,
    OutputRate,
    TimeBatch,
    TimeWindow,
    Window,
)

MOST_KEYS = 62  # a word has a bit for each
_MOST_AGGREGATES = 30  # a row enters all of them in one step
_REALS = (FLOAT, DOUBLE)
SHAPES = {
    Shape.ROW: RowShape.BY_ROW,
    Shape.TOTAL: RowShape.BY_TOTAL,
    Shape.ROW_WITH_TOTAL: RowShape.BY_ROW_AND_TOTAL,
    Shape.GROUP: RowShape.BY_GROUP,
    Shape.ROW_WITH_GROUP: RowShape.BY_ROW_AND_GROUP,
}
_NUMBERS: Mapping[DataType, int] = {
    INT: Rounding.INT,
    LONG: Rounding.LONG,
    FLOAT: Rounding.FLOAT,
    DOUBLE: Rounding.DOUBLE,
}
_WINDOWS = (TimeWindow, TimeBatch, LengthWindow, LengthBatch, KeepAll)
_KINDS = {
    "count": AggregateKind.COUNT,
    "sum": AggregateKind.SUM,
    "avg": AggregateKind.AVERAGE,
    "min": AggregateKind.LEAST,
    "max": AggregateKind.GREATEST,
    "median": AggregateKind.MEDIAN,
    "stddev": AggregateKind.DEVIATION,
    "avedev": AggregateKind.MEAN_DEVIATION,
    "nth": AggregateKind.NTH,
    "first": AggregateKind.FIRST,
    "last": AggregateKind.LAST,
}
# Where rows never leave, one value is enough, or those after it.
_EVER = {
    AggregateKind.LEAST: AggregateKind.LEAST_EVER,
    AggregateKind.GREATEST: AggregateKind.GREATEST_EVER,
    AggregateKind.FIRST: AggregateKind.FIRST_EVER,
    AggregateKind.NTH: AggregateKind.NTH_EVER,
}
_KEEPS_VALUES = {
    AggregateKind.LEAST,
    AggregateKind.GREATEST,
    AggregateKind.MEDIAN,
    AggregateKind.DEVIATION,
    AggregateKind.MEAN_DEVIATION,
    AggregateKind.FIRST,
    AggregateKind.NTH,
    AggregateKind.NTH_EVER,
}
# Which values occur is all that matters to these: how often does not.
_NEVER_DISTINCT = {
    AggregateKind.LEAST,
    AggregateKind.GREATEST,
    AggregateKind.LEAST_EVER,
    AggregateKind.GREATEST_EVER,
    AggregateKind.FIRST_EVER,
}


def is_plain(statement: ResolvedStatement) -> bool:
    """Whether each row of the source gives one of the result, and nothing more."""
    written = statement.tree
    is_kept = not isinstance(written.window, KeepAll | None)
    return not is_kept and statement.shape is Shape.ROW and not _collects(statement)


def _collects(statement: ResolvedStatement) -> bool:
    """Whether results wait for others before they go out."""
    written = statement.tree
    is_arranged = written.distinct or written.limit is not None or bool(statement.order_by)
    return is_arranged or written.output is not None


Gaps: TypeAlias = Iterator[tuple[str, Span | None]]  # what the machine has not, and where it is


def gaps_of_rows(statement: ResolvedStatement) -> Gaps:
    """What of its rows the machine leaves to the reference semantics."""
    yield from _gaps_of_window(statement)
    yield from _gaps_of_aggregates(statement)
    for expr in statement.group_by:
        if not _is_scalar(expr.type):
            yield "groups by nested values", expr.span
    if len(statement.group_by) > MOST_KEYS:
        yield f"more than {MOST_KEYS} group keys", statement.group_by[MOST_KEYS].span
    for item in statement.order_by:
        if not _has_order(item.expr.type):
            yield "order by strings and nested values", item.span or item.expr.span
    if statement.tree.distinct:
        types = [column.expr.type for column in statement.columns]
        if len(types) > MOST_KEYS or not all(map(_is_scalar, types)):
            yield "distinct rows of nested values", None


def _gaps_of_window(statement: ResolvedStatement) -> Gaps:
    window = statement.tree.window
    if window is not None and type(window) not in _WINDOWS:
        yield f"the window {type(window).__name__}", window.span
    if isinstance(window, TimeWindow) and window.period.months:
        yield "time windows of months", window.span
    if statement.tree.output is not None and isinstance(statement.tree.output.every, Schedule):
        yield "output at a schedule", statement.tree.output.span
    if isinstance(window, TimeBatch | LengthBatch) and any(map(reads_clock, _entering(statement))):
        yield "the clock in what a batch asks of its rows", window.span


def _gaps_of_aggregates(statement: ResolvedStatement) -> Gaps:
    aggregates = aggregates_of(statement)
    if len(aggregates) > _MOST_AGGREGATES:
        yield f"more than {_MOST_AGGREGATES} aggregates", aggregates[_MOST_AGGREGATES].span
    for aggregate in aggregates:
        if (what := _unknown(aggregate)) is not None:
            yield what, aggregate.span


def _is_scalar(type: DataType) -> bool:
    return is_scalar(type) or is_open(type)


def _has_order(type: DataType) -> bool:
    """Whether words of the type have the order of the values."""
    return type in (*_NUMBERS, BOOLEAN) or is_counted(type) or is_open(type)


def _unknown(aggregate: Aggregate) -> str | None:
    argument = aggregate.argument
    if aggregate.function not in _KINDS:
        return f"the aggregate {aggregate.function}"
    if argument is None or is_open(argument.type):
        return None
    if argument.type == STRING and aggregate.function in ("min", "max"):
        return "min and max of strings"
    return None if is_scalar(argument.type) else "aggregates of nested values"


def _entering(statement: ResolvedStatement) -> Iterable[Expr]:
    """What is found out about a row when it enters."""
    if statement.where is not None:
        yield statement.where
    yield from statement.group_by
    yield from (a.argument for a in aggregates_of(statement) if a.argument is not None)


def aggregates_of(statement: ResolvedStatement) -> tuple[Aggregate, ...]:
    """The aggregates of a statement, each once."""
    return tuple(dict.fromkeys(n for e in _shown(statement) for n in aggregates_in(e)))


def _shown(statement: ResolvedStatement) -> list[Expr]:
    """What is evaluated for each result."""
    exprs = [column.expr for column in statement.columns]
    exprs += [item.expr for item in statement.order_by]
    return exprs + ([statement.having] if statement.having is not None else [])


def _reads_row(expr: Expr) -> bool:
    if isinstance(expr, Aggregate):
        return False
    return isinstance(expr, Column) or any(map(_reads_row, children(expr)))


def _rate(clause: OutputRate | None, shape: Shape) -> int:
    if clause is None or (clause.every is None and clause.when is None):
        return RateKind.DIRECT
    if shape.is_grouped and clause.mode in ("first", "all"):
        return RateKind.FIRST_OF_GROUP if clause.mode == "first" else RateKind.ALL_GROUPS
    return _MODES[clause.mode]


_MODES = {
    None: RateKind.BUFFERED,
    "all": RateKind.BUFFERED,
    "last": RateKind.LAST_ONLY,
    "first": RateKind.FIRST_ONLY,
    "snapshot": RateKind.SNAPSHOTS,
}


def _amount(amount: int | Period | None) -> tuple[int, int, int]:
    """A count, or NONE; microseconds; months."""
    if isinstance(amount, Period):
        return NONE, amount.microseconds, amount.months
    return (NONE if amount is None else amount), 0, 0


@dataclass
class Windows:
    """The tables of all statements that do more than showing each row."""

    compiled: Callable[[Expr | None], int]
    listed: Callable[[Iterable[int]], int]
    asks: Callable[[Expr], bool]  # whether its code may ask Python
    slots: Mapping[tuple[str, DataType], int]
    rows: list[list[int]] = field(default_factory=list)
    aggregates: list[list[int]] = field(default_factory=list)
    most_aggregates: int = 0
    most_ordered: int = 0

    def add(self, number: int, statement: ResolvedStatement) -> int:
        """The row of a statement."""
        row = [NONE] * WindowRow.WIDTH
        written = statement.tree
        row[WindowRow.STATEMENT] = number
        describe_window(row, written.window)
        row[WindowRow.SHAPE] = SHAPES[statement.shape]
        row[WindowRow.AGGREGATES] = len(self.aggregates)
        aggregates = aggregates_of(statement)
        row[WindowRow.AGGREGATE_COUNT] = len(aggregates)
        self.most_aggregates = max(self.most_aggregates, len(aggregates))
        first, rows_leave = len(self.aggregates), row[WindowRow.KIND] != WindowKind.UNLIMITED
        for aggregate in aggregates:
            code, owner = self.compiled(aggregate.argument), DISTINCT_VALUES - len(self.aggregates)
            words = aggregate_words(aggregate, code, owner, rows_leave=rows_leave)
            self.aggregates.append(words)
        row[WindowRow.KEYS] = self.listed([self.compiled(expr) for expr in statement.group_by])
        row[WindowRow.KEY_COUNT] = len(statement.group_by)
        row[WindowRow.KEY_DOUBLE] = sum(
            1 << place for place, e in enumerate(statement.group_by) if e.type in _REALS
        )
        row[WindowRow.OWNER] = GROUPS - len(self.rows)
        row[WindowRow.NEEDS_OLD] = int({written.stream, written.insert_stream} != {"istream"})
        row[WindowRow.READS_ROWS] = int(any(map(_reads_row, _shown(statement))))
        row[WindowRow.TAKES_CELLS] = int(any(self._takes_cells(a) for a in self.aggregates[first:]))
        row[WindowRow.COLLECTS] = int(_collects(statement))
        self._describe_order(row, statement)
        self._describe_rate(row, statement)
        row[WindowRow.IS_QUICK] = int(self._is_quick(row, statement))
        self.rows.append(row)
        return len(self.rows) - 1

    def _describe_order(self, row: list[int], statement: ResolvedStatement) -> None:
        items, limit = statement.order_by, statement.tree.limit
        words = [
            (self.compiled(i.expr), int(i.expr.type in _REALS), int(i.descending)) for i in items
        ]
        row[WindowRow.ORDER] = self.listed(word for criterion in words for word in criterion)
        row[WindowRow.ORDER_COUNT] = len(items)
        self.most_ordered = max(self.most_ordered, len(items))
        row[WindowRow.OFFSET] = 0
        if limit is not None:
            row[WindowRow.LIMIT], row[WindowRow.OFFSET] = limit.count, limit.offset
        if statement.tree.distinct:
            row[WindowRow.DISTINCT_OWNER] = DISTINCT_ROWS - len(self.rows)
        row[WindowRow.DISTINCT_DOUBLE] = sum(
            1 << place for place, c in enumerate(statement.columns) if c.expr.type in _REALS
        )

    def _describe_rate(self, row: list[int], statement: ResolvedStatement) -> None:
        clause, shape = statement.tree.output, statement.shape
        row[WindowRow.RATE] = rate = _rate(clause, shape)
        row[WindowRow.EVERY] = row[WindowRow.EVERY_MONTHS] = row[WindowRow.AFTER_MONTHS] = 0
        row[WindowRow.AFTER] = 0
        if clause is not None:
            assert not isinstance(clause.every, Schedule), "a gap"
            row[WindowRow.EVERY_COUNT], row[WindowRow.EVERY], row[WindowRow.EVERY_MONTHS] = _amount(
                clause.every
            )
            row[WindowRow.AFTER_COUNT], row[WindowRow.AFTER], row[WindowRow.AFTER_MONTHS] = _amount(
                clause.after
            )
        if statement.output_when is not None:
            row[WindowRow.WHEN] = self.compiled(statement.output_when)
            row[WindowRow.WHEN_SLOTS] = self.listed(
                self.slots[name, LONG] for name in OUTPUT_COUNTERS
            )
        is_total = shape is Shape.TOTAL and rate in (RateKind.BUFFERED, RateKind.LAST_ONLY)
        row[WindowRow.SPEAKS_UNASKED] = int(
            is_total or rate in (RateKind.ALL_GROUPS, RateKind.SNAPSHOTS)
        )
        is_snapshot = (
            rate == RateKind.SNAPSHOTS and shape is Shape.GROUP and statement.tree.window is None
        )
        row[WindowRow.KEEPS_GROUPS] = int(is_snapshot or rate == RateKind.ALL_GROUPS)
        if rate == RateKind.SNAPSHOTS and isinstance(statement.tree.window, KeepAll):
            row[WindowRow.KIND] = WindowKind.KEEP_ALL

    def _is_quick(self, row: list[int], statement: ResolvedStatement) -> bool:
        return (
            row[WindowRow.KIND] in (WindowKind.UNLIMITED, WindowKind.LENGTH, WindowKind.TIME)
            and row[WindowRow.SHAPE] in (RowShape.BY_TOTAL, RowShape.BY_GROUP)
            and not row[WindowRow.NEEDS_OLD]
            and not row[WindowRow.COLLECTS]
            and not any(map(self.asks, _shown(statement)))
        )

    @staticmethod
    def _takes_cells(aggregate: list[int]) -> bool:
        return (
            aggregate[AggregateRow.OWNER] != NONE or aggregate[AggregateRow.KIND] in _KEEPS_VALUES
        )


def aggregate_words(
    aggregate: Aggregate, argument: int, owner: int, *, rows_leave: bool
) -> list[int]:
    """What an aggregate is made of; `argument` says where its values come from."""
    row = [NONE] * AggregateRow.WIDTH
    kind = _KINDS[aggregate.function]
    kind = kind if rows_leave else _EVER.get(kind, kind)
    type = LONG if aggregate.argument is None else aggregate.argument.type
    row[AggregateRow.KIND] = kind
    row[AggregateRow.CODE] = argument
    row[AggregateRow.NUMBER] = Rounding.DOUBLE if kind == AggregateKind.AVERAGE else _rounding(type)
    row[AggregateRow.IS_REAL] = int(type in _REALS)
    row[AggregateRow.INDEX] = NONE if aggregate.index is None else aggregate.index
    if aggregate.distinct and kind not in _NEVER_DISTINCT:
        row[AggregateRow.OWNER] = owner
    return row


def _rounding(type: DataType) -> int:
    return Rounding.DECIMAL if isinstance(type, DecimalType) else _NUMBERS.get(type, Rounding.LONG)


def describe_window(row: list[int], window: Window | None) -> None:
    row[WindowRow.SIZE] = row[WindowRow.PERIOD] = row[WindowRow.MONTHS] = row[
        WindowRow.IS_EAGER
    ] = row[WindowRow.IS_FORCED] = 0
    row[WindowRow.REFERENCE] = START
    match window:
        case TimeWindow(period):
            row[WindowRow.KIND], row[WindowRow.PERIOD] = WindowKind.TIME, period.microseconds
        case TimeBatch(period, reference):
            row[WindowRow.KIND], row[WindowRow.PERIOD] = WindowKind.TIME_BATCH, period.microseconds
            row[WindowRow.MONTHS] = period.months
            row[WindowRow.REFERENCE] = START if reference is None else reference * 1_000
            row[WindowRow.IS_EAGER] = int(window.start_eager)
            row[WindowRow.IS_FORCED] = int(window.force_update)
        case LengthWindow(size):
            row[WindowRow.KIND], row[WindowRow.SIZE] = WindowKind.LENGTH, size
        case LengthBatch(size):
            row[WindowRow.KIND], row[WindowRow.SIZE] = WindowKind.LENGTH_BATCH, size
        case KeepAll() | None:
            row[WindowRow.KIND] = WindowKind.UNLIMITED
        case _:
            raise TypeError(f"a gap: {window}")
