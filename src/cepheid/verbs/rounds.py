"""Programs with classes over bounded input: rounds, and what was known in them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from cepheid.bitemporal.chaining import Told, told
from cepheid.bitemporal.detections import (
    Detection,
    DetectionDecoder,
    History,
    cell_instant,
)
from cepheid.bitemporal.outcome import Firing, Outcome, Version
from cepheid.bitemporal.repository import AfterFreeze, Refusal
from cepheid.bitemporal.request import WINDOWS, RoundsRequest, Window
from cepheid.bitemporal.rows import (
    ActionEvents,
    action_events,
    action_types,
    change_events,
    change_type,
    known_events,
    version_events,
)
from cepheid.bitemporal.running import Course, Outage, Ran, run_program
from cepheid.core.event import Event
from cepheid.core.time import Instant, format_instant
from cepheid.core.values import shown
from cepheid.engines.common.clock import Length, Time, extent_of, instant_of, length_of
from cepheid.engines.common.intake import runnable
from cepheid.engines.common.judging import STRICT, Rules
from cepheid.engines.common.notes import emit
from cepheid.engines.common.progress import Progress, no_progress
from cepheid.errors import Diagnostic, InputError, LateEvent, Span, UsageError, error
from cepheid.io import Record, fail, read_records, records_of
from cepheid.io.source import NOWHERE, Placement
from cepheid.program.classes import SubscribedClass
from cepheid.program.seal import program_digest
from cepheid.result import Result
from cepheid.verbs.arguments import MAKE_ONE, choose, expect
from cepheid.verbs.program import Program

if TYPE_CHECKING:
    from cepheid.bitemporal.local.session import LocalSession

# A period, or the path of a file with one outage a line, or the outages themselves.
Outages: TypeAlias = str | os.PathLike[str] | Iterable[tuple[Time, Time]]


class RoundsResult(Result):
    """The actions of a run in rounds and what statements derived; `of` a class gives what became known."""

    def __init__(self, ran: Ran, skipped: Sequence[Diagnostic]) -> None:
        classes = {each.declared.name: each.declared for each in ran.program.classes}
        actions = action_types(ran.program.classes)
        derived = dict.fromkeys(s.target for s in ran.program.statements if s.target not in classes)
        changes = {name: change_type(declared) for name, declared in classes.items()}
        events = sorted(
            [*action_events(ran.outcome, classes), *ran.derived], key=lambda event: event.instant
        )
        super().__init__(
            events,
            {**ran.program.types, **changes, **actions},
            derived=[*actions, *derived],
            taken=ran.outcome.taken,
            skipped=skipped,
            notes=ran.history.notes,
        )
        self.outcome: Outcome = ran.outcome
        self.classes = classes

    def of(self, type: str) -> list[Event]:
        """The events of one type; of a class, what became known and in which round."""
        if type in self.classes:
            return [event for event in self.changes if event.type == type]
        return super().of(type)

    @property
    def changes(self) -> list[Event]:
        """What became known of all classes."""
        return list(change_events(self.outcome, self.classes))

    @property
    def versions(self) -> list[Event]:
        """All versions of all classes, with the rounds from and to which they were known."""
        return list(version_events(self.outcome.versions, self.outcome.rounds, self.classes))

    def history(self, *names: str) -> list[Told]:
        """What became known of classes, as another program reads it that subscribes to them.

        Without names: of all complex ones.
        """
        for name in names:
            choose(name, self.classes, "class")
        derived = [n for n, each in self.classes.items() if not isinstance(each, SubscribedClass)]
        return list(told(self.outcome, self.classes, names or derived))

    @property
    def refused(self) -> dict[str, dict[str, int]]:
        """How many detections did not count, by class and reason; repetitions are none of them."""
        return refusals(self.outcome.refused)

    def as_of(self, time: Time) -> list[Event]:
        """What was known at an instant: in the last round up to it."""
        now = self.outcome.rounds.number(instant_of(time))
        known = [version for version in self.outcome.versions if _holds(version, now)]
        return list(known_events(known, self.outcome.rounds, self.classes))


def refusals(refused: Mapping[tuple[str, Refusal], int]) -> dict[str, dict[str, int]]:
    """By class and reason, those that say nothing new left out."""
    found: dict[str, dict[str, int]] = {}
    for (name, refusal), count in refused.items():
        if refusal is not Refusal.CONFIRMED:
            found.setdefault(name, {})[refusal.value] = count
    return found


def _holds(version: Version, now: int) -> bool:
    return version.known_from <= now and (version.known_to is None or now < version.known_to)


class RoundsSession:
    """A program with classes as its events are told: `tell` what was detected, and let time `advance`."""

    def __init__(self, program: Program, course: Course, database: str | None = None) -> None:
        resolved = runnable(program.resolve())
        if resolved.statements:
            fact = "sessions in rounds take classes only, no statements"
            raise UsageError(error("usage", fact, hint="cep.run takes both"))
        self._classes = {each.declared.name: each.declared for each in resolved.classes}
        subscribed = {n: c for n, c in self._classes.items() if isinstance(c, SubscribedClass)}
        self._decoder = DetectionDecoder(subscribed)
        request = RoundsRequest(
            classes=resolved.classes,
            names=[each.name for each in program.tree.classes],
            history=History(),
            rounds=course.endless(),
            window=course.window,
            after_freeze=course.after_freeze,
        )
        self._session = _session(request, course, program_digest(resolved), database)
        self._action_event = ActionEvents(self._classes)
        self._fired: list[Firing] = []  # of rounds before one that failed
        waiting = (detection.sequence for detection in self._session.waiting())
        self._sequence = max(waiting, default=-1) + 1

    def tell(self, *events: object) -> None:
        """Takes versions and retractions; they count when time has advanced to them."""
        late = self._session.wait([found for source in events for found in self._detected(source)])
        if late:
            raise self._late(late)

    def _late(self, late: Sequence[Detection]) -> LateEvent:
        first, done = late[0], self._session.rounds.instant(self._session.done)
        key = ", ".join(map(shown, first.key))
        others = f", as {len(late) - 1} more" if len(late) > 1 else ""
        fact = (
            f"{first.cls} {key} was detected at {format_instant(first.known)}{others}: too late for"
            f" rounds, which are over up to that of {format_instant(done)}"
        )
        return LateEvent(error("late-event", fact, hint="none of what was told was taken"))

    def _detected(self, source: object) -> list[Detection]:
        plain = self._plain(source)
        if plain is not None:
            return plain
        found = []
        for record in records_of(source, on_problem=fail):
            detection = self._decoder.decode(record, self._sequence)
            self._sequence += 1
            if isinstance(detection, Detection):
                found.append(detection)
        return found

    def _plain(self, source: object) -> list[Detection] | None:
        """Versions in dictionaries, where there is nothing special about any of them."""
        found = []
        for place, event in enumerate(source if isinstance(source, list) else [source]):
            if type(event) is not dict:
                return None
            detection = self._decoder.plain(event, self._sequence + place)
            if detection is None:
                return None
            found.append(detection)
        self._sequence += len(found)
        return found

    def advance(self, to: Time) -> list[Event]:
        """All rounds up to a time, with their actions.

        A round that fails stays to be done; the actions of those before it come with the next call.
        """
        rounds = self._session.rounds
        last = rounds.number(instant_of(to))
        if last < self._session.done:
            fact = "time does not go back"
            raise LateEvent(error("late-event", fact))
        for firing in self._session.advance(last):
            self._fired.append(firing)
        fired, self._fired = self._fired, []
        return [self._action_event(firing, n, rounds) for n, firing in enumerate(fired)]

    @property
    def refused(self) -> dict[str, dict[str, int]]:
        return refusals(self._session.engine.refused)


def _session(
    request: RoundsRequest, course: Course, program: str, database: str | None
) -> LocalSession:
    from cepheid.bitemporal.local.journal import Journal
    from cepheid.bitemporal.local.session import LocalSession

    if database is None:
        return LocalSession(request)
    identity = {
        "program": program,
        "chronon": request.rounds.chronon,
        "window": request.window,
        "after_freeze": request.after_freeze,
    }
    try:
        found = LocalSession(request, database=database)
        journal = Journal(found.engine.connection, identity)
        if journal.done is not None and course.start is not None:
            fact = "the database has a clock of its own"
            raise UsageError(error("usage", fact, hint="leave out start"))
        found.keep(journal)
    except sqlite3.DatabaseError as problem:
        fact = f"'{database}' cannot be a database of a session: {problem}"
        raise UsageError(error("usage", fact)) from None
    return found


def open_rounds(
    program: Program,
    *,
    chronon: Length,
    start: Time | None = None,
    outages: Outages = (),
    window: str = "buffering",
    after_freeze: str = "refuse",
    database: str | None = None,
) -> RoundsSession:
    """Opens a program with classes for what is detected from now on.

    With a `database`, a file, it goes on where the last session with that file ended.
    """
    expect(program, Program, "a program", MAKE_ONE)
    course = course_of(
        chronon=chronon, start=start, outages=outages, window=window, after_freeze=after_freeze
    )
    return RoundsSession(program, course, database)


def run_in_rounds(
    program: Program,
    events: Sequence[object],
    course: Course,
    *,
    engine: str,
    on_error: Literal["fail", "skip"],
    progress: Progress = no_progress,
    placement: Placement = NOWHERE,
    rules: Rules = STRICT,
) -> RoundsResult:
    skipped: list[Diagnostic] = []
    ran = run_program(
        program.resolve(),
        events,
        course,
        engine=engine,
        on_problem=skipped.append if on_error == "skip" else fail,
        progress=progress,
        placement=placement,
        rules=rules,
    )
    emit(ran.history.notes)
    return RoundsResult(ran, skipped)


def course_of(
    *,
    chronon: Length | None,
    start: Time | None = None,
    end: Time | None = None,
    outages: Outages = (),
    window: str = "buffering",
    after_freeze: str = "refuse",
) -> Course:
    """How rounds go, from what callers write; UsageError where that makes no sense."""
    if chronon is None:
        fact = "classes are processed in rounds, and nothing says how often"
        raise UsageError(
            error("usage", fact, hint="chronon='1m', or --chronon 1m, has one every minute")
        )
    choose(window, WINDOWS, "window")
    choose(after_freeze, ("refuse", "take"), "after_freeze")
    kind: Window = next(each for each in WINDOWS if each == window)
    what: AfterFreeze = "take" if after_freeze == "take" else "refuse"
    first, last = extent_of(start, end)
    return Course(
        chronon=length_of(chronon, "a chronon"),
        start=first,
        end=last,
        outages=list(_outages(outages)),
        window=kind,
        after_freeze=what,
    )


def _outages(given: Outages) -> Iterator[Outage]:
    if isinstance(given, str | os.PathLike):
        for record in read_records(os.fspath(given), on_problem=fail):
            yield _outage_of(record)
        return
    pairs: Iterable[object] = given
    for outage in pairs:
        if not (isinstance(outage, tuple | list) and len(outage) == 2):
            fact = f"an outage is a pair of times, not {shown(outage)}"
            raise UsageError(error("usage", fact, hint="outages=[(begin, end), ...], or a file"))
        begin, end = outage
        yield _outage(instant_of(begin), instant_of(end), None)


def _outage_of(record: Record) -> Outage:
    values = record.values
    if record.time is not None or values.keys() != {"from", "to"}:
        fact = f"an outage has a 'from' and a 'to', not {', '.join(values) or 'nothing'}"
        raise InputError(error("bad-line", fact, record.span))
    begin, end = (_time(values[name], name, record.span) for name in ("from", "to"))
    return _outage(begin, end, record.span)


def _time(value: object, name: str, span: Span | None) -> Instant:
    try:
        return cell_instant(value)
    except ValueError as problem:
        raise InputError(error("bad-time", f"'{name}': {problem}", span)) from None


def _outage(begin: Instant, end: Instant, span: Span | None) -> Outage:
    if end < begin:
        raise InputError(error("bad-time", "an outage ends before it begins", span))
    return begin, end
