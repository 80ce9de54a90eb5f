"""Tokens of one automaton over a batch of events, under a context.

A token is a partial match: its state, when its zones end, and the values of its parameters. All tokens of a
key follow each other in a list, the oldest first; a hash table has the first and the last of each list. What
events do is a program of words, `rules`. For each state there are 1 + 2 * types places in it, NONE where there
is nothing: of the zones that limit it, then for each type of event of the step that one makes, and of the
losses that it brings:

    zones     count, then each: zone, what is left when it is over
    step      a `StepRow`, then: zones that must have held, slots and columns to compare, slots and columns
              to bind, zones to enter with their periods
    losses    count, then each: what is left, count, slots and columns to compare

What is left is a state, NONE where nothing is; states from FINALS on are complete matches, of each of which
`rules` have a word with the slots that are not bound.
"""

from __future__ import annotations

from enum import auto

from numba import types

from cepheid.matcher.vm.jit import COLUMN, WORDS, entry, inlined, words_of
from cepheid.matcher.vm.lanes.value_table import ValueEntry, claim, entry_in
from cepheid.matcher.vm.memory.declared import Declared
from cepheid.matcher.vm.memory.layout import NONE


class TokenHead(Declared):
    """Single words."""

    TYPES = auto()
    ZONES = auto()
    SLOTS = auto()
    FINALS = auto()
    UNBOUND = auto()  # where the words of complete matches stand in the rules
    KEY = auto()  # the column of the key; NONE: all events have the same
    CONTEXT = auto()
    CURSOR = auto()  # the next event of the batch
    FREE = auto()  # the first token that is free again
    FRESH = auto()  # the first one that was never used; so are all behind it
    MOST_TOKENS = auto()
    LIVE = auto()
    ENTRIES = auto()  # in use in the hash table
    SIZE = auto()  # of the hash table: a power of two
    FOUND = auto()  # matches
    MOST_FOUND = auto()


class TokenRow(Declared):
    """A token; then the end of each zone, and the value in each slot."""

    NEXT = auto()
    STATE = auto()  # NONE: the token is free
    KEY = auto()
    NULLS = auto()  # a bit for each slot that holds null, or nothing yet
    REST = auto()


class StepRow(Declared):
    IS_USED = auto()  # whether a token takes the event, and
    TARGET = auto()  # what is left of it then
    IS_USED_EARLY = auto()  # the same where a zone must hold on
    TARGET_EARLY = auto()
    HELD = auto()  # counts of what follows
    COMPARED = auto()
    BOUND = auto()
    ENTERED = auto()
    REST = auto()


class MatchRow(Declared):
    """A match; then its values."""

    PLACE = auto()  # of the event that completed it, in the batch
    NULLS = auto()
    REST = auto()


class TokenContext(Declared):
    CHRONICLE = auto()
    IMMEDIATE = auto()
    STRICT = auto()


class TokenStatus(Declared):
    """How the events of a batch were taken."""

    DONE = auto()
    MORE_ROOM = auto()
    MORE_FOUND = auto()


ENTRY_BITS = 2  # of the hash table: two words for the first and the last token
FIRST, LAST = int(ValueEntry.LISTS), int(ValueEntry.LISTS) + 1


# -- the lists of tokens ---------------------------------------------------------------------------


@inlined
def append(tokens, table, place, token):
    tokens[token + TokenRow.NEXT] = NONE
    last = table[place + LAST]
    if last == NONE:
        table[place + FIRST] = token
    else:
        tokens[last + TokenRow.NEXT] = token
    table[place + LAST] = token


@inlined
def take_out(tokens, table, place, earlier, later):
    """Leaves out the token between two others."""
    if earlier == NONE:
        table[place + FIRST] = later
    else:
        tokens[earlier + TokenRow.NEXT] = later
    if later == NONE:
        table[place + LAST] = earlier


@inlined
def free_token(head, tokens):
    """A token that nobody uses; there must be one."""
    token = head[TokenHead.FREE]
    if token == NONE:
        token = head[TokenHead.FRESH]
        head[TokenHead.FRESH] += TokenRow.REST + head[TokenHead.ZONES] + head[TokenHead.SLOTS]
    else:
        head[TokenHead.FREE] = tokens[token + TokenRow.NEXT]
    head[TokenHead.LIVE] += 1
    return token


@inlined
def end(head, tokens, token):
    tokens[token + TokenRow.STATE] = NONE
    tokens[token + TokenRow.NEXT] = head[TokenHead.FREE]
    head[TokenHead.FREE] = token
    head[TokenHead.LIVE] -= 1


@inlined
def clear(head, tokens, table, place):
    """Ends all tokens of a list."""
    token = table[place + FIRST]
    table[place + FIRST] = table[place + LAST] = NONE
    while token != NONE:
        later = tokens[token + TokenRow.NEXT]
        end(head, tokens, token)
        token = later


# -- what events and time do to a token -----------------------------------------------------------


@inlined
def rule_of(head, rules, state, place):
    return rules[state * (1 + 2 * head[TokenHead.TYPES]) + place]


@inlined
def after_time(head, rules, tokens, token, instant):
    """The state of a token at an instant, once all zones that are over have taken their ways."""
    state = tokens[token + TokenRow.STATE]
    place = rule_of(head, rules, state, 0)
    while place != NONE:
        is_left = True
        for one in range(place + 1, place + 1 + 2 * rules[place], 2):
            if is_left and instant > tokens[token + TokenRow.REST + rules[one]]:
                state, is_left = rules[one + 1], False
        place = NONE if is_left or state == NONE else rule_of(head, rules, state, 0)
    return state


@inlined
def has_values(head, tokens, token, rules, place, count, event, events, values, nulls):
    """Whether an event has the values of some slots: null equals nothing."""
    slots = token + TokenRow.REST + head[TokenHead.ZONES]
    for one in range(place, place + 2 * count, 2):
        slot, column = rules[one], rules[one + 1]
        if ((tokens[token + TokenRow.NULLS] >> slot) | (nulls[event] >> column)) & 1:
            return False
        if tokens[slots + slot] != values[column * events + event]:
            return False
    return True


@inlined
def outcome_of(tokens, token, rules, step, instant):
    """Where it stands what comes of a step."""
    held = step + StepRow.REST
    for one in range(held, held + rules[step + StepRow.HELD]):
        if instant < tokens[token + TokenRow.REST + rules[one]]:
            return step + StepRow.IS_USED_EARLY
    return step + StepRow.IS_USED


@inlined
def go(head, tokens, token, rules, step, instant, event, events, values, nulls):
    """A token that takes an event binds its values and enters zones."""
    zones = token + TokenRow.REST
    slots = zones + head[TokenHead.ZONES]
    begin = step + StepRow.REST + rules[step + StepRow.HELD] + 2 * rules[step + StepRow.COMPARED]
    middle = begin + 2 * rules[step + StepRow.BOUND]
    for one in range(begin, middle, 2):
        slot, column = rules[one], rules[one + 1]
        tokens[slots + slot] = values[column * events + event]
        is_null = (nulls[event] >> column) & 1
        tokens[token + TokenRow.NULLS] &= ~(1 << slot)
        tokens[token + TokenRow.NULLS] |= is_null << slot
    for one in range(middle, middle + 2 * rules[step + StepRow.ENTERED], 2):
        tokens[zones + rules[one]] = instant + rules[one + 1]


@inlined
def after_loss(head, tokens, token, rules, state, type, event, events, values, nulls):
    """What is left of a token to which an event happens."""
    place = rule_of(head, rules, state, 2 + 2 * type)
    while place != NONE:
        count, one, is_left = rules[place], place + 1, True
        while is_left and count > 0:
            compared = rules[one + 1]
            if has_values(
                head, tokens, token, rules, one + 2, compared, event, events, values, nulls
            ):
                state, is_left = rules[one], False
            one += 2 + 2 * compared
            count -= 1
        place = NONE if is_left or state == NONE else rule_of(head, rules, state, 2 + 2 * type)
    return state


@inlined
def match(head, tokens, token, rules, found, state, event):
    slots = head[TokenHead.SLOTS]
    place = head[TokenHead.FOUND] * (MatchRow.REST + slots)
    unbound = rules[head[TokenHead.UNBOUND] + state - head[TokenHead.FINALS]]
    found[place + MatchRow.PLACE] = event
    found[place + MatchRow.NULLS] = tokens[token + TokenRow.NULLS] | unbound
    values = token + TokenRow.REST + head[TokenHead.ZONES]
    for slot in range(slots):
        found[place + MatchRow.REST + slot] = tokens[values + slot]
    head[TokenHead.FOUND] += 1


# -- contexts --------------------------------------------------------------------------------------


@inlined
def advance(head, tokens, table, rules, found, place, type, instant, event, events, values, nulls):
    """Whether a token of a list takes an event, the oldest that can; to all others it just happens."""
    is_taken, earlier, token = False, NONE, table[place + FIRST]
    while token != NONE:
        later = tokens[token + TokenRow.NEXT]
        state, is_taker = after_time(head, rules, tokens, token, instant), False
        if state != NONE and not is_taken:
            step = rule_of(head, rules, state, 1 + 2 * type)
            if step != NONE and has_values(
                head,
                tokens,
                token,
                rules,
                step + StepRow.REST + rules[step + StepRow.HELD],
                rules[step + StepRow.COMPARED],
                event,
                events,
                values,
                nulls,
            ):
                outcome = outcome_of(tokens, token, rules, step, instant)
                state = rules[outcome + 1]
                if rules[outcome]:
                    go(head, tokens, token, rules, step, instant, event, events, values, nulls)
                    is_taken = is_taker = True
        if state != NONE and not is_taker:
            state = after_loss(
                head, tokens, token, rules, state, type, event, events, values, nulls
            )
        if is_taker and state >= head[TokenHead.FINALS]:
            match(head, tokens, token, rules, found, state, event)
            state = NONE
        if state == NONE:
            take_out(tokens, table, place, earlier, later)
            end(head, tokens, token)
        else:
            tokens[token + TokenRow.STATE] = state
            earlier = token
        token = later
    return is_taken


@inlined
def begin(head, tokens, rules, found, key, type, instant, event, events, values, nulls):
    """The token that begins with an event and waits for others; NONE if there is none."""
    step = rule_of(head, rules, 0, 1 + 2 * type)
    token = free_token(head, tokens)
    tokens[token + TokenRow.KEY] = key
    tokens[token + TokenRow.NULLS] = NONE  # all bits
    go(head, tokens, token, rules, step, instant, event, events, values, nulls)
    state = rules[step + StepRow.TARGET]
    tokens[token + TokenRow.STATE] = state
    if state >= head[TokenHead.FINALS]:
        match(head, tokens, token, rules, found, state, event)
        end(head, tokens, token)
        return NONE
    return token


@inlined
def can_begin(head, rules, type):
    step = rule_of(head, rules, 0, 1 + 2 * type)
    return step != NONE and rules[step + StepRow.IS_USED] == 1


@entry(types.int64(WORDS, WORDS, WORDS, WORDS, COLUMN, COLUMN, COLUMN, COLUMN, COLUMN))
def follow(head_, tokens_, table_, found_, rules_, types_, instants, values_, nulls_):
    """Takes the events of a batch from the cursor on.

    `types` has for each event one more than the number of its type, 0 where it does not exist; `values`
    are those of some columns, one after the other, and `nulls` have a bit for each of them.
    """
    head, tokens, table = words_of(head_), words_of(tokens_), words_of(table_)
    found, rules = words_of(found_), words_of(rules_)
    values, nulls = words_of(values_), words_of(nulls_)
    events, context, column = len(types_), head[TokenHead.CONTEXT], head[TokenHead.KEY]
    for event in range(head[TokenHead.CURSOR], events):
        type = types_[event] - 1
        if type < 0:
            continue
        head[TokenHead.CURSOR] = event
        if (
            head[TokenHead.LIVE] == head[TokenHead.MOST_TOKENS]
            or 2 * (head[TokenHead.ENTRIES] + 1) > head[TokenHead.SIZE]
        ):
            return TokenStatus.MORE_ROOM
        if head[TokenHead.FOUND] == head[TokenHead.MOST_FOUND]:
            return TokenStatus.MORE_FOUND
        instant = instants[event]
        begins = can_begin(head, rules, type)
        key = 0 if column == NONE else values[column * events + event]
        if column != NONE and (nulls[event] >> column) & 1:  # it has nothing in common with others
            if begins:
                token = begin(
                    head, tokens, rules, found, key, type, instant, event, events, values, nulls
                )
                if token != NONE:
                    end(head, tokens, token)
            continue
        place = entry_in(table, head[TokenHead.SIZE], ENTRY_BITS, key)
        if table[place + ValueEntry.IS_USED] != NONE:
            is_taken = advance(
                head,
                tokens,
                table,
                rules,
                found,
                place,
                type,
                instant,
                event,
                events,
                values,
                nulls,
            )
            if is_taken:
                continue
            if context == TokenContext.STRICT or (context == TokenContext.IMMEDIATE and not begins):
                clear(head, tokens, table, place)
        if begins:
            token = begin(
                head, tokens, rules, found, key, type, instant, event, events, values, nulls
            )
            if token != NONE:
                head[TokenHead.ENTRIES] += claim(table, place, key)
                append(tokens, table, place, token)
    head[TokenHead.CURSOR] = events
    return TokenStatus.DONE


# -- all tokens ------------------------------------------------------------------------------------


@entry(types.int64(WORDS, WORDS, WORDS, COLUMN, types.int64, WORDS))
def list_live(head_, tokens_, table_, rules_, instant, places_):
    """Writes where the tokens stand that are left at an instant, list by list; gives their number."""
    head, tokens, table = words_of(head_), words_of(tokens_), words_of(table_)
    rules, places, count = words_of(rules_), words_of(places_), 0
    for place in range(0, head[TokenHead.SIZE] << ENTRY_BITS, 1 << ENTRY_BITS):
        token = NONE if table[place] == NONE else table[place + FIRST]
        while token != NONE:
            state = after_time(head, rules, tokens, token, instant)
            if state != NONE:
                tokens[token + TokenRow.STATE] = state
                places[count] = token
                count += 1
            token = tokens[token + TokenRow.NEXT]
    return count


@entry(types.void(WORDS, WORDS, WORDS))
def enter(head_, tokens_, table_):
    """Enters all tokens up to the first fresh one, in their order, into an empty hash table."""
    head, tokens, table = words_of(head_), words_of(tokens_), words_of(table_)
    width = TokenRow.REST + head[TokenHead.ZONES] + head[TokenHead.SLOTS]
    head[TokenHead.ENTRIES] = 0
    for token in range(0, head[TokenHead.FRESH], width):
        key = tokens[token + TokenRow.KEY]
        place = entry_in(table, head[TokenHead.SIZE], ENTRY_BITS, key)
        head[TokenHead.ENTRIES] += claim(table, place, key)
        append(tokens, table, place, token)
