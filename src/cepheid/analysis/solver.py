"""Typed expressions as formulas for Z3, with SQL nulls; nothing else knows Z3.

Whatever has no exact formula (functions, arithmetic on floats, regular expressions, nested values)
becomes an unknown that may have any value, also null; so does what is longer than `LONGEST`. So what
Z3 cannot satisfy, no event can; what it can satisfy may still be impossible. Numbers are compared by
their mathematical values, integers have the range of their type and wrap beyond it, floats may be NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, singledispatchmethod
from typing import Any

from cepheid.core.event import Value
from cepheid.core.numbers import INT_RANGE, LONG_RANGE
from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, STRING, DataType
from cepheid.expr.tree import (
    And,
    Binary,
    Case,
    Cast,
    Column,
    Expr,
    InList,
    InRange,
    Literal,
    Negate,
    Not,
    Or,
    is_number,
)

Formula = Any  # of Z3, whose classes are known only where it is loaded
_LAST_CHARACTER = 0x2FFFF  # that Z3's texts may have
# What one question may cost. Steps are counted, so that a busy machine gives the same answers; they
# are some seconds' work at most, and the time is for what goes on without counting.
LIMITS = {"rlimit": 2_000_000, "timeout": 60_000}
_OPTIONS = {"ctrl_c": False}  # else Z3 hears Ctrl-C in place of Python, and goes on
LONGEST = 200  # operands of one `and`, `or` or `in` that are looked at
_RANGES: dict[DataType, tuple[int, int]] = {INT: INT_RANGE, LONG: LONG_RANGE}
_FLOATS = (FLOAT, DOUBLE)
_NUMBERS = (INT, LONG, *_FLOATS)


@cache
def _z3() -> Any:
    import z3

    return z3


@dataclass(frozen=True, slots=True)
class Term:
    """A value, whether it is null, and whether it is NaN; without a value nothing is known of it."""

    type: DataType
    value: Formula
    null: Formula
    nan: Formula


class SymbolicEvent:
    """An event of which only the type is known."""

    def __init__(self, instant: Formula) -> None:
        self.instant = instant
        self.attributes: dict[str, Term] = {}
        self.is_open = False  # whether its attributes may have any values, null among them


Events = Mapping[str | None, SymbolicEvent]


class Solver:
    """Makes formulas and answers whether they can hold."""

    def __init__(self) -> None:
        self.z3 = _z3()
        self.facts: list[Formula] = []  # what holds of every unknown
        self.count = 0
        self._session: Any = None  # keeps the facts from question to question
        self._told = 0  # how many of them it knows
        # Results of arithmetic on floats; the operands must live as long as their numbers count.
        self._results: dict[tuple[str, int, int], tuple[Term, Term, Term]] = {}

    def can_hold(self, formulas: list[Formula]) -> bool:
        """False only where Z3 is certain."""
        solver = self._with_facts()
        solver.push()
        solver.add(*formulas)
        answer = solver.check()
        solver.pop()
        return bool(answer != self.z3.unsat)

    def clash(self, formulas: Sequence[Formula], beside: Sequence[Formula]) -> list[int]:
        """The places of few formulas that cannot all hold beside others; none where they can."""
        solver = self.z3.SimpleSolver()
        solver.set(**LIMITS, **_OPTIONS)
        solver.set("core.minimize", True)  # noqa: FBT003 (it is Z3's)
        solver.add(*self.facts, *beside)
        marks = [self.z3.Bool(f"formula_{place}") for place in range(len(formulas))]
        solver.add(*(self.z3.Implies(m, f) for m, f in zip(marks, formulas, strict=True)))
        if solver.check(*marks) != self.z3.unsat:
            return []
        blamed = {str(mark) for mark in solver.unsat_core()}
        return [place for place, mark in enumerate(marks) if str(mark) in blamed]

    def _with_facts(self) -> Any:
        if self._session is None:
            self._session = self.z3.SimpleSolver()
        self._session.set(**LIMITS, **_OPTIONS)
        self._session.add(*self.facts[self._told :])
        self._told = len(self.facts)
        return self._session

    def most(self, amount: Formula, formulas: list[Formula]) -> int | None:
        """The largest value of an amount; None where there is none, or Z3 finds none."""
        optimize = self.z3.Optimize()
        optimize.set(**LIMITS)
        optimize.add(*self.facts, *formulas)
        goal = optimize.maximize(amount)
        if optimize.check() != self.z3.sat:
            return None
        found = optimize.upper(goal)
        return found.as_long() if self.z3.is_int_value(found) else None

    # Unknowns.

    def example(
        self, formulas: list[Formula], terms: Sequence[Term], instants: Sequence[Formula]
    ) -> tuple[list[Value], list[int]] | None:
        """Values of terms and of instants for which formulas hold; None where Z3 finds none."""
        # In a context of its own: which example is found depends on all that was asked in one before.
        own = self.z3.Context()
        solver = self.z3.Solver(ctx=own)
        solver.set(**LIMITS, **_OPTIONS)
        solver.add(*(formula.translate(own) for formula in (*self.facts, *formulas)))
        if solver.check() != self.z3.sat:
            return None
        model = solver.model().translate(self.z3.main_ctx())
        values = [self._value_in(model, term) for term in terms]
        return values, [_whole(model, instant) for instant in instants]

    def _value_in(self, model: Any, term: Term) -> Value:
        z3 = self.z3
        absent = model.eval(z3.Or(term.null, term.nan), model_completion=True)
        if term.value is None or z3.is_true(absent):
            return None
        found = model.eval(term.value, model_completion=True)
        if term.type == BOOLEAN:
            return bool(z3.is_true(found))
        if term.type == STRING:
            return str(found.as_string())
        if term.type in _FLOATS:
            return float(found.as_fraction())
        return int(found.as_long())

    def instant(self) -> Formula:
        self.count += 1
        return self.z3.Int(f"instant_{self.count}")

    def unknown(self, type: DataType) -> Term:
        z3 = self.z3
        self.count += 1
        name, null, nan = str(self.count), z3.Bool(f"null_{self.count}"), z3.BoolVal(val=False)
        if type == BOOLEAN:
            return Term(type, z3.Bool(name), null, nan)
        if type == STRING:
            return Term(type, z3.String(name), null, nan)
        if type in _FLOATS:
            return Term(type, z3.Real(name), null, z3.Bool(f"nan_{name}"))
        if type in _RANGES:
            value = z3.Int(name)
            self.facts.append(self._in_range(value, type))
            return Term(type, value, null, nan)
        return Term(type, None, null, nan)

    def _in_range(self, value: Formula, type: DataType) -> Formula:
        low, high = _RANGES[type]
        return self.z3.And(value >= low, value <= high)

    def attribute(self, event: SymbolicEvent, name: str, type: DataType) -> Term:
        if name not in event.attributes:
            event.attributes[name] = self.unknown(type)
        return event.attributes[name]

    # Truth.

    def is_true(self, term: Term) -> Formula:
        z3 = self.z3
        if term.type != BOOLEAN:
            return z3.Not(self.unknown(BOOLEAN).null)
        return z3.And(term.value, z3.Not(term.null))

    def is_false(self, term: Term) -> Formula:
        z3 = self.z3
        if term.type != BOOLEAN:
            return z3.Not(self.unknown(BOOLEAN).null)
        return z3.And(z3.Not(term.value), z3.Not(term.null))

    def holds(self, condition: Expr, events: Events) -> Formula:
        """That a condition is true, which neither false nor null is."""
        return self.is_true(self.term(condition, events))

    def same(self, one: Term, other: Term) -> Formula:
        """That two terms are the same value, nulls and NaN included."""
        z3 = self.z3
        if one.value is None or other.value is None or not _comparable(one, other):
            return z3.BoolVal(val=True)
        either = z3.And(one.null == other.null, one.nan == other.nan)
        return z3.And(either, z3.Or(one.null, one.nan, one.value == other.value))

    def _boolean(self, true: Formula, false: Formula) -> Term:
        z3 = self.z3
        return Term(BOOLEAN, true, z3.Not(z3.Or(true, false)), z3.BoolVal(val=False))

    # Expressions.

    @singledispatchmethod
    def term(self, expr: Expr, events: Events) -> Term:
        return self.unknown(expr.type)

    @term.register
    def _literal(self, expr: Literal, events: Events) -> Term:
        z3, value = self.z3, expr.value
        no = z3.BoolVal(val=False)
        if isinstance(value, bool):
            return Term(BOOLEAN, z3.BoolVal(value), no, no)
        if isinstance(value, str) and all(ord(c) <= _LAST_CHARACTER for c in value):
            # A backslash would begin an escape.
            return Term(STRING, z3.StringVal(value.replace("\\", "\\u{5c}")), no, no)
        if isinstance(value, int) and expr.type in _RANGES:
            return Term(expr.type, z3.IntVal(value), no, no)
        if is_number(expr) and expr.type in _FLOATS:
            # A float is a fraction, and compared as such.
            top, bottom = float(expr.value).as_integer_ratio()  # type: ignore[arg-type]
            return Term(expr.type, z3.RealVal(top) / z3.RealVal(bottom), no, no)
        return self.unknown(expr.type)

    @term.register
    def _column(self, expr: Column, events: Events) -> Term:
        if expr.is_attribute and expr.tag in events:
            return self.attribute(events[expr.tag], expr.path[0].name, expr.type)
        return self.unknown(expr.type)

    @term.register
    def _not(self, expr: Not, events: Events) -> Term:
        operand = self.term(expr.operand, events)
        return self._boolean(self.is_false(operand), self.is_true(operand))

    @term.register
    def _and(self, expr: And, events: Events) -> Term:
        if len(expr.operands) > LONGEST:
            return self.unknown(BOOLEAN)
        terms = [self.term(operand, events) for operand in expr.operands]
        return self._boolean(
            self.z3.And(*map(self.is_true, terms)), self.z3.Or(*map(self.is_false, terms))
        )

    @term.register
    def _or(self, expr: Or, events: Events) -> Term:
        if len(expr.operands) > LONGEST:
            return self.unknown(BOOLEAN)
        terms = [self.term(operand, events) for operand in expr.operands]
        return self._any(terms)

    def _any(self, terms: list[Term]) -> Term:
        return self._boolean(
            self.z3.Or(*map(self.is_true, terms)), self.z3.And(*map(self.is_false, terms))
        )

    @term.register
    def _negate(self, expr: Negate, events: Events) -> Term:
        operand = self.term(expr.operand, events)
        if operand.type in _FLOATS:
            return Term(operand.type, -operand.value, operand.null, operand.nan)
        return self.unknown(expr.type)

    @term.register
    def _cast(self, expr: Cast, events: Events) -> Term:
        """Widening keeps the value, except that of a long as a float."""
        operand = self.term(expr.operand, events)
        widened = {(INT, LONG), (INT, DOUBLE), (FLOAT, DOUBLE)}
        if (operand.type, expr.target) in widened:
            value = operand.value
            if operand.type == INT and expr.target == DOUBLE:
                value = self.z3.ToReal(value)
            return Term(expr.target, value, operand.null, operand.nan)
        return operand if operand.type == expr.target else self.unknown(expr.target)

    @term.register
    def _case(self, expr: Case, events: Events) -> Term:
        result = self.unknown(expr.type)
        values = [value for _, value in expr.branches]
        values += [expr.otherwise] if expr.otherwise is not None else []
        if expr.operand is not None or any(v.type != expr.type for v in values):
            return result
        reached = self.z3.BoolVal(val=True)
        for condition, value in expr.branches:
            true = self.holds(condition, events)
            chosen = self.same(result, self.term(value, events))
            self.facts.append(self.z3.Implies(self.z3.And(reached, true), chosen))
            reached = self.z3.And(reached, self.z3.Not(true))
        if expr.otherwise is not None:
            last = self.same(result, self.term(expr.otherwise, events))
            self.facts.append(self.z3.Implies(reached, last))
        else:
            self.facts.append(self.z3.Implies(reached, result.null))
        return result

    @term.register
    def _binary(self, expr: Binary, events: Events) -> Term:
        left, right = self.term(expr.left, events), self.term(expr.right, events)
        if expr.operator in ("is", "is not"):
            return self._is(expr, left, right)
        if expr.operator in ("+", "-", "*"):
            return self._arithmetic(expr, left, right)
        if expr.operator in ("=", "!=", "<", "<=", ">", ">="):
            return self.compare(expr.operator, left, right)
        return self.unknown(expr.type)

    def _is(self, expr: Binary, left: Term, right: Term) -> Term:
        z3 = self.z3
        others = [left for side in (expr.right,) if _is_null(side)]
        others += [right for side in (expr.left,) if _is_null(side)]
        if others:
            same = others[0].null
        elif _comparable(left, right):
            same = self.same(left, right)
        else:
            return self.unknown(BOOLEAN)
        is_wanted = expr.operator == "is"
        return self._boolean(same, z3.Not(same)) if is_wanted else self._boolean(z3.Not(same), same)

    def _arithmetic(self, expr: Binary, left: Term, right: Term) -> Term:
        if expr.type in _FLOATS:
            return self._float_arithmetic(expr, left, right)
        result = self.unknown(expr.type)
        is_linear = expr.operator != "*" or is_number(expr.left) or is_number(expr.right)
        if not (expr.type in _RANGES and left.type in _RANGES and right.type in _RANGES):
            return result
        if not is_linear:
            return result
        exact = _ARITHMETIC[expr.operator](left.value, right.value)
        z3 = self.z3
        self.facts.append(z3.Implies(self._in_range(exact, expr.type), result.value == exact))
        self.facts.append(result.null == z3.Or(left.null, right.null))
        return result

    def _float_arithmetic(self, expr: Binary, left: Term, right: Term) -> Term:
        """How it rounds is unknown, but equal operands give equal results."""
        if left.value is None or right.value is None:
            return self.unknown(expr.type)
        key = (expr.operator, left.value.get_id(), right.value.get_id())
        if key not in self._results:
            result = self.unknown(expr.type)
            self.facts.append(result.null == self.z3.Or(left.null, right.null))
            for number, other in ((expr.left, right), (expr.right, left)):
                if expr.operator == "*" and is_number(number) and number.value:
                    self.facts.append(result.nan == other.nan)
            self._results[key] = (result, left, right)
        return self._results[key][0]

    def compare(self, operator: str, left: Term, right: Term) -> Term:
        z3 = self.z3
        if not _comparable(left, right):
            return self.unknown(BOOLEAN)
        plain = _COMPARISONS[operator](left.value, right.value)
        nan = z3.Or(left.nan, right.nan)
        true = z3.Or(nan, plain) if operator == "!=" else z3.And(z3.Not(nan), plain)
        return Term(BOOLEAN, true, z3.Or(left.null, right.null), z3.BoolVal(val=False))

    @term.register
    def _in_list(self, expr: InList, events: Events) -> Term:
        if len(expr.items) > LONGEST:
            return self.unknown(BOOLEAN)
        operand = self.term(expr.operand, events)
        items = [self.term(item, events) for item in expr.items]
        found = self._any([self.compare("=", operand, item) for item in items])
        return self._negated(found) if expr.negated else found

    @term.register
    def _in_range_of(self, expr: InRange, events: Events) -> Term:
        """The ends are exchanged where they are the wrong way round."""
        z3 = self.z3
        operand, low, high = (self.term(e, events) for e in (expr.operand, expr.low, expr.high))
        if not (_comparable(operand, low) and _comparable(low, high)):
            return self.unknown(BOOLEAN)
        above, below = ">=" if expr.include_low else ">", "<=" if expr.include_high else "<"

        def between(first: Term, last: Term) -> Formula:
            ends = (self.compare(above, operand, first), self.compare(below, operand, last))
            return z3.And(*map(self.is_true, ends))

        is_swapped = self.is_true(self.compare(">", low, high))
        true = z3.If(is_swapped, between(high, low), between(low, high))
        null = z3.Or(operand.null, low.null, high.null)
        found = Term(BOOLEAN, true, null, z3.BoolVal(val=False))
        return self._negated(found) if expr.negated else found

    def _negated(self, term: Term) -> Term:
        return self._boolean(self.is_false(term), self.is_true(term))


def _whole(model: Any, instant: Formula) -> int:
    return int(model.eval(instant, model_completion=True).as_long())


def _is_null(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value is None


def _comparable(one: Term, other: Term) -> bool:
    if one.value is None or other.value is None:
        return False
    return one.type == other.type or (one.type in _NUMBERS and other.type in _NUMBERS)


_ARITHMETIC: dict[str, Any] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
}
_COMPARISONS: dict[str, Any] = {
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}
