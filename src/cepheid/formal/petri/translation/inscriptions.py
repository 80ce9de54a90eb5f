"""Inscriptions that speak of events: the conditions and select lists of a program."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant
from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG
from cepheid.core.types import STRING as TEXT
from cepheid.expr.aggregates import Aggregator, make_aggregator
from cepheid.expr.evaluate import Frame, compile_condition, compile_expr
from cepheid.expr.jsonvalue import decode_value, encode_value
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import Aggregate, Expr
from cepheid.expr.typing import aggregates_in
from cepheid.expr.values import group_key
from cepheid.formal.petri.nets.multiset import Colour
from cepheid.formal.petri.nets.net import STRING, Simple
from cepheid.formal.petri.nets.terms import Names, Term, Var
from cepheid.program.resolved import OutputColumn, ResolvedStatement

EVENT = Simple("EVENT", Event)
STREAM = ""  # what binds the event of a stream, where rows are bindings
BINDING = Simple("BINDING", tuple)  # tags and what they are bound to: an event, or several
BINDINGS = Simple("BINDINGS", tuple)


@dataclass(frozen=True, slots=True)
class Row:
    """The variables that an expression of a program is evaluated with."""

    now: Term
    event: Var | None = None  # the event at hand
    tags: tuple[tuple[str, Var], ...] = ()
    aggregates: tuple[tuple[Aggregate, Term], ...] = ()
    binding: Term | None = None  # the tags, where one variable has them all

    def terms(self) -> Iterator[Term]:
        yield self.now
        if self.event is not None:
            yield self.event
        if self.binding is not None:
            yield self.binding
        yield from (term for _, term in self.tags)
        yield from (term for _, term in self.aggregates)

    def frame(self) -> Callable[..., Frame]:
        """From the values of the terms to what expressions are evaluated against."""
        has_event, has_binding = self.event is not None, self.binding is not None
        first = 1 + has_event + has_binding
        tags = tuple(tag for tag, _ in self.tags)
        after = first + len(tags)

        def make(*values: object) -> Frame:
            event = values[1] if has_event else None
            bound = dict(zip(tags, values[first:after], strict=True))
            if has_binding:
                bound = dict(values[first - 1])  # type: ignore[call-overload]
                event = bound.get(STREAM) if event is None else event
            return Frame(event, bound, values[0], aggregates=values[after:])  # type: ignore[arg-type]

        return make

    def slots(self) -> dict[Aggregate, int]:
        return {aggregate: slot for slot, (aggregate, _) in enumerate(self.aggregates)}


class Evaluated(Term):
    """A term that evaluates expressions of the program."""

    __slots__ = ()
    row: Row

    @abstractmethod
    def function(self) -> Callable[..., object]:
        """From the values of the terms of the row to the value."""

    def python(self, names: Names) -> str:
        arguments = ", ".join(term.python(names) for term in self.arguments())
        return f"{names.of(self.function())}({arguments})"

    def arguments(self) -> Iterator[Term]:
        return self.row.terms()

    def variables(self) -> Iterator[str]:
        for term in self.arguments():
            yield from term.variables()


@dataclass(frozen=True, slots=True)
class Holds(Evaluated):
    """Whether a condition is true."""

    condition: Expr
    row: Row
    negated: bool = False

    def function(self) -> Callable[..., bool]:
        holds, frame = compile_condition(self.condition, self.row.slots()), self.row.frame()
        negated = self.negated
        return lambda *values: holds(frame(*values)) is not negated

    def __str__(self) -> str:
        text = print_expr(self.condition)
        return f"not ({text})" if self.negated else text


@dataclass(frozen=True, slots=True)
class IsNull(Evaluated):
    expr: Expr
    row: Row

    def function(self) -> Callable[..., bool]:
        evaluate, frame = compile_expr(self.expr), self.row.frame()
        return lambda *values: evaluate(frame(*values)) is None

    def __str__(self) -> str:
        return f"{print_expr(self.expr)} is null"


@dataclass(frozen=True, slots=True)
class Evaluations(Evaluated):
    """The values of some expressions, as a list; what is no scalar becomes a key that stands for it."""

    exprs: tuple[Expr, ...]
    row: Row

    def function(self) -> Callable[..., tuple[object, ...]]:
        evaluators, frame = [compile_expr(e) for e in self.exprs], self.row.frame()

        def evaluate(*values: object) -> tuple[object, ...]:
            given = frame(*values)
            found = (evaluator(given) for evaluator in evaluators)
            return tuple(v if _is_scalar(v) else group_key(v) for v in found)

        return evaluate

    def __str__(self) -> str:
        return f"[{', '.join(map(print_expr, self.exprs))}]"


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_scalar(value: Value) -> bool:
    return value is None or isinstance(value, str | int | float)


@dataclass(frozen=True, slots=True)
class KeyOf(Term):
    """The attributes of an event that say which partition of a context it belongs to."""

    event: Var
    attributes: tuple[str, ...]

    def python(self, names: Names) -> str:
        def key(event: Event) -> tuple[object, ...]:
            # Tokens are found by their keys, so these must be equal as they are; NaN is not.
            found = (event.values_.get(attribute) for attribute in self.attributes)
            return tuple(v if _is_scalar(v) and not _is_nan(v) else group_key(v) for v in found)

        return f"{names.of(key)}({self.event.python(names)})"

    def variables(self) -> Iterator[str]:
        return self.event.variables()

    def __str__(self) -> str:
        return f"[{', '.join(f'{self.event}.{a}' for a in self.attributes)}]"


@dataclass(frozen=True, slots=True)
class Columns(Evaluated):
    """The select list over a row: names and values."""

    columns: tuple[OutputColumn, ...]
    row: Row

    def function(self) -> Callable[..., tuple[tuple[str, Value], ...]]:
        frame, slots = self.row.frame(), self.row.slots()
        columns = [(c.name, compile_expr(c.expr, slots)) for c in self.columns]

        def evaluate(*values: object) -> tuple[tuple[str, Value], ...]:
            given = frame(*values)
            return tuple((name, evaluator(given)) for name, evaluator in columns)

        return evaluate

    def __str__(self) -> str:
        return f"[{', '.join(c.name for c in self.columns)}]"


@dataclass(frozen=True, slots=True)
class Emitted(Term):
    """The event of the first of some results."""

    statement: ResolvedStatement = field(repr=False)
    results: Term
    taken: Term
    now: Term
    number: Term

    def python(self, names: Names) -> str:
        statement = self.statement

        def emit(
            results: Sequence[tuple[bool, tuple[tuple[str, Value], ...]]],
            taken: int,
            now: Instant,
            number: int,
        ) -> Event:
            key = (now, taken, statement.rank, number)
            values = dict(results[0][1])
            return Event(statement.target, now, values, number, statement.name, key=key)

        arguments = (self.results, self.taken, self.now, self.number)
        return f"{names.of(emit)}({', '.join(term.python(names) for term in arguments)})"

    def variables(self) -> Iterator[str]:
        for term in (self.results, self.taken, self.now, self.number):
            yield from term.variables()

    def __str__(self) -> str:
        return f"{self.statement.target}({self.results})"


@dataclass(frozen=True, slots=True)
class Derived(Evaluated):
    """The event that a statement makes of a row.

    Its key puts the rows of a run in order: the instant, the number of the event that was being
    taken, the rank of the statement, and the number of the row.
    """

    statement: ResolvedStatement = field(repr=False)
    row: Row
    taken: Term
    number: Term

    def arguments(self) -> Iterator[Term]:
        yield self.taken
        yield self.number
        yield from self.row.terms()

    def function(self) -> Callable[..., Event]:
        statement, frame, slots = self.statement, self.row.frame(), self.row.slots()
        columns = [(c.name, compile_expr(c.expr, slots)) for c in statement.columns]

        def derive(taken: int, number: int, now: Instant, *values: object) -> Event:
            given = frame(now, *values)
            named = {name: evaluate(given) for name, evaluate in columns}
            key = (now, taken, statement.rank, number)
            return Event(statement.target, now, named, number, statement.name, key=key)

        return derive

    def __str__(self) -> str:
        return f"{self.statement.target}({', '.join(map(str, self.row.terms()))})"


@dataclass(frozen=True, slots=True)
class Folded(Evaluated):
    """The state of an aggregate after a row has entered or left it."""

    aggregate: Aggregate
    state: Term
    row: Row
    enters: bool
    rows_leave: bool

    def arguments(self) -> Iterator[Term]:
        yield self.state
        yield from self.row.terms()

    def function(self) -> Callable[..., Colour]:
        argument, frame = self.aggregate.argument, self.row.frame()
        evaluate = (lambda _: True) if argument is None else compile_expr(argument)

        def fold(state: Colour, *values: object) -> Colour:
            aggregator = load(self.aggregate, state, rows_leave=self.rows_leave)
            move = aggregator.enter if self.enters else aggregator.leave
            move(evaluate(frame(*values)))
            return save(self.aggregate, aggregator)

        return fold

    def __str__(self) -> str:
        move = "enter" if self.enters else "leave"
        return f"{move}({self.state}, {print_expr(self.aggregate)})"


@dataclass(frozen=True, slots=True)
class Moved(Term):
    """The state of an aggregate after a value has entered or left it."""

    aggregate: Aggregate
    state: Term
    value: Term
    enters: bool
    rows_leave: bool

    def python(self, names: Names) -> str:
        def move(state: Colour, value: Value) -> Colour:
            aggregator = load(self.aggregate, state, rows_leave=self.rows_leave)
            (aggregator.enter if self.enters else aggregator.leave)(value)
            return save(self.aggregate, aggregator)

        arguments = f"{self.state.python(names)}, {self.value.python(names)}"
        return f"{names.of(move)}({arguments})"

    def variables(self) -> Iterator[str]:
        yield from self.state.variables()
        yield from self.value.variables()

    def __str__(self) -> str:
        return f"{'enter' if self.enters else 'leave'}({self.state}, {self.value})"


@dataclass(frozen=True, slots=True)
class Told(Term):
    """The value of an aggregate, from its state."""

    aggregate: Aggregate
    state: Term
    rows_leave: bool

    def python(self, names: Names) -> str:
        def tell(state: Colour) -> object:
            return load(self.aggregate, state, rows_leave=self.rows_leave).result()

        return f"{names.of(tell)}({self.state.python(names)})"

    def variables(self) -> Iterator[str]:
        return self.state.variables()

    def __str__(self) -> str:
        return f"{self.aggregate.function}({self.state})"


# The state of an aggregate in a token: count and total, or the values that it keeps; of what is not
# made of scalars, JSON.
_PLAIN = (INT, LONG, FLOAT, DOUBLE, TEXT, BOOLEAN)
SUM, VALUES = Simple("SUM", tuple), Simple("VALUES", tuple)


def state_colours(aggregate: Aggregate) -> Simple:
    if not _is_plain(aggregate):
        return STRING
    return SUM if aggregate.function in ("sum", "avg") else VALUES


def is_count(aggregate: Aggregate) -> bool:
    """Whether the state of an aggregate is just its value."""
    return aggregate.function == "count" and not aggregate.distinct


def _is_plain(aggregate: Aggregate) -> bool:
    argument = aggregate.argument
    return not aggregate.distinct and (argument is None or argument.type in _PLAIN)


def save(aggregate: Aggregate, aggregator: Aggregator) -> Colour:
    saved = aggregator.save()
    if is_count(aggregate):
        return saved  # type: ignore[return-value]
    if not _is_plain(aggregate):
        return json.dumps(saved)
    return tuple(map(decode_value, saved))  # type: ignore[arg-type]


def load(aggregate: Aggregate, state: Colour, *, rows_leave: bool) -> Aggregator:
    aggregator = make_aggregator(aggregate, rows_leave=rows_leave)
    if is_count(aggregate):
        aggregator.load(state)  # type: ignore[arg-type]
        return aggregator
    is_plain = _is_plain(aggregate)
    aggregator.load(list(map(encode_value, state)) if is_plain else json.loads(state))  # type: ignore[call-overload, arg-type]
    return aggregator


def empty_state(aggregate: Aggregate, *, rows_leave: bool) -> Colour:
    """The state of an aggregate of no rows."""
    return save(aggregate, make_aggregator(aggregate, rows_leave=rows_leave))


def aggregates_of(statement: ResolvedStatement) -> tuple[Aggregate, ...]:
    exprs = [column.expr for column in statement.columns]
    exprs += [statement.having] if statement.having is not None else []
    return tuple(dict.fromkeys(node for e in exprs for node in aggregates_in(e)))
