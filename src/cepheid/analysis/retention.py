"""How long events matter to a statement, and whether its state is bounded.

An event *matters* for a span p if no row later than p after it depends on the event: without all
events of that type that are older than p, the rows from now on are the same. 0 is "not beyond its
own instant", None is "without bound". An event passes through the pattern, then its row through the
window, then its result through the output rate; their spans add up.

Patterns
- `every a=A` (also of `A or B`): 0; each event stands for itself.
- `every a=A -> P -> Q`: what A starts ends when the guards and timers of P and Q end it; for an
  event of P the spans of P and Q count, for one of Q that of Q. Where it is known how long a match
  can take (`matches.longest_run`), no event matters longer; but a guard tells when its time is up.
- Whatever else ends for good in a bounded time after the start, as under `timer:within` around the
  whole: that time. Not in a context, where a key's first event decides on the start.
- All others: without bound. A pattern without `every` matches once, and which events it took
  decides whether it is over. `every (A -> B)` begins anew after a match or a timeout, so each event
  moves the begin of all that follow. So does every-distinct: a repetition that an old event
  suppressed would itself suppress later ones, whether keys expire or not.

Windows
- None, and keepall: 0 without aggregates, else without bound.
- time: its period; length: without bound, unless only new rows of single events are shown: then 0.
- time_batch on a fixed grid (a reference, or START_EAGER outside contexts): two periods, one to
  wait and one to leave. Otherwise the first row fixes the grid: without bound. So does
  length_batch.
- `first`, `last`, `nth`, `avedev` and `stddev` of distinct values: without bound, because a value keeps the place of
  its first occurrence as long as others like it follow.
- Windows and aggregates of which nothing is known: without bound.

Output rates: counts, periods (they begin with the first row) and conditions see the whole past:
without bound. `output after` a period is 0 outside contexts.

The state is *bounded* if what is kept for one key (of a context) and one group does not grow with
the length of the stream, as long as the rate of events does not. It grows with runs that wait
without an end, `and` over repeated matches, `until` over tagged events, every-distinct without an
expiry, keepall, aggregates that keep their values where there is no window (median, stddev,
distinct), and rows that `output when` holds back.

What is not seen: that keys never come again, that an attribute grows with time, that an event is
sure to come. What is not counted: in which order the keys of a context speak at one instant (whose
timer was armed first, however long ago), and the rounding that a value leaves behind in a running
sum or average of floats after it has left the window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cepheid.analysis.lifetimes import (
    Bound,
    add,
    arms_at_start,
    growth,
    has_timer,
    is_memoryless,
    least,
    lifetime,
    longest,
    most,
    starts_independent_runs,
)
from cepheid.core.time import Period
from cepheid.expr.tree import Aggregate
from cepheid.expr.typing import aggregates_in
from cepheid.pattern.algebra import Form, Occurrence, Taken, Timed, Times
from cepheid.pattern.policy import Policy
from cepheid.pattern.schedule import Schedule
from cepheid.pattern.tree import (
    Every,
    EveryDistinct,
    FollowedBy,
    Pattern,
    Within,
    atoms,
    walk,
)
from cepheid.program.resolved import ResolvedStatement, Shape
from cepheid.program.tree import KeepAll, LengthBatch, LengthWindow, TimeBatch, TimeWindow, Window

_FORGET = (
    *("avedev", "avg", "count", "first", "last", "max", "median", "min", "nth", "stddev", "sum"),
)
_FORGET_DISTINCT = ("avg", "count", "max", "median", "min", "sum")
_KEEP_ONE = ("avg", "count", "first", "last", "max", "min", "nth", "sum")  # where rows never leave
_BOUNDED = TimeWindow | TimeBatch | LengthWindow | LengthBatch
_NOT_KNOWN = "nothing is known of how long a row stays in its window"


@dataclass(frozen=True, slots=True)
class Retention:
    spans: Mapping[str, Bound]  # per type that the statement consumes, in microseconds
    for_ever: Mapping[str, str]  # why, for the types without bound
    grows: str | None  # what the state keeps more and more of; None where it is bounded
    one_per: str | None  # what there is a state for each of

    @property
    def is_bounded(self) -> bool:
        return self.grows is None


def retention_of(statement: ResolvedStatement, longest_run: Bound = None) -> Retention:
    """`longest_run` is how long a match can take, where more is known than the pattern shows."""
    sources = _source_spans(statement, longest_run)
    after_source = add((_window_span(statement), _output_span(statement)))
    spans = {name: add((span, after_source)) for name, span in sources.items()}
    for_ever = {name: _reason(statement, sources[name]) for name in spans if spans[name] is None}
    return Retention(spans, for_ever, _growth(statement), _one_per(statement))


def needs_start(statement: ResolvedStatement) -> bool:
    """Whether its rows depend on when it starts, not only on its events."""
    window, output = statement.tree.window, statement.tree.output
    return (
        (statement.pattern is not None and arms_at_start(statement.pattern))
        or (isinstance(window, TimeBatch) and window.start_eager)
        or _is_unknown(window)
        or (output is not None and isinstance(output.after, Period))
    )


def speaks_with_time(statement: ResolvedStatement) -> bool:
    """Whether rows can come by time alone, without an event."""
    window, output = statement.tree.window, statement.tree.output
    return (
        (statement.pattern is not None and has_timer(statement.pattern))
        or isinstance(window, TimeBatch)
        or _is_unknown(window)
        or (isinstance(window, TimeWindow) and _shows_leaving(statement))
        or (output is not None and isinstance(output.every, Period | Schedule))
    )


def _is_unknown(window: Window | None) -> bool:
    return not isinstance(window, _BOUNDED | KeepAll | None)


# The source.


def _source_spans(statement: ResolvedStatement, longest_run: Bound) -> dict[str, Bound]:
    pattern = statement.pattern
    if pattern is None:
        return dict.fromkeys(statement.inputs, 0)
    if isinstance(pattern, FollowedBy) and starts_independent_runs(pattern):
        # A guard tells of the runs that it ends, whether they could have matched or not.
        has_guard = any(isinstance(part, Within) for part in walk(pattern))
        most_of_run = None if has_guard else longest_run
        return {n: least(span, most_of_run) for n, span in _spans_of_runs(pattern).items()}
    if is_memoryless(pattern):
        return dict.fromkeys(statement.inputs, 0)
    whole = lifetime(pattern) if statement.context is None else None
    return dict.fromkeys(statement.inputs, whole)


def _spans_of_runs(pattern: FollowedBy) -> dict[str, Bound]:
    first, *rest = pattern.parts
    spans: dict[str, Bound] = {}
    for part, span in [(first, add(map(lifetime, rest))), *_spans_of_parts(rest)]:
        for atom in atoms(part):
            spans[atom.event_type] = most((span, spans.get(atom.event_type, 0)))
    return spans


def _spans_of_parts(parts: list[Pattern]) -> Iterator[tuple[Pattern, Bound]]:
    """Each part with the time that it and the parts after it can take."""
    for place, part in enumerate(parts):
        yield part, add(map(lifetime, parts[place:]))


# The window.


def _window_span(statement: ResolvedStatement) -> Bound:
    if any(map(_remembers, _aggregates(statement))):
        return None
    match statement.tree.window:
        case None | KeepAll():
            return None if _aggregates(statement) else 0
        case TimeWindow(period):
            return longest(period) if _shows_leaving(statement) else 0
        case LengthWindow():
            return None if _shows_leaving(statement) else 0
        case TimeBatch() as batch:
            return 2 * longest(batch.period) if _is_on_grid(batch, statement) else None
    return None


def _remembers(aggregate: Aggregate) -> bool:
    """Whether a value may count on after it has left the window."""
    return aggregate.function not in (_FORGET_DISTINCT if aggregate.distinct else _FORGET)


def _shows_leaving(statement: ResolvedStatement) -> bool:
    """Whether it can be seen that a row leaves the window."""
    streams = {statement.tree.stream, statement.tree.insert_stream}
    return statement.shape is not Shape.ROW or streams != {"istream"}


def _is_on_grid(batch: TimeBatch, statement: ResolvedStatement) -> bool:
    """Whether the ends of its periods, and whether they are reported, do not depend on events."""
    if batch.start_eager:
        return statement.context is None
    return batch.reference is not None and not batch.force_update


def _aggregates(statement: ResolvedStatement) -> list[Aggregate]:
    exprs = [c.expr for c in statement.columns]
    exprs += [item.expr for item in statement.order_by]
    exprs += [statement.having] if statement.having is not None else []
    return [aggregate for expr in exprs for aggregate in aggregates_in(expr)]


# The rate.


def _output_span(statement: ResolvedStatement) -> Bound:
    output = statement.tree.output
    if output is None:
        return 0
    is_after_a_time = isinstance(output.after, Period) and output.every is None
    return 0 if is_after_a_time and statement.context is None else None


# Why there is no bound.


def _reason(statement: ResolvedStatement, source: Bound) -> str:
    if source is None:
        return _reason_of_pattern(statement)
    if _window_span(statement) is None:
        return _reason_of_window(statement)
    return "its output rate goes by all rows before"


def _reason_of_pattern(statement: ResolvedStatement) -> str:
    pattern = statement.pattern
    assert pattern is not None
    if isinstance(pattern, Occurrence):
        return "who uses an event depends on all partial matches before"
    if lifetime(pattern) is not None:
        return "the first event of a key decides when its time begins"
    kinds = {type(part) for part in walk(pattern)}
    if grows := growth(pattern):
        return grows
    if EveryDistinct in kinds:
        return "every-distinct goes by what came before"
    if Every in kinds:
        return "each match of `every` decides where the next one begins"
    return "without `every` it matches once, and the first events decide"


def _reason_of_window(statement: ResolvedStatement) -> str:
    for aggregate in filter(_remembers, _aggregates(statement)):
        if aggregate.function not in _FORGET:
            return f"nothing is known of how long {aggregate.function} remembers a value"
        return "distinct values keep the places of their first occurrences"
    match statement.tree.window:
        case None | KeepAll():
            return "no window ends what its aggregates count"
        case TimeBatch():
            return "its first row decides where its periods begin"
        case LengthWindow() | LengthBatch():
            return "its window goes by the number of rows"
    return _NOT_KNOWN


# The state.


def _growth_of_occurrence(form: Form, policy: Policy) -> str | None:
    """Partial matches end with a window around them all; there is one for each key in a strict context."""
    if isinstance(form, Timed) and form.kind == "within":
        return None
    ends = "; a window around the whole, `(...)[within 1 minute]`, would end them"
    if policy.takers != "only" and not isinstance(form, Taken):
        return f"partial matches wait without bound{ends}"
    if any(isinstance(part, Times) and part.high is None for part in walk(form)):
        return f"loops collect events without bound{ends}"
    return None


def _growth(statement: ResolvedStatement) -> str | None:
    if isinstance(statement.pattern, Occurrence):
        grows = _growth_of_occurrence(statement.pattern.form, statement.policy)
        if grows is not None:
            return grows
    elif statement.pattern is not None and (grows := growth(statement.pattern)):
        return grows
    if isinstance(statement.tree.window, KeepAll):
        return "keepall keeps all rows"
    if _is_unknown(statement.tree.window):
        return _NOT_KNOWN
    if statement.tree.window is None:
        for aggregate in _aggregates(statement):
            if aggregate.distinct or aggregate.function not in _KEEP_ONE:
                distinct = " of distinct values" if aggregate.distinct else ""
                return f"{aggregate.function}{distinct} without a window keeps all values"
    if statement.tree.output is not None and statement.tree.output.when is not None:
        return "`output when` may hold rows back for ever"
    return None


def _one_per(statement: ResolvedStatement) -> str | None:
    if statement.context is not None:
        return f"key of context {statement.context.name}"
    is_kept = _aggregates(statement) and statement.tree.window is None
    return "group" if statement.shape.is_grouped and is_kept else None
