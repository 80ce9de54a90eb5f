"""What a statement does with its rows, as tables: window, groups, aggregates, order, rate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from cepheid.core.time import Period
from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, STRING, DataType, is_open
from cepheid.expr.functions import FUNCTIONS
from cepheid.expr.tree import Aggregate, Call, Column, Expr, children, walk
from cepheid.expr.typing import aggregates_in
from cepheid.matcher.vm.memory.layout import NONE
from cepheid.matcher.vm.memory.tables import (
    A_CODE,
    A_IS_REAL,
    A_KIND,
    A_NUMBER,
    A_OWNER,
    A_WIDTH,
    ALL_GROUPS,
    AS_DOUBLE,
    AS_FLOAT,
    AS_INT,
    AS_LONG,
    AVERAGE,
    BUFFERED,
    BY_GROUP,
    BY_ROW,
    BY_ROW_AND_GROUP,
    BY_ROW_AND_TOTAL,
    BY_TOTAL,
    COUNT,
    DEVIATION,
    DIRECT,
    DISTINCT_ROWS,
    DISTINCT_VALUES,
    FIRST,
    FIRST_EVER,
    FIRST_OF_GROUP,
    FIRST_ONLY,
    GREATEST,
    GREATEST_EVER,
    GROUPS,
    KEEP_ALL,
    LAST,
    LAST_ONLY,
    LEAST,
    LEAST_EVER,
    LENGTH,
    LENGTH_BATCH,
    MEDIAN,
    SNAPSHOTS,
    START,
    SUM,
    TIME,
    TIME_BATCH,
    UNLIMITED,
    V_AFTER,
    V_AFTER_COUNT,
    V_AFTER_MONTHS,
    V_AGGREGATE_COUNT,
    V_AGGREGATES,
    V_COLLECTS,
    V_DISTINCT_DOUBLE,
    V_DISTINCT_OWNER,
    V_EVERY,
    V_EVERY_COUNT,
    V_EVERY_MONTHS,
    V_IS_EAGER,
    V_IS_FORCED,
    V_IS_QUICK,
    V_KEEPS_GROUPS,
    V_KEY_COUNT,
    V_KEY_DOUBLE,
    V_KEYS,
    V_KIND,
    V_LIMIT,
    V_MONTHS,
    V_NEEDS_OLD,
    V_OFFSET,
    V_ORDER,
    V_ORDER_COUNT,
    V_OWNER,
    V_PERIOD,
    V_RATE,
    V_READS_ROWS,
    V_REFERENCE,
    V_SHAPE,
    V_SIZE,
    V_SPEAKS_UNASKED,
    V_STATEMENT,
    V_TAKES_CELLS,
    V_WHEN,
    V_WHEN_SLOTS,
    V_WIDTH,
)
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

_MOST_KEYS = 62
_MOST_AGGREGATES = 30  # a row enters all of them in one step
_REALS = (FLOAT, DOUBLE)
_SCALARS = (INT, LONG, FLOAT, DOUBLE, STRING, BOOLEAN)
SHAPES = {
    Shape.ROW: BY_ROW,
    Shape.TOTAL: BY_TOTAL,
    Shape.ROW_WITH_TOTAL: BY_ROW_AND_TOTAL,
    Shape.GROUP: BY_GROUP,
    Shape.ROW_WITH_GROUP: BY_ROW_AND_GROUP,
}
_NUMBERS: Mapping[DataType, int] = {
    INT: AS_INT,
    LONG: AS_LONG,
    FLOAT: AS_FLOAT,
    DOUBLE: AS_DOUBLE,
}
_KINDS = {
    "count": COUNT,
    "sum": SUM,
    "avg": AVERAGE,
    "min": LEAST,
    "max": GREATEST,
    "median": MEDIAN,
    "stddev": DEVIATION,
    "first": FIRST,
    "last": LAST,
}
# Where rows never leave, one value is enough.
_EVER = {LEAST: LEAST_EVER, GREATEST: GREATEST_EVER, FIRST: FIRST_EVER}
_KEEPS_VALUES = {LEAST, GREATEST, MEDIAN, DEVIATION, FIRST}
# Which values occur is all that matters to these: how often does not.
_NEVER_DISTINCT = {LEAST, GREATEST, LEAST_EVER, GREATEST_EVER, FIRST_EVER}


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


def handed_over_rows(statement: ResolvedStatement) -> list[str]:
    """What the machine leaves to the reference semantics."""
    found = []
    window = statement.tree.window
    if isinstance(window, TimeWindow) and window.period.months:
        found.append("time windows of months")
    if not all(expr.type in _SCALARS or is_open(expr.type) for expr in statement.group_by):
        found.append("groups by nested values")
    if len(statement.group_by) > _MOST_KEYS:
        found.append(f"more than {_MOST_KEYS} group keys")
    aggregates = aggregates_of(statement)
    if len(aggregates) > _MOST_AGGREGATES:
        found.append(f"more than {_MOST_AGGREGATES} aggregates")
    found += dict.fromkeys(filter(None, map(_unknown, aggregates)))
    if isinstance(window, TimeBatch | LengthBatch) and any(map(_reads_clock, _entering(statement))):
        found.append("the clock in what a batch asks of its rows")
    if not all(_has_order(item.expr.type) for item in statement.order_by):
        found.append("order by strings and nested values")
    if statement.tree.distinct:
        types = [column.expr.type for column in statement.columns]
        if len(types) > _MOST_KEYS or not all(t in _SCALARS or is_open(t) for t in types):
            found.append("distinct rows of nested values")
    return found


def _has_order(type: DataType) -> bool:
    """Whether words of the type have the order of the values."""
    return type in (*_NUMBERS, BOOLEAN) or is_open(type)


def _unknown(aggregate: Aggregate) -> str | None:
    argument = aggregate.argument
    if argument is None or is_open(argument.type):
        return None
    if argument.type == STRING and aggregate.function in ("min", "max"):
        return "min and max of strings"
    return None if argument.type in _SCALARS else "aggregates of nested values"


def _entering(statement: ResolvedStatement) -> Iterable[Expr]:
    """What is found out about a row when it enters."""
    if statement.where is not None:
        yield statement.where
    yield from statement.group_by
    yield from (a.argument for a in aggregates_of(statement) if a.argument is not None)


def _reads_clock(expr: Expr) -> bool:
    return any(isinstance(n, Call) and FUNCTIONS[n.function].of_frame for n in walk(expr))


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
        return DIRECT
    if shape.is_grouped and clause.mode in ("first", "all"):
        return FIRST_OF_GROUP if clause.mode == "first" else ALL_GROUPS
    return _MODES[clause.mode]


_MODES = {
    None: BUFFERED,
    "all": BUFFERED,
    "last": LAST_ONLY,
    "first": FIRST_ONLY,
    "snapshot": SNAPSHOTS,
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
        row = [NONE] * V_WIDTH
        written = statement.tree
        row[V_STATEMENT] = number
        describe_window(row, written.window)
        row[V_SHAPE] = SHAPES[statement.shape]
        row[V_AGGREGATES] = len(self.aggregates)
        aggregates = aggregates_of(statement)
        row[V_AGGREGATE_COUNT] = len(aggregates)
        self.most_aggregates = max(self.most_aggregates, len(aggregates))
        first, rows_leave = len(self.aggregates), row[V_KIND] != UNLIMITED
        for aggregate in aggregates:
            code, owner = self.compiled(aggregate.argument), DISTINCT_VALUES - len(self.aggregates)
            words = aggregate_words(aggregate, code, owner, rows_leave=rows_leave)
            self.aggregates.append(words)
        row[V_KEYS] = self.listed([self.compiled(expr) for expr in statement.group_by])
        row[V_KEY_COUNT] = len(statement.group_by)
        row[V_KEY_DOUBLE] = sum(
            1 << place for place, e in enumerate(statement.group_by) if e.type in _REALS
        )
        row[V_OWNER] = GROUPS - len(self.rows)
        row[V_NEEDS_OLD] = int({written.stream, written.insert_stream} != {"istream"})
        row[V_READS_ROWS] = int(any(map(_reads_row, _shown(statement))))
        row[V_TAKES_CELLS] = int(any(self._takes_cells(a) for a in self.aggregates[first:]))
        row[V_COLLECTS] = int(_collects(statement))
        self._describe_order(row, statement)
        self._describe_rate(row, statement)
        row[V_IS_QUICK] = int(self._is_quick(row, statement))
        self.rows.append(row)
        return len(self.rows) - 1

    def _describe_order(self, row: list[int], statement: ResolvedStatement) -> None:
        items, limit = statement.order_by, statement.tree.limit
        words = [
            (self.compiled(i.expr), int(i.expr.type in _REALS), int(i.descending)) for i in items
        ]
        row[V_ORDER] = self.listed(word for criterion in words for word in criterion)
        row[V_ORDER_COUNT] = len(items)
        self.most_ordered = max(self.most_ordered, len(items))
        row[V_OFFSET] = 0
        if limit is not None:
            row[V_LIMIT], row[V_OFFSET] = limit.count, limit.offset
        if statement.tree.distinct:
            row[V_DISTINCT_OWNER] = DISTINCT_ROWS - len(self.rows)
        row[V_DISTINCT_DOUBLE] = sum(
            1 << place for place, c in enumerate(statement.columns) if c.expr.type in _REALS
        )

    def _describe_rate(self, row: list[int], statement: ResolvedStatement) -> None:
        clause, shape = statement.tree.output, statement.shape
        row[V_RATE] = rate = _rate(clause, shape)
        row[V_EVERY] = row[V_EVERY_MONTHS] = row[V_AFTER_MONTHS] = 0
        row[V_AFTER] = 0
        if clause is not None:
            row[V_EVERY_COUNT], row[V_EVERY], row[V_EVERY_MONTHS] = _amount(clause.every)
            row[V_AFTER_COUNT], row[V_AFTER], row[V_AFTER_MONTHS] = _amount(clause.after)
        if statement.output_when is not None:
            row[V_WHEN] = self.compiled(statement.output_when)
            row[V_WHEN_SLOTS] = self.listed(self.slots[name, LONG] for name in OUTPUT_COUNTERS)
        is_total = shape is Shape.TOTAL and rate in (BUFFERED, LAST_ONLY)
        row[V_SPEAKS_UNASKED] = int(is_total or rate in (ALL_GROUPS, SNAPSHOTS))
        is_snapshot = rate == SNAPSHOTS and shape is Shape.GROUP and statement.tree.window is None
        row[V_KEEPS_GROUPS] = int(is_snapshot or rate == ALL_GROUPS)
        if rate == SNAPSHOTS and isinstance(statement.tree.window, KeepAll):
            row[V_KIND] = KEEP_ALL

    def _is_quick(self, row: list[int], statement: ResolvedStatement) -> bool:
        return (
            row[V_KIND] in (UNLIMITED, LENGTH, TIME)
            and row[V_SHAPE] in (BY_TOTAL, BY_GROUP)
            and not row[V_NEEDS_OLD]
            and not row[V_COLLECTS]
            and not any(map(self.asks, _shown(statement)))
        )

    @staticmethod
    def _takes_cells(aggregate: list[int]) -> bool:
        return aggregate[A_OWNER] != NONE or aggregate[A_KIND] in _KEEPS_VALUES


def aggregate_words(
    aggregate: Aggregate, argument: int, owner: int, *, rows_leave: bool
) -> list[int]:
    """What an aggregate is made of; `argument` says where its values come from."""
    row = [NONE] * A_WIDTH
    kind = _KINDS[aggregate.function]
    kind = kind if rows_leave else _EVER.get(kind, kind)
    type = LONG if aggregate.argument is None else aggregate.argument.type
    row[A_KIND] = kind
    row[A_CODE] = argument
    row[A_NUMBER] = AS_DOUBLE if kind == AVERAGE else _NUMBERS.get(type, AS_LONG)
    row[A_IS_REAL] = int(type in _REALS)
    if aggregate.distinct and kind not in _NEVER_DISTINCT:
        row[A_OWNER] = owner
    return row


def describe_window(row: list[int], window: Window | None) -> None:
    row[V_KIND] = UNLIMITED
    row[V_SIZE] = row[V_PERIOD] = row[V_MONTHS] = row[V_IS_EAGER] = row[V_IS_FORCED] = 0
    row[V_REFERENCE] = START
    match window:
        case TimeWindow(period):
            row[V_KIND], row[V_PERIOD] = TIME, period.microseconds
        case TimeBatch(period, reference):
            row[V_KIND], row[V_PERIOD] = TIME_BATCH, period.microseconds
            row[V_MONTHS] = period.months
            row[V_REFERENCE] = START if reference is None else reference * 1_000
            row[V_IS_EAGER] = int(window.start_eager)
            row[V_IS_FORCED] = int(window.force_update)
        case LengthWindow(size):
            row[V_KIND], row[V_SIZE] = LENGTH, size
        case LengthBatch(size):
            row[V_KIND], row[V_SIZE] = LENGTH_BATCH, size
