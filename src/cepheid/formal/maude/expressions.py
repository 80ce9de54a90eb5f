"""Expressions as terms of Maude.

What Maude cannot compute (regular expressions, roundings, texts of doubles) and depends on one input
event alone is evaluated before the event enters, and becomes an attribute of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import singledispatchmethod
from itertools import count
from typing import Any

from cepheid.core.event import Event, Value
from cepheid.core.numbers import INT_RANGE, LONG_RANGE
from cepheid.core.types import (
    ANY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    DataType,
    EventRef,
    EventType,
    is_counted,
    is_integral,
    is_open,
    lineage,
)
from cepheid.expr.evaluate import Frame, compile_expr
from cepheid.expr.functions import common_type, reads_clock
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import (
    Aggregate,
    And,
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Expr,
    InList,
    InRange,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    Part,
    Regexp,
    children,
    walk,
)
from cepheid.formal.maude.names import Names
from cepheid.formal.maude.values import text_term, value_term

_WRAPS: dict[DataType, str] = {INT: "int32({})", LONG: "int64({})", DOUBLE: "{}"}
_SYMBOLS = {"=": "equals", "!=": "differs", "%": "rem"}
_RANGES: dict[DataType, tuple[int, int]] = {INT: INT_RANGE, LONG: LONG_RANGE}
# Functions that have a counterpart of the same meaning, and how it is called.
_SIMPLE = {
    "abs": "abs",
    "sign": "sign",
    "floor": "floor",
    "ceiling": "ceiling",
    "ceil": "ceiling",
    "startswith": "startswith",
    "endswith": "endswith",
    "contains": "contains",
}


def _sayable(expr: Expr, value: Value) -> Value:
    """A value that has a term; times and decimals have none."""
    if is_counted(expr.type):
        raise Unable(expr)
    return value


class Unable(Exception):
    """An expression that Maude cannot compute."""

    def __init__(self, expr: Expr) -> None:
        super().__init__(print_expr(expr))
        self.expr = expr


@dataclass(frozen=True, slots=True)
class Beforehand:
    """An attribute that is evaluated for every event of a type before it enters."""

    event_type: str
    name: str
    expr: Expr  # over the event at hand

    def value(self, event: Event) -> Value:
        return compile_expr(self.expr)(Frame(event, now=event.instant))

    def __str__(self) -> str:
        return f"{self.event_type}.{self.name} = {print_expr(self.expr)}"


@dataclass
class Translator:
    """Translates the expressions of a program, and collects what must be evaluated beforehand."""

    types: Mapping[str, EventType]
    inputs: frozenset[str]  # types that no statement derives
    names: Names
    beforehand: list[Beforehand] = field(default_factory=list)
    # What is at hand in the statement that is being translated.
    current: str | None = None
    tags: Mapping[str, DataType] = field(default_factory=dict)
    slots: Mapping[Aggregate, int] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)  # names with terms of their own

    def at(
        self,
        current: str | None,
        tags: Mapping[str, DataType],
        slots: Mapping[Aggregate, int] | None = None,
        fixed: Mapping[str, str] | None = None,
    ) -> Translator:
        """The same, in another place of the program."""
        return replace(self, current=current, tags=tags, slots=slots or {}, fixed=fixed or {})

    def condition(self, expr: Expr) -> str:
        return f"holds({self.term(expr)})"

    def term(self, expr: Expr) -> str:
        """The term of an expression; Unable where there is none."""
        if not isinstance(expr, Literal) and _is_constant(expr):
            return value_term(_sayable(expr, compile_expr(expr)(Frame())))
        try:
            return self._term(expr)
        except Unable as unable:
            if unable.expr is not expr:
                raise
            return self._evaluated(expr)

    def _evaluated(self, expr: Expr) -> str:
        """An attribute of the one event that an expression depends on."""
        roots = {(c.tag, c.index) for c in walk(expr) if isinstance(c, Column)}
        is_plain = not any(isinstance(e, Aggregate) for e in walk(expr)) and not reads_clock(expr)
        if len(roots) != 1 or not is_plain or is_counted(expr.type):
            raise Unable(expr)
        ((tag, index),) = roots
        event_type = self._type_of(tag, index)
        if event_type is None or not self._is_input(event_type):
            raise Unable(expr)
        own = _on_event_at_hand(expr)
        for known in self.beforehand:
            if (known.event_type, known.expr) == (event_type, own):
                break
        else:
            known = Beforehand(event_type, self._fresh_name(), own)
            self.beforehand.append(known)
        return self._path(self._bound(tag, index), (Part(known.name),))

    def _fresh_name(self) -> str:
        taken = {a.name for type in self.types.values() for a in type.attributes}
        taken |= {known.name for known in self.beforehand}
        return next(name for name in map("evaluated{}".format, count(1)) if name not in taken)

    def _type_of(self, tag: str | None, index: int | None) -> str | None:
        bound = None if tag is None else self.tags.get(tag)
        if tag is None:
            return self.current
        if index is not None:
            bound = getattr(bound, "element", None)
        return bound.name if isinstance(bound, EventRef) else None

    def _is_input(self, event_type: str) -> bool:
        """Whether all events of a type come from outside."""
        return all(
            name in self.inputs for name in self.types if event_type in lineage(name, self.types)
        )

    # -- names ---------------------------------------------------------------------------------

    def _bound(self, tag: str | None, index: int | None) -> str:
        if tag is None:
            return "event"
        whole = f"({text_term(tag)} of tags)"
        return whole if index is None else f"nth({whole}, {index})"

    def _path(self, term: str, path: Sequence[Part]) -> str:
        for part in path:
            term = f"({term} {self.names.of('.', part.name)})"
            if part.index is not None:
                term = f"nth({term}, {part.index})"
        return term

    @singledispatchmethod
    def _term(self, expr: Expr) -> str:
        raise Unable(expr)

    @_term.register
    def _(self, expr: Literal) -> str:
        return value_term(_sayable(expr, expr.value))

    @_term.register
    def _(self, expr: Column) -> str:
        if self.fixed:
            return self.fixed[expr.path[0].name]
        return self._path(self._bound(expr.tag, expr.index), expr.path)

    @_term.register
    def _(self, expr: Aggregate) -> str:
        return f"at(aggregates, {self.slots[expr]})"

    # -- operators -----------------------------------------------------------------------------

    @_term.register
    def _(self, expr: Not) -> str:
        return f"(not {self.term(expr.operand)})"

    @_term.register
    def _(self, expr: And) -> str:
        return "(" + " and ".join(map(self.term, expr.operands)) + ")"

    @_term.register
    def _(self, expr: Or) -> str:
        return "(" + " or ".join(map(self.term, expr.operands)) + ")"

    @_term.register
    def _(self, expr: Negate) -> str:
        if expr.type not in _WRAPS:
            raise Unable(expr)
        return _WRAPS[expr.type].format(f"minus({self.term(expr.operand)})")

    @_term.register
    def _(self, expr: Binary) -> str:
        if expr.operator in ("+", "-", "*", "/", "%"):
            return self._arithmetic(expr)
        left, right = expr.left, expr.right
        if expr.operator == "||":
            return self.joined(expr)
        if expr.operator == "is":
            return f"({self.term(left)} is {self.term(right)})"
        if expr.operator == "is not":
            return f"(not ({self.term(left)} is {self.term(right)}))"
        self._refuse_unknown(expr, left, right)
        symbol = _SYMBOLS.get(expr.operator, expr.operator)
        return f"({self.term(left)} {symbol} {self.term(right)})"

    def _refuse_unknown(self, expr: Expr, *operands: Expr) -> None:
        """Values without a static type compare by rules of their own."""
        if any(operand.type == ANY for operand in operands):
            raise Unable(expr)

    def _arithmetic(self, expr: Binary) -> str:
        common = common_type((expr.left.type, expr.right.type)) or ANY
        if expr.operator == "/" and not is_open(common):
            common = DOUBLE
        if common not in _WRAPS:
            raise Unable(expr)
        left, right = self._widened(expr.left, common), self._widened(expr.right, common)
        symbol = _SYMBOLS.get(expr.operator, expr.operator)
        return _WRAPS[common].format(f"({left} {symbol} {right})")

    def _widened(self, expr: Expr, target: DataType) -> str:
        """The term of an expression as a number of a wider type."""
        term = self.term(expr)
        return f"double({term})" if is_integral(expr.type) and target == DOUBLE else term

    def joined(self, expr: Expr) -> str:
        """The operands as texts, one after the other."""
        return "(" + " || ".join(self._written(expr, operand) for operand in children(expr)) + ")"

    def _written(self, whole: Expr, operand: Expr) -> str:
        if operand.type == STRING:
            return self.term(operand)
        if operand.type == BOOLEAN or is_integral(operand.type):
            return f"written({self.term(operand)})"
        raise Unable(whole)

    @_term.register
    def _(self, expr: InList) -> str:
        self._refuse_unknown(expr, expr.operand, *expr.items)
        items = " ; ".join(map(self.term, expr.items))
        return _negated_if(expr.negated, f"in({self.term(expr.operand)}, {items})")

    @_term.register
    def _(self, expr: InRange) -> str:
        parts = (expr.operand, expr.low, expr.high)
        self._refuse_unknown(expr, *parts)
        ends = (str(end).lower() for end in (expr.include_low, expr.include_high))
        return _negated_if(expr.negated, f"between({', '.join([*map(self.term, parts), *ends])})")

    @_term.register(Like)
    @_term.register(Regexp)
    def _(self, expr: Expr) -> str:
        raise Unable(expr)

    # -- choices, conversions, functions -------------------------------------------------------

    @_term.register
    def _(self, expr: Case) -> str:
        if expr.type == FLOAT:
            raise Unable(expr)  # nothing here rounds to 32 bits
        term = "null" if expr.otherwise is None else self._widened(expr.otherwise, expr.type)
        for test, value in reversed(expr.branches):
            condition = self.term(test)
            if expr.operand is not None:
                self._refuse_unknown(expr, expr.operand, test)
                condition = f"({self.term(expr.operand)} equals {condition})"
            term = f"case({condition}, {self._widened(value, expr.type)}, {term})"
        return term

    @_term.register
    def _(self, expr: Cast) -> str:
        source, target = expr.operand.type, expr.target
        if source == target:
            return self.term(expr.operand)
        is_number = source in (INT, LONG, FLOAT, DOUBLE)
        if target == STRING and (source == BOOLEAN or is_integral(source)):
            return f"written({self.term(expr.operand)})"
        if target == DOUBLE and is_number:
            return f"double({self.term(expr.operand)})"
        if target in _RANGES and is_number:
            low, high = _RANGES[target]
            return f"whole({self.term(expr.operand)}, {low}, {high})"
        raise Unable(expr)

    @_term.register
    def _(self, expr: Call) -> str:
        make = _CALLS.get(expr.function)
        if make is not None:
            return make(self, expr)
        if expr.function not in _SIMPLE or expr.type == FLOAT or is_open(expr.type):
            raise Unable(expr)
        arguments = ", ".join(map(self.term, expr.arguments))
        term = f"{_SIMPLE[expr.function]}({arguments})"
        return _WRAPS.get(expr.type, "{}").format(term)

    def common(self, expr: Call) -> list[str]:
        """The arguments as values of the type of the result."""
        if is_open(expr.type) or expr.type == FLOAT:
            raise Unable(expr)
        return [self._widened(argument, expr.type) for argument in expr.arguments]

    def root(self, expr: Call) -> str:
        (argument,) = expr.arguments
        if is_open(argument.type):
            raise Unable(expr)
        return f"sqrt({self._widened(argument, DOUBLE)})"


_CALLS: dict[str, Callable[[Translator, Call], str]] = {
    "current_timestamp": lambda _, __: "int(div(now, 1000))",
    "istream": lambda _, __: "truth(isNew)",
    "mod": lambda t, e: f"({' rem '.join(t.common(e))})",
    "min": lambda t, e: f"least({' ; '.join(t.common(e))})",
    "max": lambda t, e: f"greatest({' ; '.join(t.common(e))})",
    "coalesce": lambda t, e: f"coalesce({' ; '.join(t.common(e))})",
    "nullif": lambda t, e: f"nullif({', '.join(t.common(e))})",
    "concat": lambda t, e: t.joined(e),
    "sqrt": lambda t, e: t.root(e),
}


def _negated_if(negated: bool, term: str) -> str:
    return f"(not {term})" if negated else term


def _is_constant(expr: Expr) -> bool:
    return not (reads_clock(expr) or any(isinstance(e, Column | Aggregate) for e in walk(expr)))


def _on_event_at_hand(expr: Expr) -> Expr:
    """The expression with its one event as the event at hand."""
    if isinstance(expr, Column):
        return replace(expr, tag=None, index=None)
    changed: dict[str, Any] = {f.name: _changed(getattr(expr, f.name)) for f in fields(expr)}
    return replace(expr, **changed)


def _changed(value: object) -> object:
    if isinstance(value, Expr):
        return _on_event_at_hand(value)
    return tuple(map(_changed, value)) if isinstance(value, tuple) else value
