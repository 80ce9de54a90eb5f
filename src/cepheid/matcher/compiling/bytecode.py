"""Expressions as code for a small stack machine, which `evaluate.py` runs.

An instruction is a word of `Op` and its operands, one word each. Every value on the stack goes with
a mark of whether it is null. What the machine cannot do itself becomes a *site*: an expression over
the values on the stack, which Python evaluates as the reference semantics does. A value of which
no type is known is null in every run, so its code is null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from functools import cached_property, singledispatchmethod
from types import MappingProxyType
from typing import Any, TypeAlias

from cepheid.core.event import Event, Value
from cepheid.core.numbers import fits_long
from cepheid.core.time import MICROSECONDS
from cepheid.core.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    EventRef,
    RecordType,
    is_counted,
    is_open,
)
from cepheid.expr.evaluate import Evaluator, Frame, compile_expr
from cepheid.expr.functions import FUNCTIONS, calls_python, common_type, reads_clock
from cepheid.expr.tree import (
    ARITHMETIC,
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
from cepheid.matcher.columns.interning import Pool, double_bits
from cepheid.matcher.compiling.counted import are_scaled, is_converted, is_within, scale_of
from cepheid.matcher.vm.expressions.instructions import (
    GREATER,
    HIGH_DOUBLE,
    INCLUDE_HIGH,
    INCLUDE_LOW,
    LASTING,
    LEFT_DOUBLE,
    LESS,
    LOW_DOUBLE,
    MOST_LASTING,
    RELATIONS,
    RIGHT_DOUBLE,
    SECOND_IS_GREATER,
    SECOND_IS_LESSER,
    STRICT,
    VALUE_DOUBLE,
    Op,
)

Slots: TypeAlias = Mapping[tuple[str, DataType], int]
_NESTED = (ArrayType, RecordType, EventRef)
_POOLED = RecordType(())  # of a value that certainly lies in the pool


# -- sites -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Site:
    """What Python is asked to evaluate: an expression whose columns are the arguments."""

    expr: Expr
    arguments: tuple[DataType, ...]
    type: DataType
    is_strict: bool  # null wherever an argument is null: then nobody need be asked
    is_lasting: bool = False  # the arguments are known to be no rows

    @cached_property
    def _evaluate(self) -> Evaluator:
        return compile_expr(self.expr)

    def value(self, arguments: Sequence[Value]) -> Value:
        values = {_name(place): value for place, value in enumerate(arguments)}
        return self._evaluate(Frame(Event("arguments", 0, values)))

    @property
    def flags(self) -> int:
        """An answer about rows is of use only once: they may hold something else later."""
        is_lasting = self.is_lasting or not any(isinstance(t, _NESTED) for t in self.arguments)
        can_be_kept = is_lasting and len(self.arguments) <= MOST_LASTING
        return STRICT * self.is_strict | LASTING * can_be_kept


# -- compiling ---------------------------------------------------------------------------------


def compile_expression(
    expr: Expr,
    slots: Slots,
    tags: Mapping[str, int],
    pool: Pool,
    sites: list[Site],
    code: list[int],
    aggregates: Mapping[Aggregate, int] = MappingProxyType({}),
) -> int:
    """Appends the code of a resolved expression, and says where it begins.

    `slots` are the places of attributes in events, `tags` those of tags in bindings, `aggregates`
    those of aggregates in their row.
    """
    begin = len(code)
    compiler = _Compiler(slots, tags, pool, sites, code, aggregates)
    compiler.emit(expr)
    compiler.add(Op.END)
    return begin


_TYPE_NAMES: dict[DataType, str] = {INT: "INT", LONG: "LONG", FLOAT: "FLOAT", DOUBLE: "DOUBLE"}
_OPERATIONS = {"+": "ADD", "-": "SUBTRACT", "*": "MULTIPLY"}
_REALS = (FLOAT, DOUBLE)
_INTEGERS = (INT, LONG)
_NUMBERS = (*_INTEGERS, *_REALS)


class _Compiler:
    def __init__(
        self,
        slots: Slots,
        tags: Mapping[str, int],
        pool: Pool,
        sites: list[Site],
        code: list[int],
        aggregates: Mapping[Aggregate, int],
    ) -> None:
        self._slots = slots
        self._tags = tags
        self._pool = pool
        self._sites = sites
        self._code = code
        self._aggregates = aggregates

    # -- building blocks --

    def add(self, op: Op, *operands: int) -> None:
        self._code += (int(op), *operands)

    def jump(self, op: Op) -> int:
        """A jump to a place that is not known yet; `land` tells it."""
        self.add(op, -1)
        return len(self._code) - 1

    def land(self, jumps: Iterable[int]) -> None:
        for jump in jumps:
            self._code[jump] = len(self._code)

    def constant(self, value: Value, type: DataType) -> None:
        bits, is_null = self._pool.encode(value, type)
        if is_null:
            self.add(Op.NULL)
        else:
            self.add(Op.CONSTANT, bits)

    def emit(self, expr: Expr) -> None:
        """Code that leaves the value on the stack."""
        if _is_null(expr):
            self.add(Op.NULL)
        elif _is_constant(expr):
            self.constant(_constant_value(expr), expr.type)
        elif _is_native(expr):
            self._emit(expr)
        else:
            self._ask(expr)

    @singledispatchmethod
    def _emit(self, expr: Expr) -> None:
        raise TypeError(f"{type(expr).__name__} has no code; resolve the expression first")

    def _widened(self, expr: Expr, target: DataType) -> None:
        """The value as one of a wider type."""
        if is_counted(expr.type) or is_counted(target):
            self.emit(Cast(expr, target, type=target))
        else:
            self.emit(expr)
            self._convert(expr.type, target)

    def _scaled(self, expr: Expr, scale: int) -> None:
        """An exact number, counted in units of so many digits after the point."""
        self.emit(expr)
        power = scale - scale_of(expr.type)
        if power:
            self.add(Op.CONSTANT, 10**power)
            self.add(Op.MULTIPLY_LONG)

    def _convert(self, source: DataType, target: DataType) -> None:
        """As `cast` does, between what is `is_converted`."""
        if (source, target) == (DATE, TIMESTAMP):
            self.add(Op.CONSTANT, MICROSECONDS["days"])
            self.add(Op.MULTIPLY_LONG)
        if isinstance(source, DecimalType) and target == DOUBLE:
            # Both are exact as doubles, and so is the one rounding.
            self.add(Op.INTEGER_TO_DOUBLE)
            self.add(Op.CONSTANT, double_bits(10.0**source.scale))
            self.add(Op.DIVIDE)
            return
        if source in _INTEGERS and target in _REALS:
            self.add(Op.INTEGER_TO_DOUBLE)
        if source != FLOAT and target == FLOAT:
            self.add(Op.DOUBLE_TO_FLOAT)
        if source == LONG and target == INT:
            self.add(Op.INTEGER_TO_INT)
        if source in _REALS and target in _INTEGERS:
            self.add(Op.DOUBLE_TO_INT if target == INT else Op.DOUBLE_TO_LONG)

    # -- sites --

    def _ask(self, expr: Expr) -> None:
        """The value, from Python; what is next to each other there becomes one question."""
        inputs: list[Expr] = []
        template, is_strict = self._template(expr, inputs)
        for part in inputs:
            self.emit(part)
        types = tuple(part.type for part in inputs)
        self._ask_site(Site(template, types, expr.type, is_strict))

    def _template(self, expr: Expr, inputs: list[Expr]) -> tuple[Expr, bool]:
        """The expression over its inputs, and whether it is null wherever one of them is."""
        is_strict = _is_strict(expr)

        def inner(part: Expr) -> Expr:
            nonlocal is_strict
            if _is_constant(part):
                return part
            if _is_native(part) or _is_null(part):
                return _argument(_place(part, inputs), part.type)
            template, is_strict_inside = self._template(part, inputs)
            is_strict = is_strict and is_strict_inside
            return template

        return _with_parts(expr, inner), is_strict

    def _ask_site(self, site: Site) -> None:
        if site not in self._sites:
            self._sites.append(site)
        number = self._sites.index(site)
        self.add(Op.ASK, number, len(site.arguments), site.flags)

    # -- names --

    @_emit.register
    def _column(self, expr: Column) -> None:
        if not expr.path:
            self._start(expr)
        elif expr.is_attribute:
            self._attribute(expr)
        else:
            self._path(expr)

    def _start(self, expr: Column) -> None:
        """The event, or the list of events, that a name begins with."""
        if expr.tag is None:
            self.add(Op.EVENT)
        else:
            self.add(Op.BOUND, self._tags[expr.tag])
        if expr.index is not None:
            self.add(Op.ELEMENT, expr.index)

    def _attribute(self, expr: Column) -> None:
        slot = self._slot(expr)
        if slot is None:
            self.add(Op.NULL)
        elif expr.tag is None:
            self.add(Op.EVENT_SLOT, slot)
        else:
            self.add(Op.BOUND_SLOT, self._tags[expr.tag], slot)

    def _slot(self, expr: Column) -> int | None:
        """The slot of an attribute; None where no event has it."""
        return self._slots.get((expr.path[0].name, expr.type))

    def _path(self, expr: Column) -> None:
        """A way from event to event; where it enters a value of the pool, Python goes the rest."""
        into_pool: dict[int, list[int]] = {}
        self._steps(expr, len(expr.path), into_pool)
        ends = []
        for length, jumps in into_pool.items():
            ends.append(self.jump(Op.JUMP))
            self.land(jumps)
            first, *rest = expr.path[length - 1 :]
            template = Column(None, (Part(_name(0), first.index), *rest), type=expr.type)
            self._ask_site(Site(template, (_POOLED,), expr.type, is_strict=True, is_lasting=True))
        self.land(ends)

    def _steps(self, expr: Column, length: int, into_pool: dict[int, list[int]]) -> None:
        """The first parts of a path.

        Of the parts before the last no types are known: the value is in the one slot that is not
        null among those of the name.
        """
        if length == 0:
            self._start(expr)
            return
        part, is_last = expr.path[length - 1], length == len(expr.path)
        known: list[int] = []
        for slot in self._slots_of(part, expr.type if is_last else None):
            if known:
                self.add(Op.POP)
            self._steps(expr, length - 1, into_pool)
            self.add(Op.SLOT, slot)
            known.append(self.jump(Op.JUMP_IF_KNOWN))
        if not known:
            self._nothing_at(expr, length, into_pool)
        self.land(known)
        if part.index is not None or not is_last:
            into_pool.setdefault(length, []).append(self.jump(Op.JUMP_IF_POOLED))
        if part.index is not None:
            self.add(Op.ELEMENT, part.index)

    def _nothing_at(self, expr: Column, length: int, into_pool: dict[int, list[int]]) -> None:
        """No event has such a part; a record, which lies in the pool, may have it."""
        if length > 1:
            self._steps(expr, length - 1, into_pool)
            self.add(Op.POP)
        self.add(Op.NULL)

    def _slots_of(self, part: Part, type: DataType | None) -> list[int]:
        """Where the value of a part can be, if it is of a type (None: can be stepped into)."""

        def fits(held: DataType) -> bool:
            if part.index is not None:
                return isinstance(held, ArrayType) and type in (None, held.element)
            return held == type if type else isinstance(held, EventRef | RecordType)

        return [s for (name, held), s in self._slots.items() if name == part.name and fits(held)]

    @_emit.register
    def _aggregate(self, expr: Aggregate) -> None:
        self.add(Op.AGGREGATE, self._aggregates[expr])

    # -- logic --

    @_emit.register
    def _not(self, expr: Not) -> None:
        self.emit(expr.operand)
        self.add(Op.NOT)

    @_emit.register
    def _and(self, expr: And) -> None:
        self._connective(expr.operands, Op.JUMP_IF_FALSE, Op.AND)

    @_emit.register
    def _or(self, expr: Or) -> None:
        self._connective(expr.operands, Op.JUMP_IF_TRUE, Op.OR)

    def _connective(self, operands: Sequence[Expr], decided: Op, combine: Op) -> None:
        first, *others = operands
        self.emit(first)
        ends = []
        for operand in others:
            ends.append(self.jump(decided))
            self.emit(operand)
            self.add(combine)
        self.land(ends)

    # -- operators --

    @_emit.register
    def _negate(self, expr: Negate) -> None:
        self.emit(expr.operand)
        name = "DOUBLE" if expr.type in _REALS else _TYPE_NAMES.get(expr.type, "LONG")
        self.add(Op[f"NEGATE_{name}"])

    @_emit.register
    def _binary(self, expr: Binary) -> None:
        if expr.operator in ARITHMETIC:
            self._arithmetic(expr)
        elif expr.operator in ("is", "is not"):
            self._identity(expr)
        elif not self._joined_comparison(expr):
            scale = max(scale_of(expr.left.type), scale_of(expr.right.type))
            if are_scaled(expr.left.type, expr.right.type):
                self._scaled(expr.left, scale)
                self._scaled(expr.right, scale)
            else:
                self.emit(expr.left)
                self.emit(expr.right)
            self._compare(expr.operator, expr.left.type, expr.right.type)

    def _decimal_arithmetic(self, expr: Binary) -> None:
        sides = expr.left, expr.right
        scale = max(scale_of(side.type) for side in sides)
        for side in sides:
            self._scaled(side, scale_of(side.type) if expr.operator == "*" else scale)
        if expr.operator == "%":
            self._remainder(LONG)
        else:
            self.add(Op[f"{_OPERATIONS[expr.operator]}_LONG"])

    def _arithmetic(self, expr: Binary) -> None:
        if isinstance(expr.type, DecimalType):
            self._decimal_arithmetic(expr)
            return
        common = common_type((expr.left.type, expr.right.type))
        assert common is not None
        if expr.operator == "/":
            common = DOUBLE
        self._widened(expr.left, common)
        self._widened(expr.right, common)
        if expr.operator == "/":
            self.add(Op.DIVIDE)
        elif expr.operator == "%":
            self._remainder(common)
        else:
            self.add(Op[f"{_OPERATIONS[expr.operator]}_{_TYPE_NAMES[common]}"])

    def _remainder(self, type: DataType) -> None:
        self.add(Op.REMAINDER_DOUBLE if type in _REALS else Op.REMAINDER_INTEGER)

    def _identity(self, expr: Binary) -> None:
        """`is`; what is always null has no type to compare."""
        kind = _kind(expr.operator, expr.left.type, expr.right.type)
        if kind is not None and not _is_null(expr.left) and not _is_null(expr.right):
            scale = max(scale_of(expr.left.type), scale_of(expr.right.type))
            self._scaled(expr.left, scale)
            self._scaled(expr.right, scale)
            self.add(Op.SAME, kind, RELATIONS[expr.operator])
            return
        self.emit(expr.left if _is_null(expr.right) else expr.right)
        self.add(Op.IS_NULL)
        if expr.operator == "is not":
            self.add(Op.NOT)

    def _compare(self, symbol: str, left: DataType, right: DataType) -> None:
        """Compares the two values on the stack."""
        kind = _kind(symbol, left, right)
        if kind is None:
            self._compare_by_python(symbol, left, right)
        else:
            self.add(Op.COMPARE, kind, RELATIONS[symbol])

    def _compare_by_python(self, symbol: str, left: DataType, right: DataType) -> None:
        template = Binary(
            symbol,  # type: ignore[arg-type]
            _argument(0, left),
            _argument(1, right),
            type=BOOLEAN,
        )
        self._ask_site(Site(template, (left, right), BOOLEAN, is_strict=True))

    def _joined_comparison(self, expr: Binary) -> bool:
        """The two most frequent comparisons in one instruction; false where it is another."""
        for left, right, is_swapped in (
            (expr.left, expr.right, False),
            (expr.right, expr.left, True),
        ):
            if not (isinstance(left, Column) and left.tag is None and left.is_attribute):
                continue
            slot, kind = self._slot(left), _kind(expr.operator, left.type, right.type)
            if slot is None or kind is None or scale_of(left.type) < scale_of(right.type):
                continue
            relation = RELATIONS[expr.operator]
            head = (kind, _swapped(relation) if is_swapped else relation, slot)
            if _is_constant(right):
                # A constant of fewer digits is one of the attribute's, too.
                type = left.type if isinstance(left.type, DecimalType) else right.type
                constant = _constant_value(right)
                if isinstance(type, DecimalType) and isinstance(constant, int):
                    constant = Decimal(constant)
                bits, is_null = self._pool.encode(constant, type)
                if not is_null:
                    self.add(Op.EVENT_CONSTANT, *head, bits)
                    return True
            elif (
                isinstance(right, Column)
                and right.tag is not None
                and right.is_attribute
                and scale_of(left.type) == scale_of(right.type)
            ):
                other = self._slot(right)
                if other is not None:
                    self.add(Op.EVENT_BOUND, *head, self._tags[right.tag], other)
                    return True
        return False

    @_emit.register
    def _in_list(self, expr: InList) -> None:
        self.emit(expr.operand)
        if not self._among_constants(expr):
            self._among(expr)
        if expr.negated:
            self.add(Op.NOT)

    def _among_constants(self, expr: InList) -> bool:
        type = expr.operand.type
        if isinstance(type, _NESTED) or not all(map(_is_constant, expr.items)):
            return False
        if is_counted(type) and any(item.type != type for item in expr.items):
            return False
        values = [_constant_value(item) for item in expr.items]
        if None in values:
            return False
        words = [self._pool.encode(v, type)[0] for v in values if _is_of(v, type)]
        self.add(Op.IN_DOUBLES if type in _REALS else Op.IN_INTEGERS, len(words), *words)
        return True

    def _among(self, expr: InList) -> None:
        ends = []
        for place, item in enumerate(expr.items):
            if place:
                ends.append(self.jump(Op.JUMP_IF_TRUE))
            self._equals_below(min(place, 1), expr.operand, item)
            if place:
                self.add(Op.OR)
        self.land(ends)
        self.add(Op.NIP)

    def _equals_below(self, depth: int, operand: Expr, item: Expr) -> None:
        """Whether the operand, which lies that deep in the stack, equals an item."""
        if _is_null(operand) or _is_null(item):
            self.add(Op.NULL)
            return
        self.add(Op.PICK, depth)
        self.emit(item)
        if operand.type != item.type and (is_counted(operand.type) or is_counted(item.type)):
            self._compare_by_python("=", operand.type, item.type)
        else:
            self._compare("=", operand.type, item.type)

    @_emit.register
    def _in_range(self, expr: InRange) -> None:
        flags = INCLUDE_LOW * expr.include_low | INCLUDE_HIGH * expr.include_high
        parts = (expr.operand, VALUE_DOUBLE), (expr.low, LOW_DOUBLE), (expr.high, HIGH_DOUBLE)
        for part, is_double in parts:
            self.emit(part)
            flags |= is_double * (part.type in _REALS)
        self.add(Op.BETWEEN, flags)
        if expr.negated:
            self.add(Op.NOT)

    # -- choices, conversions, functions --

    @_emit.register
    def _case(self, expr: Case) -> None:
        if expr.operand is not None:
            self.emit(expr.operand)
        ends = []
        for test, value in expr.branches:
            if expr.operand is None:
                self.emit(test)
            else:
                self._equals_below(0, expr.operand, test)
            otherwise = self.jump(Op.JUMP_UNLESS_TRUE)
            self._result(expr, value)
            ends.append(self.jump(Op.JUMP))
            self.land([otherwise])
        self._result(expr, expr.otherwise or Literal(None, type=NULL))
        self.land(ends)

    def _result(self, expr: Case, value: Expr) -> None:
        if expr.operand is not None:
            self.add(Op.POP)
        self._widened(value, expr.type)

    @_emit.register
    def _cast(self, expr: Cast) -> None:
        if isinstance(expr.target, DecimalType):
            self._scaled(expr.operand, expr.target.scale)
        else:
            self.emit(expr.operand)
            self._convert(expr.operand.type, expr.target)

    @_emit.register
    def _call(self, expr: Call) -> None:
        _CALLS[expr.function](self, expr)

    def _of_one(self, expr: Call, integers: Mapping[DataType, Op], reals: Op) -> None:
        [argument] = expr.arguments
        self.emit(argument)
        if argument.type in _REALS:
            self.add(reals)
        elif argument.type in integers:
            self.add(integers[argument.type])

    def _abs(self, expr: Call) -> None:
        self._of_one(expr, {INT: Op.ABS_INT, LONG: Op.ABS_LONG}, Op.ABS_DOUBLE)

    def _sign(self, expr: Call) -> None:
        self._of_one(expr, dict.fromkeys(_INTEGERS, Op.SIGN_INTEGER), Op.SIGN_DOUBLE)

    def _floor(self, expr: Call) -> None:
        self._of_one(expr, {}, Op.FLOOR)

    def _ceiling(self, expr: Call) -> None:
        self._of_one(expr, {}, Op.CEILING)

    def _sqrt(self, expr: Call) -> None:
        self._widened(expr.arguments[0], DOUBLE)
        self.add(Op.SQRT)

    def _mod(self, expr: Call) -> None:
        for argument in expr.arguments:
            self._widened(argument, expr.type)
        self._remainder(expr.type)

    def _extreme(self, expr: Call) -> None:
        relation = SECOND_IS_LESSER if expr.function == "min" else SECOND_IS_GREATER
        for place, argument in enumerate(expr.arguments):
            self._widened(argument, expr.type)
            if place:
                self.add(Op.CHOOSE, _kind_of(expr.type), relation)

    def _coalesce(self, expr: Call) -> None:
        ends: list[int] = []
        for argument in expr.arguments:
            if ends:
                self.add(Op.POP)
            self._widened(argument, expr.type)
            ends.append(self.jump(Op.JUMP_IF_KNOWN))
        self.land(ends)

    def _null_if(self, expr: Call) -> None:
        for argument in expr.arguments:
            self._widened(argument, expr.type)
        self.add(Op.NULL_IF, _kind_of(expr.type))

    def _clock(self, _: Call) -> None:
        self.add(Op.CLOCK)

    def _is_new(self, _: Call) -> None:
        self.add(Op.IS_NEW)


_CALLS: dict[str, Callable[[_Compiler, Call], None]] = {
    "abs": _Compiler._abs,
    "sign": _Compiler._sign,
    "floor": _Compiler._floor,
    "ceiling": _Compiler._ceiling,
    "ceil": _Compiler._ceiling,
    "sqrt": _Compiler._sqrt,
    "mod": _Compiler._mod,
    "min": _Compiler._extreme,
    "max": _Compiler._extreme,
    "coalesce": _Compiler._coalesce,
    "nullif": _Compiler._null_if,
    "current_timestamp": _Compiler._clock,
    "istream": _Compiler._is_new,
}


# -- what is known of an expression ------------------------------------------------------------


def _is_null(expr: Expr) -> bool:
    """Whether it is null in every run: of no known type, or made of what is."""
    if is_open(expr.type):
        return True
    if isinstance(expr, InList):
        return _is_null(expr.operand)
    return _is_strict(expr) and any(is_open(part.type) for part in children(expr))


def _is_strict(expr: Expr) -> bool:
    """Whether the value is null wherever a part is."""
    match expr:
        case Binary():
            return expr.operator not in ("is", "is not")
        case Call():
            return expr.python is not None or not FUNCTIONS[expr.function].sees_nulls
        case Negate() | Not() | InRange() | Like() | Regexp() | Cast():
            return True
    return False


def _is_constant(expr: Expr) -> bool:
    has_rows = any(isinstance(node, Column | Aggregate) for node in walk(expr))
    return not (has_rows or reads_clock(expr) or calls_python(expr))


def _constant_value(expr: Expr) -> Value:
    return compile_expr(expr)(Frame())


# There is code for these, or for some of them; Python is asked for the others.
_WRITTEN = frozenset(
    {Column, Aggregate, Not, And, Or, Negate, Binary, InList, InRange, Case, Cast, Call}
)


def _is_native(expr: Expr) -> bool:
    """Whether there is code for the topmost operation."""
    match expr:
        case Binary(operator="||"):
            return False
        case Binary(operator=operator, left=left, right=right):
            if operator in ARITHMETIC:
                return not isinstance(expr.type, DecimalType) or is_within(operator, left, right)
            is_null = _is_null(left) or _is_null(right)
            return is_null or _kind(operator, left.type, right.type) is not None
        case InRange(operand=operand):
            types = {operand.type, expr.low.type, expr.high.type}
            is_one = len(types) == 1 and all(map(is_counted, types))
            return is_one or types <= {*_NUMBERS}
        case Cast(operand=operand, target=target):
            return is_converted(operand.type, target)
        case Call(function=name):
            if is_counted(expr.type) and name in ("abs", "sign", "floor", "ceil", "ceiling", "mod"):
                return False
            if name in ("min", "max"):
                return expr.type in _NUMBERS or is_counted(expr.type)
            return name in _CALLS and not (name == "nullif" and isinstance(expr.type, _NESTED))
    return type(expr) in _WRITTEN


def _kind(symbol: str, left: DataType, right: DataType) -> int | None:
    """Which sides of a comparison are doubles; None where Python must compare."""
    if are_scaled(left, right) or (left == right and is_counted(left)):
        return 0
    if left in _NUMBERS and right in _NUMBERS:
        return LEFT_DOUBLE * (left in _REALS) | RIGHT_DOUBLE * (right in _REALS)
    is_equality = symbol in ("=", "!=", "is", "is not")
    return 0 if left == right and left in (STRING, BOOLEAN) and is_equality else None


def _kind_of(type: DataType) -> int:
    """The kind of a comparison of two values of one type."""
    return LEFT_DOUBLE | RIGHT_DOUBLE if type in _REALS else 0


def _swapped(relation: int) -> int:
    """The relation of the sides the other way round."""
    sides = 1 << LESS | 1 << GREATER
    less, greater = relation >> LESS & 1, relation >> GREATER & 1
    return relation & ~sides | less << GREATER | greater << LESS


def _is_of(value: Value, type: DataType) -> bool:
    """Whether a constant is also a value of the type; if not, no value of it equals the constant."""
    if type in _INTEGERS and isinstance(value, float):
        return value.is_integer() and fits_long(value)
    if type in _REALS and isinstance(value, int):
        return int(float(value)) == value
    return not isinstance(value, int) or fits_long(value)


def _name(place: int) -> str:
    return f"x{place}"


def _argument(place: int, type: DataType) -> Column:
    return Column(None, (Part(_name(place)),), type=type)


def _place(part: Expr, inputs: list[Expr]) -> int:
    """The place of an input, which is evaluated once however often it occurs."""
    for place, known in enumerate(inputs):
        if known == part and known.type == part.type:
            return place
    inputs.append(part)
    return len(inputs) - 1


def _with_parts(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The same expression over changed parts."""

    def changed(value: Any) -> Any:
        if isinstance(value, Expr):
            return change(value)
        return tuple(map(changed, value)) if isinstance(value, tuple) else value

    return replace(expr, **{f.name: changed(getattr(expr, f.name)) for f in fields(expr)})
