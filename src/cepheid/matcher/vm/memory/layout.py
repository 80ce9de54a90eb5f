"""Where everything lies in the memory of the machine.

The whole state of a matcher is one array of 64-bit integers, so that it can be compiled once, saved
as it is, and handed to compiled code as a single argument. It begins with a head of single words.
Behind it lie regions: tables of rows of equal width. The head knows where each region begins, how
wide its rows are, how many fit and how many are in use. Rows are named by their numbers, which stay
the same when a region moves to grow.

Values: integers and booleans are themselves; floats and doubles are the bits of a double; a string
is its number in the pool of values (`pool.py`), equal strings having equal numbers. An event is the
number of its row, a list of events that of its last LINK; all other arrays, records and events,
which lie in the pool, are ~number, so that the sign tells the two apart. Whether a value is null is
kept apart, as a bit or word.
"""

from __future__ import annotations

from enum import IntEnum

from cepheid.matcher.vm.jit import part

NONE = -1  # no row


class Head(IntEnum):
    """The single words at the beginning."""

    VERSION = 0
    CLOCK = 1
    SIZE = 2  # words in use, head and regions together
    # A question to Python: which site asks, and with how many arguments (in the region ASKED).
    SITE = 3
    ARGUMENTS = 4
    # The answers so far to the step that asked, and how many of them its repetition has used.
    ANSWERS = 5
    USED_ANSWERS = 6
    MEMO_ROW = 7  # of MEMO, where the answer belongs; NONE: it is one more in ANSWER
    # The rest is the machine's own; see machine.py.
    FREE = 8


class Region(IntEnum):
    """The tables. Expressions use the first six."""

    CODE = 0  # bytecode, one word a row
    EVENT = 1  # events: the words of `Field`, null bits, values
    BINDING = 2  # matches under way: per tag the row of its event, or of a LINK; else NONE
    LINK = 3  # lists of events under a repeated tag: (event, the link before, how many)
    ASKED = 4  # (value, is null) of the arguments of a question
    ANSWER = 5  # (value, is null) of answers
    STACK = 6  # (value, is null) of operands; `bytecode.deepest` says how many an expression needs
    MEMO = 7  # answers that hold for ever, found by site and arguments; see evaluate.py


class Field(IntEnum):
    """The words of an event before its null bits and values."""

    TYPE = 0
    INSTANT = 1
    SEQUENCE = 2
    KEY = 3
    MARK = 4
    NULLS = 5  # first word of null bits; one word for every 64 slots, then the slots


# The table of regions follows the single words: (begin, width, capacity, used) each.
TABLE = 80
REGIONS = 40
BEGIN, WIDTH, CAPACITY, USED = 0, 1, 2, 3
HEAD_SIZE = TABLE + 4 * REGIONS


@part
def at(memory, region, row):
    """The place of a row's first word."""
    entry = TABLE + 4 * region
    return memory[entry + BEGIN] + row * memory[entry + WIDTH]
