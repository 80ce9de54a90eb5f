"""The words of the rows of each table, and what the numbers in them stand for.

A table is declared once: its members are the places of the words in a row. The last one, WIDTH, is
how many there are; in tables whose rows have a tail of their own length it says where that begins.
"""

from __future__ import annotations

from enum import auto

from cepheid.matcher.vm.memory.declared import Declared
from cepheid.matcher.vm.memory.layout import HEAD_SIZE, REGIONS, EventRow, Region


class Status(Declared):
    """How a run of the machine ended."""

    DONE = auto()
    ASK = auto()
    GROW = auto()
    REHASH = auto()
    ENDLESS = auto()
    ENDLESS_OUTPUT = auto()


class NodeRow(Declared):
    """What never changes about an operator, and the lists of its live instances."""

    KIND = auto()
    CHILD = auto()  # the first child; the others follow at NodeRow.NEXT
    CHILDREN = auto()
    NEXT = auto()
    PLACE = auto()
    STATEMENT = auto()
    TAG = auto()
    EARLY = auto()  # code: the condition as far as it is about the event alone
    LATE = auto()  # code: the rest of the condition
    KEYS = auto()  # how many equalities lead to the waiting instances
    EVENT_KEYS = auto()  # in LIST: code of the event's side
    BOUND_KEYS = auto()  # in LIST: code of the other side
    PERIOD = auto()
    MONTHS = auto()
    LOW = auto()
    HIGH = auto()
    TAGS = auto()  # in LIST: the tags inside
    TAG_COUNT = auto()
    HEAD = auto()  # waiting instances, where there is one list only
    TAIL = auto()
    TIMERS = auto()  # armed timers, the first to fall due first
    LAST_TIMER = auto()
    REACHED = auto()
    IS_ONE_LIST = auto()
    KEY_DOUBLE = auto()  # bits: which key parts are doubles
    FIRED = auto()
    # what the event of a wait brings: COMES_TRUE, FAILS; NONE where it waits for none
    EVENT_DOES = auto()
    TIMER_DOES = auto()  # the same for its timer
    # How early its instances hear an event: 2 for each `not` of an `and` that they are in, and 1 for
    # the `a=A` of `every a=A -> ...`.
    TURN = auto()
    TWIN = auto()  # where those wait for which nothing is bound yet, if that is not so for all
    WIDTH = auto()


class Effect(Declared):
    """What the event or the timer of a wait brings."""

    COMES_TRUE = auto()
    FAILS = auto()


class NodeKind(Declared):
    """Pattern operators. WAIT waits for one event, for a time to pass, or for whichever comes first;
    LINE is a row of waits."""

    ROOT = auto()
    WAIT = auto()
    LINE = auto()
    EVERY = auto()
    DISTINCT = auto()
    FOLLOWED = auto()
    ALL = auto()
    ANY = auto()
    ABSENT = auto()
    REPEAT = auto()
    WITHIN = auto()
    WHILE = auto()
    AT = auto()


class StatementRow(Declared):
    """A statement; in the order of ranks."""

    ROOT = auto()  # node, NONE for a stream
    CONDITION = auto()  # code
    WHERE = auto()
    HAVING = auto()
    COLUMNS = auto()  # in LIST: code and slot of each column
    COLUMN_COUNT = auto()
    TARGET = auto()
    REPORTED = auto()  # bits: 1 new, 2 old
    INSERTED = auto()  # the same
    CONSUMED = auto()  # whether any statement takes its events
    HAS_CONTEXT = auto()
    TAG_COUNT = auto()
    RUNNING = auto()  # without a context
    REPEATED = auto()  # bits: tags bound to several events
    RANK = auto()
    WINDOW = auto()  # NONE: each row of the source gives one of the result, and nothing more
    WIDTH = auto()


class ConsumerRow(Declared):
    """A statement that takes events of a type."""

    STATEMENT = auto()
    ATOMS = auto()
    ATOM_COUNT = auto()
    KEYS = auto()
    KEY_COUNT = auto()
    DOUBLES = auto()
    WIDTH = auto()


class TypeRow(Declared):
    """An event type: its consumers, and in LIST the slots of its events that hold events."""

    CONSUMERS = auto()
    CONSUMER_COUNT = auto()
    REFS = auto()
    REF_COUNT = auto()
    WIDTH = auto()


class RunningRow(Declared):
    """A statement that runs, or one partition of it."""

    STATEMENT = auto()
    ROOT = auto()
    ENTRY = auto()
    ORIGIN = auto()  # KEY row of what started it
    GROUP = auto()  # of all rows, where there are no others
    FIRST = auto()  # the items of the window, or those gathered for the next batch
    LAST = auto()
    COUNT = auto()
    RELEASED = auto()  # the items of the batch before
    RELEASED_COUNT = auto()
    ANCHOR = auto()  # since when the periods of a batch follow each other; START: not yet
    DUE = auto()  # when the window's timer falls due; NEVER: none is armed
    EARLIER = auto()
    LATER = auto()
    RATE_DUE = auto()  # the same for the output rate
    RATE_EARLIER = auto()
    RATE_LATER = auto()
    RATE_ANCHOR = auto()
    STARTED = auto()
    SATISFIED = auto()  # rows counted towards `after`
    NEW = auto()  # rows that came since the last output, and in all
    OLD = auto()
    NEW_TOTAL = auto()
    OLD_TOTAL = auto()
    LAST_OUTPUT = auto()  # START: there was none
    IS_SILENT = auto()
    SHOWN = auto()  # outputs that wait to be let out
    LAST_SHOWN = auto()
    SHOWN_OLD = auto()
    LAST_SHOWN_OLD = auto()
    GROUPS = auto()  # every group ever seen, where that is asked for
    LAST_GROUP = auto()
    GROUP_COUNT = auto()
    WIDTH = auto()


class WindowRow(Declared):
    """What a statement does with its rows, and the timers of its running statements."""

    STATEMENT = auto()
    KIND = auto()
    SIZE = auto()
    PERIOD = auto()
    MONTHS = auto()
    REFERENCE = auto()
    IS_EAGER = auto()
    IS_FORCED = auto()
    SHAPE = auto()
    AGGREGATES = auto()
    AGGREGATE_COUNT = auto()
    KEYS = auto()  # in LIST: code of the group's key
    KEY_COUNT = auto()
    KEY_DOUBLE = auto()
    OWNER = auto()  # of the groups' entries
    NEEDS_OLD = auto()
    READS_ROWS = auto()  # whether results show anything of an item but its arguments
    # whether rows that come or go one by one give one result each, without questions
    IS_QUICK = auto()
    TAKES_CELLS = auto()  # whether aggregates keep single values
    COLLECTS = auto()  # whether results wait for the end of the delta
    RATE = auto()
    EVERY_COUNT = auto()  # NONE: it does not count
    EVERY = auto()
    EVERY_MONTHS = auto()
    AFTER_COUNT = auto()
    AFTER = auto()
    AFTER_MONTHS = auto()
    WHEN = auto()  # code, over an event that has counters
    WHEN_SLOTS = auto()  # in LIST: where they are
    SPEAKS_UNASKED = auto()  # at the end of a period in which nothing came
    KEEPS_GROUPS = auto()  # for ever, with the last row of each
    ORDER = auto()  # in LIST: code, whether it is a double, whether it descends
    ORDER_COUNT = auto()
    DISTINCT_OWNER = auto()  # of the entries of distinct rows; NONE: they need not be
    DISTINCT_DOUBLE = auto()
    LIMIT = auto()
    OFFSET = auto()
    ITEMS = auto()  # in a context: the items of all partitions, the first to leave first
    LAST_ITEM = auto()
    TIMERS = auto()  # running statements with an armed timer, the first to fall due first
    LAST_TIMER = auto()
    RATES = auto()  # the same for the output rates
    LAST_RATE = auto()
    WIDTH = auto()


class WindowKind(Declared):
    """Data windows."""

    UNLIMITED = auto()
    KEEP_ALL = auto()
    LENGTH = auto()
    LENGTH_BATCH = auto()
    TIME = auto()
    TIME_BATCH = auto()


class RateKind(Declared):
    """What an output rate does with results."""

    DIRECT = auto()
    BUFFERED = auto()
    LAST_ONLY = auto()
    ALL_GROUPS = auto()
    FIRST_ONLY = auto()
    FIRST_OF_GROUP = auto()
    SNAPSHOTS = auto()


class RowShape(Declared):
    """What one row of a statement stands for."""

    BY_ROW = auto()
    BY_TOTAL = auto()
    BY_ROW_AND_TOTAL = auto()
    BY_GROUP = auto()
    BY_ROW_AND_GROUP = auto()


class TimerStage(Declared):
    """Whose timer fires."""

    PATTERN = auto()
    WINDOW = auto()
    RATE = auto()


class AggregateRow(Declared):
    """What an aggregate is made of."""

    KIND = auto()
    CODE = auto()  # of the argument; NONE: it counts rows
    NUMBER = auto()  # how a sum is rounded
    IS_REAL = auto()  # whether the argument is a float or a double
    OWNER = auto()  # of the entries of distinct values; NONE: they need not be
    INDEX = auto()  # of NTH: so many places before the last
    WIDTH = auto()


class AggregateKind(Declared):
    """Aggregates."""

    COUNT = auto()
    SUM = auto()
    AVERAGE = auto()
    LEAST = auto()
    GREATEST = auto()
    LEAST_EVER = auto()
    GREATEST_EVER = auto()
    MEDIAN = auto()
    DEVIATION = auto()
    FIRST = auto()
    FIRST_EVER = auto()
    LAST = auto()
    MEAN_DEVIATION = auto()
    NTH = auto()
    NTH_EVER = auto()


class Rounding(Declared):
    """The type to which a sum is rounded."""

    INT = auto()
    LONG = auto()
    FLOAT = auto()
    DOUBLE = auto()
    DECIMAL = auto()  # counted in units of the last digit


class ItemRow(Declared):
    """A row of a source in a window; behind it lie the arguments of the aggregates."""

    NEXT = auto()
    WINDOW = auto()  # NONE: not in use
    RUNNING = auto()
    EVENT = auto()
    BINDING = auto()
    KEY = auto()  # of what brought it
    PASSES = auto()
    GROUP = auto()
    DUE = auto()
    LATER = auto()  # the next to leave of the statement
    NULLS = auto()
    ARGUMENTS = auto()


class GroupRow(Declared):
    """A group; behind it lie the states of its aggregates."""

    NEXT = auto()  # of those that the delta touches
    WINDOW = auto()  # NONE: not in use
    ENTRY = auto()
    SIZE = auto()  # rows that count
    ITEMS = auto()  # rows that are there
    STAMP = auto()
    EVENT = auto()  # the row that stands for it in the delta
    BINDING = auto()
    KEY = auto()
    IS_LEAVING = auto()
    SHOWN = auto()  # its output that waits, new and old
    SHOWN_OLD = auto()
    LAST_EVENT = auto()  # the last row that entered it, where that is kept
    LAST_BINDING = auto()
    IS_KEPT = auto()
    FOLLOWING = auto()  # of those that are kept
    IS_SEEN = auto()  # since the last output
    NEXT_LEFT = auto()  # of those that rows leave
    SINCE = auto()  # since when it is silent; START: it is not
    NEW = auto()  # what came since
    OLD = auto()
    STATE = auto()


class CellRow(Declared):
    """A value that an aggregate keeps, between its neighbours."""

    NEXT = auto()
    BEFORE = auto()
    VALUE = auto()
    IS_NULL = auto()
    NUMBER = auto()
    WIDTH = auto()


class OutputRow(Declared):
    """A result that waits; behind it lie (value, is null) of what it is ordered by."""

    NEXT = auto()
    EVENT = auto()
    GROUP = auto()
    KEY = auto()
    IS_LEAVING = auto()
    ENTRY = auto()
    ORDER = auto()


class LiveRow(Declared):
    """An instance of an operator."""

    NODE = auto()
    PARENT = auto()
    BEGIN = auto()
    ALIVE = auto()
    FIRST = auto()
    LAST = auto()
    PREV = auto()
    NEXT = auto()
    RUNNING = auto()
    OWN_1 = auto()  # three words for the operator itself, which names them below
    OWN_2 = auto()
    OWN_3 = auto()
    WAIT = auto()  # the node of the wait at hand
    BOUND = auto()  # what is bound by then
    ORDER = auto()  # its place among those that listen
    BEFORE = auto()  # neighbours in the list of those that listen
    AFTER = auto()
    LIST = auto()  # the entry of that list; UNLISTED: none
    DUE = auto()  # when the timer falls due; NEVER: none is armed
    EARLIER = auto()  # neighbours in the list of armed timers
    LATER = auto()
    # of the timer: the ordinal and the row of the event that armed it, and its number
    ORIGIN = auto()
    ORIGIN_EVENT = auto()
    ARMED = auto()
    WIDTH = auto()


class StartingLive(Declared):
    """The own words of what must know that it is being started: the root, `or`, and `every`."""

    IS_STARTING = LiveRow.OWN_1
    IS_TRUE_AT_ONCE = LiveRow.OWN_2  # of `every`: it would repeat for ever at one instant
    GENERATION = LiveRow.OWN_3  # of `every-distinct`: of the keys that it has seen


class AndLive(Declared):
    """The own words of `and`: the list of what its sides have brought."""

    FIRST_TRUTH = LiveRow.OWN_1
    LAST_TRUTH = LiveRow.OWN_2


class RepeatLive(Declared):
    """The own words of a repeat."""

    COUNT = LiveRow.OWN_1  # how often its body was true
    COLLECTED = LiveRow.OWN_2  # the binding of all that was collected
    IS_STARTING = LiveRow.OWN_3  # whether its body is being started


class WithinLive(Declared):
    """The own words of `timer:within`."""

    MATCHES = LiveRow.OWN_1


class DeadLive(Declared):
    """The own words of an instance that is over and waits to be given back."""

    NEXT = LiveRow.OWN_3


class TruthRow(Declared):
    """What a side of `and` has brought."""

    BINDING = auto()
    PLACE = auto()
    NEXT = auto()
    WIDTH = auto()


class EntryRow(Declared):
    """An entry of the hash table; behind its two words of content lie the words of its key."""

    OWNER = auto()
    PART = auto()
    NULLS = auto()
    COUNT = auto()
    CHAIN = auto()
    FIRST = auto()
    LAST = auto()
    KEYS = auto()


class ResultRow(Declared):
    """A row of the result."""

    EVENT = auto()
    STATEMENT = auto()
    KIND = auto()
    KEY = auto()
    WIDTH = auto()


class ResultKind(Declared):
    """Kinds of rows."""

    MATCH = auto()
    OLD = auto()
    TIMEOUT = auto()


class KeyRow(Declared):
    """A piece of a sort key: what it extends, the rank and number it adds, and where it began.

    Of a key that came from outside, a piece has some words in place of all that follows MARK."""

    BEFORE = auto()
    TIMER = auto()  # whether it began BY_EVENT, BY_TIMER, AT_START, or outside: BY_KEY
    ORIGIN = auto()  # KEY row of the origin, or of further words
    COUNT = auto()  # the number of the timer, or how many words there are
    DEPTH = auto()
    PLACE = auto()  # where a row takes the place of an item: KEY row of what brought that
    MARK = auto()
    RANK = auto()
    NUMBER = auto()
    INSTANT = auto()
    SEQUENCE = auto()
    STAGE = auto()
    STREAM = auto()  # NONE, or where a row takes the place of an item: 2 * old + leaving
    WIDTH = auto()


class KeyOrigin(Declared):
    """Where a sort key began."""

    BY_EVENT = auto()
    BY_TIMER = auto()
    AT_START = auto()
    BY_KEY = auto()


class StepKind(Declared):
    """What is still to be done, the last first."""

    TAKE = auto()
    DRAIN = auto()
    DISPATCH = auto()
    OFFERS = auto()
    TRUE = auto()
    FAIL = auto()
    BEGIN_LIVE = auto()
    SPAWN = auto()
    SPAWNED = auto()
    START_SIDE = auto()
    SIDES_STARTED = auto()
    COMBINE = auto()
    ABSENT_STARTED = auto()
    ROOT_STARTED = auto()
    BODY = auto()
    BODY_STARTED = auto()
    FIRE = auto()
    TICK = auto()
    MATCHED = auto()
    PASS_TIME = auto()
    START_STATEMENT = auto()
    FIRE_DUE = auto()
    WAIT_FOR = auto()
    PROCESS = auto()


NEVER = (1 << 63) - 1
START = -(1 << 63)

# Free rows of each table: (first, how many), behind the table of regions.
FREE_LISTS = HEAD_SIZE
MEMORY_HEAD = FREE_LISTS + 2 * REGIONS

STATE_WIDTH = 4  # words of the state of an aggregate
STEP_WIDTH = 6
UNLISTED = -2  # in LiveRow.LIST
ONE_TURN = 1 << 50  # what is taken off the order of those that hear an event one turn earlier

# Owners of entries are nodes, or below zero statements for their partitions, and from here on:
GROUPS, DISTINCT_VALUES, DISTINCT_ROWS = -(1 << 40), -(1 << 41), -(1 << 42)
SEEN_KEYS = -(1 << 43)  # of `every-distinct`, one owner for each node
KEY_WORDS = KeyRow.MARK + 1  # where the further words of a piece of a key begin

# The words of the rows of each table that has more than one kind of them.
ROWS: dict[Region, type[Declared]] = {
    Region.EVENT: EventRow,
    Region.NODE: NodeRow,
    Region.STATEMENT: StatementRow,
    Region.CONSUMER: ConsumerRow,
    Region.TYPE: TypeRow,
    Region.LIVE: LiveRow,
    Region.TRUTH: TruthRow,
    Region.ROW: ResultRow,
    Region.TABLE_ENTRY: EntryRow,
    Region.KEY: KeyRow,
    Region.RUNNING: RunningRow,
    Region.WINDOW: WindowRow,
    Region.AGGREGATE: AggregateRow,
    Region.ITEM: ItemRow,
    Region.GROUP: GroupRow,
    Region.CELL: CellRow,
    Region.OUTPUT: OutputRow,
}
# Words whose numbers stand for names.
NAMES: dict[type[Declared], dict[int, type[Declared]]] = {
    NodeRow: {NodeRow.KIND: NodeKind, NodeRow.EVENT_DOES: Effect, NodeRow.TIMER_DOES: Effect},
    WindowRow: {
        WindowRow.KIND: WindowKind,
        WindowRow.RATE: RateKind,
        WindowRow.SHAPE: RowShape,
    },
    AggregateRow: {AggregateRow.KIND: AggregateKind, AggregateRow.NUMBER: Rounding},
    ResultRow: {ResultRow.KIND: ResultKind},
    KeyRow: {KeyRow.TIMER: KeyOrigin},
}
# The own words of instances, by the kind of their operators.
OWN_WORDS: dict[NodeKind, type[Declared]] = {
    NodeKind.ROOT: StartingLive,
    NodeKind.EVERY: StartingLive,
    NodeKind.DISTINCT: StartingLive,
    NodeKind.ANY: StartingLive,
    NodeKind.ALL: AndLive,
    NodeKind.REPEAT: RepeatLive,
    NodeKind.WITHIN: WithinLive,
}
