"""A program that lives with its model.

A run begins with what there is: all matches are found. Then a *turn* begins with a transaction of a user,
an event from outside, or a timer. What it does to the matches of queries becomes events, events become
complex events, and rules wait for both. Rules are done one at a time, each in a transaction of its own,
whose events may bring further rules; the turn ends when none waits. They are done by priority, then in the
order of the events that they wait for, then of the text.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import islice
from operator import itemgetter
from typing import Literal, TypeAlias, TypeVar, Unpack

from cepheid.core.event import Event, SortKey, Value
from cepheid.core.time import Instant, to_datetime
from cepheid.core.values import shown
from cepheid.engines.common.clock import Time, instant_of
from cepheid.engines.common.judging import IgnoredColumns
from cepheid.engines.common.runners import Reference
from cepheid.errors import CepheidError, Diagnostic, InputError, RunError, UsageError, error
from cepheid.expr.evaluate import Frame
from cepheid.io import Decoder, Record
from cepheid.live.actions import Called, Emitted
from cepheid.live.changes import ChangeKind, Commit
from cepheid.live.fixes.search import SearchOptions, find_fixes
from cepheid.live.fixes.solutions import Fixes
from cepheid.live.log import (
    Changed,
    Entry,
    Fired,
    Happened,
    Matched,
    Outcome,
    Ran,
    rules_behind,
)
from cepheid.live.matching.matcher import Delta, Match, Matcher, Violation
from cepheid.live.model import Model, Object
from cepheid.live.programs import LiveProgram, Reaction, Telling
from cepheid.live.transaction import Transaction
from cepheid.program.tree import ANY_OBJECT, MatchChange

_E = TypeVar("_E", bound=Entry)
Function: TypeAlias = Callable[..., object]
Listener: TypeAlias = Callable[[Entry], None]
LIMIT = 1_000  # rules that others led to, for each that none did
# What goes comes before what comes: who leaves one state for another is never seen in both.
_ORDER: tuple[MatchChange, ...] = ("lost", "found", "updated")


@dataclass(frozen=True, slots=True)
class _Activation:
    """A rule that waits to be done."""

    reaction: Reaction
    entry: Happened
    is_led: bool  # whether another rule led to it
    match: tuple[MatchChange, Match] | None  # that it is about, if a query told of it

    @property
    def place(self) -> tuple[int, int, int]:
        return -self.reaction.rule.priority, self.entry.number, self.reaction.place


class Run:
    """A model, the matches of queries over it, and a program that reacts to both.

    `entries` is what happened in the last turn; listeners are told of each entry at once.
    """

    def __init__(
        self,
        program: LiveProgram,
        model: Model,
        *,
        functions: Mapping[str, Function] | None = None,
        start: Instant | None = None,
        why: bool = False,
        on_error: Literal["fail", "skip"] = "fail",
        limit: int = LIMIT,
    ) -> None:
        self.program = program
        self.model = model
        self.matcher = Matcher(model, program.queries)
        self.matcher.listeners.append(self._note_delta)
        self.listeners: list[Listener] = []
        self.entries: list[Entry] = []
        self.failures: list[Diagnostic] = []  # of rules that were skipped
        self._functions = dict(functions or {})
        self._why = why
        self._skips_errors = on_error == "skip"
        self._limit = limit
        self._runner = Reference(program.program, why=why)
        if start is not None:
            self._runner.start(start)
        self._decoder = Decoder(program.program.types)
        self._ignored = IgnoredColumns(self._decoder.ignored)
        self._tellings = _by_query(program.tellings)
        self._patterns = {query.name for query in program.program.tree.queries}
        self._events: dict[SortKey, Entry] = {}  # of all events, where causes are asked for
        self._deltas: deque[tuple[Delta, Fired | Ran | None]] = deque()
        self._agenda: list[tuple[tuple[int, int, int], _Activation]] = []
        self._cause: Fired | Ran | None = None  # what changes the model now
        self._first = 0  # rules in this turn that no other led to
        self._led = 0  # and the others
        self._deleted: dict[str, Object] = {}  # in this turn
        self._failed: list[Diagnostic] = []  # in this turn
        self._is_busy = False
        self._has_begun = False
        self._count = 0
        self._sent = 0

    @property
    def clock(self) -> Instant:
        """The time up to which everything has happened."""
        return self._runner.clock or 0

    def violations(self) -> tuple[Violation, ...]:
        """What is wrong with the model now."""
        return self.matcher.violations()

    def fixes(self, **options: Unpack[SearchOptions]) -> Fixes:
        """The best ways to make the model valid; options are those of `live.quick_fixes`."""
        return find_fixes(self.program, self.model, **options)

    def close(self) -> None:
        """The model goes on without the program."""
        self.matcher.close()

    # Turns.

    @contextmanager
    def transaction(self, at: Time | None = None) -> Iterator[Transaction]:
        """Used with `with`: the model changes at a time, then everything that follows from it happens.

        Inside of a function that a rule calls, what follows waits for its place in the turn.
        """
        if self._is_busy:
            if at is not None:
                raise UsageError(error("usage", "a function acts at the time of its rule"))
            with self.model.transaction() as change:
                yield change
            return
        self._begin(at)
        with self.model.transaction() as change:
            yield change
        self._settle()

    def send(
        self, type: str, values: Mapping[str, object] | None = None, at: Time | None = None
    ) -> None:
        """An event from outside happens. Objects may be given as they are."""
        self._need_quiet()
        given = self._given(type, values)
        self._begin(at)
        self._happen(type, given, ())
        self._settle()

    def _given(self, type: object, values: object) -> dict[str, object]:
        """The values of an event from outside; InputError where such a one cannot be."""
        if not isinstance(type, str):
            fact = f"an event has the name of its type, not {shown(type)}"
            raise InputError(error("missing-type", fact, hint="run.send('told', {...}, at=3)"))
        if type in self.program.told:
            fact = f"'{type}' happens by itself, and cannot come from outside"
            raise InputError(error("bad-value", fact, hint="declare an atomicEvent"))
        if not isinstance(values, Mapping | None):
            fact = f"the attributes of an event are a mapping, not {shown(values)}"
            raise InputError(error("bad-value", fact))
        given = dict(values or {})
        self._need_objects(type, given)
        return given

    def _need_objects(self, type: str, values: Mapping[str, object]) -> None:
        """Where a parameter has a class, an object of it is given, or null."""
        for name, kind in self.program.objects.get(type, {}).items():
            value = values.get(name)
            found = self.model.named(value) if isinstance(value, str) else value
            if value is None:
                continue
            if not isinstance(found, Object):
                fact = f"'{name}' of {type}: the model has no object {shown(value)}"
                raise InputError(error("unknown-object", fact, hint="it may be deleted"))
            if kind != ANY_OBJECT and kind not in found.kind.ancestors:
                fact = f"'{name}' of {type} is of class {kind}, and {found} is not"
                raise InputError(error("bad-value", fact))

    def advance(self, at: Time) -> None:
        """Time passes; windows end."""
        self._need_quiet()
        self._begin(at)

    def revert(self, commit: Commit) -> None:
        """Undoes the last commit, and everything that follows from that happens."""
        self._need_quiet()
        self._begin(None)
        self.model.revert(commit)
        self._settle()

    def _need_quiet(self) -> None:
        if self._is_busy:
            hint = "a function may change the model; rules tell events with `emit`"
            raise UsageError(error("usage", "a turn is going on", hint=hint))
        self.model.need_quiet("nothing else can happen")

    def _begin(self, at: Time | None) -> None:
        """Time passes up to the turn; each timer on the way is a turn of its own."""
        self.entries = []
        self._deleted.clear()
        instant = self.clock if at is None else instant_of(at)
        if not self._has_begun:
            self._has_begun = True
            self._deltas.clear()  # what was changed since the run was opened is found with the rest
            if self._runner.clock is None:
                self._runner.start(instant)
            self._tell_matches("found", self._all_matches(), ())
            self._settle()
        while (due := self._runner.machine.next_due()) is not None and due <= instant:
            self._derive(self._runner.pass_time(due), ())
            self._settle()
        self._derive(self._runner.pass_time(instant), ())
        self._settle()

    def _settle(self) -> None:
        """Does what waits until nothing does."""
        self._is_busy = True
        self._first = self._led = 0
        self._failed = []
        try:
            while self._deltas or self._agenda:
                if self._deltas:
                    self._tell(*self._deltas.popleft())
                else:
                    self._fire(heappop(self._agenda)[1])
        finally:
            self._is_busy = False
            self._deltas.clear()
            self._agenda.clear()
            self.failures += self._failed if self._skips_errors else ()
        if self._failed and not self._skips_errors:
            raise RunError(*self._failed)

    # Events.

    def _note_delta(self, delta: Delta) -> None:
        """Nothing is done while the model tells of a transaction: that comes in its turn."""
        self._deltas.append((delta, self._cause))

    def _tell(self, delta: Delta, cause: Fired | Ran | None) -> None:
        """What a transaction did, to the model and to matches, and the events that tell of it."""
        for change in delta.commit.changes:
            if change.kind is ChangeKind.DELETE:
                self._deleted[change.object.name] = change.object
        if not (delta.commit.changes or delta):
            return
        causes = () if cause is None else (cause,)
        changed = self._note(Changed(*self._head(causes), delta.commit))
        for kind in _ORDER:
            self._tell_matches(kind, getattr(delta, kind), (changed,), is_led=cause is not None)

    def _all_matches(self) -> tuple[Match, ...]:
        """What is there when the run begins, which is found then."""
        queries = [q for q in self.program.queries.queries if not q.tree.is_private]
        return tuple(match for q in queries for match in self.matcher.matches(q.name))

    def _tell_matches(
        self,
        kind: MatchChange,
        matches: tuple[Match, ...],
        causes: tuple[Entry, ...],
        *,
        is_led: bool = False,
    ) -> None:
        """First what became of matches, then the events that tell of it, in the order of the text."""
        told: list[tuple[int, Telling, Matched]] = []
        for match in matches:
            tellings = self._tellings.get((match.query, kind), ())
            if tellings or (kind != "updated" and match.query in self._patterns):
                entry = self._matched(kind, match, causes)
                told += ((place, telling, entry) for place, telling in tellings)
        for _, telling, entry in sorted(told, key=itemgetter(0)):
            values = {name: entry.match.row[place] for name, place in telling.columns}
            self._happen(
                telling.event_type, values, (entry,), is_led=is_led, match=(kind, entry.match)
            )

    def _matched(self, kind: MatchChange, match: Match, causes: tuple[Entry, ...]) -> Matched:
        has_rule = self.program.queries.by_name[match.query].tree.rule is not None
        violation = self.matcher.violation(match) if has_rule else None
        return self._note(Matched(*self._head(causes), kind, match, violation))

    def _happen(
        self,
        type: str,
        values: Mapping[str, object],
        causes: tuple[Entry, ...],
        *,
        is_led: bool = False,
        match: tuple[MatchChange, Match] | None = None,
    ) -> None:
        event = self._decoded(type, values)
        self._sent += 1
        entry = self._occur(event, causes, is_led=is_led, match=match)
        self._derive(self._runner.send(event), (entry,), is_led=is_led)

    def _decoded(self, type: str, values: Mapping[str, object]) -> Event:
        """An event of now; InputError where it does not fit its type."""
        named = {n: v.name if isinstance(v, Object) else v for n, v in values.items()}
        record = Record(type, to_datetime(self.clock), named, None)
        event = self._decoder.decode(record, self._sent)
        assert isinstance(event, Event)
        self._ignored.see(type)
        return event

    def _derive(
        self, rows: list[Event], causes: tuple[Entry, ...], *, is_led: bool = False
    ) -> None:
        for row in rows:
            known = tuple(self._events[c.key] for c in row.causes if c.key in self._events)
            self._occur(row, known or causes, is_led=is_led)

    def _occur(
        self,
        event: Event,
        causes: tuple[Entry, ...],
        *,
        is_led: bool = False,
        match: tuple[MatchChange, Match] | None = None,
    ) -> Happened:
        entry = self._note(Happened(*self._head(causes), event))
        if self._why:
            self._events[event.key] = entry
        if self._is_heard(event):
            for reaction in self.program.reactions.get(event.type, ()):
                waiting = _Activation(reaction, entry, is_led, match)
                heappush(self._agenda, (waiting.place, waiting))
        return entry

    def _is_heard(self, event: Event) -> bool:
        """Whether rules hear of it: one that fails its check does not exist for them."""
        check = self.program.checks.get(event.type)
        if event.is_old or event.is_timeout:
            return False
        return check is None or check(Frame(event, now=event.instant))

    # Rules.

    def _fire(self, activation: _Activation) -> None:
        if activation.is_led:
            self._led += 1
        else:
            self._first += 1
        if self._led > self._limit * max(1, self._first):
            raise RunError(_never_settles(activation, self._led))
        if self._is_over(activation):
            self._note_fired(activation, Outcome.WITHDRAWN)
            return
        waiting = len(self._deltas)
        try:
            with self.model.transaction() as change:
                effects = activation.reaction.body.do(change, self._bound(activation))
                told = [(e.event_type, self._named(e)) for e in effects if isinstance(e, Emitted)]
                for type, values in told:
                    self._need_objects(type, values)
                    self._decoded(type, values)  # one that cannot be undoes the rule
        except CepheidError as problem:
            self._fail(activation, problem.diagnostics)
            return
        assert change.commit is not None
        fired = self._note_fired(activation, Outcome.DONE)
        for place in range(waiting, len(self._deltas)):
            self._deltas[place] = (self._deltas[place][0], fired)
        calls = [effect for effect in effects if isinstance(effect, Called)]
        raised = self._call(calls, fired)
        if raised is not None:
            self._undo(activation, change.commit, waiting, *raised)
            return
        while self._deltas:
            self._tell(*self._deltas.popleft())
        for type, values in told:
            self._happen(type, values, (fired,), is_led=True)

    def _is_over(self, activation: _Activation) -> bool:
        """Whether the match that a rule is about came back, or is gone, before it was done."""
        if activation.match is None:
            return False
        change, match = activation.match
        return self.matcher.has(match) == (change == "lost")

    def _bound(self, activation: _Activation) -> dict[str, Object | Value]:
        reaction, event = activation.reaction, activation.entry.event
        return {
            name: self._object(event[attribute]) if name in reaction.objects else event[attribute]
            for name, attribute in reaction.names.items()
        }

    def _object(self, name: Value) -> Object | None:
        """The object of a name; one that was deleted before this turn is no more."""
        found = self.model.named(name) if isinstance(name, str) else None
        return found if found is not None else self._deleted.get(str(name))

    def _call(self, calls: Iterable[Called], fired: Fired) -> tuple[Ran, Exception] | None:
        """Calls functions, up to one that raises."""
        for call in calls:
            ran = self._note(Ran(*self._head((fired,)), call.function, call.arguments))
            self._cause = ran
            try:
                self._functions[call.function](self, *call.arguments)
            except Exception as problem:  # whatever a user's function raises
                return ran, problem
            finally:
                self._cause = None
        return None

    def _named(self, told: Emitted) -> dict[str, object]:
        attributes = self.program.program.types[told.event_type].attributes
        return {a.name: value for a, value in zip(attributes, told.values, strict=True)}

    def _undo(
        self, activation: _Activation, commit: Commit, waiting: int, ran: Ran, problem: Exception
    ) -> None:
        """The rule's own transaction is undone, unless the function has changed the model after it."""
        if self.model.state == commit.after:
            self.model.revert(commit)
            since = [self._deltas.pop()[0] for _ in range(len(self._deltas) - waiting)]
            if left := _together(since[::-1]):
                self._deltas.append((left, ran))
        found = (
            problem.diagnostics
            if isinstance(problem, CepheidError)
            else (error("rule-failed", f"it raised {type(problem).__name__}: {problem}"),)
        )
        self._fail(activation, found, Outcome.UNDONE, ran)

    def _fail(
        self,
        activation: _Activation,
        problems: tuple[Diagnostic, ...],
        outcome: Outcome = Outcome.FAILED,
        cause: Entry | None = None,
    ) -> None:
        placed = tuple(map(self._placed(activation), problems))
        self._note_fired(activation, outcome, placed, cause)
        self._failed += placed

    def _placed(self, activation: _Activation) -> Callable[[Diagnostic], Diagnostic]:
        rule = activation.reaction.rule

        def placed(problem: Diagnostic) -> Diagnostic:
            message = f"rule '{rule.name}' on {activation.entry.event.type}: {problem.message}"
            return replace(problem, message=message, span=problem.span or rule.span)

        return placed

    # The log.

    def _head(self, causes: tuple[Entry, ...]) -> tuple[int, Instant, tuple[Entry, ...]]:
        self._count += 1
        return self._count, self.clock, causes

    def _note(self, entry: _E) -> _E:
        self.entries.append(entry)
        for listener in self.listeners:
            listener(entry)
        return entry

    def _note_fired(
        self,
        activation: _Activation,
        outcome: Outcome,
        problems: tuple[Diagnostic, ...] = (),
        cause: Entry | None = None,
    ) -> Fired:
        name, entry = activation.reaction.rule.name, activation.entry
        head = self._head((cause or entry,))
        return self._note(Fired(*head, name, entry.event, outcome, problems))


_Tellings: TypeAlias = "dict[tuple[str, MatchChange], tuple[tuple[int, Telling], ...]]"


def _by_query(tellings: tuple[Telling, ...]) -> _Tellings:
    """The events of each change of a query, with their places in the text."""
    found: _Tellings = {}
    for numbered in enumerate(tellings):
        key = (numbered[1].query, numbered[1].change)
        found[key] = (*found.get(key, ()), numbered)
    return found


def _together(deltas: Sequence[Delta]) -> Delta | None:
    """What is left of transactions that undo each other: readings stay read, and averages with them."""
    counts: Counter[Match] = Counter()
    for delta in deltas:
        counts.update(delta.found)
        counts.subtract(delta.lost)
    left = Delta(
        replace(deltas[-1].commit, changes=()),
        tuple(match for match, count in counts.items() if count > 0),
        tuple(match for match, count in counts.items() if count < 0),
    )
    return left if left else None


def _never_settles(activation: _Activation, count: int) -> Diagnostic:
    """Names the rules that lead to each other."""
    rule = activation.reaction.rule
    names = [rule.name, *islice(rules_behind(activation.entry), 100)]
    late = names[: len(names) // 2 + 1]  # what led into the cycle is no part of it
    length = next((n for n in range(1, len(late)) if _repeats(late, n)), len(names) - 1)
    cycle = " -> ".join(reversed(names[: length + 1]))
    fact = f"rules never settle: {cycle}, and so on for {count:,} rules"
    hint = "let a condition end it, or a query that does not match any more"
    return error("never-settles", fact, rule.span, hint)


def _repeats(names: list[str], length: int) -> bool:
    return all(a == b for a, b in zip(names, names[length:], strict=False))
