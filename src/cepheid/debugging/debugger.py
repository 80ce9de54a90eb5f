"""A debugger: stands somewhere in the run of a program over its events, and moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeAlias, get_args

from cepheid.core.event import Event
from cepheid.core.time import Instant, to_datetime
from cepheid.debugging.breakpoints import Breakpoint, make_breakpoint
from cepheid.debugging.course import BEGIN, Course, Spot
from cepheid.debugging.edits import Edit, as_mapping, changed, is_whole, with_event, with_other
from cepheid.debugging.position import Position
from cepheid.engines.common.clock import Length, Time, instant_of, length_of
from cepheid.engines.common.intake import Intake, happens
from cepheid.engines.common.judging import Extra, input_keys, null_key_of
from cepheid.engines.common.runners import Reference
from cepheid.errors import Diagnostic, InputError, UsageError, error, suggest
from cepheid.io import Decoder
from cepheid.io.records import record_from
from cepheid.semantics.inspection.description import Inspection

# How far a step goes: a statement takes an event, or a timer fires; all statements have taken a derived
# event; a timer fires; an input event is done, with all that it brings; an instant is over.
Stride: TypeAlias = Literal["statement", "derived", "timer", "event", "instant"]
STRIDES: tuple[Stride, ...] = get_args(Stride)
Stop: TypeAlias = Callable[[Instant], bool]


class Debugger:
    """Moves forward and back over a run, which is the same every time.

    It begins where the program has begun and nothing has happened yet. The run is that of `cep.run`: at its
    end, `rows` are the rows of that.
    """

    def __init__(self, runner: Reference, intake: Intake, extra: Extra = "ignore") -> None:
        self._runner = runner
        self.program = intake.program  # with the types that only the events know
        self._decoder = Decoder(intake.program.types, extra)
        self._keys = input_keys(intake.program)
        self._breakpoints: dict[int, Breakpoint] = {}
        self._numbers = 0  # of breakpoints that were ever set
        self.notes: Sequence[Diagnostic] = tuple(intake.notes)
        events = [_placed(event, place) for place, event in enumerate(intake.events)]
        self._course = Course(runner.machine, events, intake.first, intake.last)

    # Where it stands.

    @property
    def position(self) -> Position:
        return Position.of(self._course.spot, self._course.step)

    @property
    def is_over(self) -> bool:
        return self._course.is_over

    @property
    def clock(self) -> datetime | None:
        """The program's time; None where there is none, as nothing has one."""
        instant = self._runner.clock
        return None if instant is None else to_datetime(instant)

    @property
    def rows(self) -> list[Event]:
        """The rows so far."""
        return self._course.rows

    @property
    def statements(self) -> list[str]:
        """Their names, in the order in which they take an event."""
        return [plan.name for plan in self._runner.machine.plans]

    @property
    def events(self) -> list[Event]:
        """The input, in its order."""
        return list(self._course.events)

    @property
    def span(self) -> tuple[Instant, Instant] | None:
        """From when to when the clock runs; None where nothing has a time."""
        first, last = self._course.first, self._course.last
        return None if first is None or last is None else (first, last)

    def inspect(self) -> Inspection:
        """What the program keeps here."""
        return self._runner.inspect()

    def __repr__(self) -> str:
        return f"<Debugger: {self.position}>"

    # Steps.

    def step(self, by: Stride = "statement") -> Position:
        """On to the end of the next statement, derived event, timer, event or instant, or of the run."""
        _known_stride(by)
        while self._course.on() is not None and not self._ends(by):
            pass
        return self.position

    def back(self, by: Stride = "statement") -> Position:
        """Back to where the last one before ended, or to the beginning."""
        _known_stride(by)
        if by == "event":  # which ends where no step has been made since
            done, since = self._course.spot
            self._course.to((done if since else max(done - 1, 0), 0))
        else:
            self._back_to(lambda _: self._ends(by))
        return self.position

    def _ends(self, by: Stride) -> bool:
        """Whether something of this kind ends just here."""
        course, step = self._course, self._course.step
        if step.kind in ("start", "end") or by == "statement":
            return True
        if by == "timer":
            return step.kind == "timer"
        if by == "derived":
            return step.is_taken
        if by == "event":
            return step.is_input and step.is_rest
        return step.is_rest and course.next_instant != step.instant

    def _back_to(self, stops: Stop) -> bool:
        """Back to the last spot before this one at which it stops; or to the beginning.

        `stops` is told what the clock said a step before, and asked about where the course stands.
        """
        course, here = self._course, self._course.spot
        end = here
        for snapshot in list(course.snapshots_before(here)):
            course.to(snapshot)
            found: Spot | None = None
            before = course.machine.clock
            while course.spot < end and course.on() is not None:
                if course.spot < here and stops(before):
                    found = course.spot
                before = course.machine.clock
            if found is not None:
                course.to(found)
                return True
            end = snapshot
        course.to(BEGIN)
        return False

    def go(self, events: int, step: int = 0) -> Position:
        """To the place that a position names: so many input events done, and so many steps after them."""
        course, here = self._course, self._course.spot
        is_place = is_whole(events) and is_whole(step) and 0 <= events <= len(course.events)
        if not (is_place and step >= 0 and course.to((events, step))):
            course.to(here)
            fact = f"there is no place {events}+{step} in this run"
            hint = f"it has {len(course.events)} events; positions say which steps there are"
            raise UsageError(error("usage", fact, hint=hint))
        return self.position

    # Breakpoints.

    @property
    def breakpoints(self) -> list[Breakpoint]:
        return list(self._breakpoints.values())

    def stop_at(
        self,
        *,
        statement: str | None = None,
        type: str | None = None,
        where: str | None = None,
        age: Length | None = None,
    ) -> Breakpoint:
        """Sets a breakpoint: on the rows of a statement, the events of a type, or the age of a partial match.

        `where` is a condition over the event or row, as between the brackets of `Type(...)`. With
        `statement`, an age is that of its partial matches.
        """
        span = None if age is None else length_of(age, "an age")
        made = make_breakpoint(
            self.program, self._numbers + 1, statement=statement, type=type, where=where, age=span
        )
        self._numbers = made.number
        self._breakpoints[made.number] = made
        return made

    def clear(self, number: int | None = None) -> None:
        """Removes the breakpoint of a number, or all."""
        if number is not None and not (is_whole(number) and number in self._breakpoints):
            known = ", ".join(map(str, self._breakpoints)) or "none"
            raise UsageError(error("usage", f"no breakpoint {number!r}", hint=f"set: {known}"))
        for each in list(self._breakpoints) if number is None else [number]:
            del self._breakpoints[each]

    def resume(self) -> list[Breakpoint]:
        """On to where the next breakpoint stops; gives those that do, none at the end."""
        return self._on_until(lambda: False)

    def run_to(self, time: Time) -> list[Breakpoint]:
        """To where all has happened up to and including a time; forward, breakpoints stop it before.

        Gives those that do. Back, nothing stops it.
        """
        instant, course = instant_of(time), self._course
        is_behind = course.step.instant is not None and course.step.instant > instant
        if self._breakpoints and not is_behind:
            return self._on_until(lambda: self._is_at(instant))
        nearest = course.snapshot_until(instant)
        course.to(nearest if is_behind else max(nearest, course.spot))
        while not self._is_at(instant):
            course.on()
        return []

    def _is_at(self, instant: Instant) -> bool:
        """Whether the next step is after an instant, if there is one."""
        coming = self._course.next_instant
        return coming is None or coming > instant

    def rewind(self) -> list[Breakpoint]:
        """Back to where a breakpoint last stopped it; gives those that did, none at the beginning."""
        stopped: list[Breakpoint] = []

        def stops(before: Instant) -> bool:
            nonlocal stopped
            found = self._stopping(before)
            stopped = found or stopped
            return bool(found)

        return stopped if self._back_to(stops) else []

    def _on_until(self, is_there: Callable[[], bool]) -> list[Breakpoint]:
        course = self._course
        while not is_there():
            before = course.machine.clock
            if course.on() is None:
                break
            if stopping := self._stopping(before):
                return stopping
        return []

    def _stopping(self, before: Instant) -> list[Breakpoint]:
        """Those that stop here; `before` is what the clock said a step before."""
        course = self._course
        there = (course.machine, course.step, before, course.next_instant)
        return [each for each in self._breakpoints.values() if each.stops(*there)]

    # Other events.

    def insert(self, event: Mapping[str, object], place: int | None = None) -> Position:
        """An event happens, too: '@type', '@time' and attributes. Those of its time come before it, unless
        it has a place among them.

        What was found out behind that place is forgotten. If it stood there, it stands where the events
        before it are done. The clock never ends earlier than it did.
        """
        made = self._decoded(as_mapping(event))
        return self._change(with_event(self._course.events, made, place))

    def change(self, place: int, event: Mapping[str, object]) -> Position:
        """The event at a place gets other attributes, or another '@time'; or it is of another '@type'."""
        old = self._at(place)
        made = self._decoded(changed(old, as_mapping(event), self.program.types[old.type]))
        return self._change(with_other(self._course.events, made, place))

    def remove(self, place: int) -> Position:
        """The event at a place does not happen."""
        self._at(place)
        events = self._course.events
        return self._change(Edit([*events[:place], *events[place + 1 :]], place))

    def _change(self, edit: Edit) -> Position:
        kept, rest = edit.events[: edit.place], edit.events[edit.place :]
        later = (_placed(event, number) for number, event in enumerate(rest, start=edit.place))
        self._course.change([*kept, *later], edit.place)
        return self.position

    def _at(self, place: int) -> Event:
        events = self._course.events
        if not (is_whole(place) and 0 <= place < len(events)):
            fact = f"there is no event {place!r}"
            hint = f"they are numbered from 0 to {len(events) - 1}" if events else "there are none"
            raise UsageError(error("usage", fact, hint=hint))
        return events[place]

    def _decoded(self, given: Mapping[str, object]) -> Event:
        try:
            record = record_from(given, None)
        except ValueError as problem:
            raise InputError(error("bad-line", str(problem))) from None
        item = self._decoder.decode(record, 0)
        if not isinstance(item, Event) or not happens(item):
            raise UsageError(error("usage", "this is no event", hint="an event has a '@type'"))
        keyless = null_key_of(item, self._keys, None)
        if keyless is not None:
            raise InputError(keyless)
        return item


def _placed(event: Event, place: int) -> Event:
    """The event with its place in the input."""
    if event.sequence == place:
        return event
    return Event(event.type, event.instant, event.values_, place)


def _known_stride(by: Stride) -> None:
    if by not in STRIDES:
        hint = suggest(str(by), STRIDES, "strides")
        raise UsageError(error("usage", f"no step by {by!r}", hint=hint))
