"""The clauses of a statement as equations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import singledispatchmethod
from itertools import count

from cepheid.core.time import Period
from cepheid.core.types import DOUBLE, INT, DataType, lineage
from cepheid.expr.tree import Aggregate, Expr
from cepheid.expr.typing import aggregates_in
from cepheid.formal.maude.expressions import Translator
from cepheid.formal.maude.names import Names
from cepheid.formal.maude.values import text_term
from cepheid.pattern import tree as patterns
from cepheid.pattern.schedule import Schedule
from cepheid.program import tree
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement, Shape

_ROW = "event, tags, now"
_RESULT = "event, tags, now, isNew, aggregates"
_SHAPES = {Shape.TOTAL: "allRows", Shape.GROUP: "eachGroup"}
_ASKS = {"min": "askLeast", "max": "askGreatest", "first": "askFirst", "last": "askLast"}
# By mode and by whether there are groups.
_MODES = {
    (None, False): "buffered(noOut, noOut)",
    (None, True): "buffered(noOut, noOut)",
    ("all", False): "buffered(noOut, noOut)",
    ("all", True): "allGroups(noOut, noOut, noOut, noLast)",
    ("last", False): "lastOnes(noOut, noOut)",
    ("last", True): "lastOnes(noOut, noOut)",
    ("first", False): "firstOnes(false)",
    ("first", True): "firstPerGroup(noSilence)",
    ("snapshot", False): "snapshot",
    ("snapshot", True): "snapshot",
}
_COUNTERS = {
    "count_insert": "int(N1:Nat)",
    "count_remove": "int(N2:Nat)",
    "count_insert_total": "int(N3:Nat)",
    "count_remove_total": "int(N4:Nat)",
    "last_output_timestamp": "milliseconds(D:Due)",
}


@dataclass(frozen=True)
class Clauses:
    """What a statement says, as equations about its constant."""

    statement: ResolvedStatement
    name: str
    program: ResolvedProgram
    names: Names
    translator: Translator

    def parts(self) -> Iterator[Iterator[str]]:
        """The lines of each clause."""
        yield self._source()
        makers = (self._context, self._window, self._selection, self._order_by, self._output)
        for make in makers:
            yield (f"  eq {equation} ." for equation in make())

    def _source(self) -> Iterator[str]:
        pattern, condition = self.statement.pattern, self.statement.condition
        if pattern is not None:
            writer = PatternWriter(self)
            term = writer.term(pattern)
            yield from writer.lines
            yield f"  eq isPattern({self.name}) = true ."
            yield f"  eq pattern({self.name}) = {term} ."
        elif condition is not None:
            term = self.translator.at(self.statement.event_type, {}).condition(condition)
            yield f"  eq accepts({self.name}, event, now) = {term} ."

    def _context(self) -> Iterator[str]:
        if self.statement.context is None:
            return
        yield f"isInContext({self.name}) = true"
        for type_name in self.program.types:
            own = lineage(type_name, self.program.types)
            keys = (self.statement.key_of(t) for t in self.statement.inputs if t in own)
            attributes = next((key for key in keys if key is not None), None)
            if attributes is not None:
                values = " ; ".join(f"(event {self.names.of('.', a)})" for a in attributes)
                type_constant = self.names.of("#", type_name)
                yield f"contextKey({self.name}, {type_constant}, event) = {values}"

    def _window(self) -> Iterator[str]:
        window = self.statement.tree.window
        if window is not None:
            yield f"window({self.name}, now) = {window_term(window)}"

    def _selection(self) -> Iterator[str]:
        statement, name = self.statement, self.name
        rows = self.translator.at(statement.event_type, statement.tags)
        if statement.shape in _SHAPES:
            yield f"shape({name}) = {_SHAPES[statement.shape]}"
        if statement.shape.is_grouped:
            yield f"isGrouped({name}) = true"
            yield f"groupOf({name}, {_ROW}) = {' ; '.join(map(rows.term, statement.group_by))}"
        if statement.where is not None:
            yield f"where({name}, {_ROW}) = {rows.condition(statement.where)}"
        if self._slots:
            yield from self._aggregates(rows)
        if statement.having is not None:
            yield f"having({name}, {_RESULT}) = {self._results.condition(statement.having)}"
        columns = ["now", *(self._results.term(c.expr) for c in statement.columns)]
        target = self.names.of("", statement.target)
        yield f"select({name}, {_RESULT}) = {target}({', '.join(columns)})"

    @property
    def _slots(self) -> dict[Aggregate, int]:
        statement = self.statement
        exprs = [c.expr for c in statement.columns] + [i.expr for i in statement.order_by]
        exprs += [statement.having] if statement.having is not None else []
        found = dict.fromkeys(node for e in exprs for node in aggregates_in(e))
        return {node: slot for slot, node in enumerate(found)}

    @property
    def _results(self) -> Translator:
        return self.translator.at(self.statement.event_type, self.statement.tags, self._slots)

    def _aggregates(self, rows: Translator) -> Iterator[str]:
        stays = isinstance(self.statement.tree.window, tree.KeepAll | None)
        fresh = [aggregate_term(node, rows_stay=stays) for node in self._slots]
        arguments = ["yes" if a.argument is None else rows.term(a.argument) for a in self._slots]
        yield f"hasAggregates({self.name}) = true"
        yield f"fresh({self.name}) = {', '.join(fresh)}"
        yield f"arguments({self.name}, {_ROW}) = {' ; '.join(arguments)}"

    def _order_by(self) -> Iterator[str]:
        items = self.statement.order_by
        if not items:
            return
        values = " ; ".join(self._results.term(item.expr) for item in items)
        yield f"isOrdered({self.name}) = true"
        yield f"orderBy({self.name}, {_RESULT}) = {values}"
        is_before = "false"
        for place, item in reversed(list(enumerate(items))):
            left, right = f"at(X:Values, {place})", f"at(Y:Values, {place})"
            if item.descending:
                left, right = right, left
            is_before = (
                f"if ({left} before {right}) then true"
                f" else if ({right} before {left}) then false else {is_before} fi fi"
            )
        one, other = "out(E1:Event, X:Values, K1:Values)", "out(E2:Event, Y:Values, K2:Values)"
        yield f"ordered({self.name}, {one}, {other}) = {is_before}"

    def _output(self) -> Iterator[str]:
        name, said = self.name, self.statement.tree
        if said.stream != "istream":
            yield f"stream({name}) = {said.stream}"
        if said.insert_stream != "istream":
            yield f"inserts({name}) = {said.insert_stream}"
        if said.distinct:
            yield f"isDistinct({name}) = true"
        if said.limit is not None:
            yield f"cut({name}, OS:Outs) = limit({said.limit.count}, {said.limit.offset}, OS:Outs)"
        if said.output is not None:
            yield from self._rate(said.output)

    def _rate(self, rate: tree.OutputRate) -> Iterator[str]:
        name, statement = self.name, self.statement
        if rate.after is not None:
            yield f"after({name}) = {amount_term(rate.after)}"
        if rate.every is not None:
            assert not isinstance(rate.every, Schedule), "a gap"
            yield f"every({name}) = {amount_term(rate.every)}"
        if statement.output_when is not None:
            counting = self.translator.at(None, {}, fixed=_COUNTERS)
            counters = "counters(N1:Nat, N2:Nat, N3:Nat, N4:Nat, D:Due)"
            condition = counting.condition(statement.output_when)
            yield f"every({name}) = when"
            yield f"outputWhen({name}, {counters}, now) = {condition}"
        if rate.every is None and rate.when is None:
            return
        yield f"mode({name}) = {_MODES[rate.mode, statement.shape.is_grouped]}"
        is_snapshot = rate.mode == "snapshot" and statement.shape is Shape.GROUP
        is_snapshot = is_snapshot and statement.tree.window is None
        if is_snapshot:
            yield f"snapshotOfGroups({name}) = true"
        if is_snapshot or (rate.mode == "all" and statement.shape.is_grouped):
            yield f"keepsGroups({name}) = true"


@dataclass
class PatternWriter:
    """The term of a pattern, and the constants of its conditions."""

    clauses: Clauses
    lines: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @singledispatchmethod
    def term(self, pattern: patterns.Pattern) -> str:
        raise TypeError(f"{type(pattern).__name__} is no pattern")

    @term.register
    def _(self, pattern: patterns.Atom) -> str:
        condition = self._condition(pattern.condition, pattern.event_type)
        type_constant = self.clauses.names.of("#", pattern.event_type)
        return f"atom({type_constant}, {text_term(pattern.tag or '')}, {condition})"

    @term.register
    def _(self, pattern: patterns.Every) -> str:
        return f"every({self.term(pattern.child)})"

    @term.register
    def _(self, pattern: patterns.EveryDistinct) -> str:
        child = self.term(pattern.child)
        keys = " ; ".join(map(self._translator(None).term, pattern.keys))
        constant = self._constant()
        self.lines.append(f"  eq keysOf({constant}, tags, now) = key({keys}) .")
        return f"distinct({constant}, {period_term(pattern.expiry or Period())}, {child})"

    @term.register
    def _(self, pattern: patterns.FollowedBy) -> str:
        return f"followed({self._all(pattern.parts)})"

    @term.register
    def _(self, pattern: patterns.AllOf) -> str:
        return f"all({self._all(pattern.parts)})"

    @term.register
    def _(self, pattern: patterns.AnyOf) -> str:
        return f"oneOf({self._all(pattern.parts)})"

    @term.register
    def _(self, pattern: patterns.Absent) -> str:
        return f"absent({self.term(pattern.child)})"

    @term.register
    def _(self, pattern: patterns.Repeat) -> str:
        tags = dict.fromkeys(a.tag for a in patterns.atoms(pattern.child) if a.tag is not None)
        names = " ".join(map(text_term, tags)) or "noNames"
        child = self.term(pattern.child)
        until = "noPattern" if pattern.until is None else self.term(pattern.until)
        bounds = f"{_bound(pattern.low)}, {_bound(pattern.high)}"
        return f"repeat({bounds}, ({names}), {child}, {until})"

    @term.register
    def _(self, pattern: patterns.Within) -> str:
        limits = f"{period_term(pattern.period)}, {_bound(pattern.most)}"
        return f"within({limits}, {self.term(pattern.child)})"

    @term.register
    def _(self, pattern: patterns.While) -> str:
        child = self.term(pattern.child)
        return f"while({self._condition(pattern.condition, None)}, {child})"

    @term.register
    def _(self, pattern: patterns.Interval) -> str:
        return f"interval({period_term(pattern.period)})"

    @term.register
    def _(self, pattern: patterns.At) -> str:
        return f"at({schedule_term(pattern.schedule)})"

    def _all(self, parts: tuple[patterns.Pattern, ...]) -> str:
        return "(" + " , ".join(map(self.term, parts)) + ")"

    def _condition(self, expr: Expr | None, current: str | None) -> str:
        if expr is None:
            return "always"
        condition = self._translator(current).condition(expr)
        constant = self._constant()
        self.lines.append(f"  eq test({constant}, {_ROW}) = {condition} .")
        return constant

    def _constant(self) -> str:
        name = self.clauses.names.of(f"{self.clauses.name}.", str(next(self._numbers)))
        self.lines.append(f"  op {name} : -> Condition [ctor] .")
        return name

    def _translator(self, current: str | None) -> Translator:
        return self.clauses.translator.at(current, self.clauses.statement.tags)


def _bound(number: int | None) -> str:
    return "open" if number is None else str(number)


def period_term(period: Period) -> str:
    return f"period({period.months}, {period.microseconds})"


def schedule_term(schedule: Schedule) -> str:
    s = schedule
    fields = (s.minutes, s.hours, s.days, s.months, s.weekdays, s.seconds)
    return f"schedule({', '.join(map(_numbers, fields))})"


def _numbers(numbers: frozenset[int] | None) -> str:
    return "any" if numbers is None else "(" + " \\/ ".join(map(str, sorted(numbers))) + ")"


def amount_term(amount: int | Period) -> str:
    if isinstance(amount, Period):
        return f"lasting({period_term(amount)})"
    return f"events({amount})"


def window_term(window: tree.Window) -> str:
    """A window before the first row has entered."""
    if isinstance(window, tree.TimeWindow):
        return f"time({period_term(window.period)}, 0, noDue, never)"
    if isinstance(window, tree.LengthWindow):
        return f"length({window.size}, noRow, 0)"
    if isinstance(window, tree.LengthBatch):
        return f"lengthBatch({window.size}, noRow, 0, noRow)"
    if isinstance(window, tree.TimeBatch):
        anchor = "never" if window.reference is None else str(window.reference * 1000)
        forced = str(window.force_update).lower()
        term = f"timeBatch({period_term(window.period)}, {forced}, {anchor}, never, noRow, noRow)"
        return f"running({term}, now)" if window.start_eager else term
    if isinstance(window, tree.KeepAll):
        return "keepAll(noRow)"
    raise TypeError(f"a gap: {window}")


def aggregate_term(node: Aggregate, *, rows_stay: bool) -> str:
    """An aggregate of no rows; where rows never leave, some keep one value only."""
    function = node.function
    if function == "count":
        term = "count(0)"
    elif function == "sum":
        assert node.argument is not None
        term = _sum(node.argument.type)
    elif function == "avg":
        term = "average(real(0.0), 0)"
    elif function == "median":
        term = "sorted(askMedian, nil)"
    elif function == "stddev":
        term = "inOrder(askDeviation, nil)"
    elif function == "avedev":
        term = "inOrder(askMeanDeviation, nil)"
    elif function == "nth":
        term = f"inOrder(askNth({node.index}), nil)"
    else:
        kind = "kept" if rows_stay else "sorted" if function in ("min", "max") else "inOrder"
        term = f"{kind}({_ASKS[function]}, nil)"
    return f"distinct(noCounts, {term})" if node.distinct else term


def _sum(type: DataType) -> str:
    if type == DOUBLE:
        return "sum(fitDouble, real(0.0), 0)"
    return f"sum({'fit32' if type == INT else 'fit64'}, int(0), 0)"
