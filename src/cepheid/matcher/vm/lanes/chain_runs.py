"""The runs of one chain over a batch of events.

A run waits for the event of its next link, in a list with all others that wait there for the same
value, the newest first; each list has an entry in a hash table. Where time limits the last link, the
runs that wait for it are also in a queue: all have the same period, so they fall due in the order of
their arming. Everything lies in four arrays of words: single words, runs, hash table, matches.

With many runs, what takes time is to reach memory that was not used for long. So a run whose time is
up leaves the queue, but its list is not looked for: that may go on to runs that are over, or whose
place another run has now. Such an end of a list is told by what stands there (`is_waiting`), as the
older runs of a list are over before the newer ones.
"""

from __future__ import annotations

from cepheid.matcher.vm.jit import entry, inlined, words_of
from cepheid.matcher.vm.memory.layout import NONE

# Single words; behind them, of each link the one whose event has the value that it waits for.
(
    LINKS,
    PERIOD,  # of the last link; NONE: it may take any time
    IS_ABSENCE,
    CURSOR,  # the next event of the batch
    BASE,  # the number of its first event
    FREE,  # the first run that is free again
    FRESH,  # the first run that was never used; so are all behind it
    MOST_RUNS,
    LIVE,
    FIRST_DUE,
    LAST_DUE,
    ARMED,  # how many runs have ever been armed
    ENTRIES,  # in use in the hash table
    SIZE,  # of the hash table: a power of two
    FOUND,  # matches
    MOST_FOUND,
    WAITS_FOR,  # the link that the only run waits for, where the whole chain repeats
    OTHERS,
) = range(18)

# A run; then for each link the number of its event, and the value that it waits for there.
(
    R_NEXT,
    R_ENTRY,  # NONE: it waits for null, which equals nothing
    R_DUE,
    R_LATER,
    R_EARLIER,
    R_ARMED,
    R_LOST,  # a bit for each link where it waits for null; NONE: the run is free
    R_EVENTS,
) = range(8)

# An entry of the hash table; four words of which none lies in another line of the cache.
E_LINK, E_VALUE, E_FIRST, E_WIDTH = 0, 1, 2, 4

# A match: the numbers of its events, then either the place in the batch of the event that
# completed it, or when it fell due and as which.
M_BEHIND = 2

DONE, MORE_RUNS, MORE_ENTRIES, MORE_FOUND = range(4)


# -- those that wait for the same value ------------------------------------------------------------


@inlined
def place_of(head, table, link, value):
    """The entry of a value, or the free one where it belongs."""
    mask = head[SIZE] - 1
    mixed = (value * 31 + link) * 0x9E3779B97F4A7C1
    place = (mixed ^ (mixed >> 32)) & mask
    while True:
        found = place * E_WIDTH
        if table[found + E_LINK] == NONE:
            return found
        if table[found + E_VALUE] == value and table[found + E_LINK] == link:
            return found
        place = (place + 1) & mask


@inlined
def wait(head, runs, table, run, link, links):
    """The run waits for the event of a link."""
    if (runs[run + R_LOST] >> link) & 1:
        runs[run + R_ENTRY] = NONE
        return
    value = 0
    if head[OTHERS + link] != NONE:
        value = runs[run + R_EVENTS + links + link]
    found = place_of(head, table, link, value)
    if table[found + E_LINK] == NONE:
        table[found + E_LINK] = link
        table[found + E_VALUE] = value
        table[found + E_FIRST] = NONE
        head[ENTRIES] += 1
    runs[run + R_ENTRY] = found
    runs[run + R_NEXT] = table[found + E_FIRST]
    table[found + E_FIRST] = run


@inlined
def is_timed(head, link):
    """Whether runs that wait for a link may be over before its event comes."""
    return link == head[LINKS] - 1 and head[PERIOD] != NONE


@inlined
def is_waiting(runs, run, place, armed):
    """Whether a run is still in a list that time limits, behind one that was armed as such."""
    if runs[run + R_LOST] == NONE or runs[run + R_ENTRY] != place:
        return False
    return runs[run + R_ARMED] < armed


@inlined
def oldest(head, runs, table, place):
    """Takes all runs out of a list; they follow each other from the returned one, the oldest, on."""
    run = table[place + E_FIRST]
    table[place + E_FIRST] = NONE
    checks = is_timed(head, table[place + E_LINK])
    newer, armed = NONE, head[ARMED] + 1
    while run != NONE and (not checks or is_waiting(runs, run, place, armed)):
        armed = runs[run + R_ARMED]
        older = runs[run + R_NEXT]
        runs[run + R_NEXT] = newer
        newer, run = run, older
    return newer


# -- the queue of those that time limits -----------------------------------------------------------


@inlined
def arm(head, runs, run, instant):
    runs[run + R_DUE] = instant + head[PERIOD]
    head[ARMED] += 1
    runs[run + R_ARMED] = head[ARMED]
    earlier = head[LAST_DUE]
    runs[run + R_EARLIER] = earlier
    runs[run + R_LATER] = NONE
    head[LAST_DUE] = run
    if earlier == NONE:
        head[FIRST_DUE] = run
    else:
        runs[earlier + R_LATER] = run


@inlined
def disarm(head, runs, run):
    earlier, later = runs[run + R_EARLIER], runs[run + R_LATER]
    if earlier == NONE:
        head[FIRST_DUE] = later
    else:
        runs[earlier + R_LATER] = later
    if later == NONE:
        head[LAST_DUE] = earlier
    else:
        runs[later + R_EARLIER] = earlier


# -- runs ------------------------------------------------------------------------------------------


@inlined
def free_run(head, runs, links):
    """A run that nobody uses; there must be one."""
    run = head[FREE]
    if run == NONE:
        run = head[FRESH]
        width = R_EVENTS + 2 * links
        head[FRESH] += width
        for word in range(run, run + width):
            runs[word] = NONE
    else:
        head[FREE] = runs[run + R_NEXT]
    head[LIVE] += 1
    return run


@inlined
def end(head, runs, run):
    runs[run + R_LOST] = NONE
    runs[run + R_NEXT] = head[FREE]
    head[FREE] = run
    head[LIVE] -= 1


@inlined
def begin(runs, run, links):
    runs[run + R_LOST] = 0
    for link in range(links):
        runs[run + R_EVENTS + link] = NONE


@inlined
def bind(head, runs, run, link, links, event, count, given, lost):
    """The event of a link is here; later links may wait for values of it."""
    runs[run + R_EVENTS + link] = head[BASE] + event
    for later in range(link + 1, links):
        if head[OTHERS + later] == link:
            runs[run + R_EVENTS + links + later] = given[later * count + event]
            if (lost[event] >> later) & 1:
                runs[run + R_LOST] |= 1 << later


@inlined
def go_on(head, runs, table, run, link, links, instant):
    """The run waits for its next link, or ends where that can never come."""
    is_last = link == links - 1
    if (runs[run + R_LOST] >> link) & 1 and not (is_last and head[IS_ABSENCE]):
        end(head, runs, run)
        return
    wait(head, runs, table, run, link, links)
    if is_last and head[PERIOD] != NONE:
        arm(head, runs, run, instant)


@inlined
def match(head, runs, found, run, links, one, other):
    place = head[FOUND] * (links + M_BEHIND)
    for link in range(links):
        found[place + link] = runs[run + R_EVENTS + link]
    found[place + links] = one
    found[place + links + 1] = other
    head[FOUND] += 1


@inlined
def let_time_pass(head, runs, found, instant):
    """Runs whose time is up: they end, or match where the last event had to be absent."""
    while head[FIRST_DUE] != NONE and runs[head[FIRST_DUE] + R_DUE] <= instant:
        run = head[FIRST_DUE]
        if head[IS_ABSENCE]:
            if head[FOUND] == head[MOST_FOUND]:
                return MORE_FOUND
            match(head, runs, found, run, head[LINKS], runs[run + R_DUE], runs[run + R_ARMED])
        disarm(head, runs, run)
        end(head, runs, run)
    return DONE


@inlined
def room_for(head, links, mask):
    """What there must be more of before an event with such a mask can be taken."""
    last = links - 1
    if head[LIVE] == head[MOST_RUNS]:
        return MORE_RUNS
    moved = head[LIVE] if last > 1 else 0
    if 2 * (head[ENTRIES] + moved + 1) > head[SIZE]:
        return MORE_ENTRIES
    if (mask >> last) & 1 and head[MOST_FOUND] - head[FOUND] <= head[LIVE]:
        return MORE_FOUND
    return DONE


@inlined
def take(head, runs, table, found, mask, instant, event, links, count, own, given, lost):
    """The event is the one that runs wait for, those at the end of the chain first; then it begins
    a run, which does not hear it again."""
    last = links - 1
    for link in range(last, 0, -1):
        if (mask >> link) & 1 == 0:
            continue
        value = 0 if head[OTHERS + link] == NONE else own[link * count + event]
        place = place_of(head, table, link, value)
        if table[place + E_LINK] == NONE:
            continue
        run = oldest(head, runs, table, place)
        while run != NONE:
            following = runs[run + R_NEXT]
            if link < last:
                bind(head, runs, run, link, links, event, count, given, lost)
                go_on(head, runs, table, run, link + 1, links, instant)
            else:
                if head[PERIOD] != NONE:
                    disarm(head, runs, run)
                if not head[IS_ABSENCE]:
                    runs[run + R_EVENTS + last] = head[BASE] + event
                    match(head, runs, found, run, links, event, 0)
                end(head, runs, run)
            run = following
    if mask & 1:
        run = free_run(head, runs, links)
        begin(runs, run, links)
        bind(head, runs, run, 0, links, event, count, given, lost)
        go_on(head, runs, table, run, 1, links, instant)


@inlined
def follow_links(head, runs, table, found, links, masks, instants, own, given, lost):
    """Takes events from the cursor on, of a chain with so many links."""
    count = len(masks)
    for event in range(head[CURSOR], count):
        head[CURSOR] = event
        instant = instants[event]
        if head[FIRST_DUE] != NONE and let_time_pass(head, runs, found, instant) != DONE:
            return MORE_FOUND
        mask = masks[event]
        if mask == 0:
            continue
        status = room_for(head, links, mask)
        if status != DONE:
            return status
        take(head, runs, table, found, mask, instant, event, links, count, own, given, lost)
    head[CURSOR] = count
    return DONE


@entry(
    "int64(int64[::1], int64[::1], int64[::1], int64[::1], "
    "int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])"
)
def follow(head_, runs_, table_, found_, masks, instants, own_, given_, lost_):
    """Takes the events of a batch from the cursor on; `own` and `given` have a row for each link.

    The mask of an event has a bit for each link that it satisfies on its own.
    """
    head, runs, table, found = words_of(head_), words_of(runs_), words_of(table_), words_of(found_)
    own, given, lost = words_of(own_), words_of(given_), words_of(lost_)
    if head[LINKS] == 2:  # most have two; where that is known, no loop is left
        return follow_links(head, runs, table, found, 2, masks, instants, own, given, lost)
    return follow_links(head, runs, table, found, head[LINKS], masks, instants, own, given, lost)


@entry("int64(int64[::1], int64[::1], int64[::1], int64)")
def pass_time(head_, runs_, found_, instant):
    head, runs, found = words_of(head_), words_of(runs_), words_of(found_)
    return let_time_pass(head, runs, found, instant)


@entry("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def follow_one(head_, runs_, found_, masks, own_, given_, lost_):
    """The same where the whole chain repeats: one run at a time, which begins anew at its end."""
    head, runs, found = words_of(head_), words_of(runs_), words_of(found_)
    own, given, lost = words_of(own_), words_of(given_), words_of(lost_)
    count, links = len(masks), head[LINKS]
    for event in range(head[CURSOR], count):
        link = head[WAITS_FOR]
        if (masks[event] >> link) & 1 == 0:
            continue
        if link > 0 and head[OTHERS + link] != NONE:
            is_lost = (runs[R_LOST] >> link) & 1
            if is_lost or own[link * count + event] != runs[R_EVENTS + links + link]:
                continue
        if head[FOUND] == head[MOST_FOUND]:
            head[CURSOR] = event
            return MORE_FOUND
        if link == 0:
            begin(runs, 0, links)
        bind(head, runs, 0, link, links, event, count, given, lost)
        head[WAITS_FOR] = link + 1
        if link + 1 == links:
            match(head, runs, found, 0, links, event, 0)
            head[WAITS_FOR] = 0
            runs[R_LOST] = NONE
    head[CURSOR] = count
    return DONE


@inlined
def cut_list(head, runs, table, place):
    run, armed = table[place + E_FIRST], head[ARMED] + 1
    newer = NONE
    while run != NONE and is_waiting(runs, run, place, armed):
        armed = runs[run + R_ARMED]
        newer, run = run, runs[run + R_NEXT]
    if newer == NONE:
        table[place + E_FIRST] = NONE
    else:
        runs[newer + R_NEXT] = NONE


@entry("int64(int64[::1], int64[::1], int64[::1])")
def cut(head_, runs_, table_):
    """Ends all lists where their runs do; how many are not empty."""
    head, runs, table = words_of(head_), words_of(runs_), words_of(table_)
    filled = 0
    for place in range(0, len(table_), E_WIDTH):
        if table[place + E_LINK] == NONE or table[place + E_FIRST] == NONE:
            continue
        if is_timed(head, table[place + E_LINK]):
            cut_list(head, runs, table, place)
        if table[place + E_FIRST] != NONE:
            filled += 1
    return filled


@entry("void(int64[::1], int64[::1], int64[::1], int64[::1])")
def rehash(head_, runs_, table_, fresh_):
    """Enters the lists that are not empty, and cut, into a fresh hash table of a known size."""
    head, runs, table, fresh = words_of(head_), words_of(runs_), words_of(table_), words_of(fresh_)
    head[ENTRIES] = 0
    for place in range(0, len(table_), E_WIDTH):
        if table[place + E_LINK] == NONE or table[place + E_FIRST] == NONE:
            continue
        found = place_of(head, fresh, table[place + E_LINK], table[place + E_VALUE])
        for word in range(E_WIDTH):
            fresh[found + word] = table[place + word]
        head[ENTRIES] += 1
        run = fresh[found + E_FIRST]
        while run != NONE:
            runs[run + R_ENTRY] = found
            run = runs[run + R_NEXT]
