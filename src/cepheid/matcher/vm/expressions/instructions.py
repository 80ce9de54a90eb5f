"""The instructions of expressions; `bytecode` makes code of them and `evaluate` runs it."""

from __future__ import annotations

from enum import IntEnum


class Op(IntEnum):
    """The instructions. `_SHAPES` has their operands and what they do to the stack."""

    END = 0  # the value is on top
    CONSTANT = 1
    NULL = 2
    POP = 3
    PICK = 4  # a copy of what lies that deep below the top
    NIP = 5  # drops what lies below the top
    # Names. Events are rows; a list of events is a row of LINK.
    EVENT = 6  # the event at hand
    BOUND = 7  # what a tag is bound to
    ELEMENT = 8  # of a list of events
    SLOT = 9  # of an event
    EVENT_SLOT = 10
    BOUND_SLOT = 11
    AGGREGATE = 12
    CLOCK = 13  # in milliseconds
    IS_NEW = 14
    # Jumps. All but JUMP_UNLESS_TRUE leave the stack alone.
    JUMP = 15
    JUMP_IF_TRUE = 16
    JUMP_IF_FALSE = 17
    JUMP_UNLESS_TRUE = 18  # takes what it tests
    JUMP_IF_KNOWN = 19  # not null
    JUMP_IF_POOLED = 20  # an array, record or event of the pool
    # Logic and choices, which see nulls.
    AND = 21
    OR = 22
    IS_NULL = 23
    SAME = 24  # `is`
    NULL_IF = 25
    IN_INTEGERS = 26
    IN_DOUBLES = 27
    # A comparison with a slot of the event at hand, in one: with a constant, or a slot of a tag.
    EVENT_CONSTANT = 28
    EVENT_BOUND = 29
    ASK = 30
    # Of two values, null where one of them is.
    COMPARE = 32
    CHOOSE = 33  # the second if the relation holds, else the first
    ADD_INT = 35
    ADD_LONG = 36
    ADD_FLOAT = 37
    ADD_DOUBLE = 38
    SUBTRACT_INT = 39
    SUBTRACT_LONG = 40
    SUBTRACT_FLOAT = 41
    SUBTRACT_DOUBLE = 42
    MULTIPLY_INT = 43
    MULTIPLY_LONG = 44
    MULTIPLY_FLOAT = 45
    MULTIPLY_DOUBLE = 46
    DIVIDE = 47
    REMAINDER_INTEGER = 48
    REMAINDER_DOUBLE = 49
    # Of one value, null where it is.
    NOT = 64
    NEGATE_INT = 65
    NEGATE_LONG = 66
    ABS_INT = 67
    ABS_LONG = 68
    SIGN_INTEGER = 69
    INTEGER_TO_DOUBLE = 70
    INTEGER_TO_INT = 71  # null where it does not fit
    NEGATE_DOUBLE = 72
    ABS_DOUBLE = 73
    SIGN_DOUBLE = 74
    FLOOR = 75
    CEILING = 76
    SQRT = 77
    DOUBLE_TO_FLOAT = 78
    DOUBLE_TO_INT = 79
    DOUBLE_TO_LONG = 80
    # Of three.
    BETWEEN = 96


# How two numbers compare: a relation is the set of its outcomes, as bits.
LESS, EQUAL, GREATER, LEFT_NAN, RIGHT_NAN, BOTH_NAN = range(6)
RELATIONS = {
    "=": 1 << EQUAL,
    "!=": 0b111111 & ~(1 << EQUAL),
    "<": 1 << LESS,
    "<=": 1 << LESS | 1 << EQUAL,
    ">": 1 << GREATER,
    ">=": 1 << GREATER | 1 << EQUAL,
    "is": 1 << EQUAL | 1 << BOTH_NAN,
    "is not": 0b111111 & ~(1 << EQUAL | 1 << BOTH_NAN),
}
# When the second of two is the lesser or the greater: NaN is after every number.
SECOND_IS_LESSER = 1 << GREATER | 1 << LEFT_NAN
SECOND_IS_GREATER = 1 << LESS | 1 << RIGHT_NAN
# The kind of a comparison: which sides are doubles; else integers, booleans, numbers of strings.
LEFT_DOUBLE, RIGHT_DOUBLE = 1, 2
# What BETWEEN knows of its three operands, beside which ends it includes.
VALUE_DOUBLE, LOW_DOUBLE, HIGH_DOUBLE, INCLUDE_LOW, INCLUDE_HIGH = (1 << n for n in range(5))
# How a site is asked.
STRICT, LASTING = 1, 2  # null if an argument is null; the answer does not depend on events
MOST_LASTING = 3  # arguments of a site whose answers are kept
