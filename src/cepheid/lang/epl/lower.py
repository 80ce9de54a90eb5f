"""Turns what EPL names (windows, guards, timers, schedules, output rates) into nodes.

The parsers know only the shape of these things. Whether a name exists here, exists in other EPL
systems only, or has arguments that make no sense is decided here; a finding raises ProgramError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import NoReturn, TypeAlias

from cepheid.core.time import FIRST_INSTANT, LAST_INSTANT, Period, parse_instant
from cepheid.errors import ProgramError, Span, error, suggest
from cepheid.expr.tree import Expr, Literal
from cepheid.lang.common.periods import exact_period
from cepheid.pattern.schedule import RANGES, Schedule
from cepheid.pattern.tree import Interval, IntervalOf, Pattern, Repeat, Within, WithinOf
from cepheid.program.tree import (
    KeepAll,
    LengthBatch,
    LengthWindow,
    OutputRate,
    TimeBatch,
    TimeWindow,
    Window,
)

_BATCH_FLAGS = ("FORCE_UPDATE", "START_EAGER")
_OTHER_WINDOWS = frozenset(
    (
        *("expr", "expr_batch", "ext_timed", "ext_timed_batch", "firstevent", "firstlength"),
        *("firsttime", "firstunique", "groupwin", "intersect", "lastevent", "rank", "sort"),
        *("time_accum", "time_length_batch", "time_order", "time_to_live", "union", "unique"),
        *("correl", "derived", "linest", "merge", "size", "uni", "weighted_avg"),
    )
)

Mode: TypeAlias = OneOf["first", "last", "all", "snapshot"]


@dataclass(frozen=True, slots=True)
class Told:
    """A period of which events tell the amounts: `a.n min 30 sec`."""

    amounts: tuple[Expr, ...]
    units: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """A period where one was written, otherwise an expression."""

    value: Expr | Period | Told
    span: Span


@dataclass(frozen=True, slots=True)
class Named:
    """`time_batch(10 seconds, 0L)`; the name is lower case and without its namespace."""

    name: str
    arguments: tuple[Argument, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Steps:
    """One element of a schedule field: `*` (no ends), `*/step`, `low` or `low:high`.

    With a rule: `last`, `lastweekday`, `low weekday` or `low last`.
    """

    low: int | None = None
    high: int | None = None
    step: int | None = None
    rule: str | None = None


def _refuse(code: str, message: str, span: Span | None, hint: str | None = None) -> NoReturn:
    raise ProgramError(error(code, message, span, hint))


# Periods.


def _as_period(argument: Argument, what: str) -> Period:
    """A plain number counts seconds."""
    value = argument.value
    if isinstance(value, Period):
        return value
    if isinstance(value, Literal) and _is_number(value.value):
        return exact_period([(value.value, "seconds")], argument.span)  # type: ignore[list-item]
    hint = "write for example '3 seconds'"
    _refuse("bad-period", f"{what} takes a time period", argument.span, hint)


def _told(argument: Argument) -> Told | None:
    """The period if events tell it; a plain expression counts seconds."""
    value = argument.value
    if isinstance(value, Told):
        return value
    is_constant = isinstance(value, Period | Literal)
    return None if is_constant else Told((value,), ("seconds",))  # type: ignore[arg-type]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(argument: Argument) -> int | None:
    value = argument.value.value if isinstance(argument.value, Literal) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# Data windows.


def window(named: Named) -> Window:
    if named.name in WINDOWS:
        return WINDOWS[named.name](named)
    if named.name in _OTHER_WINDOWS:
        message = f"the data window '{named.name}' is not supported"
        _refuse("unsupported", message, named.span, f"data windows: {', '.join(WINDOWS)}")
    hint = suggest(named.name, WINDOWS, "data windows")
    _refuse("unknown-window", f"no data window '{named.name}'", named.span, hint)


def _time(named: Named) -> Window:
    (argument,) = _take(named, 1, "bad-window", "one time period")
    return TimeWindow(_window_period(named, argument), span=named.span)


def _time_batch(named: Named) -> Window:
    first, *options = _take(named, 3, "bad-window", "a time period and at most two options")
    length = _window_period(named, first)
    reference, flags = None, frozenset[str]()
    for option in options:
        number = _whole(option)
        if number is not None and reference is None and not flags:
            if not FIRST_INSTANT <= number * 1000 <= LAST_INSTANT:
                fact = "the reference of a time batch is outside the years 1 to 9999"
                _refuse("bad-window", fact, option.span, "milliseconds since 1970")
            reference = number
        elif reference is None and not flags and (text := _time_text(option)):
            reference = _reference(text, option.span)
        elif not flags:
            flags = _batch_flags(option)
        else:
            _refuse("bad-window", "time_batch takes its flags once, and last", option.span)
    return TimeBatch(
        length, reference, "FORCE_UPDATE" in flags, "START_EAGER" in flags, span=named.span
    )


def _time_text(option: Argument) -> str | None:
    """A text that begins as times do, and flags do not."""
    value = option.value.value if isinstance(option.value, Literal) else None
    return value if isinstance(value, str) and value[:1].isdigit() else None


def _reference(text: str, span: Span) -> int:
    """The milliseconds of '2026-01-01' or of a time on such a day."""
    try:
        instant = parse_instant(text)
    except ValueError as problem:
        _refuse("bad-window", str(problem), span, "write '2026-01-01' or '2026-01-01T06:00:00Z'")
    if instant % 1000:
        _refuse("bad-window", "a time batch begins at a whole millisecond", span)
    return instant // 1000


def _batch_flags(option: Argument) -> frozenset[str]:
    value = option.value.value if isinstance(option.value, Literal) else None
    words = value.split(",") if isinstance(value, str) else []
    flags = frozenset(word.strip().upper() for word in words)
    if not flags or not flags <= {*_BATCH_FLAGS}:
        hint = "flags: 'FORCE_UPDATE', 'START_EAGER', 'FORCE_UPDATE, START_EAGER'"
        _refuse("bad-window", "this is no option of time_batch", option.span, hint)
    return flags


def _window_period(named: Named, argument: Argument) -> Period:
    found = _as_period(argument, f"the data window '{named.name}'")
    if found.is_zero:
        _refuse("bad-window", f"a {named.name} window of no time keeps nothing", argument.span)
    return found


def _length(named: Named) -> Window:
    return LengthWindow(_window_size(named), span=named.span)


def _length_batch(named: Named) -> Window:
    return LengthBatch(_window_size(named), span=named.span)


def _window_size(named: Named) -> int:
    (argument,) = _take(named, 1, "bad-window", "one number of rows")
    size = _whole(argument)
    if size is None or size < 1:
        message = f"the size of a {named.name} window is a whole number from 1"
        _refuse("bad-window", message, argument.span)
    return size


def _keepall(named: Named) -> Window:
    if named.arguments:
        _refuse("bad-window", "keepall takes no arguments", named.span)
    return KeepAll(span=named.span)


WINDOWS: dict[str, Callable[[Named], Window]] = {
    "keepall": _keepall,
    "length": _length,
    "length_batch": _length_batch,
    "time": _time,
    "time_batch": _time_batch,
}


def _take(named: Named, most: int, code: str, what: str) -> tuple[Argument, ...]:
    """The arguments, at least one and not too many."""
    if not 1 <= len(named.arguments) <= most:
        count = len(named.arguments)
        _refuse(code, f"{named.name} takes {what}, not {count} arguments", named.span)
    return named.arguments


# Guards and timers.


def guard(child: Pattern, named: Named, span: Span) -> Pattern:
    if named.name == "timer:within":
        (argument,) = _take(named, 1, "bad-period", "one time period")
        return _within(child, named, argument, None, span)
    if named.name == "timer:withinmax":
        first, *rest = _take(named, 2, "bad-period", "a time period and a count")
        most = _whole(rest[0]) if rest else None
        if most is None or most < 0:
            message = "timer:withinmax takes a count of matches after its period"
            _refuse("bad-period", message, named.span)
        return _within(child, named, first, most, span)
    known = ("timer:within", "timer:withinmax")
    _refuse("unsupported", f"no guard '{named.name}'", named.span, suggest(named.name, known))


def _within(
    child: Pattern, named: Named, argument: Argument, most: int | None, span: Span
) -> Pattern:
    told = _told(argument)
    if told is not None:
        return WithinOf(child, told.amounts, told.units, most, span=span)
    return Within(child, _as_period(argument, named.name), most, span=span)


def timer(named: Named) -> Pattern:
    if named.name == "timer:interval":
        (argument,) = _take(named, 1, "bad-period", "one time period")
        told = _told(argument)
        if told is not None:
            return IntervalOf(told.amounts, told.units, span=named.span)
        return Interval(_as_period(argument, named.name), span=named.span)
    known = ("timer:at", "timer:interval")
    _refuse("unsupported", f"no timer '{named.name}'", named.span, suggest(named.name, known))


def schedule(fields: Sequence[tuple[Steps, ...]], zone: str | None, span: Span) -> Schedule:
    """The fields of `timer:at`, in their written order."""
    if not 5 <= len(fields) <= 8:
        message = f"timer:at takes 5 to 8 fields and a time zone, not {len(fields)} fields"
        hint = (
            "minutes, hours, days of the month, months, days of the week"
            "[, seconds[, milliseconds[, microseconds]]][, 'zone']"
        )
        _refuse("bad-schedule", message, span, hint)
    try:
        named = dict(zip(RANGES, fields, strict=False))
        values = {name: _field(name, steps) for name, steps in named.items()}
        rules = [
            rule
            for name, steps in named.items()
            if values[name] is not None
            for step in steps
            for rule in _rule(name, step)
        ]
        return Schedule(**values, **_joined(rules), zone=zone)  # type: ignore[arg-type]
    except ValueError as fact:
        _refuse("bad-schedule", str(fact), span)


def _field(name: str, elements: tuple[Steps, ...]) -> frozenset[int] | None:
    if Steps() in elements:
        return None
    found: set[int] = set()
    for element in elements:
        found |= set() if element.rule else _values(name, element)
    if name == "weekdays" and Steps(rule="last") in elements:
        found.add(RANGES[name][1])  # without a number, the last day of the week
    return frozenset(found)


def _rule(name: str, element: Steps) -> Iterator[tuple[str, int | None]]:
    """The field of a schedule that a rule belongs to, with its number."""
    if element.rule is None or (name == "weekdays" and element == Steps(rule="last")):
        return
    key = (name, element.rule, element.low is not None)
    if key not in _SCHEDULE_RULES:
        raise ValueError(f"'{element.rule}' does not stand so in the {name}")
    yield _SCHEDULE_RULES[key], element.low


_SCHEDULE_RULES = {
    ("days", "last", False): "last_day",
    ("days", "lastweekday", False): "last_working_day",
    ("days", "weekday", True): "working_days",
    ("weekdays", "last", True): "last_weekdays",
}


def _joined(rules: Sequence[tuple[str, int | None]]) -> dict[str, bool | frozenset[int]]:
    numbers: dict[str, list[int]] = {}
    for rule, number in rules:
        numbers.setdefault(rule, []).extend([] if number is None else [number])
    return {rule: frozenset(found) if found else True for rule, found in numbers.items()}


def _values(name: str, element: Steps) -> set[int]:
    low, high = RANGES[name]
    if element.step is not None:
        if element.step < 1:
            raise ValueError(f"the step of {name} is {element.step}, not at least 1")
        # Multiples of the step, so that `*/2` in the days of a month means the even ones.
        return {value for value in range(low, high + 1) if value % element.step == 0}
    start, end = element.low or 0, element.high or 0
    if start > end:
        raise ValueError(f"the range {start}:{end} of {name} is empty")
    # Both ends stand for the range, so that a huge one is refused without being written out.
    if low <= start and end <= high:
        return set(range(start, end + 1))
    return {start, end}


# Repeats.


def repeat(
    child: Pattern, bounds: tuple[int | None, int | None], until: Pattern | None, span: Span
) -> Pattern:
    low, high = bounds
    fact = _impossible(low, high, ends=until is not None)
    if fact:
        hint = None
        if fact.endswith("until"):
            hint = "write [n] for an exact count, or [m:n] A until B"
        _refuse("impossible-repeat", fact, span, hint)
    return Repeat(child, low, high, until, span=span)


def _impossible(low: int | None, high: int | None, *, ends: bool) -> str | None:
    if (low is not None and low < 0) or (high is not None and high < 0):
        return "a repeat counts from zero up"
    if high == 0:
        return "a repeat of zero times never matches"
    if low is not None and high is not None and low > high:
        return f"a repeat of at least {low} and at most {high} times never matches"
    if low != high and not ends:
        return "a repeat with a range of counts needs an until"
    return None


# Output rates.


def output_rate(
    *,
    mode: Mode | None,
    after: int | Period | None,
    every: int | Period | Schedule | None,
    when: Expr | None,
    span: Span,
) -> OutputRate:
    if when is not None and (mode or after is not None):
        what = f"'{mode}'" if mode else "'after'"
        _refuse("unsupported", f"{what} together with 'output when' is not supported", span)
    if every == 0 or (isinstance(every, Period) and every.is_zero):
        _refuse("bad-output", "output every nothing would never end", span)
    return OutputRate(mode=mode, every=every, after=after, when=when, span=span)
