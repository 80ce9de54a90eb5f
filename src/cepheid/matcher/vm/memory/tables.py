"""The tables of the machine and the words of their rows; `layout` has those of expressions.

Plain numbers, because compiled code reads them.
"""

from __future__ import annotations

from itertools import count

from cepheid.matcher.vm.memory.layout import HEAD_SIZE, NONE, REGIONS, TABLE, Head

_head = count(int(Head.FREE))

CURSOR = next(_head)  # the next row of INPUT
GIVEN = next(_head)  # how many rows INPUT has
UNTIL = next(_head)  # let time pass up to here when all input is taken; NEVER: leave the clock
NEXT_DUE = next(_head)  # no timer falls due before
LISTENED = next(_head)  # how many atoms have ever listened: their order
ORDINAL = next(_head)  # how many events have been taken: the order of origins
ORIGIN = next(_head)  # the ordinal of the event at hand, or of the origin of the firing timer
ORIGIN_EVENT = next(_head)  # its row
ARMED = next(_head)  # how many timers have been armed
CAUSE = next(_head)  # row of CAUSES
BASE_KEY = next(_head)  # row of KEY that the next rows extend; NONE: not made yet
TIMER = next(_head)  # the number of the firing timer; NONE while an event is taken
ROOM = next(_head)  # steps that can be done before the tables must be looked at
FRESH = next(_head)  # rows of collected tables that were taken since the last collection
LIMIT = next(_head)  # collect when there are so many
GRAY = next(_head)  # events that are marked and whose references are not
GRAY_KEY = next(_head)  # the same for keys
DEAD = next(_head)  # live rows to be given back
SNAPSHOT = next(_head)  # atoms that listen later do not hear the event at hand
CURSORS = next(_head)  # how many lists are being offered
QUEUE_HEAD = next(_head)
ENTRIES = next(_head)  # in use in TABLE
BUCKETS = next(_head)  # a power of two
GENERATION = next(_head)  # how many sets of seen keys there have been
STARTED = next(_head)
START_INSTANT = next(_head)
EMITTED = next(_head)  # rows of the statement for the event at hand
SLOTS = next(_head)  # place of the first value in an event
KEYED = next(_head)  # whether rows carry sort keys
RUNAWAY = next(_head)  # the statement that derived too much
IS_OLD = next(_head)  # istream() and its like ask
STAGE = next(_head)  # of the firing timer: PATTERN_STAGE, WINDOW_STAGE, RATE_STAGE
FIRING = next(_head)  # the running statement whose window or rate fires
# The delta at hand: rows that enter and leave a window together, and how far they are processed.
D_RUNNING = next(_head)
D_PHASE = next(_head)
D_NEW = next(_head)  # the first of the items that enter, and how many
D_NEW_COUNT = next(_head)
D_OLD = next(_head)  # of those that leave
D_OLD_COUNT = next(_head)
D_NEW_PASSED = next(_head)  # how many of them pass `where`
D_OLD_PASSED = next(_head)
D_CURSOR = next(_head)  # the item, group or output that comes next in this phase
D_LEFT = next(_head)  # and how many are left
D_STAMP = next(_head)  # the number of the delta, which marks the groups that it touches
D_TOUCHED = next(_head)
D_LAST_TOUCHED = next(_head)
D_TOUCHED_COUNT = next(_head)
D_SHOWN = next(_head)  # outputs that wait for the end of the delta, new and old
D_LAST_SHOWN = next(_head)
D_SHOWN_OLD = next(_head)
D_LAST_SHOWN_OLD = next(_head)
D_BY_ROW = next(_head)  # whether rows take the places of the items that they stand for
D_IS_PAST = next(_head)  # whether `after` is over
D_LETS_OUT = next(_head)  # whether the output rate lets out what waits
D_LEAVING = next(_head)  # groups that rows leave, where that is asked for
D_LAST_LEAVING = next(_head)
D_BEFORE = next(_head)  # the output before the one that comes next
assert next(_head) <= TABLE

NEVER = (1 << 63) - 1
START = -(1 << 63)

# Statuses.
DONE, ASK, GROW, FLUSH, REHASH, ENDLESS = range(6)

# Free rows of each table: (first, how many), behind the table of regions.
POOLS = HEAD_SIZE
MEMORY_HEAD = POOLS + 2 * REGIONS

# Regions; those below 10 belong to expressions.
NODE, STATEMENT, CONSUMER, TYPE, LIST, LIVE, TRUTH, STEP, INPUT, QUEUE = range(10, 20)
ROW, TABLE_ENTRY, BUCKET, CAUSES, KEY, LISTS, RUNNING, TIMED, SCRATCH, SEEN = range(20, 30)
WINDOW, AGGREGATE, ITEM, GROUP, CELL, OUTPUT, RESULT, ARGUMENT, ORDERED = range(30, 39)

# NODE: what never changes about an operator, and the lists of its live instances.
(
    N_KIND,
    N_CHILD,  # the first child; the others follow at N_NEXT
    N_CHILDREN,
    N_NEXT,
    N_PLACE,
    N_STATEMENT,
    N_TAG,
    N_EARLY,  # code: the condition as far as it is about the event alone
    N_LATE,  # code: the rest of the condition
    N_KEYS,  # how many equalities lead to the waiting instances
    N_EVENT_KEYS,  # in LIST: code of the event's side
    N_BOUND_KEYS,  # in LIST: code of the other side
    N_PERIOD,
    N_MONTHS,
    N_LOW,
    N_HIGH,
    N_TAGS,  # in LIST: the tags inside
    N_TAG_COUNT,
    N_HEAD,  # waiting instances, where there is one list only
    N_TAIL,
    N_TIMERS,  # armed timers, the first to fall due first
    N_LAST_TIMER,
    N_REACHED,
    N_IS_ONE_LIST,
    N_KEY_DOUBLE,  # bits: which key parts are doubles
    N_FIRED,
    N_EVENT_DOES,  # what the event of a wait brings: COMES_TRUE, FAILS; NONE where it waits for none
    N_TIMER_DOES,  # the same for its timer
    N_STARTS_RUNS,  # 1: its instances are the `a=A` of `every a=A -> ...` and hear an event first
    N_TWIN,  # where those wait for which nothing is bound yet, if that is not so for all
    N_WIDTH,
) = range(31)
COMES_TRUE, FAILS = range(2)

# Kinds of nodes.
# WAIT waits for one event, for a time to pass, or for whichever comes first; LINE is a row of waits.
(ROOT, WAIT, LINE, EVERY, DISTINCT, FOLLOWED, ALL, ANY, ABSENT, REPEAT, WITHIN, WHILE, AT) = range(
    13
)

# STATEMENT, in the order of ranks.
(
    S_ROOT,  # node, NONE for a stream
    S_CONDITION,  # code
    S_WHERE,
    S_HAVING,
    S_COLUMNS,  # in LIST: code and slot of each column
    S_COLUMN_COUNT,
    S_TARGET,
    S_REPORTED,  # bits: 1 new, 2 old
    S_INSERTED,  # the same
    S_CONSUMED,  # whether any statement takes its events
    S_HAS_CONTEXT,
    S_TAG_COUNT,
    S_RUNNING,  # without a context
    S_REPEATED,  # bits: tags bound to several events
    S_RANK,
    S_WINDOW,  # NONE: each row of the source gives one of the result, and nothing more
    S_WIDTH,
) = range(17)

# CONSUMER: a statement that takes events of a type.
C_STATEMENT, C_ATOMS, C_ATOM_COUNT, C_KEYS, C_KEY_COUNT, C_DOUBLES, C_WIDTH = range(7)

# TYPE: (first consumer, how many), (in LIST: slots that hold events, how many).
T_CONSUMERS, T_CONSUMER_COUNT, T_REFS, T_REF_COUNT, T_WIDTH = range(5)

# RUNNING: a statement, or one partition of it.
(
    R_STATEMENT,
    R_ROOT,
    R_ENTRY,
    R_ORIGIN,  # KEY row of what started it
    R_GROUP,  # of all rows, where there are no others
    R_FIRST,  # the items of the window, or those gathered for the next batch
    R_LAST,
    R_COUNT,
    R_RELEASED,  # the items of the batch before
    R_RELEASED_COUNT,
    R_ANCHOR,  # since when the periods of a batch follow each other; START: not yet
    R_DUE,  # when the window's timer falls due; NEVER: none is armed
    R_EARLIER,
    R_LATER,
    R_RATE_DUE,  # the same for the output rate
    R_RATE_EARLIER,
    R_RATE_LATER,
    R_RATE_ANCHOR,
    R_STARTED,
    R_SATISFIED,  # rows counted towards `after`
    R_NEW,  # rows that came since the last output, and in all
    R_OLD,
    R_NEW_TOTAL,
    R_OLD_TOTAL,
    R_LAST_OUTPUT,  # START: there was none
    R_IS_SILENT,
    R_SHOWN,  # outputs that wait to be let out
    R_LAST_SHOWN,
    R_SHOWN_OLD,
    R_LAST_SHOWN_OLD,
    R_GROUPS,  # every group ever seen, where that is asked for
    R_LAST_GROUP,
    R_GROUP_COUNT,
    R_WIDTH,
) = range(34)

# WINDOW: what a statement does with its rows, and the timers of its running statements.
(
    V_STATEMENT,
    V_KIND,
    V_SIZE,
    V_PERIOD,
    V_MONTHS,
    V_REFERENCE,
    V_IS_EAGER,
    V_IS_FORCED,
    V_SHAPE,
    V_AGGREGATES,
    V_AGGREGATE_COUNT,
    V_KEYS,  # in LIST: code of the group's key
    V_KEY_COUNT,
    V_KEY_DOUBLE,
    V_OWNER,  # of the groups' entries
    V_NEEDS_OLD,
    V_READS_ROWS,  # whether results show anything of an item but its arguments
    V_IS_QUICK,  # whether rows that come or go one by one give one result each, without questions
    V_TAKES_CELLS,  # whether aggregates keep single values
    V_COLLECTS,  # whether results wait for the end of the delta
    V_RATE,
    V_EVERY_COUNT,  # NONE: it does not count
    V_EVERY,
    V_EVERY_MONTHS,
    V_AFTER_COUNT,
    V_AFTER,
    V_AFTER_MONTHS,
    V_WHEN,  # code, over an event that has counters
    V_WHEN_SLOTS,  # in LIST: where they are
    V_SPEAKS_UNASKED,  # at the end of a period in which nothing came
    V_KEEPS_GROUPS,  # for ever, with the last row of each
    V_ORDER,  # in LIST: code, whether it is a double, whether it descends
    V_ORDER_COUNT,
    V_DISTINCT_OWNER,  # of the entries of distinct rows; NONE: they need not be
    V_DISTINCT_DOUBLE,
    V_LIMIT,
    V_OFFSET,
    V_ITEMS,  # in a context: the items of all partitions, the first to leave first
    V_LAST_ITEM,
    V_TIMERS,  # running statements with an armed timer, the first to fall due first
    V_LAST_TIMER,
    V_RATES,  # the same for the output rates
    V_LAST_RATE,
    V_WIDTH,
) = range(44)
UNLIMITED, KEEP_ALL, LENGTH, LENGTH_BATCH, TIME, TIME_BATCH = range(6)
DIRECT, BUFFERED, LAST_ONLY, ALL_GROUPS, FIRST_ONLY, FIRST_OF_GROUP, SNAPSHOTS = range(7)
BY_ROW, BY_TOTAL, BY_ROW_AND_TOTAL, BY_GROUP, BY_ROW_AND_GROUP = range(5)
PATTERN_STAGE, WINDOW_STAGE, RATE_STAGE = range(3)

# AGGREGATE: what an aggregate is made of.
(
    A_KIND,
    A_CODE,  # of the argument; NONE: it counts rows
    A_NUMBER,  # how a sum is rounded
    A_IS_REAL,  # whether the argument is a float or a double
    A_OWNER,  # of the entries of distinct values; NONE: they need not be
    A_WIDTH,
) = range(6)
(COUNT, SUM, AVERAGE, LEAST, GREATEST, LEAST_EVER, GREATEST_EVER, MEDIAN, DEVIATION) = range(9)
FIRST, FIRST_EVER, LAST = range(9, 12)
AS_INT, AS_LONG, AS_FLOAT, AS_DOUBLE = range(4)

# ITEM: a row of a source in a window; behind it lie the arguments of the aggregates.
(
    I_NEXT,
    I_WINDOW,  # NONE: not in use
    I_RUNNING,
    I_EVENT,
    I_BINDING,
    I_KEY,  # of what brought it
    I_PASSES,
    I_GROUP,
    I_DUE,
    I_LATER,  # the next to leave of the statement
    I_NULLS,
    I_ARGUMENTS,
) = range(12)

# GROUP: behind it lie the states of its aggregates.
(
    G_NEXT,  # of those that the delta touches
    G_WINDOW,  # NONE: not in use
    G_ENTRY,
    G_SIZE,  # rows that count
    G_ITEMS,  # rows that are there
    G_STAMP,
    G_EVENT,  # the row that stands for it in the delta
    G_BINDING,
    G_KEY,
    G_IS_LEAVING,
    G_SHOWN,  # its output that waits, new and old
    G_SHOWN_OLD,
    G_LAST_EVENT,  # the last row that entered it, where that is kept
    G_LAST_BINDING,
    G_IS_KEPT,
    G_FOLLOWING,  # of those that are kept
    G_IS_SEEN,  # since the last output
    G_NEXT_LEFT,  # of those that rows leave
    G_SINCE,  # since when it is silent; START: it is not
    G_NEW,  # what came since
    G_OLD,
    G_STATE,
) = range(22)
STATE_WIDTH = 4

# CELL: a value that an aggregate keeps, between its neighbours.
Y_NEXT, Y_BEFORE, Y_VALUE, Y_IS_NULL, Y_NUMBER, Y_WIDTH = range(6)

# OUTPUT: a result that waits; behind it lie (value, is null) of what it is ordered by.
O_NEXT, O_EVENT, O_GROUP, O_KEY, O_IS_LEAVING, O_ENTRY, O_ORDER = range(7)

# LIVE: an instance of an operator.
(
    L_NODE,
    L_PARENT,
    L_BEGIN,
    L_ALIVE,
    L_FIRST,
    L_LAST,
    L_PREV,
    L_NEXT,
    L_RUNNING,
    L_A,
    L_B,
    L_C,
    L_WAIT,  # the node of the wait at hand
    L_BOUND,  # what is bound by then
    L_ORDER,  # its place among those that listen
    L_BEFORE,  # neighbours in the list of those that listen
    L_AFTER,
    L_LIST,  # the entry of that list; UNLISTED: none
    L_DUE,  # when the timer falls due; NEVER: none is armed
    L_EARLIER,  # neighbours in the list of armed timers
    L_LATER,
    L_ORIGIN,  # of the timer: the ordinal and the row of the event that armed it, and its number
    L_ORIGIN_EVENT,
    L_ARMED,
    L_WIDTH,
) = range(25)
UNLISTED = -2
FIRST = 1 << 62  # what is taken off the order of those that hear an event first

# TRUTH: what a side of `and` has brought.
H_BINDING, H_PLACE, H_NEXT, H_WIDTH = range(4)

# TABLE_ENTRY: (owner, partition, null bits, next in the bucket, two words of content, keys).
E_OWNER, E_PART, E_NULLS, E_COUNT, E_CHAIN, E_FIRST, E_LAST, E_KEYS = range(8)

# Owners of entries are nodes, or below zero statements for their partitions, and from here on:
GROUPS, DISTINCT_VALUES, DISTINCT_ROWS = -(1 << 40), -(1 << 41), -(1 << 42)
SEEN_KEYS = -(1 << 43)  # of `every-distinct`, one owner for each node

# ROW: a result.
W_EVENT, W_STATEMENT, W_KIND, W_KEY, W_WIDTH = range(5)
MATCH, OLD, TIMEOUT = range(3)

# KEY: a piece of a sort key: what it extends, the rank and number it adds, and where it began. Of a
# key that came from outside, a piece has some words in place of all that follows K_MARK.
(
    K_BEFORE,
    K_TIMER,  # whether it began BY_EVENT, BY_TIMER, AT_START, or outside: BY_KEY
    K_ORIGIN,  # KEY row of the origin, or of further words
    K_COUNT,  # the number of the timer, or how many words there are
    K_DEPTH,
    K_PLACE,  # where a row takes the place of an item: KEY row of what brought that
    K_MARK,
    K_RANK,
    K_NUMBER,
    K_INSTANT,
    K_SEQUENCE,
    K_STAGE,
    K_STREAM,  # NONE, or where a row takes the place of an item: 2 * old + leaving
    K_WIDTH,
) = range(14)
K_WORDS = K_MARK + 1

BY_EVENT, BY_TIMER, AT_START, BY_KEY = range(4)

# STEP: what is still to be done, the last first.
X_WIDTH = 6
(
    TAKE,
    DRAIN,
    DISPATCH,
    OFFERS,
    TRUE,
    FAIL,
    BEGIN_LIVE,
    SPAWN,
    SPAWNED,
    START_SIDE,
    SIDES_STARTED,
    COMBINE,
    ABSENT_STARTED,
    ROOT_STARTED,
    BODY,
    BODY_STARTED,
    FIRE,
    TICK,
    MATCHED,
    PASS_TIME,
    START_STATEMENT,
    FIRE_DUE,
    WAIT_FOR,
    PROCESS,
) = range(24)

__all__ = ["NONE"]
