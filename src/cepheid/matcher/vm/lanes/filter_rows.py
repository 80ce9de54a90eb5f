"""Rows of many filters over the same events, event by event."""

from __future__ import annotations

from typing import Any

from cepheid.matcher.vm.jit import entry, part


@part
def _is_true(code: Any, event: Any, lows: Any, highs: Any, index_of: Any, place_of: Any) -> Any:
    index, place = index_of[code], place_of[code]
    return lows[index, event] <= place < highs[index, event]


@part
def _put(codes: Any, begin: Any, row: Any, code: Any) -> None:
    """Puts a row among those of its event, which are in order."""
    while row > begin and codes[row - 1] > code:
        codes[row] = codes[row - 1]
        row -= 1
    codes[row] = code


@entry(
    "void(int64[::1], int64[:, ::1], int64[:, ::1], int64[::1], int64[::1], int64[::1], int64[::1], "
    "int64[::1], int64[::1])"
)
def spread(
    events: Any,
    lows: Any,
    highs: Any,
    members: Any,
    begins: Any,
    index_of: Any,
    place_of: Any,
    places: Any,
    codes: Any,
) -> None:
    """Makes a row for each filter that is true of an event: the place of the event, and the code of the filter.

    The conditions of filters are in indexes: of each, those from a place to another one are true of an
    event. `members` are the filters of all indexes, each index from its begin on.
    """
    row = 0
    for event in range(len(events)):
        begin, count = row, 0
        for index in range(len(lows)):
            count += highs[index, event] - lows[index, event]
        # Few rows are put in order one by one; where there are many, all filters are asked in their order.
        if count * count > 4 * len(index_of):
            for code in range(len(index_of)):
                if _is_true(code, event, lows, highs, index_of, place_of):
                    codes[row] = code
                    row += 1
        else:
            for index in range(len(lows)):
                first = begins[index]
                for place in range(first + lows[index, event], first + highs[index, event]):
                    _put(codes, begin, row, members[place])
                    row += 1
        for number in range(begin, row):
            places[number] = events[event]


@entry(
    "void(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])",
)
def spread_in_order(
    events: Any, lows: Any, highs: Any, members: Any, places: Any, codes: Any
) -> None:
    """The same for a single index whose filters are in order."""
    row = 0
    for number in range(len(events)):
        event = events[number]
        for place in range(lows[number], highs[number]):
            codes[row] = members[place]
            places[row] = event
            row += 1
