"""Runs the code of expressions over the memory of the machine.

What code cannot do is a question to Python: the expression stops with the question in the memory,
and whoever wanted its value starts again once the answer is there. An answer that depends on the
arguments alone is kept in the table MEMO, where the same question finds it ever after. The others
hold for one step of the machine: they lie in ANSWER in the order of the questions, which is the
same in each repetition.

Rows of MEMO, found by hashing and looked for from there on: the site + 1, the answer, whether it is
null, and the arguments as (value, is null). Site + 1 = 0 is a free row.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,assignment"
from __future__ import annotations

import math

import numpy as np

from cepheid.matcher.vm.expressions.instructions import (
    BOTH_NAN,
    EQUAL,
    GREATER,
    HIGH_DOUBLE,
    INCLUDE_HIGH,
    INCLUDE_LOW,
    LASTING,
    LEFT_DOUBLE,
    LEFT_NAN,
    LESS,
    LOW_DOUBLE,
    RIGHT_DOUBLE,
    RIGHT_NAN,
    STRICT,
    VALUE_DOUBLE,
    Op,
)
from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.layout import (
    BEGIN,
    CAPACITY,
    NONE,
    TABLE,
    EventRow,
    Head,
    Region,
    at,
)

VALUE, QUESTION = 0, 1  # statuses
_SIGN = -(2**63)
_MIXER = 0x9E3779B97F4A7C1
_NULLS, _ADD_INT = int(EventRow.NULLS), int(Op.ADD_INT)
_LEAST_LONG, _BEYOND_LONG = -(2.0**63), 2.0**63
_BELOW_INT, _LEAST_INT, _BEYOND_INT = -(2.0**31) - 1, -(2**31), 2**31


@part
def holds(memory, pc, event, binding, aggregates):
    """1 if a condition is true, 0 if it is false or null, -1 if Python must be asked first."""
    place = memory[TABLE + 4 * Region.CODE + BEGIN] + pc
    if event != NONE and memory[place] == Op.EVENT_CONSTANT and memory[place + 5] == Op.END:
        # So frequent that it is worth a way of its own.
        hand = at(memory, Region.EVENT, event)
        value, is_null = _slot(memory, hand, memory[Head.SLOTS], memory[place + 3])
        if is_null != 0:
            return 0
        return _relates(memory[place + 1], memory[place + 2], value, memory[place + 4])
    status, value, is_null = evaluate(memory, pc, event, binding, aggregates)
    if status != VALUE:
        return -1
    return 1 if is_null == 0 and value != 0 else 0


@part
def value_of(memory, pc, event, binding, aggregates):
    """Like `evaluate`, with a way of its own for a plain attribute or aggregate."""
    place = memory[TABLE + 4 * Region.CODE + BEGIN] + pc
    op = memory[place]
    if op == Op.EVENT_SLOT and event != NONE and memory[place + 2] == Op.END:
        hand = at(memory, Region.EVENT, event)
        value, is_null = _slot(memory, hand, memory[Head.SLOTS], memory[place + 1])
        return VALUE, value, is_null
    if op == Op.BOUND_SLOT and binding != NONE and memory[place + 3] == Op.END:
        bound = at(memory, Region.BINDING, binding)
        slots = memory[Head.SLOTS]
        value, is_null = _bound_slot(memory, bound, slots, memory[place + 1], memory[place + 2])
        return VALUE, value, is_null
    if op == Op.AGGREGATE and memory[place + 2] == Op.END:
        place = aggregates + 2 * memory[place + 1]
        return VALUE, memory[place], memory[place + 1]
    return evaluate(memory, pc, event, binding, aggregates)


@part
def evaluate(memory, pc, event, binding, aggregates):
    """(VALUE, the value, whether it is null), or (QUESTION, 0, 0) with a question in the memory.

    The event at hand, a binding and the place of a row of aggregates may be NONE.
    """
    code = memory[TABLE + 4 * Region.CODE + BEGIN]
    slots = memory[Head.SLOTS]
    base = memory[TABLE + 4 * Region.STACK + BEGIN]
    hand = NONE if event == NONE else at(memory, Region.EVENT, event)
    bound = NONE if binding == NONE else at(memory, Region.BINDING, binding)
    # The topmost value is at hand; those below it lie in the memory, up to `top`.
    value, is_null, top = np.int64(0), np.int64(0), base
    pc += code
    while True:
        op = memory[pc]
        if op == Op.EVENT_CONSTANT:
            memory[top], memory[top + 1] = value, is_null
            top += 2
            value, is_null = _slot(memory, hand, slots, memory[pc + 3])
            if is_null == 0:
                value = _relates(memory[pc + 1], memory[pc + 2], value, memory[pc + 4])
            pc += 5
        elif op == Op.EVENT_BOUND:
            memory[top], memory[top + 1] = value, is_null
            top += 2
            value, is_null = _slot(memory, hand, slots, memory[pc + 3])
            if is_null == 0:
                other, is_null = _bound_slot(memory, bound, slots, memory[pc + 4], memory[pc + 5])
                value = _relates(memory[pc + 1], memory[pc + 2], value, other)
            pc += 6
        elif op == Op.END:
            return VALUE, value, is_null
        elif op >= Op.BETWEEN:
            if is_null == 0 and memory[top - 1] == 0 and memory[top - 3] == 0:
                value = _between(memory[pc + 1], memory[top - 4], memory[top - 2], value)
            else:
                is_null = 1
            top -= 4
            pc += 2
        elif op >= Op.NOT:
            if is_null == 0:
                value, is_null = _of_one(op, value)
            pc += 1
        elif op >= Op.ADD_INT:
            top -= 2
            if is_null == 0:
                is_null = memory[top + 1]
            if is_null == 0:
                value, is_null = _of_two(op, memory[top], value)
            pc += 1
        elif op >= Op.COMPARE:
            top -= 2
            if is_null == 0:
                is_null = memory[top + 1]
            if is_null == 0:
                left = memory[top]
                relates = _relates(memory[pc + 1], memory[pc + 2], left, value)
                if op == Op.COMPARE:
                    value = relates
                elif relates == 0:
                    value = left
            pc += 3
        elif op == Op.JUMP_IF_FALSE:
            pc = code + memory[pc + 1] if is_null == 0 and value == 0 else pc + 2
        elif op == Op.JUMP_IF_TRUE:
            pc = code + memory[pc + 1] if is_null == 0 and value != 0 else pc + 2
        elif op == Op.JUMP_UNLESS_TRUE:
            pc = code + memory[pc + 1] if is_null != 0 or value == 0 else pc + 2
            top -= 2
            value, is_null = memory[top], memory[top + 1]
        elif op == Op.JUMP_IF_KNOWN:
            pc = code + memory[pc + 1] if is_null == 0 else pc + 2
        elif op == Op.JUMP_IF_POOLED:
            pc = code + memory[pc + 1] if is_null == 0 and value < 0 else pc + 2
        elif op == Op.JUMP:
            pc = code + memory[pc + 1]
        elif op == Op.AND:
            top -= 2
            value, is_null = _either(0, memory[top], memory[top + 1], value, is_null)
            pc += 1
        elif op == Op.OR:
            top -= 2
            value, is_null = _either(1, memory[top], memory[top + 1], value, is_null)
            pc += 1
        elif op == Op.IS_NULL:
            value, is_null = is_null, 0
            pc += 1
        elif op == Op.SAME:
            top -= 2
            left, is_left_null = memory[top], memory[top + 1]
            if is_null == 0 and is_left_null == 0:
                outcome = _outcome(memory[pc + 1], left, value)
            else:
                outcome = EQUAL if is_null == is_left_null else LESS
            value, is_null = memory[pc + 2] >> outcome & 1, 0
            pc += 3
        elif op == Op.NULL_IF:
            top -= 2
            left, is_left_null = memory[top], memory[top + 1]
            if is_null == 0 and is_left_null == 0:
                is_null = 1 if _outcome(memory[pc + 1], left, value) == EQUAL else 0
            else:
                is_null = is_left_null
            value = left
            pc += 2
        elif op in (Op.IN_INTEGERS, Op.IN_DOUBLES):
            count = memory[pc + 1]
            if is_null == 0:
                kind = 0 if op == Op.IN_INTEGERS else LEFT_DOUBLE | RIGHT_DOUBLE
                value = _among(memory, kind, value, pc + 2, count)
            pc += 2 + count
        elif op == Op.SLOT:
            if is_null == 0:
                place = at(memory, Region.EVENT, value)
                value, is_null = _slot(memory, place, slots, memory[pc + 1])
            pc += 2
        elif op == Op.ELEMENT:
            if is_null == 0:
                value, is_null = _element(memory, value, memory[pc + 1])
            pc += 2
        elif op == Op.POP:
            top -= 2
            value, is_null = memory[top], memory[top + 1]
            pc += 1
        elif op == Op.NIP:
            top -= 2
            pc += 1
        elif op == Op.ASK:
            memory[top], memory[top + 1] = value, is_null
            top += 2 - 2 * memory[pc + 2]
            status, value, is_null = _ask(
                memory, memory[pc + 1], memory[pc + 2], memory[pc + 3], top
            )
            if status != VALUE:
                return status, 0, 0
            pc += 4
        else:
            memory[top], memory[top + 1] = value, is_null
            top += 2
            value, is_null, width = _pushed(memory, pc, hand, bound, slots, aggregates, top)
            if op == Op.EVENT:
                value, is_null = event, 1 if event == NONE else 0
            pc += width


@part
def _pushed(memory, pc, hand, bound, slots, aggregates, top):
    """What an instruction without operands on the stack puts there, and how long it is."""
    op = memory[pc]
    if op == Op.EVENT_SLOT:
        value, is_null = _slot(memory, hand, slots, memory[pc + 1])
        return value, is_null, 2
    if op == Op.BOUND_SLOT:
        value, is_null = _bound_slot(memory, bound, slots, memory[pc + 1], memory[pc + 2])
        return value, is_null, 3
    if op == Op.CONSTANT:
        return memory[pc + 1], 0, 2
    if op == Op.BOUND:
        row = NONE if bound == NONE else memory[bound + memory[pc + 1]]
        return row, 1 if row == NONE else 0, 2
    if op == Op.PICK:
        place = top - 2 - 2 * memory[pc + 1]
        return memory[place], memory[place + 1], 2
    if op == Op.AGGREGATE:
        place = aggregates + 2 * memory[pc + 1]
        return memory[place], memory[place + 1], 2
    if op == Op.CLOCK:
        return memory[0 + Head.CLOCK] // 1000, 0, 1
    if op == Op.IS_NEW:
        return 1 - memory[Head.IS_OLD], 0, 1
    return 0, 1, 1


# -- names -------------------------------------------------------------------------------------


@part
def _slot(memory, event, slots, slot):
    """An attribute of the event at a place."""
    if event == NONE or memory[event + _NULLS + (slot >> 6)] >> (slot & 63) & 1 != 0:
        return 0, 1
    return memory[event + slots + slot], 0


@part
def _bound_slot(memory, bound, slots, tag, slot):
    row = NONE if bound == NONE else memory[bound + tag]
    place = NONE if row == NONE else at(memory, Region.EVENT, row)
    return _slot(memory, place, slots, slot)


@part
def _element(memory, link, index):
    """The event at an index of a list, whose last link is given."""
    place = at(memory, Region.LINK, link)
    steps = memory[place + 2] - 1 - index
    if steps < 0:
        return 0, 1
    for _ in range(steps):
        place = at(memory, Region.LINK, memory[place + 1])
    return memory[place], 0


# -- numbers -----------------------------------------------------------------------------------


@part
def real(bits):
    """The double of a word."""
    return np.int64(bits).view(np.float64)


@part
def word(number):
    """The word of a double."""
    return np.float64(number).view(np.int64)


@part
def _order(left, right):
    if left < right:
        return LESS
    return EQUAL if left == right else GREATER


@part
def _outcome(kind, left, right):
    """How two values compare; numbers by their exact values."""
    if kind == 0:
        return _order(left, right)
    if kind == LEFT_DOUBLE | RIGHT_DOUBLE:
        x, y = real(left), real(right)
        if math.isnan(x):
            return BOTH_NAN if math.isnan(y) else LEFT_NAN
        return RIGHT_NAN if math.isnan(y) else _order(x, y)
    if kind == LEFT_DOUBLE:
        x = real(left)
        return LEFT_NAN if math.isnan(x) else GREATER - _order_mixed(right, x)
    y = real(right)
    return RIGHT_NAN if math.isnan(y) else _order_mixed(left, y)


@part
def _order_mixed(whole, number):
    """How an integer compares with a double."""
    if number >= _BEYOND_LONG:
        return LESS
    if number < _LEAST_LONG:
        return GREATER
    towards_zero = np.int64(number)
    if whole != towards_zero:
        return _order(whole, towards_zero)
    return _order(np.float64(towards_zero), number)


@part
def _relates(kind, relation, left, right):
    return relation >> _outcome(kind, left, right) & 1


@part
def _between(flags, value, low, high):
    value_double = 1 if flags & VALUE_DOUBLE else 0
    low_double = 1 if flags & LOW_DOUBLE else 0
    high_double = 1 if flags & HIGH_DOUBLE else 0
    if _outcome(low_double * LEFT_DOUBLE | high_double * RIGHT_DOUBLE, low, high) == GREATER:
        low, high = high, low
        low_double, high_double = high_double, low_double
    kind = value_double * LEFT_DOUBLE
    over = _outcome(kind | low_double * RIGHT_DOUBLE, value, low)
    under = _outcome(kind | high_double * RIGHT_DOUBLE, value, high)
    is_over = over == GREATER or (over == EQUAL and flags & INCLUDE_LOW != 0)
    is_under = under == LESS or (under == EQUAL and flags & INCLUDE_HIGH != 0)
    return 1 if is_over and is_under else 0


@part
def _among(memory, kind, value, first, count):
    for place in range(first, first + count):
        if _outcome(kind, value, memory[place]) == EQUAL:
            return 1
    return 0


@part
def _either(decisive, left, is_left_null, right, is_right_null):
    """`or` is decided by a true operand, `and` by a false one; else a null leaves it open."""
    if (is_left_null == 0 and left == decisive) or (is_right_null == 0 and right == decisive):
        return decisive, 0
    return 1 - decisive, is_left_null | is_right_null


@part
def wrap_int(value):
    return ((value + 0x8000_0000) & 0xFFFF_FFFF) - 0x8000_0000


@part
def to_float(number):
    """The word of the nearest 32-bit float."""
    return word(np.float64(np.float32(number)))


@part
def _of_two(op, left, right):
    """Arithmetic; which of an operator's four forms it is, follows from its place in `Op`."""
    if op >= Op.DIVIDE:
        if op == Op.DIVIDE:
            return word(real(left) / real(right)), 0
        if op == Op.REMAINDER_DOUBLE:
            return word(np.fmod(real(left), real(right))), 0
        return _remainder(left, right)
    form = (op - _ADD_INT) & 3
    if form >= 2:
        x, y = real(left), real(right)
        if op <= Op.ADD_DOUBLE:
            number = x + y
        elif op <= Op.SUBTRACT_DOUBLE:
            number = x - y
        else:
            number = x * y
        return to_float(number) if form == 2 else word(number), 0
    if op <= Op.ADD_LONG:
        whole = left + right
    elif op <= Op.SUBTRACT_LONG:
        whole = left - right
    else:
        whole = left * right
    return wrap_int(whole) if form == 0 else whole, 0


@part
def _remainder(left, right):
    """With the sign of the dividend; null by zero."""
    if right == 0:
        return 0, 1
    if right == -1:  # the least long by -1 would overflow
        return 0, 0
    rest = left % right
    if rest != 0 and (rest < 0) != (left < 0):
        rest -= right
    return rest, 0


@part
def _of_one(op, value):
    if op == Op.NOT:
        return 1 - value, 0
    if op == Op.INTEGER_TO_DOUBLE:
        return word(np.float64(value)), 0
    if op <= Op.SIGN_INTEGER:
        return _of_integer(op, value), 0
    if op == Op.INTEGER_TO_INT:
        return value, 0 if _LEAST_INT <= value < _BEYOND_INT else 1
    if op == Op.NEGATE_DOUBLE:
        return value ^ _SIGN, 0  # compiled code subtracts from zero, and so loses the sign of zero
    x = real(value)
    if op == Op.DOUBLE_TO_FLOAT:
        return to_float(x), 0
    if op == Op.DOUBLE_TO_INT:
        return (np.int64(x), 0) if _BELOW_INT < x < _BEYOND_INT else (0, 1)
    if op == Op.DOUBLE_TO_LONG:
        return (np.int64(x), 0) if _LEAST_LONG <= x < _BEYOND_LONG else (0, 1)
    return word(_of_double(op, x)), 0


@part
def _of_integer(op, value):
    if op == Op.NEGATE_INT:
        return wrap_int(-value)
    if op == Op.NEGATE_LONG:
        return -value
    if op == Op.ABS_INT:
        return wrap_int(-value if value < 0 else value)
    if op == Op.ABS_LONG:
        return -value if value < 0 else value
    return 0 if value == 0 else (1 if value > 0 else -1)


@part
def _of_double(op, x):
    if op == Op.ABS_DOUBLE:
        return abs(x)
    if op == Op.FLOOR:
        return np.floor(x)
    if op == Op.CEILING:
        return np.ceil(x)
    if op == Op.SQRT:
        return math.sqrt(x)
    if math.isnan(x) or x == 0.0:  # SIGN_DOUBLE
        return x
    return 1.0 if x > 0.0 else -1.0


# -- questions ---------------------------------------------------------------------------------


@part
def _ask(memory, site, count, flags, arguments):
    """The answer, if it is there already; else the question is written down."""
    for place in range(arguments, arguments + 2 * count, 2):
        if memory[place + 1] != 0:
            memory[place] = 0
            if flags & STRICT:
                return VALUE, 0, 1
    row = NONE
    if flags & LASTING:
        row = _memo_row(memory, site, count, arguments)
        memo = at(memory, Region.MEMO, row)
        if memory[memo] != 0:
            return VALUE, memory[memo + 1], memory[memo + 2]
    elif memory[0 + Head.USED_ANSWERS] < memory[0 + Head.ANSWERS]:
        answer = at(memory, Region.ANSWER, memory[0 + Head.USED_ANSWERS])
        memory[0 + Head.USED_ANSWERS] += 1
        return VALUE, memory[answer], memory[answer + 1]
    asked = at(memory, Region.ASKED, 0)
    for place in range(2 * count):
        memory[asked + place] = memory[arguments + place]
    memory[0 + Head.SITE], memory[0 + Head.ARGUMENTS], memory[0 + Head.MEMO_ROW] = site, count, row
    return QUESTION, 0, 0


@part
def _memo_row(memory, site, count, arguments):
    """The row that holds the answer to a question, or where it belongs."""
    mask = memory[TABLE + 4 * Region.MEMO + CAPACITY] - 1
    mixed = site + 1
    for place in range(arguments, arguments + 2 * count):
        mixed = (mixed ^ memory[place]) * _MIXER
        mixed ^= mixed >> 29
    while not _is_row_of(memory, mixed & mask, site, count, arguments):
        mixed += 1
    return mixed & mask


@part
def _is_row_of(memory, row, site, count, arguments):
    """Whether a row of MEMO is free or belongs to the question."""
    memo = at(memory, Region.MEMO, row)
    if memory[memo] == 0:
        return True
    if memory[memo] != site + 1:
        return False
    is_same = True
    for place in range(2 * count):
        is_same = is_same and memory[memo + 3 + place] == memory[arguments + place]
    return is_same
