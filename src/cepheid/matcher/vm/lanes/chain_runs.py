"""The runs of one chain over a batch of events.

A run waits for the event of its next link, in a list with all others that wait there for the same
value, the newest first. A hash table has an entry for each value, with a list for each link: most runs
go on to wait for the value that they have waited for. Where time limits the last link, the
runs that wait for it are also in a queue: all have the same period, so they fall due in the order of
their arming. Everything lies in four arrays of words: single words, runs, hash table, matches.

With many runs, what takes time is to reach memory that was not used for long. So a run whose time is
up leaves the queue, but its list is not looked for: that may go on to runs that are over, or whose
place another run has now. Such an end of a list is told by what stands there (`is_waiting`), as the
older runs of a list are over before the newer ones.
"""

from __future__ import annotations

from enum import auto

from numba import types

from cepheid.matcher.vm.jit import COLUMN, WORDS, entry, inlined, words_of
from cepheid.matcher.vm.lanes.value_table import ValueEntry, claim, entry_in
from cepheid.matcher.vm.memory.declared import Declared
from cepheid.matcher.vm.memory.layout import NONE


class ChainHead(Declared):
    """Single words; behind them, of each link the one whose event has the value that it waits for."""

    LINKS = auto()
    PERIOD = auto()  # of the last link; NONE: it may take any time
    IS_ABSENCE = auto()
    CURSOR = auto()  # the next event of the batch
    BASE = auto()  # the number of its first event
    FREE = auto()  # the first run that is free again
    FRESH = auto()  # the first run that was never used; so are all behind it
    MOST_RUNS = auto()
    LIVE = auto()
    FIRST_DUE = auto()
    LAST_DUE = auto()
    ARMED = auto()  # how many runs have ever been armed
    ENTRIES = auto()  # in use in the hash table
    SIZE = auto()  # of the hash table: a power of two
    ENTRY_BITS = auto()  # an entry has two to their power words
    FOUND = auto()  # matches
    MOST_FOUND = auto()
    WAITS_FOR = auto()  # the link that the only run waits for, where the whole chain repeats
    GIVER = auto()  # the link that the last one is compared with; NONE: it is not
    OTHERS = auto()


class RunRow(Declared):
    """A run; then for each link the number of its event, and the value that it waits for there."""

    NEXT = auto()
    LIST = auto()  # where its first run stands; NONE: it waits for null, which equals nothing
    DUE = auto()
    LATER = auto()
    EARLIER = auto()
    ARMED = auto()
    LOST = auto()  # a bit for each link where it waits for null; NONE: the run is free
    GIVEN = auto()  # of the alternatives of the last link, those that its events so far allow
    EVENTS = auto()


# In an entry of the hash table, behind its value: the first run of each list, one for each link but the
# first.

# A match: the numbers of its events, then either the place in the batch of the event that
# completed it, or when it fell due and as which.
MATCH_TAIL = 2


class ChainStatus(Declared):
    """How the events of a batch were taken."""

    DONE = auto()
    MORE_RUNS = auto()
    MORE_ENTRIES = auto()
    MORE_FOUND = auto()


# -- those that wait for the same value ------------------------------------------------------------


@inlined
def entry_of(head, table, value):
    return entry_in(table, head[ChainHead.SIZE], head[ChainHead.ENTRY_BITS], value)


@inlined
def claimed(head, table, value):
    """The entry of a value, which it has from now on if it had none."""
    entry = entry_of(head, table, value)
    head[ChainHead.ENTRIES] += claim(table, entry, value)
    return entry


@inlined
def list_of(entry, link):
    return entry + ValueEntry.LISTS + link - 1


@inlined
def awaited(head, runs, run, link, links):
    """The value that a run waits for at a link."""
    return 0 if head[ChainHead.OTHERS + link] == NONE else runs[run + RunRow.EVENTS + links + link]


@inlined
def wait(head, runs, table, run, link, links, near):
    """The run waits for the event of a link; its value is likely to be that of a known entry."""
    if (runs[run + RunRow.LOST] >> link) & 1:
        runs[run + RunRow.LIST] = NONE
        return
    value, entry = awaited(head, runs, run, link, links), near
    if near == NONE or table[near + ValueEntry.VALUE] != value:
        entry = claimed(head, table, value)
    place = list_of(entry, link)
    runs[run + RunRow.LIST] = place
    runs[run + RunRow.NEXT] = table[place]
    table[place] = run


@inlined
def is_timed(head, link):
    """Whether runs that wait for a link may be over before its event comes."""
    return link == head[ChainHead.LINKS] - 1 and head[ChainHead.PERIOD] != NONE


@inlined
def is_waiting(runs, run, place, armed):
    """Whether a run is still in a list that time limits, behind one that was armed as such."""
    if runs[run + RunRow.LOST] == NONE or runs[run + RunRow.LIST] != place:
        return False
    return runs[run + RunRow.ARMED] < armed


@inlined
def oldest(head, runs, table, place, link):
    """Takes all runs out of a list; they follow each other from the returned one, the oldest, on."""
    run = table[place]
    table[place] = NONE
    checks = is_timed(head, link)
    newer, armed = NONE, head[ChainHead.ARMED] + 1
    while run != NONE and (not checks or is_waiting(runs, run, place, armed)):
        armed = runs[run + RunRow.ARMED]
        older = runs[run + RunRow.NEXT]
        runs[run + RunRow.NEXT] = newer
        newer, run = run, older
    return newer


# -- those that wait for one event each, the oldest first -----------------------------------------
# The word of such a list has its last run, which the first one follows.


@inlined
def append(runs, table, place, run):
    last = table[place]
    runs[run + RunRow.LIST] = place
    if last == NONE:
        runs[run + RunRow.NEXT] = run
    else:
        runs[run + RunRow.NEXT] = runs[last + RunRow.NEXT]
        runs[last + RunRow.NEXT] = run
    table[place] = run


@inlined
def take_first(runs, table, place):
    """Takes the oldest run out of a list; NONE if there is none."""
    last = table[place]
    if last == NONE:
        return NONE
    first = runs[last + RunRow.NEXT]
    if first == last:
        table[place] = NONE
    else:
        runs[last + RunRow.NEXT] = runs[first + RunRow.NEXT]
    return first


# -- the queue of those that time limits -----------------------------------------------------------


@inlined
def arm(head, runs, run, instant):
    runs[run + RunRow.DUE] = instant + head[ChainHead.PERIOD]
    head[ChainHead.ARMED] += 1
    runs[run + RunRow.ARMED] = head[ChainHead.ARMED]
    earlier = head[ChainHead.LAST_DUE]
    runs[run + RunRow.EARLIER] = earlier
    runs[run + RunRow.LATER] = NONE
    head[ChainHead.LAST_DUE] = run
    if earlier == NONE:
        head[ChainHead.FIRST_DUE] = run
    else:
        runs[earlier + RunRow.LATER] = run


@inlined
def disarm(head, runs, run):
    earlier, later = runs[run + RunRow.EARLIER], runs[run + RunRow.LATER]
    if earlier == NONE:
        head[ChainHead.FIRST_DUE] = later
    else:
        runs[earlier + RunRow.LATER] = later
    if later == NONE:
        head[ChainHead.LAST_DUE] = earlier
    else:
        runs[later + RunRow.EARLIER] = earlier


# -- runs ------------------------------------------------------------------------------------------


@inlined
def free_run(head, runs, links):
    """A run that nobody uses; there must be one."""
    run = head[ChainHead.FREE]
    if run == NONE:
        run = head[ChainHead.FRESH]
        width = RunRow.EVENTS + 2 * links
        head[ChainHead.FRESH] += width
        for word in range(run, run + width):
            runs[word] = NONE
    else:
        head[ChainHead.FREE] = runs[run + RunRow.NEXT]
    head[ChainHead.LIVE] += 1
    return run


@inlined
def end(head, runs, run):
    runs[run + RunRow.LOST] = NONE
    runs[run + RunRow.NEXT] = head[ChainHead.FREE]
    head[ChainHead.FREE] = run
    head[ChainHead.LIVE] -= 1


@inlined
def begin(runs, run, links):
    runs[run + RunRow.LOST] = 0
    for link in range(links):
        runs[run + RunRow.EVENTS + link] = NONE


@inlined
def bind(head, runs, run, link, links, event, count, columns, values, lost, giver, gives):
    """The event of a link is here; later links may wait for values of it."""
    runs[run + RunRow.EVENTS + link] = head[ChainHead.BASE] + event
    if link == giver:
        runs[run + RunRow.GIVEN] = gives[event]
    for later in range(link + 1, links):
        if head[ChainHead.OTHERS + later] == link:
            given = columns[links + later]
            runs[run + RunRow.EVENTS + links + later] = values[given * count + event]
            if (lost[event] >> later) & 1:
                runs[run + RunRow.LOST] |= 1 << later


@inlined
def go_on(head, runs, table, run, link, links, instant, near):
    """The run waits for its next link, or ends where that can never come."""
    is_last = link == links - 1
    if (runs[run + RunRow.LOST] >> link) & 1 and not (is_last and head[ChainHead.IS_ABSENCE]):
        end(head, runs, run)
        return
    wait(head, runs, table, run, link, links, near)
    if is_last and head[ChainHead.PERIOD] != NONE:
        arm(head, runs, run, instant)


@inlined
def match(head, runs, found, run, links, one, other):
    place = head[ChainHead.FOUND] * (links + MATCH_TAIL)
    for link in range(links):
        found[place + link] = runs[run + RunRow.EVENTS + link]
    found[place + links] = one
    found[place + links + 1] = other
    head[ChainHead.FOUND] += 1


@inlined
def let_time_pass(head, runs, found, instant):
    """Runs whose time is up: they end, or match where the last event had to be absent."""
    while (
        head[ChainHead.FIRST_DUE] != NONE
        and runs[head[ChainHead.FIRST_DUE] + RunRow.DUE] <= instant
    ):
        run = head[ChainHead.FIRST_DUE]
        if head[ChainHead.IS_ABSENCE]:
            if head[ChainHead.FOUND] == head[ChainHead.MOST_FOUND]:
                return ChainStatus.MORE_FOUND
            match(
                head,
                runs,
                found,
                run,
                head[ChainHead.LINKS],
                runs[run + RunRow.DUE],
                runs[run + RunRow.ARMED],
            )
        disarm(head, runs, run)
        end(head, runs, run)
    return ChainStatus.DONE


@inlined
def room_for(head, links, mask):
    """What there must be more of before an event with such a mask can be taken."""
    last = links - 1
    if head[ChainHead.LIVE] == head[ChainHead.MOST_RUNS]:
        return ChainStatus.MORE_RUNS
    moved = head[ChainHead.LIVE] if last > 1 else 0
    if 2 * (head[ChainHead.ENTRIES] + moved + 1) > head[ChainHead.SIZE]:
        return ChainStatus.MORE_ENTRIES
    if (mask >> last) & 1 and head[ChainHead.MOST_FOUND] - head[ChainHead.FOUND] <= head[
        ChainHead.LIVE
    ]:
        return ChainStatus.MORE_FOUND
    return ChainStatus.DONE


@inlined
def take(
    head,
    runs,
    table,
    found,
    mask,
    instant,
    event,
    links,
    count,
    columns,
    values,
    lost,
    giver,
    gives,
    takes,
):
    """The event is the one that runs wait for, those at the end of the chain first; then it begins
    a run, which does not hear it again."""
    last = links - 1
    for link in range(last, 0, -1):
        if (mask >> link) & 1 == 0:
            continue
        value = 0
        if head[ChainHead.OTHERS + link] != NONE:
            value = values[columns[link] * count + event]
        entry = entry_of(head, table, value)
        if table[entry + ValueEntry.IS_USED] == NONE:
            continue
        run = oldest(head, runs, table, list_of(entry, link), link)
        while run != NONE:
            following = runs[run + RunRow.NEXT]
            if link < last:
                bind(
                    head, runs, run, link, links, event, count, columns, values, lost, giver, gives
                )
                go_on(head, runs, table, run, link + 1, links, instant, entry)
            elif giver != NONE and runs[run + RunRow.GIVEN] & takes[event] == 0:
                wait(head, runs, table, run, link, links, entry)  # goes on as if nothing had come
            else:
                if head[ChainHead.PERIOD] != NONE:
                    disarm(head, runs, run)
                if not head[ChainHead.IS_ABSENCE]:
                    runs[run + RunRow.EVENTS + last] = head[ChainHead.BASE] + event
                    match(head, runs, found, run, links, event, 0)
                end(head, runs, run)
            run = following
    if mask & 1:
        run = free_run(head, runs, links)
        begin(runs, run, links)
        bind(head, runs, run, 0, links, event, count, columns, values, lost, giver, gives)
        go_on(head, runs, table, run, 1, links, instant, NONE)


@inlined
def follow_links(
    head, runs, table, found, links, giver, masks, instants, columns, values, lost, gives, takes
):
    """Takes events from the cursor on, of a chain with so many links."""
    count = len(masks)
    for event in range(head[ChainHead.CURSOR], count):
        head[ChainHead.CURSOR] = event
        instant = instants[event]
        if (
            head[ChainHead.FIRST_DUE] != NONE
            and let_time_pass(head, runs, found, instant) != ChainStatus.DONE
        ):
            return ChainStatus.MORE_FOUND
        mask = masks[event]
        if mask == 0:
            continue
        status = room_for(head, links, mask)
        if status != ChainStatus.DONE:
            return status
        take(
            head,
            runs,
            table,
            found,
            mask,
            instant,
            event,
            links,
            count,
            columns,
            values,
            lost,
            giver,
            gives,
            takes,
        )
    head[ChainHead.CURSOR] = count
    return ChainStatus.DONE


@entry(
    types.int64(WORDS, WORDS, WORDS, WORDS, COLUMN, COLUMN, COLUMN, COLUMN, COLUMN, COLUMN, COLUMN)
)
def follow(head_, runs_, table_, found_, masks, instants, columns_, values_, lost_, gives_, takes_):
    """Takes the events of a batch from the cursor on.

    The mask of an event has a bit for each link that it satisfies on its own. `values` are those of
    some columns, one after the other; `columns` tells for each link the one by which runs find its
    event, then for each link the one that an earlier event gives to runs that will wait there.
    Where the last link has alternatives, `gives` and `takes` have a bit for each: an event completes
    a run if one is left of those that the run was given.
    """
    head, runs, table, found = words_of(head_), words_of(runs_), words_of(table_), words_of(found_)
    columns, values, lost = words_of(columns_), words_of(values_), words_of(lost_)
    gives, takes = words_of(gives_), words_of(takes_)
    events = masks, instants, columns, values, lost, gives, takes
    links, giver = head[ChainHead.LINKS], head[ChainHead.GIVER]
    # Most chains have two links and no alternatives: what is known here is no question for each event.
    if giver == NONE:
        if links == 2:
            return follow_links(head, runs, table, found, 2, NONE, *events)
        return follow_links(head, runs, table, found, links, NONE, *events)
    if links == 2:
        return follow_links(head, runs, table, found, 2, 0, *events)
    return follow_links(head, runs, table, found, links, giver, *events)


@entry("int64(int64[::1], int64[::1], int64[::1], int64)")
def pass_time(head_, runs_, found_, instant):
    head, runs, found = words_of(head_), words_of(runs_), words_of(found_)
    return let_time_pass(head, runs, found, instant)


@entry(types.int64(WORDS, WORDS, WORDS, COLUMN, COLUMN, COLUMN, COLUMN))
def follow_one(head_, runs_, found_, masks, columns_, values_, lost_):
    """The same where the whole chain repeats: one run at a time, which begins anew at its end."""
    head, runs, found = words_of(head_), words_of(runs_), words_of(found_)
    columns, values, lost = words_of(columns_), words_of(values_), words_of(lost_)
    count, links = len(masks), head[ChainHead.LINKS]
    for event in range(head[ChainHead.CURSOR], count):
        link = head[ChainHead.WAITS_FOR]
        if (masks[event] >> link) & 1 == 0:
            continue
        if link > 0 and head[ChainHead.OTHERS + link] != NONE:
            is_lost = (runs[RunRow.LOST] >> link) & 1
            own = values[columns[link] * count + event]
            if is_lost or own != runs[RunRow.EVENTS + links + link]:
                continue
        if head[ChainHead.FOUND] == head[ChainHead.MOST_FOUND]:
            head[ChainHead.CURSOR] = event
            return ChainStatus.MORE_FOUND
        if link == 0:
            begin(runs, 0, links)
        bind(head, runs, 0, link, links, event, count, columns, values, lost, NONE, values)
        head[ChainHead.WAITS_FOR] = link + 1
        if link + 1 == links:
            match(head, runs, found, 0, links, event, 0)
            head[ChainHead.WAITS_FOR] = 0
            runs[RunRow.LOST] = NONE
    head[ChainHead.CURSOR] = count
    return ChainStatus.DONE


# -- one run for each event: contexts --------------------------------------------------------------


class ChainContext(Declared):
    """What noise does to the runs of a value, and how many there may be."""

    CHRONICLE = auto()
    IMMEDIATE = auto()
    STRICT = auto()


@inlined
def clear(head, runs, table, entry, links):
    """Ends all runs that wait for a value."""
    for link in range(1, links):
        run = take_first(runs, table, list_of(entry, link))
        while run != NONE:
            end(head, runs, run)
            run = take_first(runs, table, list_of(entry, link))


@inlined
def link_of(mask, links):
    """The one link that an event satisfies; beyond them all, it is noise."""
    for link in range(links):
        if (mask >> link) & 1:
            return link
    return links


@inlined
def begin_with(head, runs, table, event, value, links):
    run = free_run(head, runs, links)
    begin(runs, run, links)
    runs[run + RunRow.EVENTS] = head[ChainHead.BASE] + event
    for link in range(1, links):
        runs[run + RunRow.EVENTS + links + link] = value
    append(runs, table, list_of(claimed(head, table, value), 1), run)


@inlined
def advance(head, runs, table, found, run, entry, link, links, event):
    runs[run + RunRow.EVENTS + link] = head[ChainHead.BASE] + event
    if link < links - 1:
        append(runs, table, list_of(entry, link + 1), run)
    else:
        match(head, runs, found, run, links, event, 0)
        end(head, runs, run)


@entry(types.int64(WORDS, WORDS, WORDS, WORDS, COLUMN, COLUMN, types.int64))
def follow_context(head_, runs_, table_, found_, masks, values_, context):
    """Takes the events of a batch where each advances one run at most, the oldest that waits for it.

    All events have one key, a column of `values`; without any there is one for all.
    """
    head, runs, table, found = words_of(head_), words_of(runs_), words_of(table_), words_of(found_)
    values = words_of(values_)
    links, has_key = head[ChainHead.LINKS], len(values_) > 0
    for event in range(head[ChainHead.CURSOR], len(masks)):
        mask = masks[event]
        if mask == 0:
            continue
        head[ChainHead.CURSOR] = event
        status = room_for(head, links, mask)
        if status != ChainStatus.DONE:
            return status
        value = values[event] if has_key else 0
        link, run = link_of(mask, links), NONE
        entry = entry_of(head, table, value)
        if table[entry + ValueEntry.IS_USED] != NONE:
            if 0 < link < links:
                run = take_first(runs, table, list_of(entry, link))
            if run != NONE:
                advance(head, runs, table, found, run, entry, link, links, event)
            elif context == ChainContext.STRICT or (
                context == ChainContext.IMMEDIATE and link != 0
            ):
                clear(head, runs, table, entry, links)
        if link == 0:
            begin_with(head, runs, table, event, value, links)
    head[ChainHead.CURSOR] = len(masks)
    return ChainStatus.DONE


# -- one run for each key: whole chains that repeat, each key for itself -----------------------------


@entry(types.int64(WORDS, WORDS, WORDS, WORDS, COLUMN, COLUMN))
def follow_each(head_, runs_, table_, found_, masks, values_):
    """Takes the events of a batch where each key has one run, which begins anew at its end."""
    head, runs, table, found = words_of(head_), words_of(runs_), words_of(table_), words_of(found_)
    values, links = words_of(values_), head[ChainHead.LINKS]
    for event in range(head[ChainHead.CURSOR], len(masks)):
        mask = masks[event]
        if mask == 0:
            continue
        head[ChainHead.CURSOR] = event
        status = room_for(head, links, mask)
        if status != ChainStatus.DONE:
            return status
        entry_ = entry_of(head, table, values[event])
        if table[entry_ + ValueEntry.IS_USED] == NONE:
            if mask & 1 == 0:
                continue
            entry_ = claimed(head, table, values[event])
        place = list_of(entry_, 1)
        run = table[place]
        link = 0 if run == NONE else runs[run + RunRow.ARMED]
        if (mask >> link) & 1 == 0:
            continue
        if run == NONE:
            run = table[place] = free_run(head, runs, links)
            begin(runs, run, links)
            runs[run + RunRow.LIST], runs[run + RunRow.NEXT] = place, NONE
            for later in range(1, links):
                runs[run + RunRow.EVENTS + links + later] = values[event]
        runs[run + RunRow.EVENTS + link] = head[ChainHead.BASE] + event
        runs[run + RunRow.ARMED] = link + 1  # what it waits for; no time limits it
        if link + 1 == links:
            match(head, runs, found, run, links, event, 0)
            end(head, runs, run)
            table[place] = NONE
    head[ChainHead.CURSOR] = len(masks)
    return ChainStatus.DONE


@inlined
def cut_list(head, runs, table, place):
    run, armed = table[place], head[ChainHead.ARMED] + 1
    newer = NONE
    while run != NONE and is_waiting(runs, run, place, armed):
        armed = runs[run + RunRow.ARMED]
        newer, run = run, runs[run + RunRow.NEXT]
    if newer == NONE:
        table[place] = NONE
    else:
        runs[newer + RunRow.NEXT] = NONE


@entry("void(int64[::1], int64[::1], int64[::1])")
def cut(head_, runs_, table_):
    """Ends all lists that time limits where their runs do."""
    head, runs, table = words_of(head_), words_of(runs_), words_of(table_)
    last = head[ChainHead.LINKS] - 1
    if not is_timed(head, last):
        return
    for place in range(list_of(0, last), len(table_), 1 << head[ChainHead.ENTRY_BITS]):
        if table[place] != NONE:
            cut_list(head, runs, table, place)


@entry("void(int64[::1], int64[::1], int64[::1], int64[::1])")
def enter(head_, runs_, lists_, table_):
    """Enters lists, of each its link and its first run, into an empty hash table of a known size."""
    head, runs, lists, table = words_of(head_), words_of(runs_), words_of(lists_), words_of(table_)
    links = head[ChainHead.LINKS]
    head[ChainHead.ENTRIES] = 0
    for place in range(0, len(lists_), 2):
        link, run = lists[place], lists[place + 1]
        found = list_of(claimed(head, table, awaited(head, runs, run, link, links)), link)
        table[found] = run
        first = run
        while run != NONE:
            runs[run + RunRow.LIST] = found
            run = runs[run + RunRow.NEXT]
            if run == first:  # a list whose word has its last run, which the first one follows
                run = NONE
