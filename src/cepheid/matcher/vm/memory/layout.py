"""Where everything lies in the memory of the machine.

The whole state of a matcher is one array of 64-bit integers, so that it can be compiled once, saved
as it is, and handed to compiled code as a single argument. It begins with a head of single words.
Behind it lie regions: tables of rows of equal width. The head knows where each region begins, how
wide its rows are, how many fit and how many are in use. Rows are named by their numbers, which stay
the same when a region moves to grow.

Values: integers and booleans are themselves; floats and doubles are the bits of a double; a string
is its number in the pool of values (`columns/interning.py`), equal strings having equal numbers. An event is the
number of its row, a list of events that of its last LINK; all other arrays, records and events,
which lie in the pool, are ~number, so that the sign tells the two apart. Whether a value is null is
kept apart, as a bit or word.
"""

from __future__ import annotations

from enum import auto

from cepheid.matcher.vm.jit import part
from cepheid.matcher.vm.memory.declared import Declared

NONE = -1  # no row


class Head(Declared):
    """The single words at the beginning."""

    CLOCK = auto()
    # A call of Python: which site asks, and with how many arguments (in the region ASKED).
    SITE = auto()
    ARGUMENTS = auto()
    # The answers so far to the step that asked, and how many of them its repetition has used.
    ANSWERS = auto()
    USED_ANSWERS = auto()
    MEMO_ROW = auto()  # of MEMO, where the answer belongs; NONE: it is one more in ANSWER
    # Input and time.
    CURSOR = auto()  # the next row of INPUT
    GIVEN = auto()  # how many rows INPUT has
    UNTIL = auto()  # let time pass up to here when all input is taken; NEVER: leave the clock
    NEXT_DUE = auto()  # no timer falls due before
    LISTENED = auto()  # how many atoms have ever listened: their order
    ORDINAL = auto()  # how many events have been taken: the order of origins
    ORIGIN = auto()  # the ordinal of the event at hand, or of the origin of the firing timer
    ORIGIN_EVENT = auto()  # its row
    ARMED = auto()  # how many timers have been armed
    CAUSE = auto()  # row of CAUSES
    BASE_KEY = auto()  # row of KEY that the next rows extend; NONE: not made yet
    TIMER = auto()  # the number of the firing timer; NONE while an event is taken
    ROOM = auto()  # steps that can be done before the tables must be looked at
    FRESH = auto()  # rows of collected tables that were taken since the last collection
    LIMIT = auto()  # collect when there are so many
    GRAY = auto()  # events that are marked and whose references are not
    GRAY_KEY = auto()  # the same for keys
    DEAD = auto()  # live rows to be given back
    SNAPSHOT = auto()  # atoms that listen later do not hear the event at hand
    CURSORS = auto()  # how many lists are being offered
    QUEUE_HEAD = auto()
    ENTRIES = auto()  # in use in TABLE_ENTRY
    BUCKETS = auto()  # a power of two
    GENERATION = auto()  # how many sets of seen keys there have been
    STARTED = auto()
    START_INSTANT = auto()
    EMITTED = auto()  # rows of the statement for the event at hand
    SLOTS = auto()  # place of the first value in an event
    KEYED = auto()  # whether rows carry sort keys
    RUNAWAY = auto()  # the statement that derived too much
    REPORTED = auto()  # how many rows there have ever been
    REPORTED_BEFORE = auto()  # and by the instant before the one at hand
    SPEAKING = auto()  # instants at which timers have given rows since the last event
    SPEAKER = auto()  # the statement that gave the last row
    IS_OLD = auto()  # istream() and its like ask
    STAGE = auto()  # of the firing timer: a `TimerStage`
    FIRING = auto()  # the running statement whose window or rate fires
    # The delta at hand: rows that enter and leave a window together, and how far they are processed.
    D_RUNNING = auto()
    D_PHASE = auto()
    D_NEW = auto()  # the first of the items that enter, and how many
    D_NEW_COUNT = auto()
    D_OLD = auto()  # of those that leave
    D_OLD_COUNT = auto()
    D_NEW_PASSED = auto()  # how many of them pass `where`
    D_OLD_PASSED = auto()
    D_CURSOR = auto()  # the item, group or output that comes next in this phase
    D_LEFT = auto()  # and how many are left
    D_STAMP = auto()  # the number of the delta, which marks the groups that it touches
    D_TOUCHED = auto()
    D_LAST_TOUCHED = auto()
    D_TOUCHED_COUNT = auto()
    D_SHOWN = auto()  # outputs that wait for the end of the delta, new and old
    D_LAST_SHOWN = auto()
    D_SHOWN_OLD = auto()
    D_LAST_SHOWN_OLD = auto()
    D_BY_ROW = auto()  # whether rows take the places of the items that they stand for
    D_IS_PAST = auto()  # whether `after` is over
    D_LETS_OUT = auto()  # whether the output rate lets out what waits
    D_LEAVING = auto()  # groups that rows leave, where that is asked for
    D_LAST_LEAVING = auto()
    D_BEFORE = auto()  # the output before the one that comes next


class Region(Declared):
    """The tables; `tables` declares the words of their rows. Expressions use the first eight."""

    CODE = auto()  # bytecode, one word a row
    EVENT = auto()  # events: the words of `EventRow`, null bits, values
    BINDING = auto()  # matches under way: per tag the row of its event, or of a LINK; else NONE
    LINK = auto()  # lists of events under a repeated tag: (event, the link before, how many)
    ASKED = auto()  # (value, is null) of the arguments of a call
    ANSWER = auto()  # (value, is null) of answers
    STACK = auto()  # (value, is null) of operands; `deepest` says how many an expression needs
    MEMO = auto()  # answers that hold for ever, found by site and arguments; see evaluate.py
    NODE = auto()  # operators of patterns
    STATEMENT = auto()  # statements, in the order of ranks
    CONSUMER = auto()  # who takes the events of a type
    TYPE = auto()  # event types
    LIST = auto()  # single words: lists that rows of other tables begin
    LIVE = auto()  # instances of operators
    TRUTH = auto()  # what the sides of `and` have brought
    STEP = auto()  # what is still to be done, the last first
    INPUT = auto()  # events that are to be taken
    QUEUE = auto()  # derived events that wait to be taken
    ROW = auto()  # rows of the result
    TABLE_ENTRY = auto()  # entries of the hash table
    BUCKET = auto()  # its buckets: the first entry of each
    CAUSES = auto()  # how many events one cause has brought
    KEY = auto()  # pieces of sort keys
    LISTS = auto()  # the lists of instances that are being offered an event
    RUNNING = auto()  # statements that run, once for each partition
    TIMED = auto()  # operators with timers
    SCRATCH = auto()  # the words of the key that is looked for
    WINDOW = auto()  # what statements do with their rows
    AGGREGATE = auto()  # aggregates of statements
    ITEM = auto()  # rows of sources in windows
    GROUP = auto()  # groups
    CELL = auto()  # values that aggregates keep
    OUTPUT = auto()  # results that wait
    RESULT = auto()  # the state of aggregates for one row
    ARGUMENT = auto()  # the arguments of aggregates for one row
    ORDERED = auto()  # results that are being put in order


class EventRow(Declared):
    """The words of an event before its null bits and values."""

    TYPE = auto()
    INSTANT = auto()
    SEQUENCE = auto()
    KEY = auto()
    MARK = auto()
    NULLS = auto()  # first word of null bits; one word for every 64 slots, then the slots


# The table of regions follows the single words: (begin, width, capacity, used) each.
TABLE = len(Head)
REGIONS = len(Region)
BEGIN, WIDTH, CAPACITY, USED = 0, 1, 2, 3
HEAD_SIZE = TABLE + 4 * REGIONS


@part
def at(memory, region, row):
    """The place of a row's first word."""
    entry = TABLE + 4 * region
    return memory[entry + BEGIN] + row * memory[entry + WIDTH]
